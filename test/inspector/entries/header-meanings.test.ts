import { describe, expect, test } from 'vitest';
import type { EntryDetail } from '../../../src/inspector/api.ts';
import { HEADER_NAMES, headerMeaning } from '../../../src/inspector/entries/header-meanings.ts';
import { inspected } from '../../support/inspected.ts';
import { exchange } from '../../support/raw-client.ts';

/** Sections that define a field, by the documents' own tables: RFC 9110 §18.4, RFC 9111 §5, RFC 9112 §6 and the field's own. */
const DEFINITIONS: Readonly<Record<string, string>> = {
  accept: 'RFC 9110 §12.5.1',
  'accept-charset': 'RFC 9110 §12.5.2',
  'accept-encoding': 'RFC 9110 §12.5.3',
  'accept-language': 'RFC 9110 §12.5.4',
  'accept-ranges': 'RFC 9110 §14.3',
  age: 'RFC 9111 §5.1',
  allow: 'RFC 9110 §10.2.1',
  authorization: 'RFC 9110 §11.6.2',
  'cache-control': 'RFC 9111 §5.2',
  connection: 'RFC 9110 §7.6.1',
  'content-disposition': 'RFC 6266',
  'content-encoding': 'RFC 9110 §8.4',
  'content-language': 'RFC 9110 §8.5',
  'content-length': 'RFC 9110 §8.6',
  'content-location': 'RFC 9110 §8.7',
  'content-range': 'RFC 9110 §14.4',
  'content-type': 'RFC 9110 §8.3',
  cookie: 'RFC 6265 §4.2',
  date: 'RFC 9110 §6.6.1',
  deprecation: 'RFC 9745',
  etag: 'RFC 9110 §8.8.3',
  expect: 'RFC 9110 §10.1.1',
  expires: 'RFC 9111 §5.3',
  forwarded: 'RFC 7239',
  host: 'RFC 9110 §7.2',
  'if-match': 'RFC 9110 §13.1.1',
  'if-modified-since': 'RFC 9110 §13.1.3',
  'if-none-match': 'RFC 9110 §13.1.2',
  'if-unmodified-since': 'RFC 9110 §13.1.4',
  'keep-alive': 'RFC 2068 §19.7.1',
  'last-modified': 'RFC 9110 §8.8.2',
  link: 'RFC 8288',
  location: 'RFC 9110 §10.2.2',
  origin: 'RFC 6454 §7',
  range: 'RFC 9110 §14.2',
  referer: 'RFC 9110 §10.1.3',
  'retry-after': 'RFC 9110 §10.2.3',
  server: 'RFC 9110 §10.2.4',
  'set-cookie': 'RFC 6265 §4.1',
  'strict-transport-security': 'RFC 6797',
  sunset: 'RFC 8594',
  te: 'RFC 9110 §10.1.4',
  trailer: 'RFC 9110 §6.6.2',
  'transfer-encoding': 'RFC 9112 §6.1',
  upgrade: 'RFC 9110 §7.8',
  'user-agent': 'RFC 9110 §10.1.5',
  vary: 'RFC 9110 §12.5.5',
  via: 'RFC 9110 §7.6.3',
  'www-authenticate': 'RFC 9110 §11.6.1',
};

test('an explanation names the section that defines its field, and no other', () => {
  for (const name of HEADER_NAMES) {
    const cited = /\((RFC [^)]*)\)/.exec(headerMeaning(name) ?? '')?.[1];
    expect([name, cited]).toEqual([name, DEFINITIONS[name]]);
  }
  expect(headerMeaning('CONTENT-Type')).toBe(headerMeaning('content-type'));
  expect(['x-unknown', 'constructor', '__proto__'].map(headerMeaning)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

/** Claims about the gateway in explanations, each played below; a new claim has no place here until it is. */
const PLAYED: Readonly<Record<string, RegExp>> = {
  authorization: /never kept/,
  cookie: /never kept/,
  'set-cookie': /never kept/,
  connection: /the gateway does not forward it/,
  'keep-alive': /not forwarded/,
  te: /not forwarded/,
  'transfer-encoding': /the next one gets its own/,
  expect: /the gateway itself responds/,
  upgrade: /the gateway ignores h2c, HTTP\/2\.0 and TLS, and refuses others/,
  host: /for V2 that of its origin/,
  'content-length': /of a body that the gateway edits, that of the edited one/,
  location: /for V1 clients under V1's prefix/,
  'x-api-version': /the gateway sets it on V1 requests/,
  'x-request-id': /the client.s own, or made by the gateway/,
  'x-gateway-error': /a response that the gateway itself made/,
};

test('every claim about the gateway is one that is played', () => {
  const claims = HEADER_NAMES.filter((name) =>
    /gateway|never kept|forwarded\b|for V[12]|the next one/.test(
      headerMeaning(name)?.replace(/\(.*\)/, '') ?? '',
    ),
  );
  expect(claims.toSorted()).toEqual(Object.keys(PLAYED).toSorted());
  for (const [name, claim] of Object.entries(PLAYED)) expect(headerMeaning(name)).toMatch(claim);
});

describe('a request with fields that the explanations make claims of', () => {
  const BODY = '{"data":{"name":"Ada"}}';
  const lines = [
    'Host: gateway.test',
    'Authorization: Bearer secret-of-the-key',
    'Cookie: session=secret-of-the-cookie',
    'Connection: close, x-hop',
    'X-Hop: 1',
    'Keep-Alive: timeout=5',
    'TE: trailers',
    'Expect: 100-continue',
    'Content-Type: application/json',
    'Transfer-Encoding: chunked',
  ];
  const request = `POST /api/v1/clients HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;

  test('meets what they say, at V2, at the client and on the page', async () => {
    const gateway = await inspected({ capture: 'bodies' }, '{"data":{"id":1}}');
    gateway.v2.server.removeAllListeners('connection');
    const { port } = new URL(gateway.origin);
    const answer = `HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nLocation: ${gateway.v2.origin}/api/v2/clients/1\r\nSet-Cookie: s=secret-for-the-client\r\nContent-Length: 17\r\n\r\n{"data":{"id":1}}`;
    const got: string[] = [];
    gateway.v2.server.on('connection', (socket) => {
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        got.push(chunk.toString('latin1'));
        if (got.join('').includes('"Ada"')) socket.end(answer);
      });
    });
    const { text } = await exchange(Number(port), request);
    const received = got.join('');
    const fields = new Map(
      received
        .split('\r\n\r\n', 1)[0]
        ?.split('\r\n')
        .slice(1)
        .map((line) => {
          const colon = line.indexOf(':');
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
        }),
    );
    expect(fields.get('connection') ?? '').not.toMatch(/close|x-hop/);
    for (const name of ['keep-alive', 'te', 'expect', 'transfer-encoding', 'x-hop'])
      expect(fields.has(name)).toBe(false);
    expect(fields.get('host')).toBe(new URL(gateway.v2.origin).host);
    expect(fields.get('content-length')).toBe(String('{"name":"Ada"}'.length));
    expect(fields.get('x-api-version')).toBe('2025-01-01');
    expect(fields.get('x-request-id')).toMatch(/./);
    expect(text).toContain('HTTP/1.1 100 Continue');
    expect(text).toMatch(/location: http:\/\/gateway\.test\/api\/v1\/clients\/1\r\n/i);

    const { entry } = await gateway.readJson<EntryDetail>('/entries/1');
    expect(entry.requestId).toBe(fields.get('x-request-id'));
    const kept = JSON.stringify(await gateway.readJson('/entries/1'));
    // The exchange itself is kept with its values.
    expect(kept).toContain('Ada');
    expect(kept).not.toMatch(/secret-/);
  });

  test('that offers TLS is served', async () => {
    const gateway = await inspected();
    const { port } = new URL(gateway.origin);
    const { text } = await exchange(
      Number(port),
      'GET /api/v1/clients HTTP/1.1\r\nHost: g\r\nConnection: upgrade, close\r\nUpgrade: TLS/1.2\r\n\r\n',
    );
    expect(text).not.toMatch(/x-gateway-error/i);
    expect(gateway.v2.received).toHaveLength(1);
  });

  test('that asks for a protocol of other bytes is refused, by a response of the gateway that names its failure', async () => {
    const gateway = await inspected();
    const { port } = new URL(gateway.origin);
    const { text } = await exchange(
      Number(port),
      'GET /api/v1/clients HTTP/1.1\r\nHost: g\r\nConnection: upgrade, close\r\nUpgrade: websocket\r\nX-Request-Id: of-the-client\r\n\r\n',
    );
    expect(text).toMatch(/^HTTP\/1\.1 501 /);
    expect(text).toMatch(/x-gateway-error: \S+\r\n/i);
    expect(gateway.v2.received).toEqual([]);
  });
});
