import type { Modes } from '../rules/rollout.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import {
  type CanaryCount,
  type CanaryHarm,
  type CanaryOutcome,
  canaryOutcome,
  CanaryWindow,
  OWN_CLASSES,
  type Sums,
} from './canary-window.ts';
import {
  applyChange,
  initialRollout,
  type CanaryEvidence,
  type FailureCause,
  rollbackSentence,
  type RolloutChange,
  type RolloutCommand,
  type RolloutState,
  stageOf,
} from './rollout-state.ts';
import {
  type CountedRequest,
  modesInForce,
  type ModesInForce,
  needsV1,
  type RolloutSubject,
  type RoutedMode,
} from './modes-in-force.ts';
import { CANARY } from './canary-texts.ts';
import { bucketOf, type Sample, share } from './evidence.ts';

/** Clock and notifications of a rollout. */
export interface RolloutControlParts {
  /** Milliseconds since 1970. */
  readonly time: () => number;
  /** Called with a sentence on each rollback that is not shared, and if modes cannot apply here; `event` is its name in the log. */
  readonly onNotice: (sentence: string, event: 'rollout-rolled-back' | 'rollout-without-v1') => void;
  /** False without a V1 service: modes set elsewhere that need one do not apply here. */
  readonly hasV1?: boolean;
}

/** The other replicas, as one replica sees them. */
export interface RolloutSharing {
  /** Name of this replica. */
  readonly name: string;
  /** True while canaries are judged on the sums of all replicas; otherwise each replica judges its own requests. */
  readonly isTogether: boolean;
  /** Makes a change that applies here apply everywhere. */
  keep(change: RolloutChange): void;
}

/** A canary while its mode and the rules stay the same. */
interface Stage {
  readonly operation: string | undefined;
  readonly window: CanaryWindow;
}

interface StageOrigin {
  /** Hash of the rule book. */
  readonly hash: string;
  readonly state: RolloutState;
}

/** The modes in force while the gateway runs: the rule book's, those that operators set, and rollbacks. */
export class RolloutControl implements ModesInForce {
  state: RolloutState = initialRollout;
  /** V1 requests by the origin that they were sent to. */
  readonly requests = { v1: 0, v2: 0 };
  private readonly parts: RolloutControlParts;
  private readonly baselines = new ClientBaselines();
  /** Stages that are counted, by the key of their window. */
  private readonly stages = new Map<string, Stage>();
  /** The rule book and state that modes were compiled from. */
  private readonly origins = new WeakMap<Modes, StageOrigin>();
  private sharing: RolloutSharing | undefined;
  private book: Modes | undefined;
  private bookHash = '';
  private compiledModes: Modes | undefined;
  private onModes: ((modes: Modes) => void) | undefined;
  /** The state that does not apply here, after the notice about it. */
  private missedV1: RolloutState | undefined;

  constructor(parts: RolloutControlParts) {
    this.parts = parts;
  }

  /** Makes this replica one of several. */
  shareWith(sharing: RolloutSharing): void {
    this.sharing = sharing;
  }

  /** Calls this with the modes of each change: by a command, a roll-back, another replica, or a rule book. */
  watch(onModes: (modes: Modes) => void): void {
    this.onModes = onModes;
  }

  modes({ rollout, hash }: RuleBook): Modes {
    if (this.compiledModes === undefined || this.book !== rollout?.modes || this.bookHash !== hash) {
      this.book = rollout?.modes;
      this.bookHash = hash;
      const modes = this.modesHere();
      this.compiledModes = modes;
      this.origins.set(modes, { hash, state: this.state });
      const current = new Set(canariesOf(modes).map((operation) => this.keyOf(operation)));
      for (const key of this.stages.keys()) if (!current.has(key)) this.stages.delete(key);
      this.onModes?.(modes);
    }
    return this.compiledModes;
  }

  /**
   * The modes that can apply here. A mode in a store may be older than a deployment without V1: refusing every request because of it
   * would cut off V1's clients until an operator chose again. The rule book was checked at the start, so its modes can apply.
   */
  private modesHere(): Modes {
    const modes = modesInForce(this.book, this.state);
    const own = modesInForce(this.book, undefined);
    if (this.parts.hasV1 !== false || !needsV1(modes) || needsV1(own)) return modes;
    if (this.missedV1 !== this.state)
      this.parts.onNotice(
        'the modes in the store send requests to V1, but no V1 service is configured here. The modes of the rule book apply instead: set --v1-upstream, or choose migrate.',
        'rollout-without-v1',
      );
    this.missedV1 = this.state;
    return own;
  }

  /** True when no mode was ever set at run time. */
  get isInitial(): boolean {
    return this.state === initialRollout;
  }

  /** Adopts a stored state, or one of another replica. */
  adopt(state: RolloutState): void {
    this.state = state;
    this.compiledModes = undefined;
    // They may be replaced before the next request calls modes().
    this.onModes?.(this.modesHere());
  }

  /** Applies a command, here at once. */
  command(command: RolloutCommand): void {
    const at = new Date(this.parts.time()).toISOString();
    this.change({ command: { ...command, by: this.sharing?.name }, at, base: this.state });
  }

  countAnswer(routed: RoutedMode, status: number, request: CountedRequest): void {
    const outcome = canaryOutcome(status, request.failure);
    if (outcome !== undefined) this.count(routed, outcome, request);
  }

  /**
   * Counts a request by the mode that was chosen for it. Rolls a canary back when migrated requests fail too often; a failure that the
   * client gets as often on V1 does not count.
   */
  count({ canary, origin, modes }: RoutedMode, outcome: CanaryOutcome, request: CountedRequest): void {
    const isOwn =
      origin === 'v1'
        ? this.baselines.addV1(request, outcome, canary !== undefined)
        : canary !== undefined && this.baselines.addV2(request, outcome);
    // A request that began in an earlier stage says nothing about the current one.
    if (canary === undefined || isOwn || !this.isCurrent(canary.operation, modes)) return;
    const stage = this.stage(canary.operation, modes);
    const now = this.parts.time();
    const ownBucket = origin === 'v2' ? this.baselines.ownBucket(request) : undefined;
    const cause = outcome === 'success' ? undefined : causeOf(outcome, request);
    const isTime = stage.window.add({ origin, outcome, ms: request.ms, ownBucket, cause }, now);
    // With replicas, the sums of all are evaluated when they arrive.
    if (!isTime || this.isTogether) return;
    const harm = stage.window.judge(now, false);
    if (harm !== undefined) this.rollBack(canary.operation, canary.share, harm);
  }

  /**
   * Counts and evidence of the active canaries, even of those without a request yet, by operation; `undefined` is the default's.
   */
  get counts(): ReadonlyMap<string | undefined, CanaryCount & { readonly evidence: CanaryEvidence }> {
    const { isTogether, compiledModes } = this;
    const now = this.parts.time();
    if (compiledModes !== undefined)
      for (const operation of canariesOf(compiledModes)) this.stage(operation, compiledModes);
    return new Map(
      [...this.stages.values()].map(({ operation, window }) => [
        operation,
        { ...window.count(now, isTogether), evidence: window.evidence(now, isTogether) },
      ]),
    );
  }

  /** Returns the counts of the canaries since the last call, by key, for the other replicas. */
  takeCounts(): ReadonlyMap<string, string> {
    const now = this.parts.time();
    return new Map(
      [...this.stages].flatMap(([key, { window }]) => {
        const text = window.takeUnshared(now);
        return text === undefined ? [] : [[key, text] as const];
      }),
    );
  }

  /** Takes the counts of all replicas for each canary, by the key of `takeCounts`. Rolls back when migrated requests do too badly. */
  learn(sumsOf: (key: string) => { readonly window: Sums; readonly stage: Sums }): void {
    const modes = this.compiledModes;
    if (modes === undefined) return;
    for (const operation of canariesOf(modes)) {
      const { window } = this.stage(operation, modes);
      const sums = sumsOf(this.keyOf(operation));
      window.merge(sums.window, sums.stage);
      const { share } = operation === undefined ? modes.default : (modes.operations[operation] ?? {});
      const harm = share === undefined ? undefined : window.judge(this.parts.time(), true);
      if (harm !== undefined && share !== undefined) this.rollBack(operation, share, harm);
    }
  }

  /** True for the key of a canary that is counted now. */
  isCounted(key: string): boolean {
    return this.stages.has(key);
  }

  private get isTogether(): boolean {
    return this.sharing?.isTogether === true;
  }

  private stage(operation: string | undefined, modes: Modes): Stage {
    const key = this.keyOf(operation);
    const stage = this.stages.get(key) ?? {
      operation,
      window: new CanaryWindow(modes.rollback),
    };
    this.stages.set(key, stage);
    return stage;
  }

  private isCurrent(operation: string | undefined, modes: Modes): boolean {
    if (modes === this.compiledModes) return true;
    const origin = this.origins.get(modes);
    return origin !== undefined && keyOf(operation, origin) === this.keyOf(operation);
  }

  private keyOf(operation: string | undefined): string {
    return keyOf(operation, { hash: this.bookHash, state: this.state });
  }

  private rollBack(
    operation: string | undefined,
    share: number,
    { count, latency, cause }: CanaryHarm,
  ): void {
    const rollback = {
      at: new Date(this.parts.time()).toISOString(),
      ...(this.sharing === undefined ? {} : { by: this.sharing.name }),
      ...(operation === undefined ? {} : { operation }),
      share,
      ...count,
      ...(latency === undefined ? {} : { latency }),
      ...(cause === undefined ? {} : { cause }),
    };
    const before = this.state;
    this.change({ rollback, base: before });
    // A request that was in flight when its canary ended must not end the next one.
    if (this.sharing === undefined && this.state !== before)
      this.parts.onNotice(rollbackSentence(rollback), 'rollout-rolled-back');
  }

  private change(change: RolloutChange): void {
    this.adopt(applyChange(this.state, change, false));
    this.sharing?.keep(change);
  }
}

function causeOf(
  outcome: CanaryOutcome,
  { client, operation, pointer, failure }: CountedRequest,
): FailureCause {
  return {
    status: failure === undefined ? outcome : `${outcome} ${failure}`,
    ...(client === undefined ? {} : { client }),
    ...(operation === undefined ? {} : { operation }),
    ...(pointer === undefined ? {} : { pointer }),
  };
}

/**
 * With each change of its mode or of the rules, a stage ends and another begins; choices for other operations do not affect it. The key
 * names the counts: a replica of an older version, which counts less, has a separate window.
 */
function keyOf(operation: string | undefined, { hash, state }: StageOrigin): string {
  return `${CANARY}${hash}/${stageOf(state, operation)}/${operation ?? ''}`;
}

function canariesOf(modes: Modes): readonly (string | undefined)[] {
  const operations = Object.entries(modes.operations).filter(([, { mode }]) => mode === 'canary');
  return [...(modes.default.mode === 'canary' ? [undefined] : []), ...operations.map(([id]) => id)];
}

/** Minimum requests to V1 that show a client's own failures. */
export const ENOUGH = 3;

/** Requests after which a client's counts are halved, so that they adapt to its behaviour. */
const MAX_REQUESTS = 1000;

/** Maximum pairs of client and operation; the one that was seen first is forgotten. */
const MAX_PAIRS = 5000;

/** Failures of one class count as the same: V1 may respond with 400 where V2 responds with 422. */
const CLASS_OF: ReadonlyMap<CanaryOutcome, string> = new Map(
  OWN_CLASSES.flatMap((statuses) => statuses.map((status) => [status, statuses.at(-1) ?? status] as const)),
);

interface Counts {
  requests: number;
  /** By class of own failures, or by status. */
  failures: Map<string, number>;
}

/** Baselines without latencies, as data that can be sent from a thread: by pair, the requests to each service and their failures. */
export type BaselinesData = readonly (readonly [pair: string, v1: CountsData, v2: CountsData])[];

type CountsData = readonly [requests: number, failures: readonly (readonly [kind: string, count: number])[]];

/** Maximum latencies on V1 that are remembered for a pair. */
const LATENCIES = 8;

interface Pair {
  /** On V1 before a canary, and during one. */
  readonly v1: Counts;
  readonly control: Counts;
  readonly v2: Counts;
  /** Buckets of the last latencies on V1. */
  readonly buckets: number[];
  /** Number of latencies that were added or taken. */
  turn: number;
}

/**
 * How often V1 refuses each client, by operation, from its requests before it was migrated. A client whose bodies V1 also refuses says
 * nothing about V2, even if V1 refuses few requests of others. Excusing such a client hides no failure of V2 for others.
 */
export class ClientBaselines {
  /** By client and operation. */
  readonly pairs = new Map<string, Pair>();

  /** Counts a request that V1 served, during a canary or not; returns true for a failure as frequent as before any canary. */
  addV1(request: CountedRequest, outcome: CanaryOutcome, isBeside: boolean): boolean | undefined {
    const pair = this.pairOf(request, true);
    if (pair === undefined) return false;
    const { v1, control } = pair;
    addOutcome(isBeside ? control : v1, outcome);
    if (request.ms !== undefined && outcome === 'success') {
      pair.buckets[pair.turn % LATENCIES] = bucketOf(request.ms);
      pair.turn += 1;
    }
    return isBeside && isOwnFailure([v1], control, outcome);
  }

  /** Returns the bucket of one of the client's latencies on V1, another one at each call; undefined if none is known. */
  ownBucket(subject: RolloutSubject): number | undefined {
    const pair = this.pairOf(subject, false);
    if (pair === undefined || pair.buckets.length < ENOUGH) return undefined;
    pair.turn += 1;
    return pair.buckets[pair.turn % pair.buckets.length];
  }

  /**
   * Counts a migrated request; returns true for a failure that the client itself causes, and gets as often on V1; undefined if V1 served
   * too few.
   */
  addV2(subject: RolloutSubject, outcome: CanaryOutcome): boolean | undefined {
    // A client that V1 did not serve takes the place of none that it did.
    const pair = this.pairOf(subject, this.pairs.size < MAX_PAIRS);
    if (pair === undefined) return undefined;
    const { v1, control, v2 } = pair;
    addOutcome(v2, outcome);
    return isOwnFailure([v1, control], v2, outcome);
  }

  /** How many of the client's requests had a failure of that class or status: on V1, and migrated. */
  samplesOf(subject: RolloutSubject, outcome: CanaryOutcome): Record<'v1' | 'v2', Sample> | undefined {
    const pair = this.pairOf(subject, false);
    return pair && { v1: sampleOf([pair.v1, pair.control], outcome), v2: sampleOf([pair.v2], outcome) };
  }

  private pairOf({ client, operation = '' }: RolloutSubject, makes: boolean): Pair | undefined {
    if (client === undefined) return undefined;
    const key = `${client} ${operation}`;
    const known = this.pairs.get(key);
    if (known !== undefined || !makes) return known;
    const [first] = this.pairs.keys();
    if (this.pairs.size >= MAX_PAIRS && first !== undefined) this.pairs.delete(first);
    const pair = emptyPair();
    this.pairs.set(key, pair);
    return pair;
  }
}

function emptyPair(): Pair {
  return { v1: noCounts(), control: noCounts(), v2: noCounts(), buckets: [], turn: 0 };
}

export function baselinesData({ pairs }: ClientBaselines): BaselinesData {
  return [...pairs].map(([key, { v1, v2 }]) => [key, dataOf(v1), dataOf(v2)]);
}

/** Adds the counts of earlier requests, for as many pairs as there is room for. */
export function addBaselines({ pairs }: ClientBaselines, data: BaselinesData): void {
  for (const [key, v1, v2] of data) {
    const pair = pairs.get(key) ?? emptyPair();
    addCounts(pair.v1, v1);
    addCounts(pair.v2, v2);
    if (pairs.size < MAX_PAIRS) pairs.set(key, pair);
  }
}

/**
 * True for a failure that is no more frequent than before: the earlier share of the present requests, rounded up, is excused. A 5xx is
 * never excused: an earlier outage of V1 must not hide one of V2 now.
 */
function isOwnFailure(before: readonly Counts[], now: Counts, outcome: CanaryOutcome): boolean | undefined {
  if (outcome === 'success' || outcome.startsWith('5')) return false;
  const past = sampleOf(before, outcome);
  if (past.requests < ENOUGH) return undefined;
  const { requests, failures } = sampleOf([now], outcome);
  return failures <= Math.ceil(share(past) * requests);
}

function sampleOf(counts: readonly Counts[], outcome: CanaryOutcome): Sample {
  const kind = CLASS_OF.get(outcome) ?? outcome;
  let [requests, failed] = [0, 0];
  for (const { requests: times, failures } of counts) {
    requests += times;
    failed += failures.get(kind) ?? 0;
  }
  return { requests, failures: failed };
}

function dataOf({ requests, failures }: Counts): CountsData {
  return [requests, [...failures]];
}

function addCounts(counts: Counts, [requests, failures]: CountsData): void {
  counts.requests += requests;
  for (const [kind, times] of failures) counts.failures.set(kind, (counts.failures.get(kind) ?? 0) + times);
}

function noCounts(): Counts {
  return { requests: 0, failures: new Map() };
}

function addOutcome(counts: Counts, outcome: CanaryOutcome): void {
  counts.requests += 1;
  if (outcome !== 'success') {
    const kind = CLASS_OF.get(outcome) ?? outcome;
    counts.failures.set(kind, (counts.failures.get(kind) ?? 0) + 1);
  }
  if (counts.requests < MAX_REQUESTS) return;
  counts.requests /= 2;
  for (const [kind, failures] of counts.failures) counts.failures.set(kind, failures / 2);
}
