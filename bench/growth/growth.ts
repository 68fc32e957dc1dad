/**
 * `npm run bench -- growth`: processor time and memory of the whole gateway for shapes that an attacker would choose, in sizes
 * that double. Each stage has a line of bytes that it must stay below: a fixed part, and so much for each byte.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type GatewayProcess, startGateway } from '../gateway-process.ts';
import { startV2 } from '../attack/v2.ts';
import { growthStages, type GrowthStage } from './stages.ts';
import { threadsTime } from '../processes.ts';

/** The cost of one size of a stage. */
interface Sample {
  readonly bytes: number;
  /** Microseconds of processor time: the minimum of some rounds. */
  readonly time: number;
  /** Bytes that resident memory grew by at its peak. */
  readonly memory: number;
}

const ROUNDS = 3;
/** Time limit of one job; a stage that needs more for a size skips the next ones. */
const JOB_MS = 6000;
const FIXED_MS = 15;
const FIXED_BYTES = 64 * 2 ** 20;

/** Prints a row for each stage; true when all are below their lines. */
export async function benchGrowth(): Promise<boolean> {
  console.log(
    `\nthe whole gateway: least processor time of ${ROUNDS} rounds, most memory, by bytes on the wire\n`,
  );
  console.log('| stage | sizes | ns a byte, by size | memory a byte, by size | below its line |');
  console.log('|---|---|---|---|---|');
  const v2 = await startV2();
  let isLinear = true;
  for (const stage of growthStages) isLinear = print(stage, await measureStage(stage, v2.origin)) && isLinear;
  await v2.stop();
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
      await gateway.kill();
    }
  }
  rmSync(folder, { recursive: true, force: true });
  return samples;
}

async function measure(stage: GrowthStage, size: number, gateway: GatewayProcess): Promise<Sample> {
  // Code is compiled and the heap has its room before anything is measured.
  await run(stage, Math.min(size, stage.sizes[0] ?? size), gateway, 3);
  const pid = gateway.child.pid ?? 0;
  let [time, memory, bytes] = [Number.POSITIVE_INFINITY, 0, size];
  for (let round = 0; round < ROUNDS; round += 1) {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
    const resident = residentPeak(pid);
    const before = threadsTime(pid);
    bytes = await run(stage, size, gateway, 1);
    const used = threadsTime(pid) - before;
    time = Math.min(time, used);
    memory = Math.max(memory, residentPeak(pid) - resident);
    if (used > (JOB_MS * 1000) / 4) break;
  }
  return { bytes, time, memory };
}

async function run(
  stage: GrowthStage,
  size: number,
  gateway: GatewayProcess,
  times: number,
): Promise<number> {
  let bytes = 0;
  for (let k = 0; k < times; k += 1) {
    bytes = await stage.play(gateway, size, AbortSignal.timeout(JOB_MS));
    // Work after the response counts as well.
    await delay(50);
  }
  return bytes;
}

/** The most resident bytes since the peak was reset. */
function residentPeak(pid: number): number {
  return 1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
}

function print({ name, sizes, line }: GrowthStage, samples: readonly Sample[]): boolean {
  const isBelow =
    samples.length === sizes.length &&
    samples.every(
      ({ bytes, time, memory }) =>
        time * 1000 <= FIXED_MS * 1e6 + line.nanoseconds * bytes &&
        memory <= FIXED_BYTES + line.memory * bytes,
    );
  const last = samples.at(-1);
  const columns = [
    name,
    `${kibibytes(samples[0]?.bytes)} – ${kibibytes(last?.bytes)} KiB`,
    samples.map(({ bytes, time }) => ((time * 1000) / bytes).toFixed(1)).join(', '),
    samples.map(({ bytes, memory }) => (memory / bytes).toFixed(1)).join(', '),
    isBelow ? 'yes' : `NO (${line.nanoseconds} ns, ${line.memory} bytes)`,
  ];
  console.log(`| ${columns.join(' | ')} |`);
  return isBelow;
}

function kibibytes(bytes = 0): string {
  return (bytes / 1024).toFixed(0);
}
