import { describe, expect, test } from 'vitest';
import { EdgeServer } from '../../src/edge/gateway.ts';
import { createMigration } from '../../src/library/capture-gateway.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { bookIn } from '../rules/reading.ts';
import { gatewayFor, type TestGateway } from '../support/gateway.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { served } from '../support/served.ts';

const BOOK = `
from: /old
limits: { body: 1000 }
to: /new
operations: { order: POST /orders }
changes:
  - { id: wrapper, summary: s, on: every, request: [{ unwrap: data }, { scale: amount, by: 100 }] }
`;

const TEMPLATE = `refusals: { type: application/vnd.acme+json, body: { error: '{code}', at: '{pointer}', http: '{status}', ref: '{id}' } }`;

/** The members of a refusal that say which it is, in each form. */
const FORMS = {
  'json-api': ['refusals: json-api', 'application/json'],
  problem: ['refusals: problem', 'application/problem+json'],
  rails: ['refusals: rails', 'application/json'],
  template: [TEMPLATE, 'application/vnd.acme+json'],
} as const;

type Form = keyof typeof FORMS;

const POST = (target: string, body: string, headers = 'Content-Type: application/json\r\n'): string =>
  `POST ${target} HTTP/1.1\r\nHost: g\r\n${headers}X-Request-Id: r-1\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;

/** Requests of V1's clients, and requests whose version is unknown. */
const V1: readonly (readonly [
  what: string,
  bytes: string,
  status: number,
  code: string,
  pointer?: string,
])[] = [
  ['a wrapper that is no object', POST('/old/orders', '{"data":1}'), 422, 'wrapper-not-object', '/data'],
  [
    'a value that cannot be converted',
    POST('/old/orders', '{"data":{"amount":"x"}}'),
    422,
    'unconvertible-value',
    '/data/amount',
  ],
  ['no JSON', POST('/old/orders', '{'), 400, 'malformed-json'],
  ['a large body', POST('/old/orders', `{"a":"${'x'.repeat(2000)}"}`), 413, 'body-too-large'],
  [
    'another charset',
    POST('/old/orders', '{}', 'Content-Type: application/json; charset=utf-16\r\n'),
    415,
    'unsupported-charset',
  ],
  ['a path of no service', POST('/elsewhere', '{}'), 404, 'not-found'],
  ['a dot segment', POST('/old/../x', '{}'), 400, 'bad-target'],
  ['two hosts', POST('/old/orders', '{}', 'Host: h\r\n'), 400, 'bad-request'],
  ['an expectation', POST('/old/orders', '{}', 'Expect: x\r\n'), 417, 'expectation-failed'],
  ['no request line', 'P(T /old/orders HTTP/1.1\r\nHost: g\r\n\r\n', 400, 'bad-request'],
  [
    'a large head',
    `GET /old/x HTTP/1.1\r\nHost: g\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`,
    431,
    'headers-too-large',
  ],
  ['another version of HTTP', 'GET /old/x HTTP/3.0\r\nHost: g\r\n\r\n', 505, 'unsupported-version'],
];

async function started(form: Form, more = ''): Promise<TestGateway> {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const rules = new CompiledRuleBook(await bookIn(`${FORMS[form][0]}${BOOK}${more}`));
  return gatewayFor(v2.origin, { rules });
}

/** The members of a refusal of that form, without its sentence. */
function shape(form: Form, status: number, code: string, pointer: string | undefined): object {
  const detail: unknown = expect.any(String);
  switch (form) {
    case 'json-api':
      return {
        errors: [{ status: String(status), code, ...(pointer === undefined ? {} : { source: { pointer } }) }],
      };
    case 'problem':
      return {
        type: 'about:blank',
        status,
        detail,
        ...(pointer === undefined ? {} : { errors: [{ detail, pointer: `#${pointer}` }] }),
      };
    case 'rails':
      return { errors: { [pointer?.slice(1).replaceAll('/', '.') ?? 'base']: [detail] } };
    case 'template':
      return {
        error: code,
        http: status,
        ref: expect.any(String),
        ...(pointer === undefined ? {} : { at: pointer }),
      };
  }
}

function read(text: string): { readonly head: string; readonly body: unknown } {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head).toMatch(new RegExp(String.raw`^content-length: ${Buffer.byteLength(body)}\r?$`, 'im'));
  return { head, body: JSON.parse(body) };
}

describe.each(Object.keys(FORMS) as Form[])('%s', (form) => {
  test('V1 clients, and requests that may be theirs, get every refusal in the form of the book', async () => {
    const gateway = await started(form);
    for (const [what, bytes, status, code, pointer] of V1) {
      const response = await exchange(gateway.port, bytes);
      const { head, body } = read(response.text);
      expect([what, statusOf(response), head]).toEqual([
        what,
        status,
        expect.stringContaining(`x-gateway-error: ${code}`),
      ]);
      expect(head).toContain(`Content-Type: ${FORMS[form][1]}\r\n`);
      expect({ what, body }).toMatchObject({ what, body: shape(form, status, code, pointer) });
    }
    expect(gateway.surprises).toEqual([]);
  });

  test('the id is that of the log, with or without a request head', async () => {
    const gateway = await started(form);
    const one = await exchange(gateway.port, POST('/old/orders', '{'));
    const other = await exchange(gateway.port, 'P(T / HTTP/1.1\r\n\r\n');
    await gateway.entry(2);
    const ids = gateway.entries().map(({ requestId }) => requestId);
    expect(ids[0]).toBe('r-1');
    if (form !== 'template') return;
    expect([one, other].map(({ text }) => (read(text).body as { ref: string }).ref)).toEqual(ids);
  });

  test.each([
    ['/old/..;/x', 'v1'],
    ['/older/..;/x', 'v1'],
    ['/new/..;/x', 'v2'],
    ['/api/v1/..;/x', 'neither'],
  ])('the log says whose address a refused request has: %s', async (target, side) => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const rules = new CompiledRuleBook(await bookIn(BOOK.replace('from: /old', 'from: [/old, /older]')));
    const gateway = await gatewayFor(v2.origin, { rules });
    await exchange(gateway.port, POST(target, '{}'));
    expect(await gateway.entry()).toMatchObject({ route: 'none', failure: 'bad-target', side });
  });

  test('the end of V1 and brownouts', async () => {
    const gone = await started(form, "sunset: { at: '2025-01-02', after: gone }");
    const ended = await exchange(gone.port, POST('/old/orders', '{}'));
    expect(statusOf(ended)).toBe(410);
    expect(read(ended.text).head).toContain(`Content-Type: ${FORMS[form][1]}\r\n`);
    const brown = await started(form, 'brownouts: [{ id: b, status: 503, message: Soon. }]');
    const refused = await exchange(brown.port, POST('/old/orders', '{}'));
    expect(statusOf(refused)).toBe(503);
    expect(read(refused.text).head).toContain(`Content-Type: ${FORMS[form][1]}\r\n`);
    if (form === 'rails') expect(read(refused.text).body).toEqual({ errors: { base: ['Soon.'] } });
  });

  test("V2's clients get the form of the service, and HEAD no body", async () => {
    const gateway = await started(form);
    const large = await exchange(gateway.port, POST('/new/../x', '{}'));
    // A resolver of this path would leave no prefix.
    expect(statusOf(large)).toBe(400);
    const refused = await exchange(gateway.port, POST('/new/orders', '{}', 'Expect: x\r\n'));
    expect(read(refused.text).body).toMatchObject({
      errors: [{ status: '417', code: 'expectation-failed' }],
    });
    expect(read(refused.text).head).toContain('Content-Type: application/json\r\n');
    const head = await exchange(
      gateway.port,
      'HEAD /elsewhere HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n',
    );
    expect(head.text.split('\r\n\r\n')[1]).toBe('');
    expect(head.text).toContain(`Content-Type: ${FORMS[form][1]}\r\n`);
  });

  test('the client gets the form of the book if V2 closes the connection', async () => {
    const rules = new CompiledRuleBook(await bookIn(`${FORMS[form][0]}${BOOK}`));
    const { send } = await served((socket) => void socket.destroy(), { rules });
    const away = await send(POST('/old/orders', '{}'));
    expect(statusOf(away)).toBe(502);
    expect(read(away.text).head).toContain(`Content-Type: ${FORMS[form][1]}\r\n`);
  });

  test('library and edge write the same bytes as the gateway', async () => {
    const ruleBook = await bookIn(`${FORMS[form][0]}${BOOK}`);
    const { v2, send } = await served(ok(), { rules: new CompiledRuleBook(ruleBook) });
    const edge = new EdgeServer({
      bindings: { GATEWAY_UPSTREAM: v2.origin, GATEWAY_LOG_FILE: 'off' } as object,
      ruleBook,
      print: () => {},
      later: () => {},
    });
    for (const body of ['{"data":1}', '{', '{"data":{"amount":"x"}}']) {
      const live = await send(POST('/old/orders', body));
      const [, expected = ''] = live.text.split('\r\n\r\n');
      const headers = { 'content-type': 'application/json', 'x-request-id': 'r-1' };
      const own = createMigration(ruleBook).request('POST', '/old/orders', headers, body);
      if (own.verdict !== 'refused') throw new Error(own.verdict);
      expect(new TextDecoder().decode(own.body)).toBe(expected);
      expect(new Headers(own.headers as [string, string][]).get('content-type')).toBe(FORMS[form][1]);
      const there = await edge.fetch(
        new Request('http://g/old/orders', { method: 'POST', headers: { ...headers, host: 'g' }, body }),
      );
      expect(await there.text()).toBe(expected);
      expect(there.headers.get('content-type')).toBe(FORMS[form][1]);
    }
  });
});

test('a worker that is not configured says so in the form of its book', async () => {
  const ruleBook = await bookIn(`refusals: problem${BOOK}`);
  const server = new EdgeServer({ bindings: {}, ruleBook, print: () => {}, later: () => {} });
  const response = await server.fetch(new Request('http://g/old/orders'));
  expect([response.status, response.headers.get('content-type')]).toEqual([500, 'application/problem+json']);
  expect(await response.json()).toMatchObject({ status: 500, detail: 'The gateway is not configured.' });
});

test('errors of Rails cross with the names of V1, and the log has the place', async () => {
  const body = '{"errors":{"address.suburb":["is blank"],"base":["x"]}}';
  const v2 = await rawServer((socket) =>
    socket.write(ok(body).replace('200 OK', '422 Unprocessable Content')),
  );
  const ruleBook = await bookIn(`
errors: rails
operations: { order: POST /orders }
changes:
  - { id: c, summary: s, on: [order], request: [{ nest: [suburb], under: address }], response: [{ errors: true }] }
`);
  const gateway = await gatewayFor(v2.origin, { rules: new CompiledRuleBook(ruleBook) });
  const response = await exchange(gateway.port, POST('/api/v1/orders', '{"suburb":1}'));
  expect(statusOf(response)).toBe(422);
  expect(response.text.split('\r\n\r\n')[1]).toBe('{"errors":{"suburb":["is blank"],"base":["x"]}}');
  expect((await gateway.entry()).responseEdits).toEqual([{ change: 'c', rule: 'errors', path: '/errors' }]);
});
