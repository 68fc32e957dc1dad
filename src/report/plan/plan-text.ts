import { endingSentence } from '../endings.ts';
import { clientName, lengthWords, markdownText, nameIn, table, terminalText } from '../text.ts';
import { count, counted, listed } from '../../rules/words.ts';
import { WEEKS } from './activity.ts';
import type { Plan, PlannedBrownout, PlannedClient } from './plan.ts';
import { instantText, type RehearsedWindow, windowSentence, windowText } from './rehearse.ts';
import { clockText, Zone } from './zone.ts';

/** Maximum clients named in a sentence. */
const MAX_NAMED = 3;

/** A table of a document, whose cells are plain text. */
export interface PlanTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A part of a plan: sentences and at most one table, the same in every format. */
export interface PlanPart {
  readonly title: string;
  readonly sentences: readonly string[];
  readonly table?: PlanTable;
}

/** The parts of a plan in reading order, with at most so many rows in a table. Times are those of its zone. */
export function planParts(plan: Plan, most = Number.POSITIVE_INFINITY): readonly PlanPart[] {
  const zone = new Zone(plan.zone);
  const { caveat, clients, endings, unknown } = plan;
  const left = clients.length - most;
  return [
    {
      title: 'The end of V1',
      sentences: [
        ...(caveat === undefined ? [] : [caveat]),
        `Deprecation: ${zone.text(plan.deprecation)}. Sunset: ${zone.text(plan.sunset)}, ${plan.sunsetBecause}. All times are those of ${plan.zone}.`,
        ...(plan.shortfall === undefined ? [] : [plan.shortfall]),
        ...reachSentences(plan),
      ],
      table: { head: ['when', 'what'], rows: datesOf(plan, zone) },
    },
    { title: 'Brownouts', ...brownoutsPart(plan, zone) },
    {
      title: 'Clients',
      sentences:
        left > 0
          ? [
              `The first ${count(most)} of ${count(clients.length)} are listed; capture-gateway plan lists all.`,
            ]
          : [],
      table: {
        head: ['client', 'requests', 'first notice', 'because'],
        rows: clients.slice(0, most).map((client) => clientRow(client, zone)),
      },
    },
    { title: 'Hours of the week', ...hoursPart(plan) },
    ...(endings.length === 0
      ? []
      : [
          {
            title: "Endings before V1's",
            sentences: endings.map((ending) =>
              endingSentence(ending, new Date(plan.at).toISOString(), (time) => zone.text(Date.parse(time))),
            ),
          },
        ]),
    ...(unknown.length === 0 ? [] : [{ title: 'Not known', sentences: unknown }]),
  ];
}

/** The brownouts that are declared and planned, and those that have refused clients. */
function brownoutsPart(plan: Plan, zone: Zone): Omit<PlanPart, 'title'> {
  const { brownouts, declared, met } = plan;
  const planned = onlyPlanned(plan);
  const all = [...declared, ...planned].toSorted((one, other) => one.from - other.from);
  return {
    sentences: [
      ...met.map(({ sentence }) => sentence),
      ...(brownouts.length > 0
        ? []
        : [
            `No ${declared.length > 0 ? 'other ' : ''}brownout is planned: no day is left for it, or the log does not cover a time of the week at which a client was active.`,
          ]),
      ...(all.length === 0
        ? []
        : [
            `A brownout reaches, as this plan counts, the clients that were active at its time of the week in three of the last ${WEEKS} weeks of the log, or in all that the log covers if those are fewer.${planned.length === 0 ? '' : ' A planned one refuses V1 requests with 410, as the end does.'}`,
          ]),
    ],
    ...(all.length === 0
      ? {}
      : {
          table: {
            head: ['id', 'when', 'length', 'reaches', 'first notice for', 'because'],
            rows: all.map((brownout) => [
              `${brownout.id}${declaredWords(brownout)}`,
              windowText(brownout.from, brownout.until, zone),
              lengthWords(brownout.until - brownout.from),
              brownout.weeks === 0 ? '–' : count(brownout.reaches),
              brownout.weeks === 0 ? '–' : count(brownout.first),
              brownout.because,
            ]),
          },
        }),
  };
}

/** The brownouts of the plan that the rule book does not declare. */
function onlyPlanned({ brownouts, declared }: Plan): readonly PlannedBrownout[] {
  return brownouts.filter(
    ({ from, until }) => !declared.some((one) => one.from === from && one.until === until),
  );
}

function declaredWords({ declared }: PlannedBrownout): string {
  if (declared === undefined) return '';
  return declared === 100 ? ' (declared)' : ` (declared, ${declared} %)`;
}

/** One figure of a plan, which a person can check in its tables. */
export interface PlanFigure {
  readonly name: string;
  readonly value: string;
}

/** What a plan says in sentences, as a list of figures. */
export function planFigures(plan: Plan): readonly PlanFigure[] {
  const zone = new Zone(plan.zone);
  const { all, refused, declared, planned, unplanned, unreachable, who } = reachOf(plan);
  const named = (list: Plan['clients']): string => `${count(list.length)} of ${all}: ${who(list)}`;
  return [
    { name: 'Deprecation', value: `${zone.text(plan.deprecation)} ${plan.zone}` },
    { name: 'Sunset', value: `${zone.text(plan.sunset)} ${plan.zone}, ${plan.sunsetBecause}` },
    { name: 'Time zone', value: plan.zone },
    { name: 'Clients on V1', value: all },
    { name: 'Have had a notice', value: `${count(refused)} of ${all}` },
    ...(declared === 0
      ? []
      : [{ name: 'First notice by a declared brownout', value: `${count(declared)} of ${all}` }]),
    { name: 'First notice by a planned brownout', value: `${count(planned)} of ${all}` },
    ...(unplanned.length === 0
      ? []
      : [{ name: 'Active without a planned brownout', value: named(unplanned) }]),
    ...(unreachable.length === 0
      ? []
      : [{ name: 'Reached at no time of the week', value: named(unreachable) }]),
  ];
}

interface Reach {
  readonly all: string;
  /** Clients whose first notice is in the log, and those whose first one is declared or planned. */
  readonly refused: number;
  readonly declared: number;
  readonly planned: number;
  readonly unplanned: Plan['clients'];
  readonly unreachable: Plan['clients'];
  readonly who: (list: Plan['clients']) => string;
}

function reachOf({ clients }: Plan): Reach {
  const toCome = clients.flatMap(({ notice }) => (notice !== undefined && 'weeks' in notice ? [notice] : []));
  return {
    all: count(clients.length),
    refused: clients.filter(({ notice }) => notice !== undefined && 'refused' in notice).length,
    declared: toCome.filter(({ isDeclared }) => isDeclared).length,
    planned: toCome.filter(({ isDeclared }) => !isDeclared).length,
    unplanned: clients.filter(({ notice, isReachable }) => notice === undefined && isReachable),
    unreachable: clients.filter(({ isReachable }) => !isReachable),
    who: (list) => listed(list.map(clientName), MAX_NAMED),
  };
}

/** Says how many clients a notice reaches, and names those without one. */
function reachSentences(plan: Plan): readonly string[] {
  const { clients } = plan;
  const { refused, declared, planned, unplanned, unreachable, who } = reachOf(plan);
  return [
    `${counted(clients.length, 'client')} still ${clients.length === 1 ? 'uses' : 'use'} V1.${[
      ...(declared === 0 ? [] : [['declared', declared] as const]),
      ...(declared > 0 && onlyPlanned(plan).length === 0 ? [] : [['planned', planned] as const]),
    ]
      .map(([kind, some]) => ` A ${kind} brownout is the first notice for ${ofThem(some, clients.length)}.`)
      .join('')}`,
    ...(refused === 0
      ? []
      : [
          `By the log, ${ofThem(refused, clients.length)} ${refused === 1 || refused === clients.length ? 'has' : 'have'} had a notice.`,
        ]),
    ...(unreachable.length === 0
      ? []
      : [`No time of the week reaches ${counted(unreachable.length, 'client')}: ${who(unreachable)}.`]),
    ...(unplanned.length === 0
      ? []
      : [
          `${counted(unplanned.length, 'client')} ${unplanned.length === 1 ? 'is' : 'are'} active at times without a planned brownout: ${who(unplanned)}.`,
        ]),
  ];
}

function ofThem(some: number, all: number): string {
  if (some === 0) return all === 1 ? 'nobody' : 'none of them';
  if (some < all) return `${count(some)} of them`;
  return all === 1 ? 'it' : 'each of them';
}

function datesOf(plan: Plan, zone: Zone): string[][] {
  return [...plan.announcements, { at: plan.sunset, text: sunsetText(plan) }].map(({ at, text }) => [
    zone.text(at),
    text,
  ]);
}

/** Says what happens at the sunset of a plan. */
export function sunsetText({ gone, clients, spared }: Pick<Plan, 'gone' | 'clients' | 'spared'>): string {
  if (gone === undefined)
    return 'The announced date of the end (after: serve): V1 requests are served as before. Write after: gone to refuse them with 410.';
  const named = namedIn([...clients, ...spared]);
  const who = gone.clients === undefined ? '' : ` of ${named(gone.clients)}`;
  const but = gone.except === undefined ? '' : `, except those of ${named(gone.except)}`;
  return `V1 ends (after: gone): V1 requests${who} get 410${but}. Write after: serve to announce the date only.`;
}

/** Lists clients by the names that they have in a plan. */
function namedIn(clients: Plan['spared']): (hashes: readonly string[]) => string {
  const names = new Map(
    clients.flatMap(({ client, name }) => (name === undefined ? [] : [[client, name] as const])),
  );
  return (hashes) => hashes.map((client) => nameIn(names, client)).join(', ');
}

function clientRow({ client, name, requests, notice, because }: PlannedClient, zone: Zone): string[] {
  return [
    name === undefined ? client : `${name} (${client})`,
    count(requests),
    notice === undefined ? '–' : `${zone.text(notice.at)} (${notice.by})`,
    because,
  ];
}

/** The hours of the week as a table, or why there are none. */
function hoursPart(plan: Plan): Omit<PlanPart, 'title'> {
  const hours = hoursTable(plan);
  if (hours.rows.length === 0)
    return { sentences: ['The log is too short: it covers no whole hour in which a client was active.'] };
  return {
    sentences: [
      'The clients that a brownout of each hour would reach; – is an hour that the log does not cover.',
    ],
    table: hours,
  };
}

/** A row for each hour of the day, and a column for each day of the week. */
function hoursTable({ hours }: Plan): PlanTable {
  const days = [...Map.groupBy(hours, ({ weekday }) => weekday)];
  return {
    head: ['hour', ...days.map(([weekday]) => weekday.slice(0, 3))],
    // Hours without a client on any day are omitted.
    rows: Array.from({ length: 24 }, (_, hour) => ({
      hour,
      cells: days.flatMap(([, all]) => all[hour] ?? []),
    }))
      .filter(({ cells }) => cells.some(({ clients }) => clients > 0))
      .map(({ hour, cells }) => [
        clockText(hour * 3_600_000),
        ...cells.map(({ weeks, clients }) => (weeks === 0 ? '–' : count(clients))),
      ]),
  };
}

/** Prints a plan as Markdown. */
export function planMarkdown(plan: Plan): string {
  const parts = planParts(plan).map(({ title, sentences, table: rows }) =>
    [
      `## ${title}`,
      ...sentences.map((sentence) => markdownText(sentence)),
      ...(rows === undefined
        ? []
        : [
            table(
              rows.head,
              rows.rows.map((row) => row.map(markdownText)),
            ),
          ]),
    ].join('\n\n'),
  );
  return `${parts.join('\n\n')}\n`;
}

/** Prints a rehearsal: a sentence for each window, then the clients that it refuses. */
export function rehearsalLines(windows: readonly RehearsedWindow[], zone: Zone): readonly string[] {
  return windows.flatMap((window) => {
    const { from, until } = window.for ?? {};
    const moved =
      from === undefined
        ? ''
        : until === undefined
          ? `The rule book has ${instantText(from, zone)}. `
          : `${window.id} (${windowText(from, until, zone)}) as on `;
    const clients = window.clients.map(
      ({ client, name, refused, losesRun }) =>
        `  ${terminalText(name === undefined ? clientName({ client }) : `${name} (${client})`)}  ${window.share === 100 ? '' : 'up to '}${counted(refused, 'request')}${losesRun ? ', a whole run' : ''}`,
    );
    return [terminalText(`${moved}${windowSentence(window, zone)}`), ...clients];
  });
}

/** A plan for programs: times in UTC, RFC 3339. */
export function planJson(plan: Plan): object {
  const time = (at: number): string => new Date(at).toISOString();
  const timed = (brownout: PlannedBrownout): object => ({
    ...brownout,
    from: time(brownout.from),
    until: time(brownout.until),
  });
  return {
    ...plan,
    at: time(plan.at),
    deprecation: time(plan.deprecation),
    sunset: time(plan.sunset),
    announcements: plan.announcements.map(({ at, text }) => ({ at: time(at), text })),
    brownouts: plan.brownouts.map(timed),
    declared: plan.declared.map(timed),
    log: { since: time(plan.log.since), until: time(plan.log.until) },
    clients: plan.clients.map(({ notice, ...rest }) => ({
      ...rest,
      ...(notice === undefined ? {} : { notice: { ...notice, at: time(notice.at) } }),
    })),
  };
}
