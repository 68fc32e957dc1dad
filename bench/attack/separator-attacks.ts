import { rawClient } from '../../test/support/raw-client.ts';
import { runOf, SEPARATORS } from '../../test/support/separators.ts';
import type { Attack, Target } from './attack.ts';
import { PATIENCE_MS, playEach, rawRequest } from './playing.ts';
import { type Script, scripted } from './v2.ts';

/** Request fields, each with what leads into its syntax. */
const REQUEST_FIELDS: readonly (readonly [name: string, start: string])[] = [
  ['Accept', 'application/json'],
  ['Accept-Encoding', ''],
  ['Accept-Encoding', 'gzip;q='],
  ['Accept-Language', ''],
  ['Authorization', 'Bearer '],
  ['Cache-Control', ''],
  ['Connection', ''],
  ['Connection', 'close, '],
  ['Content-Encoding', ''],
  ['Content-Type', 'a/b'],
  ['Content-Type', 'application/json'],
  ['Content-Type', 'application/json;charset="'],
  ['Cookie', ''],
  ['Cookie', 'a="'],
  ['Expect', '100-continue'],
  ['Forwarded', 'for="'],
  ['Host', 'gateway'],
  ['Idempotency-Key', '"'],
  ['If-Match', ''],
  ['If-Match', 'W/"'],
  ['If-None-Match', '"'],
  ['If-Range', ''],
  ['Prefer', 'return=minimal'],
  ['Range', 'bytes='],
  ['Referer', 'http://a/?'],
  ['TE', 'trailers'],
  ['Trailer', 'a'],
  ['Transfer-Encoding', 'gzip'],
  ['Upgrade', 'h2c'],
  ['User-Agent', 'a/1 ('],
  ['Via', '1.1 a'],
  ['X-Api-Version', '2025-01-01'],
  ['X-Forwarded-For', '10.0.0.1'],
  ['X-Request-Id', 'a'],
  ['traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
  ['tracestate', 'a=b'],
];

const TARGET_STARTS: readonly string[] = [
  '/api/v1/run',
  '/api/v1/run?',
  '/api/v1/run?transition_type',
  '/api/v1/run?key=a&',
  '/api/v1/orders/',
  '/api;',
  '/api%3b',
  '/api',
  '/',
];

/** Response fields, each with what leads into its syntax. */
const RESPONSE_FIELDS: readonly (readonly [name: string, start: string])[] = [
  ['Cache-Control', 'max-age=1'],
  ['Connection', 'a'],
  ['Content-Encoding', ''],
  ['Content-Language', ''],
  ['Content-Location', '/api/v2/run?highlight_type'],
  ['Content-Type', 'application/json'],
  ['Content-Type', 'a/b'],
  ['ETag', 'W/"'],
  ['Keep-Alive', 'timeout='],
  ['Link', ''],
  ['Link', '</api/v2/run?highlight_type=1>;title="'],
  ['Location', '/api/v2/run?highlight_type'],
  ['Location', '//'],
  ['Retry-After', '1'],
  ['Set-Cookie', 'a=b'],
  ['Set-Cookie', 'a="'],
  ['Trailer', 'a'],
  ['Vary', ''],
  ['Warning', '199 a "'],
  ['X-RateLimit-Reset', '1'],
  ['traceparent', '00-'],
];

/** Texts of an error that are turned back: names, escapes of JSON, and what stands between. */
const TEXTS: readonly string[] = [
  ...'highlight_type xhighlight_type. highlight_typo. /highlight_type address. ~1 / . a. _ 9 address/ [ { < %'.split(
    ' ',
  ),
  ...String.raw`\n \" \\ \/ \u0041 \ud83d`.split(' '),
  'highlight_type ',
  ' ',
];

const HEAD_BYTES = 15_800;
/** The most that is read of V2's head is 64 KiB. */
const RESPONSE_HEAD_BYTES = 62_000;

/** Everything that is kept of an exchange is masked and searched, and proxies are believed. */
const KEEPS_ALL = {
  rules: new URL('separator-rules.yaml', import.meta.url).pathname,
  capture: 'bodies',
  'trusted-proxies': '127.0.0.0/8',
  forwarded: 'rfc7239',
  breaker: 'off',
};

/** Attacks by long runs of one separator, which a parser that can read it in two ways, or again from each place, reads for very long. */
export const separatorAttacks: readonly Attack[] = [
  {
    id: 'P-fields',
    sentence: 'Fields that are a run of one separator up to the limit of the head, each in a request to V1.',
    play: (target, scale) => playAll(target, requestsWithFields(), scale),
  },
  {
    id: 'P-kept',
    sentence: 'The same from a trusted proxy, while all that passes is kept.',
    flags: KEEPS_ALL,
    play: (target, scale) => playAll(target, requestsWithFields(), scale),
  },
  {
    id: 'P-targets',
    sentence: 'Targets that are a run of one separator up to the limit of the head.',
    flags: KEEPS_ALL,
    play: (target, scale) => playAll(target, requestsWithTargets(), scale),
  },
  {
    id: 'P-responses',
    sentence: 'V2 responds with fields that are a run of one separator, 62 KB each.',
    flags: KEEPS_ALL,
    play: (target, scale) => playAll(target, requestsForFields(), scale),
  },
  {
    id: 'P-errors',
    sentence:
      'V2 responds with errors whose texts are a run of a name, an escape or a separator, from 120 KB to 2 MB.',
    flags: KEEPS_ALL,
    play: (target, scale) => playAll(target, requestsForErrors(), scale),
  },
];

function* requestsWithFields(): Generator<string> {
  for (const separator of SEPARATORS) {
    for (const [name, start] of REQUEST_FIELDS) {
      const value = runOf(start, separator, HEAD_BYTES - 400, '!');
      const others = name === 'Host' ? '' : 'Host: gateway\r\n';
      const framing =
        name === 'Content-Type' || name === 'Content-Encoding' ? '' : 'Content-Type: application/json\r\n';
      yield `POST /api/v1/run HTTP/1.1\r\n${others}${framing}${name}: ${value}\r\nContent-Length: 11\r\n\r\n{"data":{}}`;
    }
  }
}

function* requestsWithTargets(): Generator<string> {
  for (const separator of SEPARATORS) {
    if (/[\s#"<>\\]/.test(separator)) continue;
    for (const start of TARGET_STARTS)
      for (const end of ['', '/v1/x'])
        yield rawRequest(`GET ${runOf(start, separator, HEAD_BYTES - 200, end)}`);
  }
}

function* requestsForFields(): Generator<string> {
  for (const separator of SEPARATORS) {
    for (const [name, start] of RESPONSE_FIELDS) {
      const type = name === 'Content-Type' ? '' : 'Content-Type: application/json\r\n';
      const path = scripted('/api/v1/run', [
        [`HTTP/1.1 200 OK\r\n${type}${name}: ${start}`, 1],
        [separator, Math.floor(RESPONSE_HEAD_BYTES / separator.length)],
        ['!\r\nContent-Length: 11\r\n\r\n{"data":{}}', 1],
      ]);
      yield rawRequest(`GET ${path}`);
    }
  }
}

function* requestsForErrors(): Generator<string> {
  for (const bytes of [120_000, 256_000, 2_000_000]) {
    for (const text of TEXTS) {
      const run = [text, Math.floor(bytes / text.length)] as const;
      const detail = [['{"errors":[{"detail":"', 1], run] as const;
      yield rawRequest(`GET ${error([...detail, ['","source":{"parameter":"highlight_type"}}]}', 1]])}`);
      const pointer = [['","source":{"pointer":"/highlight_type/', 1], run, ['"}}]}', 1]] as const;
      yield rawRequest(`POST ${error([...detail, ...pointer])}`, '{"data":{}}');
    }
  }
}

/** A path on which V2 refuses a request with this body. */
function error(body: Script): string {
  const length = body.reduce((sum, [text, times]) => sum + text.length * times, 0);
  const head = `HTTP/1.1 422 Unprocessable Content\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  return scripted('/api/v1/run', [[head, 1], ...body]);
}

/** Plays all requests, or an even share of them, over two connections at once; each must get a response. */
function playAll({ port }: Target, requests: Iterable<string>, scale: number): Promise<readonly string[]> {
  const some = [...requests].filter((_, k) => Math.floor(k * scale) !== Math.floor((k + 1) * scale));
  return playEach(
    'requests got no response',
    some,
    async (request) => {
      const client = rawClient(port);
      client.write(request);
      const { text } = await client.until(/^HTTP\/1\.1 [2-5]\d\d /, PATIENCE_MS);
      client.socket.destroy();
      return text.startsWith('HTTP/1.1 ') ? undefined : JSON.stringify(request.slice(0, 120));
    },
    2,
  );
}
