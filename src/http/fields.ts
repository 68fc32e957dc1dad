import { isForwarding, isOtherTrace } from './forwarding.ts';
import {
  FieldNames,
  type HeaderList,
  headerValues,
  isNamed,
  withoutFields,
  headerValue,
} from './header-list.ts';

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

/** True for a value of `Connection` by which a client of HTTP/1.0 asks for a connection that is kept (RFC 9112 appendix C.2.2). */
export function hasKeepAliveOption(connection: string): boolean {
  return KEEP_ALIVE_OPTION.test(connection);
}

/** Digests of a body that can be checked: RFC 1864, RFC 3230 and RFC 9530. */
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

/** Digests of the body that clients send in fields of their own: X-Content-SHA256, x-amz-checksum-crc32, X-Body-Hash. */
const DIGEST_NAME =
  /^x-(?:[a-z]+-)*(?:(?:content|body|payload)-(?:sha-?\d+|md5|crc\d+|hash|digest)$|checksum)/i;

/** True for the name, in any case, of a field that describes one body. */
function isBodyField(name: string): boolean {
  return BODY_NAMES.has(name) || DIGEST_NAME.test(name);
}

const BODY_FIELDS = { has: isBodyField };

/** A name with a word for a signature: X-Hub-Signature-256, Stripe-Signature, X-Shopify-Hmac-Sha256. */
const SIGNATURE_NAME = /(?:^|[-_])(?:signature|hmac|sig)(?:[-_]|$)/;

/**
 * Returns the fields of a rewritten response once its body has a content coding, in which it has `length` bytes; without one where
 * nobody has made the body.
 */
export function codedResponseFields(
  headers: HeaderList,
  coding: string,
  length: number | undefined,
): string[] {
  const coded = [...withoutFields(headers, CONTENT_LENGTH), 'Content-Encoding', coding];
  if (length !== undefined) coded.push('Content-Length', String(length));
  // Who caches it has to know what the coding was chosen by (RFC 9110 §12.5.5).
  return isVariedBy(headers, 'accept-encoding') ? coded : [...coded, 'Vary', 'Accept-Encoding'];
}

/** True for a response that caches already keep apart by a request field, whose name is in lower case. */
export function isVariedBy(headers: HeaderList, field: string): boolean {
  const vary = headerValues(headers, 'vary').join(',').toLowerCase().split(',');
  return vary.some((name) => name.trim() === field || name.trim() === '*');
}

/** Returns the fields of a response whose body was rewritten to `length` bytes. */
export function rewrittenResponseFields(headers: HeaderList, length: number): string[] {
  return [...fieldsOfAnotherBody(headers), 'Content-Length', String(length)];
}

/**
 * Returns the fields of a response that stands for another body than V2's. A strong entity tag becomes a weak one: two bodies must not
 * share a strong tag (RFC 9110 §8.8.1), and a conditional GET works with either.
 */
export function fieldsOfAnotherBody(headers: HeaderList): string[] {
  const kept = withoutFields(headers, BODY_FIELDS);
  for (let at = 0; at < kept.length; at += 2) {
    const value = kept[at + 1] ?? '';
    if (isNamed(kept[at], 'etag') && value.startsWith('"')) kept[at + 1] = `W/${value}`;
  }
  return kept;
}

/**
 * Marks entity tags with the rules that their representation depends on: after a change of rules, and beside those of V1 itself, none of
 * them matches.
 */
export function markTags(headers: string[], rules: string): void {
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] ?? '';
    if (isNamed(headers[at], 'etag') && /^(?:W\/)?"[^"]*"$/.test(value))
      headers[at + 1] = `${value.slice(0, -1)}${markOf(rules)}"`;
  }
}

/** V2's own tags of those that a client names in `If-None-Match`; undefined where none is of a representation by these rules. */
export function tagsOfRules(tags: string, rules: string): string | undefined {
  if (tags.trim() === '*') return tags;
  const mark = markOf(rules);
  const own = [...tags.matchAll(ENTITY_TAG)].flatMap(([, weak = '', tag = '']) =>
    tag.endsWith(mark) ? [`${weak}"${tag.slice(0, -mark.length)}"`] : [],
  );
  return own.length === 0 ? undefined : own.join(', ');
}

/**
 * V2's own tags of those that a client names in `If-Match`, by whatever rules it read them: what it guards is the state of the resource,
 * which rules do not change. They are strong, since a weak one never matches (RFC 9110 §13.1.1), and the gateway weakens V2's.
 */
export function tagsOfState(tags: string): string {
  return tags.replaceAll(ENTITY_TAG, (_, _weak, tag: string) => `"${tag.replace(MARK, '')}"`);
}

/** An entity tag as V2 made it, whatever rules it names. */
export function unmarkedTag(tag: string): string {
  return tag.replace(/;rules=[\w-]{8}"$/, '"');
}

const ENTITY_TAG = /(W\/)?"([^"]*)"/g;
const MARK = /;rules=[\w-]{8}$/;

function markOf(rules: string): string {
  return `;rules=${rules.slice(0, 8)}`;
}

/**
 * What a field is to the gateway: the name of one that it reads or sets, or a kind. `hop-by-hop` and `body` are those that have no name
 * of their own here, `forwarding` claim where a request came from, a `range` asks for a part, a `link` has an address or the path of
 * a cookie, a `method-override` names another method than the request line, a `preflight` the one that a browser would use, a `digest`
 * describes a body by a hash that can be checked, a `signature` is about what its sender sent, an `other-trace` continues a trace in
 * another form than W3C's, an `alias` may be read as another field, and a `claimed-alias` as one that ends at the gateway.
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

/** The kinds of hop-by-hop fields. */
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
  // Asks for a signature, and is none (RFC 9421 §5.1).
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

/** Names in lower case that most fields have. */
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

/** True for the name, in lower case, of a field that says where a body ends (RFC 9112 §6). */
export function isFraming(lower: string): boolean {
  return lower === 'content-length' || lower === 'transfer-encoding';
}

/** Kinds by the two spellings that nearly all clients send, so that most names take one lookup and no conversion. */
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
 * The fields by which a forwarded message tells of its hop: `Via` (RFC 9110 §7.6.3), and `Date` for a response that has none (§6.6.1).
 * Their texts are made once, or once a second: there are several for each exchange.
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

  /** `name` is the pseudonym of the gateway; where it is empty, `Via` is neither added nor read. `time` is in milliseconds since 1970. */
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

  /** The fields of a request that came over a version of HTTP. */
  ofRequest(version: string): AddedFields {
    return isForwardedVersion(version) ? this.requests[version] : this.requests['1.1'];
  }

  /** The fields of a response that came with a date, or without one, over HTTP/1.1 unless `is10`. */
  ofResponse(hasDate: boolean, is10 = false): AddedFields {
    if (is10) return hasDate ? this.datedOf10 : added(['Date', this.date, ...this.datedOf10.fields]);
    if (hasDate) return this.dated;
    // A new text stands for a new second.
    const before = this.dateText;
    const { date } = this;
    if (date !== before || this.undated === this.dated)
      this.undated = added(['Date', date, ...this.dated.fields]);
    return this.undated;
  }

  /** Adds the fields of a response to its own, in place. */
  addTo(headers: string[], is10 = false): void {
    headers.push(...this.ofResponse(headerValue(headers, 'date') !== undefined, is10).fields);
  }

  /** The time as `Date` has it. */
  get date(): string {
    const second = Math.floor(this.time() / 1000);
    if (second !== this.second) {
      this.second = second;
      this.dateText = new Date(second * 1000).toUTCString();
    }
    return this.dateText;
  }

  /** True for the values of `Via` of a request that has been here before: it would go round for ever. */
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

/** The largest `Max-Forwards` that is sent on: a larger one is lowered to it, as no path has so many hops. */
const MAX_FORWARDS = 2 ** 31 - 1;

/**
 * The value of `Max-Forwards` to send on (RFC 9110 §7.6.2): one less; -1 where the message must not be forwarded, and undefined where
 * the value is not a number.
 */
export function countedDown(maxForwards: string): number | undefined {
  return /^\d+$/.test(maxForwards) ? Math.min(Number(maxForwards) - 1, MAX_FORWARDS) : undefined;
}
