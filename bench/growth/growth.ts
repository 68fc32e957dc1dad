/**
 * `npm run bench -- growth`: processor time and memory of the whole gateway for shapes that an attacker would choose, in sizes
 * that double. Each stage has a line of bytes that it must stay below: a fixed part, and so much for each byte.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startV2 } from '../attack/v2.ts';
import { type GatewayProcess, startGateway } from '../gateway-process.ts';
import { printTable } from '../statistics.ts';
import { growthStages, type GrowthStage } from './stages.ts';

/** The cost of one size of a stage. */
interface Sample {
  readonly bytes: number;
  /** Microseconds of processor time: the minimum of some rounds. */
  readonly time: number;
  /** Bytes that resident memory grew by at its peak. */
  readonly memory: number;
}

const ROUNDS = 3;
/** Time limit of one job; a stage that needs more than a quarter for a size skips the next ones. */
const JOB_MS = 6000;
const FIXED_MS = 15;
const FIXED_BYTES = 64 * 2 ** 20;

/** Prints a row for each stage whose name has one of the parts; true when all are below their lines. */
export async function benchGrowth(only: readonly string[]): Promise<boolean> {
  const v2 = await startV2();
  const rows: (readonly string[])[] = [];
  let isLinear = true;
  for (const stage of growthStages) {
    if (only.length > 0 && !only.some((part) => stage.name.includes(part))) continue;
    const samples = await measureStage(stage, v2.origin);
    const isBelow = samples.length === stage.sizes.length && samples.every((one) => holds(stage, one));
    isLinear &&= isBelow;
    rows.push([...cells(stage, samples), isBelow ? 'yes' : 'NO']);
  }
  await v2.stop();
  console.log(
    `\nthe whole gateway: least processor time of ${ROUNDS} rounds, most memory, by bytes on the wire\n`,
  );
  printTable(
    ['stage', 'KiB', 'ns a byte, by size', 'at most', 'memory a byte, by size', 'at most', 'below its line'],
    rows,
  );
  return isLinear;
}

async function measureStage(stage: GrowthStage, upstream: string): Promise<readonly Sample[]> {
  const folder = mkdtempSync(join(tmpdir(), 'growth-'));
  const samples: Sample[] = [];
  for (const size of stage.sizes) {
    const gateway = await startGateway({ upstream, ...stage.flags }, folder, false);
    try {
      const sample = await measure(stage, size, gateway);
      samples.push(sample);
      if (sample.time > (JOB_MS * 1000) / 4) break;
    } finally {
      await gateway.stop(0);
    }
  }
  rmSync(folder, { recursive: true, force: true });
  return samples;
}

async function measure(stage: GrowthStage, size: number, gateway: GatewayProcess): Promise<Sample> {
  // Code is compiled and the heap has its room before anything is measured.
  for (let k = 0; k < 3; k += 1) await run(stage, Math.min(size, stage.sizes[0] ?? size), gateway);
  let [time, memory, bytes] = [Infinity, 0, size];
  for (let round = 0; round < ROUNDS; round += 1) {
    writeFileSync(`/proc/${gateway.child.pid}/clear_refs`, '5');
    const resident = gateway.peak();
    const before = gateway.processorTime();
    bytes = await run(stage, size, gateway);
    const used = gateway.processorTime() - before;
    time = Math.min(time, used);
    memory = Math.max(memory, gateway.peak() - resident);
    if (used > (JOB_MS * 1000) / 4) break;
  }
  return { bytes, time, memory };
}

async function run(stage: GrowthStage, size: number, gateway: GatewayProcess): Promise<number> {
  const bytes = await stage.play(gateway, size, AbortSignal.timeout(JOB_MS));
  // Work after the response counts as well.
  await delay(50);
  return bytes;
}

function holds({ line }: GrowthStage, { bytes, time, memory }: Sample): boolean {
  return (
    time * 1000 <= FIXED_MS * 1e6 + line.nanoseconds * bytes && memory <= FIXED_BYTES + line.memory * bytes
  );
}

function cells({ name, line }: GrowthStage, samples: readonly Sample[]): readonly string[] {
  const [first, last] = [samples[0], samples.at(-1)].map((sample) =>
    ((sample?.bytes ?? 0) / 1024).toFixed(0),
  );
  return [
    name,
    `${first} – ${last}`,
    samples.map(({ bytes, time }) => ((time * 1000) / bytes).toFixed(1)).join(', '),
    String(line.nanoseconds),
    samples.map(({ bytes, memory }) => (memory / bytes).toFixed(1)).join(', '),
    String(line.memory),
  ];
}
