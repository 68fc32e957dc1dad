import type { Answer } from '../rewrite-log/answers.ts';
import type { TallyEntry } from '../report/tally/tally-entry.ts';
import {
  callName,
  clientOf,
  errorValue,
  isOfClients,
  isOutage,
  isUnfit,
  NO_KEY,
  OTHER_CALLS,
  statusFrom,
} from '../rewrite-log/entry.ts';
import { printFilter } from '../rewrite-log/filter.ts';
import type { IsAsked } from '../rewrite-log/history.ts';
import { PAUSE_MS } from '../rewrite-log/service-outages.ts';
import { type OperationTrouble, RECOVERED } from '../rewrite-log/health/trouble.ts';
import { UnfitCalls } from '../rewrite-log/health/unfit-calls.ts';

/**
 * `new`: first seen within the last hour; `again`: back after it was over; `lasting`: for more than an hour; `over`: ended within the last
 * hour, as responses show; `off-v1`, `off-v2`: that service got no more of these requests in the last hour, and nothing shows that it is well.
 */
export type ProblemState = 'new' | 'again' | 'lasting' | 'over' | 'off-v1' | 'off-v2';

/** Requests with the same failure. Each failed request belongs to one problem. */
export interface Problem {
  /** Absent for requests that the rule book does not name, and for those of V2's own clients. */
  readonly operation?: string;
  /** The name (`callName`) of a V1 call that no operation fits. */
  readonly call?: string;
  /** The unreachable service, if requests of several operations failed for that one cause. */
  readonly service?: 'v1' | 'v2';
  readonly operations?: number;
  /** True if such an outage failed requests that no operation fits as well, or V2's own clients. */
  readonly hasOthers?: true;
  /** The failures of such an outage by code, the most frequent first. */
  readonly parts?: readonly ProblemPart[];
  /** The side that chose the status. */
  readonly by: 'v1' | 'v2' | 'gateway';
  readonly status: number;
  /** Code of a failure that the gateway found. */
  readonly code?: string;
  /** The first place that the response names. */
  readonly pointer?: string;
  /**
   * The first text of the service's errors, with `#` in place of numbers that differ; absent if bodies are not captured. If the service
   * did not respond, the cause, such as `ECONNREFUSED`.
   */
  readonly message?: string;
  /** One of these texts, with its numbers; absent without numbers. */
  readonly example?: string;
  /** `severe`: a 5xx or an incomplete response; `refusal`: a refusal that clients did not get from V1. */
  readonly severity: 'severe' | 'refusal';
  readonly state: ProblemState;
  /** Number of failed requests since it was first seen, and of clients with a key among them. */
  readonly count: number;
  readonly clients: number;
  /** True if some of the requests have no key, so that their clients cannot be counted. */
  readonly isKeyless?: true;
  /** The hash of the only client, and its name; absent for several clients, or for requests without a key. */
  readonly client?: string;
  readonly name?: string;
  /**
   * RFC 3339: the start of the first failed request ever, and of the first since it was over before; the end of the last one; and the first
   * response after it, once it is over.
   */
  readonly firstSeen: string;
  readonly since: string;
  readonly lastSeen: string;
  readonly until?: string;
  /** Failures by minute in the last hour, oldest first. */
  readonly trend: readonly number[];
  /** A filter that finds their exchanges. */
  readonly filter: string;
  /** Number of its kept exchanges that the requested filter matches; absent without a requested filter. */
  readonly matching?: number;
  /** True if `filter`, and with it `matching`, also finds exchanges of other problems, with the same operation and status. */
  readonly isShared?: true;
}

/** Failures of one outage with the same code. */
export interface ProblemPart {
  readonly code: string;
  readonly status: number;
  readonly count: number;
  /** Finds their exchanges. */
  readonly filter: string;
}

/** Failed requests of problems that are new or back, the calls that failed, and since when: milliseconds since 1970. */
export interface FreshFailures {
  readonly requests: number;
  readonly calls: readonly string[];
  readonly since: number;
}

/** The problems of this gateway. */
export interface ProblemsView {
  /** RFC 3339; nothing is known about the time before. */
  readonly since: string;
  /** Problems that are over are last; the others are sorted by severity, then newest first. */
  readonly problems: readonly Problem[];
  /** Number of failed requests in further problems. */
  readonly omitted: number;
}

/** Maximum problems that are distinguished, of calls that no operation fits, and of clients that are counted per problem. */
const MAX_PROBLEMS = 300;
const MAX_CALLS = 50;
const MAX_CLIENTS = 1000;

/** A problem is over after {@link RECOVERED} responses of the operation without it, and after this many times its longest pause. */
const PAUSE_FACTOR = 2;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const TREND = 60;

/** Milliseconds without a failure after which a problem is no longer reported, even if no success has shown that it is over. */
const LASTING_MS = 24 * HOUR_MS;

/** Characters of a message. */
const MAX_MESSAGE = 200;

/** Pieces of a message in a filter. */
const MAX_PIECES = 5;

interface Kind extends Pick<
  Problem,
  'operation' | 'call' | 'service' | 'by' | 'status' | 'code' | 'pointer' | 'message' | 'example' | 'severity'
> {
  /** The service that did not respond to the operation; the problem becomes part of an outage of that service at the same time. */
  readonly silent?: 'v1' | 'v2';
}

/** The problems of a log, to be added to those of a run that began after it. Times are milliseconds since 1970. */
export interface ProblemsData {
  readonly groups: readonly (Pick<
    Group,
    | 'kind'
    | 'count'
    | 'pause'
    | 'isOfClients'
    | 'first'
    | 'since'
    | 'last'
    | 'isAgain'
    | 'leftAt'
    | 'firstWell'
    | 'wellsAtLast'
  > & {
    readonly name: string;
    readonly clients: readonly string[];
    readonly operations: readonly string[];
    readonly codes: readonly (readonly [code: string, counts: CodeCounts])[];
    readonly minutes: readonly (readonly [minute: number, count: number])[];
  })[];
  /** Responses that did not fail, by operation. */
  readonly wells: readonly (readonly [name: string, count: number])[];
  readonly omitted: number;
}

interface CodeCounts {
  readonly status: number;
  readonly count: number;
}

/** The responses of one operation that did not fail. */
interface Wells {
  count: number;
  /** Problems without a successful response since their last failure. */
  readonly awaiting: Set<Group>;
}

interface Group {
  kind: Kind;
  readonly wells: Wells;
  count: number;
  /** Maximum successful responses between two of its failures since it began; many if one client among hundreds always fails. */
  pause: number;
  /** Clients (`clientOf`), and calls; empty for those of V2's own clients. */
  readonly clients: Set<string>;
  readonly operations: Set<string>;
  /** Its failures by code; those without a code are counted together. */
  readonly codes: Map<string, CodeCounts>;
  /** False once a request of one of V2's own clients failed, since these go to V2 in every mode. */
  isOfClients: boolean;
  first: number;
  since: number;
  last: number;
  isAgain: boolean;
  /** When V2 got no requests of its calls any more after it failed: a later request that fails is another incident. */
  leftAt: number | undefined;
  firstWell: number | undefined;
  wellsAtLast: number;
  readonly minutes: Map<number, number>;
}

/** Groups failed requests by operation, failing side, status, place and message, and determines which groups are new and which are over. */
export class ProblemTally {
  private readonly groups = new Map<string, Group>();
  private readonly wells = new Map<string, Wells>();
  private readonly unfit = new UnfitCalls();
  private omitted = 0;
  /** The changes of modes of this run, while the log from before it is not read. */
  private readonly moves: { readonly isAsked: IsAsked; readonly time: number }[] = [];

  /** The counts, as data that can be sent from a thread. */
  get data(): ProblemsData {
    const names = new Map([...this.wells].map(([name, wells]) => [wells, name]));
    return {
      groups: [...this.groups.values()].map(({ wells, clients, operations, codes, minutes, ...group }) => ({
        ...group,
        name: names.get(wells) ?? '',
        clients: [...clients],
        operations: [...operations],
        codes: [...codes],
        minutes: [...minutes],
      })),
      wells: [...this.wells].map(([name, { count: times }]) => [name, times]),
      omitted: this.omitted,
    };
  }

  /** Adds earlier counts: a continuing problem gets its earlier start, and one that was over is listed again. */
  learn({ groups, wells, omitted }: ProblemsData): void {
    this.omitted += omitted;
    const before = new Map(wells);
    // Successes in this run are later than those before it.
    for (const group of this.groups.values()) group.wellsAtLast += before.get(nameOf(this.wells, group)) ?? 0;
    for (const [name, times] of wells) {
      const known = this.wells.get(name) ?? { count: 0, awaiting: new Set() };
      known.count += times;
      this.wells.set(name, known);
    }
    for (const { name, clients, operations, codes, minutes, ...logged } of groups) {
      const known = this.wells.get(name);
      if (known === undefined) continue;
      const earlier: Group = {
        ...logged,
        leftAt: logged.leftAt ?? undefined,
        wells: known,
        clients: new Set(clients),
        operations: new Set(operations),
        codes: new Map(codes),
        minutes: new Map(minutes),
      };
      for (const { isAsked, time } of this.moves) leave(earlier, isAsked, time);
      const later = this.groups.get(keyOf(name, logged.kind)) ?? this.withMessage(name, logged.kind);
      if (later !== undefined) goOn(earlier, later, before.get(name) ?? 0);
      else if (this.groups.size < MAX_PROBLEMS) {
        this.groups.set(keyOf(name, logged.kind), earlier);
        if (earlier.firstWell === undefined) known.awaiting.add(earlier);
      }
    }
  }

  /** Finds the problem with a message for one from a log, which has none; undefined if several problems could be meant. */
  private withMessage(name: string, kind: Kind): Group | undefined {
    const wells = this.wells.get(name);
    const alike = [...this.groups.values()].filter(
      (group) =>
        group.wells === wells && keyOf(name, { ...group.kind, message: undefined }) === keyOf(name, kind),
    );
    return alike.length === 1 ? alike[0] : undefined;
  }

  /**
   * Counts an exchange that ended at `time` (milliseconds since 1970); a log has only the time of its beginning. `messageOf` returns the text
   * of the errors in its response; it is called for failures only.
   */
  add(
    entry: TallyEntry,
    time: number,
    answer: Answer,
    messageOf: () => string | undefined = () => undefined,
    began = time,
  ): void {
    if (answer === 'on-purpose' || answer === 'left' || entry.verdict === 'served') return;
    if (!isOfClients(entry)) return;
    // Nothing has failed yet.
    if (answer !== 'failed' && this.wells.size === 0) return;
    const call = this.callOf(entry, time, answer === 'failed');
    const name = wellsName(entry, call);
    const responded = statusFrom(entry);
    if (responded === 'v1' || responded === 'v2') this.addWell(serviceName(responded), time);
    if (answer !== 'failed') {
      this.addWell(name, time);
      const fitted = this.unfit.fittedBy(entry);
      if (fitted !== undefined) this.addWell(wellsName(entry, fitted), time, RECOVERED);
      return;
    }
    const kind = kindOf(entry, call, messageOf());
    const group = this.groupOf(
      kind,
      kind.service === undefined ? name : serviceName(kind.service),
      time,
      began,
    );
    if (group === undefined) {
      this.omitted += 1;
      return;
    }
    if (isUnfit(call)) this.unfit.add(call, entry.ruleBook, time);
    count(group, entry, call, time, began);
  }

  /** The operation of a request, or the name of its call; empty for V2's own clients. Only a failure takes the place of another call. */
  private callOf(entry: TallyEntry, time: number, failed: boolean): string {
    const { operation, route, method, path } = entry;
    if (operation !== undefined || route !== 'migrate') return operation ?? '';
    const call = callName(undefined, method, path);
    if (this.wells.has(wellsName(entry, call))) return call;
    const isFull = (): boolean =>
      [...this.wells.keys()].filter((name) => isUnfit(name.slice(name.indexOf(' ') + 1))).length >= MAX_CALLS;
    while (isFull())
      if (!failed || !this.forget(time, ({ kind }) => kind.call !== undefined)) return OTHER_CALLS;
    return call;
  }

  /**
   * The problems at `now` (milliseconds since 1970), without those that have been over for an hour. Failures of a service that is no longer
   * used count as over.
   */
  view(
    now: number,
    since: number,
    names: ReadonlyMap<string, string> = new Map(),
    isAsked: IsAsked = () => true,
  ): ProblemsView {
    const problems = withOutages([...this.groups.values()]).flatMap((group) => {
      const end = endOf(group, now);
      const until = end ?? untilOf(group, now, isAsked);
      const isListed = until === undefined ? now - group.last < LASTING_MS : now - until < HOUR_MS;
      const off = end === undefined && until !== undefined ? failingOf(group.kind) : undefined;
      return isListed ? [problemOf(group, now, until, off, names)] : [];
    });
    return {
      since: new Date(since).toISOString(),
      problems: problems.sort(
        (one, other) => rank(one) - rank(other) || (newest(one) < newest(other) ? 1 : -1),
      ),
      omitted: this.omitted,
    };
  }

  /** The failures of the problems that {@link view} lists as new or back, and that no trouble tells; undefined without any. */
  fresh(
    now: number,
    isAsked: IsAsked = () => true,
    told: readonly Pick<OperationTrouble, 'operation' | 'since' | 'until'>[] = [],
  ): FreshFailures | undefined {
    const groups = [...this.groups.values()].filter(
      (group) =>
        now - group.since < HOUR_MS && untilOf(group, now, isAsked) === undefined && !isTold(group, told),
    );
    if (groups.length === 0) return undefined;
    const inMinutes = ({ minutes, since }: Group): number =>
      [...minutes].reduce((sum, [minute, times]) => (minute >= minuteOf(since) ? sum + times : sum), 0);
    return {
      requests: groups.reduce((sum, group) => sum + inMinutes(group), 0),
      calls: [...new Set(groups.flatMap(({ operations }) => [...operations]))].sort(),
      since: Math.min(...groups.map(({ since }) => since)),
    };
  }

  /** Ends the problems of calls for which V2 gets no requests after a change of modes; undefined stands for calls that no operation fits. */
  move(goesToV2: (operation: string | undefined) => boolean, time: number): void {
    const isAsked: IsAsked = (service, call) =>
      service === 'v1' || goesToV2(isUnfit(call) ? undefined : call);
    this.moves.push({ isAsked, time });
    for (const group of this.groups.values()) leave(group, isAsked, time);
  }

  /** Counts a response of an operation or service as so many; without effect if it never failed. */
  private addWell(name: string, time: number, times = 1): void {
    const wells = this.wells.get(name);
    if (wells === undefined) return;
    wells.count += times;
    for (const group of wells.awaiting) group.firstWell = time;
    wells.awaiting.clear();
  }

  private groupOf(kind: Kind, name: string, time: number, began: number): Group | undefined {
    const key = keyOf(name, kind);
    const known = this.groups.get(key) ?? this.logged(key, name, kind);
    if (known !== undefined) {
      if (known.kind.message === undefined) known.kind = kind;
      return known;
    }
    if (this.groups.size >= MAX_PROBLEMS && !this.forget(time)) return undefined;
    const wells = this.wells.get(name) ?? { count: 0, awaiting: new Set() };
    this.wells.set(name, wells);
    const group: Group = {
      kind,
      wells,
      count: 0,
      pause: 0,
      clients: new Set(),
      operations: new Set(),
      codes: new Map(),
      isOfClients: true,
      first: began,
      since: began,
      last: time,
      isAgain: false,
      leftAt: undefined,
      firstWell: undefined,
      wellsAtLast: wells.count,
      minutes: new Map(),
    };
    this.groups.set(key, group);
    return group;
  }

  /** Finds the problem that began in a log, and so has no message; it gets the message of this first failure of the run. */
  private logged(key: string, name: string, kind: Kind): Group | undefined {
    if (kind.message === undefined) return undefined;
    const without = keyOf(name, { ...kind, message: undefined });
    const group = this.groups.get(without);
    if (group === undefined) return undefined;
    const named = { ...group, kind };
    this.groups.delete(without);
    this.groups.set(key, named);
    if (group.wells.awaiting.delete(group)) group.wells.awaiting.add(named);
    return named;
  }

  /** Forgets one of these problems that is over, and its operation or call with the last one. */
  private forget(time: number, isMeant: (group: Group) => boolean = () => true): boolean {
    for (const [key, group] of this.groups) {
      const { wells, kind, last } = group;
      if (!isMeant(group) || (overSince(group, time) === undefined && time - last < LASTING_MS)) continue;
      wells.awaiting.delete(group);
      this.groups.delete(key);
      if ([...this.groups.values()].some((other) => other.wells === wells)) return true;
      this.wells.delete(nameOf(this.wells, group));
      this.unfit.delete(kind.call ?? '');
      return true;
    }
    return false;
  }
}

function keyOf(
  name: string,
  {
    by,
    status,
    code,
    pointer,
    service,
    silent,
    message,
  }: Kind | (Omit<Kind, 'message'> & { readonly message: undefined }),
): string {
  // All failures to reach a service are one outage, with any code and place.
  return JSON.stringify(service === undefined ? [name, by, status, code, pointer, silent, message] : [name]);
}

/** The requests whose responses show that a failure is over: those to the same service. */
function wellsName({ route, origin }: TallyEntry, call: string): string {
  return `${origin ?? ''}${route} ${call}`;
}

function serviceName(service: 'v1' | 'v2'): string {
  return `service ${service}`;
}

function nameOf(all: ReadonlyMap<string, Wells>, { wells }: Group): string {
  for (const [name, known] of all) if (known === wells) return name;
  return '';
}

/** Adds earlier counts of a problem to later ones; the counts of successful responses have already been added. */
function goOn(earlier: Group, later: Group, wellsBefore: number): void {
  const { wells, wellsAtLast } = earlier;
  // Until the run began, only the responses in the log had been counted.
  const until = overSince({ ...earlier, wells: { ...wells, count: wellsBefore } }, later.since);
  const end = until ?? (later.first - earlier.last >= LASTING_MS ? earlier.last : undefined);
  const isBack = earlier.leftAt !== undefined && later.first >= earlier.leftAt;
  if (isBack || (end !== undefined && later.first - end >= PAUSE_MS)) later.isAgain = true;
  else {
    later.since = earlier.since;
    later.isAgain ||= earlier.isAgain;
    later.leftAt ??= earlier.leftAt;
    later.pause = Math.max(later.pause, earlier.pause, wellsBefore - wellsAtLast);
  }
  if (later.kind.message === undefined) later.kind = earlier.kind;
  later.first = earlier.first;
  later.count += earlier.count;
  later.isOfClients &&= earlier.isOfClients;
  for (const client of earlier.clients) if (later.clients.size < MAX_CLIENTS) later.clients.add(client);
  addSets(later, earlier);
}

/** Adds operations, codes and times to `sum`; clients have already been added. */
function addSets(
  sum: Pick<Group, 'operations' | 'codes' | 'minutes'>,
  { operations, codes, minutes }: Pick<Group, 'operations' | 'codes' | 'minutes'>,
): void {
  for (const operation of operations) sum.operations.add(operation);
  for (const [code, counts] of codes) addCode(sum.codes, code, counts);
  for (const [minute, times] of minutes) sum.minutes.set(minute, (sum.minutes.get(minute) ?? 0) + times);
}

function addCode(codes: Map<string, CodeCounts>, code: string, { status, count: times }: CodeCounts): void {
  codes.set(code, { status, count: (codes.get(code)?.count ?? 0) + times });
}

/** Failures in which the service got no request, and which therefore do not show a fault of the operation. */
const OUT_OF_REACH: ReadonlySet<string> = new Set(['circuit-open', 'upstream-unreachable']);

/** Failures of a request without a response, which may be part of an outage of the service. */
const SILENT: ReadonlySet<string> = new Set(['upstream-timeout', 'upstream-closed']);

/** Milliseconds before and after an outage in which a request without a response is part of it, because the first ones wait for long. */
const OUTAGE_MS = 2 * MINUTE_MS;

/** Joins each outage of a service with the requests that got no response at that time. */
function withOutages(groups: readonly Group[]): readonly Group[] {
  const outages = groups.filter(({ kind }) => kind.service !== undefined);
  const parts = new Map(
    groups.flatMap((group) => {
      const outage = outages.find((one) => isPartOf(group, one));
      return outage === undefined ? [] : [[group, outage] as const];
    }),
  );
  return groups
    .filter((group) => !parts.has(group))
    .map((group) =>
      joined(
        group,
        groups.filter((one) => parts.get(one) === group),
      ),
    );
}

function isPartOf(
  { kind: { silent }, since, last }: Group,
  { kind: { service }, ...outage }: Group,
): boolean {
  return silent === service && since >= outage.since - OUTAGE_MS && last <= outage.last + OUTAGE_MS;
}

/** Adds the parts of an outage to it. The service shows whether it is over, because clients may not have called these operations since. */
function joined(outage: Group, parts: readonly Group[]): Group {
  if (parts.length === 0) return outage;
  const all = [outage, ...parts];
  const sum: Group = {
    ...outage,
    count: all.reduce((times, one) => times + one.count, 0),
    clients: new Set(all.flatMap(({ clients }) => [...clients]).slice(0, MAX_CLIENTS)),
    operations: new Set(),
    codes: new Map(),
    minutes: new Map(),
    isOfClients: all.every(({ isOfClients }) => isOfClients),
    first: Math.min(...all.map(({ first }) => first)),
    since: Math.min(...all.map(({ since }) => since)),
    last: Math.max(...all.map(({ last }) => last)),
  };
  for (const one of all) addSets(sum, one);
  return sum;
}

function kindOf(entry: TallyEntry, call: string, told: string | undefined): Kind {
  const { operation, status, failure, cause, pointer, errorPointers } = entry;
  const place = pointer ?? errorPointers?.[0];
  const isAway = failure !== undefined && OUT_OF_REACH.has(failure);
  const isSilent = failure !== undefined && SILENT.has(failure);
  const message = told ?? (failure !== undefined && isOutage(failure) ? cause : undefined);
  const example = message?.slice(0, MAX_MESSAGE);
  const folded = example?.replaceAll(/\d+/g, '#');
  return {
    ...(isAway
      ? { service: entry.origin ?? 'v2' }
      : operation !== undefined
        ? { operation }
        : call === ''
          ? {}
          : { call }),
    ...(isSilent ? { silent: entry.origin ?? 'v2' } : {}),
    by: statusFrom(entry) ?? 'gateway',
    status,
    ...(failure === undefined ? {} : { code: failure }),
    ...(place === undefined ? {} : { pointer: place }),
    // Numbers are mostly ids, each of which would otherwise make another problem.
    ...(folded === undefined ? {} : { message: folded }),
    ...(example === folded || example === undefined ? {} : { example }),
    severity: status >= 500 || entry.incomplete === true ? 'severe' : 'refusal',
  };
}

function count(group: Group, entry: TallyEntry, call: string, time: number, began: number): void {
  const { route, status, failure } = entry;
  const until = overSince(group, time) ?? (time - group.last >= LASTING_MS ? group.last : undefined);
  const isBack = group.leftAt !== undefined && began >= group.leftAt;
  if (isBack || (until !== undefined && time - until >= PAUSE_MS)) {
    group.isAgain = true;
    group.leftAt = undefined;
    group.since = began;
    group.pause = 0;
  } else if (group.count > 0) group.pause = Math.max(group.pause, group.wells.count - group.wellsAtLast);
  group.count += 1;
  group.operations.add(call);
  group.isOfClients &&= route === 'migrate';
  if (failure !== undefined) addCode(group.codes, failure, { status, count: 1 });
  group.last = time;
  group.firstWell = undefined;
  group.wellsAtLast = group.wells.count;
  group.wells.awaiting.add(group);
  if (group.clients.size < MAX_CLIENTS) group.clients.add(clientOf(entry));
  const minute = Math.floor(time / MINUTE_MS);
  group.minutes.set(minute, (group.minutes.get(minute) ?? 0) + 1);
  for (const old of group.minutes.keys()) if (old <= minute - TREND) group.minutes.delete(old);
}

/** The time of the first successful response after the last failure, once there were enough of them; undefined while the problem lasts. */
function overSince({ wells, pause, firstWell, wellsAtLast }: Group, now: number): number | undefined {
  const isOver = wells.count - wellsAtLast >= Math.max(RECOVERED, PAUSE_FACTOR * pause);
  return isOver ? (firstWell ?? now) : undefined;
}

/** When a problem ended. An outage lasts no longer than its failures, because its service may have been asked again much later. */
function endOf(group: Group, now: number): number | undefined {
  const until = overSince(group, now);
  return until !== undefined && group.kind.service !== undefined ? group.last : until;
}

/** When a problem ended, also because its service is not used any more. */
function untilOf(group: Group, now: number, isAsked: IsAsked): number | undefined {
  return endOf(group, now) ?? (isLeft(group, isAsked) ? group.last : undefined);
}

function minuteOf(time: number): number {
  return Math.floor(time / MINUTE_MS);
}

/** Ends a problem for whose calls V2 gets no requests after a change of modes. */
function leave(group: Group, isAsked: IsAsked, time: number): void {
  if (isLeft(group, isAsked)) group.leftAt ??= time;
}

/** True for a problem of a service that gets no requests for the operations of the problem now, or got none until the mode changed. */
function isLeft({ kind, operations, isOfClients, clients, last }: Group, isAsked: IsAsked): boolean {
  const { service, operation, call = '-' } = kind;
  const failing = failingOf(kind);
  if (failing === undefined || !isOfClients) return false;
  const calls = service === undefined ? [operation ?? call] : [...operations];
  return calls.every((one) => !isAsked(failing, one === '' ? '-' : one, last, [...clients]));
}

/** True if all failures of a problem are part of the trouble of their operations. */
function isTold(
  { operations, since, last }: Group,
  told: readonly Pick<OperationTrouble, 'operation' | 'since' | 'until'>[],
): boolean {
  return [...operations].every((call) =>
    told.some(
      (one) =>
        one.operation === call && one.since <= since && last <= (one.until ?? Number.POSITIVE_INFINITY),
    ),
  );
}

/** The service that failed; undefined for a refusal of the gateway. */
function failingOf({ service, silent, by }: Kind): 'v1' | 'v2' | undefined {
  return service ?? silent ?? (by === 'gateway' ? undefined : by);
}

function problemOf(
  group: Group,
  now: number,
  until: number | undefined,
  off: 'v1' | 'v2' | undefined,
  names: ReadonlyMap<string, string>,
): Problem {
  const { kind, clients, operations, first, since, last } = group;
  const { silent: _silent, ...told } = kind;
  const parts = kind.service === undefined ? undefined : partsOf(group);
  const [most] = parts ?? [];
  const [one] = clients;
  const isKeyless = clients.has(NO_KEY);
  const client = clients.size > 1 || isKeyless ? undefined : one;
  const named = [...operations].filter((call) => call !== '' && !isUnfit(call)).length;
  const name = client === undefined ? undefined : names.get(client);
  const latest = Math.floor(now / MINUTE_MS);
  return {
    ...told,
    ...(most === undefined ? {} : { status: most.status, code: most.code }),
    state:
      off !== undefined
        ? `off-${off}`
        : until !== undefined
          ? 'over'
          : now - since >= HOUR_MS
            ? 'lasting'
            : group.isAgain
              ? 'again'
              : 'new',
    ...(parts === undefined
      ? {}
      : { operations: named, ...(named < operations.size ? { hasOthers: true } : {}), parts }),
    count: group.count,
    clients: clients.size - Number(isKeyless),
    ...(isKeyless ? { isKeyless } : {}),
    ...(client === undefined ? {} : { client }),
    ...(name === undefined ? {} : { name }),
    firstSeen: new Date(first).toISOString(),
    since: new Date(since).toISOString(),
    lastSeen: new Date(last).toISOString(),
    ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
    trend: Array.from({ length: TREND }, (_, at) => group.minutes.get(latest - TREND + 1 + at) ?? 0),
    filter: parts === undefined ? filterOf(kind) : filterOfErrors(parts.map(({ code }) => errorOf(code))),
  };
}

function partsOf({ codes }: Group): readonly ProblemPart[] {
  return [...codes]
    .map(([code, counts]) => ({ code, ...counts, filter: filterOfErrors([errorOf(code)]) }))
    .sort((one, other) => other.count - one.count);
}

function errorOf(code: string): string {
  return errorValue({ by: 'gateway', code });
}

function filterOfErrors(errors: readonly string[]): string {
  return printFilter([{ negated: false, field: 'error', values: errors }]);
}

function filterOf({ operation, call, by, status, code, pointer }: Kind): string {
  const error =
    code === undefined && by !== 'gateway'
      ? errorValue({ by, code: String(status), ...(pointer === undefined ? {} : { pointer }) })
      : errorValue({
          by: 'gateway',
          code: code ?? String(status),
          ...(pointer === undefined ? {} : { pointer }),
        });
  return printFilter([
    // Redirections do not count as errors of an exchange.
    status < 400
      ? { negated: false, field: 'status', values: [String(status)] }
      : { negated: false, field: 'error', values: [error] },
    ...callTerms(operation ?? call ?? '-'),
  ]);
}

/** The terms of a filter for an operation, or for a call that no operation fits. */
export function callTerms(call: string): Parameters<typeof printFilter>[0] {
  const term = (field: 'op' | 'method' | 'path', value: string) =>
    ({ negated: false, field, values: [value] }) as const;
  const [method = '', path = ''] = call.split(' ');
  if (!isUnfit(call)) return [term('op', call)];
  if (call === OTHER_CALLS) return [term('op', '-')];
  return [term('op', '-'), term('method', method), term('path', path.split('*')[0] ?? path)];
}

/** True for a failed exchange whose response says `told`, if that is a failure of this problem. */
export function isOfProblem(problem: Problem, entry: TallyEntry, told: string | undefined): boolean {
  const { operation, route, method, path } = entry;
  const call = route !== 'migrate' ? '' : callName(operation, method, path);
  const kind = kindOf(entry, problem.call === OTHER_CALLS ? OTHER_CALLS : call, told);
  const members = ['operation', 'call', 'service', 'by', 'status', 'code', 'pointer', 'message'] as const;
  return members.every((name) => kind[name] === problem[name]);
}

/**
 * The problems, with filters for their exchanges alone. If several problems have the same filter, the words of the message are added to
 * it; if that does not tell them apart, `isShared` is set.
 */
export function apart(problems: readonly Problem[]): readonly Problem[] {
  const alike = Map.groupBy(problems, ({ filter }) => filter);
  return problems.map((problem): Problem => {
    const others = (alike.get(problem.filter) ?? []).filter((one) => one !== problem);
    if (others.length === 0) return problem;
    const said = wordsOf(problem);
    const isShared = others.some(({ message = '' }) => said.every((words) => message.includes(words)));
    return {
      ...problem,
      filter: filterWithMessage(problem) ?? problem.filter,
      ...(isShared ? { isShared } : {}),
    };
  });
}

/** The filter of a problem and the words of its message, without numbers and characters that JSON escapes; undefined without words. */
export function filterWithMessage(problem: Problem): string | undefined {
  const said = wordsOf(problem);
  if (said.length === 0) return undefined;
  return `${problem.filter} ${printFilter(said.map((value) => ({ negated: false, field: 'has', values: [value] })))}`;
}

function wordsOf({ message = '' }: Problem): readonly string[] {
  const pieces = message.split(/[#"\\\p{Cc}]/u).map((piece) => piece.trim());
  return pieces.filter((piece) => /\p{L}/u.test(piece)).slice(0, MAX_PIECES);
}

/** Problems that go on keep their order while requests fail. */
function newest({ until, since, lastSeen }: Problem): string {
  return until === undefined ? since : lastSeen;
}

function rank({ until, severity }: Problem): number {
  return (until === undefined ? 0 : 2) + (severity === 'severe' ? 0 : 1);
}
