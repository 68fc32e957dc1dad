import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGunzip } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Prefixes } from '../../../src/http/target.ts';
import { openTraces, readSampler, type Traces, type OtlpSpan } from '../../../src/node/log/otlp.ts';
import { command } from '../../support/command.ts';
import { freePort } from '../../support/free-port.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { NEVER_MS, until } from '../../support/until.ts';

interface Posted {
  readonly path: string | undefined;
  readonly key: string | undefined;
  readonly spans: readonly OtlpSpan[];
  readonly resource: unknown;
}

interface CollectorOptions {
  readonly port?: number;
  /** Maximum number of spans in a post. */
  readonly limit?: number;
  readonly answer?: string;
}

/** Responds with the statuses in turn, and with the last from then on. */
async function collector(
  first: CollectorOptions | number,
  ...more: readonly number[]
): Promise<{ readonly url: string; readonly posted: Posted[] }> {
  const { port: ownPort = 0, limit = Infinity, answer = '{}' } = typeof first === 'number' ? {} : first;
  const statuses = typeof first === 'number' ? [first, ...more] : more;
  const posted: Posted[] = [];
  const server = createServer((request, response) => {
    let text = '';
    const plain = request.headers['content-encoding'] === 'gzip' ? request.pipe(createGunzip()) : request;
    plain.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    plain.on('end', () => {
      const { resourceSpans } = JSON.parse(text) as {
        resourceSpans: { resource: unknown; scopeSpans: { spans: OtlpSpan[] }[] }[];
      };
      const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
      posted.push({
        path: request.url,
        key: String(request.headers['x-key']),
        spans,
        resource: resourceSpans[0]?.resource,
      });
      const own = statuses[Math.min(posted.length, statuses.length) - 1] ?? 200;
      const status = spans.length > limit ? 413 : own;
      response.writeHead(status, status === 429 ? { 'retry-after': '1' } : {}).end(answer);
    });
  });
  await new Promise<void>((resolve) => void server.listen(ownPort, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, posted };
}

function observe(traces: Traces | undefined, count: number): void {
  for (let n = 0; n < count; n += 1)
    traces?.observe({ ...sampleEntry(1, 0), spanId: '00f067aa0ba902b7', isSampled: true });
}

/** Traces to a collector, and what they tell. */
async function tracesTo(url: string, environment: Readonly<Record<string, string>> = {}) {
  const troubles: string[] = [];
  const options = { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...environment };
  const traces = await openTraces(options, '1', (trouble) => void troubles.push(trouble));
  return { traces, troubles };
}

describe('traces', () => {
  test('go to the collector: a server span, and below it a client span that V2 hangs below', async () => {
    const { url, posted } = await collector(200);
    const traces = await openTraces(
      { OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/`, OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b' },
      '1.2.3',
      () => {},
      () => new Prefixes('/old', '/new'),
    );
    const made = {
      ...sampleEntry(1, 1_700_000_000_123),
      spanId: '00f067aa0ba902b7',
      isSampled: true,
    } as const;
    traces?.observe(made);
    traces?.observe({ ...made, parentSpanId: '00f067aa0ba902b8', status: 503, failure: 'circuit-open' });
    const { isSampled: _isSampled, ...unsampled } = made;
    traces?.observe(unsampled);
    await traces?.close(NEVER_MS);
    expect(posted).toHaveLength(1);
    expect(posted[0]).toMatchObject({ path: '/v1/traces', key: 'a b' });
    expect(JSON.stringify(posted[0]?.resource)).toContain(
      '"service.name","value":{"stringValue":"capture-gateway"}',
    );
    const [server, client, second] = posted[0]?.spans ?? [];
    expect(server).toMatchObject({
      name: 'POST /old order_floor_plan',
      kind: 2,
      startTimeUnixNano: '1700000000123000000',
      status: { code: 0 },
    });
    expect(server).not.toHaveProperty('parentSpanId');
    expect(BigInt(server?.endTimeUnixNano ?? 0) - BigInt(server?.startTimeUnixNano ?? 0)).toBe(13_579_000n);
    expect(client).toMatchObject({ kind: 3, spanId: '00f067aa0ba902b7', parentSpanId: server?.spanId });
    expect(second).toMatchObject({ parentSpanId: '00f067aa0ba902b8', status: { code: 2 } });
    expect(JSON.stringify(second?.attributes)).toContain('circuit-open');
  });

  test('are off when no collector is named, or the environment says so: not even their code is loaded', async () => {
    expect(await openTraces({}, '1', () => {})).toBeUndefined();
    expect((await tracesTo('')).traces).toBeUndefined();
    expect((await tracesTo('http://x', { OTEL_SDK_DISABLED: 'true' })).traces).toBeUndefined();
    expect((await tracesTo('http://x', { OTEL_TRACES_EXPORTER: 'none' })).traces).toBeUndefined();
  });

  test('of a served request reach the collector before the process ends', async () => {
    const { url, posted } = await collector(200);
    const served = command(
      ['serve', '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0', '--log-file', 'off'],
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SERVICE_NAME: 'orders' },
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
  });

  test('are lost, counted and reported once when the collector fails, and delay nobody', async () => {
    const { url } = await collector(500);
    for (const [endpoint, trouble] of [
      [url, 'the collector responded with 500; spans are dropped'],
      ['http://127.0.0.1:1', 'the collector cannot be reached (ECONNREFUSED); spans are dropped'],
    ] as const) {
      const { traces, troubles } = await tracesTo(endpoint);
      observe(traces, 2000);
      await traces?.close(NEVER_MS);
      expect([traces?.dropped, troubles]).toEqual([2000, [trouble]]);
    }
  });

  test('wait for a collector that restarts', async () => {
    const port = await freePort();
    const { traces, troubles } = await tracesTo(`http://127.0.0.1:${port}`);
    observe(traces, 600);
    // The second refused post is told; the next one is two seconds later.
    await until(() => troubles.length > 0);
    expect(troubles).toEqual([
      'the collector cannot be reached (ECONNREFUSED); the spans of at most 4096 exchanges wait',
    ]);
    const { posted } = await collector({ port }, 200);
    await until(() => posted.length > 0);
    await traces?.close(NEVER_MS);
    expect(traces?.dropped).toBe(0);
    expect(posted.flatMap(({ spans }) => spans)).toHaveLength(1200);
  });

  test('are split where a post is too large for the collector, down to the one that is lost', async () => {
    const { url, posted } = await collector({ limit: 100 }, 200);
    const { traces, troubles } = await tracesTo(url);
    observe(traces, 512);
    await traces?.close(NEVER_MS);
    expect(traces?.dropped).toBe(0);
    expect(posted.filter(({ spans }) => spans.length <= 100).flatMap(({ spans }) => spans)).toHaveLength(
      1024,
    );
    const lost = await tracesTo((await collector({ limit: 1 }, 200)).url);
    observe(lost.traces, 3);
    await lost.traces?.close(NEVER_MS);
    expect([troubles, lost.traces?.dropped, lost.troubles]).toEqual([
      [],
      3,
      ['the collector responded with 413; spans are dropped'],
    ]);
  });

  test.each([
    [
      '{"partialSuccess":{"rejectedSpans":"4","errorMessage":"too old"}}',
      2,
      'the collector rejected 4 of 20 spans (too old); spans are dropped',
    ],
    ['{"partialSuccess":{"rejectedSpans":3}}', 2, 'the collector rejected 3 of 20 spans; spans are dropped'],
    [
      '{"partialSuccess":{"rejectedSpans":"99"}}',
      10,
      'the collector rejected 99 of 20 spans; spans are dropped',
    ],
    ['{"partialSuccess":{"errorMessage":"use gRPC"}}', 0, 'the collector warns: use gRPC'],
    ['{"partialSuccess":{}}', 0, undefined],
    ['{}', 0, undefined],
    ['', 0, undefined],
    ['<html>', 0, undefined],
    ['{"partialSuccess":{"rejectedSpans":"many"}}', 0, undefined],
  ])('of a post that is answered with %s, %d are lost', async (answer, dropped, notice) => {
    const { url } = await collector({ answer }, 200);
    const { traces, troubles } = await tracesTo(url);
    observe(traces, 10);
    await traces?.close(NEVER_MS);
    expect([traces?.dropped, troubles]).toEqual([dropped, notice === undefined ? [] : [notice]]);
  });

  test('are posted again when a busy collector says so, compressed, with the attributes of the resource', async () => {
    const { url, posted } = await collector(429, 200);
    const { traces, troubles } = await tracesTo(url, {
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=prod%2C1,service.name=other,broken',
      OTEL_SERVICE_NAME: 'orders',
    });
    observe(traces, 512);
    // Not before the second that the collector sent; the exporter checks every two.
    await until(() => posted.length === 2);
    await traces?.close(NEVER_MS);
    expect(posted[1]?.spans).toHaveLength(posted[0]?.spans.length ?? 0);
    expect(posted[1]?.resource).toEqual({
      attributes: [
        { key: 'service.name', value: { stringValue: 'orders' } },
        { key: 'service.version', value: { stringValue: '1' } },
        { key: 'deployment.environment.name', value: { stringValue: 'prod,1' } },
      ],
    });
    expect(troubles).toEqual([]);
  });

  test('go by the protocol that there is, where another one is asked for', async () => {
    const { traces, troubles } = await tracesTo('http://127.0.0.1:1', {
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    });
    await traces?.close(10);
    expect(troubles).toEqual(['OTEL_EXPORTER_OTLP_PROTOCOL is grpc, but the gateway sends http/json']);
  });
});

const LOW = '0000000000000000000000000000000f';
const HIGH = 'ffffffffffffffffffffffffffffffff';

/** Decisions without a parent, below a parent that records, and below one that does not; for a low and a high trace id. */
function decisions(sampler: string, argument = ''): string {
  const isSampled = readSampler({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument });
  return [undefined, true, false]
    .flatMap((parent) => [LOW, HIGH].map((id) => (isSampled(id, parent) ? '1' : '0')))
    .join('');
}

test.each([
  ['', '', '111100'],
  ['parentbased_always_on', '', '111100'],
  ['parentbased_always_off', '', '001100'],
  ['parentbased_traceidratio', '0.5', '101100'],
  ['always_on', '', '111111'],
  ['always_off', '', '000000'],
  ['traceidratio', '0.5', '101010'],
  ['traceidratio', '0', '000000'],
  ['traceidratio', '1', '111111'],
  ['traceidratio', 'nonsense', '111111'],
  ['unheard_of', '', '111100'],
])('OTEL_TRACES_SAMPLER=%s, argument %j', (sampler, argument, expected) => {
  expect(decisions(sampler, argument)).toBe(expected);
});

test('a ratio records that share of random traces', () => {
  const isSampled = readSampler({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' });
  let count = 0;
  for (let n = 0; n < 4000; n += 1)
    if (isSampled(crypto.randomUUID().replaceAll('-', ''), undefined)) count += 1;
  expect(count).toBeGreaterThan(800);
  expect(count).toBeLessThan(1200);
});
