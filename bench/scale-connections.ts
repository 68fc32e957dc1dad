/** 1 → 5,000 connections: whether a request costs the same with more connections kept open. */
import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { Client, saturate } from './load.ts';
import { printTable, spread, whole } from './scale-figures.ts';
import { onProcessors, processorsFault } from './scale-processors.ts';
import { quantile } from './statistics.ts';
import { collectableFlags, heldBy, type Held } from './scale-held.ts';
import { startUpstream } from './upstream-process.ts';
import { migrate } from './work.ts';

const WANTED = [1, 100, 1000, 5000] as const;
/** Requests a second over all connections together. */
const RATE = 1000;
/** Descriptors of this process that are no connections: its own files, channels to others, and some in hand. */
const RESERVE = 200;
/** Requests before the measurement: the inspector's ring is full then, and takes no more memory. */
const WARMING = 12_000;

/** A gateway with its connections, and its measurements, one per round. */
interface Level {
  readonly gateway: GatewayProcess;
  readonly log: string;
  readonly clients: readonly Client[];
  /** Before the connections were opened, and with them, each after one request. */
  readonly before: Held;
  readonly after: Held;
  /** The next connection. */
  next: number;
  readonly cpu: number[];
  readonly p50: number[];
  readonly p99: number[];
}

/** Measures in interleaved rounds, each number of connections on a gateway of its own, and prints. */
export async function scaleConnections(isQuick: boolean): Promise<void> {
  console.log('\n### 1 → 5,000 connections\n');
  const fault = processorsFault();
  if (fault === undefined) await onProcessors('1', () => measured(isQuick));
  else console.log(`Not measured: ${fault}`);
}

async function measured(isQuick: boolean): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'scale-'));
  const upstream = await startUpstream();
  const levels: Level[] = [];
  try {
    for (const count of possible()) levels.push(await level(count, upstream.port, folder));
    await rounds(levels, isQuick);
    print(levels);
  } finally {
    for (const { clients, gateway } of levels) {
      for (const client of clients) client.close();
      await gateway.stop();
    }
    upstream.stop();
    rmSync(folder, { recursive: true });
  }
}

/** As many connections as there are descriptors for; Node has raised its limit as far as it may. */
function possible(): readonly number[] {
  const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
  const all = WANTED.reduce((sum, count) => sum + count, RESERVE);
  if (!(limit < all)) return WANTED;
  const counts: number[] = [];
  let left = limit - RESERVE;
  for (const count of WANTED) {
    const some = Math.min(count, left);
    if (some <= (counts.at(-1) ?? 0)) break;
    counts.push(some);
    left -= some;
  }
  console.log(
    `A process may have ${whole(limit)} open files here (ulimit -Hn), and ${whole(all)} are needed: there are ${whole(counts.at(-1) ?? 0)} connections at most.\n`,
  );
  return counts;
}

async function level(count: number, upstream: number, folder: string): Promise<Level> {
  const log = join(folder, `${count}.log`);
  const rules = fileURLToPath(new URL('./rules.yaml', import.meta.url));
  const flags = { upstream: `http://127.0.0.1:${upstream}`, 'log-file': log, rules };
  const gateway = await startGatewayProcess(flags, collectableFlags, '0');
  for (let sent = 0; sent < WARMING;) sent += await saturate(gateway.port, migrate.request, 32, 500);
  const before = await heldBy(gateway);
  const clients: Client[] = [];
  while (clients.length < count) {
    const some = Math.min(50, count - clients.length);
    clients.push(...(await Promise.all(Array.from({ length: some }, () => servedConnection(gateway.port)))));
  }
  truncateSync(log);
  return {
    gateway,
    log,
    clients,
    before,
    after: await heldBy(gateway),
    next: 0,
    cpu: [],
    p50: [],
    p99: [],
  };
}

/** A kept connection on which one request was served. */
async function servedConnection(port: number): Promise<Client> {
  const client = await Client.open(port);
  await client.request(migrate.request);
  return client;
}

async function rounds(levels: readonly Level[], isQuick: boolean): Promise<void> {
  const count = isQuick ? 3 : 5;
  const length = isQuick ? 1000 : 3000;
  for (let round = 0; round < count; round += 1) {
    for (const one of round % 2 === 0 ? levels : levels.toReversed()) {
      const cpu = one.gateway.processor();
      const took = await inTurn(one, length);
      one.cpu.push((one.gateway.processor() - cpu) / took.length);
      one.p50.push(quantile(took, 0.5));
      one.p99.push(quantile(took, 0.99));
      truncateSync(one.log);
    }
  }
}

/** Sends `rate` requests a second, each on the next connection; returns the milliseconds from sending to the response. */
async function inTurn(one: Level, milliseconds: number): Promise<readonly number[]> {
  const took: number[] = [];
  const free = new Map<Client, Promise<void>>();
  const send = async (client: Client, before: Promise<void> | undefined): Promise<void> => {
    await before;
    const began = performance.now();
    await client.request(migrate.request);
    took.push(performance.now() - began);
  };
  const start = performance.now();
  for (let sent = 0, now = 0; now < milliseconds; now = performance.now() - start) {
    for (; sent < (now * RATE) / 1000; sent += 1) {
      const client = one.clients[one.next];
      one.next = (one.next + 1) % one.clients.length;
      if (client !== undefined) free.set(client, send(client, free.get(client)));
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
  }
  await Promise.all(free.values());
  return took;
}

function print(levels: readonly Level[]): void {
  printTable(
    [
      'connections',
      'CPU µs a request',
      'p50, ms',
      'p99, ms',
      'resident, MiB',
      'resident a connection, KiB',
      'heap a connection, KiB',
    ],
    levels.map(({ clients, cpu, p50, p99, before, after }) => {
      const each = (bytes: number): string =>
        clients.length < 1000 ? '–' : (bytes / 1024 / clients.length).toFixed(1);
      return [
        whole(clients.length),
        spread(cpu, 1),
        spread(p50, 2),
        spread(p99, 2),
        (after.resident / 2 ** 20).toFixed(0),
        each(after.resident - before.resident),
        each(after.heap - before.heap),
      ];
    }),
  );
  console.log(
    `\nAll connections stay open, each has sent a request; then ${whole(RATE)} requests a second (migrate, 1 KB) over all of them in turn. The gateway has\n` +
      'processor 0, load and V2 share processor 1; the times are those of the whole way, V2 and load included. Memory is that after a collection of\n' +
      'garbage; a connection’s is the difference to before the connections were opened, when 12,000 requests had been served.',
  );
}
