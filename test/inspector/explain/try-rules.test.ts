import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type {
  TrialOutcome,
  EntriesPage,
  EntryDetail,
  Explanation,
  RulesView,
} from '../../../src/inspector/api.ts';
import { until } from '../../support/until.ts';
import { inspected } from '../../support/inspected.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';
import {
  chosenExchanges,
  differences,
  type JudgeBody,
  type TriedExchange,
  tryRules,
} from '../../../src/inspector/explain/try-rules.ts';
import { BodySchemas } from '../../../src/openapi/body-schemas.ts';
import { decodeBody } from '../../../src/node/decode-body.ts';
import { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import { bookIn } from '../../rules/reading.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { FLOOR_PLAN_ORDER } from '../../support/inspected-gateway.ts';

const shipped = readFileSync(new URL('../../../config/rules.yaml', import.meta.url), 'utf8');

/** The shipped rule book without one of its changes. */
function without(id: string): string {
  const start = shipped.indexOf(`  - id: ${id}\n`);
  const rest = shipped.slice(start + 1);
  const end = rest.search(/^(?: {2}- id: |\S)/m);
  return shipped.slice(0, start) + rest.slice(end === -1 ? rest.length : end);
}

test.each(['off', 'bodies'])(
  'a rule book is tried on the kept exchanges, with capture %s, and is not put into force',
  async (capture) => {
    const gateway = await inspected({ capture }, '{"data":{"highlight_type":"slide"}}');
    const order = '{"data":{"transition_type":"slide","property":{"display_name":"Loft","suburb":"Enmore"}}}';
    const read = async <Content>(path: string): Promise<Content> =>
      (await (await fetch(`${gateway.adminOrigin}${path}`)).json()) as Content;
    // A machine without time to spare keeps some exchanges without their content: those are sent again.
    const send = async (method: string, path: string, body?: string): Promise<void> =>
      until(async () => {
        const headers = { 'content-type': 'application/json' };
        await fetch(`${gateway.origin}${path}`, body === undefined ? { method } : { method, headers, body });
        const { latest } = await read<EntriesPage>('/entries?limit=1');
        return (await read<EntryDetail>(`/entries/${latest}`)).kept !== 'nothing';
      });
    await send('POST', '/api/v1/orders/floor_plans', FLOOR_PLAN_ORDER);
    await send('POST', '/api/v1/orders/post_productions', order);
    await send('POST', '/api/v1/clients', '{"data":{"name":"Ada"}}');
    await send('POST', '/api/v1/clients', '{"data":[]}');
    await send('GET', '/api/v1/clients');
    await send('GET', '/api/v2/clients');
    const tryOut = async (text: string): Promise<TrialOutcome> =>
      (await (
        await fetch(`${gateway.adminOrigin}/rules/try`, { method: 'POST', body: text })
      ).json()) as TrialOutcome;
    const before = await read<RulesView>('/rules');
    const { entries } = await read<EntriesPage>('/entries');
    const details = await Promise.all(entries.map(({ seq }) => read<EntryDetail>(`/entries/${seq}`)));
    const kept = details.filter((detail) => detail.kept !== 'nothing').map(({ entry }) => entry);

    const same = await tryOut(shipped);
    expect(same).toMatchObject({
      against: before.hash,
      faults: [],
      result: { hash: before.hash, patch: '', differing: 0, exchanges: [] },
    });
    expect(same.result?.tried).toBe(same.result?.kept);
    expect(same.result?.untried).toEqual({ onPurpose: 0, withoutBody: 0, unread: 0, outOfTime: 0 });
    expect(same.result?.kept).toBeGreaterThanOrEqual(5);
    // Without a change, the exchanges differ that it edited according to the log, and no others.
    const outcomes = new Map<string, TrialOutcome>();
    for (const change of ['property-address', 'highlight-type']) {
      const outcome = await tryOut(without(change));
      outcomes.set(change, outcome);
      const { result } = outcome;
      const edited = kept.filter(({ edits }) => edits.some((edit) => edit.change === change));
      expect(edited.length).toBeGreaterThan(0);
      const differing = result?.exchanges.filter(({ request }) => request.length > 0);
      expect(differing?.map(({ requestId }) => requestId)).toEqual(edited.map(({ requestId }) => requestId));
      expect(result?.patch).toMatch(new RegExp(`^-  - id: ${change}$`, 'm'));
    }
    const renamed = outcomes.get('highlight-type')?.result?.exchanges[0];
    expect(renamed).toMatchObject({
      name: 'order_post_production',
      request: ['/highlight_type', '/transition_type'],
    });
    expect(renamed?.before).toContain('"highlight_type"');
    expect(renamed?.now).toContain('"transition_type"');
    // The client would read V2's name.
    expect(renamed?.response).toEqual(['/data/transition_type', '/data/highlight_type']);
    const lenient = await tryOut(shipped.replace('wrapper: refuse', 'wrapper: forward'));
    expect(lenient.result?.exchanges.map(({ request }) => request)).toEqual([
      ['verdict: refused (wrapper-not-object at /data), now unchanged'],
    ]);

    const faulty = await tryOut(shipped.replace('unwrap: data', 'unwarp: data'));
    expect(faulty.result).toBeUndefined();
    expect(faulty.faults[0]?.message).toContain('did you mean "unwrap"');
    expect(faulty.faults[0]?.line).toBe(shipped.slice(0, shipped.indexOf('unwrap: data')).split('\n').length);
    expect(await read<RulesView>('/rules')).toMatchObject({ hash: before.hash, loadedAt: before.loadedAt });
    const tooLarge = await fetch(`${gateway.adminOrigin}/rules/try`, {
      method: 'POST',
      body: '#'.repeat(600_000),
    });
    expect(tooLarge.status).toBe(413);
  },
  60_000,
);

test.each<[name: string, edit: (text: string) => string, body: string, explained: object]>([
  [
    'the text of the rule book in force',
    (text) => text,
    '{"data":{"name":"Ada"}}',
    { verdict: 'rewritten', edited: [] },
  ],
  [
    'another place for a member',
    (text) => text.replace('under: address', 'under: place'),
    '{"data":{"property":{"suburb":"Enmore"}}}',
    {
      verdict: 'rewritten',
      v2Body: '{"property":{"place":{"suburb":"Enmore"}}}',
      edited: ['/property/address', '/property/place'],
    },
  ],
  [
    'an edit that does not concern the request',
    (text) => text.replace('under: address', 'under: place'),
    '{"data":{"name":"Ada"}}',
    { verdict: 'rewritten', edited: [] },
  ],
  [
    'a policy that no longer refuses',
    (text) => text.replace('wrapper: refuse', 'wrapper: forward'),
    '{"data":[]}',
    { verdict: 'unchanged', edited: ['verdict: refused (wrapper-not-object at /data), now unchanged'] },
  ],
])(
  'a request is explained by %s, with the differences from the rule book in force',
  async (_, edit, body, explained) => {
    const gateway = await inspected();
    const rules = edit(shipped);
    const before = await gateway.readJson<RulesView>('/rules');
    const response = await gateway.postJson('/explain', { operation: 'order_floor_plan', body, rules });
    expect([response.status, await response.json()]).toMatchObject([200, explained]);
    // It is in force nowhere: not for the next request, and not for one that names no rule book.
    const { edited, ruleBook } = (await (
      await gateway.postJson('/explain', { operation: 'order_floor_plan', body })
    ).json()) as Explanation;
    expect([edited, ruleBook]).toEqual([undefined, before.hash]);
  },
);

test('a request that only the edited rule book knows is explained, and faults of that have their lines', async () => {
  const gateway = await inspected();
  const rules = shipped.replace(
    '  heartbeat: GET /heartbeat',
    '  heartbeat: GET /heartbeat\n  pulse: GET /pulse',
  );
  const explain = async (request: object): Promise<unknown> =>
    (await gateway.postJson('/explain', request)).json();
  expect(await explain({ operation: 'pulse', rules })).toMatchObject({
    operation: 'pulse',
    edited: [expect.stringContaining('pulse')],
  });
  expect(await explain({ operation: 'no_such', rules })).toMatchObject({
    errors: [{ code: 'not-explained' }],
  });
  const faulty = shipped.replace('unwrap: data', 'unwarp: data');
  const line = shipped.slice(0, shipped.indexOf('unwrap: data')).split('\n').length;
  expect(await explain({ operation: 'pulse', rules: faulty })).toEqual({
    faults: expect.arrayContaining([
      { line, column: expect.any(Number), message: expect.stringContaining('did you mean "unwrap"') },
    ]),
  });
  expect((await gateway.postJson('/explain', { operation: 'pulse', rules: 7 })).status).toBe(400);
});

test('exchanges that the end of V1 refused, and those beyond the limit of time, are counted and not tried', async () => {
  const current = await compiledShippedRuleBook();
  let now = 0;
  const exchangeOf = (failure: string): TriedExchange =>
    ({ seq: 1, entry: { failure }, kept: {} }) as unknown as TriedExchange;
  const trial = (failures: readonly string[], stepMs: number): ReturnType<typeof tryRules> =>
    tryRules(
      {
        text: shipped,
        current,
        currentText: shipped,
        exchanges: failures.map(exchangeOf),
        now: () => (now += stepMs),
      } as unknown as Parameters<typeof tryRules>[0],
      async () => {},
    );
  const counts = async (...given: Parameters<typeof trial>): Promise<unknown> =>
    (await trial(...given)).result?.untried;
  const none = { withoutBody: 0, unread: 0, outOfTime: 0 };
  expect(await counts(['brownout', 'sunset', 'newcomer'], 0)).toEqual({ ...none, onPurpose: 3 });
  expect(await counts(['brownout', 'sunset', 'newcomer'], 3000)).toEqual({
    ...none,
    onPurpose: 1,
    outOfTime: 2,
  });
});

test('a trial takes the newest exchanges of each operation, so that a busy one does not hide the others', () => {
  const entry = sampleEntry(1, 0);
  const exchangeOf = (seq: number): TriedExchange => ({
    seq,
    entry: { ...entry, operation: seq % 100 === 0 ? 'rare' : 'busy' },
    kept: { v1Request: { method: 'GET', target: '/', headers: [], body: { state: 'none' } } },
  });
  const choices = Array.from({ length: 2000 }, (_, at) => exchangeOf(2000 - at));
  const { exchanges, isCut } = chosenExchanges(choices);
  expect([exchanges.length, isCut]).toEqual([500, true]);
  expect(exchanges.filter((one) => one.entry.operation === 'rare')).toHaveLength(20);
  expect(exchanges.map(({ seq }) => seq).toSorted((one, other) => other - one)).toEqual(
    exchanges.map(({ seq }) => seq),
  );
  expect(chosenExchanges(choices.slice(0, 500))).toEqual({ exchanges: choices.slice(0, 500) });
});

test('a place that differs in several elements of a list is named once', () => {
  const [before, now] = [1, 2].map((value) => ({
    verdict: 'rewritten' as const,
    body: JSON.stringify({ data: [{ format: value }, { format: value }, { other: 1 }] }),
  }));
  expect(before && now && differences(before, now)).toEqual(['/data/*/format']);
});

test("V2's schema judges the changed requests, by the edited rules and by those in force", async () => {
  const book = (values: string): string => `
from: /api/v1
to: /api/v2
operations: { pay: POST /payments }
changes: [{ id: method, summary: S., on: [pay], request: [{ map: { ${values} }, of: method }] }]
`;
  const [before, now] = [book('card: credit_card'), book('card: credit_card, cheque: cash')];
  const schema = { type: 'object', properties: { method: { enum: ['credit_card', 'cash'] } } };
  const content = { 'application/json': { schema } };
  const schemas = new BodySchemas({
    openapi: '3.1.0',
    info: { title: 'V2', version: '2' },
    servers: [{ url: '/api/v2' }],
    paths: { '/payments': { post: { requestBody: { content }, responses: {} } } },
  });
  const judge: JudgeBody = (...body) => schemas.verdictOf(...body).v2;
  const kept = (method: string, state: 'values' | 'structure' = 'values'): TriedExchange => ({
    seq: 1,
    entry: { ...sampleEntry(1, 0), operation: 'pay', method: 'POST', path: '/api/v1/payments' },
    kept: {
      v1Request: {
        method: 'POST',
        target: '/api/v1/payments',
        headers: [{ name: 'Content-Type', value: 'application/json', masked: false }],
        body: { state, bytes: new TextEncoder().encode(JSON.stringify({ method })) },
      },
    },
  });
  const trial = async (exchanges: readonly TriedExchange[], more: object): Promise<unknown> => {
    const { result } = await tryRules(
      {
        text: now,
        current: new CompiledRuleBook(await bookIn(before)),
        currentText: before,
        exchanges,
        limits: { count: 1000, bytes: 1e6, bodyLimit: 1e6, codings: 4 },
        gatewayOrigin: 'http://127.0.0.1',
        origin: 'http://v2.invalid',
        decode: decodeBody,
        now: () => 0,
        ...more,
      } as unknown as Parameters<typeof tryRules>[0],
      async () => {},
    );
    return [result?.differing, result?.schema];
  };
  const exchanges = [kept('cheque'), kept('card'), kept('cheque'), kept('coins')];
  expect(await trial(exchanges, { judge })).toEqual([2, { judged: 2, accepted: 2, acceptedBefore: 0 }]);
  expect(await trial(exchanges, {})).toEqual([2, undefined]);
  expect(await trial([kept('card')], { judge })).toEqual([0, undefined]);
});
