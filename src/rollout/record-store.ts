/** A text that replicas share, with the revision at which it was set: revisions of a store only grow. */
export interface StoredRecord {
  readonly key: string;
  readonly text: string;
  readonly revision: number;
}

/** A text to set, and the revision of the text that it replaces; 0 when there is none. */
export interface RecordChange {
  readonly key: string;
  readonly text: string;
  readonly revision: number;
}

/** Records that were set after a revision. */
export interface RecordPage {
  /** Names the life of the records: another one after the store lost them, and empty before the first record is set. */
  readonly life: string;
  /** In the order of their revisions; fewer than were asked for when there are no more. */
  readonly records: readonly StoredRecord[];
}

/** The outcome of a replacement. */
export interface Replaced {
  readonly life: string;
  /** Revision of the last of the records, which have consecutive ones. */
  readonly revision: number;
}

/**
 * Records that all replicas write and follow, beside the texts of a `Store`: several are replaced at once, and a replica reads only
 * those that changed. Every method rejects while the store cannot be reached; a promise may also stay pending.
 */
export interface RecordStore {
  /** Returns the first `limit` records that were set after a revision. */
  changes(after: number, limit: number): Promise<RecordPage>;
  /**
   * Sets all of the records, or none and resolves to undefined: when one of them has another revision by now, or the store another
   * life.
   */
  replace(life: string, changes: readonly RecordChange[]): Promise<Replaced | undefined>;
}
