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

/** Prints the ratios with their goals, and every figure of every peer, row by row. */
export function printLong(chosen: readonly Row[], figures: Figures): void {
  printGoals(chosen, figures);
  for (const row of chosen) printRow(row, figures);
}

function printGoals(chosen: readonly Row[], figures: Figures): void {
  console.log('Processor time a request: median ratio of the rounds (its bounds)\n');
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
    const own = figures.ratio([small, 'migrate', gateway.name], [small, 'pass', gateway.name]);
    lines.push(['migrate / its own pass, 1 KB', '', '', '', ...goal(own, OWN_PASS_GOAL)]);
  }
  printTable(head, lines);
}

function goal(ratio: Ratio, most: number): readonly string[] {
  if (Number.isNaN(ratio.of)) return ['not measured', `≤ ${most}`, ''];
  const shown = `${ratio.of.toFixed(2)} (${ratio.least.toFixed(2)}–${ratio.most.toFixed(2)})`;
  return [shown, `≤ ${most}`, met(ratio.of <= most)];
}

function met(isMet: boolean): string {
  return isMet ? 'met' : '**not met**';
}

function printRow(row: Row, figures: Figures): void {
  console.log(
    `\n${row.title}: medians of rounds; milliseconds from the request to the response, and those beyond V2's own\n`,
  );
  printTable(
    ['proxy', 'work', 'µs', 'p50', 'p99', 'by nginx', 'added p50', 'by nginx', 'over 2 s', 'goals'],
    WORKS.flatMap((work) => figures.peers(row, work).map((peer) => cells(row, work, peer, figures))),
  );
}

function cells(row: Row, work: WorkName, peer: string, figures: Figures): readonly string[] {
  const of = (name: string): readonly [p99: number, added: number] => [
    figures.median(row, work, name, 'p99'),
    figures.added(row, work, name),
  ];
  const [[p99, added], [rivalP99, rivalAdded]] = [of(peer), of(RIVAL[work])];
  const late = figures.of(row, work, peer).reduce((sum, one) => sum + one.late, 0);
  const { p99: mostP99, added: mostAdded } = row.latency ?? {};
  const goals = [
    ...(mostP99 === undefined ? [] : [`p99 ≤ ${mostP99}: ${met(p99 / rivalP99 <= mostP99 && late === 0)}`]),
    ...(mostAdded === undefined ? [] : [`added ≤ ${mostAdded}: ${met(added / rivalAdded <= mostAdded)}`]),
  ];
  return [
    peer,
    work,
    shown(figures.median(row, work, peer, 'cpu'), 1),
    shown(figures.median(row, work, peer, 'p50'), 3),
    shown(p99, 3),
    shown(p99 / rivalP99, 2),
    shown(added, 3),
    shown(added / rivalAdded, 2),
    String(late),
    peer === gateway.name ? goals.join(', ') : '',
  ];
}

function shown(value: number, digits: number): string {
  return Number.isNaN(value) ? '–' : value.toFixed(digits);
}
