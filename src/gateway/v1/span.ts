import { readTraceparent, traceparentOf } from '../../http/forwarding.ts';
import { FieldNames, setField, withoutFields } from '../../http/header-list.ts';
import type { RequestHead } from '../../http/request-head.ts';
import type { OpenEntry } from '../../rewrite-log/observer.ts';
import { type UpstreamRequest, withHeaders } from '../upstream.ts';

const TRACE_STATE = new FieldNames(['tracestate']);

/** Sampler and id generator, while spans are exported. */
interface TraceParts {
  /** Whether to record a trace; `parent` is the decision of the client that began it, if there is one. */
  readonly isSampled: (traceId: string, parent: boolean | undefined) => boolean;
  /** 48 random hex digits. */
  readonly newTraceHex: () => string;
}

/**
 * Sets the span of the gateway in `entry`, called once per exchange: as a child of the client's span if its trace is recorded, or the
 * first of a new trace if the client has none. A trace of the client that is not recorded stays unchanged.
 */
export function beginSpan(entry: OpenEntry, traceparent: string | undefined, parts: TraceParts): void {
  const hex = parts.newTraceHex();
  const parent = entry.spanOfClient === true ? readTraceparent(traceparent) : undefined;
  const traceId = parent?.traceId ?? hex.slice(0, 32);
  const isSampled = parts.isSampled(traceId, parent?.isSampled);
  if (parent !== undefined && !isSampled) return;
  if (isSampled) entry.isSampled = true;
  entry.traceId = traceId;
  entry.spanId = hex.slice(32);
  entry.parentSpanId = parent?.spanId;
  entry.spanOfClient = undefined;
}

/**
 * The `traceparent` of a trace that begins here, with the sampler's flag; undefined if the client's trace continues. There is none if the
 * client traces in another form, such as B3: the service would find two parents.
 */
export function begunTraceparent(entry: OpenEntry, head: RequestHead): string | undefined {
  const { traceId, spanId, spanOfClient, parentSpanId, isSampled } = entry;
  if (traceId === undefined || spanId === undefined) return undefined;
  if (spanOfClient === true || parentSpanId !== undefined || head.hasOtherTrace) return undefined;
  return traceparentOf(traceId, spanId, isSampled === true);
}

/**
 * Returns a request with the span of `entry` as its parent if the trace is recorded: the service must not drop an exported trace. The
 * state of a trace that ends here is left out (W3C Trace Context §3.3).
 */
export function withSpan(request: UpstreamRequest, entry: OpenEntry, head: RequestHead): UpstreamRequest {
  const { traceId, spanId, parentSpanId, isSampled } = entry;
  if (isSampled !== true || traceId === undefined || spanId === undefined) return request;
  if (parentSpanId === undefined && head.hasOtherTrace) return request;
  const traced =
    parentSpanId === undefined ? withoutFields(request.headers, TRACE_STATE) : [...request.headers];
  setField(traced, 'traceparent', traceparentOf(traceId, spanId, true));
  return withHeaders(request, traced);
}
