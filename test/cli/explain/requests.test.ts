import { expect, test } from 'vitest';
import { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import { bookIn } from '../../rules/reading.ts';
import type { CommandFault } from '../../../src/cli/command-fault.ts';
import type { ReadRequests } from '../../../src/inspector/explain/curl-command.ts';
import { readHar } from '../../../src/cli/explain/har.ts';
import { readPostman } from '../../../src/cli/explain/postman.ts';
import { offlineExplainer } from '../../../src/cli/explain/requests.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';

const URL = 'https://api.example/api/v1/clients';
const FLAT = 'There is no member data: the body is already flat.';
const PARTS = [{ key: 'a', name: 'a', value: 'b' }];
const MULTIPART = [{ name: 'Content-Type', value: 'multipart/form-data; boundary=x' }];

function har(postData: unknown): ReadRequests | CommandFault {
  const request = { method: 'POST', url: URL, headers: MULTIPART, postData };
  return readHar(JSON.stringify({ log: { entries: [{ request }] } }));
}

function postman(body: unknown): ReadRequests | CommandFault {
  return readPostman(JSON.stringify({ item: [{ name: 'n', request: { method: 'POST', url: URL, body } }] }));
}

const NO_BODY = 'There is no body.';

test.each([
  ['a form of a HAR file', har({ params: PARTS }), FLAT],
  ['no form of a HAR file', har({ params: [] }), NO_BODY],
  ['a form', postman({ mode: 'formdata', formdata: PARTS }), FLAT],
  ['fields', postman({ mode: 'urlencoded', urlencoded: PARTS }), FLAT],
  ['an empty form', postman({ mode: 'formdata', formdata: [] }), NO_BODY],
])('%s is explained as the kind of body that it is', async (_, requests, why) => {
  const [named] = 'fault' in requests ? [] : requests.requests;
  const explanation = await offlineExplainer(await compiledShippedRuleBook())(named?.request ?? {});
  expect('rules' in explanation && explanation.rules[0]?.why).toMatch(new RegExp(`${why}$`));
});

test('the rules for a form are those for texts', async () => {
  const rules = new CompiledRuleBook(
    await bookIn(`format: 1
operations: { create: POST /bills }
changes:
  - { id: c, summary: s, on: [create], request: [ { scale: amount, by: 100 }, { map: { 1: 2 }, of: kind }, { strip: x } ] }
`),
  );
  const headers = [['Content-Type', 'application/x-www-form-urlencoded']] as const;
  const request = { method: 'POST', target: '/api/v1/bills', headers, body: 'amount=10.50&kind=1' };
  const explanation = await offlineExplainer(rules)(request);
  expect('rules' in explanation && explanation.rules.map(({ applied, why }) => [applied, why])).toEqual([
    [true, '1 edit.'],
    [true, '1 edit.'],
    [false, 'The body has none of x.'],
  ]);
  expect('v2Body' in explanation && explanation.v2Body).toBe('amount=1050&kind=2');
});
