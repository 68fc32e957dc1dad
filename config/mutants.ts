import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Mutation, mutationsOf } from './mutations.ts';

// `npm run test:mutants`: puts one small fault at a time into the modules that edit bytes and decide, and counts how many of them the
// fast tier finds. `-- --count 60 --from 0` tries the first 60 of the order that `--seed` makes; `--from 60` goes on behind them.
// It works on a copy of the commit that is checked out, one process at a time. A survivor is a missing test, or a fault that changes
// nothing that anyone could see: a person decides, by the lines that are printed.
const FOLDERS = ['json', 'rules', 'rewrite', 'http', 'migrate'] as const;

/** Processor time, so that a busy machine is no timeout: a run without a fault takes a fifth of it. */
const NEAR_SECONDS = 120;
const REST_SECONDS = 600;

const NONE: Played = { outcome: 'survived', by: '' };

const VITEST = 'node_modules/vitest/vitest.mjs';
const FLAGS = 'run --config config/vitest.config.ts --project fast --maxWorkers 1'.split(' ');

interface Mutant extends Mutation {
  readonly path: string;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '200' },
    from: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
  },
});
const from = Number(values.from);

const copy = mkdtempSync(join(tmpdir(), 'mutants-'));
const tree = join(copy, 'tree');
const counts = { killed: 0, survived: 0, 'timed out': 0 };
const survivors: string[] = [];
let tried = 0;
const results = join(copy, 'results.json');
try {
  execFileSync('git', ['worktree', 'add', '--quiet', '--detach', tree, 'HEAD'], { cwd: root });
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  const sound = soundFiles();
  const mutants = shuffled(allMutants(), Number(values.seed)).slice(from, from + Number(values.count));
  for (const mutant of mutants) {
    const { outcome, by } = outcomeOf(mutant, sound);
    counts[outcome]++;
    tried++;
    const told = described(mutant);
    if (outcome === 'survived') survivors.push(told);
    console.log(`${from + tried}. ${outcome}${by === '' ? '' : ` by ${by}`}: ${told}`);
  }
} finally {
  execFileSync('git', ['worktree', 'remove', '--force', tree], { cwd: root });
  rmSync(copy, { recursive: true, force: true });
}

const found = counts.killed + counts['timed out'];
console.log(
  `\n${tried} mutants: ${counts.killed} killed, ${counts['timed out']} timed out, ${counts.survived} survived ` +
    `(${((found / tried) * 100).toFixed(1)} % found)`,
);
for (const survivor of survivors) console.log(`\nsurvived: ${survivor}`);

function allMutants(): readonly Mutant[] {
  const paths = FOLDERS.flatMap((folder) => globSync(`src/${folder}/**/*.ts`, { cwd: tree })).toSorted();
  return paths.flatMap((path) =>
    mutationsOf(path, readFileSync(join(tree, path), 'utf8')).map((mutation) => ({ ...mutation, path })),
  );
}

/** Fisher and Yates' shuffle, by the numbers of mulberry32. */
function shuffled(all: readonly Mutant[], seed: number): readonly Mutant[] {
  const result = [...all];
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  for (let at = result.length - 1; at > 0; at--) {
    const other = Math.floor(next() * (at + 1));
    const [a, b] = [result[at], result[other]];
    if (a !== undefined && b !== undefined) [result[at], result[other]] = [b, a];
  }
  return result;
}

interface Played {
  readonly outcome: keyof typeof counts;
  /** The first test that failed. */
  readonly by: string;
}

/** The files of the fast tier that pass without a fault; others would find everything. */
function soundFiles(): readonly string[] {
  run(['test'], REST_SECONDS, 0);
  const files = testFiles();
  const failed = files.filter(({ isFailed }) => isFailed).map(({ path }) => path);
  if (failed.length > 0) console.log(`Left out, as they fail without a fault: ${failed.join(', ')}`);
  return files.map(({ path }) => path).filter((path) => !failed.includes(path));
}

/** Plays the tests that import the module first, and those beside it: they find nearly every fault, in seconds. */
function outcomeOf({ path, start, end, insert }: Mutant, sound: readonly string[]): Played {
  const file = join(tree, path);
  const source = readFileSync(file, 'utf8');
  writeFileSync(file, source.slice(0, start) + insert + source.slice(end));
  try {
    const mirror = `${dirname(path).replace('src/', 'test/')}/`;
    const nearness = (test: string): number => {
      if (readFileSync(join(tree, test), 'utf8').includes(`/${path}'`)) return 0;
      return test.startsWith(mirror) || test.startsWith('test/cases/') ? 1 : 2;
    };
    for (const [near, seconds] of [NEAR_SECONDS, NEAR_SECONDS, REST_SECONDS].entries()) {
      const files = sound.filter((test) => nearness(test) === near);
      const played = files.length === 0 ? NONE : play(files, seconds);
      if (played.outcome !== 'survived') return played;
    }
    return NONE;
  } finally {
    writeFileSync(file, source);
  }
}

/** What finds a fault finds it twice: a test that is up to the machine does not count. */
function play(files: readonly string[], seconds: number): Played {
  const first = run(files, seconds, 1);
  const by = testFiles().find(({ isFailed }) => isFailed);
  if (first === 0) return NONE;
  if (by === undefined) return { outcome: 'timed out', by: '' };
  if (run([by.path], seconds, 1) !== 0) return { outcome: 'killed', by: `${by.path}: ${by.failed}` };
  return play(
    files.filter((file) => file !== by.path),
    seconds,
  );
}

/** Runs files, and returns the exit code; `testFiles` then has their results. */
function run(files: readonly string[], seconds: number, bail: number): number | null {
  rmSync(results, { force: true });
  const limited = ['-c', `ulimit -t ${seconds}; exec "$@"`, 'sh', process.execPath, VITEST, ...FLAGS];
  const { status } = spawnSync('sh', [...limited, `--bail=${bail}`, ...files], {
    cwd: tree,
    env: { ...process.env, TEST_RESULTS: results, NODE_OPTIONS: '--max-old-space-size=2048' },
    stdio: 'ignore',
    // A fault can also make a test wait for what never comes: vitest ends that after two minutes.
    timeout: seconds * 10_000,
    killSignal: 'SIGKILL',
  });
  return status;
}

interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

interface TestFile {
  readonly path: string;
  readonly isFailed: boolean;
  /** The first test that failed; nothing where the file could not be loaded. */
  readonly failed: string;
}

function testFiles(): readonly TestFile[] {
  let text;
  try {
    text = readFileSync(results, 'utf8');
  } catch {
    return [];
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- vitest's own format
  const { testResults } = JSON.parse(text) as Results;
  return testResults.map(({ name, status, assertionResults }) => ({
    path: relative(tree, name),
    isFailed: status === 'failed',
    failed: assertionResults.find((test) => test.status === 'failed')?.fullName.slice(0, 80) ?? '',
  }));
}

/** The place, the kind and the line before and after. */
function described({ path, start, end, insert, kind }: Mutant): string {
  const source = readFileSync(join(tree, path), 'utf8');
  const before = source.slice(0, start);
  const line = before.split('\n').length;
  const from = before.lastIndexOf('\n') + 1;
  const until = (at: number): number => {
    const next = source.indexOf('\n', at);
    return next === -1 ? source.length : next;
  };
  const old = source.slice(from, until(end));
  const replaced = source.slice(from, start) + insert + source.slice(end, until(end));
  return `${path}:${line} ${kind}\n  - ${old.trim()}\n  + ${replaced.trim()}`;
}
