import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Prefixes } from '../../../src/http/target.ts';
import { openSampler, openTraces, tracingPackages, type Traces } from '../../../src/node/log/tracing.ts';
import { command } from '../../support/command.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { NEVER_MS, until } from '../../support/until.ts';

/** A span in OTLP's JSON, as the exporter of OpenTelemetry posts it. */
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly unknown[];
  readonly status: { readonly code: number };
}

interface Posted {
  readonly path: string | undefined;
  readonly type: string | undefined;
  readonly key: string;
  readonly bytes: Buffer;
  readonly spans: readonly OtlpSpan[];
  readonly resource: unknown;
}

/** A collector that responds with the statuses in turn, and with the last from then on. */
async function collector(
  statuses: readonly number[],
  answer = '{}',
): Promise<{ readonly url: string; readonly posted: Posted[] }> {
  const posted: Posted[] = [];
  const server = createServer((request, response) => {
    const take = async (): Promise<void> => {
      const plain = request.headers['content-encoding'] === 'gzip' ? request.pipe(createGunzip()) : request;
      const bytes = await buffer(plain);
      const type = request.headers['content-type'];
      const { resourceSpans = [] } = (type === 'application/json' ? JSON.parse(bytes.toString()) : {}) as {
        resourceSpans?: { resource: unknown; scopeSpans: { spans: OtlpSpan[] }[] }[];
      };
      posted.push({
        path: request.url,
        type,
        key: String(request.headers['x-key']),
        bytes,
        spans: resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
        resource: resourceSpans[0]?.resource,
      });
      const status = statuses[Math.min(posted.length, statuses.length) - 1] ?? 200;
      response.writeHead(status, {
        'content-type': 'application/json',
        ...(status === 429 ? { 'retry-after': '1' } : {}),
      });
      response.end(answer);
    };
    void take();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, posted };
}

const SAMPLED = {
  ...sampleEntry(1, 1_700_000_000_123),
  spanId: '00f067aa0ba902b7',
  isSampled: true,
} as const;

function observe(traces: Traces | undefined, count: number): void {
  for (let n = 0; n < count; n += 1) traces?.observe(SAMPLED);
}

function setEnvironment(environment: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
}

afterEach(() => vi.unstubAllEnvs());

/** Traces to a collector, in JSON unless the environment says otherwise, and what they tell. */
async function tracesTo(
  url: string,
  environment: Readonly<Record<string, string>> = {},
  prefixes?: Prefixes,
) {
  const troubles: string[] = [];
  setEnvironment({
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    ...environment,
  });
  const tell = (trouble: string): void => void troubles.push(trouble);
  const traces = await openTraces('1', tell, prefixes === undefined ? undefined : () => prefixes);
  return { traces, troubles };
}

describe('traces', () => {
  test('go to the collector: a server span, and below it a client span that V2 hangs below', async () => {
    const { url, posted } = await collector([200]);
    const { traces, troubles } = await tracesTo(
      `${url}/`,
      {
        OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b',
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod%2C1',
      },
      new Prefixes('/old', '/new'),
    );
    traces?.observe(SAMPLED);
    traces?.observe({ ...SAMPLED, parentSpanId: '00f067aa0ba902b8', status: 503, failure: 'circuit-open' });
    const { isSampled: _isSampled, ...unsampled } = SAMPLED;
    traces?.observe(unsampled);
    await traces?.close(NEVER_MS);
    expect([traces?.dropped, troubles, posted.length]).toEqual([0, [], 1]);
    expect(posted[0]).toMatchObject({ path: '/v1/traces', key: 'a b' });
    for (const [key, value] of [
      ['service.name', 'capture-gateway'],
      ['service.version', '1'],
      ['deployment.environment.name', 'prod,1'],
    ])
      expect(posted[0]?.resource).toMatchObject({
        attributes: expect.arrayContaining([{ key, value: { stringValue: value } }]),
      });
    const spans = posted[0]?.spans ?? [];
    expect(spans).toHaveLength(4);
    const [server, client, second] = spans;
    expect(server).toMatchObject({
      name: 'POST /old order_floor_plan',
      kind: 2,
      startTimeUnixNano: '1700000000123000000',
      status: { code: 0 },
    });
    expect(server?.parentSpanId ?? '').toBe('');
    expect(BigInt(server?.endTimeUnixNano ?? 0) - BigInt(server?.startTimeUnixNano ?? 0)).toBe(13_579_000n);
    expect(client).toMatchObject({
      kind: 3,
      traceId: server?.traceId,
      spanId: '00f067aa0ba902b7',
      parentSpanId: server?.spanId,
    });
    expect(second).toMatchObject({ parentSpanId: '00f067aa0ba902b8', status: { code: 2 } });
    expect(JSON.stringify(second?.attributes)).toContain('circuit-open');
  });

  test('go as Protocol Buffers unless a variable names another protocol', async () => {
    const { url, posted } = await collector([200], '');
    vi.stubEnv('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', `${url}/own/path`);
    const traces = await openTraces('1', () => {});
    observe(traces, 1);
    await traces?.close(NEVER_MS);
    expect(posted).toMatchObject([{ path: '/own/path', type: 'application/x-protobuf' }]);
    expect(posted[0]?.bytes.includes(Buffer.from(SAMPLED.spanId, 'hex'))).toBe(true);
  });

  test.each<[string, Readonly<Record<string, string>>, string | undefined]>([
    ['no collector', {}, undefined],
    ['an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, undefined],
    ['no SDK', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x', OTEL_SDK_DISABLED: 'true' }, undefined],
    ['no exporter', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x', OTEL_TRACES_EXPORTER: 'none' }, undefined],
    ['an endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' }, '@opentelemetry/exporter-trace-otlp-proto'],
    [
      'JSON',
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://x', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
      '@opentelemetry/exporter-trace-otlp-http',
    ],
    [
      'gRPC',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' },
      '@opentelemetry/exporter-trace-otlp-grpc',
    ],
  ])('need packages for an environment that names %s', async (_, environment, exporter) => {
    expect(tracingPackages(environment).at(-1)).toBe(exporter);
    if (exporter !== undefined) return;
    setEnvironment(environment);
    expect(await openTraces('1', () => {})).toBeUndefined();
  });

  test('refuse a start without the package of their protocol, and name it', async () => {
    const served = command(['serve', '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'], {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    });
    const [text] = await served.until(/run npm install \S+ beside/);
    expect(text).toContain('npm install @opentelemetry/exporter-trace-otlp-grpc');
  });

  test.each([['1'], ['2']])(
    'of a served request reach the collector before %s processes end',
    async (workers) => {
      const { url, posted } = await collector([200]);
      const served = command(
        [
          'serve',
          '--listen',
          '127.0.0.1:0',
          '--admin-listen',
          '127.0.0.1:0',
          '--log-file',
          'off',
          '--workers',
          workers,
        ],
        {
          OTEL_EXPORTER_OTLP_ENDPOINT: url,
          OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
          OTEL_SERVICE_NAME: 'orders',
        },
      );
      const [, origin = ''] = await served.until(/clients +(http\S+)/);
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      const response = await fetch(`${origin}/api/v1/heartbeat`, {
        headers: { traceparent, authorization: 'Bearer k' },
      });
      await response.arrayBuffer();
      expect(await served.stop()).toBe(0);
      const spans = posted.flatMap((post) => post.spans);
      expect(spans).toHaveLength(2);
      expect(spans[0]).toMatchObject({
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        parentSpanId: '00f067aa0ba902b7',
      });
      expect(JSON.stringify(posted[0]?.resource)).toContain('orders');
    },
  );

  test.each([
    ['refuses them', async () => (await collector([400])).url, /; spans are dropped$/],
    ['is away', () => 'http://127.0.0.1:1', /ECONNREFUSED.*; spans are dropped$/],
  ])(
    'are counted and reported once when the collector %s, and delay no request',
    async (_, endpoint, trouble) => {
      const { traces, troubles } = await tracesTo(await endpoint(), { OTEL_EXPORTER_OTLP_TIMEOUT: '200' });
      observe(traces, 100);
      await traces?.close(NEVER_MS);
      expect([traces?.dropped, troubles]).toEqual([100, [expect.stringMatching(trouble)]]);
    },
  );

  test('that exceed the queue are counted, and so are those that a collector has not taken at the end', async () => {
    const server = createServer(() => {});
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const { port } = server.address() as AddressInfo;
    const { traces } = await tracesTo(`http://127.0.0.1:${port}`, { OTEL_BSP_MAX_QUEUE_SIZE: '100' });
    observe(traces, 150);
    // One batch is on its way, and another waits.
    expect(traces?.dropped).toBe(50);
    await traces?.close(50);
    expect(traces?.dropped).toBe(150);
  });

  test.each([
    ['{"partialSuccess":{"rejectedSpans":"4","errorMessage":"too old"}}', 2, /too old.*; spans are dropped$/],
    ['{"partialSuccess":{"rejectedSpans":3}}', 2, /; spans are dropped$/],
    ['{"partialSuccess":{"errorMessage":"use gRPC"}}', 0, /use gRPC/],
    ['{"partialSuccess":{}}', 0, undefined],
    ['{}', 0, undefined],
    ['', 0, undefined],
  ])('of a post with the response %s, %d are lost', async (answer, dropped, notice) => {
    const { url } = await collector([200], answer);
    const { traces, troubles } = await tracesTo(url);
    observe(traces, 10);
    await traces?.close(NEVER_MS);
    expect(traces?.dropped).toBe(dropped);
    expect(troubles).toEqual(notice === undefined ? [] : [expect.stringMatching(notice)]);
  });

  test('are posted again when a busy collector says so', async () => {
    const { url, posted } = await collector([429, 200]);
    const { traces, troubles } = await tracesTo(url, { OTEL_BSP_SCHEDULE_DELAY: '10' });
    observe(traces, 10);
    await until(() => posted.length === 2);
    await traces?.close(NEVER_MS);
    expect(posted[1]?.spans).toHaveLength(20);
    expect([traces?.dropped, troubles]).toEqual([0, []]);
  });
});

const LOW = '00000000000000000000000000000001';
const HIGH = 'ffffffffffffffffffffffffffffffff';

/** Decisions without a parent, below a parent that records, and below one that does not; for a low and a high trace id. */
async function decisions(sampler: string, argument: string): Promise<string> {
  setEnvironment(argument === '' ? {} : { OTEL_TRACES_SAMPLER_ARG: argument });
  vi.stubEnv('OTEL_TRACES_SAMPLER', sampler === '' ? undefined : sampler);
  const isSampled = await openSampler();
  return [undefined, true, false]
    .flatMap((parent) => [LOW, HIGH].map((id) => (isSampled(id, parent) ? '1' : '0')))
    .join('');
}

test.each([
  ['', '', '111100'],
  ['parentbased_always_on', '', '111100'],
  ['parentbased_always_off', '', '001100'],
  ['parentbased_traceidratio', '0.5', '..1100'],
  ['always_on', '', '111111'],
  ['always_off', '', '000000'],
  ['traceidratio', '0', '000000'],
  ['traceidratio', '1', '111111'],
  ['traceidratio', 'nonsense', '111111'],
  ['unheard_of', '', '111100'],
])('OTEL_TRACES_SAMPLER=%s, argument %j', async (sampler, argument, expected) => {
  expect(await decisions(sampler, argument)).toMatch(new RegExp(`^${expected}$`));
});

test('a ratio records that share of random traces', async () => {
  setEnvironment({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' });
  const isSampled = await openSampler();
  let count = 0;
  for (let n = 0; n < 4000; n += 1)
    if (isSampled(crypto.randomUUID().replaceAll('-', ''), undefined)) count += 1;
  expect(count).toBeGreaterThan(800);
  expect(count).toBeLessThan(1200);
});
