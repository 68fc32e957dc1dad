import type { WorkMemory } from '../json/tape.ts';
import type { DerivationRules } from '../openapi/derive/derive-v1.ts';
import { digestOf } from '../rules/hash.ts';
import type { Origin } from './resilience.ts';

/** A description that clients without credentials may share. */
interface SharedDescription {
  readonly text: DescriptionText;
  readonly headers: readonly string[];
  /** Monotonic clock, in milliseconds. */
  readonly since: number;
  readonly until: number;
}

interface Derivation {
  readonly text: Promise<DescriptionText | undefined>;
  /** Size of the result; 0 until it is complete. */
  bytes: number;
}

/** Derives a description, at once or in a worker thread. */
export type Describe = (job: DescriptionJob) => Promise<DescriptionText | undefined>;

/** Maximum number of cached descriptions: those of a few dated releases, before and after a reload. */
const MAX_ENTRIES = 4;

/** Maximum bytes of all cached descriptions. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Maximum bytes of a description that clients share. */
const MAX_SHARED_BYTES = 2 * 1024 * 1024;

/** Bytes of memory for a derivation per byte of the source: it is parsed to objects, and printed again. */
export const DERIVATION_BYTES_PER_BYTE = 24;

/** Derives V1's description from V2's, and caches the latest results: each text is derived once for all clients. */
export class DescriptionCache {
  private readonly now: () => number;
  private readonly describe: Describe;
  /** By rule book and text, in the order of use; including those under way. */
  private readonly derived = new Map<string, Derivation>();
  private readonly shared = new Map<string, SharedDescription>();

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number, describe: Describe) {
    this.now = now;
    this.describe = describe;
  }

  /**
   * Returns V1's description for the text of V2's; undefined if it is not an OpenAPI description in JSON. The derivation uses the first
   * caller's memory.
   */
  async derive(
    job: DescriptionJob,
    memory: WorkMemory,
  ): Promise<DescriptionText | 'buffer-full' | undefined> {
    const key = `${job.rules.hash} ${await digestOf(job.source, 32)}`;
    const known = this.derived.get(key);
    if (known !== undefined) {
      keep(this.derived, key, known);
      return known.text;
    }
    if (!memory.take(job.source.length * DERIVATION_BYTES_PER_BYTE)) return 'buffer-full';
    const derivation = { text: this.describe(job), bytes: 0 };
    keep(this.derived, key, derivation);
    try {
      const text = await derivation.text;
      derivation.bytes = text?.body.length ?? 0;
      this.dropOldest();
      return text;
    } catch (error) {
      this.derived.delete(key);
      throw error;
    }
  }

  /** Lets clients without credentials share a description for `milliseconds`. */
  share(
    key: string,
    text: DescriptionText,
    headers: readonly string[],
    milliseconds: number,
    age: number,
  ): void {
    if (milliseconds <= 0 || text.body.length > MAX_SHARED_BYTES) return;
    const now = this.now();
    keep(this.shared, key, { text, headers, since: now - age, until: now + milliseconds });
  }

  /** The shared description, and its age in milliseconds; undefined if there is none, or it has expired. */
  fresh(
    key: string,
  ):
    | { readonly text: DescriptionText; readonly headers: readonly string[]; readonly age: number }
    | undefined {
    const entry = this.shared.get(key);
    if (entry === undefined) return undefined;
    const now = this.now();
    if (now < entry.until) return { text: entry.text, headers: entry.headers, age: now - entry.since };
    this.shared.delete(key);
    return undefined;
  }

  /** Drops the least recently used results beyond the limit of bytes. */
  private dropOldest(): void {
    let total = [...this.derived.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    for (const [key, { bytes }] of this.derived) {
      if (total <= MAX_BYTES) return;
      total -= bytes;
      this.derived.delete(key);
    }
  }
}

/** Puts an entry at the end of a map, and drops the oldest one beyond the limit. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= MAX_ENTRIES) return;
    map.delete(oldest);
  }
}

/** V2's description as received, and the other data that V1's depends on. */
export interface DescriptionJob {
  readonly source: Uint8Array;
  readonly rules: DerivationRules;
  readonly v2: Pick<Origin, 'hosts' | 'path'>;
}

/** V1's description as sent. */
export interface DescriptionText {
  readonly body: Uint8Array;
  /** A strong entity tag (RFC 9110 §8.8.3). */
  readonly etag: string;
}
