import type { Entry } from './entry.ts';
import { redactTarget } from './masks.ts';

/** The entry of an exchange in progress: what is known so far. `closeEntry` makes it the entry. */
export type OpenEntry = { -readonly [Name in keyof Entry]: Entry[Name] };

/** What is known of an exchange when it begins. */
type FirstFacts = Pick<Entry, 'route' | 'method' | 'requestId' | 'ruleBook' | 'verdict'>;

/** What is known of an exchange when it is over. */
export interface LastFacts {
  /** Milliseconds since 1970 when the head of the request was complete. */
  readonly time: number;
  /** Raw, as the client sent it. */
  readonly target: string;
  /** Raw, as the origin received it; undefined when nothing was sent. */
  readonly upstreamTarget: string | undefined;
  /** Number of times the request was sent. */
  readonly attempts: number;
}

/** Begins an entry, with all members from the start: adding them one by one costs more. */
export function openEntry({ route, method, requestId, ruleBook, verdict }: FirstFacts): OpenEntry {
  return {
    time: '',
    level: 'info',
    requestId,
    traceId: undefined,
    spanId: undefined,
    spanOfClient: undefined,
    parentSpanId: undefined,
    isSampled: undefined,
    client: undefined,
    route,
    method,
    path: '',
    upstreamMethod: undefined,
    upstreamPath: undefined,
    operation: undefined,
    apiVersion: undefined,
    mode: undefined,
    origin: undefined,
    would: undefined,
    comparison: undefined,
    heldMs: undefined,
    newcomer: undefined,
    verdict,
    edits: [],
    patch: undefined,
    editsOmitted: undefined,
    responseEdits: undefined,
    responsePatch: undefined,
    responseEditsOmitted: undefined,
    responseNote: undefined,
    responseWould: undefined,
    errorPointers: undefined,
    deprecated: undefined,
    unechoed: undefined,
    note: undefined,
    failure: undefined,
    cause: undefined,
    sent: undefined,
    pointer: undefined,
    position: undefined,
    bytesIn: 0,
    bytesOut: 0,
    responseBytes: 0,
    status: 0,
    upstreamStatus: undefined,
    incomplete: undefined,
    upstreamMs: undefined,
    totalMs: 0,
    rewriteMs: undefined,
    attempts: undefined,
    attributes: undefined,
    ruleBook,
  };
}

/**
 * Completes an entry; nothing changes it from now on. Its texts may be parts of the request's head, and keep all of that in memory:
 * whoever keeps it for long takes a copy (`ownEntry`).
 */
export function closeEntry(entry: OpenEntry, { time, target, upstreamTarget, attempts }: LastFacts): Entry {
  entry.time = timeText(time);
  entry.level = levelOf(entry);
  entry.path = redactTarget(target);
  // V2's own traffic has the same path on both sides.
  if (upstreamTarget !== undefined)
    entry.upstreamPath = upstreamTarget === target ? entry.path : redactTarget(upstreamTarget);
  if (attempts > 1) entry.attempts = attempts;
  entry.heldMs = rounded(entry.heldMs);
  entry.upstreamMs = rounded(entry.upstreamMs);
  entry.totalMs = rounded(entry.totalMs);
  entry.rewriteMs = rounded(entry.rewriteMs);
  return entry;
}

let lastTime = -1;
let lastText = '';

/** RFC 3339; cached, for many exchanges begin in the same millisecond. */
function timeText(time: number): string {
  if (time !== lastTime) {
    lastText = new Date(time).toISOString();
    lastTime = time;
  }
  return lastText;
}

function levelOf({ failure, status }: OpenEntry): Entry['level'] {
  if (failure === undefined) return 'info';
  return status >= 500 || failure === 'upstream-broken' ? 'error' : 'warn';
}

/** Rounds to microseconds. */
function rounded<Milliseconds extends number | undefined>(milliseconds: Milliseconds): Milliseconds | number {
  return milliseconds === undefined ? milliseconds : Math.round(milliseconds * 1000) / 1000;
}
