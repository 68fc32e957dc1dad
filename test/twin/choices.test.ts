import { expect, test } from 'vitest';
import { choiceOf } from '../../src/twin/script.ts';

const response = (status: number, code?: string): Parameters<typeof choiceOf>[0] => ({
  status,
  headers: code === undefined ? [] : [['X-Gateway-Error', code]],
  body: new Uint8Array(),
});

test.each([
  ['the gateway refuses what V1 reads', response(201), response(400, 'duplicate-member'), 'duplicate-member'],
  ['both refuse, V1 for the key', response(401), response(400, 'duplicate-member'), 'refused-first'],
  ['both refuse, V1 for the path', response(404), response(422, 'wrapper-not-object'), 'refused-first'],
  ['V2 refuses another thing than V1', response(401), response(422), undefined],
  ['the gateway refuses what V1 takes', response(201), response(422, 'wrapper-not-object'), undefined],
  ['both refuse the body, in other words', response(422), response(400, 'malformed-json'), undefined],
  ['the gateway refuses the head', response(401), response(400, 'bad-request'), 'ambiguous-head'],
  ['the gateway refuses a head that V1 takes', response(200), response(400, 'bad-request'), undefined],
  ['V2 does not respond', response(404), response(502, 'upstream-unreachable'), undefined],
  ['V2 is alone in refusing', response(200), response(400), undefined],
])('%s', (_, v1, gateway, choice) => {
  expect(choiceOf(v1, gateway)).toBe(choice);
});
