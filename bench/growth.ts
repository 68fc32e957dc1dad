/** `npm run bench -- growth`: how the time of the engine, and of the work for operators, grows with the inputs that a client or the author of a rule book can make large. */
import { Buffer } from 'node:buffer';
import { compilePlans, type Plan } from '../src/rewrite/plan.ts';
import { benchPlan, benchRuleBook } from './bench-plan.ts';
import { observingSeries } from './growth-observing.ts';
import { type Sample, type Series, series } from './growth-series.ts';
import { v1Order } from './v1-order.ts';

/** Prints the time per unit of each series by a line fitted through all sizes, and the largest deviation from it. */
export async function benchGrowth(): Promise<void> {
  const plan = await benchPlan();
  const all = [
    size(plan),
    depth(plan),
    siblings(plan),
    members(plan),
    await rules(),
    await rulesThatApply(),
    ...observingSeries(),
  ];
  console.log(
    '\ngrowth: the best of interleaved rounds, with a line through all sizes (weighted by 1 / time)\n',
  );
  console.log('| with | sizes | time a unit | R² | furthest from the line |');
  console.log('|---|---|---|---|---|');
  for (const { name, unit, samples } of all) {
    const times = leastTimes(samples.map(({ run }) => run));
    const points = samples.map(({ units }, k) => ({ x: units, y: times[k] ?? Number.NaN }));
    const { slope, determination, deviation } = fit(points);
    const sizes = `${points[0]?.x} – ${points.at(-1)?.x} ${unit}`;
    console.log(
      `| ${name} | ${sizes} | ${slope.toFixed(2)} ns | ${determination.toFixed(4)} | ${(deviation * 100).toFixed(0)} % |`,
    );
  }
}

function size(plan: Plan): Series {
  const sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
  return series('size', 'KiB', sizes, (kibibytes) => rewriting(plan, v1Order(kibibytes * 1024)));
}

function depth(plan: Plan): Series {
  const depths = [8, 16, 32, 64, 128, 256, 500];
  return series('depth, bodies of 1 KiB a level', 'levels', depths, (levels) => {
    const filler = 'x'.repeat(1000);
    return rewriting(
      plan,
      Buffer.from(
        `{"data":{"legacy":1,"deep":${`{"x":"${filler}","y":`.repeat(levels)}1${'}'.repeat(levels)}}}`,
      ),
    );
  });
}

/** Members that no rule names, in the object that rules look into. */
function members(plan: Plan): Series {
  const counts = [256, 1024, 4096, 16_384, 65_536];
  return series('members of the body', 'members', counts, (count) => {
    const body = Array.from({ length: count }, (_, k) => `"member_${k}":${k % 1000}`).join(',');
    return rewriting(plan, Buffer.from(`{"data":{"transition_type":"x",${body},"legacy":1}}`));
  });
}

/** Members beside the wrapper, each of which is dropped; some hundreds of them, always the same number, are written down. */
function siblings(plan: Plan): Series {
  const counts = [1024, 4096, 16_384, 65_536, 262_144];
  return series('members beside the wrapper', 'members', counts, (count) => {
    const beside = Array.from({ length: count }, (_, k) => `"m${k}":${k % 1000}`).join(',');
    return rewriting(plan, Buffer.from(`{${beside},"data":{"legacy":1}}`));
  });
}

/** Rules whose members the body does not have. */
async function rules(): Promise<Series> {
  return ruleSeries('rules that find nothing', [1, 10, 100, 500, 1000, 2000, 4000], (count) =>
    Array.from({ length: count }, (_, k) => `      - { rename: absent_${k}, to: other_${k} }`),
  );
}

/** Rules whose members the body has. */
async function rulesThatApply(): Promise<Series> {
  return ruleSeries('rules that apply', [1, 4, 8, 12, 16, 20], (count) =>
    Array.from({ length: count }, (_, k) => `      - { rename: member_${k}, to: other_${k} }`),
  );
}

async function ruleSeries(
  name: string,
  counts: readonly number[],
  lines: (count: number) => readonly string[],
): Promise<Series> {
  // So many members that the effect of the rules is not cached with the shape of the body: they are applied each time.
  const body = Array.from({ length: 150 }, (_, k) => `"${k < 20 ? 'member' : 'more'}_${k}":${k}`).join(',');
  const samples: Sample[] = [];
  for (const count of counts) {
    const book = await benchRuleBook(
      `version: 2025-01-01\noperations:\n  order: POST /orders\nchanges:\n  - id: many\n    summary: Many.\n    on: every\n    request:\n${lines(count).join('\n')}\n`,
    );
    const plan = compilePlans(book).of(book.operations[0]);
    const bytes = Buffer.from(`{${body}}`);
    samples.push({ units: count, run: () => void plan.rewrite(bytes) });
  }
  return { name, unit: 'rules', samples };
}

/** The work of one sample; checks first that there is something to do, and that the outcome is JSON without the stripped members. */
function rewriting(plan: Plan, bytes: Uint8Array): () => void {
  const outcome = plan.rewrite(bytes);
  if (outcome.verdict !== 'rewritten') throw new Error(`the engine found nothing to do: ${outcome.verdict}`);
  const body = JSON.parse(Buffer.from(outcome.body).toString()) as object;
  if ('legacy' in body || 'data' in body) throw new Error('the engine left members that it strips');
  return () => void plan.rewrite(bytes);
}

const ROUNDS = 80;

/**
 * Nanoseconds of one run of each of `works`, the least of many rounds. A round is a few milliseconds of each in turn, so that
 * a busy or slower minute of the machine is one for all sizes, and no size is left without a quiet moment.
 */
function leastTimes(works: readonly (() => void)[]): readonly number[] {
  const batches = works.map(batchOf);
  const least = works.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [k, work] of works.entries()) {
      const batch = batches[k] ?? 1;
      least[k] = Math.min(least[k] ?? Number.POSITIVE_INFINITY, timed(work, batch) / batch);
    }
  }
  return least;
}

/** The number of runs of `work` in about two milliseconds, once it is warm. */
function batchOf(work: () => void): number {
  for (let k = 0; k < 50; k += 1) work();
  let batch = 1;
  while (timed(work, batch) < 2e6) batch *= 2;
  return batch;
}

/** Nanoseconds of `count` runs of `work`. */
function timed(work: () => void, count: number): number {
  const began = performance.now();
  for (let k = 0; k < count; k += 1) work();
  return (performance.now() - began) * 1e6;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** A straight line by least relative squares: else the largest size alone would decide. */
function fit(points: readonly Point[]): { slope: number; determination: number; deviation: number } {
  let [w, wx, wy, wxx, wxy] = [0, 0, 0, 0, 0];
  for (const { x, y } of points) {
    const weight = 1 / (y * y);
    w += weight;
    wx += weight * x;
    wy += weight * y;
    wxx += weight * x * x;
    wxy += weight * x * y;
  }
  const slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  const base = (wy - slope * wx) / w;
  const mean = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  let [left, all, deviation] = [0, 0, 0];
  for (const { x, y } of points) {
    const line = base + slope * x;
    left += (y - line) ** 2;
    all += (y - mean) ** 2;
    deviation = Math.max(deviation, Math.abs(y - line) / line);
  }
  return { slope, determination: 1 - left / all, deviation };
}
