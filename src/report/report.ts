import { NO_KEY } from '../rewrite-log/entry.ts';
import type { Ends, Rollout } from '../rules/rollout.ts';
import type { Census, CensusRules, OpenApiNames } from './census.ts';
import {
  bodyChecksOf,
  CLASSES,
  type ClientClass,
  type ClientReport,
  clientReport,
  dayBefore,
} from './client-report.ts';
import {
  callsAfterEnd,
  type Ending,
  endingsOf,
  type NewClient,
  newClientsOf,
  rotatedKeys,
} from './endings.ts';
import type { LogCoverage, LogGap } from './log-gaps.ts';
import type { ShadowView } from '../rollout/comparison-tally.ts';
import type { ReportCoverage, ReportTally } from './report-totals.ts';
import type { BodyCheckCounts } from './tally/outcomes.ts';
import type { Span } from './tally/span.ts';
import { DAY_MS, dayNumber, type DayRhythm } from './tally/time-slots.ts';
import {
  capital,
  fittingOperations,
  type FittedBook,
  clientName,
  countedClients,
  namedClients,
} from './text.ts';
import { GONE_AFTER_DAYS, isGoneForAll } from '../rules/rollout.ts';
import { isInScope } from '../rollout/modes-in-force.ts';
import { count as number, counted } from '../rules/words.ts';

/** Traffic of one day (UTC), for the burn-down. */
export interface ReportDay {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly v1: number;
  readonly v2: number;
  /** Clients that used V1 that day, without those that send no key. */
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
  /** Number of clients by class, without those that send no key. */
  readonly classes: Readonly<Record<ClientClass, number>>;
  readonly days: readonly ReportDay[];
  /** Remaining work before V1 can be switched off, in sentences. */
  readonly remaining: readonly string[];
  /** True when V1 was used and every condition of `switchOff` is met. */
  readonly canSwitchOff: boolean;
  readonly switchOff: SwitchOff;
  /** Operations and changes that end before the rest of V1; absent if the rule book has none, or was not read. */
  readonly endings?: readonly Ending[];
  /** Clients that are new to V1; absent without any, or if the rule book has no `newcomers`. */
  readonly newcomers?: readonly NewClient[];
  /** The time that each log covers; absent if the gateway itself observed. */
  readonly logs?: readonly LogCoverage[];
  /** Times without entries in the log of a replica while another has entries, or without counts of replicas. */
  readonly gaps?: readonly LogGap[];
  /** Whose traffic is counted; absent for logs. */
  readonly coverage?: Omit<ReportCoverage, 'gaps' | 'since'>;
  readonly census: Census;
  /** The differences between V1 and V2 in the reads that `verify` compared, by operation; absent if it compared none. */
  readonly drift?: readonly ShadowView[];
  /** Lines that look like parts of entries, but are not. */
  readonly unreadable: number;
  /** Requests of clients beyond the limit. */
  readonly omittedClients: number;
}

interface ReportOptions {
  /** Time of the report, RFC 3339. */
  readonly now: string;
  /** Time that the gateway itself observed, RFC 3339; without it, only entries show what was observed. */
  readonly observed?: { readonly since: string; readonly until: string } | undefined;
  readonly logs?: readonly LogCoverage[] | undefined;
  readonly gaps?: readonly LogGap[] | undefined;
  /** Whose traffic the tally counts, if gateways count it themselves. */
  readonly coverage?: ReportCoverage | undefined;
  /** The reads that `verify` compared, if gateways count them themselves. */
  readonly drift?: readonly ShadowView[] | undefined;
  /** Names in V2's OpenAPI description, for the census. */
  readonly schema?: OpenApiNames | undefined;
  /** Hash of the rule book in force, whose dry runs count; without it, the one of the latest dry run. */
  readonly ruleBook?: string | undefined;
  /** Its rules, for the census; without them, the rules that edited the requests count. */
  readonly rules?: CensusRules | undefined;
  /** The operations of the rule book, for calls that fitted none before. */
  readonly operations?: FittedBook | undefined;
  /** Defaults to 14. */
  readonly goneAfterDays?: number | undefined;
  /** Display names by client hash. */
  readonly names?: ReadonlyMap<string, string> | undefined;
  /** What their latest `User-Agent` calls clients without a name, by hash, as far as it is known. */
  readonly agents?: ReadonlyMap<string, string> | undefined;
  /** Ends before that of V1. */
  readonly ends?: Ends | undefined;
  /** The end of V1 by the rule book. */
  readonly end?: Pick<Rollout, 'signals' | 'gone'> | undefined;
  readonly unreadable?: number | undefined;
  /** Logs that have entries, but none of level `info`. */
  readonly withoutInfo?: readonly string[] | undefined;
  /** Entries dated after `now`, which are not in the tally. */
  readonly later?: Readonly<Span> | undefined;
}

/** Clients per step: one with full tables takes about 60 µs. */
const CLIENTS_PER_STEP = 50;

const SENTENCES = {
  yes: 'V1 can be switched off: every client that it served is gone.',
  no: 'V1 is still needed.',
  unknown: 'Whether V1 can be switched off is not known.',
} as const;

/** The same after the end of V1, for the clients that the sunset spares. */
const SENTENCES_AFTER_END = {
  yes: 'V1 can be switched off: it has ended, and no client that the sunset spares calls it.',
  no: 'V1 has ended, but is still needed by clients that the sunset spares.',
  unknown:
    'V1 has ended; whether it can be switched off for the clients that the sunset spares is not known.',
} as const;

/** Clients named in a sentence. */
const MAX_NAMED = 3;

/** Tolerance for different clocks of replicas. */
const CLOCKS_DIFFER_MS = 60_000;

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

function* reportSteps(tally: ReportTally, options: ReportOptions): Generator<undefined, Report, undefined> {
  const goneAfterDays = options.goneAfterDays ?? GONE_AFTER_DAYS;
  const { now, observed, coverage } = options;
  const operationOf = options.operations && fittingOperations(options.operations);
  const clock = {
    now: Date.parse(now),
    goneAfterDays,
    allV1: tally.v1,
    ruleBook: options.ruleBook,
    operationOf,
  };
  const clients: ClientReport[] = [];
  const rhythms = new Map<string, DayRhythm>();
  const checks = new Map<string, BodyCheckCounts>();
  for (const [hash, client] of tally.clients) {
    if (client.v1.count === 0) continue;
    rhythms.set(hash, client.days.rhythm);
    const name = options.names?.get(hash);
    const agent = name === undefined && hash !== NO_KEY ? options.agents?.get(hash) : undefined;
    const made = clientReport(hash, client, clock, name);
    clients.push(agent === undefined ? made : { ...made, agent });
    if (options.ruleBook === undefined) checks.set(hash, client.bodyChecks);
    if (clients.length % CLIENTS_PER_STEP === 0) yield;
  }
  underLatestBook(clients, checks);
  const gaps = coverage?.gaps ?? options.gaps;
  clients.sort(
    (one, other) => CLASSES.indexOf(one.class) - CLASSES.indexOf(other.class) || other.v1 - one.v1,
  );
  const classes = {
    blocked: 0,
    gone: 0,
    unserved: 0,
    unknown: 0,
    'url-only': 0,
    'unwrap-only': 0,
    'field-work': 0,
  };
  for (const client of clients) if (client.client !== NO_KEY) classes[client.class] += 1;
  yield;
  const census = tally.census.result(
    options.schema,
    options.rules,
    new Map([...(options.agents ?? []), ...(options.names ?? [])]),
  );
  yield;
  const drift = options.drift ?? tally.drift?.list ?? [];
  const statement = switchOff({
    now,
    end: options.end,
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
    drift,
    isAmongReplicas: coverage !== undefined && coverage.kind !== 'gateway',
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
    // After the end of V1 no work is left.
    remaining: statement.verdict === 'ended' ? [] : remaining(sparedBy(options.end, now, clients)),
    canSwitchOff: statement.verdict === 'yes' || statement.verdict === 'ended',
    switchOff: statement,
    ...(options.ends === undefined ? {} : { endings: endingsOf(clients, options.ends, now) }),
    ...(clients.some(({ newcomer }) => newcomer !== undefined)
      ? {
          newcomers: newClientsOf(
            clients,
            rotatedKeys(clients, (hash) => rhythms.get(hash)),
          ),
        }
      : {}),
    ...(options.logs === undefined ? {} : { logs: options.logs }),
    ...(gaps === undefined ? {} : { gaps }),
    ...(coverage === undefined ? {} : { coverage: coverageOf(coverage) }),
    census,
    ...(drift.length === 0 ? {} : { drift }),
    unreadable: options.unreadable ?? 0,
    omittedClients: tally.omittedClients,
  };
}

/** Keeps only the dry runs under one rule book, that of the latest dry run of all clients, which is known after the last client. */
function underLatestBook(clients: ClientReport[], checks: ReadonlyMap<string, BodyCheckCounts>): void {
  let found: BodyCheckCounts['latest'];
  for (const { latest } of checks.values())
    if (latest !== undefined && (found === undefined || latest.last > found.last)) found = latest;
  for (const [at, client] of clients.entries()) {
    const counts = checks.get(client.client);
    if (counts !== undefined && counts.latest?.ruleBook !== found?.ruleBook)
      clients[at] = { ...client, bodyChecks: bodyChecksOf(counts.under(found?.ruleBook)) };
  }
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

function remaining(clients: readonly ClientReport[]): string[] {
  const sentences: string[] = [];
  const add = (some: readonly ClientReport[], one: string, many: string): void => {
    if (some.length > 0) sentences.push(`${capital(countedClients(hashesOf(some), one, many))}.`);
  };
  const ofClass = (wanted: ClientClass): readonly ClientReport[] =>
    clients.filter((client) => client.class === wanted);
  add(
    ofClass('blocked').filter(({ client }) => client !== NO_KEY),
    'makes calls that V2 refuses or does not have',
    'make calls that V2 refuses or does not have',
  );
  add(ofClass('field-work'), 'has fields to change', 'have fields to change');
  add(ofClass('unwrap-only'), 'only has to drop the wrapper', 'only have to drop the wrapper');
  add(ofClass('url-only'), 'only has to change the address', 'only have to change the address');
  // The last sentence is about clients without a key: no class counts them.
  add(
    ofClass('unknown').filter(({ client }) => client !== NO_KEY),
    'has work that is still unknown',
    'have work that is still unknown',
  );
  add(
    ofClass('unserved').filter(({ client }) => client !== NO_KEY),
    'calls only addresses that no service has; those calls can be removed',
    'call only addresses that no service has; those calls can be removed',
  );
  const active = clients.filter((client) => client.class !== 'gone');
  add(
    active.filter((client) => client.invalidVersions > 0),
    'sends an x-api-version that is not a date',
    'send an x-api-version that is not a date',
  );
  add(
    active.filter((client) => client.futureVersions > 0),
    'sends an x-api-version in the future, which does not pin a release',
    'send an x-api-version in the future, which does not pin a release',
  );
  const keyless = active.find((client) => client.client === NO_KEY);
  if (keyless !== undefined)
    sentences.push(
      `${counted(keyless.v1, 'V1 request')} had no API key, so ${keyless.v1 === 1 ? 'its client is' : 'their clients are'} unknown.`,
    );
  return sentences;
}

/** One condition of switching V1 off, as it was at the time of the report. */
interface Condition {
  readonly state: 'met' | 'not-met' | 'unknown';
  /** A sentence with counts and dates. */
  readonly text: string;
}

/** The statement about switching V1 off. */
export interface SwitchOff {
  /** Time at which the conditions were checked, RFC 3339. */
  readonly at: string;
  readonly verdict: 'yes' | 'no' | 'unknown' | 'nothing-seen' | 'ended';
  readonly sentence: string;
  readonly conditions: readonly Condition[];
}

/** Facts that the statement rests on. */
interface SwitchOffFacts {
  /** RFC 3339. */
  readonly now: string;
  /** The end of V1 by the rule book, which may be to come. */
  readonly end?: ReportOptions['end'];
  /** 1 or more. */
  readonly goneAfterDays: number;
  /** Every client that ever used V1. */
  readonly clients: readonly ClientReport[];
  /** Time that was observed, RFC 3339; absent if none was. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** Days since 1970 that have an entry; absent when the gateway itself observed all the time. */
  readonly days?: ReadonlySet<number> | undefined;
  /** Times without entries in logs of replicas. */
  readonly gaps: readonly LogGap[];
  /** Entries dated after `now`, which are not counted otherwise; absent if the gateway itself observed. */
  readonly later?: Readonly<Span> | undefined;
  /** Time of the latest entry that the gateway itself observed, RFC 3339; absent for logs. */
  readonly latest?: string | undefined;
  readonly unreadable: number;
  readonly omittedClients: number;
  /** Requests that the gateway could not read. */
  readonly unread: Readonly<Span>;
  /** Logs without an entry of level `info`. */
  readonly withoutInfo: readonly string[];
  readonly drift: readonly ShadowView[];
  /** True if other replicas compare reads that are not in `drift`. */
  readonly isAmongReplicas: boolean;
}

/** States whether V1 can be switched off, with every condition that was checked. */
function switchOff(facts: SwitchOffFacts): SwitchOff {
  const { now, end } = facts;
  const endedAt = end && endOf(end, now);
  if (endedAt !== undefined && isGoneForAll(end?.gone)) return afterEnd(endedAt, facts);
  const clients = sparedBy(end, now, facts.clients);
  const statement = whileServed({ ...facts, clients });
  if (endedAt === undefined || facts.clients.length === 0) return statement;
  const late = callsAfterEnd(
    endedAt,
    facts.clients.filter((client) => !clients.includes(client)),
  );
  const verdict = statement.verdict === 'nothing-seen' ? 'yes' : statement.verdict;
  return {
    ...statement,
    verdict,
    sentence: SENTENCES_AFTER_END[verdict],
    conditions: [...statement.conditions, ...(late === undefined ? [] : [notMet(late.sentence)])],
  };
}

/** The end of V1 (milliseconds since 1970), if it is past and requests get 410 since. */
function endOf({ signals, gone }: NonNullable<ReportOptions['end']>, now: string): number | undefined {
  const { sunset } = signals ?? {};
  return gone !== undefined && sunset !== undefined && sunset <= Date.parse(now) ? sunset : undefined;
}

/** The clients for which V1 has not ended. */
function sparedBy(
  end: ReportOptions['end'],
  now: string,
  clients: readonly ClientReport[],
): readonly ClientReport[] {
  const { gone } = end ?? {};
  if (end === undefined || gone === undefined || endOf(end, now) === undefined) return clients;
  return clients.filter(
    ({ client }) =>
      !isInScope(gone, { client: client === NO_KEY ? undefined : client, operation: undefined }),
  );
}

/** The statement while V1 is served to all clients, or to these. */
function whileServed(
  facts: SwitchOffFacts,
): SwitchOff & { readonly verdict: Exclude<SwitchOff['verdict'], 'ended'> } {
  const { now, clients } = facts;
  const isSeen = clients.length > 0;
  const checked = isSeen
    ? [silence, pauses, coverage, completeness, driftOf, unread, failuresOnly]
    : [leftOut, unread, failuresOnly];
  const conditions = checked.flatMap((check) => check(facts) ?? []);
  if (!isSeen)
    return { at: now, verdict: 'nothing-seen', sentence: 'No V1 request was seen yet.', conditions };
  const has = (state: Condition['state']): boolean =>
    conditions.some((condition) => condition.state === state);
  const verdict = has('not-met') ? 'no' : has('unknown') ? 'unknown' : 'yes';
  return { at: now, verdict, sentence: SENTENCES[verdict], conditions };
}

function afterEnd(endedAt: number, { now, clients }: SwitchOffFacts): SwitchOff {
  const late = callsAfterEnd(endedAt, clients);
  return {
    at: now,
    verdict: 'ended',
    sentence: late === undefined ? 'V1 has ended, and no client has called it since.' : 'V1 has ended.',
    conditions: late === undefined ? [] : [notMet(late.sentence)],
  };
}

function met(text: string): Condition {
  return { state: 'met', text };
}

function notMet(text: string): Condition {
  return { state: 'not-met', text };
}

function unknown(text: string): Condition {
  return { state: 'unknown', text };
}

function silence({ clients, now, goneAfterDays, end }: SwitchOffFacts): Condition {
  const from = dayBefore(now, goneAfterDays);
  const calling = clients.filter(({ lastSeen }) => lastSeen >= from);
  // They lose nothing that works.
  const unserved = calling.filter(isUnserved);
  const days = goneAfterDays === 1 ? 'day' : `${goneAfterDays} days`;
  const spared = end !== undefined && endOf(end, now) !== undefined ? ' that the sunset spares' : '';
  const who = `${capital(countedClients(hashesOf(calling)))}${spared} called V1 in the last ${days}`;
  const nowhere = 'only at addresses that no service has';
  if (unserved.length < calling.length) {
    const some =
      unserved.length === 0
        ? ''
        : ` Of these, ${countedClients(hashesOf(unserved), 'called', 'called')} it ${nowhere}: ${namedClients(unserved, MAX_NAMED)}.`;
    return notMet(`${who}: ${named(calling)}.${some}`);
  }
  if (calling.length > 0) return met(`${who}, ${nowhere}: ${named(calling)}.`);
  const last = clients.reduce((latest, { lastSeen }) => (lastSeen > latest ? lastSeen : latest), '');
  return met(`No V1 request for ${counted(goneAfterDays, 'day')}: the last one was at ${last}.`);
}

function isUnserved({ class: kind }: ClientReport): boolean {
  return kind === 'unserved';
}

/** Whether silent clients may come back; no condition if none is silent. */
function pauses({ clients, goneAfterDays }: SwitchOffFacts): Condition | undefined {
  const silent = clients.filter((one) => one.silentDays >= goneAfterDays && !isUnserved(one));
  if (silent.length === 0) return undefined;
  const waiting = silent.filter((client) => client.class !== 'gone');
  if (waiting.length === 0)
    return met('Every silent client has been silent for longer than its earlier pauses.');
  return unknown(
    `${capital(countedClients(hashesOf(waiting)))} may come back, having paused for as long before or having been seen only briefly: ${named(waiting)}.`,
  );
}

function coverage(facts: SwitchOffFacts): Condition {
  const { since, until, days, gaps, now, goneAfterDays } = facts;
  const later = leftOut(facts);
  if (later !== undefined) return later;
  const from = dayBefore(now, goneAfterDays);
  if (since === undefined || until === undefined || since > from) {
    return unknown(
      `${days === undefined ? 'Counting began' : 'The log begins'} at ${since ?? '–'}, less than ${counted(goneAfterDays, 'day')} ago.`,
    );
  }
  if (until < dayBefore(now, 1)) return unknown(`The log ends at ${until}; traffic since then is not in it.`);
  const missing = days === undefined ? [] : missingDays(days, from, now);
  if (missing.length > 0) {
    return unknown(
      `The log has no entry on ${number(missing.length)} of the last ${number(goneAfterDays)} days, such as ${missing[0]}.`,
    );
  }
  const [gap, ...more] = gaps.filter((one) => one.until > from);
  if (gap !== undefined) {
    const others = more.length === 0 ? '' : ` The same applies to ${counted(more.length, 'more gap')}.`;
    return unknown(`${gap.sentence} It is unknown whether there was traffic then.${others}`);
  }
  return met(
    `${days === undefined ? 'The counts cover' : 'The log covers'} the time from ${since} to ${until}.`,
  );
}

/** A clock was wrong, or the report is for a time in the past: the last entry does not show when the log ends. */
function leftOut({ later, latest, now }: SwitchOffFacts): Condition | undefined {
  if (latest !== undefined && Date.parse(latest) - Date.parse(now) > CLOCKS_DIFFER_MS) {
    return unknown(`The latest request is dated ${latest}, after the time of the report: a clock was wrong.`);
  }
  if (later === undefined || later.count === 0) return undefined;
  const { count, last } = later;
  const dated =
    count === 1
      ? 'is dated after the time of the report, at'
      : 'are dated after the time of the report, the latest at';
  return unknown(`${counted(count, 'entry', 'entries')} ${dated} ${last}, and left out.`);
}

/** Whole days between two times without any entry. */
function missingDays(days: ReadonlySet<number>, from: string, now: string): string[] {
  const missing: string[] = [];
  for (let day = (dayNumber(from) ?? 0) + 1; day < (dayNumber(now) ?? 0); day += 1)
    if (!days.has(day)) missing.push(new Date(day * DAY_MS).toISOString().slice(0, 10));
  return missing;
}

function completeness({ unreadable, omittedClients, days, clients }: SwitchOffFacts): Condition {
  const every = clients.some(({ client }) => client === NO_KEY) ? 'every client with a key' : 'every client';
  if (unreadable === 0 && omittedClients === 0)
    return met(
      days === undefined
        ? `${capital(every)} is counted.`
        : `Every line was read, and ${every} in it is counted.`,
    );
  const parts = [
    unreadable === 0 ? '' : `${counted(unreadable, 'line')} could not be read`,
    omittedClients === 0 ? '' : `${counted(omittedClients, 'request')} came from clients beyond the limit`,
  ];
  return unknown(`${parts.filter((part) => part !== '').join(', and ')}.`);
}

/**
 * Reads with different responses of V1 and V2: their clients would read something else, and after the end of V1 this can no longer be
 * compared.
 */
function driftOf({ drift, isAmongReplicas }: SwitchOffFacts): Condition | undefined {
  const whose = isAmongReplicas ? ' Other replicas compare other reads.' : '';
  const sum = (of: 'same' | 'different' | 'unknown'): number =>
    drift.reduce((total, { [of]: reads }) => total + reads, 0);
  const [different, compared] = [sum('different'), sum('same') + sum('different')];
  if (compared + sum('unknown') === 0) return undefined;
  if (compared === 0) {
    return unknown(
      `Verify compared none of ${counted(sum('unknown'), 'read')}: it is unknown whether V2 drifts from V1.${whose}`,
    );
  }
  if (different === 0) return met(`Verify found no difference in ${counted(compared, 'read')}.${whose}`);
  const places = drift
    .flatMap(({ operation = 'other calls', fields }) =>
      fields.map(({ path, kind, count }) => ({ count, words: `${operation} at ${path || '/'} (${kind})` })),
    )
    .sort((one, other) => other.count - one.count);
  const listed = places.slice(0, MAX_NAMED).map(({ words }) => words);
  const more = places.length > MAX_NAMED ? ` and ${counted(places.length - MAX_NAMED, 'more place')}` : '';
  const where = listed.length === 0 ? '' : `: ${listed.join(', ')}${more}`;
  return notMet(
    `V2 and V1 differed in ${number(different)} of ${counted(compared, 'verified read')}${where}.${whose}`,
  );
}

/** Unreadable requests of the days that decide, whose path and client are unknown. */
function unread({ unread: { count, last }, now, goneAfterDays }: SwitchOffFacts): Condition | undefined {
  if (count === 0 || last < dayBefore(now, goneAfterDays)) return undefined;
  return unknown(
    `${counted(count, 'request')} could not be read, the last at ${last}: it is unknown whether V1 clients sent ${count === 1 ? 'it' : 'them'}.`,
  );
}

/** A log filtered to `warn` looks complete, but has no request that succeeded. */
function failuresOnly({ withoutInfo: [log, ...more] }: SwitchOffFacts): Condition | undefined {
  if (log === undefined) return undefined;
  const others = more.length === 0 ? '' : ` The same applies to ${counted(more.length, 'more log')}.`;
  return unknown(
    `The log of ${log} has only failures, as if filtered by level: other requests are not in it.${others}`,
  );
}

function hashesOf(clients: readonly ClientReport[]): readonly string[] {
  return clients.map(({ client }) => client);
}

function named(clients: readonly ClientReport[]): string {
  const latest = [...clients].sort((one, other) => (one.lastSeen < other.lastSeen ? 1 : -1));
  return namedClients(latest, MAX_NAMED, (one) => `${clientName(one)} at ${one.lastSeen}`);
}
