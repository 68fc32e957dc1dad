import { NEUTRAL_FAILURES } from '../../rollout/canary-window.ts';
import { DEFAULT_ROLLBACK } from '../../rules/declared-rollout.ts';
import type { RollbackRule } from '../../rules/rollout.ts';
import type { Answer } from '../answers.ts';
import {
  beganAt,
  callName,
  clientOf,
  isOutage,
  isUnfit,
  OTHER_CALLS,
  ownText,
  statusFrom,
} from '../entry.ts';
import { follow, isApart, joined, moveClient, troublesOfClients } from './clients.ts';
import {
  addToRow,
  end,
  endOf,
  goOn,
  goOnAtV1,
  isLasting,
  isReported,
  type Request,
  type Trouble,
  troubleOf,
  unjudged,
} from './course.ts';
import { Failures, type HealthEntry } from './failures.ts';
import {
  addToRecent,
  beforeOf,
  countOnV1,
  type Course,
  type Episode,
  forget,
  type Health,
  keepEarlier,
  learn,
  newCourse,
  settle,
  troubleShown,
} from './past.ts';
import { failsMoreThanBefore, hasFailedSo, type OperationTrouble, RECOVERED } from './trouble.ts';
import { UnfitCalls } from './unfit-calls.ts';
import { type Watch, watch, watchedOf, watchFrom, type WatchedOperation } from './watched.ts';

/** Maximum operations that are evaluated: a rule book has fewer. */
const MAX_OPERATIONS = 2000;

/** Maximum calls without an operation that are evaluated one by one: clients can make up any number of addresses. */
const MAX_UNFIT = 100;

/** Maximum requests that are counted again after those of the log; from half of them on, the log is read. */
const MAX_STEPS = 10_000;

/** A request or a change of modes of this run, while the log from before it is not read. */
type Step =
  | { readonly entry: HealthEntry; readonly time: number; readonly answer: Answer }
  | { readonly goesToV2: (operation: string | undefined) => boolean; readonly time: number };

/** The requests of all operations, and the calls that no operation fitted. */
interface KnownHealth {
  readonly all: ReadonlyMap<string, Health>;
  readonly unfit: UnfitCalls;
}

/**
 * Compares each operation of V1 with its own past, as a canary is compared with the clients that stay on V1: failures that were as
 * frequent before are not trouble. A response that the client got from V1 counts only for the past.
 */
export class OperationHealth {
  private all = new Map<string, Health>();
  /** The operations and calls whose requests do not go to V2. */
  private readonly offV2 = new Set<string>();
  private unfit = new UnfitCalls();
  private watching: ReadonlyMap<string, Readonly<Record<(typeof COURSES)[number], Watch>>> = new Map();
  private readonly rule: () => RollbackRule;
  private readonly onHarm: (trouble: OperationTrouble) => void;
  private readonly awaitsPast: () => boolean;
  /** Undefined once the log is read, or will not be. */
  private steps: Step[] | undefined = [];

  /**
   * `rule` is that of canaries; `onHarm` is called once for each trouble that counts as harm by the test of a canary. `awaitsPast` is called
   * when the time before this run matters; it is true while the log of that time is read.
   */
  constructor(
    rule: () => RollbackRule = () => DEFAULT_ROLLBACK,
    onHarm: (trouble: OperationTrouble) => void = () => {},
    awaitsPast: () => boolean = () => false,
  ) {
    this.rule = rule;
    this.onHarm = onHarm;
    this.awaitsPast = awaitsPast;
  }

  /** Counts an exchange that ended at `time` (milliseconds since 1970). */
  add(entry: HealthEntry, time: number, answer: Answer): void {
    const { operation, route, verdict, failure = '' } = entry;
    if (route !== 'migrate' || verdict === 'served') return;
    if (answer === 'left' || NEUTRAL_FAILURES.has(failure)) return;
    const failed = answer === 'failed';
    if (this.steps !== undefined) this.note({ entry: keptOf(entry), time, answer }, failed);
    this.count(entry, time, answer);
    // Only an operation can be sent back to V1 alone.
    if (failed && operation !== undefined) this.reportHarm(operation);
  }

  private note(step: Step, isUrgent: boolean): void {
    const length = this.steps?.push(step) ?? 0;
    const isWanted = isUrgent || length === MAX_STEPS / 2;
    if (length >= MAX_STEPS || (isWanted && !this.awaitsPast())) this.steps = undefined;
  }

  private count(entry: HealthEntry, time: number, answer: Answer): void {
    const { operation, ruleBook } = entry;
    const call = operation ?? this.unfitCall(entry, answer, time);
    const health = call === undefined ? undefined : this.healthOf(call, time);
    if (call === undefined || health === undefined) return;
    if (operation === undefined) this.unfit.add(call, ruleBook, time);
    else this.endUnfit(entry);
    const failed = answer === 'failed';
    const isSilence = failed && isOutage(entry.failure ?? '');
    const request: Request = { entry, failed, began: beganAt(entry, time), time };
    const silence: Request = { ...request, failed: isSilence };
    if (entry.origin === 'v1') {
      for (const [course, one] of [
        [health.responses, request],
        [health.silence, silence],
      ] as const) {
        if (statusFrom(entry) === 'v1') countOnV1(course, one);
        goOnAtV1(course.trouble, failed, this.rule());
        settle(course);
      }
      moveClient(health, clientOf(entry), time);
      return;
    }
    const watches = this.watching.get(call);
    addToRow(health.silence, silence);
    this.judge(health, health.silence, silence, watches?.silence);
    // An outage of V2 says nothing about the operation: its faults, their counts and its past are those of responses.
    if (isSilence) return;
    const wasApart = isApart(health, entry);
    if (!wasApart) addToRow(health.responses, request);
    follow(health, request, this.rule());
    if (!wasApart && !isApart(health, entry))
      this.judge(health, health.responses, request, watches?.responses);
  }

  private judge(health: Health, course: Course, request: Request, counts: Watch | undefined): void {
    course.onV2 += 1;
    watch(counts, request);
    const { trouble } = course;
    if (isLasting(trouble)) {
      goOn(trouble, request, this.rule());
      settle(course);
    } else {
      addToRecent(course, request);
      if (request.failed) begin(health, course, troubleShown(course, request, this.rule()));
      else if (trouble !== undefined) trouble.recovered += 1;
    }
    if (request.failed) grow(course.trouble, this.rule());
  }

  /** Ends the trouble of a call that no operation fitted, once one of another rule book does. */
  private endUnfit(entry: HealthEntry): void {
    const health = this.all.get(this.unfit.fittedBy(entry) ?? '');
    if (health === undefined) return;
    const { responses, silence, clients } = health;
    for (const { trouble } of [responses, silence, ...clients.values()])
      if (isLasting(trouble)) {
        end(trouble);
        trouble.recovered = RECOVERED;
      }
    for (const course of [responses, silence]) settle(course);
  }

  /** The name by which a call is followed that no operation fits; undefined for a refusal of an address that no service is known to have. */
  private unfitCall({ method, path }: HealthEntry, answer: Answer, time: number): string | undefined {
    const call = callName(undefined, method, path);
    if (this.all.has(call)) return call;
    if (answer === 'refused') return undefined;
    if (this.unfit.size < MAX_UNFIT) return call;
    const forgotten = this.unfit.forget(time);
    if (forgotten === undefined) return OTHER_CALLS;
    this.all.delete(forgotten);
    this.offV2.delete(forgotten);
    return call;
  }

  /** What is known, as a text that can be sent from a thread. */
  get text(): string {
    const known: KnownHealth = { all: this.all, unfit: this.unfit };
    return JSON.stringify(known, (_, value: unknown) => (value instanceof Map ? [...value] : value));
  }

  /**
   * Adds what is known of the time before this run (`text`), as if it had not stopped: its requests until now are counted again, after
   * those. If they were too many to keep, the earlier ones are only the past of each operation.
   */
  learn(text: string): void {
    const { steps, watching } = this;
    const before = knownIn(text);
    this.steps = undefined;
    if (steps === undefined) {
      for (const [call, health] of before.all) {
        const own = this.healthOf(call, 0);
        if (own === undefined) continue;
        for (const name of COURSES) {
          learn(own[name].past, beforeOf(health[name]).before);
          own[name].onV2 += health[name].onV2;
        }
      }
      return;
    }
    const reported = new Set(this.lasting().flatMap(([name, { isReported }]) => (isReported ? [name] : [])));
    this.all = new Map(before.all);
    this.unfit = before.unfit;
    this.offV2.clear();
    this.watching = new Map();
    this.endCured(steps);
    for (const step of steps)
      if ('entry' in step) this.count(step.entry, step.time, step.answer);
      else this.leave(step.goesToV2, step.time);
    this.watching = watching;
    for (const [name, trouble] of this.lasting()) trouble.isReported = reported.has(name);
  }

  /** Ends each outage of V2 that the first request of this run does not show: a start closes the circuit. */
  private endCured(steps: readonly Step[]): void {
    for (const [call, { silence }] of this.all) {
      const { trouble } = silence;
      if (!isLasting(trouble)) continue;
      const first = steps.find(
        (step) =>
          'entry' in step &&
          step.entry.origin !== 'v1' &&
          callName(step.entry.operation, step.entry.method, step.entry.path) === call,
      );
      if (first !== undefined && 'answer' in first && first.answer === 'failed') continue;
      end(trouble);
      settle(silence);
    }
  }

  /**
   * Tells which operations V2 gets requests for, after a change of modes at `time`; undefined stands for calls that no operation fits. What
   * failed before its requests went to V1 is over, so that a failure after their return to V2 is another trouble.
   */
  move(goesToV2: (operation: string | undefined) => boolean, time: number): void {
    this.note({ goesToV2, time }, false);
    this.leave(goesToV2, time);
  }

  private leave(goesToV2: (operation: string | undefined) => boolean, time: number): void {
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
      operations.map((operation) => {
        const { responses, silence } = this.all.get(operation) ?? {};
        const begun = { responses: watchFrom(responses, time), silence: watchFrom(silence, time) };
        return [operation, this.watching.get(operation) ?? begun];
      }),
    );
  }

  /** The counts of those operations. */
  get watched(): readonly WatchedOperation[] {
    return [...this.watching].flatMap(([operation, { responses, silence }]) => [
      watchedOf(operation, responses, false),
      watchedOf(operation, silence, true),
    ]);
  }

  /** Milliseconds since 1970 at which the last trouble was over, or was last seen; undefined if there was none. */
  get wellSince(): number | undefined {
    const ends = [...this.all.values()].flatMap((health) => [
      ...COURSES.flatMap((name) => [...health[name].earlier, ...presentOf(health[name])]).map(
        ({ trouble }) => trouble,
      ),
      ...troublesOfClients(health).values(),
    ]);
    return ends.length === 0 ? undefined : Math.max(...ends.map((one) => endOf(one)));
  }

  /** The trouble of operations at `now`, or that ended less than `reportedMs` ago, the latest last. */
  troubles(now: number, reportedMs = 3_600_000): readonly OperationTrouble[] {
    return [...this.all]
      .flatMap(([operation, health]) =>
        COURSES.flatMap((name) => {
          const { earlier } = health[name];
          const told = ({ trouble, clients, whole }: Episode): OperationTrouble => ({
            ...troubleOf(operation, trouble, this.rule(), name === 'silence'),
            ...(clients === undefined ? {} : { clients }),
            ...(whole === undefined ? {} : { whole: wholeOf(whole) }),
          });
          const isTold = ({ trouble }: Episode): boolean => isReported(trouble, now, reportedMs);
          const ofClients = name === 'silence' ? [] : episodesOfClients(health);
          return [
            ...earlier.filter(isTold).map((one) => ({ ...told(one), isEarlier: true }) as const),
            ...[...ofClients, ...presentOf(health[name])].filter(isTold).map(told),
          ];
        }),
      )
      .sort((one, other) => one.since - other.since);
  }

  /** Reports once that the test of a canary finds harm: at first there may be too few requests. */
  private reportHarm(operation: string): void {
    const health = this.all.get(operation);
    for (const name of COURSES) {
      const trouble = health?.[name].trouble;
      if (!isLasting(trouble) || trouble.isReported) continue;
      const harm = troubleOf(operation, trouble, this.rule(), name === 'silence');
      if (!harm.evidence.isHarm) continue;
      trouble.isReported = true;
      this.onHarm(harm);
    }
  }

  /** The troubles of operations that go on, each with a name. */
  private lasting(): readonly (readonly [name: string, trouble: Trouble])[] {
    return [...this.all].flatMap(([call, health]) =>
      COURSES.flatMap((name) => {
        const { trouble } = health[name];
        return isLasting(trouble) ? [[`${name} ${call}`, trouble] as const] : [];
      }),
    );
  }

  private healthOf(operation: string, time: number): Health | undefined {
    const known = this.all.get(operation);
    if (known !== undefined || this.all.size >= MAX_OPERATIONS) return known;
    const health: Health = { responses: newCourse(time), silence: newCourse(time), clients: new Map() };
    this.all.set(operation, health);
    return health;
  }
}

/** The two courses of an operation. */
const COURSES = ['responses', 'silence'] as const;

function presentOf({ trouble }: Course): readonly Episode[] {
  return trouble === undefined ? [] : [{ trouble }];
}

/** The trouble of the clients that fail, or of those that did. */
function episodesOfClients(health: Health): readonly Episode[] {
  const all = [...troublesOfClients(health)];
  const lasting = all.filter(([, trouble]) => isLasting(trouble));
  if (all.length === 0) return [];
  if (lasting.length === 0 || lasting.length === all.length) return [joined(all)];
  return [{ ...joined(lasting), whole: joined(all).trouble }];
}

function wholeOf({ requests, failures, since }: Trouble): NonNullable<OperationTrouble['whole']> {
  return { requests, failed: failures.count, hit: failures.clients, since };
}

/** Notes how bad trouble is that goes on. */
function grow(trouble: Trouble | undefined, rule: RollbackRule): void {
  if (!isLasting(trouble)) return;
  const { compared, requests, failures } = trouble;
  const counts = { requests, failed: failures.count };
  trouble.isSevere ||= hasFailedSo(counts) || failsMoreThanBefore(compared, counts, rule);
}

/** Begins trouble after one that is over; that of clients which was part of the earlier one goes with it. */
function begin(health: Health, course: Course, trouble: Trouble | undefined): void {
  if (trouble === undefined) return;
  if (course === health.responses) {
    const ofClients = troublesOfClients(health);
    for (const [client, { trouble: own }] of health.clients)
      if (own !== undefined && !ofClients.has(client)) health.clients.delete(client);
  }
  for (const earlier of presentOf(course)) keepEarlier(course, earlier);
  course.trouble = trouble;
}

/** The members of an entry that are kept while the log is not read. */
function keptOf(entry: HealthEntry): HealthEntry {
  const { route, verdict, status, failure, cause, origin, client, operation } = entry;
  const { mode, ruleBook, method, path, totalMs } = entry;
  return {
    route,
    verdict,
    status,
    failure,
    cause,
    origin,
    client,
    operation,
    mode,
    ruleBook,
    // As parts of a request's head they would keep all of it.
    method: method && ownText(method),
    path: path && ownText(path),
    totalMs,
  };
}

/** Ends the trouble of an operation that V1 serves for all clients; all other requests until now become its past. */
function leaveV2(health: Health, time: number): void {
  for (const course of [health.responses, health.silence]) {
    if (isLasting(course.trouble)) end(course.trouble, true);
    settle(course);
    forget(course);
    course.onV2 = 0;
    course.row = unjudged(time).row;
  }
  for (const client of health.clients.keys()) moveClient(health, client, time);
}

/** What {@link OperationHealth.text} printed. */
function knownIn(text: string): KnownHealth {
  return JSON.parse(text, (key, value) => {
    if (key === 'failures') return Failures.read(value);
    if (key === 'unfit') return new UnfitCalls(value);
    return key === 'all' || key === 'clients' || key === 'byClient' ? new Map(value) : value;
  });
}
