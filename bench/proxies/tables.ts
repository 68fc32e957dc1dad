import { gateway, gatewayLogFile } from '../peers/node-peers.ts';
import { nginx, nginxLua } from '../peers/nginx-peers.ts';
import { printTable } from '../statistics.ts';
import type { WorkName } from '../work.ts';
import type { Figures, Ratio } from './figures.ts';
import { type Row, rows } from './rows.ts';

const WORKS = ['pass', 'migrate'] as const;
/** The peer that a work is held to. */
const RIVAL: Readonly<Record<WorkName, string>> = { pass: nginx.name, migrate: nginxLua.name };
/** The most that a log in a file may cost, by the same in a pipe, and a migration by its own pass. */
const LOG_FILE_GOAL = 1.08;
const OWN_PASS_GOAL = 1.2;
/** The most that the gateway may add to the median, by what nginx adds, and its 99th percentile by nginx's. */
const ADDED_GOAL = 1.2;
const P99_GOAL = 1.5;
/** The most that the 99th percentile of a saturated proxy may be, by nginx's. */
const SATURATED_P99_GOAL = 2;

/** Prints the ratios with their goals, the processor time of every peer, and latencies. */
export function printLong(chosen: readonly Row[], figures: Figures): void {
  printGoals(chosen, figures);
  printProcessorTime(chosen, figures);
  printAdded(chosen, figures);
  printSaturated(chosen, figures);
}

function printGoals(chosen: readonly Row[], figures: Figures): void {
  console.log('Processor time a request: ratio of medians (least and most of a round)\n');
  const head = ['work', 'pass / nginx', 'goal', '', 'migrate / nginx + Lua', 'goal', ''];
  const lines = chosen.map((row) => [
    row.title,
    ...WORKS.flatMap((work) =>
      goal(figures.ratio([row, work, gateway.name], [row, work, RIVAL[work]]), row.goals[work]),
    ),
  ]);
  const [small] = rows;
  if (small !== undefined && chosen.includes(small)) {
    lines.push([
      'log into a file / into a pipe',
      ...WORKS.flatMap((work) =>
        goal(figures.ratio([small, work, gatewayLogFile.name], [small, work, gateway.name]), LOG_FILE_GOAL),
      ),
    ]);
    lines.push([
      'migrate / its own pass, 1 KB',
      '',
      '',
      '',
      ...goal(figures.ratio([small, 'migrate', gateway.name], [small, 'pass', gateway.name]), OWN_PASS_GOAL),
    ]);
  }
  printTable(head, lines);
}

function goal(ratio: Ratio | undefined, most: number): readonly string[] {
  if (ratio === undefined) return ['not measured', `≤ ${most}`, ''];
  const shown = `${ratio.of.toFixed(2)} (${ratio.least.toFixed(2)}–${ratio.most.toFixed(2)})`;
  return [shown, `≤ ${most}`, met(ratio.of <= most)];
}

function met(isMet: boolean): string {
  return isMet ? 'met' : '**not met**';
}

function printProcessorTime(chosen: readonly Row[], figures: Figures): void {
  const shown = columns(chosen, figures);
  console.log(
    '\nMicroseconds of processor time a request, medians; ~: the proxy had a tenth of its processor left, or more\n',
  );
  printTable(
    ['work', ...shown.map(([name, work]) => `${name}, ${work}`)],
    chosen.map((row) => [row.title, ...shown.map(([name, work]) => time(row, work, name, figures))]),
  );
}

function columns(
  chosen: readonly Row[],
  figures: Figures,
): readonly (readonly [name: string, work: WorkName])[] {
  return WORKS.flatMap((work) =>
    figures
      .peers()
      .filter((name) => chosen.some((row) => figures.of(row, work, name).length > 0))
      .map((name) => [name, work] as const),
  );
}

function time(row: Row, work: WorkName, name: string, figures: Figures): string {
  const cpu = figures.median(row, work, name, (one) => one.cpu);
  if (cpu === undefined) return '–';
  const busy = figures.median(row, work, name, (one) => one.busy) ?? 0;
  return `${row.rate === undefined && busy < 0.9 ? '~' : ''}${cpu.toFixed(cpu < 100 ? 1 : 0)}`;
}

function printAdded(chosen: readonly Row[], figures: Figures): void {
  for (const row of chosen.filter(({ rate }) => rate !== undefined)) {
    console.log(
      `\n${row.title}: milliseconds, medians of rounds; the median without V2's own time, the 99th percentile with it\n`,
    );
    printTable(
      ['proxy', 'work', 'added p50', 'by nginx', '', 'p99', 'by nginx', ''],
      columns([row], figures).map(([name, work]) => [
        name,
        work,
        ...latency((of) => figures.added(row, work, of), [name, RIVAL[work], ADDED_GOAL]),
        ...latency((of) => figures.median(row, work, of, (one) => one.p99), [name, RIVAL[work], P99_GOAL]),
      ]),
    );
  }
}

/** A latency, by its rival's, and whether the gateway's meets its goal. */
function latency(
  of: (name: string) => number | undefined,
  [name, rival, most]: readonly [name: string, rival: string, most: number],
): readonly string[] {
  const mine = of(name) ?? Number.NaN;
  const ratio = mine / (of(rival) ?? Number.NaN);
  return [mine.toFixed(3), ratio.toFixed(2), name === gateway.name ? `≤ ${most}: ${met(ratio <= most)}` : ''];
}

function printSaturated(chosen: readonly Row[], figures: Figures): void {
  for (const row of chosen.filter(({ id }) => id === '1kb' || id === '1000c')) {
    console.log(`\n${row.title}: milliseconds from the request to the response, medians of rounds\n`);
    printTable(
      ['proxy', 'work', 'p50', 'p99', 'by nginx', '', 'over 2 s, all rounds'],
      columns([row], figures).map(([name, work]) => {
        const p99 = figures.median(row, work, name, (one) => one.p99) ?? Number.NaN;
        const ratio = p99 / (figures.median(row, work, RIVAL[work], (one) => one.p99) ?? Number.NaN);
        const late = figures.of(row, work, name).reduce((sum, one) => sum + one.timeouts, 0);
        return [
          name,
          work,
          (figures.median(row, work, name, (one) => one.p50) ?? Number.NaN).toFixed(1),
          p99.toFixed(1),
          ratio.toFixed(2),
          name === gateway.name
            ? `≤ ${SATURATED_P99_GOAL}: ${met(ratio <= SATURATED_P99_GOAL && late === 0)}`
            : '',
          String(late),
        ];
      }),
    );
  }
}
