import { methodLabel } from '../http/request-head.ts';
import type { Prefixes } from '../http/target.ts';
import type { Entry } from './entry.ts';

/** An OTLP span in JSON: ids in hex, times in nanoseconds as text. */
export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 2 is a server span, 3 a client span. */
  readonly kind: 2 | 3;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  /** 2 is an error. */
  readonly status: { readonly code: 0 | 2 };
}

/** An attribute of a span. */
export interface OtlpAttribute {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly intValue: string };
}

/**
 * Makes the spans of a sampled exchange: the server span is a child of the client's span, and the client span of the request to
 * V2, if one was sent, is a child of the server span. V2 receives the latter as the parent of its own spans. Requests of
 * V2's clients are forwarded unchanged, including `traceparent`: the gateway takes no part in their traces.
 */
export function spansOf(entry: Entry, prefixes: Prefixes, newSpanId: () => string): readonly OtlpSpan[] {
  const { traceId, spanId, parentSpanId, isSampled } = entry;
  if (traceId === undefined || spanId === undefined || isSampled !== true) return [];
  const start = Date.parse(entry.time);
  const serverId = newSpanId();
  const server: OtlpSpan = {
    traceId,
    spanId: serverId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name: `${methodLabel(entry.method)} ${routeOf(entry, prefixes)}`.trim(),
    kind: 2,
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(start + entry.totalMs),
    attributes: attributesOf(entry, [
      text('url.path', pathOf(entry.path)),
      text('http.route', routeOf(entry, prefixes)),
      text('gateway.verdict', entry.verdict),
      text('gateway.rule_book', entry.ruleBook),
      text('gateway.operation', entry.operation),
      text('gateway.client', entry.client),
      text('gateway.request_id', entry.requestId),
      number('gateway.edits', entry.edits.length),
    ]),
    // A client error is no error of the server span (HTTP conventions).
    status: { code: entry.status >= 500 || entry.status === 0 ? 2 : 0 },
  };
  if (entry.upstreamPath === undefined) return [server];
  const ended = entry.upstreamMs ?? entry.totalMs;
  return [
    server,
    {
      traceId,
      spanId,
      parentSpanId: serverId,
      name: methodLabel(entry.method),
      kind: 3,
      startTimeUnixNano: nanoseconds(start + Math.max(0, entry.totalMs - ended)),
      endTimeUnixNano: nanoseconds(start + entry.totalMs),
      attributes: attributesOf(entry, [
        text('url.path', pathOf(entry.upstreamPath)),
        number('http.request.resend_count', (entry.attempts ?? 1) - 1),
      ]),
      status: { code: entry.status >= 400 || entry.status === 0 ? 2 : 0 },
    },
  ];
}

function attributesOf(entry: Entry, own: readonly (OtlpAttribute | undefined)[]): readonly OtlpAttribute[] {
  const common = [
    text('http.request.method', methodLabel(entry.method)),
    entry.status === 0 ? undefined : number('http.response.status_code', entry.status),
    text('error.type', entry.failure ?? (entry.status >= 500 ? String(entry.status) : undefined)),
  ];
  return [...common, ...own].filter((attribute) => attribute !== undefined);
}

/** Low cardinality, as a span name must have: the operation, or the prefix. */
function routeOf({ route, operation }: Entry, { v1, v2 }: Prefixes): string {
  if (route === 'none') return '';
  if (route === 'pass') return `${v2}/*`;
  if (route === 'webhook') return '/webhooks/*';
  return operation === undefined ? `${v1}/*` : `${v1} ${operation}`;
}

function pathOf(target: string): string {
  return target.split('?', 1)[0] ?? target;
}

function text(key: string, value: string | undefined): OtlpAttribute | undefined {
  return value === undefined || value === '' ? undefined : { key, value: { stringValue: value } };
}

function number(key: string, value: number): OtlpAttribute {
  return { key, value: { intValue: String(value) } };
}

/** Converts milliseconds with three decimals to nanoseconds, which exceed the exact range of a number. */
function nanoseconds(milliseconds: number): string {
  return String(BigInt(Math.round(milliseconds * 1000)) * 1000n);
}
