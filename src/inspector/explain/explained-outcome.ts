import type { Explanation } from '../api.ts';
import { generalPointer } from '../../json/json-pointer.ts';
import { layOutJson, NO_LIMITS } from '../diff/json-layout.ts';

/** The outcome of a recorded request: the parts that a change of rules can affect. */
export interface Outcome {
  readonly verdict: Explanation['verdict'];
  readonly operation?: string;
  /** Code and pointer of a refusal. */
  readonly refusal?: string;
  readonly target?: string;
  readonly version?: string;
  readonly body?: string;
}

/** Extracts the parts of an explanation that a fixture stores. */
export function outcomeOf({ verdict, operation, refusal, v2Request, v2Body }: Explanation): Outcome {
  const version = v2Request?.headers.find(({ name }) => name.toLowerCase() === 'x-api-version')?.value;
  return {
    verdict,
    ...(operation === undefined ? {} : { operation }),
    ...(refusal === undefined
      ? {}
      : { refusal: `${refusal.code}${refusal.pointer === undefined ? '' : ` at ${refusal.pointer}`}` }),
    ...(v2Request === undefined ? {} : { target: v2Request.target }),
    ...(version === undefined ? {} : { version }),
    ...(v2Body === undefined ? {} : { body: v2Body }),
  };
}

/**
 * Returns the differences between two outcomes: pointers into the V2 body, elements as `*`, or words such as `verdict: rewritten,
 * now refused`.
 */
export function differences(before: Outcome, now: Outcome): readonly string[] {
  if (before.verdict === 'refused' || now.verdict === 'refused') {
    const [was, is] = [wordsOf(before), wordsOf(now)];
    return was === is ? [] : [`verdict: ${was}, now ${is}`];
  }
  const places = bodyDifferences(before.body ?? '', now.body ?? '');
  if (before.operation !== now.operation)
    places.push(`operation: ${before.operation ?? 'none'}, now ${now.operation ?? 'none'}`);
  if (before.target !== now.target) places.push('path');
  if (before.version !== now.version)
    places.push(`x-api-version: ${before.version ?? 'none'}, now ${now.version ?? 'none'}`);
  return places;
}

function wordsOf({ verdict, refusal }: Outcome): string {
  return refusal === undefined ? verdict : `${verdict} (${refusal})`;
}

/** The places at which two bodies differ, as pointers; elements as `*`. */
export function bodyDifferences(before: string, now: string): string[] {
  if (before === now) return [];
  const [old, young] = [scalars(before), scalars(now)];
  if (old === undefined || young === undefined) return ['the body'];
  const changed = new Set<string>();
  for (const [pointer, value] of old) if (young.get(pointer) !== value) changed.add(topmost(pointer, young));
  for (const [pointer, value] of young) if (old.get(pointer) !== value) changed.add(topmost(pointer, old));
  return changed.size === 0
    ? ['the spelling of the body']
    : [...changed].map((pointer) => generalPointer(pointer));
}

/** The texts of all scalar values by pointer; a container has only its kind. */
function scalars(body: string): ReadonlyMap<string, string> | undefined {
  const layout = layOutJson(new TextEncoder().encode(body), NO_LIMITS);
  if (layout === undefined) return undefined;
  return new Map(
    [...layout.places].map(([pointer, places]) => [
      pointer,
      places
        .map(
          ({ value }) =>
            /^[{[]/.exec(layout.text.slice(value.start, value.start + 1))?.[0] ??
            layout.text.slice(value.start, value.end),
        )
        .join(' '),
    ]),
  );
}

/** The topmost ancestor pointer that is absent from the other body: a whole new object is one difference. */
function topmost(pointer: string, other: ReadonlyMap<string, string>): string {
  let top = pointer;
  while (top !== '') {
    const above = top.slice(0, top.lastIndexOf('/'));
    if (other.has(above)) return top;
    top = above;
  }
  return pointer;
}
