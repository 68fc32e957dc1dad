/**
 * `node bench/restarts.ts [name…]`: restarts servers in place of V2 under 200 requests a second, behind the gateway, nginx and
 * HAProxy, and prints the failures side by side. A name, such as `puma`, plays the servers with it in theirs.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { playRestarts, type RestartResult } from './restarts/play-restarts.ts';
import { restartProxies } from './restarts/restart-proxies.ts';
import { restartingServers } from './restarts/restarting-server.ts';

const RESTARTS = 3;
const RATE = 200;

const names = process.argv.slice(2).map((name) => name.toLowerCase());
const folder = mkdtempSync(join(tmpdir(), 'restarts-'));
for (const server of restartingServers) {
  if (names.length > 0 && !names.some((name) => server.name.toLowerCase().includes(name))) continue;
  const missing = server.missing();
  console.log(
    missing === undefined ? server.name : `${server.name}: left out, for ${missing} is not installed`,
  );
  if (missing !== undefined) continue;
  for (const [at, proxy] of restartProxies.entries()) {
    const absent = proxy.missing();
    const line =
      absent === undefined
        ? text(
            await playRestarts({
              server,
              proxy,
              restarts: RESTARTS,
              rate: RATE,
              folder: join(folder, `${server.name}-${at}`.replaceAll(/\W+/g, '-')),
            }),
          )
        : `left out, for ${absent} is not installed`;
    console.log(`  ${proxy.name.padEnd(10)} ${line}`);
  }
}
rmSync(folder, { recursive: true, force: true });

function text({ requests, failed, slowest }: RestartResult): string {
  const total = [...failed.values()].reduce((sum, count) => sum + count, 0);
  const kinds = [...failed].map(([title, count]) => `${count} × ${title}`).join(', ');
  return `${String(total).padStart(5)} of ${requests} failed, slowest ${slowest.toFixed(0)} ms${kinds === '' ? '' : ` (${kinds})`}`;
}
