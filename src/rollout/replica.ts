import type { RateLimitQueue, RateLimitSharing } from './rate-limit.ts';
import type { RolloutState } from './rollout-state.ts';
import { SharedRollout, type SharedRolloutNotice, type SharedRolloutParts } from './shared-rollout.ts';
import {
  type ReplicaClock,
  type SharedWindow,
  StoreContact,
  WINDOW_PARTS,
  type WindowAddition,
  WindowExchange,
  type WindowSource,
} from './store.ts';
import { ROLLOUT_KEY } from './stored-rollout.ts';

/** A notice for a replica's log. */
export interface ReplicaNotice {
  readonly kind: SharedRolloutNotice['kind'] | 'alone' | 'together';
  readonly sentence: string;
}

/** Level and event of a notice's line in the process log. */
export const NOTICE_EVENTS = {
  alone: ['warn', 'store-lost'],
  together: ['info', 'store-found'],
  changed: ['info', 'rollout-changed'],
  'rolled-back': ['error', 'rollout-rolled-back'],
  overtaken: ['warn', 'rollout-overtaken'],
  damaged: ['error', 'rollout-damaged'],
} as const satisfies Readonly<Record<ReplicaNotice['kind'], unknown>>;

/** State of a replica among the others. */
export interface ReplicaStatus {
  readonly name: string;
  /** Since when the store has been out of reach, in milliseconds since 1970; absent while it is in reach. */
  readonly aloneSince?: number;
  /** Why the store is out of reach. */
  readonly aloneReason?: string;
  /** Gateways when they were last counted, each with all its processes; absent before. */
  readonly replicas?: number;
  /** Number of changes that hold here only, and wait for the store. */
  readonly waiting: number;
}

/** Intervals in milliseconds. */
interface ReplicaIntervals {
  /** Between two reads of the rollout, in case a subscription lost a call. */
  readonly follow: number;
  /** Between two exchanges of counts. */
  readonly exchange: number;
  /** Between two exchanges that also read windows without new counts. */
  readonly survey: number;
  /** Time that one call to the store may take. */
  readonly timeout: number;
}

/** Parts of a replica. */
export interface ReplicaParts extends Omit<SharedRolloutParts, 'contact' | 'onNotice'> {
  /** False for a process that only controls others, and sends no requests. */
  readonly isServing?: boolean | undefined;
  /** False for a process that another controls, which is no gateway by itself. */
  readonly isGateway?: boolean | undefined;
  readonly onNotice: (notice: ReplicaNotice) => void;
  readonly intervals?: ReplicaIntervals | undefined;
}

/** Intervals with which a choice or a rollback reaches every replica within a second. */
export const REPLICA_INTERVALS: ReplicaIntervals = {
  follow: 500,
  exchange: 200,
  survey: 1000,
  timeout: 1000,
};

const WINDOW_MS = 60_000;

/** Milliseconds between two signs of life. */
const SIGN_MS = WINDOW_MS / WINDOW_PARTS;

/** Complete parts whose mean is the number, since a sign may fall into the part beside its own. */
const MEAN_PARTS = 3;

/** One of several gateways that share a store: it follows the rollout and exchanges counts, outside of any request. */
export class Replica implements RateLimitSharing {
  private readonly parts: ReplicaParts;
  private readonly intervals: ReplicaIntervals;
  private readonly contact: StoreContact;
  private readonly rollout: SharedRollout;
  private readonly windows: WindowExchange;
  private readonly serving: ReplicaPresence;
  private readonly gateways: ReplicaPresence;
  private readonly ends: (() => void)[] = [];
  private surveyAt = 0;

  constructor(parts: ReplicaParts) {
    const { control, store, clock, onNotice, intervals = REPLICA_INTERVALS } = parts;
    this.parts = parts;
    this.intervals = intervals;
    this.contact = new StoreContact({
      clock,
      timeoutMs: intervals.timeout,
      onLost: (reason) => onNotice({ kind: 'alone', sentence: aloneSentence(control.state, reason) }),
      onFound: (aloneMs) =>
        onNotice({
          kind: 'together',
          sentence: `The store is in reach again after ${(aloneMs / 1000).toFixed(1)} s; windows and choices are shared.`,
        }),
    });
    this.rollout = new SharedRollout({ ...parts, contact: this.contact });
    this.windows = new WindowExchange(store, this.contact);
    this.serving = new ReplicaPresence(clock.time, 'replicas', parts.isServing !== false);
    this.gateways = new ReplicaPresence(clock.time, 'gateways', parts.isGateway !== false);
    this.windows.add(this.serving);
    this.windows.add(this.gateways);
    this.windows.add(control);
  }

  get name(): string {
    return this.parts.name;
  }

  /** True while the store is in reach. */
  get isTogether(): boolean {
    return this.contact.isTogether;
  }

  /** True while nobody can read what is stored. */
  get isDamaged(): boolean {
    return this.rollout.isDamaged;
  }

  get status(): ReplicaStatus {
    const { lost } = this.contact;
    const { count } = this.gateways;
    return {
      name: this.name,
      ...(lost === undefined ? {} : { aloneSince: lost.at, aloneReason: lost.reason }),
      ...(count === undefined ? {} : { replicas: count }),
      waiting: this.rollout.waiting,
    };
  }

  /** Serving processes of all gateways, when they were last counted; undefined before. */
  get processes(): number | undefined {
    return this.serving.count;
  }

  /** Divides the rate limits of clients by the processes that send requests. */
  shareRateLimits(queue: RateLimitQueue): void {
    queue.shareWith(this);
  }

  /** Begins with a state from before a restart; call it before `start`. */
  begin(state: RolloutState): void {
    this.rollout.begin(state);
  }

  /** Reads the store, then follows it by timers; resolves after the first read, or when the store does not respond in time. */
  async start(): Promise<void> {
    const { clock, store } = this.parts;
    await this.follow();
    const { follow, exchange } = this.intervals;
    this.ends.push(
      store.subscribe(ROLLOUT_KEY, () => void this.follow()),
      repeat(clock, follow, () => this.follow()),
      repeat(clock, exchange, () => this.exchange()),
    );
    void this.exchange();
  }

  /** Reads the store and writes choices that wait here; resolves when that is done or the store is out of reach. */
  follow(): Promise<void> {
    return this.rollout.follow();
  }

  /** Exchanges the counts since the last exchange. */
  exchange(): Promise<void> {
    const now = this.parts.clock.time();
    // A clock may be set back.
    const isSurvey = now >= this.surveyAt || this.surveyAt - now > this.intervals.survey || !this.isTogether;
    if (isSurvey) this.surveyAt = now + this.intervals.survey;
    return this.windows.exchange(isSurvey);
  }

  /** Ends the timers, after a last attempt to store waiting choices, and tells the others that it leaves. The store stays open. */
  async close(): Promise<void> {
    for (const end of this.ends.splice(0)) end();
    if (this.rollout.waiting > 0) await this.follow();
    if (!this.isTogether) return;
    this.serving.leave();
    this.gateways.leave();
    await this.windows.exchangeAnew();
  }
}

function aloneSentence({ revision }: RolloutState, reason: string): string {
  return `The store is out of reach (${reason}); revision ${revision} of the rollout stays in force, and this replica counts alone.`;
}

/**
 * Runs something again and again, each time about so many milliseconds after the last run ended, so that replicas do not march in step.
 * The returned function ends this.
 */
export function repeat(
  clock: ReplicaClock,
  milliseconds: number | (() => number),
  run: () => Promise<void>,
): () => void {
  let cancel = (): void => {};
  let hasEnded = false;
  const schedule = (): void => {
    if (hasEnded) return;
    const wait = typeof milliseconds === 'number' ? milliseconds : milliseconds();
    cancel = clock.after(wait * (0.9 + clock.random() * 0.2), () => void run().then(schedule));
  };
  schedule();
  return () => {
    hasEnded = true;
    cancel();
  };
}

/**
 * Counts processes, or gateways: each adds one to a shared window at intervals of one part, and tells once that it joins and once that
 * it leaves. With signs alone, a newcomer would count some parts later.
 */
class ReplicaPresence implements WindowSource {
  private readonly time: () => number;
  private readonly key: 'replicas' | 'gateways';
  private readonly isCounted: boolean;
  private nextAt = 0;
  private hasJoined = false;
  private isLeaving = false;
  private known: number | undefined;

  /** `time` is a clock in milliseconds; one that is not counted only reads. */
  constructor(time: () => number, key: 'replicas' | 'gateways', isCounted: boolean) {
    this.time = time;
    this.key = key;
    this.isCounted = isCounted;
  }

  /** The number when it was last known; undefined before. */
  get count(): number | undefined {
    return this.known;
  }

  /** Tells with the next exchange that it leaves. */
  leave(): void {
    this.isLeaving = this.isCounted && this.hasJoined;
  }

  additions(all: boolean): readonly WindowAddition[] {
    if (this.isLeaving) return [{ key: this.key, windowMs: WINDOW_MS, add: [0, 0, 1] }];
    const now = this.time();
    const isDue = now >= this.nextAt || this.nextAt - now > SIGN_MS;
    if (isDue) this.nextAt = now + SIGN_MS;
    const sign = isDue && this.isCounted ? 1 : 0;
    const add = [sign, this.hasJoined ? 0 : sign, 0];
    return isDue || all ? [{ key: this.key, windowMs: WINDOW_MS, add }] : [];
  }

  /**
   * A part counts those that gave a sign in it or joined after it, without those that left. The current part is not complete, and only
   * counts where it is larger than the mean. A part after an empty one, in which the store came into reach, is not complete either: until
   * the next one is over, the last known number holds.
   */
  merge(_key: string, { part, parts }: SharedWindow, [, joined = 0]: readonly number[]): void {
    if (joined > 0) this.hasJoined = true;
    const countsOf = (wanted: number): readonly number[] =>
      parts.find((candidate) => candidate.part === wanted)?.counts ?? [];
    const signsIn = (wanted: number): number => countsOf(wanted)[0] ?? 0;
    const sinceThen = (wanted: number): number =>
      parts
        .filter((later) => later.part > wanted)
        .reduce((sum, { counts: [, joins = 0, ends = 0] }) => sum + joins - ends, signsIn(wanted));
    const begun = Array.from({ length: MEAN_PARTS }, (_, index) => part - 1 - index).filter(
      (one) => signsIn(one) > 0,
    );
    const whole = begun.filter((one) => signsIn(one - 1) > 0).map(sinceThen);
    const mean = whole.reduce((sum, count) => sum + count, 0) / Math.max(1, whole.length);
    const held = whole.length > 0 ? [] : [this.known ?? 0, ...begun.map(sinceThen)];
    const current = signsIn(part) - (countsOf(part)[2] ?? 0);
    this.known = Math.max(this.isCounted ? 1 : 0, Math.round(mean), current, ...held);
  }
}
