import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { type Attack, check, type Check, type Target } from './attack.ts';
import { type Fields, FRAME, H2Attacker } from './h2-frames.ts';
import { pause } from './raw-request.ts';
import { rawResponsePath } from './v2.ts';

const TRAILERS: readonly string[] = [
  ...['ETag', 'Content-Type', 'Date', 'Age', 'Authorization'].map((name) => `${name}: a\r\n${name}: b\r\n`),
  'constructor: a\r\n',
  '__proto__: a\r\n',
  'X-One: a\r\nX-One: b\r\n',
];
const REPEATED = [
  'ETag',
  'Date',
  'Content-Type',
  'Location',
  'Retry-After',
  'Expires',
  'Last-Modified',
  'Age',
  'Server',
];
const INVALID_FIELDS: readonly (readonly [name: string, value: string])[] = [
  ['authorization', 'Bearer a\rb'],
  ['authorization', 'Bearer a\0b'],
  ['x-a b', 'c'],
  ['X-Upper', 'c'],
  ['connection', 'close'],
  ['transfer-encoding', 'chunked'],
];

/** Attacks over HTTP/2. */
export const http2Attacks: readonly Attack[] = [
  {
    id: 'F-cancel',
    sentence: 'HTTP/2 streams are cancelled after their body and before the refusal is written.',
    isTls: true,
    async play({ port, signal }, scale) {
      const fields = [
        ...requestFields('POST', '/api/v1/clients'),
        ['content-type', 'application/json'],
      ] as const;
      for (let round = 0; round < 20 * scale && !signal.aborted; round += 1) {
        const attacker = await H2Attacker.open(port);
        for (let k = 0; k < 50; k += 1)
          attacker.cancelled(2 * k + 1, fields, '{"data":', round % 2 === 0 ? 0 : 8);
        await delay(100);
        attacker.socket.destroy();
      }
      return [];
    },
  },
  {
    id: 'F-abrupt',
    sentence: 'HTTP/2 connections with 100 streams and large responses are closed abruptly, again and again.',
    isTls: true,
    limits: { median: 250 },
    async play({ port, signal }, scale) {
      const one = async (_: unknown, seat: number): Promise<void> => {
        for (let round = 0; round < 25 * scale && !signal.aborted; round += 1) {
          const attacker = await H2Attacker.open(port, [[4, seat % 2 === 0 ? 100_000 : 10]]);
          const fields = requestFields('GET', '/api/v2/large?mebibytes=1');
          for (let k = 0; k < 100; k += 1) attacker.request(2 * k + 1, fields);
          await delay(Math.random() * 200);
          attacker.socket.destroy();
        }
      };
      await Promise.all(Array.from({ length: 4 }, one));
      return [];
    },
  },
  {
    id: 'J-trailers',
    sentence: 'V2 sends trailers twice, or called constructor, to a client of HTTP/2.',
    isTls: true,
    play: (target) =>
      passAll(
        target,
        TRAILERS.map(
          (lines) => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n${lines}\r\n`,
        ),
        (status) => status === 200,
      ),
  },
  {
    id: 'J-repeated',
    sentence:
      'V2 sends fields twice that HTTP/2 libraries want once, or early hints with them, to a client of HTTP/2.',
    isTls: true,
    play: (target) =>
      passAll(
        target,
        REPEATED.flatMap((name) => {
          const twice = `${name}: a\r\n${name}: b\r\n`;
          const whole = `HTTP/1.1 200 OK\r\n${twice}Content-Length: 2\r\n\r\n{}`;
          return [
            whole,
            `HTTP/1.1 103 Early Hints\r\n${twice}\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}`,
          ];
        }),
        (status) => status === 200,
      ),
  },
  {
    id: 'J-statuses',
    sentence: 'V2 responds with statuses from 600 on, and with odd ones, to a client of HTTP/2.',
    isTls: true,
    play: (target) =>
      passAll(
        target,
        ['600', '700', '999', '000', '099'].map(
          (status) => `HTTP/1.1 ${status} X\r\nContent-Length: 2\r\n\r\n{}`,
        ),
        (status) => status >= 100 && status !== 500,
      ),
  },
  {
    id: 'J-fields',
    sentence: 'HTTP/2 requests with fields that RFC 9113 calls malformed reach V2 without them.',
    isTls: true,
    async play({ port }) {
      const taken: string[] = [];
      for (const field of INVALID_FIELDS) {
        const attacker = await H2Attacker.open(port);
        attacker.request(1, [...requestFields('GET', '/api/v2/clients'), field]);
        const end = await attacker.until(
          ({ type }) => type === FRAME.headers || type === FRAME.reset || type === FRAME.goaway,
          2000,
        );
        // The status comes first; 200 stands at 8 in the static table of HPACK.
        if (end === undefined || (end.type === FRAME.headers && end.payload[0] === 0x88))
          taken.push(JSON.stringify(field));
        attacker.socket.destroy();
      }
      return [
        check(`malformed fields were taken, or met with silence: ${taken.join(', ')}`, taken.length === 0),
      ];
    },
  },
  {
    id: 'J-large',
    sentence: 'An HTTP/2 request with over 16 KiB of fields gets a reset instead of 431.',
    isTls: true,
    async play({ port }) {
      const session = await openSession(port);
      const statuses = await Promise.all(
        [1, 10, 60].map((count) => {
          const long = Array.from({ length: count }, (_, k) => [`x-long-${k}`, 'x'.repeat(18_000 / count)]);
          return statusOf(session, { ':path': '/api/v2/clients', ...Object.fromEntries(long) });
        }),
      );
      session.destroy();
      return [
        check(
          `large header sections got ${statuses.join(', ')}`,
          statuses.every((status) => status === 431),
        ),
      ];
    },
  },
  {
    id: '1',
    sentence: 'HTTP/2 clients with a window of 0 hold the places of small responses for ever.',
    isTls: true,
    flags: { 'max-in-flight': '200' },
    async play(target) {
      const { port, signal } = target;
      const attacker = await H2Attacker.open(port, [[4, 0]]);
      for (let k = 0; k < 90; k += 1) attacker.request(2 * k + 1, requestFields('GET', '/api/v2/clients'));
      await pause(12_000, signal);
      const held = (await target.metric('http_server_active_requests')) ?? 0;
      attacker.socket.destroy();
      return [check(`${held} places are held after 12 s`, held < 10)];
    },
  },
];

async function passAll(
  { port }: Target,
  responses: readonly string[],
  isFine: (status: number) => boolean,
): Promise<readonly Check[]> {
  const faults: string[] = [];
  for (const response of responses) {
    const session = await openSession(port).catch(() => undefined);
    const status =
      session === undefined ? 0 : await statusOf(session, { ':path': rawResponsePath('v2', response) });
    session?.destroy();
    if (!isFine(status))
      faults.push(`${JSON.stringify(response.slice(0, 70))}: ${status === 0 ? 'reset' : status}`);
  }
  return [
    check(
      `${faults.length} of ${responses.length} responses are lost:\n    ${faults.join('\n    ')}\n   `,
      faults.length === 0,
    ),
  ];
}

function requestFields(method: string, path: string): Fields {
  return [
    [':method', method],
    [':scheme', 'https'],
    [':authority', 'gateway'],
    [':path', path],
  ];
}

async function openSession(port: number): Promise<ClientHttp2Session> {
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  await new Promise<void>((resolve, reject) => {
    session.once('connect', () => resolve()).once('error', reject);
  });
  session.on('error', () => {});
  return session;
}

/** The status of a response that arrived whole; 0 when the stream or the connection broke. */
function statusOf(session: ClientHttp2Session, fields: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve) => {
    const stream = session.request(fields);
    let status = 0;
    const late = setTimeout(() => stream.close(), 2000);
    stream.on(
      'response',
      (head: IncomingHttpHeaders & { readonly ':status'?: number }) => (status = head[':status'] ?? 0),
    );
    stream.on('error', () => (status = 0));
    stream.on('close', () => {
      clearTimeout(late);
      resolve(status);
    });
    stream.resume().end();
  });
}
