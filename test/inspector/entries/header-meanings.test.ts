import { describe, expect, test } from 'vitest';
import type { EntryDetail } from '../../../src/inspector/api.ts';
import { HEADER_NAMES, headerMeaning } from '../../../src/inspector/entries/header-meanings.ts';
import { inspected } from '../../support/inspected.ts';
import { exchange } from '../../support/raw-client.ts';

test('a field is explained in any case, and an undefined one is not', () => {
  expect(headerMeaning('CONTENT-Type')).toBe('Media type of the body (RFC 9110 §8.3).');
  for (const name of ['x-unknown', 'constructor', '__proto__']) expect(headerMeaning(name)).toBeUndefined();
});

/** Claims about the gateway in explanations, each played below, an upgrade by `gateway/headers.test.ts` and `node/clients/framing.test.ts`; a new claim has no place here until it is. */
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

test('every claim about the gateway is played below', () => {
  const claims = HEADER_NAMES.filter((name) =>
    /gateway|never kept|forwarded\b|for V[12]|the next one/.test(
      headerMeaning(name)?.replace(/\(.*\)/, '') ?? '',
    ),
  );
  expect(claims.toSorted()).toEqual(Object.keys(PLAYED).toSorted());
  for (const [name, claim] of Object.entries(PLAYED)) expect(headerMeaning(name)).toMatch(claim);
});

describe('a request with fields that the explanations make claims about', () => {
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

  test('behaves as they say, at V2, at the client and on the page', async () => {
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
});
