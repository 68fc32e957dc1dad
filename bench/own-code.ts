/** `npm run bench -- own-code`: what the gateway's own code takes for a request of 1 KB, without sockets and the system's share. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { quantile } from './statistics.ts';
import type { WorkName } from './work.ts';

const PROGRAM = fileURLToPath(new URL('own-code/own-code-process.ts', import.meta.url));
/** Processes for each kind of work: V8 compiles the code of each in a way of its own. */
const PROCESSES = 3;
const ROUNDS = 10;
/** Clients with a request in flight each: with a thousand, what an exchange consists of outlives collections of the young generation. */
const CONNECTIONS = [32, 1000] as const;

/** Prints a table; the least of all rounds says more than the median on a machine with other work. */
export async function benchOwnCode(works: readonly WorkName[]): Promise<void> {
  const costs = new Map<string, number[]>();
  for (let count = 0; count < PROCESSES; count += 1)
    for (const work of works)
      for (const connections of CONNECTIONS) {
        const row = `${work} | ${connections.toLocaleString('en')}`;
        costs.set(row, [...(costs.get(row) ?? []), ...(await measured(work, connections))]);
      }
  console.log('\nMicroseconds of processor time a request of 1 KB, without sockets\n');
  console.log('| work | connections | least | median |\n| --- | --- | --- | --- |');
  for (const [row, all] of costs)
    console.log(`| ${row} | ${quantile(all, 0).toFixed(1)} | ${quantile(all, 0.5).toFixed(1)} |`);
}

async function measured(work: WorkName, connections: number): Promise<readonly number[]> {
  const child = fork(PROGRAM, [work, String(ROUNDS), String(connections)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`the gateway ended too early (exit code ${code})`);
  });
  const [costs]: unknown[] = await Promise.race([once(child, 'message'), exited]);
  return Array.isArray(costs) ? costs.map(Number) : [];
}
