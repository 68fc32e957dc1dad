import { setTimeout as delay } from 'node:timers/promises';
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
