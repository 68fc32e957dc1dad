import { count } from '../report/number-text.ts';
import { terminalText } from '../report/untrusted-text.ts';
import { type Choice, CHOICES } from '../twin/choices.ts';
import type { Difference } from '../twin/difference.ts';
import type { PlayedExchange } from '../twin/play.ts';
import type { TwinReport } from '../twin/tally.ts';
import { printColumns } from './columns.ts';
import type { Terminal } from './terminal.ts';
import { wrapLines } from './wrap-text.ts';

/** Prints a report for people: a line for each difference, then the counts, also of those by choice. Texts of the services are escaped. */
export function twinText(
  { played, alike, different, chosen, skipped }: TwinReport,
  { columns }: Pick<Terminal, 'columns'>,
): string {
  const rows = different.flatMap((exchange) => rowsOf(exchange));
  const reasons = Object.entries(skipped).map(
    ([reason, times]) => `${count(times)} not played: ${terminalText(reason)}.\n`,
  );
  return [
    rows.length === 0
      ? ''
      : `${printColumns(['exchange', 'where', 'kind', 'V1', 'gateway'], rows, { columns })}\n\n`,
    ...[
      `${count(played)} exchanges played: ${count(alike)} alike, ${count(different.length)} different, ${count(chosen.length)} different by choice.\n`,
      ...[...byChoice(chosen)].map(
        ([choice, names]) => `${count(names.length)} ${choice}: ${CHOICES[choice]}.\n`,
      ),
      ...reasons,
    ].map((line) => wrapLines(line, columns)),
  ].join('');
}

/** Prints a report for programs: one JSON object. */
export function twinJson({ played, alike, different, chosen, skipped }: TwinReport): string {
  const exchanges = different.map(({ script, name, statuses: [v1, gateway], differences }) => {
    return { script, name, statuses: { v1, gateway }, differences };
  });
  const choices = Object.fromEntries(byChoice(chosen));
  return `${JSON.stringify({ played, alike, different: exchanges, choices, skipped }, null, 2)}\n`;
}

/** Names of the exchanges that differ by choice. */
function byChoice(chosen: TwinReport['chosen']): ReadonlyMap<Choice, readonly string[]> {
  const names = new Map<Choice, string[]>();
  for (const { choice, name } of chosen) names.set(choice, [...(names.get(choice) ?? []), name]);
  return names;
}

/** Differences of one exchange that are printed; the first ones usually explain the others. */
const MAX_ROWS = 4;

function rowsOf({ name, differences }: PlayedExchange): readonly (readonly string[])[] {
  const rows = differences
    .slice(0, MAX_ROWS)
    .map((difference, at) => rowOf(at === 0 ? name : '', difference));
  const rest = differences.length - rows.length;
  return rest === 0 ? rows : [...rows, ['', `… ${rest} more`, '', '', '']];
}

function rowOf(name: string, { where, kind, v1, gateway }: Difference): readonly string[] {
  return [
    terminalText(name),
    where === '' ? '(the body)' : terminalText(where),
    kind,
    cut(v1 ?? '–', 40),
    cut(gateway ?? '–', 40),
  ];
}

/** Values can be whole bodies; what is left out is marked. */
function cut(text: string, length: number): string {
  const shown = terminalText(text);
  return shown.length <= length ? shown : `${shown.slice(0, length - 1)}…`;
}
