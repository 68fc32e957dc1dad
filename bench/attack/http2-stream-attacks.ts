import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { type Attack, check } from './attack.ts';
import { H2Attacker, requestFields } from './h2-frames.ts';
import { pause } from './raw-request.ts';

/** Attacks by how streams of HTTP/2 end, or do not. */
export const http2StreamAttacks: readonly Attack[] = [
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
    limits: { median: 500, worst: 2000, loop: 600 },
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
    id: 'F-rounds',
    sentence:
      '10,000 HTTP/2 connections with 100 streams each are closed abruptly, each at another of 500 moments of their responses.',
    isTls: true,
    milliseconds: 1_800_000,
    // V2 and its circuit are as busy as the gateway: only what is left counts.
    limits: { failed: Infinity, median: Infinity, worst: Infinity, loop: Infinity },
    async play({ port, signal }, scale) {
      const fields = requestFields('GET', '/api/v2/large?mebibytes=1');
      const rounds = 10_000 * scale;
      let next = 0;
      const one = async (): Promise<void> => {
        while (next < rounds && !signal.aborted) {
          const round = next;
          next += 1;
          const attacker = await H2Attacker.open(port, [[4, round % 2 === 0 ? 100_000 : 10]]);
          for (let k = 0; k < 100; k += 1) attacker.request(2 * k + 1, fields);
          // Tenths of a millisecond, from before the first response to after the last window is used up.
          await momentAfter((round * 7) % 500);
          attacker.socket.destroy();
        }
      };
      await Promise.all([one(), one()]);
      console.log(`  ${next} rounds`);
      return [check(`${next} of ${rounds} rounds were played`, next >= rounds)];
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

async function momentAfter(tenths: number): Promise<void> {
  const end = performance.now() + tenths / 10;
  if (tenths > 20) await delay(tenths / 10 - 2);
  while (performance.now() < end) await setImmediate();
}
