/** The process in which `scale-rules.ts` has rule books of growing size loaded, matched and carried out. */
import { readFileSync } from 'node:fs';
import { compilePlans, type Plans } from '../src/rewrite/plan.ts';
import { compileResponsePlans, type ResponsePlans } from '../src/rewrite/response-plan.ts';
import { OperationTable } from '../src/rules/rule-book.ts';
import { benchRuleBook } from './bench-plan.ts';
import { heldBytes, sendResult } from './scale-apart.ts';
import { v1Order } from './v1-order.ts';

/** The measurements with a rule book of so many operations and as many rules, one per round. */
export interface RulesFigures {
  readonly count: number;
  /** Nanoseconds to find an operation: the same again and again, and all in random order. */
  readonly matchOne: number[];
  readonly matchAll: number[];
  /** Microseconds to find the plan of the order and carry it out. */
  readonly rewrite: number[];
  /** Milliseconds from the text to a checked rule book, to its table and plans, and to its plans for responses. */
  readonly read: number[];
  readonly compile: number[];
  readonly compileResponses: number[];
  /** Bytes of the rule book and its compiled form. */
  held: number;
}

interface Loaded {
  readonly table: OperationTable;
  readonly plans: Plans;
  readonly responses: ResponsePlans;
}

const isQuick = process.argv[2] === 'quick';
const COUNTS = [10, 100, 1000, 10_000];
/** Paths that are requested one after the other: more than the caches of a processor keep of a large table. */
const ASKED = 16_384;

const own = readFileSync(new URL('./rules.yaml', import.meta.url), 'utf8');
const body = v1Order(1000);

const BOOKS: { readonly figures: RulesFigures; readonly loaded: Loaded }[] = [];
// The first load also pays for JIT compilation.
await load(ruleBookText(100), emptyFigures(100));
for (const count of COUNTS) BOOKS.push(await loadedBook(count));
const rounds = isQuick ? 7 : 15;
for (let round = 0; round <= rounds; round += 1) {
  for (const { figures, loaded } of BOOKS) {
    const { matchOne, matchAll, rewrite } = once(loaded, figures.count);
    // The first round is for the compiler.
    if (round === 0) continue;
    figures.matchOne.push(matchOne);
    figures.matchAll.push(matchAll);
    figures.rewrite.push(rewrite);
  }
}
sendResult(BOOKS.map(({ figures }) => figures));

async function loadedBook(count: number): Promise<(typeof BOOKS)[number]> {
  const text = ruleBookText(count);
  const figures = emptyFigures(count);
  const end = performance.now() + (isQuick ? 3000 : 20_000);
  do await load(text, figures);
  while (figures.read.length < (isQuick ? 3 : 5) && performance.now() < end);
  const before = await heldBytes();
  const loaded = await load(text, figures);
  figures.held = (await heldBytes()) - before;
  return { figures, loaded };
}

function emptyFigures(count: number): RulesFigures {
  const figures = { matchOne: [], matchAll: [], rewrite: [], read: [], compile: [], compileResponses: [] };
  return { count, ...figures, held: 0 };
}

/** Loads a rule book, with the time of each step. */
async function load(text: string, { read, compile, compileResponses }: RulesFigures): Promise<Loaded> {
  const began = performance.now();
  const book = await benchRuleBook(text);
  const checked = performance.now();
  const table = new OperationTable(book.operations);
  const plans = compilePlans(book);
  const compiled = performance.now();
  const responses = compileResponsePlans(book);
  read.push(checked - began);
  compile.push(compiled - checked);
  compileResponses.push(performance.now() - compiled);
  return { table, plans, responses };
}

/** The rule book of the bench, grown to `count` operations and as many rules. */
function ruleBookText(count: number): string {
  const operations = others(count - 1).map((k) => `  ${idOf(k)}: POST ${templateOf(k)}`);
  const changes = others(count - 4).map((k) => {
    const rule = `{ rename: old_${k}, to: new_${k} }`;
    return `  - { id: change-${k}, summary: One more., on: [${idOf(k)}], request: [${rule}] }`;
  });
  return `${own.replace('changes:\n', `${operations.join('\n')}\nchanges:\n`)}${changes.join('\n')}\n`;
}

function others(count: number): readonly number[] {
  return Array.from({ length: count }, (_, k) => k);
}

function idOf(k: number): string {
  return `operation_${k}`;
}

function templateOf(k: number): string {
  return `/group_${Math.floor(k / 100)}/things_${k}/{id}`;
}

function once(
  { table, plans }: Loaded,
  count: number,
): { readonly matchOne: number; readonly matchAll: number; readonly rewrite: number } {
  const paths = Array.from({ length: ASKED }, (_, n) =>
    templateOf((Math.imul(n + 1, 0x9e37_79b1) >>> 0) % (count - 1)).replace('{id}', '4711'),
  );
  const one = paths.map(() => templateOf(5).replace('{id}', '4711'));
  const matching = (all: readonly string[]) => (): void => {
    for (const path of all) if (table.match('POST', path) === undefined) throw new Error(`${path} is lost`);
  };
  const rewriting = (): void => {
    const outcome = plans.of(table.match('POST', '/orders/floor_plans')).rewrite(body);
    if (outcome.verdict !== 'rewritten')
      throw new Error(`the engine found nothing to do: ${outcome.verdict}`);
  };
  return {
    matchOne: nanoseconds(matching(one)) / ASKED,
    matchAll: nanoseconds(matching(paths)) / ASKED,
    rewrite: nanoseconds(rewriting) / 1000,
  };
}

/** The nanoseconds of one run, over about 25 milliseconds. */
function nanoseconds(run: () => void): number {
  const began = performance.now();
  let now = began;
  let runs = 0;
  while (now - began < 25) {
    run();
    runs += 1;
    now = performance.now();
  }
  return ((now - began) * 1e6) / runs;
}
