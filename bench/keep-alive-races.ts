/**
 * `node bench/keep-alive-races.ts [seconds…]`: bursts of requests that cross the close of idle connections, for a V2 that keeps them 2, 5
 * or 20 seconds and does not say so, behind the gateway, nginx and HAProxy. A GET may be sent again, a POST never arrives twice.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { restartProxies } from './restarts/restart-proxies.ts';

const BURSTS = 10;
const WIDTH = 10;
const RESPONSE = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';

/** A V2 that closes idle connections, and how often each request came. */
interface ClosingV2 {
  readonly port: number;
  readonly came: ReadonlyMap<string, number>;
  close(): void;
}

const times = process.argv.slice(2).map(Number);
const folder = mkdtempSync(join(tmpdir(), 'races-'));
for (const seconds of times.length > 0 ? times : [2, 5, 20]) {
  console.log(`V2 keeps idle connections for ${seconds} s`);
  const lines = restartProxies.map(async (proxy, at) => {
    const missing = proxy.missing();
    if (missing !== undefined) return `left out, for ${missing} is not installed`;
    const v2 = await closingV2(seconds * 1000);
    const running = await proxy.start(v2.port, join(folder, `${seconds}-${at}`));
    const lost = await bursts(running.port, seconds * 1000);
    await running.stop();
    v2.close();
    const twice = [...v2.came].filter(([id, count]) => id.startsWith('POST') && count > 1).length;
    return `${proxy.name.padEnd(10)} of ${BURSTS * WIDTH} each: ${lost.GET} GETs and ${lost.POST} POSTs lost, ${twice} POSTs arrived twice`;
  });
  for (const line of await Promise.all(lines)) console.log(`  ${line}`);
}
rmSync(folder, { recursive: true, force: true });

/** Bursts of GETs and POSTs, from a little before until a little after the time of V2. */
async function bursts(port: number, idleMs: number): Promise<Record<'GET' | 'POST', number>> {
  const lost = { GET: 0, POST: 0 };
  const agent = new Agent({ keepAlive: true });
  for (let burst = 0; burst < BURSTS; burst += 1) {
    for (const method of ['GET', 'POST'] as const) {
      const statuses = await Promise.all(
        Array.from({ length: WIDTH }, (_, number) => send(agent, port, method, `${burst}-${number}`)),
      );
      lost[method] += statuses.filter((status) => status !== 200).length;
      await delay(idleMs - 5 + burst);
    }
  }
  agent.destroy();
  return lost;
}

function send(agent: Agent, port: number, method: string, id: string): Promise<number> {
  return new Promise((resolve) => {
    const headers = { 'x-id': `${method}-${id}`, ...(method === 'POST' && { 'content-length': 2 }) };
    const outgoing = request(
      { agent, host: '127.0.0.1', port, method, path: '/api/v2/x', headers },
      (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      },
    );
    outgoing.on('error', () => resolve(0)).end(method === 'POST' ? '{}' : '');
  });
}

async function closingV2(idleMs: number): Promise<ClosingV2> {
  const came = new Map<string, number>();
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    let timer: NodeJS.Timeout | undefined;
    socket.on('close', () => open.delete(socket)).on('error', () => {});
    socket.on('data', (chunk) => {
      clearTimeout(timer);
      const text = chunk.toString('latin1');
      const id = /x-id: (\S+)/i.exec(text)?.[1];
      if (id !== undefined) came.set(id, (came.get(id) ?? 0) + 1);
      // A body may come apart from its head.
      if (!text.startsWith('POST') || text.endsWith('\r\n\r\n{}')) socket.write(RESPONSE);
      timer = setTimeout(() => socket.end(), idleMs);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    came,
    close: () => {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}
