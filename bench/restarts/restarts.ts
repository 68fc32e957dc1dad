/**
 * `npm run bench -- restarts`: restarts servers in place of V2 under 200 requests a second, behind the gateway, nginx and HAProxy, and
 * prints the failures side by side. `--only puma` plays the servers with that in their names.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/support/free-port.ts';
import { Client } from '../client.ts';
import { nginx } from '../peers/nginx-peers.ts';
import { gateway } from '../peers/node-peers.ts';
import { found, type Peer } from '../peers/peer.ts';
import { haproxy } from '../peers/plain-peers.ts';
import { accepts, Running, startPeer } from '../running.ts';
import { printTable } from '../statistics.ts';
import { type RestartingServer, restartingServers } from './servers.ts';

const RESTARTS = 3;
/** Requests a second, every other one a POST. */
const RATE = 200;
/** Milliseconds for which a server that is ended is not there. */
const DOWN_MS = 700;
/** Servers that wait for idle connections to be closed would wait for those of a proxy. */
const PATIENCE_MS = 2000;
const proxies: readonly Peer[] = [gateway, nginx, haproxy];

/** Measures and prints; false when more requests fail through the gateway than through HAProxy. */
export async function benchRestarts(only: readonly string[]): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'restarts-'));
  const lines: string[][] = [];
  let isGood = true;
  for (const server of restartingServers) {
    const name = server.name.toLowerCase();
    if (only.length > 0 && !only.some((part) => name.includes(part.toLowerCase()))) continue;
    const failures = new Map<Peer, number>();
    for (const proxy of proxies) {
      const missing = found(server.program) === undefined ? server.program : proxy.missing();
      if (missing !== undefined) {
        console.log(`not installed: ${missing}, for ${server.name} through ${proxy.name}`);
        continue;
      }
      const place = mkdtempSync(join(folder, 'run-'));
      const outcomes = await playRestarts(server, proxy, place);
      const failed = outcomes.map(({ failure }) => failure).filter((failure) => failure !== '');
      const slowest = Math.max(
        0,
        ...outcomes.filter(({ failure }) => failure === '').map(({ took }) => took),
      );
      failures.set(proxy, failed.length);
      lines.push([
        server.name,
        proxy.name,
        String(outcomes.length),
        String(failed.length),
        `${slowest.toFixed(0)} ms`,
        [...new Set(failed)]
          .map((kind) => `${failed.filter((one) => one === kind).length} × ${kind}`)
          .join(', '),
      ]);
    }
    isGood &&= (failures.get(gateway) ?? 0) <= (failures.get(haproxy) ?? Infinity);
  }
  rmSync(folder, { recursive: true, force: true });
  printTable(['V2', 'through', 'requests', 'failed', 'slowest', 'failures'], lines);
  return isGood;
}

/** Restarts a server behind a proxy under a steady load. */
async function playRestarts(
  server: RestartingServer,
  proxy: Peer,
  folder: string,
): Promise<readonly Outcome[]> {
  const port = await freePort();
  let running = await startServer(server, port, folder);
  const front = await startPeer(proxy, { upstream: port, folder: join(folder, 'proxy') }, accepts);
  const client = new Client(`http://127.0.0.1:${front.port}`, RATE);
  const outcomes: Promise<Outcome>[] = [];
  // Some servers take connections before they can respond.
  for (let count = 0; count < 50 && (await send(client, 'GET')).failure !== ''; count += 1) await delay(100);
  const timer = setInterval(
    () => outcomes.push(send(client, outcomes.length % 2 === 0 ? 'GET' : 'POST')),
    1000 / RATE,
  );
  for (let count = 0; count < RESTARTS; count += 1) {
    await delay(1000);
    if (server.signal === undefined) await running.stop(PATIENCE_MS);
    else running.child.kill(server.signal);
    await delay(DOWN_MS);
    if (server.signal === undefined) running = await startServer(server, port, folder);
  }
  await delay(1500);
  clearInterval(timer);
  const all = await Promise.all(outcomes);
  client.close();
  await front.stop(PATIENCE_MS);
  await running.stop(PATIENCE_MS);
  return all;
}

function startServer({ program, args }: RestartingServer, port: number, folder: string): Promise<Running> {
  const own = join(folder, 'server');
  mkdirSync(own, { recursive: true });
  const command = { file: found(program) ?? program, args: args(port, own) };
  return new Running(port, command).untilReady(accepts);
}

interface Outcome {
  /** Empty for a 200. */
  readonly failure: string;
  readonly took: number;
}

async function send(client: Client, method: 'GET' | 'POST'): Promise<Outcome> {
  const began = performance.now();
  const sent = method === 'POST' ? { body: '{"a":1}', headers: { 'content-type': 'application/json' } } : {};
  const response = await client.send({ method, path: '/api/v2/x', ...sent });
  const outcome = typeof response === 'string' ? response : response.status;
  return { failure: outcome === 200 ? '' : `${method} ${outcome}`, took: performance.now() - began };
}
