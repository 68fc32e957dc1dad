import type { ApiVersionReason } from '../migrate/api-version.ts';
import type { ResponseRecord } from '../rewrite/response-rewrite.ts';
import type { EditRecord, PatchOperation } from '../rewrite/rewrite.ts';
import type { Comparison } from '../rollout/comparison.ts';
import type { Entry, ResponseDifference, Route, Verdict, Would } from './entry.ts';
import { ownText } from './own-text.ts';
import { redactTarget } from './redact-target.ts';

/** Facts of an exchange in progress, from which the entry is made at its end. */
export interface EntryFacts {
  readonly route: Route;
  readonly method: string;
  /** Raw, as the client sent it. */
  readonly target: string;
  readonly requestId: string;
  readonly ruleBook: string;
  traceId?: string | undefined;
  spanId?: string | undefined;
  spanOfClient?: true | undefined;
  parentSpanId?: string | undefined;
  isSampled?: true;
  /** True once the sampling decision for the trace is made. */
  isTraceDecided?: true;
  verdict: Verdict;
  edits: readonly EditRecord[];
  patch?: readonly PatchOperation[] | undefined;
  editsOmitted?: number;
  responseEdits?: readonly ResponseRecord[];
  responsePatch?: readonly PatchOperation[];
  responseEditsOmitted?: number;
  responseNote?: string;
  responseWould?: readonly ResponseDifference[];
  errorPointers?: readonly string[];
  deprecated?: readonly string[];
  unechoed?: readonly string[] | undefined;
  mode?: Entry['mode'];
  origin?: 'v1';
  would?: Would;
  comparison?: Comparison;
  heldMs?: number;
  note?: string | undefined;
  operation?: string | undefined;
  apiVersion?: { readonly sent: string; readonly why: ApiVersionReason } | undefined;
  failure?: string | undefined;
  /** The system's error code for an upstream failure. */
  cause?: string | undefined;
  sent?: boolean;
  pointer?: string | undefined;
  position?: Entry['position'] | undefined;
  upstreamTarget?: string | undefined;
  bytesIn?: number;
  bytesOut: number;
  responseBytes: number;
  status?: number;
  /** Milliseconds since 1970 when the head was complete. */
  time?: number;
  upstreamMs?: number;
  totalMs?: number;
  rewriteMs?: number;
  attributes?: readonly string[] | undefined;
  attempts: number;
}

/**
 * Makes the entry of a finished exchange as one object literal: adding members one by one costs more. It keeps nothing of the
 * request's head alive. `client` is the keyed hash of its API key.
 */
export function exchangeEntry(facts: EntryFacts, client: string | undefined): Entry {
  const path = ownText(redactTarget(facts.target));
  return {
    time: timeText(facts.time ?? 0),
    level: levelOf(facts),
    requestId: ownText(facts.requestId),
    traceId: owned(facts.traceId),
    spanId: owned(facts.spanId),
    spanOfClient: facts.spanOfClient,
    parentSpanId: facts.parentSpanId,
    isSampled: facts.isSampled,
    client,
    route: facts.route,
    method: ownText(facts.method),
    path,
    upstreamPath: upstreamPath(facts, path),
    operation: facts.operation,
    apiVersion: facts.apiVersion,
    mode: facts.mode,
    origin: facts.origin,
    would: facts.would,
    comparison: facts.comparison,
    heldMs: rounded(facts.heldMs),
    verdict: facts.verdict,
    edits: facts.edits,
    patch: facts.patch,
    editsOmitted: facts.editsOmitted,
    responseEdits: facts.responseEdits,
    responsePatch: facts.responsePatch,
    responseEditsOmitted: facts.responseEditsOmitted,
    responseNote: facts.responseNote,
    responseWould: facts.responseWould,
    errorPointers: facts.errorPointers,
    deprecated: facts.deprecated,
    unechoed: facts.unechoed,
    note: facts.note,
    failure: facts.failure,
    cause: facts.cause,
    sent: facts.sent,
    pointer: facts.pointer,
    position: facts.position,
    bytesIn: facts.bytesIn ?? 0,
    bytesOut: facts.bytesOut,
    responseBytes: facts.responseBytes,
    status: facts.status ?? 0,
    upstreamMs: rounded(facts.upstreamMs),
    totalMs: rounded(facts.totalMs) ?? 0,
    rewriteMs: rounded(facts.rewriteMs),
    attempts: facts.attempts > 1 ? facts.attempts : undefined,
    attributes: facts.attributes,
    ruleBook: facts.ruleBook,
  };
}

/** V2's own traffic has the same path on both sides: one text serves both. */
function upstreamPath({ target, upstreamTarget }: EntryFacts, path: string): string | undefined {
  if (upstreamTarget === undefined) return undefined;
  return upstreamTarget === target ? path : ownText(redactTarget(upstreamTarget));
}

function owned(text: string | undefined): string | undefined {
  return text === undefined ? undefined : ownText(text);
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

function levelOf(facts: EntryFacts): Entry['level'] {
  if (facts.failure === undefined) return 'info';
  return (facts.status ?? 0) >= 500 || facts.failure === 'upstream-broken' ? 'error' : 'warn';
}

/** Rounds to microseconds. */
function rounded(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : Math.round(milliseconds * 1000) / 1000;
}
