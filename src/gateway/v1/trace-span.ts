import { readTraceparent, newTrace } from '../../http/trace-context.ts';
import { setField } from '../../http/set-field.ts';
import type { OpenEntry } from '../../rewrite-log/open-entry.ts';
import { type UpstreamRequest, withHeaders } from '../upstream.ts';

/** Sampler and id generator, while spans are exported. */
export interface TraceParts {
  /** Whether to record a trace; `parent` is the decision of the client that began it, if one did. */
  readonly isSampled: (traceId: string, parent: boolean | undefined) => boolean;
  /** 48 random hex digits. */
  readonly newTraceHex: () => string;
}

/**
 * Inserts the gateway's own span between the client's and V2's when the trace is recorded: sets its id and the client's span as
 * its parent in `entry`. Called once per exchange; a trace that is not recorded stays unchanged.
 */
export function beginSpan(entry: OpenEntry, traceparent: string | undefined, parts: TraceParts): void {
  const hex = parts.newTraceHex();
  const parent = entry.spanOfClient === true ? readTraceparent(traceparent) : undefined;
  const traceId = entry.traceId ?? newTrace(hex).traceId;
  if (!parts.isSampled(traceId, parent?.isSampled)) return;
  entry.isSampled = true;
  entry.traceId = traceId;
  entry.parentSpanId = parent?.spanId;
  entry.spanOfClient = undefined;
  if (parent !== undefined || entry.spanId === undefined) entry.spanId = hex.slice(32);
}

/** Returns a request with the span of `entry` as its parent, sampled: V2 must not drop an exported trace. */
export function withSpan(
  request: UpstreamRequest,
  { traceId, spanId, isSampled }: OpenEntry,
): UpstreamRequest {
  if (isSampled !== true) return request;
  const traced = [...request.headers];
  setField(traced, 'traceparent', `00-${traceId}-${spanId}-01`);
  return withHeaders(request, traced);
}
