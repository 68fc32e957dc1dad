/** 1 → 2 workers: whether a request costs the same when two processes serve. */
import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { Client, saturate } from './load.ts';
import { processorTime } from './processes.ts';
import { printTable, spread, whole } from './scale-figures.ts';
import { processorsFault } from './scale-processors.ts';
import { median } from './statistics.ts';
import { startUpstream, type UpstreamProcess } from './upstream-process.ts';
import { migrate, pass, type Work } from './work.ts';

const COUNTS = [1, 2] as const;
const works = [pass, migrate] as const;
const CONNECTIONS = 32;

interface Gateway {
  readonly workers: number;
  readonly log: string;
  readonly running: GatewayProcess;
}

/** The measurements of one work with one number of workers, one per round. */
interface Figures {
  readonly workers: number;
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
    for (const workers of COUNTS) gateways.push(await started(workers, upstream, folder));
    print(await rounds(gateways, isQuick));
  } finally {
    for (const { running } of gateways) await running.stop();
    upstream.stop();
    rmSync(folder, { recursive: true });
  }
}

/** Starts a gateway, and checks that V2 gets the right request through it. */
async function started(workers: number, upstream: UpstreamProcess, folder: string): Promise<Gateway> {
  const log = join(folder, `${workers}.log`);
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
  return { workers, log, running };
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

function empty({ workers }: Gateway, { name }: Work): Figures {
  return { workers, work: name, perSecond: [], cpu: [], first: [], lost: 0 };
}

interface Measured {
  readonly perSecond: number;
  readonly cpu: number;
  readonly first: number;
  readonly lost: number;
}

async function measure(
  { running, log }: Gateway,
  { request }: Work,
  milliseconds: number,
): Promise<Measured> {
  truncateSync(log);
  const pid = running.child.pid ?? 0;
  const all = processorTime(pid);
  const first = running.processor();
  const began = performance.now();
  const requests = await saturate(running.port, request, CONNECTIONS, milliseconds);
  const seconds = (performance.now() - began) / 1000;
  // Lines still on their way to the log count too.
  const lines = await logged(log, requests);
  return {
    perSecond: requests / seconds,
    cpu: ((processorTime(pid) - all) * 1000) / requests,
    first: (running.processor() - first) / requests,
    lost: requests - lines,
  };
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

function print(all: readonly Figures[]): void {
  printTable(
    [
      'work',
      'workers',
      'requests a second',
      'CPU µs a request, all processes',
      'of it, the first process',
      'workers that it keeps up with',
      'lines of the log lost',
    ],
    all.map(({ work, workers, perSecond, cpu, first, lost }) => [
      work,
      String(workers),
      spread(perSecond, 0),
      spread(cpu, 1),
      workers === 1 ? 'it is the only one' : spread(first, 1),
      workers === 1 ? '–' : ((median(cpu) - median(first)) / median(first)).toFixed(1),
      whole(lost),
    ]),
  );
  const ratios = works.map(({ name }) => {
    const [one = Number.NaN, two = Number.NaN] = all
      .filter(({ work }) => work === name)
      .map(({ cpu }) => median(cpu));
    return `${name} ${(two / one).toFixed(2)}`;
  });
  console.log(
    `\n${CONNECTIONS} connections, as fast as responses come; rewrite log to a file. Load and V2 share the two processors with the workers, so requests\n` +
      `a second cannot double here; what shows the scaling is processor time a request. With 2 workers it is times ${ratios.join(', ')}. The first\n` +
      'process serves nobody when there are workers: it writes the log and keeps what operators see, for as many workers as the table says\n' +
      'before it has a processor of its own to itself and no more to give.',
  );
}
