import type { Span } from '../tally/span.ts';

/** Adds a span to another. */
export function mergeSpan(into: Span, from: Span): void {
  if (from.count === 0) return;
  into.count += from.count;
  if (into.first === '' || (from.first !== '' && from.first < into.first)) into.first = from.first;
  if (from.last > into.last) into.last = from.last;
}

/** Adds spans to others by name. */
export function mergeSpans(into: Map<string, Span>, from: ReadonlyMap<string, Span>): void {
  for (const [name, { count, first, last }] of from) {
    const known = into.get(name);
    if (known === undefined) into.set(name, { count, first, last });
    else mergeSpan(known, { count, first, last });
  }
}

/** The later of two times in RFC 3339; empty is none. */
export function later(one: string, other: string): string {
  return other > one ? other : one;
}

/** The earlier of two times in RFC 3339; empty is none. */
export function earlier(one: string, other: string): string {
  if (one === '') return other;
  return other !== '' && other < one ? other : one;
}
