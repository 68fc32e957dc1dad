/**
 * 1 → 2 workers: whether a request costs the same when two processes serve. Two gateways apart show how much of the difference comes
 * from two processes on two processors that load and V2 share, and how much from their work for the first process.
 */
import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { Client, saturate } from './load.ts';
import { treeTime } from './processes.ts';
import { printTable, spread, whole } from './scale-figures.ts';
import { processorsFault } from './scale-processors.ts';
import { median } from './statistics.ts';
import { startUpstream, type UpstreamProcess } from './upstream-process.ts';
import { migrate, pass, type Work } from './work.ts';

const KINDS = ['one', 'two', 'apart'] as const;
const works = [pass, migrate] as const;
const CONNECTIONS = 32;

/** One gateway with one worker or two, or two gateways that know nothing of each other. */
type Kind = (typeof KINDS)[number];

interface Gateway {
  readonly kind: Kind;
  readonly logs: readonly string[];
  readonly running: readonly GatewayProcess[];
}

/** The measurements of one work with one number of workers, one per round. */
interface Figures {
  readonly kind: Kind;
  readonly work: string;
  readonly perSecond: number[];
  /** Microseconds of processor time a request: of all processes, and of the first one. */
  readonly cpu: number[];
  readonly first: number[];
  /** Requests without a line in the log. */
  lost: number;
}

/** Measures in interleaved rounds, and prints. */
export async function scaleWorkers(isQuick: boolean): Promise<void> {
  console.log('\n### 1 → 2 workers\n');
  const fault = processorsFault();
  if (fault !== undefined) {
    console.log(`Not measured: ${fault}`);
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'scale-'));
  const upstream = await startUpstream('0,1');
  const gateways: Gateway[] = [];
  try {
    for (const kind of KINDS) gateways.push(await started(kind, upstream, folder));
    print(await rounds(gateways, isQuick));
  } finally {
    for (const { running } of gateways) for (const each of running) await each.stop();
    upstream.stop();
    rmSync(folder, { recursive: true });
  }
}

/** Starts a gateway, and checks that V2 gets the right request through it. */
async function started(kind: Kind, upstream: UpstreamProcess, folder: string): Promise<Gateway> {
  const logs = (kind === 'apart' ? ['apart-1', 'apart-2'] : [kind]).map((name) =>
    join(folder, `${name}.log`),
  );
  const running: GatewayProcess[] = [];
  for (const log of logs) running.push(await startedOne(kind === 'two' ? 2 : 1, log, upstream));
  return { kind, logs, running };
}

async function startedOne(workers: number, log: string, upstream: UpstreamProcess): Promise<GatewayProcess> {
  const rules = fileURLToPath(new URL('./rules.yaml', import.meta.url));
  const running = await startGatewayProcess({
    upstream: `http://127.0.0.1:${upstream.port}`,
    workers: String(workers),
    'log-file': log,
    rules,
  });
  for (const work of works) {
    const client = await Client.open(running.port);
    await client.request(work.request);
    client.close();
    const { head, body } = await upstream.last();
    const fault = work.fault(head, body);
    if (fault !== undefined) throw new Error(`${workers} workers, ${work.name}: ${fault}`);
  }
  return running;
}

async function rounds(gateways: readonly Gateway[], isQuick: boolean): Promise<readonly Figures[]> {
  const count = isQuick ? 3 : 9;
  const length = isQuick ? 600 : 1500;
  const all = works.flatMap((work) =>
    gateways.map((gateway) => ({ work, gateway, figures: empty(gateway, work) })),
  );
  // Code that was called some thousands of times is compiled; the first round would measure the compiler.
  for (const { work, gateway } of all) await measure(gateway, work, isQuick ? 1000 : 2000);
  for (let round = 0; round < count; round += 1) {
    for (const { work, gateway, figures } of round % 2 === 0 ? all : all.toReversed()) {
      const { perSecond, cpu, first, lost } = await measure(gateway, work, length);
      figures.perSecond.push(perSecond);
      figures.cpu.push(cpu);
      figures.first.push(first);
      figures.lost += lost;
    }
  }
  return all.map(({ figures }) => figures);
}

function empty({ kind }: Gateway, { name }: Work): Figures {
  return { kind, work: name, perSecond: [], cpu: [], first: [], lost: 0 };
}

interface Measured {
  readonly perSecond: number;
  readonly cpu: number;
  readonly first: number;
  readonly lost: number;
}

async function measure(
  { running, logs }: Gateway,
  { request }: Work,
  milliseconds: number,
): Promise<Measured> {
  for (const log of logs) truncateSync(log);
  const all = usedBy(running);
  const first = running[0]?.processor() ?? 0;
  const began = performance.now();
  const counts = await Promise.all(
    running.map(({ port }) => saturate(port, request, CONNECTIONS / running.length, milliseconds)),
  );
  const seconds = (performance.now() - began) / 1000;
  const requests = counts.reduce((sum, count) => sum + count, 0);
  // Lines still on their way to the log count too.
  const lines = await Promise.all(logs.map((log, k) => logged(log, counts[k] ?? 0)));
  return {
    perSecond: requests / seconds,
    cpu: (usedBy(running) - all) / requests,
    first: ((running[0]?.processor() ?? 0) - first) / requests,
    lost: requests - lines.reduce((sum, count) => sum + count, 0),
  };
}

function usedBy(running: readonly GatewayProcess[]): number {
  return running.reduce((sum, { child }) => sum + treeTime(child.pid ?? 0), 0);
}

/** The lines of the log, once there are `wanted`, or no more come for half a second. */
async function logged(log: string, wanted: number): Promise<number> {
  let lines = 0;
  for (let waited = 0; waited < 500; waited += 20) {
    const before = lines;
    lines = lineFeeds(readFileSync(log));
    if (lines >= wanted) break;
    if (lines > before) waited = 0;
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  return lines;
}

function lineFeeds(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) count += 1;
  return count;
}

const NAMES: Readonly<Record<Kind, string>> = {
  one: '1 worker',
  two: '2 workers',
  apart: '2 gateways apart',
};

function print(all: readonly Figures[]): void {
  printTable(
    [
      'work',
      'gateway',
      'requests a second',
      'CPU µs a request, all processes',
      'of it, the first process',
      'workers that it keeps up with',
      'lines of the log lost',
    ],
    all.map(({ work, kind, perSecond, cpu, first, lost }) => [
      work,
      NAMES[kind],
      spread(perSecond, 0),
      spread(cpu, 1),
      kind === 'two' ? spread(first, 1) : '–',
      kind === 'two' ? ((median(cpu) - median(first)) / median(first)).toFixed(1) : '–',
      whole(lost),
    ]),
  );
  const ratios = works.map(({ name }) => {
    const of = (kind: Kind): number =>
      median(all.find((figures) => figures.work === name && figures.kind === kind)?.cpu ?? []);
    const two = of('two');
    return `${name} ${(two / of('one')).toFixed(2)} (${(two / of('apart')).toFixed(2)} of two gateways apart)`;
  });
  console.log(
    `\n${CONNECTIONS} connections, as fast as responses come; rewrite log to a file. Load and V2 share the two processors with the workers, so requests\n` +
      `a second cannot double here; what shows the scaling is processor time a request. With 2 workers it is times ${ratios.join(', ')}. The first\n` +
      'process serves nobody when there are workers: it writes the log and keeps what operators see, for as many workers as the table says\n' +
      'before it has a processor of its own to itself and no more to give.',
  );
}
