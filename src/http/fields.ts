import { isForwarding, isOtherTrace } from './forwarding.ts';
import {
  FieldNames,
  type HeaderList,
  headerValues,
  isNamed,
  withoutFields,
  headerValue,
} from './header-list.ts';

/** Hop-by-hop fields, RFC 9110 §7.6.1 and §11.7, and older ones that are still in use. */
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
 * The fields of a response that are forwarded to the client, with order, repetition and spelling preserved; the same list if none is
 * removed. `Trailer` is forwarded if `trailers` is true, because the trailers are then forwarded.
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

/** False for a value of `Connection` that lists only fields that are removed anyway, as most peers send it. */
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
 * The trailers of a request that are forwarded to V2. Fields for framing, routing, authentication, request modifiers and content must not
 * be trailers (RFC 9110 §6.5.1): a server that merges them with the header fields would trust them as checked.
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
 * The fields of an informational response that are forwarded to the client: without `Content-Length`, because it has no body (RFC 9110
 * §8.6).
 */
export function interimFields(headers: HeaderList): HeaderList {
  return withoutFields(endToEnd(headers, false), CONTENT_LENGTH);
}

const CONTENT_LENGTH = new FieldNames(['content-length']);

const REQUEST_MODIFIER =
  /^(?::|if-|accept|cache-control$|cookie$|expect$|max-forwards$|pragma$|priority$|range$)/;

const FORBIDDEN_TRAILERS = /* @__PURE__ */ new FieldNames(['content-length', 'host']);

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

const CLOSE_OPTION = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i;

/** True for a value of `Connection` with the option `close`, in any case: an element of its list (RFC 9110 §7.6.1, RFC 9112 §9.6). */
export function hasCloseOption(connection: string): boolean {
  return CLOSE_OPTION.test(connection);
}

const KEEP_ALIVE_OPTION = /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/i;

/** True for a value of `Connection` with which an HTTP/1.0 client asks to keep the connection open (RFC 9112 appendix C.2.2). */
export function hasKeepAliveOption(connection: string): boolean {
  return KEEP_ALIVE_OPTION.test(connection);
}

/** Digests of a body that the gateway can check: RFC 1864, RFC 3230 and RFC 9530. */
export const DIGEST_FIELDS: readonly string[] = ['content-md5', 'digest', 'content-digest', 'repr-digest'];

/** Fields that describe the bytes of one body or its framing, and do not apply to another body (RFC 9530 §6.2). */
const BODY_NAMES = new FieldNames([
  'content-encoding',
  'content-length',
  ...DIGEST_FIELDS,
  'content-sha256',
  'accept-ranges',
  'trailer',
]);

/** Digests of the body in non-standard fields: X-Content-SHA256, x-amz-checksum-crc32, X-Body-Hash. */
const DIGEST_NAME =
  /^x-(?:[a-z]+-)*(?:(?:content|body|payload)-(?:sha-?\d+|md5|crc\d+|hash|digest)$|checksum)/i;

/** True for the name, in any case, of a field that describes one body. */
function isBodyField(name: string): boolean {
  return BODY_NAMES.has(name) || DIGEST_NAME.test(name);
}

const BODY_FIELDS = { has: isBodyField };

/** A name with a word for a signature: X-Hub-Signature-256, Stripe-Signature, X-Shopify-Hmac-Sha256. */
const SIGNATURE_NAME = /(?:^|[-_])(?:signature|hmac|sig)(?:[-_]|$)/;

/** Returns the fields of a rewritten response whose body now has a content coding and `length` bytes; undefined if no body was made. */
export function codedResponseFields(
  headers: HeaderList,
  coding: string,
  length: number | undefined,
): string[] {
  const coded = [...withoutFields(headers, CONTENT_LENGTH), 'Content-Encoding', coding];
  if (length !== undefined) coded.push('Content-Length', String(length));
  // Tells caches which field the coding depends on (RFC 9110 §12.5.5).
  return isVariedBy(headers, 'accept-encoding') ? coded : [...coded, 'Vary', 'Accept-Encoding'];
}

/** True for a response that already varies by a request field, whose name is in lower case. */
export function isVariedBy(headers: HeaderList, field: string): boolean {
  const vary = headerValues(headers, 'vary').join(',').toLowerCase().split(',');
  return vary.some((name) => name.trim() === field || name.trim() === '*');
}

/** Returns the fields of a response whose body was rewritten to `length` bytes. */
export function rewrittenResponseFields(headers: HeaderList, length: number): string[] {
  return [...fieldsOfAnotherBody(headers), 'Content-Length', String(length)];
}

/**
 * Returns the fields of a response with another body than V2's. A strong entity tag becomes a weak one: two bodies must not share a
 * strong tag (RFC 9110 §8.8.1), and a conditional GET works with either.
 */
export function fieldsOfAnotherBody(headers: HeaderList): string[] {
  const kept = withoutFields(headers, BODY_FIELDS);
  for (let at = 0; at < kept.length; at += 2) {
    const value = kept[at + 1] ?? '';
    if (isNamed(kept[at], 'etag') && value.startsWith('"')) kept[at + 1] = `W/${value}`;
  }
  return kept;
}

/** Marks entity tags with the rules that their representation depends on: they no longer match after a change of rules, or at V1 itself. */
export function markTags(headers: string[], rules: string): void {
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] ?? '';
    if (isNamed(headers[at], 'etag') && /^(?:W\/)?"[^"]*"$/.test(value))
      headers[at + 1] = `${value.slice(0, -1)}${markOf(rules)}"`;
  }
}

/** V2's tags for those in a client's `If-None-Match`; undefined if none is of a representation by these rules. */
export function tagsOfRules(tags: string, rules: string): string | undefined {
  if (tags.trim() === '*') return tags;
  const mark = markOf(rules);
  const own = [...tags.matchAll(ENTITY_TAG)].flatMap(([, weak = '', tag = '']) =>
    tag.endsWith(mark) ? [`${weak}"${tag.slice(0, -mark.length)}"`] : [],
  );
  return own.length === 0 ? undefined : own.join(', ');
}

/**
 * V2's tags for those in a client's `If-Match`, by any rules: they guard the state of the resource, which rules do not change. They
 * become strong, because the gateway has weakened V2's, and a weak tag never matches (RFC 9110 §13.1.1).
 */
export function tagsOfState(tags: string): string {
  return tags.replaceAll(ENTITY_TAG, (_, _weak, tag: string) => `"${tag.replace(MARK, '')}"`);
}

/** V2's form of an entity tag, without the mark of any rules. */
export function unmarkedTag(tag: string): string {
  return tag.replace(/;rules=[\w-]{8}"$/, '"');
}

const ENTITY_TAG = /(W\/)?"([^"]*)"/g;
const MARK = /;rules=[\w-]{8}$/;

function markOf(rules: string): string {
  return `;rules=${rules.slice(0, 8)}`;
}

/**
 * How the gateway treats a field: by its own name if the gateway reads or sets it, otherwise by a kind. `hop-by-hop` and `body` are the
 * fields of these kinds without a name here. `forwarding` fields claim where a request came from; a `range` asks for a part; a `link`
 * contains an address or the path of a cookie; a `method-override` names another method than the request line; a `preflight` names the
 * method that a browser wants to use; a `digest` has a hash of the body that can be checked; a `signature` covers the message as sent; an
 * `other-trace` continues a trace in another form than W3C's. CGI servers may read an `alias` as another field, and a `claimed-alias` as
 * one that is not forwarded.
 */
export type HeaderKind =
  | (typeof NAMED_KINDS)[number]
  | (typeof OTHER_KINDS)[number][1]
  | 'hop-by-hop'
  | 'body'
  | 'digest'
  | 'forwarding'
  | 'other-trace'
  | 'signature'
  | 'alias'
  | 'claimed-alias'
  | 'other';

const NAMED_KINDS = [
  'host',
  'authorization',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'x-api-version',
  'x-request-id',
  'traceparent',
  'tracestate',
  'connection',
  'keep-alive',
  'proxy-connection',
  'trailer',
  'upgrade',
  'expect',
  'accept-encoding',
] as const;

const KINDS_BY_NAME: ReadonlyMap<string, HeaderKind> = new Map(NAMED_KINDS.map((name) => [name, name]));

export const HOP_BY_HOP_KINDS: ReadonlySet<HeaderKind> = new Set<HeaderKind>([
  'hop-by-hop',
  ...NAMED_KINDS.filter(isHopByHop),
]);

/** The kinds of fields that describe one body. */
export const BODY_KINDS: ReadonlySet<HeaderKind> = new Set<HeaderKind>([
  'body',
  'digest',
  ...NAMED_KINDS.filter(isBodyField),
]);

const OTHER_KINDS = [
  ['location', 'link'],
  ['content-location', 'link'],
  ['link', 'link'],
  ['set-cookie', 'link'],
  ['refresh', 'link'],
  ['link-template', 'link'],
  ['www-authenticate', 'link'],
  ['azure-asyncoperation', 'link'],
  ['sourcemap', 'link'],
  ['x-sourcemap', 'link'],
  ['if-match', 'if-match'],
  ['etag', 'etag'],
  ['if-none-match', 'if-none-match'],
  ['if-modified-since', 'if-modified-since'],
  ['range', 'range'],
  ['x-http-method-override', 'method-override'],
  ['x-http-method', 'method-override'],
  ['x-method-override', 'method-override'],
  // Asks for a signature, and is not one itself (RFC 9421 §5.1).
  ['accept-signature', 'other'],
  ['if-range', 'if-range'],
  ['via', 'via'],
  ['max-forwards', 'max-forwards'],
  ['origin', 'origin'],
  ['access-control-request-method', 'preflight'],
  ['date', 'date'],
] as const;

const KINDS_OF_OTHERS: ReadonlyMap<string, HeaderKind> = new Map(OTHER_KINDS);

/** Names of other fields that nearly every client sends. */
const COMMON_NAMES = ['accept', 'accept-language', 'user-agent', 'cookie', 'origin'];

/** Names of most fields, in lower case. */
export const USUAL_NAMES: readonly string[] = [...NAMED_KINDS, ...COMMON_NAMES];

/** The kind of a field by its name, in any case. */
export function kindOfName(name: string): HeaderKind {
  return kindsBySpelling.get(name) ?? kindOfLower(name.toLowerCase());
}

/** The kind of a field by its name in lower case. */
function kindOfLower(lower: string): HeaderKind {
  const kind = KINDS_BY_NAME.get(lower) ?? KINDS_OF_OTHERS.get(lower);
  if (kind !== undefined) return kind;
  if (isHopByHop(lower)) return 'hop-by-hop';
  if (isBodyField(lower)) return DIGEST_FIELDS.includes(lower) ? 'digest' : 'body';
  if (isForwarding(lower)) return 'forwarding';
  if (isOtherTrace(lower)) return 'other-trace';
  if (SIGNATURE_NAME.test(lower)) return 'signature';
  if (lower.endsWith('-location')) return 'link';
  return lower.includes('_') ? aliasKind(lower) : 'other';
}

/** Servers that follow CGI read X_API_VERSION as X-API-VERSION, which would bypass every check. */
function aliasKind(lower: string): HeaderKind {
  const plain = lower.replaceAll('_', '-');
  if (isFraming(plain)) return 'alias';
  if (isHopByHop(plain) || isForwarding(plain)) return 'claimed-alias';
  const isRead = KINDS_BY_NAME.has(plain) && plain !== 'expect' && plain !== 'accept-encoding';
  return isRead || KINDS_OF_OTHERS.get(plain) === 'method-override' ? 'alias' : 'other';
}

/** True for the name, in lower case, of a field that determines where a body ends (RFC 9112 §6). */
export function isFraming(lower: string): boolean {
  return lower === 'content-length' || lower === 'transfer-encoding';
}

/** Kinds by the two usual spellings of a name, so that most names need one lookup and no conversion. */
const kindsBySpelling: ReadonlyMap<string, HeaderKind> = new Map(
  USUAL_NAMES.flatMap((lower): [string, HeaderKind][] => [
    [lower, kindOfLower(lower)],
    [lower.replaceAll(/(?<![a-z])[a-z]/g, (letter) => letter.toUpperCase()), kindOfLower(lower)],
  ]),
);

/** Fields that the gateway adds to a message, as a list and as lines in latin1. */
export interface AddedFields {
  readonly fields: HeaderList;
  readonly text: string;
}

/** The versions of the messages that are forwarded. */
type ForwardedVersion = '1.0' | '1.1' | '2' | '3';

/**
 * The fields that a forwarded message gets at this hop: `Via` (RFC 9110 §7.6.3), and `Date` for a response without one (§6.6.1). Their
 * texts are cached, those of `Date` for a second, because each exchange needs several.
 */
export class HopFields {
  private readonly name: string;
  private readonly time: () => number;
  private readonly requests: Readonly<Record<ForwardedVersion, AddedFields>>;
  private readonly dated: AddedFields;
  private readonly datedOf10: AddedFields;
  private undated: AddedFields;
  private second = Number.NaN;
  private dateText = '';

  /** `name` is the pseudonym of the gateway; if it is empty, `Via` is neither added nor read. `time` is in milliseconds since 1970. */
  constructor(name: string, time: () => number) {
    this.name = name.toLowerCase();
    this.time = time;
    const via = (field: string, version: ForwardedVersion): AddedFields =>
      added(name === '' ? [] : [field, `${version} ${name}`]);
    this.requests = {
      '1.0': via('via', '1.0'),
      '1.1': via('via', '1.1'),
      '2': via('via', '2'),
      '3': via('via', '3'),
    };
    this.dated = via('Via', '1.1');
    this.datedOf10 = via('Via', '1.0');
    this.undated = this.dated;
  }

  /** The fields to add to a request that was received over a version of HTTP. */
  ofRequest(version: string): AddedFields {
    return isForwardedVersion(version) ? this.requests[version] : this.requests['1.1'];
  }

  /** The fields to add to a response with or without a date, received over HTTP/1.1 unless `is10`. */
  ofResponse(hasDate: boolean, is10 = false): AddedFields {
    if (is10) return hasDate ? this.datedOf10 : added(['Date', this.date, ...this.datedOf10.fields]);
    if (hasDate) return this.dated;
    // The text changes once a second.
    const before = this.dateText;
    const { date } = this;
    if (date !== before || this.undated === this.dated)
      this.undated = added(['Date', date, ...this.dated.fields]);
    return this.undated;
  }

  /** Adds the fields for a response to `headers`, in place. */
  addTo(headers: string[], is10 = false): void {
    headers.push(...this.ofResponse(headerValue(headers, 'date') !== undefined, is10).fields);
  }

  /** The current time in the format of `Date`. */
  get date(): string {
    const second = Math.floor(this.time() / 1000);
    if (second !== this.second) {
      this.second = second;
      this.dateText = new Date(second * 1000).toUTCString();
    }
    return this.dateText;
  }

  /** True for values of `Via` that name this gateway: the request would loop forever. */
  isLoop(via: string): boolean {
    const { name } = this;
    if (name === '' || !via.toLowerCase().includes(name)) return false;
    return via
      .toLowerCase()
      .split(',')
      .some((element) => receivedBy(element) === name);
  }
}

/** The name in an element of `Via`, between the version and a comment. */
function receivedBy(element: string): string | undefined {
  return element
    .split(/[\t ]/)
    .filter((word) => word !== '')
    .at(1);
}

function added(fields: HeaderList): AddedFields {
  let text = '';
  for (let at = 0; at < fields.length; at += 2) text += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return { fields, text };
}

function isForwardedVersion(version: string): version is ForwardedVersion {
  return version === '1.1' || version === '2' || version === '1.0' || version === '3';
}

/** The largest `Max-Forwards` that is forwarded; a larger value is lowered to it, because no path has so many hops. */
const MAX_FORWARDS = 2 ** 31 - 1;

/**
 * The value of `Max-Forwards` to forward (RFC 9110 §7.6.2): one less; -1 if the message must not be forwarded, undefined if the value is
 * not a number.
 */
export function countedDown(maxForwards: string): number | undefined {
  return /^\d+$/.test(maxForwards) ? Math.min(Number(maxForwards) - 1, MAX_FORWARDS) : undefined;
}
