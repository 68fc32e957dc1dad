import { isNamed } from './header-list.ts';

/** How the client's address is forwarded to the origin: not at all, in `X-Forwarded-*`, or in `Forwarded` (RFC 7239). */
export type ForwardedMode = 'off' | 'x-forwarded' | 'rfc7239';

/** The client's connection to the gateway. */
interface Hop {
  /** The peer's address as reported by the socket. */
  readonly address: string;
  readonly secure: boolean;
  /** The `Host` of the client's request. */
  readonly host: string | undefined;
}

/** True for a field name, in lower case, with a claim about the origin of a request; any client can send one. */
export function isForwarding(lower: string): boolean {
  return lower === 'forwarded' || lower === 'x-real-ip' || lower.startsWith('x-forwarded-');
}

/**
 * Adds the fields that `mode` requires for `hop` to `headers`, in place. Existing values come from a trusted proxy and are
 * extended; the caller has removed those of an untrusted client.
 */
export function addForwarded(headers: string[], mode: ForwardedMode, hop: Hop): void {
  if (mode === 'off') return;
  const address =
    hop.address.startsWith('::ffff:') && hop.address.includes('.') ? hop.address.slice(7) : hop.address;
  const scheme = hop.secure ? 'https' : 'http';
  if (mode === 'rfc7239') {
    const node = address.includes(':') ? `"[${address}]"` : address;
    const host = hop.host === undefined ? '' : `;host="${hop.host}"`;
    append(headers, 'forwarded', `for=${node}${host};proto=${scheme}`);
    return;
  }
  append(headers, 'x-forwarded-for', address);
  if (hop.host !== undefined) setDefault(headers, 'x-forwarded-host', hop.host);
  setDefault(headers, 'x-forwarded-proto', scheme);
}

function append(headers: string[], name: string, value: string): void {
  for (let at = headers.length - 2; at >= 0; at -= 2) {
    if (!isNamed(headers[at], name)) continue;
    headers[at + 1] = `${headers[at + 1] ?? ''}, ${value}`;
    return;
  }
  headers.push(name, value);
}

function setDefault(headers: string[], name: string, value: string): void {
  for (let at = 0; at < headers.length; at += 2) {
    if (isNamed(headers[at], name)) return;
  }
  headers.push(name, value);
}

/** A block of addresses in CIDR form; IPv4 addresses are mapped to `::ffff:`, so that one form covers both. */
export interface AddressRange {
  /** The 128 bits of the first address. */
  readonly base: bigint;
  /** The number of leading bits that are fixed, of 128. */
  readonly bits: number;
}

/** Reads `10.0.0.0/8`, `2001:db8::/32` or a single address; undefined for anything else. */
export function readRange(text: string): AddressRange | undefined {
  const [address = '', length, more] = text.trim().split('/');
  const base = addressBits(address);
  if (base === undefined || more !== undefined) return undefined;
  const width = address.includes(':') ? 128 : 32;
  if (length === undefined) return { base, bits: 128 };
  if (!/^\d{1,3}$/.test(length) || Number(length) > width) return undefined;
  return { base, bits: 128 - width + Number(length) };
}

/** True when one of the ranges contains the address. */
export function isWithin(address: string, ranges: readonly AddressRange[]): boolean {
  if (ranges.length === 0) return false;
  const bits = addressBits(address);
  if (bits === undefined) return false;
  return ranges.some((range) => bits >> BigInt(128 - range.bits) === range.base >> BigInt(128 - range.bits));
}

/** The 128 bits of an address, with or without a zone (`fe80::1%eth0`); undefined for anything else. */
export function addressBits(text: string): bigint | undefined {
  const [address = ''] = text.split('%');
  if (!address.includes(':')) {
    const ipv4 = parseIpv4(address);
    return ipv4 === undefined ? undefined : 0xff_ff_00_00_00_00n | ipv4;
  }
  return parseIpv6(address);
}

function parseIpv4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || parts.some((part) => !/^(?:0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255)) {
    return undefined;
  }
  return parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function parseIpv6(text: string): bigint | undefined {
  const tail = text.lastIndexOf(':');
  const dotted = text.includes('.') ? parseIpv4(text.slice(tail + 1)) : undefined;
  if (text.includes('.') && dotted === undefined) return undefined;
  const plain =
    dotted === undefined
      ? text
      : `${text.slice(0, tail)}:${(dotted >> 16n).toString(16)}:${(dotted & 0xff_ffn).toString(16)}`;
  const [head = '', rest, more] = plain.split('::');
  if (more !== undefined) return undefined;
  const before = head === '' ? [] : head.split(':');
  const after = rest === undefined || rest === '' ? [] : rest.split(':');
  const missing = 8 - before.length - after.length;
  if (rest === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...before, ...Array.from({ length: missing }, () => '0'), ...after];
  if (groups.some((group) => !/^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return groups.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

/** The trace that a request belongs to (W3C Trace Context). */
interface TraceContext {
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

/** The `traceparent` of a span, with the flag that says whether its sender records the trace. */
export function traceparentOf(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/**
 * Fields of trace contexts other than W3C's: Zipkin, AWS, Google, Jaeger, SkyWalking, gRPC, Elastic, New Relic, Instana, SAP, Sentry,
 * Dynatrace.
 */
const OTHER_TRACE_CONTEXTS: ReadonlySet<string> = new Set([
  'b3',
  'x-amzn-trace-id',
  'x-cloud-trace-context',
  'uber-trace-id',
  'sw8',
  'grpc-trace-bin',
  'elastic-apm-traceparent',
  'newrelic',
  'x-instana-t',
  'sap-passport',
  'sentry-trace',
  'x-dynatrace',
]);

const OTHER_TRACE_PREFIX = /^(?:x-b3-|x-datadog-|x-ot-span-|ot-tracer-)/;

/** True for a field name, in lower case, that continues a trace in another form than W3C's. */
export function isOtherTrace(lower: string): boolean {
  return OTHER_TRACE_CONTEXTS.has(lower) || OTHER_TRACE_PREFIX.test(lower);
}

/** True for a request id that is safe in a log and a header: 1 to 128 visible ASCII characters. */
export function isRequestId(value: string | undefined): value is string {
  return value !== undefined && /^[!-~]{1,128}$/.test(value);
}
