import type { Shield } from '../rules/rollout.ts';
import { type RateLimitQueue, type RateLimitSharing, shareOfLimit } from './rate-limit.ts';
import type { RolloutState } from './rollout-state.ts';
import { SharedRollout, type SharedRolloutNotice, type SharedRolloutParts } from './shared-rollout.ts';
import { STAGE_MS } from './canary-window.ts';
import {
  addSums,
  CANARY,
  canarySums,
  currentPart,
  partOf,
  readCounts,
  type StageCounts,
  windowSums,
} from './canary-texts.ts';
import { SharedTexts, type TextSums } from './shared-texts.ts';
import { type ReplicaClock, repeat, StoreContact, type StoreLosses } from './store-contact.ts';
import { ROLLOUT_KEY } from './stored-rollout.ts';

/** A notice for a replica's log. */
export interface ReplicaNotice {
  readonly kind: SharedRolloutNotice['kind'] | 'alone' | 'together' | 'divided';
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
  divided: ['info', 'rate-limit-divided'],
} as const satisfies Readonly<Record<ReplicaNotice['kind'], unknown>>;

/** State of a replica in relation to the others. */
export interface ReplicaStatus {
  readonly name: string;
  /** Time since which the store has been unreachable, in milliseconds since 1970; absent while it is reachable. */
  readonly aloneSince?: number;
  /** Why the store is unreachable. */
  readonly aloneReason?: string;
  /** Absent unless the store comes and goes. */
  readonly unsteady?: StoreLosses;
  /** Number of gateways at the last count, each with all its processes; absent before. */
  readonly replicas?: number;
  /** Names of the other gateways; absent before. */
  readonly others?: readonly string[];
  /** Number of changes that apply only here, until the store is reachable. */
  readonly waiting: number;
}

/** What a gateway shares besides the rollout. */
export interface GatewayShares {
  readonly queue: RateLimitQueue;
  /** The rate limit of each client; undefined without one. */
  readonly shieldOf: () => Shield | undefined;
  readonly counts?: readonly SharedCounts[];
}

/** Counts of processes other than canaries', as texts with their own key prefix. */
export interface SharedCounts {
  readonly prefix: string;
  readonly sums: TextSums;
  /** Called with the texts for adding and reading counts; again if a replica takes over from another. */
  shareWith(texts: SharedTexts): void;
  /** Adds new counts; called before each exchange. */
  add?(): void;
  /** Reads the others' counts; called after each exchange. */
  read?(): void;
}

/** Intervals in milliseconds. */
interface ReplicaIntervals {
  /** Between two reads of the rollout, in case a subscription lost a call. */
  readonly follow: number;
  /** Between two exchanges of counts. */
  readonly exchange: number;
  /** Between two exchanges that also read the others' counts, and report that this process is running. */
  readonly survey: number;
  /** Time that one call to the store may take. */
  readonly timeout: number;
}

export interface ReplicaParts extends Omit<SharedRolloutParts, 'contact' | 'onNotice'> {
  /** False for a process that only controls others, and sends no requests. */
  readonly isServing?: boolean | undefined;
  /** False for a process that another controls, and that is not a separate gateway. */
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

/** Key of the text with the identity of this process. */
const WHO = 'who';

/** A process, as described to the others. */
interface Who {
  readonly name: string;
  readonly isServing: boolean;
  readonly isGateway: boolean;
}

function printWho({ name, isServing, isGateway }: Who): string {
  return `${isServing ? 1 : 0} ${isGateway ? 1 : 0} ${name}`;
}

function readWho(text: string): Who | undefined {
  const [, serving, gateway, name = ''] = /^([01]) ([01]) (.{1,200})$/.exec(text) ?? [];
  return serving === undefined ? undefined : { name, isServing: serving === '1', isGateway: gateway === '1' };
}

/** Milliseconds for which the counts of an ended canary are kept, for replicas where it is still active. */
const OVER_MS = 3_600_000;

/** One of several gateways that share a store: it follows the rollout and exchanges counts, outside of any request. */
export class Replica implements RateLimitSharing {
  private readonly parts: ReplicaParts;
  private readonly intervals: ReplicaIntervals;
  private readonly contact: StoreContact;
  private readonly rollout: SharedRollout;
  private readonly texts: SharedTexts;
  private readonly who: Who;
  /** Times at which canaries ended whose counts this process still keeps. */
  private readonly over = new Map<string, number>();
  private working: Promise<void> | undefined;
  private counts: readonly SharedCounts[] = [];
  private shieldOf: () => Shield | undefined = () => undefined;
  private announced = 1;
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
          sentence: `The store is reachable again after ${(aloneMs / 1000).toFixed(1)} s; windows and choices are shared.`,
        }),
    });
    this.rollout = new SharedRollout({ ...parts, contact: this.contact });
    this.who = {
      name: parts.name,
      isServing: parts.isServing !== false,
      isGateway: parts.isGateway !== false,
    };
    this.texts = new SharedTexts({
      state: store,
      topic: 'rollout',
      clock,
      contact: this.contact,
      sums: this.sumsWith(canarySums(clock.time)),
      newId: () => processId(parts.name, clock),
      keepMs: STAGE_MS,
      set: () => [[WHO, printWho(this.who)]],
    });
  }

  get name(): string {
    return this.parts.name;
  }

  /** True while the store is reachable. */
  get isTogether(): boolean {
    return this.contact.isTogether;
  }

  /** True while the stored state cannot be read. */
  get isDamaged(): boolean {
    return this.rollout.isDamaged;
  }

  get status(): ReplicaStatus {
    const { lost, unsteady } = this.contact;
    const { others } = this;
    return {
      name: this.name,
      ...(lost === undefined ? {} : { aloneSince: lost.at, aloneReason: lost.reason }),
      ...(unsteady === undefined ? {} : { unsteady }),
      ...(others === undefined ? {} : { replicas: (this.who.isGateway ? 1 : 0) + others.length, others }),
      waiting: this.rollout.waiting,
    };
  }

  /** Serving processes of all gateways, when they were last counted; undefined before. */
  get processes(): number | undefined {
    const { running } = this;
    if (running === undefined) return undefined;
    return Math.max(1, [this.who, ...running].filter(({ isServing }) => isServing).length);
  }

  /** Names of the other gateways, when they were last counted; undefined before. */
  private get others(): readonly string[] | undefined {
    return this.running?.flatMap(({ name, isGateway }) => (isGateway ? [name] : [])).sort();
  }

  private get running(): readonly Who[] | undefined {
    if (!this.texts.isComplete) return undefined;
    const ids = new Set(this.texts.running);
    return this.texts
      .otherTexts(WHO)
      .flatMap(({ owner, text }) => (ids.has(owner) ? (readWho(text) ?? []) : []));
  }

  /** Divides rate limits by the processes that send requests, and shares what they count. */
  share({ queue, shieldOf, counts = [] }: GatewayShares): void {
    queue.shareWith(this);
    this.shieldOf = shieldOf;
    this.counts = counts;
    for (const one of counts) one.shareWith(this.texts);
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

  /** Reads the store and writes waiting choices; resolves when that is done or the store is unreachable. */
  follow(): Promise<void> {
    return this.rollout.follow();
  }

  private addCounts(): void {
    this.texts.add(this.parts.control.takeCounts());
    for (const one of this.counts) one.add?.();
  }

  /** Exchanges counts; resolves with the current exchange if there is one. Never rejects. */
  exchange(): Promise<void> {
    const now = this.parts.clock.time();
    this.addCounts();
    // The clock may have been set back.
    const isSurvey = now >= this.surveyAt || this.surveyAt - now > this.intervals.survey || !this.isTogether;
    if (isSurvey) this.surveyAt = now + this.intervals.survey;
    if (!isSurvey && this.texts.isShared) return this.working ?? Promise.resolve();
    this.working ??= this.exchangeNow({}).finally(() => {
      this.working = undefined;
    });
    return this.working;
  }

  /** How all texts add up. Texts of counts that this process does not share stay in the store, for a process that shares them. */
  private sumsWith(canaries: TextSums): TextSums {
    const sumsOf = (key: string): TextSums | undefined =>
      key === WHO || key.startsWith(CANARY)
        ? canaries
        : this.counts.find(({ prefix }) => key.startsWith(prefix))?.sums;
    return {
      add: (own, added) =>
        new Map(
          [...Map.groupBy(added, ([key]) => sumsOf(key))].flatMap(([sums, texts]) =>
            sums === undefined ? [] : [...sums.add(own, new Map(texts))],
          ),
        ),
      adopt: (key, ...text) => {
        const sums = sumsOf(key);
        return sums === undefined ? 'unreadable' : sums.adopt(key, ...text);
      },
    };
  }

  private async exchangeNow(how: { readonly leaves?: boolean }): Promise<void> {
    const isReached = await this.contact.attempt('counts', () => this.texts.exchange(how));
    if (!isReached) return;
    this.parts.control.learn((key) => this.sumsOf(key));
    for (const one of this.counts) one.read?.();
    this.forgetOver();
    this.announceDivision();
  }

  /** The counts of a canary, of all processes. */
  private sumsOf(key: string): { readonly window: readonly number[]; readonly stage: readonly number[] } {
    let window: readonly number[] = [];
    let stage: readonly number[] = [];
    const now = this.parts.clock.time();
    const add = (text: string, partNow: (counts: StageCounts) => number): void => {
      const counts = readCounts(text);
      if (counts === undefined) return;
      window = addSums(window, windowSums(counts, partNow(counts)));
      stage = addSums(stage, counts.stage);
    };
    for (const text of this.texts.ownTexts(key)) add(text, ({ windowMs }) => partOf(now, windowMs));
    for (const { text, ageMs } of this.texts.otherTexts(key))
      add(text, (counts) => currentPart(counts, ageMs));
    return { window, stage };
  }

  private forgetOver(): void {
    const now = this.parts.clock.time();
    for (const key of this.texts.ownKeys) {
      if (!key.startsWith(CANARY)) continue;
      if (this.parts.control.isCounted(key)) {
        this.over.delete(key);
        continue;
      }
      const since = this.over.get(key) ?? now;
      this.over.set(key, since);
      if (now - since < OVER_MS) continue;
      this.over.delete(key);
      this.texts.replace(key, '');
    }
  }

  private announceDivision(): void {
    const [shield, { processes = 1 }] = [this.shieldOf(), this];
    if (processes === this.announced || shield === undefined) return;
    this.announced = processes;
    this.parts.onNotice({
      kind: 'divided',
      sentence: `Each client's rate limit of ${shield.requests} in ${shield.per / 1000} s is divided by ${processes}: ${shareOfLimit(shield.requests, processes)} in each process.`,
    });
  }

  /**
   * Stops the timers, after a last attempt to store waiting choices, and tells the others that this process leaves. The store stays open.
   */
  async close(): Promise<void> {
    for (const end of this.ends.splice(0)) end();
    if (this.rollout.waiting > 0) await this.follow();
    await this.working;
    if (!this.isTogether) return;
    this.addCounts();
    await this.exchangeNow({ leaves: true });
  }
}

function aloneSentence({ revision }: RolloutState, reason: string): string {
  return `The store is unreachable (${reason}); revision ${revision} of the rollout stays in force, and this replica counts alone.`;
}

/** A new id of a process: its name, for people who inspect the store, and a random part. */
export function processId(name: string, { time, random }: ReplicaClock): string {
  return `${name.replaceAll(' ', '-')}:${time().toString(36)}${Math.floor(random() * 2 ** 40).toString(36)}`;
}
