import { expect, test, vi } from 'vitest';
import { EdgeExchange } from '../../src/edge/exchange.ts';
import type { GatewayParts } from '../../src/gateway/gateway-context.ts';
import { Gateway } from '../../src/gateway/gateway.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import type { Rollout } from '../../src/rules/rollout.ts';
import { gatewayOptions, readSettings } from '../../src/settings/read-settings.ts';
import { compiledTestRuleBook } from '../support/rule-book.ts';
import { rolloutOf } from '../support/two-services.ts';

interface Failed {
  readonly response: Response;
  readonly entries: readonly Entry[];
  readonly errors: readonly unknown[];
  readonly inFlight: number;
}

/** Sends a V1 request to a gateway with parts that fail, as an isolate at the edge does. */
async function sendTo(parts: Pick<GatewayParts, 'clientOf'> & Partial<GatewayParts>): Promise<Failed> {
  const rules = compiledTestRuleBook({ rollout: rolloutOf({}) });
  const read = readSettings({ flags: {}, environment: {}, readFile: () => '' });
  if ('faults' in read) throw new Error(read.faults.join('\n'));
  const [entries, errors]: [Entry[], unknown[]] = [[], []];
  const gateway = new Gateway(
    {
      rules: () => rules,
      v2: {
        upstream: {
          send: () => {
            throw new Error('nothing is sent');
          },
        },
        path: '',
        hosts: [],
      },
      record: (entry) => void entries.push(entry),
      now: () => performance.now(),
      time: () => Date.now(),
      newRequestId: () => crypto.randomUUID(),
      newTraceHex: () => '0'.repeat(48),
      decode: () => {},
      after: (milliseconds, run) => void setTimeout(run, milliseconds),
      random: () => 0,
      onUnexpectedError: (error) => void errors.push(error),
      ...parts,
    },
    gatewayOptions(read.settings, { bufferBytes: 1_000_000 }),
  );
  const request = new Request('http://g/api/v1/clients', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer k' },
    body: '{"data":{}}',
  });
  request.headers.set('host', 'g');
  const exchange = new EdgeExchange(request, { bodyTimeout: 0, refusals: undefined });
  const response = await gateway.serve(gateway.receive(exchange));
  await exchange.finished;
  return { response, entries, errors, inFlight: gateway.inFlight };
}

const fault = new Error('no key can be imported');

test.each<[what: string, clientOf: GatewayParts['clientOf']]>([
  ['a promise that is rejected', () => Promise.reject(fault)],
  [
    'an error that is thrown',
    () => {
      throw fault;
    },
  ],
])(
  'a client whose hash cannot be computed gets 500 in the envelope, and an entry: %s',
  async (_, clientOf) => {
    let calls = 0;
    // The entry asks for the hash again.
    const first: GatewayParts['clientOf'] = (key) => (calls++ === 0 ? clientOf(key) : '0123456789abcdef');
    const { response, entries, errors, inFlight } = await sendTo({ clientOf: first });
    expect([response.status, response.headers.get('x-gateway-error')]).toEqual([500, 'internal']);
    expect(await response.json()).toMatchObject({ errors: [{ status: '500', code: 'internal' }] });
    expect(entries).toMatchObject([{ status: 500, verdict: 'refused', failure: 'internal' }]);
    expect([errors, inFlight]).toEqual([[fault], 0]);
  },
);

test('an entry is written without its client if the hash cannot be computed', async () => {
  const { response, entries } = await sendTo({ clientOf: () => Promise.reject(fault) });
  expect(response.status).toBe(500);
  expect(entries).toHaveLength(1);
  expect(entries[0]?.client).toBeUndefined();
});

test('a routing that fails inside a promise, after the client is known, gets 500 in the envelope', async () => {
  const unlucky = new Error('no randomness');
  const { response, entries, errors, inFlight } = await sendTo({
    clientOf: () => Promise.resolve('0123456789abcdef'),
    rollout: undefined,
    random: () => {
      throw unlucky;
    },
  });
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ errors: [{ code: 'internal' }] });
  expect(entries).toMatchObject([{ status: 500, client: '0123456789abcdef' }]);
  expect([errors, inFlight]).toEqual([[unlucky], 0]);
});

const DAY = 86_400_000;
const TODAY = 1_800_000_000_000;

/** What each judgement needs in the rule book to refuse every request of an unknown client. */
const JUDGEMENTS = {
  ended: { gone: {}, signals: { sunset: TODAY - DAY, attributes: false, links: [] } },
  brownout: { brownouts: [{ id: 'b', share: 100, status: 503 as const }] },
  newcomer: { newcomers: { from: TODAY - DAY, answer: 'refuse' as const, except: [] } },
} satisfies Record<string, Partial<Rollout>>;

/** The parts of a gateway that no test here looks at. */
const OTHER_PARTS = {
  now: () => 0,
  newRequestId: () => crypto.randomUUID(),
  newTraceHex: () => '0'.repeat(48),
  clientOf: () => '0123456789abcdef',
  decode: () => {},
  after: () => {},
  random: () => 0,
  onUnexpectedError: (error: unknown) => expect.unreachable(String(error)),
};

/** Sends one client's requests, one after the other, to a gateway whose V2 never responds. */
async function judged(
  over: Partial<Rollout>,
  requests: number,
): Promise<{
  readonly failures: readonly unknown[];
  readonly newcomers: readonly unknown[];
  sent: number;
  held: number;
}> {
  const rules = compiledTestRuleBook({ rollout: rolloutOf({}, over) });
  const read = readSettings({ flags: {}, environment: {}, readFile: () => '' });
  if ('faults' in read) throw new Error(read.faults.join('\n'));
  const entries: Entry[] = [];
  let time = TODAY - 60 * DAY;
  let sent = 0;
  const call = { pause: () => {}, resume: () => {}, abort: () => {} };
  const gateway = new Gateway(
    {
      rules: () => rules,
      v2: { upstream: { send: () => ((sent += 1), call) }, path: '', hosts: [] },
      record: (entry) => void entries.push(entry),
      time: () => time,
      ...OTHER_PARTS,
    },
    gatewayOptions(read.settings, { bufferBytes: 1_000_000 }),
  );
  // The list of known clients is old enough to say who is new.
  await gateway.knownClients.standing('0123456789abcdef');
  time = TODAY;
  for (let n = 0; n < requests; n += 1) {
    const request = new Request('http://g/api/v1/clients', { headers: { authorization: 'Bearer k' } });
    request.headers.set('host', 'g');
    const exchange = new EdgeExchange(request, { bodyTimeout: 0, refusals: undefined });
    void gateway.serve(gateway.receive(exchange));
    await Promise.race([exchange.finished, new Promise((resolve) => setTimeout(resolve, 1))]);
  }
  return {
    failures: entries.map(({ failure }) => failure),
    newcomers: entries.map(({ newcomer }) => newcomer),
    sent,
    held: gateway.rateLimitQueue.held,
  };
}

test.each<[names: readonly (keyof typeof JUDGEMENTS)[], failure: string, isNewcomer: boolean]>([
  [['ended', 'brownout', 'newcomer'], 'sunset', false],
  [['ended', 'newcomer'], 'sunset', false],
  [['ended', 'brownout'], 'sunset', false],
  [['ended'], 'sunset', false],
  [['brownout', 'newcomer'], 'brownout', false],
  [['brownout'], 'brownout', false],
  [['newcomer'], 'newcomer', true],
])(
  'of the judgements %j, the first refuses the request, before the rate limit: %s',
  async (names, failure, isNewcomer) => {
    const shield = { requests: 1, per: 1000, wait: 1000, queue: 10 };
    const rollout: Partial<Rollout> = Object.assign({ shield }, ...names.map((name) => JUDGEMENTS[name]));
    const { failures, newcomers, sent, held } = await judged(rollout, 3);
    expect([failures, sent, held]).toEqual([[failure, failure, failure], 0, 0]);
    expect(newcomers.every((note) => (note !== undefined) === isNewcomer)).toBe(true);
  },
);

test.each([
  ['no judgement', {}, 3, 0],
  ['the rate limit alone', { shield: { requests: 1, per: 1000, wait: 60_000, queue: 10 } }, 1, 2],
])('by %s, requests are sent or wait: %j', async (_, rollout, sent, held) => {
  expect(await judged(rollout, 3)).toEqual({ failures: [], newcomers: [], sent, held });
});

test.each([
  ['is served', false, ['/api/v1/clients'], 200],
  ['sends nothing if its client has left meanwhile', true, [], 0],
])('a request in a mode whose code is loaded on demand %s', async (_, leaves, sent, status) => {
  const rules = compiledTestRuleBook({ rollout: rolloutOf({ default: { mode: 'observe' } }) });
  const read = readSettings({ flags: {}, environment: {}, readFile: () => '' });
  if ('faults' in read) throw new Error(read.faults.join('\n'));
  const [targets, entries]: [string[], Entry[]] = [[], []];
  const service = (version: string): GatewayParts['v2'] => ({
    upstream: {
      send: (request, receiver) => {
        targets.push(version === 'v1' ? request.target : `${version} ${request.target}`);
        receiver.head({ status: 200, reason: undefined, headers: [], lines: undefined });
        receiver.end([]);
        return { pause: () => {}, resume: () => {}, abort: () => {} };
      },
    },
    path: '',
    hosts: [],
  });
  const gateway = new Gateway(
    {
      rules: () => rules,
      v1: service('v1'),
      v2: service('v2'),
      record: (entry) => void entries.push(entry),
      time: () => TODAY,
      ...OTHER_PARTS,
    },
    gatewayOptions(read.settings, { bufferBytes: 1_000_000 }),
  );
  const client = new AbortController();
  const request = new Request('http://g/api/v1/clients', { signal: client.signal });
  request.headers.set('host', 'g');
  const exchange = new EdgeExchange(request, { bodyTimeout: 0, refusals: undefined });
  Promise.resolve(gateway.serve(gateway.receive(exchange))).catch(() => {});
  if (leaves) client.abort();
  await exchange.finished;
  await vi.waitUntil(() => entries.length === 1);
  await vi.dynamicImportSettled();
  expect([targets, entries[0]?.status]).toEqual([sent, status]);
});
