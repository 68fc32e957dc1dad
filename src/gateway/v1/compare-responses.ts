import { JsonWalker } from '../../json/json-walk.ts';
import type { Comparison, FieldDifference } from '../../rollout/comparison.ts';
import { type Field, type FieldPlace, FieldTree, type FieldValue } from './field-tree.ts';

/** A response to compare, with its body decoded. */
export interface ComparedResponse {
  readonly status: number;
  readonly body: Uint8Array;
}

/** Maximum number of differences reported by one comparison. */
const MAX_DIFFERENCES = 32;

/** Maximum bytes and values of one body; a larger one is not compared. */
const MAX_BYTES = 512 * 1024;
const MAX_VALUES = 8000;

const FIRST = 0;
const REPEAT = 1;
const V2 = 2;

/**
 * Compares V2's response, after response rules, with V1's, field by field. Fields in which a second response of V1 differs from
 * the first are noise: an age, a request id, a timestamp. The work is proportional to the bodies, whose size is limited.
 */
export function compareResponses(
  v1: ComparedResponse,
  repeat: ComparedResponse,
  v2: ComparedResponse,
): Comparison {
  const status = v1.status === v2.status ? {} : { status: { v1: v1.status, v2: v2.status } };
  if ([v1, repeat, v2].some(({ body }) => body.length > MAX_BYTES)) return unknown('too-large', status);
  const walker = new JsonWalker(MAX_VALUES);
  const tree = new FieldTree(walker);
  const isRead = [v1, repeat, v2].every(({ body }, number) => tree.add(number, body));
  if (!isRead) {
    const isSame = isSameBytes(v1.body, v2.body) && v1.status === v2.status;
    if (isSame) return { verdict: 'same', differences: [], noise: 0, extra: 0 };
    return unknown(walker.hasTooMany ? 'too-large' : 'not-json', status);
  }
  const noise = new Set<FieldPlace>();
  for (const field of tree.fields) {
    if (differenceOf(field, FIRST, REPEAT) !== undefined || differenceOf(field, REPEAT, FIRST) !== undefined)
      noise.add(field.place);
  }
  if (v1.status !== repeat.status) return { ...unknown('noise', status), noise: noise.size };
  const found = differencesIn(tree.fields, noise);
  return {
    verdict: found.count === 0 && v1.status === v2.status ? 'same' : 'different',
    ...status,
    differences: found.differences,
    noise: noise.size,
    extra: found.extra,
  };
}

function unknown(reason: string, status: Pick<Comparison, 'status'>): Comparison {
  return { verdict: 'unknown', ...status, differences: [], noise: 0, extra: 0, why: reason };
}

interface Found {
  readonly count: number;
  readonly differences: readonly FieldDifference[];
  readonly extra: number;
}

/** Differences of V2 from V1, one per place and kind, and the number of places that only V2 has. */
function differencesIn(fields: readonly Field[], noise: ReadonlySet<FieldPlace>): Found {
  const places = {
    missing: new Set<FieldPlace>(),
    type: new Set<FieldPlace>(),
    value: new Set<FieldPlace>(),
  };
  const extra = new Set<FieldPlace>();
  const differences: FieldDifference[] = [];
  for (const field of fields) {
    const { place, values } = field;
    if (values[FIRST] === undefined && values[V2] !== undefined) extra.add(place);
    const kind = differenceOf(field, FIRST, V2);
    if (kind === undefined || noise.has(place) || places[kind].has(place)) continue;
    places[kind].add(place);
    if (differences.length < MAX_DIFFERENCES) differences.push({ path: place.pointer, kind });
  }
  const count = places.missing.size + places.type.size + places.value.size;
  return { count, differences, extra: extra.size };
}

/** Kind of difference of body `other` from body `one` in a field that `one` has. */
function differenceOf({ values }: Field, one: number, other: number): FieldDifference['kind'] | undefined {
  const [value, against] = [values[one], values[other]];
  if (value === undefined) return undefined;
  if (against === undefined) return 'missing';
  if (value.kind !== against.kind) return 'type';
  return isSameValue(value, against) ? undefined : 'value';
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function isSameValue({ kind, bytes }: FieldValue, against: FieldValue): boolean {
  if (isSameBytes(bytes, against.bytes)) return true;
  const [text, other] = [decoder.decode(bytes), decoder.decode(against.bytes)];
  return kind === 'string' ? withoutEscapes(text) === withoutEscapes(other) : isSameNumber(text, other);
}

/** `1.0` and `1` are equal numbers; digits beyond the precision of a double are compared literally. */
function isSameNumber(one: string, other: string): boolean {
  if (one.length > 15 || other.length > 15 || !/^[-\d]/.test(one) || !/^[-\d]/.test(other)) return false;
  return Number(one) === Number(other);
}

/** Normalises escapes to one spelling per character: services escape the same text differently. */
function withoutEscapes(text: string): string {
  return text.replaceAll(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, hex: string | undefined, short: string) => {
    const code = hex === undefined ? (SHORT_ESCAPES[short] ?? short.charCodeAt(0)) : Number.parseInt(hex, 16);
    const isBound = code < 0x20 || code === 0x22 || code === 0x5c;
    return isBound ? `\\u${code.toString(16).padStart(4, '0')}` : String.fromCharCode(code);
  });
}

const SHORT_ESCAPES: Readonly<Record<string, number>> = { b: 8, t: 9, n: 10, f: 12, r: 13 };

function isSameBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at += 1) {
    if (one[at] !== other[at]) return false;
  }
  return true;
}
