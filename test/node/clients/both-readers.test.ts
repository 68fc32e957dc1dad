import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { exchange, rawClient, statusOf } from '../../support/raw-client.ts';
import { runOf } from '../../support/separators.ts';
import { ok } from '../../support/raw-server.ts';
import { served } from '../../support/served.ts';

/**
 * A request is read where it is borrowed, or from a copy: behind an empty line, or where it comes in parts. No client can tell which: each
 * exchange is played in all these ways, and bytes and entries are compared.
 */
const WAYS = { borrowed: '', copied: '\r\n' } as const;

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n';
const JSON_FIELDS = 'POST /api/v1/x HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';
const TRAILED = `Trailer: X-Sum\r\n${CHUNKED}2\r\n{}\r\n0\r\nX-Sum: 7\r\n\r\n`;

/** Values that differ from run to run. */
function settled(text: string): string {
  return text.replaceAll(/\r\nDate: [^\r]+/g, '\r\nDate: then');
}

/** An entry without times and names. */
function said(line: string): Partial<Entry> {
  const entry = JSON.parse(line) as Record<string, unknown>;
  for (const name of ['time', 'totalMs', 'upstreamMs', 'rewriteMs', 'requestId', 'traceId', 'spanId']) {
    delete entry[name];
  }
  return entry;
}

interface Played {
  readonly text: string;
  readonly closed: boolean;
  readonly reset: boolean;
  readonly entries: readonly Partial<Entry>[];
  readonly received: string;
}

async function play(way: keyof typeof WAYS, request: string, response: readonly string[]): Promise<Played> {
  const { v2, gateway } = await served((socket) => {
    void (async () => {
      for (const part of response) {
        if (part === 'END') socket.end();
        else if (part === 'RESET') socket.resetAndDestroy();
        else socket.write(Buffer.from(part, 'latin1'));
        if (response.length > 1) await pause(10);
      }
    })();
  });
  const client = rawClient(gateway.port);
  client.write(WAYS[way] + request);
  await gateway.entry();
  for (let length = -1; length !== client.text().length;) {
    ({ length } = client.text());
    await client.end(25);
  }
  const { closed, reset } = await client.end(0);
  client.socket.destroy();
  expect(gateway.gateway.inFlight).toBe(0);
  return {
    text: settled(client.text()),
    closed,
    reset,
    entries: gateway.lines.map(said),
    received: v2.received.join('').replaceAll(/(host|traceparent|x-request-id): [^\r]+/g, '$1: some'),
  };
}

const SEPARATED: readonly (readonly [name: string, start: string, separator: string])[] = [
  ['Accept-Encoding', '', '*,'],
  ['Connection', 'a', ' ,'],
  ['Cookie', 'a="', String.raw`\"`],
  ['Forwarded', 'for="', ';'],
  ['Content-Type', 'a/b', '; '],
  ['If-Match', '', 'W/"'],
  ['Range', 'bytes=', '0-,'],
  ['traceparent', '00-', '-'],
];

const requests: readonly (readonly [title: string, request: string])[] = [
  ['GET', `${GET}\r\n`],
  ['HEAD', `${GET}\r\n`.replace('GET', 'HEAD')],
  ['the last one, with another behind it', `${GET}Connection: close\r\n\r\n${GET}\r\n`],
  ['a client that requests keep-alive', `${GET}Connection: keep-alive\r\n\r\n`],
  [
    'h2c',
    `${GET}Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: A\r\nContent-Length: 1\r\n\r\nx`,
  ],
  ['TLS', `${GET}Upgrade: TLS/1.2\r\nConnection: Upgrade, close\r\nContent-Length: 1\r\n\r\nx`],
  ['an upgrade', `${GET}Upgrade: websocket\r\nConnection: upgrade\r\n\r\n`],
  ['a body to rewrite', `${JSON_FIELDS}Content-Length: 20\r\n\r\n{"data":{"name":"A"}}`.replace('20', '21')],
  ['a body that is refused', `${JSON_FIELDS}Content-Length: 3\r\n\r\n{,}`],
  ['a length of nothing', `${JSON_FIELDS}Content-Length: 0\r\n\r\n`],
  ['no length', `${JSON_FIELDS}\r\n`],
  ['a body that passes', `${GET}Content-Length: 003\r\n\r\nabc`.replace('GET', 'PUT')],
  ['another path, with a body', 'POST /other HTTP/1.1\r\nHost: g\r\nContent-Length: 3\r\n\r\nabc'],
  ['another path, HEAD', 'HEAD /other HTTP/1.1\r\nHost: g\r\n\r\n'],
  ['a path with dots', 'GET /api/v2/../v1/x HTTP/1.1\r\nHost: g\r\n\r\n'],
  ['a fragment', 'GET /api/v2/#x HTTP/1.1\r\nHost: g\r\n\r\n'],
  ['two slashes', 'GET //api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n'],
  [
    'no Host',
    'POST /api/v2/x HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n',
  ],
  ['two hosts', `${GET}Host: h\r\n\r\n`],
  ['as many fields as there may be', `${GET}${'x: 1\r\n'.repeat(99)}\r\n`],
  ['one more', `${GET}${'x: 1\r\n'.repeat(100)}\r\n`],
  ['an asterisk', 'OPTIONS * HTTP/1.1\r\nHost: g\r\n\r\n'],
  ['an asterisk of a GET', 'GET * HTTP/1.1\r\nHost: g\r\n\r\n'],
  ['an absolute form', 'GET http://g/api/v1/x?y HTTP/1.1\r\nHost: g\r\n\r\n'],
  ['an absolute form of another host', 'GET http://h/api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n'],
  ['one hop more', `${GET}Max-Forwards: 10\r\n\r\n`.replace('GET', 'OPTIONS')],
  ['no hop more', `${GET}Max-Forwards: 0\r\n\r\n`.replace('GET', 'TRACE')],
  ['Via', `${GET}VIA: 1.1 a (b, c)\r\nvia: 2 d\r\n\r\n`],
  ['a loop', `${GET}Via: 1.1 capture-gateway\r\n\r\n`],
  ['trailers', `${JSON_FIELDS.replace('v1', 'v2')}${TRAILED}`],
  ['trailers of a body to rewrite', `${JSON_FIELDS}${TRAILED}`],
  ['an alias', `${GET}X_Api_Version: 1\r\n\r\n`],
  ['a target of question marks', `GET ${runOf('/api/v1/x', '?', 15_800)} HTTP/1.1\r\nHost: g\r\n\r\n`],
  ['parameters and slashes', `GET ${runOf('/api;', '%2f', 15_800)} HTTP/1.1\r\nHost: g\r\n\r\n`],
  ...SEPARATED.map(
    ([name, start, separator]) =>
      [
        `a run of ${separator} in ${name}`,
        `${GET.replace('v2', 'v1')}${name}: ${runOf(start, separator, 15_800, '!')}\r\n\r\n`,
      ] as const,
  ),
  ['several at once', `${GET}\r\n${GET}\r\n${'GET /other HTTP/1.1\r\nHost: g\r\n\r\n'.repeat(3)}`],
];

describe('requests', () => {
  test.each(requests)('%s', async (_what, request) => {
    const response = [ok('{"data":{}}', 'Set-Cookie: a\r\nset-cookie: b\r\n')];
    const own = await play('borrowed', request, response);
    const copied = await play('copied', request, response);
    expect(own).toEqual(copied);
    expect(own.text).toMatch(/^HTTP\/1\.1 \d{3} /);
  });
});

test('the limit of a head is the same to the byte', async () => {
  const { gateway } = await served(ok(), { flags: { 'header-bytes': '2048' } });
  // Neither the method nor what separates the fields counts.
  const sizes = [2000, 2044, 2045, 2047, 2048, 2049, 2064, 2065, 2066, 2068, 2069, 2070, 2100];
  for (const size of sizes) {
    const front = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\nX: ';
    const field = `${front}${'x'.repeat(size - front.length)}\r\n\r\n`;
    const target = `GET /api/v2/${'x'.repeat(size - 30)} HTTP/1.1\r\nHost: g\r\n\r\n`;
    for (const request of [field, target]) {
      const own = statusOf(await exchange(gateway.port, request));
      expect(own).toBe(statusOf(await exchange(gateway.port, WAYS.copied + request)));
      expect(own).toBe(size < 2065 || (request === field && size < 2069) ? 200 : 431);
    }
  }
});

const responses: readonly (readonly [title: string, response: readonly string[]])[] = [
  ['nothing', ['HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n']],
  ['a length', ['HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc']],
  ['no reason', ['HTTP/1.1 200\r\nContent-Length: 3\r\n\r\nabc']],
  ['bytes beyond ASCII', ['HTTP/1.1 200 \xe9t\xe9\r\nX: \xff\r\nContent-Length: 3\r\n\r\nabc']],
  [
    'fields of the hop',
    ['HTTP/1.1 299 Odd\r\nX:\r\nx: 1\r\nConnection: x, y\r\nY: 2\r\nContent-Length: 1\r\n\r\na'],
  ],
  ['parts', ['HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n', 'abc', 'def']],
  ['a part with the head', ['HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc', 'def']],
  ['chunks', [`HTTP/1.1 200 OK\r\n${CHUNKED}3\r\nabc\r\n`, '2\r\nde\r\n', '0\r\n\r\n']],
  ['no chunk', [`HTTP/1.1 200 OK\r\n${CHUNKED}0\r\n\r\n`]],
  [
    'trailers',
    [`HTTP/1.1 200 OK\r\nTrailer: x-sum\r\nX: y\r\n${CHUNKED}3\r\nabc\r\n0\r\nx-sum: 7\r\nX-Sum: 8\r\n\r\n`],
  ],
  ['a response until the connection closes', ['HTTP/1.1 200 OK\r\n\r\nabc', 'END']],
  ['204', ['HTTP/1.1 204 No Content\r\n\r\n']],
  ['304 with a length', ['HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 9\r\n\r\n']],
  ['304', ['HTTP/1.1 304 Not Modified\r\n\r\n']],
  [
    '103',
    ['HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na'],
  ],
  [
    '102, 100',
    [
      'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na',
    ],
  ],
  ['429', ['HTTP/1.1 429 Slow\r\nRetry-After: 5\r\nContent-Length: 2\r\n\r\n{}']],
  ['a response that breaks', ['HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc', 'RESET']],
  ['chunks that break', [`HTTP/1.1 200 OK\r\n${CHUNKED}3\r\nabc\r\n`, 'RESET']],
  ['an invalid chunk', [`HTTP/1.1 200 OK\r\n${CHUNKED}3\r\nabc\r\n`, 'x\r\n']],
  ['no response', ['RESET']],
  ['no HTTP', ['rubbish']],
  ['NUL', ['HTTP/1.1 200 OK\r\nX: a\0\r\nContent-Length: 0\r\n\r\n']],
  ['two lengths', ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na']],
  ['a length and chunks', [`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n${CHUNKED}0\r\n\r\n`]],
  ['a large response', [`HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(300_000)}`]],
  ['a large chunk', [`HTTP/1.1 200 OK\r\n${CHUNKED}30000\r\n${'x'.repeat(0x30000)}\r\n0\r\n\r\n`]],
];

describe('responses', () => {
  test.each(responses)('%s', async (_what, response) => {
    for (const method of ['GET', 'HEAD', 'POST']) {
      const isEmpty = method === 'HEAD' || / (?:204|304)/.test(response[0] ?? '');
      if (isEmpty && method !== 'GET' && response.length > 1) continue;
      const request = `${method} /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n`;
      const own = await play('borrowed', request, response);
      const copied = await play('copied', request, response);
      expect({ ...own, text: unchunked(own.text) }).toEqual({ ...copied, text: unchunked(copied.text) });
    }
  });
});

/** The ends of chunks are not promised, so chunks are joined. */
function unchunked(text: string): string {
  return text.replaceAll(/\r\n[0-9a-f]+\r\n(?=[^\r]+\r\n[0-9a-f]+\r\n)/g, '');
}
