import type { HeaderList } from '../../http/header-list.ts';
import { readTraceparent, newTrace } from '../../http/trace-context.ts';
import { setField } from '../../http/set-field.ts';
import type { EntryFacts } from '../../rewrite-log/exchange-entry.ts';

/** What decides on a trace and names spans, while spans are exported. */
export interface TraceParts {
  /** Says whether a trace is recorded; `parent` is the decision of the client that began it, if one did. */
  readonly isSampled: (traceId: string, parent: boolean | undefined) => boolean;
  /** 48 random hex digits. */
  readonly newTraceHex: () => string;
}

/**
 * Puts the gateway's own span between the client's and V2's, where the trace is recorded: `facts` name it, and the one of the client
 * as its parent. Decides once an exchange; a trace that is not recorded stays as it is.
 */
export function beginSpan(facts: EntryFacts, traceparent: string | undefined, parts: TraceParts): void {
  if (facts.isTraceDecided === true) return;
  facts.isTraceDecided = true;
  const hex = parts.newTraceHex();
  const parent = facts.spanOfClient === true ? readTraceparent(traceparent) : undefined;
  const traceId = facts.traceId ?? newTrace(hex).traceId;
  if (!parts.isSampled(traceId, parent?.isSampled)) return;
  facts.isSampled = true;
  facts.traceId = traceId;
  facts.parentSpanId = parent?.spanId;
  facts.spanOfClient = undefined;
  if (parent !== undefined || facts.spanId === undefined) facts.spanId = hex.slice(32);
}

/** The fields of a request with the span of `facts` as its parent, sampled: what is exported must not be dropped by V2. */
export function withSpan(headers: HeaderList, { traceId, spanId, isSampled }: EntryFacts): HeaderList {
  if (isSampled !== true) return headers;
  const traced = [...headers];
  setField(traced, 'traceparent', `00-${traceId}-${spanId}-01`);
  return traced;
}
