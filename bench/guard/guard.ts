/**
 * `npm run bench -- guard [commit]`: whether a request costs more processor time than at a commit. The commit runs twice, to know how
 * much it differs from itself.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Figures } from '../proxies/figures.ts';
import { playRounds } from '../proxies/rounds.ts';
import { type Row, rows } from '../proxies/rows.ts';
import { gatewayIn } from '../peers/node-peers.ts';
import { median, printTable } from '../statistics.ts';
import type { WorkName } from '../work.ts';
import { driftOf } from './drift.ts';

const ROUND_MS = 500;
const SHORT: readonly string[] = ['1kb', 'rate', '16kb', '100kb', '1mb', 'tls'];
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NAMES = { before: 'commit', again: 'commit, again', now: 'now' } as const;

/** Measures against a commit, in interleaved rounds, and prints; returns false when something became slower beyond noise. */
export async function benchGuard(
  commit: string,
  rounds: number,
  chosenRows: readonly string[],
): Promise<boolean> {
  const ids = chosenRows.length === 0 ? SHORT : chosenRows;
  const chosen = rows.filter(({ id }) => ids.includes(id));
  const folder = mkdtempSync(join(tmpdir(), 'guard-'));
  try {
    const short = git('rev-parse', '--short', `${commit}^{commit}`).toString().trim();
    console.log(
      `The sources as they are, against ${short} (${git('log', '-1', '--format=%s', short).toString().trim()})\n`,
    );
    checkOut(short, folder);
    const figures = await playRounds({
      peers: [gatewayIn(folder, NAMES.before), gatewayIn(ROOT, NAMES.now), gatewayIn(folder, NAMES.again)],
      rows: chosen,
      takes: () => true,
      rounds,
      roundMs: ROUND_MS,
    });
    return print(chosen, figures, short);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Extracts a commit, with the dependencies that are installed here: nothing is registered in the repository. */
function checkOut(commit: string, folder: string): void {
  execFileSync('tar', ['-x', '-C', folder], { input: git('archive', commit) });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const lock = 'package-lock.json';
  if (git('diff', '--name-only', commit, '--', lock).length > 0)
    console.log(`${lock} differs: the commit runs with the dependencies of today.\n`);
}

function git(...args: readonly string[]): Buffer {
  return execFileSync('git', ['-C', ROOT, ...args], { maxBuffer: 2 ** 30 });
}

function print(chosen: readonly Row[], figures: Figures, commit: string): boolean {
  const slower: string[] = [];
  const lines = chosen.flatMap((row) =>
    (['pass', 'migrate'] as const).map((work) => {
      const rounds = {
        before: cpu(figures, row, work, NAMES.before),
        again: cpu(figures, row, work, NAMES.again),
        now: cpu(figures, row, work, NAMES.now),
      };
      const { ratio, least, most, noise, verdict } = driftOf(rounds);
      if (verdict === 'slower') slower.push(`${row.title}, ${work}: ${ratio.toFixed(2)}`);
      return [
        row.title,
        work,
        median(rounds.before).toFixed(1),
        median(rounds.now).toFixed(1),
        `${ratio.toFixed(3)} (${least.toFixed(3)}–${most.toFixed(3)})`,
        noise.toFixed(3),
        verdict,
      ];
    }),
  );
  console.log(
    'Microseconds of processor time a request, medians; the ratio with the interval of its median (95 %)\n',
  );
  printTable(['work', '', commit, 'now', 'ratio', 'of the commit to itself', ''], lines);
  console.log(
    slower.length === 0
      ? '\nNothing became slower beyond noise.'
      : `\nSlower beyond noise:\n${slower.join('\n')}`,
  );
  return slower.length === 0;
}

function cpu(figures: Figures, row: Row, work: WorkName, name: string): readonly number[] {
  return figures.of(row, work, name).map((one) => one.cpu);
}
