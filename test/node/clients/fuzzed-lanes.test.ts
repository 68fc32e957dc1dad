import fc from 'fast-check';
import { expect, test } from 'vitest';
import { gatewayFor } from '../../support/gateway.ts';
import { rawClient } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { sendRequest, secureGateway, session } from '../../support/secure-gateway.ts';
import { until } from '../../support/until.ts';
import { fuzzRuns, fuzzTime } from '../../support/fuzz.ts';
import { separatorRuns } from '../../support/separators.ts';

const NAMES =
  'ETag Date Content-Type Location Retry-After Age Set-Cookie Content-Encoding constructor __proto__ toString HTTP2-Settings TE Upgrade ' +
  'Trailer Connection Content-Length Keep-Alive Proxy-Authenticate Link Vary Prefer Range Forwarded Accept Accept-Encoding traceparent x-\u00e9 :status';
const names = fc.constantFrom(...NAMES.split(' '), 'x y', '');
const values = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    '0',
    '5',
    'close',
    'x, ETag',
    '\u00ff',
    'a\tb',
    'a\u0000b',
    'a\rb',
    '\u007f',
    'v'.repeat(9000),
  ),
  fc.string({ maxLength: 8 }),
  separatorRuns(9000),
);
const fields = fc
  .array(fc.tuple(names, values), { maxLength: 6 })
  .map((list) => list.map(([name, value]) => `${name}: ${value}\r\n`).join(''));
const STATUSES = '200 204 205 304 404 500 599 600 999 099 000 101 2000 abc';
const status = fc.oneof(
  fc.constantFrom(...STATUSES.split(' ')),
  fc.integer({ min: 200, max: 599 }).map(String),
);
const reason = fc.constantFrom(' OK', ' ', '', ' \u00e9', ' a\u0000b', ' \u20ac');
const interim = fc.oneof(
  fc.constant(''),
  fc
    .tuple(fc.constantFrom('100', '102', '103', '199', '101'), fields)
    .map(([code, of]) => `HTTP/1.1 ${code} I\r\n${of}\r\n`),
);
const body = fc.oneof(
  fc.constantFrom(
    '',
    'Content-Length: 3\r\n\r\nabc',
    'Content-Length: 3\r\n\r\nab',
    'Content-Length: 3\r\n\r\nabcd',
    '\r\nclose',
  ),
  fields.map((trailers) => `Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n${trailers}\r\n`),
);
const responses = fc
  .tuple(interim, status, reason, fields, body)
  .map(([first, code, words, head, rest]) => `${first}HTTP/1.1 ${code}${words}\r\n${head}${rest}`);

/** Where links and errors are turned back, and where nothing is. */
const lane = fc.constantFrom('/api/v1/x', '/api/v2/x');

test(
  'no response of V2 causes a bug or leaves a client waiting, on any version of HTTP',
  fuzzTime(),
  async () => {
    let response = '';
    const v2 = await rawServer((socket, request) => {
      if (request.includes('/sound')) {
        socket.write(ok('"sound"'));
        return;
      }
      socket.end(Buffer.from(response, 'latin1'));
    });
    const flags = { 'upstream-headers-timeout': '1500', 'upstream-body-timeout': '1500', breaker: 'off' };
    const plain = await gatewayFor(v2.origin, { flags });
    const secure = await secureGateway(v2.origin, flags);
    const client = session(secure);
    const over = async (method: string, path: string, version: string): Promise<void> => {
      const raw = rawClient(plain.port);
      raw.write(`${method} ${path} HTTP/${version}\r\nHost: g\r\nConnection: close\r\n\r\n`);
      const { closed, text } = await raw.end();
      raw.socket.destroy();
      expect(closed).toBe(true);
      // One response at the most: nothing of V2 is the beginning of a second one.
      expect(text.match(/HTTP\/1\.1 [2-9]\d\d/g)?.length ?? 0).toBeLessThan(2);
    };
    await fc.assert(
      fc.asyncProperty(
        responses,
        fc.constantFrom('GET', 'HEAD', 'DELETE'),
        lane,
        async (text, method, path) => {
          response = text;
          await Promise.all([
            over(method, path, '1.1'),
            over(method, path, '1.0'),
            sendRequest(client, { ':path': path, ':method': method }),
          ]);
          expect([...plain.surprises, ...secure.surprises]).toEqual([]);
        },
      ),
      { numRuns: fuzzRuns(150) },
    );
    await until(() => plain.gateway.inFlight + secure.gateway.inFlight === 0);
    expect((await sendRequest(client, { ':path': '/api/v2/sound' })).body).toBe('"sound"');
  },
);
