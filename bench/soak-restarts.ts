import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { nginx } from './peers/nginx-peers.ts';
import { gateway } from './peers/node-peers.ts';
import type { Peer } from './peers/peer.ts';
import { haproxy } from './peers/plain-peers.ts';
import { RestartLoad } from './restart-load.ts';
import type { Server } from './servers/server.ts';
import { servers } from './servers/servers.ts';

const RATE = 100;
const RESTARTS = 3;
const proxies: readonly Peer[] = [gateway, nginx, haproxy];

/**
 * Restarts real servers behind the gateway, nginx and HAProxy at once, each of which gets the same GETs and POSTs, and prints what
 * failed. True when nowhere more requests fail through the gateway than through HAProxy. What is not installed is named and left out;
 * `only` is a part of the names of the servers that are asked for.
 */
export async function soakRestarts(only = ''): Promise<boolean> {
  console.log(`\n${RESTARTS} restarts of V2 under ${RATE} GETs and POSTs a second through each proxy\n`);
  console.log('| V2 | through | requests | failed | slowest | failures |');
  console.log('|---|---|---|---|---|---|');
  let holds = true;
  for (const server of servers.filter(({ name }) => name.includes(only))) {
    const absent =
      server.missing() ?? proxies.map((proxy) => proxy.missing()).find((name) => name !== undefined);
    if (absent === undefined) holds = (await soakServer(server)) && holds;
    else console.log(`| ${server.name} | – | left out: ${absent} is not installed | | | |`);
  }
  return holds;
}

async function soakServer(server: Server): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'restarts-'));
  const port = await freePort();
  const children: ChildProcess[] = [];
  const v2 = await server.start(port, folder);
  try {
    const loads: RestartLoad[] = [];
    for (const proxy of proxies) {
      const own = {
        port: await freePort(),
        upstream: port,
        folder: join(folder, proxy.name.replaceAll(' ', '-')),
      };
      children.push(await startProxy(proxy, own));
      loads.push(new RestartLoad(own.port, RATE));
    }
    await delay(1000);
    for (let round = 0; round < RESTARTS; round += 1) {
      await v2.restart();
      await delay(1500);
    }
    const felt = await Promise.all(loads.map((load) => load.stop()));
    for (const [k, { requests, failed, slowest, failures }] of felt.entries()) {
      const kinds = [...failures].map(([kind, count]) => `${count} × ${kind}`).join(', ');
      console.log(
        `| ${server.name} | ${proxies[k]?.name} | ${requests} | ${failed} | ${slowest.toFixed(0)} ms | ${kinds} |`,
      );
    }
    return (felt[0]?.failed ?? 0) <= (felt[2]?.failed ?? 0);
  } finally {
    for (const child of children) await end(child);
    await v2.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startProxy(
  proxy: Peer,
  place: { port: number; upstream: number; folder: string },
): Promise<ChildProcess> {
  mkdirSync(place.folder, { recursive: true });
  const { file, args, env } = proxy.command(place);
  const child = spawn(file, args, { stdio: 'ignore', env: { ...process.env, ...env } });
  for (let wait = 0; wait < 500 && child.exitCode === null; wait += 1) {
    const response = await fetch(`http://127.0.0.1:${place.port}/api/v2/things`).catch(() => undefined);
    if (response?.ok === true) return child;
    await delay(20);
  }
  await end(child);
  throw new Error(`${proxy.name} does not respond`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  server.close();
  await once(server, 'close');
  return typeof bound === 'object' && bound !== null ? bound.port : 0;
}
