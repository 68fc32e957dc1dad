import type { Comparison, FieldDifference } from '../../rollout/comparison.ts';
import { pointerOf } from '../../json/json-pointer.ts';
import { JsonWalker, type WalkedNode } from '../../json/json-walk.ts';

/** A response as it is compared: its body decoded. */
export interface ComparedResponse {
  readonly status: number;
  readonly body: Uint8Array;
}

/** Differences that are told of one comparison. */
const MOST_DIFFERENCES = 32;

/** Fields of one body that are compared. */
const MOST_FIELDS = 10_000;

interface Field {
  /** The pointer with `*` for elements. */
  readonly path: string;
  readonly kind: WalkedNode['kind'];
  readonly text: string;
}

/**
 * Compares V2's response, after response rules, with V1's, field by field. Fields in which a second response of V1 differs
 * from the first are noise: an age, an id of a request, a moment.
 */
export function compareResponses(
  v1: ComparedResponse,
  again: ComparedResponse,
  v2: ComparedResponse,
): Comparison {
  const [first, second, other] = [v1, again, v2].map(({ body }) => fieldsOf(body));
  const status = v1.status === v2.status ? {} : { status: { v1: v1.status, v2: v2.status } };
  if (first === undefined || second === undefined || other === undefined) {
    const isSame = isSameBytes(v1.body, v2.body) && v1.status === v2.status;
    if (isSame) return { verdict: 'same', differences: [], noise: 0, extra: 0 };
    return { verdict: 'unknown', ...status, differences: [], noise: 0, extra: 0, why: 'not-json' };
  }
  const noise = new Set([...between(first, second), ...between(second, first)].map(({ path }) => path));
  if (v1.status !== again.status)
    return { verdict: 'unknown', ...status, differences: [], noise: noise.size, extra: 0, why: 'noise' };
  const differences = new Map<string, FieldDifference>();
  for (const difference of between(first, other)) {
    if (!noise.has(difference.path)) differences.set(`${difference.kind} ${difference.path}`, difference);
  }
  const extra = new Set([...other].filter(([pointer]) => !first.has(pointer)).map(([, { path }]) => path));
  const isSame = differences.size === 0 && v1.status === v2.status;
  return {
    verdict: isSame ? 'same' : 'different',
    ...status,
    differences: [...differences.values()].slice(0, MOST_DIFFERENCES),
    noise: noise.size,
    extra: extra.size,
  };
}

function* between(
  one: ReadonlyMap<string, Field>,
  other: ReadonlyMap<string, Field>,
): Generator<FieldDifference> {
  for (const [pointer, { path, kind, text }] of one) {
    const field = other.get(pointer);
    if (field === undefined) yield { path, kind: 'missing' };
    else if (field.kind !== kind) yield { path, kind: 'type' };
    else if (field.text !== text && !isSameNumber(text, field.text)) yield { path, kind: 'value' };
  }
}

/** `1.0` and `1` are the same to whoever reads numbers; digits beyond what a double holds are compared as they stand. */
function isSameNumber(one: string, other: string): boolean {
  if (one.length > 15 || other.length > 15 || !/^[-\d]/.test(one) || !/^[-\d]/.test(other)) return false;
  return Number(one) === Number(other);
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Every value of a body by its pointer; undefined when it is not JSON. A body without anything has no fields. */
function fieldsOf(body: Uint8Array): Map<string, Field> | undefined {
  const fields = new Map<string, Field>();
  if (body.length === 0) return fields;
  const isJson = new JsonWalker().walk(body, {
    enter: ({ kind, path, start, end }) => {
      if (fields.size >= MOST_FIELDS) return;
      const isLeaf = kind === 'string' || kind === 'scalar';
      fields.set(pointerOf(path), {
        path: pointerOf(path.map((step) => (typeof step === 'number' ? '*' : step))),
        kind,
        text: isLeaf ? plain(decoder.decode(body.subarray(start, end))) : '',
      });
    },
  });
  return isJson ? fields : undefined;
}

/** Services escape the same text differently. */
function plain(text: string): string {
  return text
    .replaceAll(/\\u([0-9a-fA-F]{4})/g, (whole, hex: string) => {
      const code = Number.parseInt(hex, 16);
      return code < 0x20 || code === 0x22 || code === 0x5c ? whole.toLowerCase() : String.fromCharCode(code);
    })
    .replaceAll(String.raw`\/`, '/');
}

function isSameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
