import type { Census } from './census.ts';
import { type ClientClass, type ClientReport, clientReport } from './client-report.ts';
import type { Tally } from './tally.ts';

/** One day of traffic, UTC: the burn-down. */
export interface ReportDay {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly v1: number;
  readonly v2: number;
  /** Clients that used V1 that day. */
  readonly clients: number;
  /** Those of them that needed an edit of the body. */
  readonly rewritten: number;
  readonly refused: number;
}

/** Who still needs V1, and what stands between today and switching it off. */
export interface Report {
  /** First and last time seen; absent without entries. */
  readonly since?: string;
  readonly until?: string;
  readonly entries: number;
  readonly v1: number;
  readonly v2: number;
  readonly goneAfterDays: number;
  /** Clients that ever used V1; by weight of work, then by requests. */
  readonly clients: readonly ClientReport[];
  readonly classes: Readonly<Record<ClientClass, number>>;
  readonly days: readonly ReportDay[];
  /** Sentences for people: the list to work off before V1 can be switched off. */
  readonly remaining: readonly string[];
  /** True when V1 was used, and every client that used it is `gone`. */
  readonly canSwitchOff: boolean;
  readonly census: Census;
  /** Lines that are not entries. */
  readonly unreadable: number;
  /** Requests of clients beyond the bound. */
  readonly omittedClients: number;
}

/** What makes a report of a tally. */
export interface ReportOptions {
  /** RFC 3339: the day the report is of; absent, that of the last entry. */
  readonly now?: string | undefined;
  /** 14 unless told. */
  readonly goneAfterDays?: number | undefined;
  /** Names for people, by client hash. */
  readonly names?: ReadonlyMap<string, string> | undefined;
  readonly unreadable?: number | undefined;
}

const WEIGHT: Readonly<Record<ClientClass, number>> = {
  'field-work': 0,
  'unwrap-only': 1,
  'url-only': 2,
  gone: 3,
};

/** Makes the report of what a tally has added up. */
export function makeReport(tally: Tally, options: ReportOptions = {}): Report {
  const steps = reportSteps(tally, options);
  for (;;) {
    const { value, done } = steps.next();
    if (done === true) return value;
  }
}

/** As `makeReport`, but `pause` is awaited between steps of a few milliseconds each. */
export async function makeReportInSteps(
  tally: Tally,
  options: ReportOptions,
  pause: () => Promise<void>,
): Promise<Report> {
  const steps = reportSteps(tally, options);
  for (;;) {
    const { value, done } = steps.next();
    if (done === true) return value;
    await pause();
  }
}

/** Clients that are reported on in one step. */
const STEP_CLIENTS = 500;

function* reportSteps(tally: Tally, options: ReportOptions): Generator<undefined, Report, undefined> {
  const goneAfterDays = options.goneAfterDays ?? 14;
  const now = options.now ?? tally.until;
  const cut = dayBefore(now, goneAfterDays);
  const clients: ClientReport[] = [];
  for (const [hash, client] of tally.clients) {
    if (client.v1.count === 0) continue;
    clients.push(clientReport(hash, client, cut, options.names?.get(hash)));
    if (clients.length % STEP_CLIENTS === 0) yield;
  }
  clients.sort((one, other) => WEIGHT[one.class] - WEIGHT[other.class] || other.v1 - one.v1);
  const classes = { gone: 0, 'url-only': 0, 'unwrap-only': 0, 'field-work': 0 };
  for (const client of clients) classes[client.class] += 1;
  yield;
  const census = tally.census.result();
  yield;
  return {
    ...(tally.since === '' ? {} : { since: tally.since, until: tally.until }),
    entries: tally.entries,
    v1: tally.v1,
    v2: tally.v2,
    goneAfterDays,
    clients,
    classes,
    days: [...tally.days]
      .map(([day, { v1, v2, refused, clients: active, rewritten }]) => ({
        day,
        v1,
        v2,
        clients: active.size,
        rewritten: rewritten.size,
        refused,
      }))
      .sort((one, other) => (one.day < other.day ? -1 : 1)),
    remaining: remaining(clients, classes),
    canSwitchOff: clients.length > 0 && classes.gone === clients.length,
    census,
    unreadable: options.unreadable ?? 0,
    omittedClients: tally.omittedClients,
  };
}

/** So many days before a time; empty when it is none, as a log that somebody else wrote may have it. */
function dayBefore(time: string, days: number): string {
  const date = new Date(Date.parse(time) - days * 86_400_000);
  return Number.isNaN(date.valueOf()) ? '' : date.toISOString();
}

function remaining(clients: readonly ClientReport[], classes: Report['classes']): string[] {
  const sentences: string[] = [];
  const say = (count: number, one: string, many: string): void => {
    if (count > 0) sentences.push(count === 1 ? `1 client ${one}.` : `${count} clients ${many}.`);
  };
  say(classes['field-work'], 'has fields to change', 'have fields to change');
  say(classes['unwrap-only'], 'only has to drop the wrapper', 'only have to drop the wrapper');
  say(classes['url-only'], 'only has to change the address', 'only have to change the address');
  const active = clients.filter((client) => client.class !== 'gone');
  say(
    active.filter((client) => client.invalidVersions > 0).length,
    'sends an x-api-version that is not a date',
    'send an x-api-version that is not a date',
  );
  const keyless = active.find((client) => client.client === '-');
  if (keyless !== undefined)
    sentences.push(`${keyless.v1} V1 requests came without a key: nobody knows whose they are.`);
  return sentences;
}
