import {
  carryOut,
  MemoryRows,
  MemoryState,
  type SharedState,
  type StateCall,
  type StateNews,
} from '../../src/rollout/shared-state.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A store in memory that can lose everything, or return to an earlier state. */
export class FragileState extends MemoryState {
  /** The rows of each topic, by name. */
  stored = new Map<string, MemoryRows>();
  private readonly now: () => number;

  constructor(now: () => number) {
    super(now);
    this.now = now;
  }

  override async exchange(call: StateCall): Promise<StateNews> {
    const rows = this.stored.get(call.topic) ?? new MemoryRows();
    this.stored.set(call.topic, rows);
    return structuredClone(carryOut(rows, structuredClone(call), this.now()));
  }

  /** Loses everything, as a server without a disk that starts again. */
  lose(): void {
    this.stored = new Map();
  }

  /** Returns a function with which it goes back to what it has now, as a server that starts with an old copy. */
  kept(): () => void {
    const rows = [...this.stored].map(
      ([topic, one]) => [topic, structuredClone(Object.entries(one))] as const,
    );
    return () => {
      this.stored = new Map(
        rows.map(([topic, one]) => [
          topic,
          Object.assign(new MemoryRows(), Object.fromEntries(structuredClone(one))),
        ]),
      );
    };
  }
}

/** Fate of a call: `lost` before it arrives, `unanswered` after it was carried out, or `late`: carried out after its caller gave up. */
export type CallFate = 'sound' | 'lost' | 'unanswered' | 'late';

/** A way to a store on which calls are lost, or their responses, as `next` decides. */
export class FlakyState implements SharedState {
  private readonly state: SharedState;
  private readonly time: VirtualTime;
  private readonly next: () => CallFate;

  constructor(state: SharedState, time: VirtualTime, next: () => CallFate) {
    this.state = state;
    this.time = time;
    this.next = next;
  }

  async exchange(call: StateCall): Promise<StateNews> {
    const fate = this.next();
    if (fate === 'lost') throw new Error('the call was lost');
    if (fate === 'late') {
      await this.time.wait(2500);
      return this.state.exchange(call);
    }
    const news = await this.state.exchange(call);
    if (fate === 'unanswered') throw new Error('the response was lost');
    return news;
  }

  read(key: string): Promise<string | undefined> {
    return this.state.read(key);
  }

  compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    return this.state.compareAndSet(key, before, after);
  }

  subscribe(key: string, changed: () => void): () => void {
    return this.state.subscribe(key, changed);
  }

  async close(): Promise<void> {}
}
