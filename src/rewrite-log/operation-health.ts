import { boundedShare, failsMoreThanBefore, NEUTRAL_FAILURES } from '../rollout/canary-window.ts';
import type { FailedShare } from '../rollout/rollout-state.ts';
import { DEFAULT_ROLLBACK } from '../rules/declared-rollout.ts';
import type { RollbackRule } from '../rules/rollout.ts';
import type { Answer } from './answers.ts';
import {
  beganAt,
  callName,
  clientOf,
  type Entry,
  isOutage,
  isUnfit,
  OTHER_CALLS,
  statusFrom,
} from './entry.ts';

/** How a migrated operation of V1, or a call that no operation fits, fails, compared with its own past. */
export interface OperationTrouble {
  /** Id of the operation, or the name of the call (`callName`). */
  readonly operation: string;
  /** `always`: every request since it began; `more`: a larger share than before. */
  readonly kind: 'always' | 'more';
  /** Requests since it began, and how many of them failed. */
  readonly requests: number;
  readonly failed: number;
  /** Requests up to the last failure; absent in the facts of an older version. */
  readonly upToLast?: number;
  /** True if V2 or the gateway refused them (4xx), and none failed with a 5xx or without a response. */
  readonly isRefusal: boolean;
  /** Those of the failures without a response from V2, such as with an open circuit: they are not caused by the operation. */
  readonly unanswered: number;
  /** When V2 did not respond for the first time and for the last, and when it did after that; absent if it always did. */
  readonly outage?: Outage;
  /** True if the requests to which V2 did respond show the trouble as well, so that an outage of V2 does not explain it. */
  readonly isOwn: boolean;
  /** The clients whose requests failed (`clientOf`), at most 100; absent in the facts of an older version. */
  readonly hit?: readonly string[];
  /** The status and its sender, if all failures with a response have the same. */
  readonly answer?: FailedAnswer;
  /** True if it began in a canary: other clients were on V1. */
  readonly inCanary?: true;
  /** The clients that fail while others do not (`clientOf`); absent if it fails for all clients, or at times. */
  readonly clients?: readonly string[];
  /** Milliseconds since 1970: the start of the first failed request, the end of the last one, and the same once it is over. */
  readonly since: number;
  readonly last: number;
  readonly until: number | undefined;
  /** Responses of V2 without a failure since it was over; absent in the facts of an older version. */
  readonly recovered?: number;
  /** Requests before, to V1 and to V2, and how many of them failed. */
  readonly before: Counts;
  /** The shares that failed before and since it began, evaluated like a canary; `isHarm` is true if that finds more failures. */
  readonly evidence: TroubleEvidence;
}

/** The response of a failed request. */
export interface FailedAnswer {
  readonly by: 'v2' | 'gateway';
  readonly status: number;
}

/** Milliseconds since 1970 of the first and the last request without a response of V2, and of the first response after them. */
export interface Outage {
  readonly since: number;
  readonly last: number;
  readonly until: number | undefined;
}

/** What shows that an operation fails more often than before: its past is the control group. */
export interface TroubleEvidence {
  readonly before: FailedShare;
  readonly now: FailedShare;
  readonly isHarm: boolean;
  /** The difference that counts as harm, in percentage points. */
  readonly margin: number;
}

/** Requests of an operation that fails at another replica, since then. Times are milliseconds since 1970. */
export interface WatchedOperation
  extends Counts, Pick<OperationTrouble, 'operation' | 'isRefusal' | 'unanswered' | 'since' | 'before'> {
  /** The last failure; absent without one. */
  readonly last?: number | undefined;
}

/** Requests, and how many of them failed. */
export interface Counts {
  readonly requests: number;
  readonly failed: number;
}

/** Successive failures from which an operation counts as always failing, and failures from which it counts as failing more often. */
const ENOUGH = 5;

/** Successive responses without a failure after which trouble of an operation, a problem, or the outage of a service is over. */
export const RECOVERED = 20;

/** Successive responses after which trouble is over if no larger share of them failed than before. */
const AS_BEFORE = 50;

/** Minutes whose requests are compared with what was before. */
const RECENT_MINUTES = 10;
const MINUTE_MS = 60_000;

/** Milliseconds for which past trouble is reported, and after the last failure of trouble that nothing shows to be over. */
const REPORTED_MS = 3_600_000;
const LASTING_MS = 86_400_000;

/** Requests of the past, in which older ones count less and less. */
const PAST_REQUESTS = 10_000;

/** Maximum operations that are evaluated: a rule book has fewer. */
const MAX_OPERATIONS = 2000;

/** Maximum calls that no operation fits and that are evaluated each for itself: clients can make any number of addresses up. */
const MAX_UNFIT = 100;

/** Maximum clients of an operation whose failures are followed: more of them are trouble of the operation. */
const MAX_CLIENTS = 100;

/** The failed requests of one client: of `failed`, 4xx and those without a response. */
interface ClientFailures {
  failed: number;
  refused: number;
  unanswered: number;
}

/** The common properties of failed requests. */
class Failures {
  count = 0;
  unanswered = 0;
  outage: Outage | undefined = undefined;
  inCanary = false;
  private refused = 0;
  private readonly byClient = new Map<string, ClientFailures>();
  /** Undefined before the first response, and null once there are several kinds. */
  private onlyAnswer: FailedAnswer | null | undefined = undefined;

  /** The failures of all of these. */
  static of(all: readonly Failures[]): Failures {
    const sum = new Failures();
    for (const { count: times, unanswered, outage, inCanary, refused, byClient, onlyAnswer } of all) {
      if (times === 0) continue;
      sum.count += times;
      sum.unanswered += unanswered;
      if (outage !== undefined) sum.outage = { ...outage, since: sum.outage?.since ?? outage.since };
      sum.inCanary ||= inCanary;
      sum.refused += refused;
      for (const [client, failures] of byClient) sum.addClient(client, failures);
      if (onlyAnswer !== undefined) sum.addAnswer(onlyAnswer);
    }
    return sum;
  }

  get isRefusal(): boolean {
    return this.refused === this.count;
  }

  get clients(): readonly string[] {
    return [...this.byClient.keys()];
  }

  get answer(): FailedAnswer | undefined {
    return this.onlyAnswer ?? undefined;
  }

  /** Failures to which V2 or the gateway responded. */
  get answered(): number {
    return this.count - this.unanswered;
  }

  /** Adds a request that began and ended at these times. */
  add(entry: Entry, began: number, time: number): void {
    const { status, failure = '', mode } = entry;
    const failures = { failed: 1, refused: 0, unanswered: 0 };
    if (status >= 400 && status < 500) failures.refused = 1;
    if (isOutage(failure)) {
      failures.unanswered = 1;
      this.outage = { since: this.outage?.since ?? began, last: time, until: undefined };
    } else this.addAnswer({ by: statusFrom(entry) === 'v2' ? 'v2' : 'gateway', status });
    this.count += 1;
    this.refused += failures.refused;
    this.unanswered += failures.unanswered;
    this.inCanary ||= mode === 'canary';
    this.addClient(clientOf(entry), failures);
  }

  /** V2 responded at this time. */
  respond(time: number): void {
    if (this.outage !== undefined) this.outage = { ...this.outage, until: this.outage.until ?? time };
  }

  /** Number of a client's failures with a response. */
  answeredOf(client: string): number {
    const { failed, unanswered } = this.byClient.get(client) ?? { failed: 0, unanswered: 0 };
    return failed - unanswered;
  }

  /** Takes the failures of a client with a response away, and returns their number. */
  drop(client: string): number {
    const own = this.byClient.get(client);
    if (own === undefined) return 0;
    const answered = own.failed - own.unanswered;
    this.count -= answered;
    this.refused -= own.refused;
    if (own.unanswered === 0) this.byClient.delete(client);
    else this.byClient.set(client, { failed: own.unanswered, refused: 0, unanswered: own.unanswered });
    return answered;
  }

  private addClient(client: string, { failed, refused, unanswered }: ClientFailures): void {
    const own = this.byClient.get(client) ?? { failed: 0, refused: 0, unanswered: 0 };
    own.failed += failed;
    own.refused += refused;
    own.unanswered += unanswered;
    if (this.byClient.size < MAX_CLIENTS) this.byClient.set(client, own);
  }

  private addAnswer(answer: FailedAnswer | null): void {
    const known = (this.onlyAnswer ??= this.onlyAnswer === null ? null : answer);
    if (known?.by !== answer?.by || known?.status !== answer?.status) this.onlyAnswer = null;
  }
}

interface Trouble {
  kind: OperationTrouble['kind'];
  requests: number;
  upToLast: number;
  failures: Failures;
  since: number;
  last: number;
  until: number | undefined;
  recovered: number;
  readonly before: Counts;
  /** The latest successive requests without a failure: V1 or V2 served them. */
  wells: number;
  /** The latest requests to which V2 responded, the time of the first, and the counts of the trouble until then. */
  responded:
    | {
        requests: number;
        failed: number;
        readonly since: number;
        readonly until: Pick<Trouble, 'requests' | 'failures'>;
      }
    | undefined;
  isReported: boolean;
  /** True for trouble of a client that does not count for the operation, because other clients do well there. */
  isApart: boolean;
}

/** An operation, or one of its clients, whose requests are judged. */
interface Judged {
  /** The successive requests that all failed, or that all succeeded, and those of other clients that V1 served meanwhile. */
  row: { failed: boolean; requests: number; since: number; failures: Failures; readonly onV1: Tallied };
  trouble: Trouble | undefined;
}

/** Only requests to which V2 responded count for a client; `before` are those of all clients before the row. */
interface ClientHealth extends Judged {
  before: Counts;
}

interface Tallied {
  requests: number;
  failed: number;
}

/** Requests to V2 of one minute; `since` is the start of the first that failed, and `onV1` are requests that V1 served after it. */
interface Minute {
  readonly start: number;
  requests: number;
  readonly failures: Failures;
  since: number | undefined;
  onV1: Tallied;
}

interface Health extends Judged {
  readonly past: Tallied;
  readonly minutes: Minute[];
  /** By client, the one that failed last at the end: clients whose last request failed, or that were in trouble. */
  readonly clients: Map<string, ClientHealth>;
}

/** Calls that no operation fitted, with the hash of the rule book under which each was made last. */
export class UnfitCalls {
  private readonly ruleBooks = new Map<string, string>();

  get size(): number {
    return this.ruleBooks.size;
  }

  /** Notes a call by its name (`callName`). */
  add(call: string, ruleBook = ''): void {
    this.ruleBooks.set(call, ruleBook);
  }

  /** The noted call that a request makes, if an operation of another rule book fits it now: what failed before is over. */
  fittedBy({
    operation,
    method,
    path,
    ruleBook = '',
  }: {
    readonly [Member in 'operation' | 'method' | 'path' | 'ruleBook']?: string | undefined;
  }): string | undefined {
    // Most gateways have none, and a name takes some time.
    if (this.size === 0 || operation === undefined || path === undefined) return undefined;
    const call = callName(undefined, method, path);
    return (this.ruleBooks.get(call) ?? ruleBook) === ruleBook ? undefined : call;
  }
}

/**
 * Compares each operation of V1 with its own past, as a canary is compared with the clients that stay on V1: failures that were as
 * frequent before are not trouble. A response that the client got from V1 counts only for the past.
 */
export class OperationHealth {
  private readonly all = new Map<string, Health>();
  /** The operations and calls whose requests do not go to V2. */
  private readonly offV2 = new Set<string>();
  private readonly unfit = new UnfitCalls();
  private watching: ReadonlyMap<string, Watch> = new Map();
  private readonly rule: () => RollbackRule;
  private readonly onHarm: (trouble: OperationTrouble) => void;

  /** `rule` is that of canaries; `onHarm` is called once for each trouble that counts as harm by the test of a canary. */
  constructor(
    rule: () => RollbackRule = () => DEFAULT_ROLLBACK,
    onHarm: (trouble: OperationTrouble) => void = () => {},
  ) {
    this.rule = rule;
    this.onHarm = onHarm;
  }

  /** Counts an exchange that ended at `time` (milliseconds since 1970). */
  add(entry: Entry, time: number, answer: Answer): void {
    const { operation, route, verdict, failure = '', ruleBook } = entry;
    if (route !== 'migrate' || verdict === 'served') return;
    if (answer === 'left' || NEUTRAL_FAILURES.has(failure)) return;
    const call = operation ?? this.unfitCall(entry, answer);
    const health = call === undefined ? undefined : this.healthOf(call, time);
    if (call === undefined || health === undefined) return;
    if (operation === undefined) this.unfit.add(call, ruleBook);
    else this.endUnfit(entry);
    const failed = answer === 'failed';
    const request: Request = { entry, failed, began: beganAt(entry, time), time };
    if (entry.origin === 'v1') {
      if (statusFrom(entry) === 'v1') countOnV1(health, request);
      endWhenWell(health.trouble, failed);
      moveClient(health, clientOf(entry), time);
      return;
    }
    if (isApart(health, entry)) {
      this.follow(health, request);
      return;
    }
    addToRow(health, request);
    this.follow(health, request);
    if (isApart(health, entry)) return;
    watch(this.watching.get(call), request);
    // What failed until then belongs neither to the past nor to what is compared with it from now on.
    if (this.endAsBefore(health, request)) health.minutes.length = 0;
    const { trouble } = health;
    if (isLasting(trouble)) goOn(trouble, request);
    else if (failed) this.judge(health, request);
    else if (trouble !== undefined) trouble.recovered += 1;
    addToMinute(health, request);
    // Only an operation can be sent back to V1 alone.
    if (failed && operation !== undefined) this.reportHarm(operation, health);
  }

  /** Ends the trouble of a call that no operation fitted, once one of another rule book does. */
  private endUnfit(entry: Entry): void {
    const health = this.all.get(this.unfit.fittedBy(entry) ?? '');
    if (health === undefined) return;
    for (const trouble of [health.trouble, ...[...health.clients.values()].map((one) => one.trouble)])
      if (isLasting(trouble)) Object.assign(trouble, { until: trouble.last, recovered: RECOVERED });
  }

  /** The name by which a call is followed that no operation fits; undefined for a refusal of an address that no service is known to have. */
  private unfitCall({ method, path }: Entry, answer: Answer): string | undefined {
    const call = callName(undefined, method, path);
    if (this.all.has(call)) return call;
    if (answer === 'refused') return undefined;
    return this.unfit.size < MAX_UNFIT ? call : OTHER_CALLS;
  }

  /** Ends trouble once no larger share fails than before it began, and returns true: an operation may always have failed at times. */
  private endAsBefore({ trouble }: Judged, { entry, failed, time }: Request): boolean {
    if (!isLasting(trouble)) return false;
    if (failed && isOutage(entry.failure ?? '')) {
      trouble.responded = undefined;
      return false;
    }
    const { before, requests, failures } = trouble;
    failures.respond(time);
    const responded = (trouble.responded ??= {
      requests: 0,
      failed: 0,
      since: time,
      until: { requests, failures: Failures.of([failures]) },
    });
    responded.requests += 1;
    if (failed) responded.failed += 1;
    if (responded.requests < RECOVERED) return false;
    const isOfOutage = !isOwn(before, { requests, failed: failures.count }, failures.unanswered, this.rule());
    if (!isOfOutage && responded.requests < AS_BEFORE) return false;
    trouble.responded = undefined;
    if (before.requests === 0 || responded.failed * before.requests > before.failed * responded.requests)
      return false;
    Object.assign(trouble, responded.until, { until: responded.since, recovered: RECOVERED });
    return true;
  }

  /** Adds requests from before this run to the past, by operation. */
  learn(operations: Readonly<Record<string, Counts>>): void {
    for (const [operation, { requests, failed }] of Object.entries(operations)) {
      const past = this.healthOf(operation, 0)?.past;
      if (past === undefined) continue;
      const share = Math.min(1, PAST_REQUESTS / 2 / Math.max(1, requests));
      past.requests += requests * share;
      past.failed += failed * share;
    }
  }

  /**
   * Tells which operations V2 gets requests for, after a change of modes at `time`; undefined stands for calls that no operation fits. What
   * failed before its requests went to V1 is over, so that a failure after their return to V2 is another trouble.
   */
  move(goesToV2: (operation: string | undefined) => boolean, time: number): void {
    for (const [call, health] of this.all) {
      const isOff = !goesToV2(isUnfit(call) ? undefined : call);
      const wasOff = this.offV2.has(call);
      if (isOff) this.offV2.add(call);
      else this.offV2.delete(call);
      // Requests that were under way at the first change may have failed after it.
      if (isOff || wasOff) leaveV2(health, time);
    }
  }

  /** Counts the requests of operations that fail at other replicas: from `time` on, and the last ones before it if all of them failed. */
  watch(operations: readonly string[], time: number): void {
    this.watching = new Map(
      operations.map((operation) => [
        operation,
        this.watching.get(operation) ?? watchFrom(this.all.get(operation), time),
      ]),
    );
  }

  /** The counts of those operations. */
  get watched(): readonly WatchedOperation[] {
    return [...this.watching].map(([operation, counts]) => ({ operation, ...counts }));
  }

  /** Milliseconds since 1970 at which the last trouble was over, or was last seen; undefined if there was none. */
  get wellSince(): number | undefined {
    const ends = [...this.all].flatMap(([operation, health]) => {
      const { ofAll, ofClients } = this.troublesOf(operation, health);
      return [...ofClients.values(), ...(ofAll === undefined ? [] : [ofAll])].map((one) => endOf(one));
    });
    return ends.length === 0 ? undefined : Math.max(...ends);
  }

  /** The trouble of operations at `now`, or within the last hour, the latest last. */
  troubles(now: number): readonly OperationTrouble[] {
    const troubles: OperationTrouble[] = [];
    for (const [operation, health] of this.all) {
      const { ofAll, ofClients } = this.troublesOf(operation, health);
      const reported = [...ofClients].filter(([, trouble]) => isReported(trouble, now));
      if (reported.length > 0) troubles.push(this.troubleOfClients(operation, reported));
      if (ofAll !== undefined && isReported(ofAll, now)) troubles.push(ofAll);
    }
    return troubles.sort((one, other) => one.since - other.since);
  }

  /** Reports once that the test of a canary finds harm: at first there may be too few requests. */
  private reportHarm(operation: string, { trouble }: Health): void {
    if (!isLasting(trouble) || trouble.isReported) return;
    const harm = this.troubleOf(operation, trouble);
    if (!harm.evidence.isHarm) return;
    trouble.isReported = true;
    this.onHarm(harm);
  }

  private troubleOf(
    operation: string,
    {
      wells: _wells,
      responded: _responded,
      isReported: _isReported,
      isApart: _isApart,
      failures,
      ...trouble
    }: Trouble,
  ): OperationTrouble {
    const { count: failed, isRefusal, unanswered, outage, answer, inCanary, clients: hit } = failures;
    const present = { requests: trouble.requests, failed };
    const evidence = evidenceOf(trouble.before, present, this.rule());
    const own = isOwn(trouble.before, present, unanswered, this.rule());
    return {
      operation,
      ...trouble,
      failed,
      isRefusal,
      unanswered,
      ...(outage === undefined ? {} : { outage }),
      ...(answer === undefined ? {} : { answer }),
      ...(inCanary ? { inCanary } : {}),
      isOwn: own,
      hit,
      evidence,
    };
  }

  /** The trouble of an operation, and that of its clients which is not part of it. */
  private troublesOf(
    operation: string,
    { trouble, clients }: Health,
  ): {
    readonly ofAll: OperationTrouble | undefined;
    readonly ofClients: ReadonlyMap<string, Trouble>;
  } {
    const ofAll = trouble && this.troubleOf(operation, trouble);
    const ofClients = [...clients].flatMap(([client, { trouble: own }]) =>
      own === undefined || (!own.isApart && isPartOf(own, ofAll)) ? [] : [[client, own] as const],
    );
    return { ofAll, ofClients: new Map(ofClients) };
  }

  /** The trouble of the clients that fail, or of those that did lately; what was before the first of them began to fail is their past. */
  private troubleOfClients(
    operation: string,
    all: readonly (readonly [client: string, trouble: Trouble])[],
  ): OperationTrouble {
    const lasting = all.filter(([, { until }]) => until === undefined);
    const reported = lasting.length === 0 ? all : lasting;
    const troubles = reported.map(([, trouble]) => trouble).sort((one, other) => one.since - other.since);
    const [first] = troubles;
    if (first === undefined) throw new RangeError('trouble without a client');
    const joined: Trouble = {
      ...first,
      kind: troubles.every(({ kind }) => kind === 'always') ? 'always' : 'more',
      requests: troubles.reduce((sum, { requests }) => sum + requests, 0),
      upToLast: troubles.reduce((sum, { upToLast }) => sum + upToLast, 0),
      failures: Failures.of(troubles.map(({ failures }) => failures)),
      last: Math.max(...troubles.map(({ last }) => last)),
      until: lasting.length === 0 ? Math.max(...troubles.map((one) => endOf(one))) : undefined,
      recovered: Math.min(...troubles.map(({ recovered }) => recovered)),
    };
    return { ...this.troubleOf(operation, joined), clients: reported.map(([client]) => client) };
  }

  /** Follows a client whose requests fail: among many others it raises the share of the operation too little to show. */
  private follow(health: Health, request: Request): void {
    const { entry, failed, time } = request;
    const client = clientOf(entry);
    if (isOutage(entry.failure ?? '')) {
      separateFromOutage(health, request);
      return;
    }
    const { clients } = health;
    const known = clients.get(client);
    if (known === undefined && !failed) return;
    const one = known ?? { ...unjudged(time), before: NONE };
    if (failed && !one.row.failed) one.before = beforeOf(health, time);
    addToRow(one, request);
    this.endAsBefore(one, request);
    const { row, trouble, before } = one;
    if (isLasting(trouble)) goOn(trouble, request);
    else if (failed && row.requests >= ENOUGH && !hasFailedSo(before)) {
      const { requests, since } = row;
      const failures = Failures.of([row.failures]);
      one.trouble = begun({ kind: 'always', requests, failures, since, before }, time);
    } else if (!failed && trouble !== undefined) trouble.recovered += 1;
    if (failed) {
      clients.delete(client);
      clients.set(client, one);
      const [first] = clients.keys();
      if (clients.size > MAX_CLIENTS && first !== undefined) clients.delete(first);
      separate(health, client);
      if (health.trouble?.failures.outage !== undefined) separateFromOutage(health, request);
    } else if (trouble === undefined) clients.delete(client);
  }

  private healthOf(operation: string, time: number): Health | undefined {
    const known = this.all.get(operation);
    if (known !== undefined || this.all.size >= MAX_OPERATIONS) return known;
    const health: Health = {
      past: { requests: 0, failed: 0 },
      minutes: [],
      ...unjudged(time),
      clients: new Map(),
    };
    this.all.set(operation, health);
    return health;
  }

  /** Replaces trouble that is over; that of clients which was part of it goes with it. */
  private begin(health: Health, trouble: Trouble): void {
    const { ofClients } = this.troublesOf('', health);
    for (const [client, { trouble: own }] of health.clients)
      if (own !== undefined && !ofClients.has(client)) health.clients.delete(client);
    health.trouble = trouble;
  }

  private judge(health: Health, { entry, began, time }: Request): void {
    const { past, row } = health;
    const recent = recentOf(health, time);
    // Neither the requests that failed in a row nor what V1 served meanwhile belong to the past that they are compared with.
    const before = {
      requests: past.requests + recent.requests - (row.requests - 1) - row.onV1.requests,
      failed: past.failed + recent.failed - (row.requests - 1) - row.onV1.failed,
    };
    if (row.requests >= ENOUGH && !hasFailedSo(before)) {
      const { requests, since } = row;
      const failures = Failures.of([row.failures]);
      this.begin(health, begun({ kind: 'always', requests, failures, since, before }, time));
      return;
    }
    const requests = recent.requests + 1;
    if (recent.failed + 1 < ENOUGH) return;
    if (!failsMoreThanBefore(sampleOf(past), { requests, failures: recent.failed + 1 }, this.rule())) return;
    const minutes = recentMinutes(health, time);
    const failing = minutes.slice(minutes.findIndex((minute) => minute.since !== undefined));
    const failures = Failures.of(minutes.map((minute) => minute.failures));
    failures.add(entry, began, time);
    const onV1 = failing.map((minute) => minute.onV1);
    const earlier = {
      requests: past.requests - onV1.reduce((sum, one) => sum + one.requests, 0),
      failed: past.failed - onV1.reduce((sum, one) => sum + one.failed, 0),
    };
    const since = failing[0]?.since ?? began;
    this.begin(health, begun({ kind: 'more', requests, failures, since, before: earlier }, time));
  }
}

type LastingTrouble = Trouble & { readonly until: undefined };

/** An exchange, and when it began and ended: milliseconds since 1970. */
interface Request {
  readonly entry: Entry;
  readonly failed: boolean;
  readonly began: number;
  readonly time: number;
}

function isLasting(trouble: Trouble | undefined): trouble is LastingTrouble {
  return trouble !== undefined && trouble.until === undefined;
}

/** Whether a request counts for its client alone: that client's trouble is kept apart from the operation or call. */
function isApart({ clients }: Health, entry: Entry): boolean {
  const trouble = clients.get(clientOf(entry))?.trouble;
  if (!isLasting(trouble) || !trouble.isApart) return false;
  // V2 refuses such a call also when it is back, so nothing would end an outage of that call.
  return entry.operation === undefined || !isOutage(entry.failure ?? '');
}

/**
 * Keeps the trouble of a call's only client apart from an outage of V2. Other clients show the same for an operation, but an undeclared call
 * often has one client.
 */
function separateFromOutage(health: Health, { entry }: Request): void {
  const { trouble, past, minutes, clients } = health;
  const own = clients.get(clientOf(entry))?.trouble;
  if (entry.operation !== undefined || !isLasting(own) || own.kind !== 'always') return;
  if (!isLasting(trouble) || trouble.kind !== 'always' || trouble.failures.clients.length > 1) return;
  own.isApart = true;
  health.trouble = undefined;
  health.row = unjudged(own.last).row;
  for (const { requests, failures } of minutes) past.requests += requests - failures.count;
  minutes.length = 0;
}

/**
 * Keeps the trouble of a client that just failed apart from its operation once the requests of others show that the operation does not
 * fail: what the client failed until then counts for the operation no more.
 */
function separate(health: Health, client: string): void {
  const failing = [...health.clients].filter(
    ([, { trouble }]) => isLasting(trouble) && !trouble.isApart && trouble.kind === 'always',
  );
  const own = health.clients.get(client);
  if (own === undefined || !failing.some(([one]) => one === client)) return;
  const { trouble, row } = health;
  if (!isLasting(trouble) && row.failed && row.requests >= own.row.requests) return;
  if (isLasting(trouble)) {
    const { requests, failures } = trouble;
    const others = failing.reduce((sum, [one]) => sum - failures.answeredOf(one), failures.answered);
    if (others >= ENOUGH || requests - failures.count < ENOUGH) return;
  }
  for (const [one, { trouble: ofClient }] of failing) {
    if (ofClient !== undefined) ofClient.isApart = true;
    for (const minute of health.minutes) minute.requests -= minute.failures.drop(one);
    if (isLasting(trouble)) {
      const dropped = trouble.failures.drop(one);
      trouble.requests -= dropped;
      trouble.upToLast -= dropped;
    }
  }
  if (!isLasting(trouble)) return;
  const { outage } = trouble.failures;
  if (outage === undefined) health.trouble = undefined;
  else if (trouble.failures.answered === 0)
    Object.assign(trouble, { since: outage.since, last: outage.last });
}

const NONE: Counts = { requests: 0, failed: 0 };

/** Compares the shares that failed as a canary's test does. */
export function evidenceOf(past: Counts, present: Counts, rule: RollbackRule): TroubleEvidence {
  const [before, now] = [sampleOf(past), sampleOf(present)];
  return {
    before: boundedShare(before, rule),
    now: boundedShare(now, rule),
    isHarm: failsMoreThanBefore(before, now, rule),
    margin: rule.margin,
  };
}

/** Whether the requests to which V2 responded fail more often than before; `unanswered` are those to which it did not. */
export function isOwn(past: Counts, present: Counts, unanswered: number, rule: RollbackRule): boolean {
  if (unanswered === 0) return true;
  const failed = present.failed - unanswered;
  if (failed < ENOUGH) return false;
  const responded = { requests: present.requests - unanswered, failures: failed };
  return past.requests < rule.requests || failsMoreThanBefore(sampleOf(past), responded, rule);
}

interface Watch {
  requests: number;
  failed: number;
  isRefusal: boolean;
  unanswered: number;
  since: number;
  last: number | undefined;
  readonly before: Counts;
}

function watchFrom(health: Health | undefined, time: number): Watch {
  if (health === undefined)
    return { ...NONE, isRefusal: true, unanswered: 0, since: time, last: undefined, before: NONE };
  const { past, row } = health;
  const recent = recentOf(health, time);
  const failed = row.failed ? row.requests : 0;
  return {
    requests: failed,
    failed,
    isRefusal: failed === 0 || row.failures.isRefusal,
    unanswered: failed === 0 ? 0 : row.failures.unanswered,
    since: failed === 0 ? time : row.since,
    last: failed === 0 ? undefined : row.since,
    before: {
      requests: past.requests + recent.requests - failed,
      failed: past.failed + recent.failed - failed,
    },
  };
}

function watch(counts: Watch | undefined, { entry, failed, began, time }: Request): void {
  if (counts === undefined) return;
  const { status, failure = '' } = entry;
  counts.requests += 1;
  if (!failed) return;
  if (counts.failed === 0) counts.since = began;
  counts.failed += 1;
  counts.last = time;
  counts.isRefusal &&= status >= 400 && status < 500;
  if (isOutage(failure)) counts.unanswered += 1;
}

function begun(
  trouble: Pick<Trouble, 'kind' | 'requests' | 'failures' | 'since' | 'before'>,
  last: number,
): Trouble {
  return {
    ...trouble,
    upToLast: trouble.requests,
    last,
    until: undefined,
    recovered: 0,
    wells: 0,
    responded: undefined,
    isReported: false,
    isApart: false,
  };
}

function sampleOf({ requests, failed }: Counts): { readonly requests: number; readonly failures: number } {
  return { requests: Math.round(requests), failures: Math.round(failed) };
}

/** Ends trouble after {@link RECOVERED} successive requests without a failure: V1 or V2 served them, or both, as in a canary. */
function endWhenWell(trouble: Trouble | undefined, failed: boolean): void {
  if (!isLasting(trouble)) return;
  trouble.wells = failed ? 0 : trouble.wells + 1;
  if (trouble.wells < RECOVERED) return;
  const { last, requests, upToLast } = trouble;
  Object.assign(trouble, { until: last, requests: upToLast, recovered: requests - upToLast });
}

function count(counts: { requests: number; failed: number }, failed: boolean): void {
  counts.requests += 1;
  if (failed) counts.failed += 1;
  if (counts.requests < PAST_REQUESTS) return;
  counts.requests /= 2;
  counts.failed /= 2;
}

/** Counts a response of V1 as the past, and apart from what it is compared with while V2 fails, as in a canary. */
function countOnV1(health: Health, { failed, time }: Request): void {
  const { row, past } = health;
  const minute = minuteAt(health, time);
  for (const counts of [minute.onV1, ...(row.failed ? [row.onV1] : [])]) {
    counts.requests += 1;
    if (failed) counts.failed += 1;
  }
  count(past, failed);
}

function noRow(failed: boolean, since: number): Judged['row'] {
  return { failed, requests: 0, since, failures: new Failures(), onV1: { requests: 0, failed: 0 } };
}

function unjudged(time: number): Judged {
  return { row: noRow(false, time), trouble: undefined };
}

function addToRow(judged: Judged, { entry, failed, began, time }: Request): void {
  if (judged.row.requests === 0 || judged.row.failed !== failed) judged.row = noRow(failed, began);
  judged.row.requests += 1;
  if (failed) judged.row.failures.add(entry, began, time);
}

/** Ends the trouble of an operation that V1 serves for all clients; all other requests until now become its past. */
function leaveV2(health: Health, time: number): void {
  const { trouble, past, minutes } = health;
  const recent = recentOf(health, time);
  let over = NONE;
  if (isLasting(trouble)) {
    over = { requests: trouble.upToLast, failed: trouble.failures.count };
    Object.assign(trouble, { requests: trouble.upToLast, until: trouble.last });
  }
  past.requests += Math.max(0, recent.requests - over.requests);
  past.failed += Math.max(0, recent.failed - over.failed);
  minutes.length = 0;
  health.row = unjudged(time).row;
  for (const client of health.clients.keys()) moveClient(health, client, time);
}

/** V1 serves this client: it is not in trouble any more. */
function moveClient({ clients }: Health, client: string, time: number): void {
  const one = clients.get(client);
  if (one?.trouble === undefined) clients.delete(client);
  else {
    one.row = unjudged(time).row;
    one.trouble.until ??= one.trouble.last;
  }
}

/** The requests of all clients to which V2 responded before. */
function beforeOf(health: Health, time: number): Counts {
  const { past } = health;
  const recent = recentOf(health, time);
  const unanswered = recentMinutes(health, time).reduce((sum, { failures }) => sum + failures.unanswered, 0);
  return {
    requests: past.requests + recent.requests - unanswered,
    failed: past.failed + recent.failed - unanswered,
  };
}

function isReported({ until, last }: Pick<Trouble, 'until' | 'last'>, now: number): boolean {
  return until === undefined ? now - last < LASTING_MS : now - until < REPORTED_MS;
}

/** Whether trouble of a client is that of its whole operation; an outage of V2 does not explain what V2 responded to. */
function isPartOf({ last }: Trouble, ofAll: OperationTrouble | undefined): boolean {
  if (ofAll?.isOwn !== true) return false;
  return last <= (ofAll.until ?? Number.POSITIVE_INFINITY);
}

function endOf({ until, last }: Pick<Trouble, 'until' | 'last'>): number {
  return until ?? last;
}

function goOn(trouble: Trouble, { entry, failed, began, time }: Request): void {
  trouble.requests += 1;
  if (failed) {
    trouble.upToLast = trouble.requests;
    trouble.last = time;
    trouble.failures.add(entry, began, time);
  } else if (trouble.kind === 'always') trouble.kind = 'more';
  endWhenWell(trouble, failed);
}

function addToMinute(health: Health, { entry, failed, began, time }: Request): void {
  const minute = minuteAt(health, time);
  minute.requests += 1;
  if (!failed) return;
  if (minute.since === undefined) Object.assign(minute, { since: began, onV1: { requests: 0, failed: 0 } });
  minute.failures.add(entry, began, time);
}

/** The minute of this time; those that are no longer recent become the past. */
function minuteAt({ minutes, past, trouble }: Health, time: number): Minute {
  const start = Math.floor(time / MINUTE_MS) * MINUTE_MS;
  for (;;) {
    const [first] = minutes;
    if (first === undefined || first.start > start - RECENT_MINUTES * MINUTE_MS) break;
    minutes.shift();
    // Current failures do not belong to the past that they are compared with.
    if (isLasting(trouble)) continue;
    past.requests += first.requests;
    past.failed += first.failures.count;
  }
  const last = minutes.at(-1);
  if (last?.start === start) return last;
  const minute: Minute = {
    start,
    requests: 0,
    failures: new Failures(),
    since: undefined,
    onV1: { requests: 0, failed: 0 },
  };
  minutes.push(minute);
  return minute;
}

function recentMinutes({ minutes }: Health, time: number): Health['minutes'] {
  return minutes.filter(({ start }) => start > time - RECENT_MINUTES * MINUTE_MS);
}

function recentOf(health: Health, time: number): Counts {
  let [requests, failed] = [0, 0];
  for (const minute of recentMinutes(health, time)) {
    requests += minute.requests;
    failed += minute.failures.count;
  }
  return { requests, failed };
}

/** True if half of the requests also failed before. */
function hasFailedSo({ requests, failed }: Counts): boolean {
  return requests > 0 && failed * 2 >= requests;
}
