import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { LinkStream } from '../../src/rewrite/link-stream.ts';
import { type BodyLinks, linkTurner } from '../../src/rewrite/links.ts';
import { readDestination } from '../../src/rules/move.ts';
import { responseRule } from '../support/response-plan-of.ts';
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

function turned(text: string): {
  readonly text: string;
  readonly at: readonly string[];
  readonly omitted: number;
} {
  return turnedIn([new TextEncoder().encode(text)]);
}

/** The links of a text that arrives in these parts. */
function turnedIn(parts: readonly Uint8Array[]): ReturnType<typeof turned> {
  const links = new LinkStream(linkTurner(LINKS, new CompiledRuleBook(BOOK)));
  const out = [...parts.map((part) => links.push(part)), links.end()];
  return {
    text: Buffer.concat(out).toString(),
    at: links.records.map(({ from = '' }) => from),
    omitted: links.count - links.records.length,
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
  '"/api/v2/x',
  `"/api/v2/${'x'.repeat(17_000)}"`,
  '',
])('%s stays', (text) => {
  expect(turned(text)).toEqual({ text, at: [], omitted: 0 });
});

const link = fc.constantFrom(
  '/api/v2/x',
  'http://v2.example/api/v2/invoices/inv_7',
  '/other',
  'h"\\',
  '',
  'é\u0000',
);
const name = fc.constantFrom('/api/v2/x', 'a', 'b/~', 'é"', '');
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    link,
    fc.constantFrom(1, null, true),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
})).value;
const spelled = fc
  .tuple(json, fc.constantFrom(0, 1), fc.boolean())
  .map(([value, indent, isEscaped]) =>
    JSON.stringify(value, null, indent).replaceAll('/', isEscaped ? '\\/' : '/'),
  );

test('a link is turned wherever the text is cut, and its pointer names its place', () => {
  fc.assert(
    fc.property(spelled, fc.array(fc.nat(), { maxLength: 6 }), (text, places) => {
      const bytes = Buffer.from(text);
      const cuts = [
        0,
        ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b),
        bytes.length,
      ];
      const whole = turned(text);
      expect(turnedIn(cuts.slice(1).map((end, at) => bytes.subarray(cuts[at], end)))).toEqual(whole);
      const [before, after]: unknown[] = [JSON.parse(text), JSON.parse(whole.text)];
      expect(after).toEqual(inV1(before));
      for (const pointer of whole.at)
        expect(String(valueAt(before, pointer))).toMatch(/^(?:http:\/\/v2\.example)?\/api\/v2\//);
    }),
  );
});

function inV1(value: unknown): unknown {
  if (typeof value === 'string') return JSON.parse(turned(JSON.stringify(value)).text);
  if (Array.isArray(value)) return value.map(inV1);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inV1(member)]));
}

function valueAt(value: unknown, pointer: string): unknown {
  let at = value;
  for (const token of pointer.split('/').slice(1))
    at = Object.getOwnPropertyDescriptor(at, token.replaceAll('~1', '/').replaceAll('~0', '~'))?.value;
  return at;
}

test('a string that is too long for a link is sent as it comes, wherever an escape is cut', () => {
  const long = `"h${'\\\\'.repeat(9000)}\\"/api/v2/x"`;
  const bytes = Buffer.from(`[${long},"/api/v2/x"]`);
  for (const cut of [17_000, 17_001, 18_001, 18_002, 18_003, 18_004, 18_005, 18_006])
    expect(turnedIn([bytes.subarray(0, cut), bytes.subarray(cut)]).text).toBe(`[${long},"/api/v1/x"]`);
});

test('every link is turned back, and 64 are recorded', () => {
  const list = (link: string): string => JSON.stringify(Array.from({ length: 100 }, () => link));
  const { text, at, omitted } = turned(list('/api/v2/x'));
  expect(text).toBe(list('/api/v1/x'));
  expect([at.length, at.at(-1), omitted]).toEqual([64, '/63', 36]);
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

test.each([
  ['no JSON', 'no JSON "/api/v2/x"', undefined],
  ['no room for the rules', `[${'{"a":1},'.repeat(40_000)}"/api/v2/x"]`, { take: () => false }],
])('a body to which rules cannot be applied keeps its links: %s', (_why, text, memory) => {
  const change = {
    id: 'a',
    summary: 's',
    on: ['read_bill'],
    request: [],
    response: [responseRule('rename *.a to b')],
    policies: {},
    assumed: false,
  };
  const rules = new CompiledRuleBook({ ...BOOK, changes: [change] });
  const body = new TextEncoder().encode(text);
  const context = rules.responseContext(200, [], LINKS);
  const {
    verdict,
    body: kept,
    ...more
  } = rules.responsePlan(OPERATION, 'GET').rewrite(body, context, memory);
  expect([verdict, kept === body, Object.keys(more)]).toEqual(['unchanged', true, ['note']]);
});
