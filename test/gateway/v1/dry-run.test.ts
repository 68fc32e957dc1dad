import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { referenceDescription } from '../../../src/cli/draft/description-file.ts';
import type { Body } from '../../../src/gateway/exchange.ts';
import { DryRun, wouldOf } from '../../../src/gateway/v1/dry-run.ts';
import { DEFAULT_PREFIXES, readTarget, type Target } from '../../../src/http/target.ts';
import type { MigrateDecision } from '../../../src/migrate/decision.ts';
import { type RequestEnd, RequestMigration } from '../../../src/migrate/migration.ts';
import { startTwinServices } from '../../../src/node/twin/twin-services.ts';
import { BodySchemas } from '../../../src/openapi/body-schemas.ts';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { entrySchema } from '../../../src/rewrite-log/entry-schema.ts';
import { RolloutControl } from '../../../src/rollout/rollout-control.ts';
import type { Mode } from '../../../src/rules/rollout.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import { gatewayFor, type TestGateway, type TestGatewayOptions } from '../../support/gateway.ts';
import { compiledTestRuleBook } from '../../support/rule-book.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';
import { words } from '../../support/rows.ts';

const BODY = Buffer.from('{"data":{"property":{"suburb":"Enmore"}}}');

interface Run {
  readonly forwarded: Buffer;
  readonly outcome: RequestEnd | undefined;
  /** Bytes taken from the budget. */
  readonly taken: number;
}

/** Runs on a body that comes in `parts`, whose memory is filled with something else once they are forwarded. */
async function run(parts: readonly Uint8Array[], bodyLimit = 10_000_000, budget = Infinity): Promise<Run> {
  const rules = compiledTestRuleBook();
  const target = readTarget('/api/v1/orders/floor_plans', DEFAULT_PREFIXES);
  expect(target.fault).toBeUndefined();
  const decision: MigrateDecision = {
    route: 'migrate',
    target: target as Target,
    operation: rules.match('POST', '/orders/floor_plans'),
    query: { query: '', records: [], rules: [] },
    targetEdits: [],
    method: 'POST',
    dropsOverride: false,
    v2Method: 'POST',
    headers: undefined,
    refusal: undefined,
    v2Target: '/api/v2/orders/floor_plans',
    bodyLimit,
    body: { action: 'rewrite', coding: undefined, format: 'json' },
  };
  let taken = 0;
  const outcomes: RequestEnd[] = [];
  const dryRun = new DryRun(new RequestMigration(rules, decision), {
    judge: (_body, next) => next(),
    take: (bytes) => {
      taken += bytes;
      return taken <= budget;
    },
    decode: () => expect.unreachable(),
    rewrite: (body, done) => done(rules.requestPlan(decision.operation).rewrite(body), body),
    transform: () => expect.unreachable(),
    done: (outcome) => outcomes.push(outcome),
    over: () => {},
    lost: () => expect.unreachable(),
    copyLost: () => expect.unreachable(),
  });
  const { promise, resolve } = Promise.withResolvers<Body>();
  dryRun.run(
    (async function* () {
      yield* parts;
    })(),
    resolve,
  );
  const body = await promise;
  if (body === null || body instanceof Uint8Array) return expect.unreachable();
  const forwarded: Buffer[] = [];
  for await (const chunk of body) {
    if (parts.length < 1000) forwarded.push(Buffer.from(chunk));
    chunk.fill(0);
  }
  expect(outcomes.length).toBeLessThanOrEqual(1);
  return { forwarded: Buffer.concat(forwarded), outcome: outcomes[0], taken };
}

const bytewise = (body: Uint8Array): Uint8Array[] => Array.from(body, (byte) => Uint8Array.of(byte));

test('a body in parts crosses as it came, and is read once its last part has gone', async () => {
  for (const parts of [
    bytewise(BODY),
    [Buffer.from(BODY)],
    // `slice` of a buffer is a view, and this one fills its memory.
    [inMemoryOfItsOwn(BODY)],
    [BODY.subarray(0, 9), BODY.subarray(9)].map(copy),
  ]) {
    const { forwarded, outcome } = await run(parts);
    expect(forwarded.equals(BODY)).toBe(true);
    expect(outcome).toMatchObject({ verdict: 'rewritten', edits: [{}, {}] });
  }
});

test('a body beyond the limit crosses, and would have been refused', async () => {
  const { forwarded, outcome, taken } = await run(bytewise(BODY), 20);
  expect(forwarded.equals(BODY)).toBe(true);
  expect(outcome && wouldOf(outcome)).toEqual({ verdict: 'refused', failure: 'body-too-large' });
  expect(taken).toBeLessThanOrEqual(1024);
});

test('a body that the budget has no room for crosses, and gets no verdict', async () => {
  const { forwarded, outcome } = await run(bytewise(BODY), undefined, 10);
  expect(forwarded.equals(BODY)).toBe(true);
  expect(outcome).toBeUndefined();
});

// Attack: a client sends a body byte by byte, so that each byte is copied as an object, while the budget counts only bytes.
test('a copy takes its memory from the budget, at most twice the body in any number of parts', async () => {
  const body = Buffer.from(`{"data":{"note":"${'x'.repeat(300_000)}"}}`);
  const { outcome, taken } = await run(bytewise(body));
  expect(outcome?.verdict).toBe('rewritten');
  expect(taken).toBeGreaterThanOrEqual(body.length);
  expect(taken).toBeLessThanOrEqual(2 * body.length);
});

function inMemoryOfItsOwn(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}

function copy(part: Uint8Array): Uint8Array {
  return new Uint8Array(part);
}

async function schemasOfV2(): Promise<BodySchemas> {
  return new BodySchemas(await referenceDescription('v2'));
}

interface BodyChecksRun {
  readonly gateway: TestGateway;
  readonly v2: string;
  /** Sends a V1 request, and returns its entry; beyond the budget of a second it is sent again. */
  readonly send: (path: string, body: string, type?: string) => Promise<Entry>;
}

/** The reference as V1 and as V2, with the gateway in `mode` before them. */
async function serve(mode: Mode['mode'], parts: TestGatewayOptions['parts'] = {}): Promise<BodyChecksRun> {
  const services = await startTwinServices();
  onTestFinished(() => services.close());
  services.reset({ rate: 0 });
  const rollout = new RolloutControl({ time: Date.now, onNotice: () => {} });
  rollout.command({ mode: { mode } });
  const schemas = await schemasOfV2();
  const gateway = await gatewayFor(services.v2, {
    rules: await compiledShippedRuleBook(),
    parts: { v1Origin: { origin: services.v1, path: '' }, rollout, v2Schemas: () => schemas, ...parts },
  });
  let sent = 0;
  const send: BodyChecksRun['send'] = async (path, body, type) => {
    for (;;) {
      await request(`${gateway.origin}/api/v1${path}`, body, type);
      sent += 1;
      for (let wait = 0; wait < 5000 && gateway.lines.length < sent; wait += 1) {
        await pause(1);
      }
      const entry = JSON.parse(gateway.lines[sent - 1] ?? '') as Entry;
      if (entry.would?.why !== 'budget') return entry;
      await pause(200);
    }
  };
  return { gateway, v2: services.v2, send };
}

function request(address: string, body: string, type = 'application/json'): Promise<Response> {
  const headers = { authorization: 'Bearer test-key', 'content-type': type };
  return fetch(address, { method: 'POST', body, headers });
}

test.each(['observe', 'shadow'] as const)(
  'in %s a write is checked against the schema of V2, which gets nothing',
  async (mode) => {
    const { send, gateway, v2 } = await serve(mode);
    const valid = await send('/orders/floor_plans', '{"data":{"property":{"suburb":"Enmore"}}}');
    expect(valid).toMatchObject({ origin: 'v1', status: 201, would: { verdict: 'rewritten', v2: 'valid' } });
    expect(valid.would).not.toHaveProperty('at');
    const bodies = [
      ['/clients', '{"data":{}}', '/name'],
      ['/clients', '{"data":{"name":7}}', '/name'],
      ['/orders/floor_plans', '{"data":{"property":{"sub~/urb":"x"}}}', '/property/sub~0~1urb'],
      ['/bookings', '{"data":{"services":["a",4]}}', '/services/1'],
      ['/clients', '{"name":"x","märz":1}', '/märz'],
    ] as const;
    for (const [path, body, at] of bodies) {
      const entry = await send(path, body);
      expect([path, body, entry.would?.v2, entry.would?.at]).toEqual([path, body, 'invalid', at]);
      expect(entrySchema.safeParse(JSON.parse(entryLine(entry))).error).toBeUndefined();
    }
    const stored = await (
      await fetch(`${v2}/api/v2/clients`, { headers: { authorization: 'Bearer test-key' } })
    ).json();
    expect(stored).toMatchObject({ data: [] });
    expect(gateway.surprises).toEqual([]);
  },
);

test('a verdict that cannot be known is unknown, with the reason', async () => {
  const { send } = await serve('observe');
  const why = async (...given: Parameters<typeof send>): Promise<unknown> => (await send(...given)).would;
  expect(await why('/nothing', '{"data":{"name":"x"}}')).toEqual({
    verdict: 'rewritten',
    v2: 'unknown',
    why: 'no-schema',
  });
  expect(await why('/clients', `{"data":{"name":"${'x'.repeat(17_000)}"}}`)).toMatchObject({
    v2: 'unknown',
    why: 'too-large',
  });
  expect(await why('/clients', 'name=x', 'text/plain')).toMatchObject({
    v2: 'unknown',
    why: 'not-read',
  });
  // Nothing to check: no body, or one that the gateway itself would refuse.
  expect(await why('/clients', '')).toEqual({ verdict: 'unchanged' });
  expect(await why('/clients', '{"data":7}')).toEqual({
    verdict: 'refused',
    failure: 'wrapper-not-object',
    pointer: '/data',
  });
});

test('without a description there is no verdict; while it cannot be read, the verdict is unknown', async () => {
  const off = await serve('observe', { v2Schemas: undefined });
  expect((await off.send('/clients', '{"data":{}}')).would).toEqual({ verdict: 'rewritten' });
  const unread = await serve('observe', { v2Schemas: () => 'unread' });
  expect((await unread.send('/clients', '{"data":{}}')).would).toEqual({
    verdict: 'rewritten',
    v2: 'unknown',
    why: 'no-description',
  });
});

test('300 random bodies get the verdict that V2 itself gives them', async () => {
  const { send, v2, gateway } = await serve('observe');
  const rules = await compiledShippedRuleBook();
  const operations = words`/clients /contacts /bookings /orders/floor_plans /orders/post_productions /virtual_tours`;
  const seen = { valid: 0, invalid: 0 };
  const runs = fuzzRuns(300, 60);
  for (const [path, body] of fc.sample(fc.tuple(fc.constantFrom(...operations), arbitraryBody), {
    numRuns: runs,
    seed: 14,
  })) {
    const { would } = await send(path, body);
    if (would?.verdict === 'refused') continue;
    const plan = rules.requestPlan(rules.match('POST', path));
    const migrated = plan.rewrite(new TextEncoder().encode(body));
    if (migrated.verdict === 'refused') throw new Error('the gateway refuses what it would not refuse');
    const forV2 = migrated.verdict === 'rewritten' ? new TextDecoder().decode(migrated.body) : body;
    const response = await request(`${v2}/api/v2${path}`, forV2);
    const { errors = [] } = (await response.json()) as {
      readonly errors?: readonly { readonly source?: { readonly pointer: string } }[];
    };
    const isRefused = response.status === 422;
    seen[isRefused ? 'invalid' : 'valid'] += 1;
    expect([path, forV2, would?.v2]).toEqual([path, forV2, isRefused ? 'invalid' : 'valid']);
    if (isRefused) expect(errors.map(({ source }) => source?.pointer)).toContain(would?.at);
  }
  expect(seen.valid).toBeGreaterThan(runs / 20);
  expect(seen.invalid).toBeGreaterThan(runs / 20);
  expect(gateway.surprises).toEqual([]);
});

/** Bodies of V1 clients: names of all resources, mostly with values that fit, mostly wrapped. */
const arbitraryBody = fc
  .letrec<{ readonly value: unknown; readonly object: Record<string, unknown> }>((tie) => ({
    value: fc.oneof(
      { weight: 6, arbitrary: fc.string({ maxLength: 5 }) },
      { weight: 2, arbitrary: fc.constantFrom<unknown>(null, 3, 1.5, true, [], ['x'], 2 ** 53) },
      { weight: 1, arbitrary: tie('object') },
    ),
    object: fc
      .record(
        {
          name: tie('value'),
          notes: tie('value'),
          suburb: tie('value'),
          property_id: fc.oneof(fc.nat(9), tie('value')),
          property: fc.record(
            { suburb: tie('value'), latitude: fc.double({ noNaN: true }), client: tie('value') },
            { requiredKeys: [] },
          ),
          transition_type: tie('value'),
          services: tie('value'),
          address: tie('object'),
        },
        { requiredKeys: [] },
      )
      .map((members) => Object.fromEntries(Object.entries(members).slice(0, 3))),
  }))
  .object.chain((data) =>
    fc.constantFrom<unknown>({ data }, { data: { name: 'x', ...data } }, { data: { notes: 'x' } }, data),
  )
  .map((body) => JSON.stringify(body));

// Attack: 47 bytes for `format: url` held the event loop for 3 s; a pattern of an operator could do so for hours.
test('a body that makes its check slow is unknown, and the gateway serves on', async () => {
  const schema = {
    properties: { site: { format: 'url' }, code: { pattern: '(x+x+)+y(.?){1000}z' } },
  };
  const schemas = new BodySchemas({
    openapi: '3.1.0',
    paths: { '/clients': { post: { requestBody: { content: { '*/*': { schema } } } } } },
  });
  const { send, gateway } = await serve('observe', { v2Schemas: () => schemas });
  const site = `http://${'a'.repeat(28)}!`;
  expect((await send('/clients', JSON.stringify({ data: { site } }))).would).toMatchObject({ v2: 'valid' });
  const code = `${'x'.repeat(7000)}${'y'.repeat(8000)}`;
  expect((await send('/clients', JSON.stringify({ data: { code } }))).would).toMatchObject({
    v2: 'unknown',
    why: 'too-slow',
  });
  expect(gateway.surprises).toEqual([]);
});
