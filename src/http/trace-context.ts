/** The trace that a request belongs to (W3C Trace Context). */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits: the parent of V2's own span. */
  readonly spanId: string;
  /** True when the sender of the span records the trace. */
  readonly isSampled: boolean;
  /** The `traceparent` to forward. */
  readonly header: string;
}

/** Reads a `traceparent`; undefined when it is absent or not valid. */
export function readTraceparent(value: string | undefined): TraceContext | undefined {
  if (value === undefined) return undefined;
  const match = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(value);
  if (match === null) return undefined;
  const [, version, traceId = '', parentId = '', flags = '', more] = match;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { traceId, spanId: parentId, isSampled, header: value };
}

/** A new trace, of 48 random hex digits. Not sampled, because the gateway does not record it. */
export function newTrace(hex: string): TraceContext {
  const traceId = hex.slice(0, 32);
  const spanId = hex.slice(32, 48);
  return { traceId, spanId, isSampled: false, header: `00-${traceId}-${spanId}-00` };
}

/** True for a request id that is safe in a log and a header: 1 to 128 visible ASCII characters. */
export function isRequestId(value: string | undefined): value is string {
  return value !== undefined && /^[!-~]{1,128}$/.test(value);
}
