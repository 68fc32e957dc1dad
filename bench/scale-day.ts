/** A day of entries in the inspector: whether an entry, a response and the memory held are the same at its end. */
import { apart } from './scale-apart.ts';
import type { DayFigures } from './scale-day-run.ts';
import { printTable, spread, whole } from './scale-figures.ts';
import { median } from './statistics.ts';

/** Entries a second, and of how many minutes one is fed in the quick form. */
const RATES: readonly (readonly [perSecond: number, everyInQuick: number])[] = [
  [1, 1],
  [10, 10],
  [100, 60],
];

/** Measures each rate in a process of its own, and prints. */
export async function scaleDay(isQuick: boolean): Promise<void> {
  const all: DayFigures[] = [];
  for (const [perSecond, every] of RATES) {
    const given = [String(perSecond), String(isQuick ? every : 1)];
    all.push(await apart<DayFigures>('./scale-day-run.ts', given));
  }
  console.log('\n### A day of entries in the inspector\n');
  printEntries(all);
  console.log(
    '\nOne day from midnight to midnight on a clock that is moved on, 50 clients, the operations of the rule book that ships. Counted is what the\n' +
      'view does (ring, metrics, history, tally with its census, capture), not the making of entries. A structure of the bodies is kept of up to\n' +
      '50 exchanges a second, so of all at 1 and 10 a second, and of half at 100. Full: when the ring has its 10,000 entries.\n',
  );
  printRoutes(all);
  console.log('\nFrom the request to the end of the response, over a socket of the admin listener.');
}

function printEntries(all: readonly DayFigures[]): void {
  printTable(
    [
      'requests a second',
      'entries of the day',
      'fed',
      'CPU µs an entry, hour by hour',
      'first hour',
      'last hour',
      'held when full, MiB',
      'held at the end, MiB',
    ],
    all.map(({ perSecond, fed, hours, held }) => [
      whole(perSecond),
      whole(perSecond * 86_400),
      whole(fed),
      spread(hours, 2),
      (hours[0] ?? Number.NaN).toFixed(2),
      (hours.at(-1) ?? Number.NaN).toFixed(2),
      (held.full / 2 ** 20).toFixed(1),
      (held.end / 2 ** 20).toFixed(1),
    ]),
  );
}

function printRoutes(all: readonly DayFigures[]): void {
  const columns = all.flatMap(({ perSecond }) => [
    `${perSecond} a second: full, ms`,
    'end of the day, ms',
    'ratio',
  ]);
  const names = all[0]?.routes.map(({ name }) => name) ?? [];
  printTable(
    ['route', ...columns],
    names.map((name) => [
      `\`${name}\``,
      ...all.flatMap(({ routes }) => {
        const { full = [], end = [] } = routes.find((route) => route.name === name) ?? {};
        return [spread(full, 2), spread(end, 2), (median(end) / median(full)).toFixed(2)];
      }),
    ]),
  );
}
