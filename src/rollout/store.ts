/** Parts into which a store divides every window. */
export const WINDOW_PARTS = 12;

/** Numbers to add to a window that all replicas share. */
export interface WindowAddition {
  /** Name of the window; additions with the same name have the same length and as many numbers. */
  readonly key: string;
  /** Length of the window in milliseconds. */
  readonly windowMs: number;
  /** Numbers to add to the current part; zeros only read the window. */
  readonly add: readonly number[];
}

/** Counts of one twelfth of a window, of all replicas together. */
export interface WindowPart {
  /** Number of the part: milliseconds since 1970 on the clock of the store, divided by the length of a part, rounded down. */
  readonly part: number;
  readonly counts: readonly number[];
}

/** Counts of a window after an addition. */
export interface SharedWindow {
  /** The current part, which took the addition. */
  readonly part: number;
  /** Parts of the window with counts, the oldest first. Parts older than the window are left out. */
  readonly parts: readonly WindowPart[];
}

/**
 * The place that replicas share. It keeps texts by key, replaces them by compare-and-set, and counts in windows. The clock of the
 * store divides the windows, so that clocks of replicas may differ. Every method rejects while the store cannot be reached;
 * a promise may also stay pending, so callers limit the time that they wait.
 */
export interface Store {
  /** Returns the text of a key; undefined when there is none. */
  read(key: string): Promise<string | undefined>;
  /** Replaces `before` (undefined: no text) by `after`. Resolves to false, and changes nothing, when the text is another. */
  compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean>;
  /** Adds to windows; resolves to the counts of each, in the order of the additions. */
  count(additions: readonly WindowAddition[]): Promise<readonly SharedWindow[]>;
  /**
   * Calls `changed` when the text of a key may be another; the function that it returns ends this. A call may be lost while the
   * store is out of reach, so callers also read from time to time.
   */
  subscribe(key: string, changed: () => void): () => void;
  /** Releases connections and files. */
  close(): Promise<void>;
}

/** Sums the parts of a window, number by number; `length` is how many numbers it has. */
export function windowSums({ parts }: SharedWindow, length: number): readonly number[] {
  return Array.from({ length }, (_, index) =>
    parts.reduce((sum, { counts }) => sum + (counts[index] ?? 0), 0),
  );
}
