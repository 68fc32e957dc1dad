import { expect, test } from 'vitest';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { type BodyLinks, restoreBodyLinks } from '../../src/rewrite/links.ts';
import { readDestination } from '../../src/rules/move.ts';
import { testRuleBook } from '../support/rule-book.ts';
import { words } from '../support/rows.ts';

const OPERATION = {
  id: 'read_bill',
  method: 'GET',
  template: '/bills/{id}',
  to: readDestination('GET /invoices/inv_{id}'),
  assumed: false,
};
const BOOK = testRuleBook({ operations: [OPERATION], changes: [], followsBodyLinks: true });
const LINKS: BodyLinks = {
  request: { method: 'GET', rest: '/bills/7', operation: OPERATION },
  places: {
    upstreamHosts: ['v2.example'],
    upstreamPath: '/base',
    prefix: '/api/v2',
    clientPrefix: '/api/v1',
    gateway: 'https://gateway.example',
  },
};

function turned(
  text: string,
  room = 64,
): { readonly text: string; readonly at: readonly string[]; readonly omitted: number } {
  const linked = restoreBodyLinks(new TextEncoder().encode(text), LINKS, new CompiledRuleBook(BOOK), room);
  return {
    text: linked === undefined ? text : new TextDecoder().decode(linked.body),
    at: linked?.records.map(({ from }) => from) ?? [],
    omitted: linked?.omitted ?? 0,
  };
}

test.each([
  ['"/api/v2/invoices/inv_7"', '"/api/v1/bills/7"'],
  ['"\\/api\\/v2\\/x"', '"/api/v1/x"'],
  ['"/base/api/v2/x?a=\\u0026#b"', '"/api/v1/x?a=&#b"'],
  ['"http://v2.example/base/api/v2/invoices/inv_%C3%A9"', '"https://gateway.example/api/v1/bills/%C3%A9"'],
  ['"//v2.example/api/v2"', '"//gateway.example/api/v1"'],
])('%s leads back: %s', (link, expected) => {
  const { text, at } = turned(`{ "a" : [1.0, ${link}, {"b":"\\u00e9"} ] }`);
  expect(text).toBe(`{ "a" : [1.0, ${expected}, {"b":"\\u00e9"} ] }`);
  expect(at).toEqual(['/a/1']);
});

test.each([
  ...words`"inv_7" "invoices/inv_7" "../invoices/inv_7" "?page=2" "/api/v20/x" "/other"`,
  '"/api/v2/x y"',
  '"/api/v2/x\\n"',
  '"see http://v2.example/api/v2/x"',
  '"https://v2.example.evil.test/api/v2/x"',
  '"https://v2.example@evil.test/api/v2/x"',
  '{"/api/v2/x":1}',
  '"\\ud800"',
  'no JSON "/api/v2/x"',
  '',
])('%s stays', (text) => {
  expect(turned(text)).toEqual({ text, at: [], omitted: 0 });
});

test('every link is turned back, and as many are recorded as there is room for', () => {
  const list = (link: string): string => JSON.stringify(Array.from({ length: 100 }, () => link));
  const { text, at, omitted } = turned(list('/api/v2/x'), 3);
  expect(text).toBe(list('/api/v1/x'));
  expect([at, omitted]).toEqual([['/0', '/1', '/2'], 97]);
});

test.each([
  [true, 'https://gateway.example/api/v1/bills/7'],
  [false, 'http://v2.example/api/v2/invoices/inv_7'],
])('a rule book follows links in bodies or leaves them: %s', (followsBodyLinks, expected) => {
  const rules = new CompiledRuleBook({ ...BOOK, followsBodyLinks });
  const plan = rules.responsePlan(OPERATION, 'GET');
  expect([plan.isEmpty, plan.appliesTo(200, false)]).toEqual([!followsBodyLinks, followsBodyLinks]);
  const body = new TextEncoder().encode('{"self":"http://v2.example/api/v2/invoices/inv_7"}');
  const outcome = plan.rewrite(body, rules.responseContext(200, [], LINKS));
  expect(JSON.parse(new TextDecoder().decode(outcome.body))).toEqual({ self: expected });
});
