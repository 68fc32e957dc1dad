import type { Mode, Modes } from '../rules/rollout.ts';
import { count, counted } from '../rules/words.ts';
import { modeChanges, modesInForce, ownMode } from './modes-in-force.ts';

/** Requests through one origin in the observed period. */
export interface OriginCount {
  readonly requests: number;
  readonly failures: number;
}

/** A quantile of latencies in which V2 is slower than V1, in milliseconds to the head of the response. */
export interface LatencyHarm {
  readonly quantile: 'median' | 'p99';
  /** V1's is at most this. */
  readonly v1Ms: number;
  /** V2's is above this. */
  readonly v2Ms: number;
}

/** Requests, those of them that failed, and the bounds of the share that fails, from 0 to 1. */
export interface FailedShare extends OriginCount {
  readonly low: number;
  readonly high: number;
}

/** The evidence of a canary so far. */
export interface CanaryEvidence {
  /** Requests since the beginning of the stage. */
  readonly migrated: number;
  readonly v1: number;
  /** Minimum requests to each service for a comparison. */
  readonly requests: number;
  /** The difference in percentage points that counts as harm. */
  readonly margin: number;
  /** All failures of both groups with the bounds of their shares. */
  readonly failed: Readonly<Record<'migrated' | 'v1', FailedShare>>;
  /** Number of further migrated requests that would show a difference of the margin; absent if unknown. */
  readonly forMargin?: number;
  /** The next smaller difference, once one of the margin would have been detected. */
  readonly finer?: { readonly points: number; readonly needs: number | undefined };
  /** Upper bounds in milliseconds to the head of the response; absent without a measurement, or beyond the scale. */
  readonly latency: Readonly<
    Record<
      LatencyHarm['quantile'],
      { readonly v1Ms?: number | undefined; readonly v2Ms?: number | undefined }
    >
  >;
}

/** Describes what a canary has shown, how many more requests it needs, and what is unknown. */
export function evidenceSentence({
  migrated,
  v1,
  requests,
  margin,
  forMargin,
  finer,
}: CanaryEvidence): string {
  if (migrated < requests || v1 < requests) {
    const [service, served] = migrated < requests ? ['V2', migrated] : ['V1', v1];
    const without =
      service === 'V1'
        ? ` Without a control group, only failures of more than ${margin} % of all requests are detected.`
        : '';
    return `The comparison begins once ${service} has served ${counted(requests, 'request')}: ${count(served)} so far.${without}`;
  }
  const difference = `a difference of ${points(margin)}`;
  if (forMargin === undefined) return `The number of requests that show ${difference} is unknown.`;
  if (forMargin > 0) return `Needs about ${rounded(forMargin)} to see ${difference}.`;
  const seen = `No harm: ${difference} would have been detected.`;
  if (finer?.needs === undefined) return seen;
  return `${seen} Needs about ${rounded(finer.needs)} to see one of ${points(finer.points)}.`;
}

/**
 * The difference in percentage points from which evidence counts as harm: half the margin. With the whole margin, only every second canary
 * would detect a V2 that fails more often by exactly the margin.
 */
export function leastDifference({ margin }: { readonly margin: number }): number {
  return margin / 2;
}

/** Milliseconds by which V2 must be slower to count as harmful; people do not notice less. */
export const NOTICED_MS = 50;

/** A share is in percent, a difference of two shares in points. */
export function points(difference: number): string {
  return `${difference} percentage ${difference === 1 ? 'point' : 'points'}`;
}

/** Prints two digits: the estimate is not more exact. */
function rounded(requests: number): string {
  const number = Number(requests.toPrecision(2));
  return counted(number, 'more request');
}

/** Describes the latencies of both services, as far as known. */
export function latencySentence({ latency: { median, p99 } }: CanaryEvidence): string {
  if ([median, p99].every(({ v1Ms, v2Ms }) => v1Ms === undefined && v2Ms === undefined))
    return 'No latency is known yet.';
  const of = (ms: number | undefined): string => (ms === undefined ? 'not known' : milliseconds(ms));
  return `Upper bounds: the median is ${of(median.v2Ms)} when migrated and ${of(median.v1Ms)} on V1, the 99 % quantile ${of(p99.v2Ms)} and ${of(p99.v1Ms)}.`;
}

/** Says how much slower V2 is, in a part of a sentence. */
export function slowerSentence({ quantile, v1Ms, v2Ms }: LatencyHarm): string {
  const name = quantile === 'median' ? 'the median' : 'the 99 % quantile';
  return `${name} of the time to a response is above ${milliseconds(v2Ms)} when migrated, at most ${milliseconds(v1Ms)} on V1`;
}

function milliseconds(ms: number): string {
  return `${count(Number(ms.toPrecision(2)))} ms`;
}

/** Represents several clients or operations, if none has most of the failures. */
export const SEVERAL = '*';

/** The common cause of failed migrated requests. */
export interface FailureCause {
  /** Status, or class of statuses such as `5xx`, then the code of the gateway's own failure: `502 upstream-unreachable`. */
  readonly status: string;
  /** Client hash, or `SEVERAL`; absent for requests without a key. */
  readonly client?: string;
  /** Operation, or `SEVERAL`; absent for requests that the rule book does not name. */
  readonly operation?: string;
  /** The first place named by V2's response, or by the gateway's failure. */
  readonly pointer?: string;
}

/** The most frequent failure of the migrated requests that rolled a canary back. */
export interface RollbackCause extends FailureCause {
  /** The number of such failures that the deciding replica counted. */
  readonly count: number;
}

/** A canary that was rolled back to `observe` automatically. */
export interface Rollback {
  /** RFC 3339. */
  readonly at: string;
  /** Name of the replica that decided it; absent without replicas. */
  readonly by?: string;
  /** Operation of the canary; absent for the default's. */
  readonly operation?: string;
  /** Percent of the clients that were migrated. */
  readonly share: number;
  readonly migrated: OriginCount;
  readonly v1: OriginCount;
  /** Present where V2 was too slow rather than failing too often. */
  readonly latency?: LatencyHarm;
  /** The most frequent failure; absent where other replicas counted it. */
  readonly cause?: RollbackCause;
  /** RFC 3339: time at which an operator set a mode again; absent while the rollback is in force. */
  readonly resolved?: string;
}

/** Modes that operators and rollbacks set while the gateway runs; each takes precedence over the rule book. */
export interface RolloutState {
  /** Number of changes. */
  readonly revision: number;
  /** RFC 3339: time of the last change. */
  readonly changed: string;
  /** Name of the replica that made the last change; absent without replicas. */
  readonly by?: string;
  readonly default?: Mode;
  /** By operation id. */
  readonly operations: Readonly<Record<string, Mode>>;
  /** By client hash. */
  readonly clients: Readonly<Record<string, Mode>>;
  /** Newest first. */
  readonly rollbacks: readonly Rollback[];
  /** The revision that began each operation's stage, and the default's under the empty name; absent before the first choice. */
  readonly stages?: Readonly<Record<string, number>>;
  /** The last commands, newest first. */
  readonly history?: readonly CommandRecord[];
}

/** A command as the list of changes keeps it. */
export interface CommandRecord extends RolloutCommand {
  /** RFC 3339. */
  readonly at: string;
}

/** Target of a command: a client, an operation, or neither for the default. */
export interface RolloutTarget {
  readonly operation?: string | undefined;
  readonly client?: string | undefined;
}

/** Sets a mode; without one, the rule book's applies again. */
export interface RolloutCommand extends RolloutTarget {
  readonly mode?: Mode | undefined;
  /** Name of the replica that took the command. */
  readonly by?: string | undefined;
  /** The operator's name and reason, if given. */
  readonly who?: string | undefined;
  readonly why?: string | undefined;
}

/** Maximum number of rollbacks, and of commands, in the history. */
const MAX_ROLLBACKS = 20;
const MAX_COMMANDS = 50;

/**
 * Returns the revision of the next state. It never exceeds the numbers that a store's text can represent exactly, even after a state that
 * was edited by hand.
 */
function revisionAfter({ revision }: RolloutState): number {
  return Math.min(revision + 1, Number.MAX_SAFE_INTEGER);
}

/** State before any mode is set. */
export const initialRollout: RolloutState = {
  revision: 0,
  changed: '1970-01-01T00:00:00.000Z',
  operations: {},
  clients: {},
  rollbacks: [],
};

/** The stage of an operation, or of the default: another one after each change of its mode. */
export function stageOf({ stages = {} }: RolloutState, operation = ''): number {
  return Object.hasOwn(stages, operation) ? (stages[operation] ?? 0) : 0;
}

/** The part of a rollback for its sentence. */
type ReportedRollback = Pick<Rollback, 'by' | 'migrated' | 'cause'>;

/**
 * Says which failure rolled a canary back, and its share of all failures; empty if unknown. `name` is the client's display name. Other
 * replicas may have counted more of the same.
 */
function causeSentence({ by, migrated, cause }: ReportedRollback, name?: string): string {
  if (cause === undefined) return '';
  const { status, client, operation, pointer, count: times } = cause;
  const at = pointer === undefined ? '' : ` at ${pointer === '' ? 'the root of the body' : pointer}`;
  const who = client === SEVERAL ? 'several clients' : `client ${name ?? client}`;
  const from = client === undefined ? 'from requests without a key' : `from ${who}`;
  const where =
    operation === undefined ? '' : `, in ${operation === SEVERAL ? 'several operations' : operation}`;
  const { failures } = migrated;
  const share =
    times >= failures
      ? failures === 1
        ? 'The one failure'
        : `All ${count(failures)} failures`
      : `${by === undefined ? '' : 'At least '}${count(times)} of ${count(failures)} failures`;
  return `${share}: ${status}${at}, ${from}${where}.`;
}

/** Says why a canary was rolled back: how slow V2 was, or how often it failed, and with which failure most. */
export function reasonSentence(
  rollback: ReportedRollback & Pick<Rollback, 'v1' | 'latency'>,
  name?: string,
): string {
  const { migrated, v1, latency } = rollback;
  if (latency !== undefined) return `${slowerSentence(latency)}.`;
  const cause = causeSentence(rollback, name);
  // The test leaves out those that V1 refuses the client as often.
  return `${count(migrated.failures)} of ${count(migrated.requests)} compared requests failed on V2, ${count(v1.failures)} of ${count(v1.requests)} on V1.${cause === '' ? '' : ` ${cause}`}`;
}

/** Returns the state after a command at `now` (RFC 3339), which resolves the rollbacks of its target. */
export function commanded(state: RolloutState, command: RolloutCommand, now: string): RolloutState {
  const { mode, operation, client, by } = command;
  const history = [{ ...command, at: now }, ...(state.history ?? [])].slice(0, MAX_COMMANDS);
  const changed = { ...changedBy(state, by), revision: revisionAfter(state), changed: now, history };
  const sent = withChoice(changed, command, mode);
  if (client !== undefined) return sent;
  const before = operation === undefined ? state.default : ownMode(state.operations, operation);
  // Choosing the same mode again continues the stage.
  const next = isSameMode(before, mode)
    ? sent
    : { ...sent, stages: { ...state.stages, [operation ?? '']: sent.revision } };
  const rollbacks = state.rollbacks.map((rollback) =>
    rollback.operation === operation && rollback.resolved === undefined
      ? { ...rollback, resolved: now }
      : rollback,
  );
  return { ...next, rollbacks };
}

/** The mode of a canary after its rollback, until an operator acts. */
const ROLLED_BACK: Mode = { mode: 'observe' };

/** Returns the state after a rollback. */
export function rolledBack(state: RolloutState, rollback: Rollback): RolloutState {
  const { at, by } = rollback;
  const changed = {
    ...changedBy(state, by),
    revision: revisionAfter(state),
    changed: at,
    rollbacks: [rollback, ...state.rollbacks].slice(0, MAX_ROLLBACKS),
  };
  return withChoice(changed, rollback, ROLLED_BACK);
}

/** The modes that were in force before a change at `at` (milliseconds since 1970), and after it. */
export interface EarlierModes {
  readonly at: number;
  readonly modes: Modes;
  readonly after: Modes;
  readonly change: CommandRecord | Rollback | BookReload;
}

/** A rule book that replaced another. */
export interface BookReload {
  /** RFC 3339. */
  readonly at: string;
  /** The modes of the rule book before it, if it had any. */
  readonly modesBefore: Modes | undefined;
}

/**
 * The modes before each command and rollback that the state has kept, and before each reload that changed modes, newest first; `book`
 * has those of the rule book.
 */
export function earlierModes(
  state: RolloutState,
  book: Modes | undefined,
  reloads: readonly BookReload[] = [],
): readonly EarlierModes[] {
  const rollbacks = state.rollbacks.map((change) => ({
    change,
    target: { operation: change.operation },
    mode: ROLLED_BACK,
  }));
  const commands = (state.history ?? []).map((change) => ({ change, target: change, mode: change.mode }));
  const changes: readonly AppliedChange[] = [
    ...commands,
    ...rollbacks,
    ...reloads.map((change) => ({ change })),
  ].sort((one, other) => Date.parse(other.change.at) - Date.parse(one.change.at));
  let [before, ofBook] = [state, book];
  return changes.flatMap((applied, index): readonly EarlierModes[] => {
    const { change } = applied;
    const after = modesInForce(ofBook, before);
    if ('modesBefore' in change) ofBook = change.modesBefore;
    else if ('target' in applied)
      before = withChoice(before, applied.target, lastMode(applied.target, changes.slice(index + 1)));
    const modes = modesInForce(ofBook, before);
    // Most rule books change no mode.
    if ('modesBefore' in change && modeChanges(modes, after).length === 0) return [];
    return [{ at: Date.parse(change.at), modes, after, change }];
  });
}

/** The mode of a target after the newest of these changes that concerns it. */
function lastMode({ operation, client }: RolloutTarget, changes: readonly AppliedChange[]): Mode | undefined {
  const last = changes.find(
    (one) => 'target' in one && one.target.operation === operation && one.target.client === client,
  );
  return last !== undefined && 'mode' in last ? last.mode : undefined;
}

/** A command or a rollback, with its target and its mode; or a reload of the rule book. */
type AppliedChange =
  | {
      readonly change: CommandRecord | Rollback;
      readonly target: RolloutTarget;
      readonly mode: Mode | undefined;
    }
  | { readonly change: BookReload };

/** Returns the state with this mode for the target, or without one. */
function withChoice(
  state: RolloutState,
  { operation, client }: RolloutTarget,
  mode: Mode | undefined,
): RolloutState {
  if (client !== undefined) return { ...state, clients: withMode(state.clients, client, mode) };
  if (operation !== undefined) return { ...state, operations: withMode(state.operations, operation, mode) };
  const { default: _, ...others } = state;
  return mode === undefined ? others : { ...others, default: mode };
}

function changedBy(state: RolloutState, by: string | undefined): RolloutState {
  const { by: _, ...others } = state;
  return by === undefined ? others : { ...others, by };
}

function withMode(
  modes: RolloutState['clients'],
  name: string,
  mode: Mode | undefined,
): RolloutState['clients'] {
  const others = Object.fromEntries(Object.entries(modes).filter(([other]) => other !== name));
  return mode === undefined ? others : { ...others, [name]: mode };
}

/** A change of a rollout that a replica made, and the state that it was made on. */
export type RolloutChange = { readonly base: RolloutState } & (
  | { readonly command: RolloutCommand; readonly at: string }
  | { readonly rollback: Rollback }
);

/**
 * Returns the state after a change, or the same state when the change no longer applies: another replica rolled the same canary back, or
 * set another mode while this replica was alone (`isLate`). A command that was not late always applies, so of two concurrent ones the
 * second takes effect.
 */
export function applyChange(state: RolloutState, change: RolloutChange, isLate: boolean): RolloutState {
  if ('rollback' in change) {
    const { rollback, base } = change;
    return isRolledBack(state, rollback) || !isSameChoice(state, base, rollback)
      ? state
      : rolledBack(state, rollback);
  }
  const { command, at } = change;
  // A command whose response came too late may have been stored.
  return isLate && (isStored(state, command, at) || isOvertaken(state, change))
    ? state
    : commanded(state, command, at);
}

function isStored({ history = [] }: RolloutState, command: RolloutCommand, at: string): boolean {
  return history.some(
    (record) =>
      record.at === at &&
      record.by === command.by &&
      record.operation === command.operation &&
      record.client === command.client &&
      isSameMode(record.mode, command.mode),
  );
}

/** True when the state's mode for the target of a command is neither its base's nor the command's. */
export function isOvertaken(state: RolloutState, change: RolloutChange): boolean {
  if (!('command' in change)) return false;
  const { command, base } = change;
  return !isSameChoice(state, base, command) && !isSameMode(chosenMode(state, command), command.mode);
}

/** True when a canary is rolled back, and no operator has set a mode since. */
export function isRolledBack({ rollbacks }: RolloutState, { operation }: RolloutTarget): boolean {
  return rollbacks.some((other) => other.operation === operation && other.resolved === undefined);
}

function isSameChoice(state: RolloutState, base: RolloutState, target: RolloutTarget): boolean {
  return (
    isSameMode(chosenMode(state, target), chosenMode(base, target)) &&
    lastRollback(state, target) === lastRollback(base, target)
  );
}

function lastRollback({ rollbacks }: RolloutState, { operation }: RolloutTarget): string | undefined {
  return rollbacks.find((rollback) => rollback.operation === operation)?.at;
}

function chosenMode(state: RolloutState, { operation, client }: RolloutTarget): Mode | undefined {
  if (client !== undefined) return ownMode(state.clients, client);
  return operation === undefined ? state.default : ownMode(state.operations, operation);
}

/** Says what was rolled back, and why. */
export function rollbackSentence(rollback: Rollback): string {
  const { operation, share, by } = rollback;
  const canary = `canary of ${share} % ${operation === undefined ? '' : `of ${operation} `}rolled back to observe`;
  const who = by === undefined ? '' : ` by ${by}`;
  return `${canary}${who}: ${reasonSentence(rollback)} It stays in observe until an operator sets a mode.`;
}

function isSameMode(one: Mode | undefined, other: Mode | undefined): boolean {
  return one?.mode === other?.mode && one?.share === other?.share;
}
