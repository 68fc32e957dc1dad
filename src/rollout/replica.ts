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
  /** Least time between two exchanges before their time. */
  readonly hurry: number;
  /** Time that one call to the store may take. */
  readonly timeout: number;
}

/** The replica that keeps an exchange. */
export interface Keeper {
  readonly name: string;
  /** Origin of its admin listener. */
  readonly admin: string;
}

/** The exchanges that a replica keeps, for the others. */
export interface KeptExchanges {
  readonly has: (requestId: string) => boolean;
  /** Origin of the admin listener. */
  readonly admin: () => string;
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
  hurry: 50,
  timeout: 1000,
};

/** The text of the store in which replicas ask one another for exchanges, and respond. */
const SEARCHES_KEY = 'searches';

/** Maximum searches at one time; the oldest ones give way. */
const MAX_SEARCHES = 8;

/** Maximum characters of a request id to search for. */
const MAX_ID = 256;

/** Milliseconds that a search waits for the others, which may look every 250 ms, and between two of its own looks. */
const SEARCH_MS = 1500;
const LOOK_MS = 100;

/** Attempts to replace the searches, which others may replace at the same time. */
const MAX_ATTEMPTS = 20;

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
  private searches = 0;
  private surveyAt = 0;
  private hurriedAt = -Infinity;

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

  /** Makes the rate limits of clients hold for all replicas together. */
  shareRateLimits(queue: RateLimitQueue): void {
    queue.shareWith(this);
    this.windows.add(queue);
  }

  /** From now on, until `close`, tells other replicas that search for an exchange whether it is kept here. */
  tellKept(kept: KeptExchanges): void {
    this.ends.push(this.parts.store.subscribe(SEARCHES_KEY, () => void this.respond(kept)));
  }

  /** Searches the other replicas for an exchange; undefined when none responds in time that it keeps it. Never rejects. */
  async whoKeeps(requestId: string): Promise<Keeper | undefined> {
    if (!this.isTogether || requestId === '' || requestId.length > MAX_ID) return undefined;
    const { clock } = this.parts;
    this.searches += 1;
    const search = `${this.name} ${this.searches}`;
    const until = clock.time() + SEARCH_MS;
    try {
      await this.changeSearches((all) => [...all, { search, requestId }].slice(-MAX_SEARCHES));
      let keeper: Keeper | undefined;
      while (keeper === undefined && clock.time() < until) {
        await new Promise<void>((resolve) => void clock.after(LOOK_MS, resolve));
        const { all } = await this.readSearches();
        keeper = all.find((one) => one.search === search)?.keeper;
      }
      await this.changeSearches((all) => all.filter((one) => one.search !== search));
      return keeper;
    } catch {
      // The store is out of reach: nobody can be asked.
      return undefined;
    }
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

  hurry(): void {
    const now = this.parts.clock.time();
    const sinceMs = now - this.hurriedAt;
    // A clock may be set back.
    if (sinceMs >= 0 && sinceMs < this.intervals.hurry) return;
    this.hurriedAt = now;
    void this.windows.exchangeAnew();
  }

  /** Responds to each search for an exchange that is kept here. */
  private async respond({ has, admin }: KeptExchanges): Promise<void> {
    const own = `${this.name} `;
    const isHere = (one: Search): boolean =>
      one.keeper === undefined && !one.search.startsWith(own) && has(one.requestId);
    try {
      const found = new Set((await this.readSearches()).all.filter(isHere).map(({ search }) => search));
      if (found.size === 0) return;
      const keeper = { name: this.name, admin: admin() };
      await this.changeSearches((all) =>
        all.map((one) => (found.has(one.search) ? { keeper, ...one } : one)),
      );
    } catch {
      // The search waits only a moment, then reports that nobody responded.
    }
  }

  private async readSearches(): Promise<{
    readonly text: string | undefined;
    readonly all: readonly Search[];
  }> {
    const text = await this.contact.limited(this.parts.store.read(SEARCHES_KEY));
    const parsed = text === undefined ? [] : this.parts.parse(text);
    return { text, all: Array.isArray(parsed) ? parsed.flatMap(readSearch) : [] };
  }

  private async changeSearches(change: (all: readonly Search[]) => readonly Search[]): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const { text, all } = await this.readSearches();
      const after = JSON.stringify(change(all));
      if (await this.contact.limited(this.parts.store.compareAndSet(SEARCHES_KEY, text, after))) return;
    }
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

/** A search for an exchange, with the replica that keeps it once that has responded. */
interface Search {
  readonly search: string;
  readonly requestId: string;
  readonly keeper?: Keeper;
}

/** Reads a search from a text that any replica, even of another version, may have written. */
function readSearch(value: Partial<Search> | null): readonly Search[] {
  const { search, requestId, keeper } = value ?? {};
  if (typeof search !== 'string' || typeof requestId !== 'string') return [];
  const isKnown =
    typeof keeper?.name === 'string' && typeof keeper.admin === 'string' && /^https?:\/\//.test(keeper.admin);
  return [{ search, requestId, ...(isKnown ? { keeper } : {}) }];
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
