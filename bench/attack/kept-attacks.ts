import { Agent, request } from 'node:http';
import { rawClient } from '../../test/support/raw-client.ts';
import { type Attack, check, type Target } from './attack.ts';
import { pause, rawRequest } from './raw-request.ts';

/** Attacks on what is kept: places, memory of entries, tables of names. */
export const keptAttacks: readonly Attack[] = [
  {
    id: '2',
    sentence: 'Shadowed reads stay in flight for a silent V2 until V1 reads get 503.',
    isV2Silent: true,
    innocents: ['v1-read'],
    limits: { left: 1000 },
    async play({ port, adminPort, signal }, scale) {
      await setMode(adminPort, 'shadow');
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
      const before = target.memory();
      await Promise.all(Array.from({ length: 8 }, (_, seat) => sendHeads(target, seat, 1250 * scale)));
      await pause(2000, target.signal);
      const grown = (target.memory() - before) / 2 ** 20;
      return [check(`memory grew by ${grown.toFixed(0)} MiB`, grown < 150)];
    },
  },
  {
    id: '5-names',
    sentence: '230,000 different names of attributes fill the tables of the report, which is then asked for.',
    async play({ port, adminPort, signal }, scale) {
      for (let round = 0; round < 115 * scale && !signal.aborted; round += 1) {
        const names = Array.from({ length: 2000 }, (_, k) => `"name_${round}_${k}":1`).join(',');
        const client = rawClient(port);
        client.write(rawRequest('POST /api/v1/clients', `{"data":{${names}}}`));
        await client.until(/\r\n\r\n/, 2000);
        client.socket.destroy();
        await pause(20, signal);
      }
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

async function setMode(adminPort: number, mode: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/rollout`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mode }),
  });
  if (!response.ok) throw new Error(`the mode was not set: ${await response.text()}`);
}

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
