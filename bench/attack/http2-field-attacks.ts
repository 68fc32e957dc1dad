import { type Attack, check, type Check, type Target, PATIENCE_MS } from './attack.ts';
import { openSession, statusOf } from './h2-client.ts';
import { FRAME, H2Attacker, requestFields } from './h2-frames.ts';
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
type Field = readonly [name: string, value: string];
const INVALID_FIELDS: readonly Field[] = [
  ['x-id', ' white space'],
  ['X-Upper', 'c'],
  ['connection', 'close'],
  ['transfer-encoding', 'chunked'],
  ['x-id', 'unsafe\rb'],
  ['x-id', 'unsafe\nb'],
  ['x-id', 'unsafe\0b'],
  ['x-id ', 'unsafe'],
];
/** Attacks by fields and statuses that HTTP/2, or a library for it, does not have. */
export const http2FieldAttacks: readonly Attack[] = [
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
    sentence: 'HTTP/2 requests have fields that RFC 9113 calls malformed: V2 gets them, or such a request.',
    isTls: true,
    async play({ port }) {
      const taken: string[] = [];
      for (const field of INVALID_FIELDS) {
        const attacker = await H2Attacker.open(port);
        attacker.request(1, [...requestFields('GET', '/api/v2/clients'), field]);
        const end = await attacker.until(
          ({ type }) => type === FRAME.headers || type === FRAME.reset || type === FRAME.goaway,
          PATIENCE_MS,
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
