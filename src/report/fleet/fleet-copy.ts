import type { RecordChange, RecordPage, Replaced } from '../../rollout/record-store.ts';

interface KnownRecord {
  readonly text: string;
  /** 0 when the store has lost it. */
  readonly revision: number;
}

/** A replica's copy of the records in the store. */
export class FleetCopy {
  private readonly records = new Map<string, KnownRecord>();
  private knownLife = '';
  private readUpTo = 0;

  /** The life of the records; empty before the first one. */
  get life(): string {
    return this.knownLife;
  }

  /** Revision up to which records are known. */
  get revision(): number {
    return this.readUpTo;
  }

  /** The texts by key, as they are now. */
  get texts(): ReadonlyMap<string, string> {
    return new Map([...this.records].map(([key, { text }]) => [key, text]));
  }

  /** Keys of records that the store has lost. */
  get lost(): readonly string[] {
    return [...this.records].flatMap(([key, { revision }]) => (revision === 0 ? [key] : []));
  }

  textOf(key: string): string | undefined {
    return this.records.get(key)?.text;
  }

  /** Takes a page of changes. Returns false when the store has begun another life, which is to be read from its beginning. */
  take({ life, records }: RecordPage): boolean {
    if (life !== this.knownLife && this.knownLife !== '') {
      for (const [key, { text }] of this.records) this.records.set(key, { text, revision: 0 });
      this.knownLife = life;
      this.readUpTo = 0;
      return false;
    }
    this.knownLife = life;
    for (const { key, text, revision } of records) {
      this.records.set(key, { text, revision });
      this.readUpTo = Math.max(this.readUpTo, revision);
    }
    return true;
  }

  /** A change of a record to a text. */
  changeTo(key: string, text: string): RecordChange {
    return { key, text, revision: this.records.get(key)?.revision ?? 0 };
  }

  /** Takes changes that this replica made. */
  note(changes: readonly RecordChange[], { life, revision }: Replaced): void {
    const first = revision - changes.length + 1;
    for (const [index, { key, text }] of changes.entries())
      this.records.set(key, { text, revision: first + index });
    // Changes of others in between are still to be read.
    if (first === this.readUpTo + 1) this.readUpTo = revision;
    this.knownLife = life;
  }
}
