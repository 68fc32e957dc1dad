import type {
  RecordChange,
  RecordPage,
  RecordStore,
  Replaced,
  StoredRecord,
} from '../../src/rollout/store.ts';

/** Records in the memory of one process, for tests and simulations. */
export class MemoryRecords implements RecordStore {
  private readonly records = new Map<string, StoredRecord>();
  private revision = 0;
  private lives = 1;

  /** Loses all records, as a server without a disk that starts again. */
  lose(): void {
    this.records.clear();
    this.revision = 0;
    this.lives += 1;
  }

  async changes(after: number, limit: number): Promise<RecordPage> {
    const records = [...this.records.values()]
      .filter(({ revision }) => revision > after)
      .sort((one, other) => one.revision - other.revision);
    return { life: this.life, records: records.slice(0, limit) };
  }

  async replace(life: string, changes: readonly RecordChange[]): Promise<Replaced | undefined> {
    const isStale = changes.some(({ key, revision }) => (this.records.get(key)?.revision ?? 0) !== revision);
    if (life !== this.life || isStale) return undefined;
    for (const { key, text } of changes) {
      this.revision += 1;
      this.records.set(key, { key, text, revision: this.revision });
    }
    return { life: this.life, revision: this.revision };
  }

  private get life(): string {
    return this.revision === 0 ? '' : String(this.lives);
  }
}
