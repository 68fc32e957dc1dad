import type { RecordChange, RecordPage, RecordStore, Replaced } from '../../src/rollout/store.ts';
import type { VirtualTime } from './virtual-time.ts';

/** Fate of a call: `lost` before it arrives, `unanswered` after it was carried out, or `late`: carried out after its caller gave up. */
export type CallFate = 'sound' | 'lost' | 'unanswered' | 'late';

/** A way to records on which calls are lost, or their responses, as `next` decides. */
export class FlakyRecords implements RecordStore {
  private readonly records: RecordStore;
  private readonly time: VirtualTime;
  private readonly next: () => CallFate;

  constructor(records: RecordStore, time: VirtualTime, next: () => CallFate) {
    this.records = records;
    this.time = time;
    this.next = next;
  }

  changes(after: number, limit: number): Promise<RecordPage> {
    return this.call(() => this.records.changes(after, limit));
  }

  replace(life: string, changes: readonly RecordChange[]): Promise<Replaced | undefined> {
    return this.call(() => this.records.replace(life, changes));
  }

  private async call<Value>(run: () => Promise<Value>): Promise<Value> {
    const fate = this.next();
    if (fate === 'lost') throw new Error('the call was lost');
    if (fate === 'late') {
      await this.time.wait(2500);
      return run();
    }
    const value = await run();
    if (fate === 'unanswered') throw new Error('the response was lost');
    return value;
  }
}
