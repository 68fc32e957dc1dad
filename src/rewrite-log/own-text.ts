import type { Entry } from './entry.ts';

/** Minimum length from which V8 makes a substring a view of the whole string instead of a copy. */
const MIN_VIEW_LENGTH = 13;

/**
 * Copies a text so that it shares no memory with others. A substring of a request's head keeps the whole head in memory: 10,000
 * entries with heads of 12 KiB held 120 MiB.
 */
export function ownText(text: string): string {
  // Concatenated and sliced, the text is a view of its own copy with one more character.
  return text.length < MIN_VIEW_LENGTH ? text : ` ${text}`.slice(1);
}

/** Copies an entry that is kept for long: it shares no memory with the head of its request. */
export function ownEntry(entry: Entry): Entry {
  const { traceId, spanId, upstreamPath } = entry;
  return {
    ...entry,
    requestId: ownText(entry.requestId),
    traceId: traceId && ownText(traceId),
    spanId: spanId && ownText(spanId),
    method: ownText(entry.method),
    path: ownText(entry.path),
    upstreamPath: upstreamPath && ownText(upstreamPath),
  };
}
