/**
 * `npm run bench -- restarts`: restarts servers in place of V2 under 200 requests a second, behind the gateway, nginx and HAProxy, and
 * prints the failures side by side. `--only puma` plays the servers with that in their names.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/support/free-port.ts';
import { gateway } from '../peers/node-peers.ts';
import { nginx } from '../peers/nginx-peers.ts';
import type { Peer } from '../peers/peer.ts';
import { haproxy } from '../peers/plain-peers.ts';
import { printTable } from '../statistics.ts';
import {
  type RestartingServer,
  restartingServers,
  RunningServer,
  takesConnections,
} from './restarting-server.ts';

const RESTARTS = 3;
/** Requests a second, every other one a POST. */
const RATE = 200;
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
      const missing = server.missing() ?? proxy.missing();
      if (missing !== undefined) {
        console.log(`not installed: ${missing}, for ${server.name} through ${proxy.name}`);
        continue;
      }
      const place = join(folder, `${server.name}-${proxy.name}`.replaceAll(/\W+/g, '-'));
      const { requests, failed, slowest } = await playRestarts({ server, proxy, folder: place });
      const total = [...failed.values()].reduce((sum, count) => sum + count, 0);
      failures.set(proxy, total);
      const kinds = [...failed].map(([kind, count]) => `${count} × ${kind}`).join(', ');
      lines.push([
        server.name,
        proxy.name,
        String(requests),
        String(total),
        `${slowest.toFixed(0)} ms`,
        kinds,
      ]);
    }
    isGood &&= (failures.get(gateway) ?? 0) <= (failures.get(haproxy) ?? Number.POSITIVE_INFINITY);
  }
  rmSync(folder, { recursive: true, force: true });
  printTable(['V2', 'through', 'requests', 'failed', 'slowest', 'failures'], lines);
  return isGood;
}

/** The outcomes at clients while a server was restarted behind a proxy. */
interface RestartResult {
  readonly requests: number;
  /** Requests without a 200, by their outcome, such as `POST 502`. */
  readonly failed: ReadonlyMap<string, number>;
  /** Milliseconds of the slowest request that succeeded. */
  readonly slowest: number;
}

interface RestartPlan {
  readonly server: RestartingServer;
  readonly proxy: Peer;
  readonly folder: string;
}

/** Restarts a server behind a proxy under a steady load. */
async function playRestarts(plan: RestartPlan): Promise<RestartResult> {
  const { folder } = plan;
  const port = await freePort();
  const server = await RunningServer.start(plan.server, port, join(folder, 'server'));
  const proxy = await startProxy(plan.proxy, port, join(folder, 'proxy'));
  const agent = new Agent({ keepAlive: true });
  const outcomes: Promise<Outcome>[] = [];
  // Some servers take connections before they can respond.
  for (let count = 0; count < 50 && (await send(agent, proxy.port, 'GET')).failure !== ''; count += 1)
    await delay(100);
  const timer = setInterval(
    () => outcomes.push(send(agent, proxy.port, outcomes.length % 2 === 0 ? 'GET' : 'POST')),
    1000 / RATE,
  );
  for (let count = 0; count < RESTARTS; count += 1) {
    await delay(1000);
    await server.restart();
  }
  await delay(1500);
  clearInterval(timer);
  const all = await Promise.all(outcomes);
  agent.destroy();
  await proxy.stop();
  await server.stop();
  const failed = new Map<string, number>();
  for (const { failure } of all) if (failure !== '') failed.set(failure, (failed.get(failure) ?? 0) + 1);
  return {
    requests: all.length,
    failed,
    slowest: Math.max(0, ...all.filter(({ failure }) => failure === '').map(({ took }) => took)),
  };
}

interface Outcome {
  /** Empty for a 200. */
  readonly failure: string;
  readonly took: number;
}

function send(agent: Agent, port: number, method: string): Promise<Outcome> {
  const began = performance.now();
  const body = method === 'POST' ? '{"a":1}' : '';
  const headers = body === '' ? {} : { 'content-type': 'application/json', 'content-length': body.length };
  return new Promise((resolve) => {
    const done = (status: number): void =>
      resolve({
        failure: status === 200 ? '' : `${method} ${status || 'reset'}`,
        took: performance.now() - began,
      });
    const outgoing = request(
      { agent, host: '127.0.0.1', port, method, path: '/api/v2/x', headers, timeout: 30_000 },
      (response) => {
        response.on('error', () => done(0));
        response.resume().on('end', () => done(response.statusCode ?? 0));
      },
    );
    outgoing.on('timeout', () => outgoing.destroy());
    outgoing.on('error', () => done(0)).end(body);
  });
}

async function startProxy(
  peer: Peer,
  upstream: number,
  folder: string,
): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const port = await freePort();
  mkdirSync(folder, { recursive: true });
  const { file, args, env } = peer.command({ port, upstream, folder });
  const child = spawn(file, args, { stdio: 'ignore', env: { ...process.env, ...env } });
  await takesConnections(port);
  return {
    port,
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
