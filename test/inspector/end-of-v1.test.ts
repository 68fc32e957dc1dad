import { expect, test } from 'vitest';
import { type EndOfV1, endSentences, hasEnded, isAtEnd } from '../../src/inspector/end-of-v1.ts';

const DAY = '2026-11-24T00:00:00.000Z';
const [BEFORE, AFTER] = [Date.parse(DAY) - 1, Date.parse(DAY)];

test.each<[EndOfV1, number, string]>([
  [{ deprecation: DAY }, BEFORE, `V1 is deprecated from ${DAY}, as its responses announce.`],
  [{ deprecation: DAY }, AFTER, `V1 has been deprecated since ${DAY}, as its responses announce.`],
  [{ sunset: DAY }, BEFORE, `V1 ends on ${DAY}, as its responses announce: no request gets 410 for it.`],
  [{ sunset: DAY }, AFTER, `V1 ended on ${DAY}, as its responses announce: no request gets 410 for it.`],
  [
    { sunset: DAY, gone: {} },
    BEFORE,
    `V1 ends on ${DAY}, as its responses announce: V1 requests get 410 from then on.`,
  ],
  [
    { sunset: DAY, gone: { except: ['acme', 'globex'] } },
    AFTER,
    `V1 ended on ${DAY}, as its responses announce: V1 requests get 410, on purpose, except those of acme, globex.`,
  ],
  [
    { sunset: DAY, gone: { clients: ['acme'] } },
    AFTER,
    `V1 ended on ${DAY}, as its responses announce: V1 requests of acme get 410, on purpose.`,
  ],
  [
    { ends: [{ kind: 'operation', id: 'a', deprecation: DAY, sunset: DAY, gone: { except: ['acme'] } }] },
    AFTER,
    `Operation a: deprecated since ${DAY}; ended on ${DAY}: V1 requests for it get 410, on purpose, except those of acme.`,
  ],
  [
    { ends: [{ kind: 'change', id: 'c', sunset: DAY }] },
    BEFORE,
    `Change c: ends on ${DAY}: no request gets 410 for it.`,
  ],
])('%j at %d has true sentences', (end, now, sentence) => {
  expect(endSentences(end, now)).toEqual([sentence]);
});

test('nothing is said about a V1 without an end', () => {
  expect(endSentences({}, AFTER)).toEqual([]);
});

test.each<[EndOfV1['gone'], boolean, boolean]>([
  [undefined, false, false],
  [{}, true, true],
  [{ except: ['acme'] }, true, false],
  [{ clients: ['acme'] }, false, false],
])('a sunset with %j is the stage of V1: %j, and that of all clients: %j', (gone, isStage, isAll) => {
  const end = { sunset: DAY, ...(gone === undefined ? {} : { gone }) };
  expect([isAtEnd(end, AFTER), hasEnded(end, AFTER)]).toEqual([isStage, isAll]);
  expect(isAtEnd(end, BEFORE)).toBe(false);
});
