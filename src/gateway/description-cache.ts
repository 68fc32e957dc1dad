import { hasByteOrderMark } from '../json/byte-order-mark.ts';
import { Scanner } from '../json/scanner.ts';
import { isDescription } from '../openapi/description.ts';
import { deriveV1 } from '../openapi/derive-v1.ts';
import { printJsonText, readJsonText } from '../openapi/json-text.ts';
import type { RuleBook } from '../rules/rule-book.ts';

/** V1's description as it is sent. */
export interface DescriptionText {
  readonly body: Uint8Array;
  /** A strong entity tag (RFC 9110 §8.8.3). */
  readonly etag: string;
}

/** A description that clients without credentials may share. */
interface SharedDescription {
  readonly text: DescriptionText;
  readonly headers: readonly string[];
  /** Monotonic clock, in milliseconds. */
  readonly since: number;
  readonly until: number;
}

interface Derivation {
  readonly source: Uint8Array;
  /** Undefined when the source is no description. */
  readonly text: DescriptionText | undefined;
}

/** Maximum number of derived descriptions to keep: one for each dated release that clients ask for, before and after a reload. */
const MAX_ENTRIES = 4;

/** Maximum bytes of V2's descriptions to keep; larger ones are derived each time. */
const MAX_BYTES = 2 * 1024 * 1024;

/** Nesting beyond which a text is not taken for a description. */
const MAX_DEPTH = 200;

const encoder = new TextEncoder();

/** Derives V1's description from V2's, and keeps the latest results: the same text is derived once. */
export class DescriptionCache {
  private readonly now: () => number;
  /** In the order of use, by rule book. */
  private readonly derived = new Map<string, Derivation>();
  private readonly shared = new Map<string, SharedDescription>();

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.now = now;
  }

  /**
   * Returns V1's description for the text of V2's; undefined when it is not an OpenAPI description in JSON. `key` names the
   * rule book and the release that the text belongs to.
   */
  derive(
    key: string,
    source: Uint8Array,
    rules: RuleBook,
    serverOf: (url: string) => string,
  ): DescriptionText | undefined {
    const known = this.derived.get(key);
    if (known !== undefined && isSame(known.source, source)) {
      keep(this.derived, key, known);
      return known.text;
    }
    const text = textOf(source, rules, serverOf);
    if (source.length <= MAX_BYTES) keep(this.derived, key, { source: source.slice(), text });
    return text;
  }

  /** Lets clients without credentials share a description for `milliseconds`. */
  share(key: string, text: DescriptionText, headers: readonly string[], milliseconds: number): void {
    if (milliseconds <= 0 || text.body.length > MAX_BYTES) return;
    const since = this.now();
    keep(this.shared, key, { text, headers, since, until: since + milliseconds });
  }

  /** The shared description, and its age in milliseconds; undefined when there is none or its time is over. */
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
}

/** Puts an entry at the end of a map, and drops the oldest beyond the limit. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= MAX_ENTRIES) return;
    map.delete(oldest);
  }
}

function textOf(
  source: Uint8Array,
  rules: RuleBook,
  serverOf: (url: string) => string,
): DescriptionText | undefined {
  const scanner = new Scanner({ depth: MAX_DEPTH, record: 0 });
  if (scanner.scan(source, hasByteOrderMark(source) ? 3 : 0) !== undefined) return undefined;
  const v2 = readJsonText(new TextDecoder().decode(source));
  if (!isDescription(v2)) return undefined;
  const body = encoder.encode(printJsonText(deriveV1(v2, rules, serverOf).description));
  return { body, etag: `"${rules.hash}-${fingerprint(body)}"` };
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at += 1) if (one[at] !== other[at]) return false;
  return true;
}

/** 64 bits of FNV-1a, twice with different offsets, in hex: to tell texts apart, not to withstand an attacker. */
function fingerprint(bytes: Uint8Array): string {
  let [one, other] = [0x811c9dc5, 0x01000193];
  for (const byte of bytes) {
    one = Math.imul(one ^ byte, 0x01000193);
    other = Math.imul(other ^ byte, 0x85ebca6b);
    other = (other << 13) | (other >>> 19);
  }
  return [one, other].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
}
