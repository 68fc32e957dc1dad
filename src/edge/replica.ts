import { parsedJson } from '../rewrite-log/attributes.ts';
import {
  type GatewayShares,
  Replica,
  REPLICA_INTERVALS,
  type ReplicaNotice,
  type ReplicaStatus,
} from '../rollout/replica.ts';
import type { RolloutControl } from '../rollout/rollout-control.ts';
import type { SharedState, StateCall, StateNews } from '../rollout/shared-state.ts';
import { readRollout, ROLLOUT_KEY } from '../rollout/stored-rollout.ts';
import type { CopyNamespace, RemoteStore, RolloutNamespace } from './bindings.ts';

/** Parts of an isolate among those that share an object. */
interface EdgeReplicaParts {
  readonly control: RolloutControl;
  readonly namespace: RolloutNamespace;
  readonly copy: Pick<CopyNamespace, 'get'> | undefined;
  /** Name of the isolate, for people. */
  readonly name: string;
  readonly onNotice: (notice: ReplicaNotice) => void;
  /** Keeps the worker alive until this is done, even after the response is sent. */
  readonly later: (work: Promise<unknown>) => void;
}

/** Milliseconds between two exchanges with the object, while there are requests. */
const SYNC_MS = 500;

/** Milliseconds that each isolate adds to this interval, so that all together make at most 250 exchanges a second, of two calls each. */
const SYNC_MS_EACH = 4;

/** Milliseconds that one call of the object may take: it may be on another continent. */
const CALL_MS = 2000;

/** Milliseconds without requests after which the state that an isolate knows is too old: the next request asks the object, as at the start. */
const ASLEEP_MS = 10_000;

/** Maximum milliseconds that the first requests wait for the object when an isolate starts or wakes. */
const START_MS = 250;

/** Milliseconds after which an exchange with the object counts as lost, because the platform ends it with the request that began it. */
const STUCK_MS = 15_000;

/**
 * Drives the replica of an isolate by requests, because an isolate has no timers without one: if the last exchange with the object is too
 * old, a request begins another one, and makes sure that its counts are shared. No request waits for that.
 */
export class EdgeReplica {
  private readonly parts: EdgeReplicaParts;
  private replica: Replica;
  private shares: GatewayShares | undefined;
  private working: Promise<void> | undefined;
  private startedAt = 0;
  private endedAt = 0;
  private dueAt = 0;

  constructor(parts: EdgeReplicaParts) {
    this.parts = parts;
    this.replica = this.newReplica();
  }

  /** Divides rate limits by the isolates, and shares the clients that they learn. */
  share(shares: GatewayShares): void {
    this.shares = shares;
    this.replica.share(shares);
  }

  get status(): ReplicaStatus {
    return this.replica.status;
  }

  /** Number of isolates at the last count; undefined before the first. */
  get processes(): number | undefined {
    return this.replica.processes;
  }

  get isTogether(): boolean {
    return this.replica.isTogether;
  }

  /** Reads the object, and writes the choices of operators that wait here. Never rejects. */
  follow(): Promise<void> {
    return this.replica.follow();
  }

  /** Called when a V1 request begins. In an isolate that starts or wakes, the request waits for the result, for a moment at most. */
  begin(): Promise<void> | undefined {
    const silentMs = Date.now() - this.endedAt;
    if (silentMs < this.syncMs) return undefined;
    const work = this.sync();
    return silentMs < ASLEEP_MS ? undefined : this.wake(work);
  }

  /** Shares counts while a V1 exchange lasts, and once more soon after its end, because no later request may come. */
  async accompany(finished: Promise<void>): Promise<void> {
    const isOver = finished.then(() => true);
    while (!(await Promise.race([isOver, sleep(SYNC_MS).then(() => false)]))) {
      if (Date.now() - this.startedAt >= this.syncMs) void this.sync();
    }
    const now = Date.now();
    if (this.dueAt > now) return;
    this.dueAt = Math.max(now + 1, this.startedAt + this.syncMs);
    await sleep(this.dueAt - now);
    await this.sync();
  }

  /** Exchanges everything with the object now. Never rejects. */
  sync(): Promise<void> {
    const now = Date.now();
    if (this.working !== undefined) {
      if (now - this.startedAt < STUCK_MS) return this.working;
      this.replica = this.newReplica();
    }
    const { replica } = this;
    this.startedAt = now;
    const work = Promise.all([replica.follow(), replica.exchange()]).then(() => {
      this.endedAt = Date.now();
      if (this.working === work) this.working = undefined;
    });
    this.working = work;
    this.parts.later(work);
    return work;
  }

  private get syncMs(): number {
    return Math.max(SYNC_MS, (this.status.replicas ?? 1) * SYNC_MS_EACH);
  }

  /** Uses the object's rollout, or its copy while the object does not respond. */
  private async wake(work: Promise<void>): Promise<void> {
    const { control, copy } = this.parts;
    const objectTime = Promise.race([work, sleep(START_MS)]);
    const copied = copy !== undefined && control.isInitial ? this.takeCopy(copy, objectTime) : undefined;
    if (copied !== undefined) this.parts.later(copied);
    await objectTime;
    // Uses a copy that has arrived in this turn. A later one had as much time as the object, so no request waits for it.
    if (!this.isTogether && copied !== undefined) await Promise.race([copied, sleep(0)]);
  }

  /** Begins with the copy, even one that comes late, unless the object has responded by then. */
  private async takeCopy(copy: Pick<CopyNamespace, 'get'>, objectTime: Promise<void>): Promise<void> {
    const read = async (): Promise<string | null> => copy.get(ROLLOUT_KEY);
    const [text] = await Promise.all([read().catch(() => null), objectTime]);
    const state = text === null ? undefined : readRollout(parsedJson(text));
    if (state !== undefined && this.parts.control.isInitial && !this.isTogether) this.replica.begin(state);
  }

  private newReplica(): Replica {
    const { control, namespace, name, onNotice } = this.parts;
    const replica = new Replica({
      control,
      store: new EdgeStore(namespace, ROLLOUT_OBJECT),
      name,
      clock: {
        time: Date.now,
        after: (milliseconds, run) => this.after(milliseconds, run),
        random: Math.random,
      },
      parse: parsedJson,
      onNotice,
      intervals: { ...REPLICA_INTERVALS, timeout: CALL_MS },
    });
    if (!control.isInitial) replica.begin(control.state);
    if (this.shares !== undefined) replica.share(this.shares);
    return replica;
  }

  /** Runs a timeout of a call of the store, and keeps the worker alive until the call has ended or has timed out. */
  private after(milliseconds: number, run: () => void): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      run();
      resolve();
    }, milliseconds);
    this.parts.later(promise);
    return () => {
      clearTimeout(timer);
      resolve();
    };
  }
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

/** Name of the object of a deployment. */
export const ROLLOUT_OBJECT = 'rollout';

/**
 * A store in a Durable Object. Nothing can call an isolate, so a subscriber is called when a response from the object has a text
 * that differs from the last.
 */
export class EdgeStore implements SharedState {
  private readonly namespace: RolloutNamespace;
  private readonly name: string;
  private readonly texts = new Map<string, string | undefined>();
  private readonly subscribers = new Set<{ readonly key: string; readonly changed: () => void }>();

  /** `name` is that of the object: isolates with the same name share it. */
  constructor(namespace: RolloutNamespace, name: string) {
    this.namespace = namespace;
    this.name = name;
  }

  async read(key: string): Promise<string | undefined> {
    const text = await this.object().read(key);
    this.note(key, text);
    return text;
  }

  async compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    const isSet = await this.object().compareAndSet(key, before, after);
    if (isSet) this.note(key, after);
    return isSet;
  }

  async exchange(call: StateCall): Promise<StateNews> {
    return this.object().exchange(call);
  }

  subscribe(key: string, changed: () => void): () => void {
    const subscriber = { key, changed };
    this.subscribers.add(subscriber);
    return () => void this.subscribers.delete(subscriber);
  }

  async close(): Promise<void> {
    this.subscribers.clear();
  }

  /** A new stub for each call: workerd binds a stub to the request that created it. */
  private object(): RemoteStore {
    try {
      return this.namespace.get(this.namespace.idFromName(this.name));
    } catch (error) {
      throw new Error(
        `the binding ROLLOUT fails: ${error instanceof Error ? error.message : String(error)}`,
        {
          cause: error,
        },
      );
    }
  }

  private note(key: string, text: string | undefined): void {
    const isNew = this.texts.has(key) && this.texts.get(key) !== text;
    this.texts.set(key, text);
    if (!isNew) return;
    for (const subscriber of this.subscribers) if (subscriber.key === key) subscriber.changed();
  }
}
