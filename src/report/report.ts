import type { Census } from './census/census.ts';
import { type ClientClass, type ClientReport, clientReport } from './client-report.ts';
import type { LogGap } from './gaps/log-gaps.ts';
import { counted } from './text/number-text.ts';
import type { OpenApiNames } from './text/openapi-names.ts';
import type { ReportCoverage, ReportTally } from './report-totals.ts';
import type { Span } from './tally/span.ts';
import { type SwitchOff, switchOff } from './switch-off.ts';

/** Traffic of one day (UTC), for the burn-down. */
export interface ReportDay {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly v1: number;
  readonly v2: number;
  /** Clients that used V1 that day. */
  readonly clients: number;
  /** Clients that needed an edit of a request or a response that day. */
  readonly rewritten: number;
  readonly refused: number;
}

/** Clients that still depend on V1, and the work left before it can be switched off. */
export interface Report {
  /** Times of the first and the last entry; absent without entries. */
  readonly since?: string;
  readonly until?: string;
  /** Time of the report, from which silence counts: RFC 3339. */
  readonly at: string;
  readonly entries: number;
  readonly v1: number;
  readonly v2: number;
  readonly goneAfterDays: number;
  /** Clients that ever used V1, sorted by amount of work, then by requests. */
  readonly clients: readonly ClientReport[];
  readonly classes: Readonly<Record<ClientClass, number>>;
  readonly days: readonly ReportDay[];
  /** Remaining work before V1 can be switched off, in sentences. */
  readonly remaining: readonly string[];
  /** True when V1 was used and every condition of `switchOff` is met. */
  readonly canSwitchOff: boolean;
  readonly switchOff: SwitchOff;
  /** The time that each log covers; absent when the gateway itself observed. */
  readonly logs?: readonly LogCoverage[];
  /** The times that the log of one replica lacks while another has entries, or of which the counts of replicas are not known. */
  readonly gaps?: readonly LogGap[];
  /** Whose traffic is counted; absent for logs. */
  readonly coverage?: Omit<ReportCoverage, 'gaps' | 'since'>;
  readonly census: Census;
  /** Lines that are not entries. */
  readonly unreadable: number;
  /** Requests of clients beyond the limit. */
  readonly omittedClients: number;
}

/** The part of the time that one log covers. */
export interface LogCoverage {
  readonly file: string;
  /** Times of its first and last entry in RFC 3339; absent without entries. */
  readonly since?: string;
  readonly until?: string;
  readonly entries: number;
  /** Lines that are not entries. */
  readonly unreadable: number;
}

/** Options of a report. */
export interface ReportOptions {
  /** Time of the report, RFC 3339. */
  readonly now: string;
  /** Time that the gateway itself observed, RFC 3339; without it, only entries show that something was observed. */
  readonly observed?: { readonly since: string; readonly until: string } | undefined;
  readonly logs?: readonly LogCoverage[] | undefined;
  readonly gaps?: readonly LogGap[] | undefined;
  /** Whose traffic the tally counts, where gateways count it themselves. */
  readonly coverage?: ReportCoverage | undefined;
  /** Names in V2's OpenAPI description, for the census. */
  readonly schema?: OpenApiNames | undefined;
  /** Defaults to 14. */
  readonly goneAfterDays?: number | undefined;
  /** Display names by client hash. */
  readonly names?: ReadonlyMap<string, string> | undefined;
  readonly unreadable?: number | undefined;
  /** Logs that have entries, but none of level `info`. */
  readonly withoutInfo?: readonly string[] | undefined;
  /** Entries dated after `now`, which the tally does not have. */
  readonly later?: Readonly<Span> | undefined;
}

const WEIGHT: Readonly<Record<ClientClass, number>> = {
  'field-work': 0,
  'unwrap-only': 1,
  'url-only': 2,
  unknown: 3,
  gone: 4,
};

/** Makes the report from a tally. */
export function makeReport(tally: ReportTally, options: ReportOptions): Report {
  const steps = reportSteps(tally, options);
  for (;;) {
    const { value, done } = steps.next();
    if (done === true) return value;
  }
}

/** Like `makeReport`, but awaits `pause` between steps of a few milliseconds each. */
export async function makeReportInSteps(
  tally: ReportTally,
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

/** Number of clients per step: one with every table full takes some 60 µs. */
const CLIENTS_PER_STEP = 50;

function* reportSteps(tally: ReportTally, options: ReportOptions): Generator<undefined, Report, undefined> {
  const goneAfterDays = options.goneAfterDays ?? 14;
  const { now, observed, coverage } = options;
  const clock = { now: Date.parse(now), goneAfterDays, allV1: tally.v1 };
  const clients: ClientReport[] = [];
  for (const [hash, client] of tally.clients) {
    if (client.v1.count === 0) continue;
    clients.push(clientReport(hash, client, clock, options.names?.get(hash)));
    if (clients.length % CLIENTS_PER_STEP === 0) yield;
  }
  const gaps = coverage?.gaps ?? options.gaps;
  clients.sort((one, other) => WEIGHT[one.class] - WEIGHT[other.class] || other.v1 - one.v1);
  const classes = { gone: 0, unknown: 0, 'url-only': 0, 'unwrap-only': 0, 'field-work': 0 };
  for (const client of clients) classes[client.class] += 1;
  yield;
  const census = tally.census.result(options.schema);
  yield;
  const statement = switchOff({
    now,
    goneAfterDays,
    clients,
    since: observed?.since ?? textOrNone(tally.since),
    until: observed?.until ?? textOrNone(tally.until),
    days: observed === undefined ? daysSeen(tally) : undefined,
    gaps: gaps ?? [],
    later: options.later,
    latest: observed && textOrNone(tally.until),
    unreadable: options.unreadable ?? 0,
    omittedClients: tally.omittedClients,
    unread: tally.unread,
    withoutInfo: options.withoutInfo ?? [],
  });
  return {
    ...(tally.since === '' ? {} : { since: tally.since, until: tally.until }),
    at: now,
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
    canSwitchOff: statement.verdict === 'yes',
    switchOff: statement,
    ...(options.logs === undefined ? {} : { logs: options.logs }),
    ...(gaps === undefined ? {} : { gaps }),
    ...(coverage === undefined ? {} : { coverage: coverageOf(coverage) }),
    census,
    unreadable: options.unreadable ?? 0,
    omittedClients: tally.omittedClients,
  };
}

function textOrNone(text: string): string | undefined {
  return text === '' ? undefined : text;
}

/** Days since 1970 that have an entry. */
function daysSeen({ days }: ReportTally): ReadonlySet<number> {
  return new Set([...days.values()].flatMap(({ number }) => (number === undefined ? [] : [number])));
}

function coverageOf(coverage: ReportCoverage): Omit<ReportCoverage, 'gaps' | 'since'> {
  const { gaps: _gaps, since: _since, ...rest } = coverage;
  return rest;
}

function remaining(clients: readonly ClientReport[], classes: Report['classes']): string[] {
  const sentences: string[] = [];
  const add = (count: number, one: string, many: string): void => {
    if (count > 0) sentences.push(`${counted(count, 'client')} ${count === 1 ? one : many}.`);
  };
  add(classes['field-work'], 'has fields to change', 'have fields to change');
  add(classes['unwrap-only'], 'only has to drop the wrapper', 'only have to drop the wrapper');
  add(classes['url-only'], 'only has to change the address', 'only have to change the address');
  add(classes.unknown, 'has work that is not known yet', 'have work that is not known yet');
  const active = clients.filter((client) => client.class !== 'gone');
  add(
    active.filter((client) => client.invalidVersions > 0).length,
    'sends an x-api-version that is not a date',
    'send an x-api-version that is not a date',
  );
  add(
    active.filter((client) => client.futureVersions > 0).length,
    'sends an x-api-version of a day still to come, which is no pin',
    'send an x-api-version of a day still to come, which is no pin',
  );
  const keyless = active.find((client) => client.client === '-');
  if (keyless !== undefined)
    sentences.push(
      `${counted(keyless.v1, 'V1 request')} had no API key, so ${keyless.v1 === 1 ? 'its client is' : 'their clients are'} unknown.`,
    );
  return sentences;
}
