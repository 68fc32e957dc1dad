import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { playRestarts, type RestartResult } from './restarts/play-restarts.ts';
import { restartProxies } from './restarts/restart-proxies.ts';
import { type RestartingServer, restartingServers } from './restarts/restarting-server.ts';

const RATE = 200;
const RESTARTS = 3;

/**
 * Restarts real servers behind the gateway, nginx and HAProxy, and prints the failures. True when nowhere more requests fail through the
 * gateway than through HAProxy. Servers that are not installed are named and left out; `only` is a part of the names of the servers to play.
 */
export async function soakRestarts(only = ''): Promise<boolean> {
  console.log(`\n${RESTARTS} restarts of V2 under ${RATE} GETs and POSTs a second\n`);
  console.log('| V2 | through | requests | failed | slowest | failures |');
  console.log('|---|---|---|---|---|---|');
  const lost: string[] = [];
  for (const server of restartingServers.filter(({ name }) => name.includes(only))) {
    const failed = await failedThrough(server);
    if ((failed.get('gateway') ?? 0) > (failed.get('HAProxy') ?? Number.POSITIVE_INFINITY))
      lost.push(server.name);
  }
  if (lost.length > 0) console.log(`\nFAILED more requests fail than through HAProxy: ${lost.join('; ')}`);
  return lost.length === 0;
}

/** The number of failed requests through each proxy, by its name. */
async function failedThrough(server: RestartingServer): Promise<ReadonlyMap<string, number>> {
  const all = new Map<string, number>();
  const folder = mkdtempSync(join(tmpdir(), 'restarts-'));
  for (const proxy of restartProxies) {
    const absent = server.missing() ?? proxy.missing();
    if (absent !== undefined) {
      console.log(`| ${server.name} | ${proxy.name} | left out: ${absent} is not installed | | | |`);
      continue;
    }
    const plan = { server, proxy, restarts: RESTARTS, rate: RATE, folder: join(folder, proxy.name) };
    const result = await playRestarts(plan);
    all.set(proxy.name, failedOf(result));
    console.log(`| ${server.name} | ${proxy.name} | ${columns(result).join(' | ')} |`);
  }
  rmSync(folder, { recursive: true, force: true });
  return all;
}

function columns(result: RestartResult): readonly string[] {
  const kinds = [...result.failed].map(([kind, count]) => `${count} × ${kind}`);
  return [
    String(result.requests),
    String(failedOf(result)),
    `${result.slowest.toFixed(0)} ms`,
    kinds.join(', '),
  ];
}

function failedOf({ failed }: RestartResult): number {
  return [...failed.values()].reduce((sum, count) => sum + count, 0);
}
