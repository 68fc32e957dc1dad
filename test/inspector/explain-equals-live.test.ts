import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Explanation } from '../../src/inspector/api.ts';
import { explain } from '../../src/inspector/explain/explain.ts';
import { loadRuleBook } from '../../src/node/rule-books.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import type { PatchOperation } from '../../src/rewrite/records.ts';
import { readRuleBook } from '../../src/rules/read-rule-book.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { anyDocument, brokenDocument } from '../rewrite/documents.ts';
import { gatewayFor, type TestGateway } from '../support/gateway.ts';
import { rawClient } from '../support/raw-client.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { requestRulesBook } from '../support/request-rules-book.ts';
import { compiledRuleBookIn, compiledShippedRuleBook } from '../support/shipped-rule-book.ts';
import { readTextCases } from '../../src/cli/cases/text-cases.ts';
import { bodyLimit } from '../support/rule-book.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A request as bytes, and as it is explained. */
interface SentRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

/** The request as V2 got it. */
interface ReachedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

const MOVED = `
operations:
  close: { match: POST /close, to: PATCH /state }
  make: { match: POST /make, to: PUT /made }
  read: { match: POST /read, to: 'GET /found?y=2' }
  gone: { match: DELETE /gone, to: POST /removals }
changes:
  - { id: state, summary: s, on: [close], request: [{ set: { state: closed } }] }
  - { id: rest, summary: s, on: [make], request: [{ rename: a, to: b }] }
`;

const TRANSFORMED = `
version: 2025-01-01
operations:
  make: { match: POST /make, transform: ./made.js }
  move: { match: POST /move, to: GET /moved, transform: ./made.js }
changes:
  - id: sum
    summary: s
    on: [make, move]
    policies: { value: keep }
    query: [{ rename: page, to: p }]
    request: [{ unwrap: data }, { scale: sum, by: 100 }]
`;

const MADE = `export function request(body, { query }) {
  if (body?.fails) throw new Error('no');
  query.set('q', '1');
  return body === undefined ? { query } : { query, body: { ...body, made: true } };
}
`;

const BODY_LIMIT = 2000;
const TOGETHER = 8;

describe('explaining and serving', () => {
  test('every text case gives the same', async () => {
    const requests = requestsIn('requests.txt', 'responses.txt');
    expect(requests.length).toBeGreaterThan(30);
    await expectAlike(requests);
  });

  test('every text case of maps, query rules and PUT gives the same, and so do random ones', async () => {
    const rules = await requestRulesBook();
    const requests = requestsIn('request-rules/rules.txt');
    expect(requests.length).toBeGreaterThan(20);
    const undecodable: SentRequest = {
      method: 'POST',
      target: '/api/v1/tours',
      headers: [
        ['Content-Type', 'application/json'],
        ['Content-Encoding', 'compress'],
        lengthOf(Buffer.from('{}')),
      ],
      body: Buffer.from('{}'),
    };
    const random = fc.sample(ruledRequest, fuzzRuns(2500));
    const counts = await expectAlike([...requests, undecodable, ...random], rules);
    for (const verdict of ['rewritten', 'unchanged', 'passed', '400', '415'])
      expect([verdict, (counts.get(verdict) ?? 0) > 0]).toEqual([verdict, true]);
  });

  test('every text case of header rules gives the same', async () => {
    const rules = await compiledRuleBookIn(new URL('../cases/headers/rules.yaml', import.meta.url));
    const counts = await expectAlike(requestsIn('headers/headers.txt'), rules);
    for (const verdict of ['rewritten', 'passed', '400', '422'])
      expect([verdict, (counts.get(verdict) ?? 0) > 0]).toEqual([verdict, true]);
  });

  test('an operation that moved, with a body that is made, dropped or neither, gives the same', async () => {
    const reading = await readRuleBook(MOVED, 'rules.yaml');
    if (!reading.ok) throw new Error(JSON.stringify(reading.faults));
    const types = [
      [],
      [['Content-Type', 'application/json'] as const],
      [['Content-Type', 'text/plain'] as const],
    ];
    const methods = [
      'POST /close',
      'POST /make',
      'POST /read',
      'DELETE /gone',
      'GET /read',
      'HEAD /read',
      'PATCH /make',
    ];
    const requests = methods.flatMap((line) =>
      types.flatMap((type) =>
        ['', '{}', '{"a":1}'].map((body): SentRequest => {
          const [method = '', path = ''] = line.split(' ');
          const length = body === '' ? [] : [lengthOf(Buffer.from(body))];
          const named = [['X-HTTP-Method-Override', 'PATCH'] as const].slice(path === '/make' ? 0 : 1);
          return {
            method,
            target: `/api/v1${path}?x=1`,
            headers: [...type, ...length, ...named],
            body: Buffer.from(body),
          };
        }),
      ),
    );
    const counts = await expectAlike(requests, new CompiledRuleBook(reading.ruleBook));
    for (const verdict of ['rewritten', 'unchanged'])
      expect([verdict, (counts.get(verdict) ?? 0) >= 5]).toEqual([verdict, true]);
  });

  test('a transform behind rules gives the same, for bodies that it reads and others', async () => {
    const folder = temporaryFolder('explained');
    writeFileSync(join(folder, 'rules.yaml'), TRANSFORMED);
    writeFileSync(join(folder, 'made.js'), MADE);
    const loaded = await loadRuleBook(join(folder, 'rules.yaml'));
    if ('faults' in loaded) throw new Error(loaded.faults.join());
    const bodies: readonly (readonly [type: string, body: string])[] = [
      ['application/json', '{"data":{"sum":1.5}}'],
      ['application/json', '{"sum":1E400}'],
      ['application/json', ''],
      ['application/x-ndjson', '{"data":{"sum":1}}\n{"sum":2}\n'],
      ['text/plain', 'text'],
      ['application/json', '{"fails":true}'],
    ];
    const requests = ['/make?page=2&x=1', '/move'].flatMap((path) =>
      bodies.map(([type, body]): SentRequest => {
        const headers = [['Content-Type', type] as const, lengthOf(Buffer.from(body))];
        return { method: 'POST', target: `/api/v1${path}`, headers, body: Buffer.from(body) };
      }),
    );
    const counts = await expectAlike(requests, loaded.rules);
    expect(counts).toEqual(
      new Map([
        ['rewritten', 11],
        ['502', 1],
      ]),
    );
  });

  test('a release pinned for an operation is sent, and explained', async () => {
    const shipped = readFileSync(new URL('../../config/rules.yaml', import.meta.url), 'utf8');
    const pins = 'pins: [{ version: 2025-06-01, operations: [order_floor_plan] }]';
    const reading = await readRuleBook(`${shipped}\n${pins}\n`, 'rules.yaml');
    if (!reading.ok) throw new Error(JSON.stringify(reading.faults));
    const requests = ['/orders/floor_plans', '/bookings'].map((path): SentRequest => {
      const headers = [['Content-Type', 'application/json'] as const, lengthOf(Buffer.from('{}'))];
      return { method: 'POST', target: `/api/v1${path}`, headers, body: Buffer.from('{}') };
    });
    const counts = await expectAlike(requests, new CompiledRuleBook(reading.ruleBook));
    expect(counts).toEqual(new Map([['unchanged', 2]]));
  });

  test('random requests give the same verdicts, failures, targets, header fields and bytes', async () => {
    const counts = await expectAlike(fc.sample(anyRequest, fuzzRuns(6000)));
    for (const verdict of [
      'rewritten',
      'unchanged',
      'passed',
      '400',
      '404',
      '413',
      '415',
      '422',
      '431',
      '501',
    ])
      expect([verdict, (counts.get(verdict) ?? 0) >= fuzzRuns(5)]).toEqual([verdict, true]);
  }, 240_000);
});

/** The requests of text cases. */
function requestsIn(...files: readonly string[]): readonly SentRequest[] {
  const cases = files.flatMap((file) =>
    readTextCases(readFileSync(new URL(`../cases/${file}`, import.meta.url), 'utf8')),
  );
  return cases.map(({ request }): SentRequest => {
    const [method = '', target = ''] = request.line.split(' ');
    const body = Buffer.from(request.body);
    const length = body.length > 0 || method === 'POST' || method === 'PATCH' ? [lengthOf(body)] : [];
    return { method, target, headers: [...request.headers, ...length], body };
  });
}

/** Sends every request to a gateway, explains it, and compares; returns how often each verdict or status came. */
async function expectAlike(
  requests: readonly SentRequest[],
  ruleBook?: CompiledRuleBook,
): Promise<ReadonlyMap<string, number>> {
  const v2 = await recordingV2();
  const { ruleBook: book } = ruleBook ?? (await compiledShippedRuleBook());
  const rules = new CompiledRuleBook({ ...book, ...bodyLimit(BODY_LIMIT) });
  const gateway = await gatewayFor(v2.origin, { rules });
  const explained = async (request: SentRequest): Promise<Explanation> => {
    const { options, parts } = gateway.gateway;
    const { method, target, headers, body } = request;
    const bodyBase64 = Buffer.from(body).toString('base64');
    const result = await explain(
      { method, target, headers, bodyBase64 },
      {
        rules,
        limits: options,
        decode: parts.decode,
        transform: parts.transform,
        gatewayOrigin: gateway.origin,
        origin: v2.origin,
      },
    );
    if ('fault' in result) throw new Error(result.fault);
    return result;
  };
  const counts = new Map<string, number>();
  for (let at = 0; at < requests.length; at += TOGETHER) {
    const some = requests.slice(at, at + TOGETHER).map((request, offset): SentRequest => {
      const headers = [['X-Request-Id', `r-${at + offset}`] as const, ...request.headers];
      return { ...request, headers };
    });
    await Promise.all(some.map((request) => served(gateway, request)));
    const entries = await entriesSince(gateway, at, some.length);
    for (const [offset, request] of some.entries()) {
      const id = `r-${at + offset}`;
      const entry = entries.find(({ requestId }) => requestId === id);
      const explanation = await explained(request);
      expectSame(request, entry, explanation, v2.reached.get(id));
      const count =
        explanation.refusal === undefined ? explanation.verdict : String(explanation.refusal.status);
      counts.set(count, (counts.get(count) ?? 0) + 1);
    }
    v2.reached.clear();
  }
  expect(gateway.surprises).toEqual([]);
  return counts;
}

function expectSame(
  request: SentRequest,
  entry: Entry | undefined,
  { verdict, operation, refusal, edits, patch, note, v2Request, v2Body }: Explanation,
  reached: ReachedRequest | undefined,
): void {
  const label = `${request.method} ${request.target} ${JSON.stringify(request.headers)} ${Buffer.from(request.body).toString('latin1')}`;
  expect({
    label,
    verdict,
    operation,
    failure: refusal?.code,
    pointer: refusal?.pointer,
    edits,
    patch: withoutValues(patch),
    note,
  }).toEqual({
    label,
    verdict: entry?.verdict,
    operation: entry?.operation,
    failure: entry?.failure,
    pointer: entry?.pointer,
    edits: entry?.edits,
    patch: withoutValues(entry?.patch ?? []),
    note: entry?.note,
  });
  if (refusal !== undefined) expect([label, refusal.status]).toEqual([label, entry?.status]);
  expect([label, v2Request === undefined]).toEqual([label, reached === undefined]);
  if (v2Request === undefined || reached === undefined) return;
  const body = new TextDecoder('utf-8', { ignoreBOM: true }).decode(reached.body);
  // A credential that a rule book names is masked where it is shown: `k` in the cases of header rules.
  const target = v2Request.target.includes('k=…') ? reached.target.replace(/k=[^&]*/, 'k=…') : reached.target;
  expect([label, v2Request.method, v2Request.target, v2Body]).toEqual([label, reached.method, target, body]);
  const shown = v2Request.headers
    .filter(({ masked }) => !masked)
    .map(({ name, value }) => `${name}: ${value}`);
  const added = /^(?:host|connection|content-length|transfer-encoding|traceparent|x-request-id|via): /i;
  expect([label, shown.filter((line) => !added.test(line))]).toEqual([
    label,
    pairs(reached.headers)
      .filter(([name]) => v2Request.headers.every((field) => field.name !== name || !field.masked))
      .map(([name, value]) => `${name}: ${value}`)
      .filter((line) => !added.test(line)),
  ]);
}

/** The log keeps most values to itself. */
function withoutValues(patch: readonly PatchOperation[]): readonly object[] {
  return patch.map((operation) => ({ ...operation, value: undefined }));
}

async function served({ port }: TestGateway, { method, target, headers, body }: SentRequest): Promise<void> {
  const client = rawClient(port);
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const isChunked = headers.some(([name]) => name === 'Transfer-Encoding');
  client.write(`${method} ${target} HTTP/1.1\r\nHost: gateway.test\r\n${lines}\r\n`);
  client.write(isChunked ? chunked(body) : body);
  await client.until(/^HTTP\/1\.1 [2-5]\d\d[\s\S]*\r\n\r\n/);
  client.socket.destroy();
}

async function entriesSince(gateway: TestGateway, at: number, count: number): Promise<readonly Entry[]> {
  await gateway.entry(at + count);
  return gateway.lines.slice(at, at + count).map((line) => JSON.parse(line) as Entry);
}

function chunked(body: Uint8Array): Buffer {
  if (body.length === 0) return Buffer.from('0\r\n\r\n');
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
}

/** A V2 that remembers each request by its id. */
async function recordingV2(): Promise<{ origin: string; reached: Map<string, ReachedRequest> }> {
  const reached = new Map<string, ReachedRequest>();
  const server = createServer((request, response) => {
    const { rawHeaders: headers, method = '', url: target = '' } = request;
    const id = pairs(headers).find(([name]) => name.toLowerCase() === 'x-request-id')?.[1] ?? '';
    void buffer(request).then((body) => {
      reached.set(id, { method, target, headers, body });
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => {
    server.on('listening', resolve);
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  return { origin: `http://127.0.0.1:${port}`, reached };
}

function pairs(headers: readonly string[]): (readonly [string, string])[] {
  return headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? ''] as const] : []));
}

function lengthOf(body: Uint8Array): readonly [string, string] {
  return ['Content-Length', String(body.length)];
}

const text = fc.oneof(
  { weight: 6, arbitrary: anyDocument.map((document) => Buffer.from(`{"data":${document}}`)) },
  { weight: 3, arbitrary: anyDocument.map((document) => Buffer.from(document)) },
  { weight: 1, arbitrary: brokenDocument.map((bytes) => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(Buffer.alloc(0), Buffer.from(`{"data":"${'x'.repeat(2 * BODY_LIMIT)}"}`)),
  },
);

const encoders = new Map([
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
]);

/** A body with the coding that its head names: rightly, wrongly, or one that nobody reads. */
const coded = fc
  .tuple(
    text,
    fc.constantFrom(
      '',
      '',
      '',
      '',
      'gzip',
      'x-gzip',
      'deflate',
      'br',
      'zstd',
      'gzip, gzip',
      'identity',
      'garbage',
    ),
  )
  .map(([body, coding]): { body: Uint8Array; fields: [string, string][] } => {
    if (coding === '') return { body, fields: [] };
    if (coding === 'garbage') return { body, fields: [['Content-Encoding', 'gzip']] };
    return { body: encoders.get(coding)?.(body) ?? body, fields: [['Content-Encoding', coding]] };
  });

const type = fc.constantFrom(
  ...Array<string>(8).fill('application/json'),
  'application/json; charset=utf-8',
  'application/json; charset=latin1',
  'application/vnd.api+json',
  'application/json ;',
  'text/plain',
  '',
);

const further = fc.constantFrom<[string, string][]>(
  ...Array.from({ length: 10 }, (): [string, string][] => []),
  [['x-api-version', '2025-01-01']],
  [['X-Api-Version', 'latest']],
  [['x-api-version', '2026-02-30']],
  [['x_api_version', '2025-01-01']],
  [
    ['Content-Type', 'text/plain'],
    ['content-type', 'application/json'],
  ],
  [
    ['Connection', 'x-own, x-api-version'],
    ['X-Own', '1'],
  ],
  [
    ['Upgrade', 'websocket'],
    ['Connection', 'upgrade'],
  ],
  [['Expect', '200-ok']],
  [
    ['Authorization', 'Bearer k'],
    ['Digest', 'x'],
    ['Content-MD5', 'x'],
  ],
  [['X-Forwarded-For', '1.2.3.4']],
  Array.from({ length: 101 }, (_, at): [string, string] => [`X-${at}`, '1']),
);

const target = fc.constantFrom(
  ...Array<string>(4).fill('/api/v1/orders/floor_plans'),
  ...Array<string>(4).fill('/api/v1/orders/post_productions'),
  '/api/v1/clients',
  '/api/v1/clients/',
  '/api/v1/clients.json?a=1&b',
  '/api/v1/properties/7',
  '/api/v1/unknown',
  '/api/v1',
  '/api/v1?x=%2e%2e',
  '/api/v2/clients?x=1',
  '/api/v2/%41',
  '/foo',
  '/',
  '/api/v1x',
  '/api/v1/%2e%2e/v2/x',
  '/api/v1/../v2/x',
  '/api/v1/a%2Fb',
  '/api/v1/a;v=1',
  '/api/v1//clients',
  '//other/api/v1/clients',
  '/api/v1/a%00',
  '/api/v1/%252e%252e/x',
);

const anyRequest: fc.Arbitrary<SentRequest> = fc
  .record({
    method: fc.constantFrom('POST', 'POST', 'POST', 'PATCH', 'PUT', 'DELETE', 'GET', 'OPTIONS'),
    target,
    type,
    coded,
    further,
    isChunked: fc.boolean(),
  })
  .map(({ method, target: at, type: media, coded: { body, fields }, further: more, isChunked }) => {
    const framing: [string, string] = isChunked
      ? ['Transfer-Encoding', 'chunked']
      : ['Content-Length', String(body.length)];
    const headers = [
      ...(media === '' ? [] : [['Content-Type', media] as const]),
      ...fields,
      ...more,
      framing,
    ];
    return { method, target: at, headers, body };
  });

const query = fc
  .array(
    fc.constantFrom(
      'look=day',
      'look=D%61y',
      'l%6Fok=night',
      'filter[style]=x',
      'filter%5Bstyle%5D=light',
      'legacy=1',
      'old[]=2',
      'per_page=5',
      'page_size',
      '',
      'a=%zz',
      'x=+',
    ),
    { maxLength: 5 },
  )
  .map((parts) => (parts.length === 0 ? '' : `?${parts.join('&')}`));
const style = fc
  .constantFrom('"day"', '"d\\u0061y"', '1', '1.0', '"1"', 'true', 'null', '{}', '"other"')
  .chain((text) =>
    fc.constantFrom(
      `{"data":{"look":${text}}}`,
      `{"style":${text},"rooms":[{"kind":"old"},{"kind":${text}}]}`,
    ),
  )
  .map((text) => Buffer.from(text));
const ruledTarget = fc.constantFrom(
  '/api/v1/tours',
  '/api/v1/tours/7',
  '/api/v1/homes/search',
  '/api/v1/homes/7',
  '/api/v2/tours',
);

/** A request that the rules of `cases/request-rules` are about. */
const ruledRequest: fc.Arbitrary<SentRequest> = fc
  .tuple(anyRequest, ruledTarget, query, fc.option(style))
  .map(([request, path, asked, body]) => ({
    ...request,
    target: path + asked,
    ...(body === null ? {} : { headers: [['Content-Type', 'application/json'], lengthOf(body)], body }),
  }));
