import type { AnswerRecord } from '../rewrite/answer-rewrite.ts';
import type { EditRecord, PatchOperation } from '../rewrite/rewrite.ts';
import type { Comparison } from './comparison.ts';
import type { ApiVersionReason, Entry, Route, Verdict, Would } from './entry.ts';
import { redactTarget } from './redact-target.ts';

/** What is known of an exchange while it is under way; the entry is made of it when it is over. */
export interface EntryFacts {
  readonly route: Route;
  readonly method: string;
  /** Raw, as the client sent it. */
  readonly target: string;
  readonly requestId: string;
  readonly ruleBook: string;
  traceId?: string | undefined;
  spanId?: string | undefined;
  spanOfClient?: true;
  verdict: Verdict;
  edits: readonly EditRecord[];
  patch?: readonly PatchOperation[] | undefined;
  editsOmitted?: number;
  answerEdits?: readonly AnswerRecord[];
  answerNote?: string;
  mode?: Entry['mode'];
  origin?: 'v1';
  would?: Would;
  comparison?: Comparison;
  heldMs?: number;
  note?: string | undefined;
  operation?: string | undefined;
  apiVersion?: { readonly sent: string; readonly why: ApiVersionReason } | undefined;
  failure?: string | undefined;
  /** The system's name for what went wrong upstream. */
  cause?: string | undefined;
  pointer?: string | undefined;
  position?: Entry['position'] | undefined;
  upstreamTarget?: string | undefined;
  bytesIn?: number;
  bytesOut: number;
  answerBytes: number;
  status?: number;
  /** Milliseconds since 1970 when the head had arrived. */
  time?: number;
  upstreamMs?: number;
  totalMs?: number;
  rewriteMs?: number;
  attributes?: readonly string[];
  attempts: number;
}

/** Makes the entry of an exchange that is over. `client` is the keyed hash of its API key. */
export function exchangeEntry(facts: EntryFacts, client: string | undefined): Entry {
  const entry: Draft = {
    time: new Date(facts.time ?? 0).toISOString(),
    level: levelOf(facts),
    requestId: facts.requestId,
    route: facts.route,
    method: facts.method,
    path: redactTarget(facts.target),
    verdict: facts.verdict,
    edits: facts.edits,
    bytesIn: facts.bytesIn ?? 0,
    bytesOut: facts.bytesOut,
    answerBytes: facts.answerBytes,
    status: facts.status ?? 0,
    totalMs: rounded(facts.totalMs ?? 0),
    ruleBook: facts.ruleBook,
  };
  if (facts.traceId !== undefined) entry.traceId = facts.traceId;
  if (facts.spanId !== undefined) entry.spanId = facts.spanId;
  if (facts.spanOfClient !== undefined) entry.spanOfClient = true;
  if (client !== undefined) entry.client = client;
  if (facts.upstreamTarget !== undefined) entry.upstreamPath = redactTarget(facts.upstreamTarget);
  if (facts.operation !== undefined) entry.operation = facts.operation;
  if (facts.apiVersion !== undefined) entry.apiVersion = facts.apiVersion;
  if (facts.patch !== undefined) entry.patch = facts.patch;
  if (facts.editsOmitted !== undefined) entry.editsOmitted = facts.editsOmitted;
  if (facts.mode !== undefined) entry.mode = facts.mode;
  if (facts.origin !== undefined) entry.origin = facts.origin;
  if (facts.would !== undefined) entry.would = facts.would;
  if (facts.comparison !== undefined) entry.comparison = facts.comparison;
  if (facts.heldMs !== undefined) entry.heldMs = rounded(facts.heldMs);
  if (facts.answerEdits !== undefined) entry.answerEdits = facts.answerEdits;
  if (facts.answerNote !== undefined) entry.answerNote = facts.answerNote;
  if (facts.note !== undefined) entry.note = facts.note;
  if (facts.failure !== undefined) entry.failure = facts.failure;
  if (facts.cause !== undefined) entry.cause = facts.cause;
  if (facts.pointer !== undefined) entry.pointer = facts.pointer;
  if (facts.position !== undefined) entry.position = facts.position;
  if (facts.upstreamMs !== undefined) entry.upstreamMs = rounded(facts.upstreamMs);
  if (facts.rewriteMs !== undefined) entry.rewriteMs = rounded(facts.rewriteMs);
  if (facts.attributes !== undefined) entry.attributes = facts.attributes;
  if (facts.attempts > 1) entry.attempts = facts.attempts;
  return entry;
}

type Draft = { -readonly [Key in keyof Entry]: Entry[Key] };

function levelOf(facts: EntryFacts): Entry['level'] {
  if (facts.failure === undefined) return 'info';
  return (facts.status ?? 0) >= 500 || facts.failure === 'upstream-broken' ? 'error' : 'warn';
}

/** Microseconds are enough. */
function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
