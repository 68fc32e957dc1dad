/** A count with the first and last time. */
export interface Span {
  count: number;
  first: string;
  last: string;
}

/** A span of one use. */
export function firstUse(time: string): Span {
  return { count: 1, first: time, last: time };
}

/** Adds a use to a span. */
export function recordUse(span: Span, time: string): void {
  span.count += 1;
  // Almost always the same millisecond as the last one, or a later one.
  if (time === span.last) return;
  if (time > span.last) span.last = time;
  if (span.first === '' || time < span.first) span.first = time;
}

/** Counts a use by name, for at most `limit` names; returns whether it was counted. */
export function countUse(spans: Map<string, Span>, name: string, time: string, limit: number): boolean {
  const known = spans.get(name);
  if (known !== undefined) recordUse(known, time);
  else if (spans.size < limit) spans.set(name, firstUse(time));
  else return false;
  return true;
}
