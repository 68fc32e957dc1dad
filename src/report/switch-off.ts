import { type ClientReport, dayBefore } from './client-report.ts';
import type { LogGap } from './gaps/log-gaps.ts';
import { dayNumber } from './tally/active-days.ts';
import { counted } from './text/number-text.ts';
import type { Span } from './tally/span.ts';

/** One condition of switching V1 off, as it was at the time of the report. */
export interface Condition {
  readonly state: 'met' | 'not-met' | 'unknown';
  /** A sentence with counts and dates. */
  readonly text: string;
}

/** The statement about switching V1 off. */
export interface SwitchOff {
  /** Time at which the conditions were checked, RFC 3339. */
  readonly at: string;
  readonly verdict: 'yes' | 'no' | 'unknown' | 'nothing-seen';
  readonly sentence: string;
  readonly conditions: readonly Condition[];
}

/** Facts that the statement rests on. */
export interface SwitchOffFacts {
  /** RFC 3339. */
  readonly now: string;
  /** 1 or more: silence of no time says nothing. */
  readonly goneAfterDays: number;
  /** Every client that ever used V1. */
  readonly clients: readonly ClientReport[];
  /** Time that was observed, RFC 3339; absent when nothing was. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** Days since 1970 that have an entry; absent when the gateway itself observed all the time. */
  readonly days?: ReadonlySet<number> | undefined;
  /** Times that the logs of replicas lack. */
  readonly gaps: readonly LogGap[];
  /** Entries dated after `now`, which nothing else counts; absent when the gateway itself observed. */
  readonly later?: Readonly<Span> | undefined;
  /** Time of the latest entry that the gateway itself observed, RFC 3339; absent for logs. */
  readonly latest?: string | undefined;
  readonly unreadable: number;
  readonly omittedClients: number;
  /** Requests that the gateway could not read. */
  readonly unread: Readonly<Span>;
  /** Logs without an entry of level `info`. */
  readonly withoutInfo: readonly string[];
}

/** States whether V1 can be switched off, with every condition that was checked. */
export function switchOff(facts: SwitchOffFacts): SwitchOff {
  const { now, clients } = facts;
  if (clients.length === 0)
    return {
      at: now,
      verdict: 'nothing-seen',
      sentence: 'No V1 request was seen yet.',
      conditions: [...leftOut(facts), ...unread(facts), ...failuresOnly(facts)],
    };
  const conditions = [
    silence(facts),
    pauses(facts),
    coverage(facts),
    completeness(facts),
    ...unread(facts),
    ...failuresOnly(facts),
  ];
  const isMet = (state: Condition['state']): boolean =>
    conditions.some((condition) => condition.state === state);
  const verdict = isMet('not-met') ? 'no' : isMet('unknown') ? 'unknown' : 'yes';
  return { at: now, verdict, sentence: SENTENCES[verdict](now.slice(0, 10)), conditions };
}

const SENTENCES = {
  yes: (day: string) => `V1 can be switched off: every client that used it is gone, as of ${day}.`,
  no: (day: string) => `V1 is still needed, as of ${day}.`,
  unknown: (day: string) => `Whether V1 can be switched off is not known, as of ${day}.`,
} as const;

/** Clients named in a sentence. */
const MAX_NAMED = 3;

function silence({ clients, now, goneAfterDays }: SwitchOffFacts): Condition {
  const from = dayBefore(now, goneAfterDays);
  const recent = clients.filter(({ lastSeen }) => lastSeen >= from);
  if (recent.length === 0) {
    const last = clients.reduce((latest, { lastSeen }) => (lastSeen > latest ? lastSeen : latest), '');
    return {
      state: 'met',
      text: `No V1 request for ${counted(goneAfterDays, 'day')}: the last one was at ${last}.`,
    };
  }
  return {
    state: 'not-met',
    text: `${counted(recent.length, 'client')} used V1 in the last ${goneAfterDays === 1 ? 'day' : `${goneAfterDays} days`}: ${named(recent)}.`,
  };
}

function pauses({ clients, goneAfterDays }: SwitchOffFacts): Condition {
  const waiting = clients.filter((client) => client.class !== 'gone' && client.silentDays >= goneAfterDays);
  if (waiting.length === 0)
    return { state: 'met', text: 'Every silent client has been silent for longer than its earlier pauses.' };
  return {
    state: 'unknown',
    text: `${counted(waiting.length, 'client')} may come back, having paused for as long before or being seen only briefly: ${named(waiting)}.`,
  };
}

function coverage(facts: SwitchOffFacts): Condition {
  const { since, until, days, gaps, now, goneAfterDays } = facts;
  const [later] = leftOut(facts);
  if (later !== undefined) return later;
  const from = dayBefore(now, goneAfterDays);
  if (since === undefined || until === undefined || since > from) {
    return {
      state: 'unknown',
      text: `The log begins at ${since ?? '–'}, later than ${counted(goneAfterDays, 'day')} ago.`,
    };
  }
  if (until < dayBefore(now, 1))
    return { state: 'unknown', text: `The log ends at ${until}; traffic since then is not in it.` };
  const missing = days === undefined ? [] : missingDays(days, from, now);
  if (missing.length > 0) {
    return {
      state: 'unknown',
      text: `The log has no entry of ${counted(missing.length, 'day')} of the last ${goneAfterDays}, such as ${missing[0]}.`,
    };
  }
  const [gap, ...more] = gaps.filter((one) => one.until > from);
  if (gap !== undefined) {
    const others = more.length === 0 ? '' : ` The same applies to ${counted(more.length, 'more gap')}.`;
    return {
      state: 'unknown',
      text: `${gap.sentence} Its traffic of that time, if any, is not known.${others}`,
    };
  }
  return { state: 'met', text: `The log covers the time from ${since} to ${until}.` };
}

/** Clocks of replicas are not quite the same. */
const CLOCKS_DIFFER_MS = 60_000;

/** A clock that was wrong, or a time of the report that lies in the past: the times of the log do not tell its end. */
function leftOut({ later, latest, now }: SwitchOffFacts): Condition[] {
  if (latest !== undefined && Date.parse(latest) - Date.parse(now) > CLOCKS_DIFFER_MS) {
    const text = `The latest request is dated ${latest}, after the time of the report: a clock was wrong.`;
    return [{ state: 'unknown', text }];
  }
  if (later === undefined || later.count === 0) return [];
  const { count, last } = later;
  const dated =
    count === 1
      ? 'is dated after the time of the report, at'
      : 'are dated after the time of the report, the latest at';
  const text = `${counted(count, 'entry', 'entries')} ${dated} ${last}, and left out.`;
  return [{ state: 'unknown', text }];
}

/** Whole days between two times without any entry. */
function missingDays(days: ReadonlySet<number>, from: string, now: string): string[] {
  const missing: string[] = [];
  for (let day = (dayNumber(from) ?? 0) + 1; day < (dayNumber(now) ?? 0); day += 1)
    if (!days.has(day)) missing.push(new Date(day * 86_400_000).toISOString().slice(0, 10));
  return missing;
}

function completeness({ unreadable, omittedClients }: SwitchOffFacts): Condition {
  if (unreadable === 0 && omittedClients === 0)
    return { state: 'met', text: 'Every line was read, and every client in it is counted.' };
  return {
    state: 'unknown',
    text: `${counted(unreadable, 'line')} could not be read, and ${counted(omittedClients, 'request')} came from clients beyond the limit.`,
  };
}

/** Requests of the time that decides which could not be read have no path and no client. */
function unread({ unread: { count, last }, now, goneAfterDays }: SwitchOffFacts): Condition[] {
  if (count === 0 || last < dayBefore(now, goneAfterDays)) return [];
  const text = `${counted(count, 'request')} could not be read, the last at ${last}: whether V1 clients sent ${count === 1 ? 'it' : 'them'} is not known.`;
  return [{ state: 'unknown', text }];
}

/** A log from `warn` on looks complete, but has no request that succeeded. */
function failuresOnly({ withoutInfo: [log, ...more] }: SwitchOffFacts): Condition[] {
  if (log === undefined) return [];
  const others = more.length === 0 ? '' : ` The same applies to ${counted(more.length, 'more log')}.`;
  const text = `The log of ${log} has failures only, as GATEWAY_REWRITE_LOG_LEVEL=warn makes it: requests without one are not in it.${others}`;
  return [{ state: 'unknown', text }];
}

function named(clients: readonly ClientReport[]): string {
  const latest = [...clients].sort((one, other) => (one.lastSeen < other.lastSeen ? 1 : -1));
  const names = latest.slice(0, MAX_NAMED).map(({ client, name, lastSeen }) => {
    const who = name ?? (client === '-' ? 'requests without a key' : client);
    return `${who} at ${lastSeen}`;
  });
  const more = clients.length - names.length;
  return more === 0 ? names.join(', ') : `${names.join(', ')} and ${counted(more, 'other')}`;
}
