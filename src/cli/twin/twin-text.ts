import { count, counted } from '../../report/text/number-text.ts';
import { terminalText } from '../../report/text/untrusted-text.ts';
import { type Choice, CHOICES } from '../../twin/choices.ts';
import type { Difference } from '../../twin/difference.ts';
import type { PlayedExchange } from '../../twin/play.ts';
import type { TwinReport } from '../../twin/tally.ts';
import { printColumns } from '../terminal/columns.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { differingExcerpts, valueExcerpt } from './value-excerpts.ts';
import { wrapLines } from '../terminal/wrap-text.ts';

/** Prints a report for people: a line for each difference, then the counts, also of those by choice. Texts of the services are escaped. */
export function twinText(
  { played, alike, missing, different, chosen, skipped }: TwinReport,
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
      `${counted(played, 'exchange')} played: ${count(alike)} alike, ${count(different.length)} different, ${count(chosen.length)} different by choice.\n`,
      ...(missing === 0
        ? []
        : [
            `${count(missing)} not found by both: only ${missing === 1 ? 'its error was' : 'their errors were'} compared, as on a path that neither service has.\n`,
          ]),
      ...[...byChoice(chosen)].map(
        ([choice, names]) => `${count(names.length)} ${choice}: ${CHOICES[choice]}.\n`,
      ),
      ...reasons,
    ].map((line) => wrapLines(line, columns)),
  ].join('');
}

/** Prints a report for programs: one JSON object. */
export function twinJson({ played, alike, missing, different, chosen, skipped }: TwinReport): string {
  const exchanges = different.map(({ script, name, statuses: [v1, gateway], differences }) => {
    return { script, name, statuses: { v1, gateway }, differences };
  });
  const choices = Object.fromEntries(byChoice(chosen));
  return `${JSON.stringify({ played, alike, missing, different: exchanges, choices, skipped }, null, 2)}\n`;
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
  return rest === 0 ? rows : [...rows, ['', `… ${counted(rest, 'more difference')}`, '', '', '']];
}

function rowOf(name: string, { where, kind, v1, gateway }: Difference): readonly string[] {
  const [one, other] =
    v1 === undefined || gateway === undefined
      ? [v1, gateway].map((value) => (value === undefined ? '–' : valueExcerpt(value)))
      : differingExcerpts(v1, gateway);
  return [
    terminalText(name),
    where === '' ? '(the body)' : terminalText(where),
    kind,
    one ?? '',
    other ?? '',
  ];
}
