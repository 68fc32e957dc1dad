import { Buffer } from 'node:buffer';
import { applyEdits as applyJsoncEdits, modify, parseTree, findNodeAtLocation } from 'jsonc-parser';
import * as lossless from 'lossless-json';
import type { Plan } from '../src/rewrite/plan.ts';
import { v1Order } from './v1-order.ts';
import { ADDRESS, type Order, v2Order } from './v2-order.ts';
import { quantile } from './statistics.ts';

/** One way to do the work: a body in, a body out, bytes both. */
export type Contender = (body: Uint8Array) => Uint8Array;

const native: Contender = (body) =>
  Buffer.from(
    JSON.stringify(
      v2Order(JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString()) as Order),
    ),
  );

const losslessJson: Contender = (body) =>
  Buffer.from(lossless.stringify(v2Order(lossless.parse(Buffer.from(body).toString()) as Order)) ?? '');

const jsoncParser: Contender = (body) => {
  let text = Buffer.from(body).toString();
  const tree = parseTree(text);
  const data = tree === undefined ? undefined : findNodeAtLocation(tree, ['data']);
  if (data !== undefined) text = text.slice(data.offset, data.offset + data.length);
  for (const path of [['legacy'], ['transition_type']])
    text = applyJsoncEdits(text, modify(text, path, undefined, {}));
  for (const name of ADDRESS) text = applyJsoncEdits(text, modify(text, ['property', name], undefined, {}));
  text = applyJsoncEdits(text, modify(text, ['property', 'address'], {}, {}));
  return Buffer.from(text);
};

const SIZES: readonly [label: string, bytes: number][] = [
  ['0.5 KiB', 512],
  ['2 KiB', 2048],
  ['20 KiB', 20_480],
  ['1 MiB', 1 << 20],
];

/** Measures the engine beside other ways to do the same work, interleaved, and prints microseconds a body and ratios. */
export function benchEngine(plan: Plan, isQuick: boolean): void {
  const engine: Contender = (body) => {
    const outcome = plan.rewrite(body);
    if (outcome.verdict !== 'rewritten')
      throw new Error(`the engine found nothing to do: ${outcome.verdict}`);
    if (outcome.records.length === 0) throw new Error('the engine wrote nothing down');
    return outcome.body;
  };
  console.log(
    'engine: microseconds a body, bytes in to bytes out, records for the log included; lower quartiles of interleaved rounds',
  );
  console.log('| body | engine | parse, mutate, stringify | ratio | jsonc-parser | lossless-json |');
  console.log('|---|---|---|---|---|---|');
  const rounds = isQuick ? 9 : 25;
  const bodies = SIZES.map(([label, size]): [string, Uint8Array] => [label, v1Order(size)]);
  for (const [label, body] of [...bodies, ['long notes', withNotes(v1Order(512))] as const]) {
    const { ours, theirs, ratio } = compare([engine, native], [body], rounds);
    // By themselves: the garbage of the one must not be collected in the time of the other.
    const [jsonc, loss] =
      body.length > 100_000 ? [] : measure([jsoncParser, losslessJson], [body], rounds).map(undisturbed);
    const slow = (value: number | undefined): string => (value === undefined ? '–' : value.toFixed(1));
    console.log(
      `| ${label} (${body.length} bytes) | ${ours} | ${theirs} | ${ratio} | ${slow(jsonc)} | ${slow(loss)} |`,
    );
  }
  console.log(
    '\nengine: thousands of bodies, each of another shape, so that the rules are carried out on each',
  );
  console.log('| body | engine | parse, mutate, stringify | ratio |');
  console.log('|---|---|---|---|');
  for (const [label, size] of SIZES.slice(0, 2)) {
    const bodies = otherShapes(v1Order(size));
    const { ours, theirs, ratio } = compare([engine, native], bodies, rounds);
    console.log(
      `| ${label} and eight members (${bodies[0]?.length} bytes) | ${ours} | ${theirs} | ${ratio} |`,
    );
  }
}

/** Returns an order with twenty kilobytes of text in one string. */
function withNotes(order: Uint8Array): Uint8Array {
  const notes = 'Keys are with the agent; please call before you come. '.repeat(375);
  const text = Buffer.from(order).toString();
  return new Uint8Array(Buffer.from(text.replace(/"notes":"n*"/, `"notes":"${notes}"`)));
}

/** Returns bodies like `body` with eight members more, which no two of them have alike. */
function otherShapes(body: Uint8Array): readonly Uint8Array[] {
  const text = Buffer.from(body).toString();
  return Array.from({ length: 3 ** 8 }, (_, k) => {
    const values = Array.from(k.toString(3).padStart(8, '0'), (digit) => ['[]', '{}', '10'][Number(digit)]);
    const more = values.map((value, n) => `"m${n}":${value},`).join('');
    return new Uint8Array(Buffer.from(text.replace('"issues"', `${more}"issues"`)));
  });
}

/** Compares an engine with parsing, once their results are equal: microseconds a body, and their ratio. */
export function compare(
  [engine, native]: readonly [engine: Contender, native: Contender],
  bodies: readonly Uint8Array[],
  rounds: number,
): { readonly ours: string; readonly theirs: string; readonly ratio: string } {
  for (const body of bodies) check(engine(body), native(body));
  const [ours = Number.NaN, theirs = Number.NaN] = measure([engine, native], bodies, rounds).map(undisturbed);
  return { ours: ours.toFixed(2), theirs: theirs.toFixed(2), ratio: (ours / theirs).toFixed(3) };
}

/** The time of a round in which the machine had little else to do: others often disturb the half of them. */
function undisturbed(times: readonly number[]): number {
  return quantile(times, 0.25);
}

/** Returns the times of each contender, one a round. */
function measure(
  contenders: readonly Contender[],
  bodies: readonly Uint8Array[],
  rounds: number,
): readonly (readonly number[])[] {
  const times: number[][] = contenders.map(() => []);
  for (const contender of contenders) run(contender, bodies, 100);
  for (let round = 0; round < rounds; round += 1) {
    for (const [k, contender] of contenders.entries()) times[k]?.push(run(contender, bodies, 6));
  }
  return times;
}

/** Runs a contender through all bodies, again and again for about `milliseconds`; returns microseconds a body. */
function run(contender: Contender, bodies: readonly Uint8Array[], milliseconds: number): number {
  const length = bodies.reduce((sum, body) => sum + body.length, 0);
  const batch = Math.max(1, Math.floor(20_000 / length));
  const start = performance.now();
  let count = 0;
  let now = start;
  while (now - start < milliseconds) {
    for (let k = 0; k < batch; k += 1) for (const body of bodies) contender(body);
    count += batch * bodies.length;
    now = performance.now();
  }
  return ((now - start) * 1000) / count;
}

function check(ours: Uint8Array, theirs: Uint8Array): void {
  const [a, b] = [ours, theirs].map((bytes) =>
    JSON.stringify(sorted(JSON.parse(Buffer.from(bytes).toString()))),
  );
  if (a !== b) throw new Error('the engine and JSON.parse disagree about the new body');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}
