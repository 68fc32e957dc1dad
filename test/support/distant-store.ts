import type { SharedState, StateCall, StateNews } from '../../src/rollout/shared-state.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A store behind a network, in virtual time. */
export class DistantStore implements SharedState {
  /** Milliseconds that each call takes. */
  delay = 1;
  /** `down`: calls are refused. `hung`: they get no response. `deaf`: only calls of subscriptions are lost. */
  state: 'up' | 'down' | 'hung' | 'deaf' = 'up';
  calls = 0;
  store: SharedState;
  private readonly time: VirtualTime;

  constructor(store: SharedState, time: VirtualTime) {
    this.store = store;
    this.time = time;
  }

  read(key: string): Promise<string | undefined> {
    return this.through(() => this.store.read(key));
  }

  compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    return this.through(() => this.store.compareAndSet(key, before, after));
  }

  exchange(call: StateCall): Promise<StateNews> {
    return this.through(() => this.store.exchange(call));
  }

  subscribe(key: string, changed: () => void): () => void {
    return this.store.subscribe(key, () => {
      if (this.state === 'up') this.time.after(this.delay, changed);
    });
  }

  close(): Promise<void> {
    return this.store.close();
  }

  private async through<Value>(call: () => Promise<Value>): Promise<Value> {
    this.calls += 1;
    await this.time.wait(this.delay / 2);
    if (this.state === 'down') throw new Error('connect ECONNREFUSED');
    if (this.state === 'hung') await new Promise(() => {});
    const value = await call();
    await this.time.wait(this.delay / 2);
    return value;
  }
}
