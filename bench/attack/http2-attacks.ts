import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import {
  CONTINUATION,
  DATA,
  frameBytes,
  GOAWAY,
  HEADERS,
  PING,
  PRIORITY,
  type RawH2,
  requestHead,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from '../../test/support/h2-wire.ts';
import { Client } from '../client.ts';
import { metric } from './admin.ts';
import type { Attack, Target } from './attack.ts';
import { attackH2, faultIf, frameOf, fromSeats, pause, PATIENCE_MS, playEach, pour } from './playing.ts';
import { mutated, ODD, pick, randomOf } from './response-attacks.ts';
import { scripted } from './v2.ts';

const TRAILERS: readonly string[] = [
  ...['ETag', 'Content-Type', 'Date', 'Age', 'Authorization'].map((name) => `${name}: a\r\n${name}: b\r\n`),
  'constructor: a\r\n',
  '__proto__: a\r\n',
  'X-One: a\r\nX-One: b\r\n',
];
const REPEATED = 'ETag Date Content-Type Location Retry-After Expires Last-Modified Age Server'.split(' ');
const MALFORMED: readonly (readonly [name: string, value: string])[] = [
  ['x-id', ' white space'],
  ['X-Upper', 'c'],
  ['connection', 'close'],
  ['transfer-encoding', 'chunked'],
  ['x-id', 'unsafe\rb'],
  ['x-id', 'unsafe\nb'],
  ['x-id', 'unsafe\0b'],
  ['x-id ', 'unsafe'],
];
const FIELDS =
  'authorization cookie te host content-length x-api-version expect connection __proto__ x-a'.split(' ');
/** A mebibyte for each stream. */
const LARGE = scripted('/api/v2/large', [
  [`HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 20}\r\n\r\n`, 1],
  ['x', 2 ** 20],
]);

/** A frame to repeat, with what must come before it on the connection. */
interface Flood {
  readonly name: string;
  readonly frame: Buffer;
  readonly before?: (attacker: RawH2) => void;
}

const ONE = Buffer.from([0, 0, 0, 1]);
const opened = ({ head }: RawH2): void => head(1, requestHead('/api/v2/slow?ms=60000', 'POST'), true);

/** Frames that are legal, and cost more to read than to send (RFC 9113 §10.5). */
const FLOODS: readonly Flood[] = [
  { name: 'PING', frame: frameBytes(PING, 0, 0, Buffer.alloc(8)) },
  { name: 'PING with ACK', frame: frameBytes(PING, 1, 0, Buffer.alloc(8)) },
  { name: 'SETTINGS', frame: frameBytes(SETTINGS, 0, 0) },
  { name: 'WINDOW_UPDATE of the connection', frame: frameBytes(WINDOW_UPDATE, 0, 0, ONE) },
  { name: 'WINDOW_UPDATE of a stream', frame: frameBytes(WINDOW_UPDATE, 0, 1, ONE), before: opened },
  { name: 'PRIORITY', frame: frameBytes(PRIORITY, 0, 1, Buffer.from([0, 0, 0, 0, 16])) },
  { name: 'empty DATA', frame: frameBytes(DATA, 0, 1), before: opened },
  { name: 'DATA of a byte', frame: frameBytes(DATA, 0, 1, Buffer.from('x')), before: opened },
  { name: 'an unknown frame', frame: frameBytes(0x42, 0, 0) },
  {
    name: 'CONTINUATION',
    frame: frameBytes(CONTINUATION, 0, 1),
    before: ({ frame }) => frame(HEADERS, 0, 1),
  },
];
/** Frames in one write. */
const FRAMES = 4096;
const FLOOD_MS = 2500;
const RECONNECT_MS = 100;

/** Attacks by fields and statuses that HTTP/2, or a library for it, does not have, and by how streams end, or do not. */
const streamAttacks: readonly Attack[] = [
  {
    id: 'J-trailers',
    sentence: 'V2 sends trailers twice, or called constructor, to a client of HTTP/2.',
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
    play: (target) =>
      passAll(
        target,
        REPEATED.map((name) => `${name}: a\r\n${name}: b\r\n`).flatMap((twice) => [
          `HTTP/1.1 200 OK\r\n${twice}Content-Length: 2\r\n\r\n{}`,
          `HTTP/1.1 103 Early Hints\r\n${twice}\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}`,
        ]),
        (status) => status === 200,
      ),
  },
  {
    id: 'J-statuses',
    sentence: 'V2 responds with statuses from 600 on, and with odd ones, to a client of HTTP/2.',
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
    play: ({ port }) =>
      playEach('malformed fields were taken, or met with silence', MALFORMED, async (field) => {
        const attacker = await attackH2(port);
        attacker.head(1, [...requestHead('/api/v2/clients'), field]);
        const ends = new Set([HEADERS, RST_STREAM, GOAWAY]);
        const end = await frameOf(attacker, ({ type }) => ends.has(type), PATIENCE_MS);
        attacker.socket.destroy();
        // The status comes first; 200 stands at 8 in the static table of HPACK.
        const isTaken = end === undefined || (end.type === HEADERS && end.payload[0] === 0x88);
        return isTaken ? JSON.stringify(field) : undefined;
      }),
  },
  {
    id: 'J-large',
    sentence: 'An HTTP/2 request with over 16 KiB of fields gets a reset instead of 431.',
    play: (target) =>
      playEach('large header sections got no 431', [1, 10, 60], async (count) => {
        const long = Array.from({ length: count }, (_, k) => [`x-long-${k}`, 'x'.repeat(18_000 / count)]);
        const status = await statusOf(target, '/api/v2/clients', Object.fromEntries(long));
        return status === 431 ? undefined : `${count} fields: ${status}`;
      }),
  },
  {
    id: 'J-fuzz',
    sentence: 'Requests over HTTP/2 with fields made at random, to responses changed at random.',
    // V2's faults are many.
    flags: { breaker: 'off' },
    innocents: ['v1-read', 'v2-read'],
    async play({ port, signal }, scale) {
      const random = randomOf(1147);
      await fromSeats(4, async () => {
        for (let k = 0; k < 250 * scale && !signal.aborted; k += 1) {
          const attacker = await attackH2(port).catch(() => undefined);
          if (attacker === undefined) return;
          const field = [pick(FIELDS, random), k % 3 === 0 ? `a${pick(ODD, random)}b` : 'a'] as const;
          const path = scripted('/api/v2/fuzz', mutated(random), true);
          attacker.head(1, [...requestHead(path), ...(k % 2 === 0 ? [field, field] : [])]);
          await frameOf(
            attacker,
            ({ type, flags }) =>
              type === RST_STREAM || type === GOAWAY || (type <= HEADERS && flags % 2 === 1),
            1000,
          );
          attacker.socket.destroy();
        }
      });
      return [];
    },
  },
  {
    id: 'F-cancel',
    sentence: 'HTTP/2 streams are cancelled after their body and before the refusal is written.',
    async play({ port, signal }, scale) {
      const fields = [
        ...requestHead('/api/v1/clients', 'POST'),
        ['content-type', 'application/json'],
      ] as const;
      for (let round = 0; round < 20 * scale && !signal.aborted; round += 1) {
        const { socket, head, frame } = await attackH2(port);
        for (let k = 0; k < 50; k += 1) {
          socket.cork();
          head(2 * k + 1, fields, true);
          frame(DATA, 0, 2 * k + 1, Buffer.from('{"data":'));
          frame(RST_STREAM, 0, 2 * k + 1, Buffer.from([0, 0, 0, round % 2 === 0 ? 0 : 8]));
          socket.uncork();
        }
        await delay(100);
        socket.destroy();
      }
      return [];
    },
  },
  {
    id: 'F-abrupt',
    sentence: 'HTTP/2 connections with 100 streams and large responses are closed abruptly, again and again.',
    limits: { median: 500, worst: 2000, loop: 600 },
    async play({ port, signal }, scale) {
      await fromSeats(4, async (seat) => {
        for (let round = 0; round < 25 * scale && !signal.aborted; round += 1) {
          const { socket } = await manyLarge(port, seat);
          await delay(Math.random() * 200);
          socket.destroy();
        }
      });
      return [];
    },
  },
  {
    id: 'F-rounds',
    sentence:
      '10,000 HTTP/2 connections with 100 streams each are closed abruptly, each at another of 500 moments of their responses.',
    milliseconds: 1_800_000,
    // V2 and its circuit are as busy as the gateway: only what is left counts.
    limits: { failed: Infinity, median: Infinity, worst: Infinity, loop: Infinity },
    async play({ port, signal }, scale) {
      const rounds = 10_000 * scale;
      let next = 0;
      await fromSeats(2, async () => {
        while (next < rounds && !signal.aborted) {
          const round = next++;
          const { socket } = await manyLarge(port, round);
          // Tenths of a millisecond, from before the first response to after the last window is used up.
          await momentAfter((round * 7) % 500);
          socket.destroy();
        }
      });
      return faultIf(next < rounds, `${next} of ${rounds} rounds were played`);
    },
  },
  {
    id: '1',
    sentence: 'HTTP/2 clients with a window of 0 hold the places of small responses for ever.',
    flags: { 'max-in-flight': '200' },
    async play({ port, adminPort, signal }) {
      const { socket, head } = await attackH2(port, [[4, 0]]);
      for (let k = 0; k < 90; k += 1) head(2 * k + 1, requestHead('/api/v2/clients'));
      await pause(12_000, signal);
      const held = await metric(adminPort, 'http_server_active_requests');
      socket.destroy();
      return faultIf(held >= 10, `${held} places are held after 12 s`);
    },
  },
];

/** Attacks by frames that nobody needs. */
const floodAttacks: readonly Attack[] = FLOODS.map(({ name, frame, before }) => ({
  id: `O-h2-${name.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`,
  sentence: `Four HTTP/2 clients send ${name} frames as fast as they are read, and connect again when they are cut off.`,
  async play({ port, signal }, scale) {
    const end = AbortSignal.any([signal, AbortSignal.timeout(FLOOD_MS * scale)]);
    const block = Buffer.concat(Array.from({ length: FRAMES }, () => frame));
    const endless = function* (): Generator<Buffer> {
      for (;;) yield block;
    };
    let bytes = 0;
    await fromSeats(4, async () => {
      while (!end.aborted) {
        const attacker = await attackH2(port);
        before?.(attacker);
        bytes += await pour(attacker.socket, endless(), end);
        attacker.socket.destroy();
        // Handshakes are another attack.
        await delay(RECONNECT_MS);
      }
    });
    console.log(`  ${bytes / frame.length} frames`);
    return faultIf(bytes === 0, 'no frame was sent');
  },
}));

/** All attacks by clients of HTTP/2. */
export const http2Attacks: readonly Attack[] = [...streamAttacks, ...floodAttacks].map((attack) => ({
  ...attack,
  isTls: true,
}));

function passAll(
  target: Target,
  responses: readonly string[],
  isFine: (status: number) => boolean,
): Promise<readonly string[]> {
  return playEach('responses are lost', responses, async (response) => {
    const status = await statusOf(target, scripted('/api/v2/odd', response));
    return isFine(status) ? undefined : `${JSON.stringify(response.slice(0, 70))}: ${status || 'reset'}`;
  });
}

/** The status of a response that an ordinary client reads whole; 0 when the stream or the connection broke. */
async function statusOf(
  { origin }: Target,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const client = new Client(origin, 1, true);
  const response = await client.send({ path, headers, leavesAfter: PATIENCE_MS });
  client.close();
  return typeof response === 'string' ? 0 : response.status;
}

/** A connection with 100 streams that all ask for a large response, with a small window every other time. */
async function manyLarge(port: number, round: number): Promise<RawH2> {
  const attacker = await attackH2(port, [[4, round % 2 === 0 ? 100_000 : 10]]);
  for (let k = 0; k < 100; k += 1) attacker.head(2 * k + 1, requestHead(LARGE));
  return attacker;
}

async function momentAfter(tenths: number): Promise<void> {
  const end = performance.now() + tenths / 10;
  if (tenths > 20) await delay(tenths / 10 - 2);
  while (performance.now() < end) await setImmediate();
}
