import { exchange, rawClient } from '../../test/support/raw-client.ts';
import { Client } from '../client.ts';
import { adminText } from './admin.ts';
import type { Attack, Target } from './attack.ts';
import { faultIf, fromSeats, lasting, pause, rawRequest } from './playing.ts';

/** Attacks on kept state: slots, memory of entries, tables of names. */
export const keptAttacks: readonly Attack[] = [
  {
    id: '2',
    sentence: 'Shadowed reads stay in flight for a silent V2 until V1 reads get 503.',
    isV2Silent: true,
    flags: { rules: new URL('shadow-rules.yaml', import.meta.url).pathname },
    innocents: ['v1-read'],
    limits: { left: 1000 },
    async play({ origin, signal }, scale) {
      const client = new Client(origin, 1000);
      const goesOn = lasting(10_000 * scale, signal);
      while (goesOn()) {
        for (let k = 0; k < 10; k += 1) void client.send({ path: '/api/v1/clients' });
        await pause(50, signal);
      }
      client.close();
      return [];
    },
  },
  {
    id: '5-heads',
    sentence: '10,000 requests of as many clients, each with a head of 12 KiB, of which slices are kept.',
    limits: { memory: 400 },
    async play(target, scale) {
      // Code has its memory before. V8 goes on to take up to 80 MiB; the heads of 10,000 entries would take 120 more.
      await fromSeats(8, (seat) => sendHeads(target, seat, 350 * scale));
      const before = target.memory();
      await fromSeats(8, (seat) => sendHeads(target, seat + 8, 1400 * scale));
      await pause(1000, target.signal);
      const grown = (target.memory() - before) / 2 ** 20;
      return faultIf(grown >= 110, `memory grew by ${grown.toFixed(0)} MiB`);
    },
  },
  {
    id: '5-names',
    sentence:
      '230,000 different names beside the wrapper, from as many clients as requests, fill the tables of the report.',
    async play({ port, adminPort, signal }, scale) {
      await fromSeats(2, async (seat) => {
        for (let round = 0; round < 230 * scale && !signal.aborted; round += 1) {
          const names = Array.from({ length: 500 }, (_, k) => `"name_${seat}_${round}_${k}":1`).join(',');
          const lines = `Authorization: Bearer ${seat}-${round}\r\n`;
          const request = rawRequest('POST /api/v1/clients', `{${names},"data":{${names}}}`, lines);
          await exchange(port, request, 2000);
          await pause(10, signal);
        }
      });
      const began = performance.now();
      const { length } = await adminText(adminPort, '/report');
      const took = performance.now() - began;
      return [
        ...faultIf(length === 0 || length >= 4e6, `the report is ${(length / 1e6).toFixed(1)} MB`),
        // Times are a matter of the whole attack on a calm machine.
        ...faultIf(scale === 1 && took >= 2000, `the report took ${took.toFixed(0)} ms`),
      ];
    },
  },
];

/** One after the other on one connection, each as another client. */
async function sendHeads({ port, signal }: Target, seat: number, count: number): Promise<void> {
  const client = rawClient(port);
  for (let k = 0; k < count && !signal.aborted && !client.socket.destroyed; k += 1) {
    const padding = `X-Padding: ${'x'.repeat(12_000)}\r\n`;
    const own = `Authorization: Bearer key-${seat}-${k}\r\nX-Id: ${seat}-${k}.\r\n`;
    client.write(rawRequest('POST /api/v1/clients?page=1', '{"data":{"a":1}}', own + padding));
    await client.until(new RegExp(`"${seat}-${k}\\."`), 2000);
  }
  client.socket.destroy();
}
