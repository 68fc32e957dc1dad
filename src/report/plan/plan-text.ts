import { endingSentence } from '../endings.ts';
import { count, counted, lengthWords, markdownText, table, terminalText, nameIn } from '../text.ts';
import type { Plan, PlannedBrownout, PlannedClient } from './plan.ts';
import { instantText, type RehearsedWindow, windowSentence, windowText } from './rehearse.ts';
import { Zone } from './zone.ts';

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

/** The parts of a plan in reading order. Times are those of its zone. */
export function planParts(plan: Plan): readonly PlanPart[] {
  const zone = new Zone(plan.zone);
  const { brownouts, clients, rotated, endings, unknown } = plan;
  const unmet = clients.filter(({ notices }) => notices === undefined);
  const met = clients.length - unmet.length;
  return [
    {
      title: 'The end of V1',
      sentences: [
        `Deprecation: ${zone.text(plan.deprecation)}. Sunset: ${zone.text(plan.sunset)}, ${plan.sunsetBecause}. All times are those of ${plan.zone}.`,
        `${counted(clients.length, 'client')} still ${clients.length === 1 ? 'uses' : 'use'} V1. ${metWords(met, unmet.length)}`,
      ],
      table: { head: ['when', 'what'], rows: datesOf(plan, zone) },
    },
    {
      title: 'Brownouts',
      sentences:
        brownouts.length > 0
          ? []
          : [
              `No brownout can be chosen: ${clients.some((client) => client.rhythm !== undefined) ? 'no client is surely awake on a day that is left for one' : 'no client has a known rhythm'}.`,
            ],
      ...(brownouts.length === 0
        ? {}
        : {
            table: {
              head: ['id', 'when', 'length', 'meets', 'for'],
              rows: brownouts.map((brownout) => [
                brownout.id,
                windowText(brownout.from, brownout.until, zone),
                lengthWords(brownout.until - brownout.from),
                count(brownout.meets),
                scopeWords(brownout, namedIn(clients)),
              ]),
            },
          }),
    },
    {
      title: 'Clients',
      sentences: [],
      table: {
        head: ['client', 'requests', 'awake', 'longest usual pause', 'will notice', 'because'],
        rows: clients.map((client) => clientRow(client, zone)),
      },
    },
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
    ...(rotated.length === 0
      ? []
      : [
          {
            title: 'Keys that seem rotated',
            sentences: [
              'The new key begins where the old one ends, with the same operations, as often and at the same hours; ask the owner.',
            ],
            table: {
              head: ['old key', 'last used', 'new key', 'first used'],
              rows: rotated.map(({ old, young, last, first }) => [
                old,
                zone.text(last),
                young,
                zone.text(first),
              ]),
            },
          },
        ]),
    ...(unknown.length === 0 ? [] : [{ title: 'Not known', sentences: unknown }]),
  ];
}

function metWords(met: number, unmet: number): string {
  if (unmet === 0) return `A brownout will reach ${met === 1 ? 'it' : 'each of them'} by what the log shows.`;
  return `A brownout will reach ${met} of them by what the log shows; for ${unmet} nobody can say.`;
}

function datesOf(plan: Plan, zone: Zone): string[][] {
  return [...plan.announcements, { at: plan.sunset, text: sunsetText(plan) }].map(({ at, text }) => [
    zone.text(at),
    text,
  ]);
}

/** Says what happens at the sunset of a plan. */
export function sunsetText({ gone, clients }: Pick<Plan, 'gone' | 'clients'>): string {
  if (gone === undefined)
    return 'The announced date of the end (after: serve): V1 requests are served as before. Write after: gone to refuse them with 410.';
  const named = namedIn(clients);
  const who = gone.clients === undefined ? '' : ` of ${named(gone.clients)}`;
  const but = gone.except === undefined ? '' : `, except those of ${named(gone.except)}`;
  return `V1 ends (after: gone): V1 requests${who} get 410${but}.`;
}

/** Lists clients by the names that they have in a plan. */
function namedIn(clients: Plan['clients']): (hashes: readonly string[]) => string {
  const names = new Map(
    clients.flatMap(({ client, name }) => (name === undefined ? [] : [[client, name] as const])),
  );
  return (hashes) => hashes.map((client) => nameIn(names, client)).join(', ');
}

function scopeWords({ clients, except }: PlannedBrownout, named: ReturnType<typeof namedIn>): string {
  if (clients !== undefined) return named(clients);
  return except === undefined ? 'every client' : `every client but ${named(except)}`;
}

function clientRow(client: PlannedClient, zone: Zone): string[] {
  const { notices, name, rhythm, usualPause, remarks } = client;
  return [
    name === undefined ? client.client : `${name} (${client.client})`,
    count(client.requests),
    rhythm ?? 'not known',
    usualPause === undefined ? 'not known' : lengthWords(usualPause),
    notices === undefined ? 'not known' : `${zone.text(notices.at)} (${notices.brownout})`,
    [...(notices === undefined ? [] : [`${notices.because}.`]), ...remarks].join(' '),
  ];
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
        `  ${terminalText(name === undefined ? client : `${name} (${client})`)}  ${window.share === 100 ? '' : 'up to '}${counted(refused, 'request')}${losesRun ? ', a whole run' : ''}`,
    );
    return [terminalText(`${moved}${windowSentence(window, zone)}`), ...clients];
  });
}

/** A plan for programs: times in UTC, RFC 3339. */
export function planJson(plan: Plan): object {
  const time = (at: number): string => new Date(at).toISOString();
  return {
    ...plan,
    at: time(plan.at),
    deprecation: time(plan.deprecation),
    sunset: time(plan.sunset),
    announcements: plan.announcements.map(({ at, text }) => ({ at: time(at), text })),
    brownouts: plan.brownouts.map(({ from, until, ...rest }) => ({
      ...rest,
      from: time(from),
      until: time(until),
    })),
    clients: plan.clients.map(({ notices, ...rest }) => ({
      ...rest,
      ...(notices === undefined ? {} : { notices: { ...notices, at: time(notices.at) } }),
    })),
    rotated: plan.rotated.map(({ old, young, last, first }) => ({
      old,
      young,
      last: time(last),
      first: time(first),
    })),
  };
}
