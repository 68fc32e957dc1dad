import { expect, test } from 'vitest';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { bookIn } from '../rules/reading.ts';
import { planOf } from '../support/plan-of.ts';
import { bytesOf } from './notation.ts';
import { words } from '../support/rows.ts';

const many = (count: number): string =>
  Array.from({ length: count }, (_, k) => `"${k.toString(36)}":0`).join(',');

// Attack: a body of many members that are all dropped, to keep the process busy in quadratic time and to fill the log.
test('a hundred thousand members are dropped in a moment, and the list of edits is bounded', () => {
  const siblings = planOf([{ rule: 'unwrap', member: 'data' }]).rewrite(
    bytesOf(`{"data":{},${many(200_000)}}`),
  );
  if (siblings.verdict !== 'rewritten') throw new Error(siblings.verdict);
  expect(siblings.records.length).toBeLessThan(1000);
  expect(siblings.records.length + siblings.omitted).toBe(200_001);
  expect(siblings.patch).toEqual([]);
  const only = planOf([{ rule: 'only', members: ['x'], in: [] }]).rewrite(bytesOf(`{${many(200_000)}}`));
  expect(only).toMatchObject({ verdict: 'rewritten' });
  const repeated = planOf([{ rule: 'strip', members: ['a'], in: [] }], { duplicate: 'last' });
  const twice = Array.from({ length: 200_000 }, () => '"a":0').join(',');
  expect(repeated.rewrite(bytesOf(`{${twice}}`))).toMatchObject({ verdict: 'rewritten' });
  const elements = Array.from({ length: 100_000 }, () => '{"a":1}').join(',');
  const each = planOf([{ rule: 'rename', member: 'a', in: ['list', '*'], to: 'b' }]);
  expect(each.rewrite(bytesOf(`{"list":[${elements}]}`))).toMatchObject({ verdict: 'rewritten' });
});

// Attack: one name of many kilobytes, to fill the log by a single member.
test('a long name is recorded once, and further records are counted', () => {
  const outcome = planOf([{ rule: 'unwrap', member: 'data' }]).rewrite(
    bytesOf(`{"${'n'.repeat(200_000)}":1,"m":2,"data":{}}`),
  );
  expect(outcome).toMatchObject({ verdict: 'rewritten', omitted: 1 });
});

/** Pieces of the texts of an error that are looked at one by one: names, escapes, separators. */
const PIECES = [
  'highlight_type',
  'highlight_type ',
  'xhighlight_type.',
  'highlight_typo ',
  '/highlight_type',
  String.raw`\/`,
  String.raw`\n`,
  String.raw`\\`,
  String.raw`\"`,
  String.raw`\u0041`,
  ...words`~1 / . a. _ 9`,
  ' ',
];

// Attack: a V2 that repeats in its error what a client sent. In quadratic time this test does not end; a call for each escape takes minutes.
test('an error whose texts are megabytes of pieces is turned back in one pass', async () => {
  const rules = await compiledShippedRuleBook();
  const text = PIECES.map((piece) => piece.repeat(Math.ceil(200_000 / piece.length))).join('');
  for (const [id, method, source] of [
    ['order_post_production', 'POST', `{"pointer":"/highlight_type/${text}"}`],
    ['list_post_production_orders', 'GET', '{"parameter":"highlight_type"}'],
    ['list_post_production_orders', 'GET', `{"parameter":"${text}"}`],
  ] as const) {
    const plan = rules.responsePlan(
      rules.ruleBook.operations.find((operation) => operation.id === id),
      method,
    );
    const body = bytesOf(`{"errors":[{"detail":"${text}","source":${source}}]}`);
    const rewrite = plan.rewrite(body, { status: 422, deprecated: [], isWrapped: true });
    expect(rewrite.body.length).toBeGreaterThan(2e6);
  }
});

// Rules that the operation of a request does not use cost it nothing, because there is no plan to ask.
test('the rules of other operations leave a request no plan to run', async () => {
  const others = `body-links: leave
operations:
  plain: POST /plain
  moved: { match: POST /bills, to: POST /invoices, status: { 204: 200 } }
  lines: { match: 'GET /bills/{id}/lines', to: 'GET /lines?invoice={id}', transform: ./pages.js }
changes:
  - id: all
    summary: s
    on: [moved]
    request: [{ rename: a, to: b }, { scale: c, by: 100 }, { move: d, to: e.f }, { default: { g: 1 } }]
    headers: [{ rename: X-A, to: X-B }]
    query: [{ rename: h, to: i }]
    response: inverse
`;
  const rules = new CompiledRuleBook(await bookIn(others));
  const [plain] = rules.ruleBook.operations;
  expect(rules.headerPlan(plain)).toBe(undefined);
  expect(rules.queryPlan(plain, 'POST')).toBe(undefined);
  expect(rules.requestPlan(plain)).toMatchObject({ isEmpty: true });
  expect(rules.responsePlan(plain, 'POST')).toMatchObject({ isEmpty: true });
  const { moves, webhooks, clientKeys, secrets } = await compiledShippedRuleBook();
  expect([moves, webhooks, clientKeys, secrets]).toEqual([undefined, undefined, undefined, undefined]);
});
