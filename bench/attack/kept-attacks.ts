import { Agent, request } from 'node:http';
import { exchange, rawClient } from '../../test/support/raw-client.ts';
import { type Attack, check, type Target } from './attack.ts';
import { pause, rawRequest } from './raw-request.ts';

/** Attacks on kept state: slots, memory of entries, tables of names. */
export const keptAttacks: readonly Attack[] = [
  {
    id: '2',
    sentence: 'Shadowed reads stay in flight for a silent V2 until V1 reads get 503.',
    isV2Silent: true,
    flags: { rules: new URL('shadow-rules.yaml', import.meta.url).pathname },
    innocents: ['v1-read'],
    limits: { left: 1000 },
    async play({ port, signal }, scale) {
      const agent = new Agent({ keepAlive: true });
      const end = performance.now() + 10_000 * scale;
      while (performance.now() < end && !signal.aborted) {
        for (let k = 0; k < 10; k += 1) send(agent, port, '/api/v1/clients');
        await pause(50, signal);
      }
      agent.destroy();
      return [];
    },
  },
  {
    id: '5-heads',
    sentence: '10,000 requests of as many clients, each with a head of 12 KiB, of which slices are kept.',
    limits: { memory: 400 },
    async play(target, scale) {
      // Code has its memory before. V8 goes on to take up to 80 MiB; the heads of 10,000 entries would take 120 more.
      await Promise.all(Array.from({ length: 8 }, (_, seat) => sendHeads(target, seat, 350 * scale)));
      const before = target.memory();
      await Promise.all(Array.from({ length: 8 }, (_, seat) => sendHeads(target, seat + 8, 1400 * scale)));
      await pause(1000, target.signal);
      const grown = (target.memory() - before) / 2 ** 20;
      return [check(`memory grew by ${grown.toFixed(0)} MiB`, grown < 110)];
    },
  },
  {
    id: '5-names',
    sentence:
      '230,000 different names beside the wrapper, from as many clients as requests, fill the tables of the report.',
    async play({ port, adminPort, signal }, scale) {
      const one = async (_: unknown, seat: number): Promise<void> => {
        for (let round = 0; round < 230 * scale && !signal.aborted; round += 1) {
          const names = Array.from({ length: 500 }, (__, k) => `"name_${seat}_${round}_${k}":1`).join(',');
          const lines = `Authorization: Bearer ${seat}-${round}\r\n`;
          await exchange(
            port,
            rawRequest('POST /api/v1/clients', `{${names},"data":{${names}}}`, lines),
            2000,
          );
          await pause(10, signal);
        }
      };
      await Promise.all([1, 2].map(one));
      const began = performance.now();
      const response = await fetch(`http://127.0.0.1:${adminPort}/report`, {
        signal: AbortSignal.timeout(10_000),
      });
      const bytes = (await response.arrayBuffer()).byteLength;
      return [
        check(`the report is ${(bytes / 1e6).toFixed(1)} MB`, bytes < 4e6),
        check(
          `the report took ${(performance.now() - began).toFixed(0)} ms`,
          performance.now() - began < 2000,
        ),
      ];
    },
  },
];

function send(agent: Agent, port: number, path: string): void {
  const outgoing = request({ agent, host: '127.0.0.1', port, path });
  outgoing.on('response', (response) => response.on('error', () => {}).resume());
  outgoing.on('error', () => {}).end();
}

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
