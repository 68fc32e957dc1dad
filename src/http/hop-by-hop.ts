import { FieldNames, type HeaderList, isNamed, withoutFields } from './header-list.ts';

/** Hop-by-hop fields, RFC 9110 §7.6.1 and §11.7, with the older ones that proxies still meet. */
const HOP_BY_HOP = new FieldNames([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-authentication-info',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** True for a hop-by-hop field name, in any case. */
export function isHopByHop(name: string): boolean {
  return HOP_BY_HOP.has(name);
}

/**
 * The names that `Connection` lists and that may be removed for it. A client that lists `Authorization`, `Host`,
 * `Content-*` or a field that the gateway adds would strip it from the request (CVE-2024-45410).
 */
export function nominated(values: readonly string[]): FieldNames {
  const names: string[] = [];
  for (const value of values) {
    for (const token of value.split(',')) {
      const name = token.trim().toLowerCase();
      if (name !== '' && !isProtected(name)) names.push(name);
    }
  }
  return new FieldNames(names);
}

/**
 * The fields of a response that are forwarded to the client, with order, repetition and spelling preserved: the same list where that is
 * all of them. `Trailer` is forwarded when `trailers` is true, because the trailers are forwarded too.
 */
export function endToEnd(headers: HeaderList, trailers: boolean): HeaderList {
  let first = 0;
  while (first < headers.length && !HOP_BY_HOP.has(headers[first] ?? '')) first += 2;
  if (first === headers.length) return headers;
  const kept = headers.slice(0, first);
  let named: string[] | undefined;
  for (let at = first; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    const value = headers[at + 1] ?? '';
    const isKept = !HOP_BY_HOP.has(name) || (trailers && isNamed(name, 'trailer'));
    if (isKept) kept.push(name, value);
    else if (isNamed(name, 'connection') && namesOthers(value)) (named ??= []).push(value);
  }
  return named === undefined ? kept : withoutFields(kept, nominated(named));
}

/** False for the value of `Connection` that most peers send: it names nothing but a field that is removed anyway. */
export function namesOthers(connection: string): boolean {
  return !isNamed(connection, 'keep-alive');
}

/**
 * The trailers of a response that are forwarded to the client: without hop-by-hop fields, and without framing and routing fields,
 * which must not be trailers (RFC 9110 §6.5.1).
 */
export function trailersOf(trailers: HeaderList): HeaderList {
  return trailers.length === 0 ? trailers : withoutFields(endToEnd(trailers, false), FORBIDDEN_TRAILERS);
}

/**
 * The trailers of a request that are forwarded to V2. Fields for framing, routing, authentication, request modifiers and content
 * must not be trailers (RFC 9110 §6.5.1): a server that merges them with the header fields would take them for checked ones.
 */
export function requestTrailersOf(trailers: HeaderList): HeaderList {
  const kept: string[] = [];
  for (let at = 0; at < trailers.length; at += 2) {
    const name = trailers[at] ?? '';
    const lower = name.toLowerCase();
    if (isHopByHop(lower) || isProtected(lower) || REQUEST_MODIFIER.test(lower)) continue;
    kept.push(name, trailers[at + 1] ?? '');
  }
  return kept;
}

/**
 * The fields of an informational response that are forwarded to the client, without `Content-Length`: it has no body (RFC 9110
 * §8.6).
 */
export function interimFields(headers: HeaderList): HeaderList {
  return withoutFields(endToEnd(headers, false), CONTENT_LENGTH);
}

const CONTENT_LENGTH = new FieldNames(['content-length']);

const REQUEST_MODIFIER =
  /^(?::|if-|accept|cache-control$|cookie$|expect$|max-forwards$|pragma$|priority$|range$)/;

const FORBIDDEN_TRAILERS = new FieldNames(['content-length', 'host']);

const PROTECTED_NAMES: ReadonlySet<string> = new Set([
  'authorization',
  'host',
  'date',
  'via',
  'max-forwards',
  'x-api-version',
  'x-request-id',
  'x-gateway-error',
  'traceparent',
  'tracestate',
  'forwarded',
  'x-real-ip',
]);

function isProtected(name: string): boolean {
  return PROTECTED_NAMES.has(name) || name.startsWith('content-') || name.startsWith('x-forwarded-');
}
