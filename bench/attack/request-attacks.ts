import { setTimeout as delay } from 'node:timers/promises';
import { exchange, rawClient, statusOf } from '../../test/support/raw-client.ts';
import type { Attack } from './attack.ts';
import { longString } from './bodies.ts';
import { chunkedHead, fromSeats, lasting, PATIENCE_MS, playEach, rawRequest } from './playing.ts';

/** Good requests with and without a body, with a length and in chunks. */
const GOOD = [
  rawRequest('GET /api/v2/slow?ms=20'),
  rawRequest('POST /api/v1/slow?ms=20', '{"data":{}}'),
  `${chunkedHead('POST /api/v2/slow?ms=20')}2\r\n{}\r\n0\r\n\r\n`,
];
const REFUSED = [
  'PRI * HTTP/1.1\r\nHost: g\r\n\r\n',
  'GET  /api/v2/clients HTTP/1.1\r\nHost: g\r\n\r\n',
  'GET /api/v2/clients  HTTP/1.1\r\nHost: g\r\n\r\n',
  'GET /api/v2/clients HTTP/1.1\r\nHost : g\r\n\r\n',
  'GET /api/v2/clients HTTP/1.1\r\nHost: g\r\nHost: g\r\n\r\n',
  'GET\t/api/v2/clients HTTP/1.1\r\nHost: g\r\n\r\n',
  'GET /api/v2/clients\r\n\r\n',
  'POST /api/v2/clients HTTP/1.1\r\nHost: g\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST /api/v2/clients HTTP/1.1\r\nHost: g\r\nContent-Length: +3\r\n\r\nabc',
  'POST /api/v2/clients HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n',
];
const REFUSED_HEADS = ['HEAD evil:80', 'HEAD /api/v1/%2e%2e/v2/x', 'HEAD /elsewhere', 'HEAD http://evil/'];
const LONG_FIELD = `X-Long: ${'x'.repeat(20_000)}\r\n`;
const UPLOAD = longString(3e6);
/** Refusals of a head or a body, which the client goes on to write. */
const TOO_LARGE: readonly (readonly [name: string, request: string])[] = [
  ['431', rawRequest('POST /api/v2/clients', UPLOAD, LONG_FIELD)],
  ['431 close', rawRequest('POST /api/v2/clients', UPLOAD, `Connection: close\r\n${LONG_FIELD}`)],
  ['431 HTTP/1.0', rawRequest('POST /api/v2/clients', UPLOAD, LONG_FIELD).replace('HTTP/1.1', 'HTTP/1.0')],
  ['413 close', rawRequest('POST /api/v1/clients', longString(12e6), 'Connection: close\r\n')],
  ['413', rawRequest('POST /api/v1/clients', longString(12e6))],
];

/** Attacks by requests that are refused, alone or behind a good one. */
export const requestAttacks: readonly Attack[] = [
  {
    id: 'C-pipeline',
    sentence:
      'Chunked requests with a fault in their body wait behind good ones, and count as failures of V2.',
    async play({ port, signal }, scale) {
      const faulty = ['v1', 'v2'].map((version) => `${chunkedHead(`POST /api/${version}/clients`)}zz\r\n`);
      const pipelines = GOOD.flatMap((good) => faulty.map((fault) => good + fault));
      const goesOn = lasting(6000 * scale, signal);
      const faults: string[] = [];
      while (goesOn())
        for (const pipeline of pipelines)
          faults.push(
            ...(await playEach(
              'faulty requests behind another got no 200 and then 400',
              Array.from({ length: 60 }, () => pipeline),
              async (bytes) => {
                const { statuses } = await statusesOf(port, [bytes], /HTTP\/1\.1 [45]\d\d/);
                return statuses.join(' ') === '200 400' ? undefined : statuses.join(' ');
              },
              60,
            )),
          );
      return faults;
    },
  },
  {
    id: 'C-early-413',
    sentence: 'Uploads that V2 refuses early, with a reset, until the circuit opens.',
    async play({ port, signal }, scale) {
      const request = rawRequest('POST /api/v2/early-413', longString(300_000));
      const goesOn = lasting(5000 * scale, signal);
      await fromSeats(8, async () => {
        while (goesOn()) await exchange(port, request, 1000);
      });
      return [];
    },
  },
  {
    id: 'H-method',
    sentence: 'A request with an unknown method behind a good one makes the good one lose its response.',
    play: ({ port }, scale) =>
      playEach(
        'pipelines lost a response',
        ['PATCHX', 'OPTIOS', 'G@T', 'get'].flatMap((method) => {
          const fault = `${method} /api/v2/clients HTTP/1.1\r\nHost: gateway\r\n\r\n`;
          return GOOD.flatMap((good) => piecesOf(good + fault, 12 * scale));
        }),
        async (pieces) => {
          const { statuses, reset } = await statusesOf(port, pieces, /^HTTP[^]*HTTP\/1\.1 \d{3} /);
          const [first = 'nothing', second = reset ? 'a reset' : 'nothing'] = statuses;
          if (first === '200' && statuses.length > 1 && !reset) return undefined;
          return `${pieces.join('').slice(0, 9)}: ${first}, then ${second}`;
        },
        36,
      ),
  },
  {
    id: 'H-head',
    sentence: 'A HEAD that is refused gets a body.',
    play: ({ port }) =>
      playEach('refused HEADs got a body or no response', REFUSED_HEADS, async (line) => {
        const client = rawClient(port);
        client.write(rawRequest(line, undefined, 'Connection: close\r\n'));
        const { text } = await client.end(PATIENCE_MS);
        client.socket.destroy();
        return text.endsWith('\r\n\r\n') ? undefined : line;
      }),
  },
  {
    id: 'I-requests',
    sentence: 'Requests that RFC 9112 refuses leave the connection open, or cross.',
    play: ({ port }) =>
      playEach('requests were not refused and closed', REFUSED, async (bytes) => {
        const client = rawClient(port);
        client.write(bytes);
        const { text, closed } = await client.end(PATIENCE_MS);
        client.socket.destroy();
        return closed && /^HTTP\/1\.1 [45]/.test(text) ? undefined : JSON.stringify(bytes);
      }),
  },
  {
    id: 'M',
    sentence: 'Clients that go on writing behind a refused head get a reset instead of the response.',
    play: ({ port }) =>
      playEach(
        'refusals could not be read',
        TOO_LARGE.flatMap((one) => Array.from({ length: 6 }, () => one)),
        async ([name, request]) => {
          const status = await statusAfterWriting(port, request);
          if (status === 431 || status === 413) return undefined;
          return `${name} ${status === 0 ? 'lost' : `became ${status}`}`;
        },
      ),
  },
];

/** Writes pieces on a connection, and reads until a pattern: the statuses of the responses, whose bodies may end without a line end. */
async function statusesOf(
  port: number,
  pieces: readonly string[],
  until: RegExp,
): Promise<{ readonly statuses: readonly string[]; readonly reset: boolean }> {
  const client = rawClient(port);
  for (const piece of pieces) client.write(piece);
  const { text, reset } = await client.until(until, PATIENCE_MS);
  client.socket.destroy();
  return { statuses: Array.from(text.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status = '']) => status), reset };
}

/** The bytes in two pieces, cut at places all over them. */
function piecesOf(bytes: string, count: number): readonly (readonly [string, string])[] {
  return Array.from({ length: Math.ceil(count) }, (_, k) => {
    const cut = Math.floor((bytes.length * k) / count);
    return [bytes.slice(0, cut), bytes.slice(cut)] as const;
  });
}

/** Writes everything before it reads, as blocking clients do; 0 when the response was lost. */
async function statusAfterWriting(port: number, request: string): Promise<number> {
  const client = rawClient(port);
  client.socket.pause();
  const bytes = Buffer.from(request, 'latin1');
  // In two pieces, so that the head has been refused when more comes.
  client.socket.write(bytes.subarray(0, 30_000));
  await delay(50);
  await new Promise<void>((resolve) => {
    client.socket.on('close', resolve).on('error', () => resolve());
    client.socket.write(bytes.subarray(30_000), () => resolve());
  });
  client.socket.resume();
  const { text } = await client.until(/\r\n\r\n/, PATIENCE_MS);
  client.socket.destroy();
  return statusOf({ text });
}
