import { NO_BYTES } from '../json/names.ts';
import { type Coding, isOfTexts, readCoding, readResponseType, type TextFormat } from '../http/content.ts';
import { codedResponseFields, fieldsOfAnotherBody, kindOfName } from '../http/fields.ts';
import {
  FieldNames,
  type HeaderList,
  headerValue,
  headerValues,
  withoutFields,
} from '../http/header-list.ts';
import type { ResponseHead } from '../http/response-head.ts';
import { mapLinkTargets } from '../http/target.ts';
import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';
import type { HeaderPlan } from '../rewrite/header-plan.ts';
import type { ResponsePlan } from '../rewrite/response-plan.ts';
import { type LinkRewriting, type RequestFacts, rewrittenLink, rewrittenPath } from '../rewrite/links.ts';
import { isTransformed, type Operation, type Policies } from '../rules/rule-book.ts';
import { ByteCollector } from '../http/byte-collector.ts';
import type { Refusal } from '../rewrite/records.ts';
import type { BodyStream } from '../rewrite/text-stream.ts';

/** Returns the plan for the response to a request; for a HEAD, the plan of the corresponding GET (RFC 9110 §9.3.2). */
function representationPlan(
  { method, rest, operation }: RequestFacts,
  rules: CompiledRuleBook,
): ResponsePlan {
  if (method !== 'HEAD') return rules.responsePlan(operation, method);
  return rules.responsePlan(rules.match('GET', rest), 'GET');
}

/** True if rules or a module may change the body of a response: its tag then depends on them, even if they change nothing this time. */
export function isRepresentationRead(request: RequestFacts, rules: CompiledRuleBook): boolean {
  return !representationPlan(request, rules).isEmpty || transformsRepresentation(request, rules);
}

/** True if a module transforms the response to a request, or to the GET that corresponds to a HEAD. */
function transformsRepresentation(
  { method, rest, operation }: RequestFacts,
  rules: CompiledRuleBook,
): boolean {
  if (rules.ruleBook.modules === undefined) return false;
  return isTransformed(rules.ruleBook, method === 'HEAD' ? rules.match('GET', rest) : operation, 'response');
}

/**
 * Returns the fields of a response without content like those of the corresponding GET, if its response would be rewritten: for a
 * response to HEAD (RFC 9110 §9.3.2), or a 304 (§15.4.5). They have no length, which would be known only after rewriting a body.
 * `keepsCoding` says whether a rewritten body would get V2's content coding again.
 */
export function contentlessFields(
  request: RequestFacts,
  rules: CompiledRuleBook,
  status: number,
  headers: HeaderList,
  keepsCoding: (coding: Coding) => boolean = () => false,
): HeaderList {
  const { method } = request;
  const isNotModified = status === 304;
  if (method !== 'HEAD' && !(isNotModified && method === 'GET')) return headers;
  const plan = representationPlan(request, rules);
  const isMade = transformsRepresentation(request, rules);
  const isRewritten = isNotModified
    ? isMade || plan.appliesTo(200, false)
    : (isMade || plan.appliesTo(status, false)) && isJson(headers, rules.ruleBook.policies.media);
  const coding = readCoding(headerValues(headers, 'content-encoding').join(','));
  // A body that cannot be decoded is not rewritten.
  if (!isRewritten || coding === 'unsupported') return headers;
  const fields = fieldsOfAnotherBody(headers);
  return coding === undefined || !keepsCoding(coding)
    ? fields
    : codedResponseFields(fields, coding, undefined);
}

/** The operation of a request; for a HEAD without an operation, that of the corresponding GET (RFC 9110 §9.3.2). */
export function askedOperation(
  { method, rest, operation }: RequestFacts,
  rules: Pick<CompiledRuleBook, 'match'>,
  query?: string,
): Operation | undefined {
  return method === 'HEAD' && operation === undefined ? rules.match('GET', rest, query) : operation;
}

/** V1's status for one of V2's. */
export function mappedStatus(status: number, request: RequestFacts, rules: CompiledRuleBook): number {
  return askedOperation(request, rules)?.status?.find(({ from }) => from === status)?.to ?? status;
}

/** The head of V2's response with V1's status; the same head if that is V2's status. */
export function mappedHead(head: ResponseHead, request: RequestFacts, rules: CompiledRuleBook): ResponseHead {
  const status = mappedStatus(head.status, request, rules);
  if (status === head.status) return head;
  const { is10 } = head;
  return { status, reason: undefined, headers: framedFor(status, head), lines: undefined, is10 };
}

/** A status without content has no length, and content that V2 did not send has the length 0 (RFC 9110 §8.6). */
function framedFor(status: number, { status: received, headers }: ResponseHead): HeaderList {
  if (!hasContent(status)) return withoutFields(headers, FIELDS_OF_CONTENT);
  return hasContent(received)
    ? headers
    : [...withoutFields(headers, FIELDS_OF_CONTENT), 'Content-Length', '0'];
}

/** False for a status whose responses have no content (RFC 9110 §15.3.5, §15.3.6 and §15.4.5). */
export function hasContent(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

const FIELDS_OF_CONTENT = new FieldNames([
  'content-encoding',
  'content-length',
  'content-type',
  'transfer-encoding',
  'trailer',
]);

/** Returns the plan for the header fields of a request and its response. */
export function headerPlanOf(request: RequestFacts, rules: CompiledRuleBook): HeaderPlan | undefined {
  return rules.headerPlan(askedOperation(request, rules));
}

/** Reason why a response is not rewritten although a rule applies to it, as logged. */
export type ResponseNote =
  | 'response-too-large'
  | 'response-undecodable'
  /** It is JSON by its first byte, under a media type that does not say so. */
  | 'response-media-type'
  | 'response-buffer-full'
  | 'response-malformed'
  /** An `inverse` applies, but the response has no `data`. */
  | 'response-no-resource'
  /** An object that rules look up is missing: V2 does not have it, or did not respond in time. */
  | 'lookup-failed'
  /** The same, because the driver does not ask V2. */
  | 'lookup-unasked'
  | 'response-partial';

/** How the body of a response is handled, if a response rule applies to its status. */
type ResponseDecision =
  /** It is read, decoded and rewritten; several texts are rewritten one by one while they arrive. */
  | {
      readonly action: 'rewrite';
      readonly coding: Coding | undefined;
      readonly texts: TextFormat | undefined;
      /** True if the media type does not tell: it is JSON if its first byte says so, and is streamed unchanged otherwise. */
      readonly isGuess: boolean;
    }
  /** It is forwarded unchanged; `note` says why, if it could have been rewritten. */
  | {
      readonly action: 'forward';
      readonly note: Exclude<ResponseNote, 'response-too-large'> | undefined;
      /** True if it may be JSON, which the note `response-media-type` reports; `note` is for code that cannot look at the body. */
      readonly mayHideJson?: true;
      /** The content coding that hides its first byte. */
      readonly coding?: Coding | undefined;
    }
  /** It is too long to be read whole: a list can still be rewritten while it arrives. */
  | { readonly action: 'forward'; readonly note: 'response-too-large'; readonly coding: Coding | undefined };

/** Decides from its head how to handle the body of a response; at most `limit` bytes are rewritten. */
export function decideResponse(
  status: number,
  headers: HeaderList,
  limit: number,
  media: Policies['media'],
): ResponseDecision {
  const mediaType = headerValue(headers, 'content-type');
  const type = readResponseType(mediaType, media);
  // Its parts may be JSON, but no rule for responses reads them.
  if (type === 'other')
    return forward(mediaType !== undefined && PARTS.test(mediaType) ? 'response-media-type' : undefined);
  const length = headerValue(headers, 'content-length');
  const isUnknown = type === 'guess' || type === 'hidden';
  if (isUnknown && (length === '0' || !hasContent(status))) return forward(undefined);
  // JSON in another charset, or of a media type that only some parsers treat as JSON.
  if (type === 'charset' || type === 'ambiguous') return forward('response-undecodable');
  const encoding = headerValues(headers, 'content-encoding');
  const coding = encoding.length === 0 ? undefined : readCoding(encoding.join(','));
  if (coding === 'unsupported') return forward(type === 'hidden' ? undefined : 'response-undecodable');
  if (type === 'hidden') return { action: 'forward', note: undefined, mayHideJson: true, coding };
  // It may be a stream of text, which must not be delayed, and a content coding hides its first byte.
  if (isUnknown && coding !== undefined && length === undefined)
    return { action: 'forward', note: 'response-media-type', mayHideJson: true, coding };
  const range = headerValue(headers, 'content-range');
  // A 206 without Content-Range is the whole body, because the gateway requests no ranges of what it rewrites.
  if (range !== undefined && /^bytes[ \t=]/i.test(range))
    return forward(isUnknown ? undefined : 'response-partial');
  const texts = isOfTexts(type) ? type : undefined;
  if (texts === undefined && Number(length) > limit)
    return isUnknown
      ? { action: 'forward', note: undefined, mayHideJson: true, coding }
      : { action: 'forward', note: 'response-too-large', coding };
  return { action: 'rewrite', coding, texts, isGuess: isUnknown };
}

const PARTS = /^multipart\/(?:form-data|mixed|related)[ \t]*(?:;|$)/i;

/** True for a response that is treated as one JSON text or several. */
function isJson(headers: HeaderList, media: Policies['media']): boolean {
  const type = readResponseType(headerValue(headers, 'content-type'), media);
  if (type === 'guess') return Number(headerValue(headers, 'content-length')) > 0;
  return type === 'json' || isOfTexts(type);
}

/** The note for a response that could not be decoded. */
export const NOTE_OF_UNDECODED = {
  'too-large': 'response-too-large',
  undecodable: 'response-undecodable',
  'buffer-full': 'response-buffer-full',
} as const;

function forward(note: Exclude<ResponseNote, 'response-too-large'> | undefined): ResponseDecision {
  return { action: 'forward', note };
}

/**
 * Rewrites the addresses in the fields of a response, and the paths of its cookies, in place: those that lead to the origin's API get
 * V1's prefix at the gateway. Query rules are undone, and every other character stays.
 */
export function rewriteLinks(headers: string[], places: LinkRewriting): void {
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    if (isLink(name, places.fields)) headers[at + 1] = rewrittenField(name, headers[at + 1] ?? '', places);
  }
}

function rewrittenField(name: string, value: string, places: LinkRewriting): string {
  const lower = name.toLowerCase();
  const within = (pattern: RegExp, among = places): string =>
    value.replace(pattern, (_, start: string, uri: string) => start + rewrittenLink(uri, among));
  switch (lower) {
    case 'link':
      return mapLinkTargets(value, (target) => rewrittenLink(target, places));
    case 'set-cookie':
      return rewrittenCookie(value, places);
    case 'refresh':
      return within(REFRESH);
    case 'link-template':
      return within(QUOTED, { ...places, base: undefined });
    case 'www-authenticate':
      return within(RESOURCE_METADATA);
    default:
      // Other fields with such a name may not contain an address: a location on a map, for example.
      return rewrittenLink(
        value,
        REFERENCES.has(lower) || places.fields?.has(lower) === true ? places : { ...places, base: undefined },
      );
  }
}

/** Fields whose value is a reference, possibly relative to the request. */
const REFERENCES = new FieldNames([
  'location',
  'content-location',
  'operation-location',
  'azure-asyncoperation',
  'sourcemap',
  'x-sourcemap',
]);

/** Seconds, and an address after them (HTML, "shared declarative refresh steps"). */
const REFRESH = /^([\d. \t]*[;,][ \t]*(?:url[ \t]*=[ \t]*)?["']?)([^"']+)/i;

/** Templates and the values of their parameters (RFC 9652): only the templates contain addresses. */
const QUOTED = /(")([^"\\]+)/g;

/** The address at which a client learns how to get a token (RFC 9728 §5.1). */
const RESOURCE_METADATA = /(\bresource_metadata[ \t]*=[ \t]*"?)([^", \t]+)/gi;

/** True if a response has any of these fields, or one of the service's own fields with an address. */
export function hasLinks(headers: HeaderList, own: FieldNames | undefined): boolean {
  for (let at = 0; at < headers.length; at += 2) if (isLink(headers[at] ?? '', own)) return true;
  return false;
}

function isLink(name: string, own: FieldNames | undefined): boolean {
  return kindOfName(name) === 'link' || own?.has(name) === true;
}

/** A V1 client would never return a cookie with V2's path (RFC 6265 §5.1.4). */
function rewrittenCookie(cookie: string, places: LinkRewriting): string {
  return cookie.replaceAll(
    /(;\s*path\s*=\s*)([^;\s]*)/gi,
    // The root also covers V1's prefix.
    (_, start: string, path: string) => start + (path === '/' ? path : (rewrittenPath(path, places) ?? path)),
  );
}

/** The outcome of reading the beginning of a request body that is rewritten while it arrives. */
type BegunBody =
  /** The body is refused, and nothing was sent. */
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  /** It ended before any bytes could be sent: this is the whole body. */
  | { readonly outcome: 'whole'; readonly body: Uint8Array }
  /** Its first bytes can be sent; the rest follows. */
  | { readonly outcome: 'streamed' };

/** Keeps the beginning of a body for people: up to a number of bytes, and one more to show that the body is longer. */
export class KeptBody {
  private readonly limit: number;
  private readonly copy = new ByteCollector();

  constructor(limit: number) {
    this.limit = limit;
  }

  add(part: Uint8Array): void {
    const room = this.limit + 1 - this.copy.length;
    if (room > 0 && part.length > 0) this.copy.add(part.subarray(0, room), true);
  }

  take(): Uint8Array {
    return this.copy.take();
  }
}

/**
 * The body of a request that is rewritten while it arrives. If the rest is refused, it breaks off, so that V2 never treats it as
 * complete.
 */
export class RewrittenBody implements AsyncIterable<Uint8Array> {
  /** Bytes for V2 so far. */
  sentBytes = 0;
  private readonly parts: AsyncIterator<Uint8Array>;
  private readonly stream: BodyStream;
  private readonly onRefused: (refusal: Refusal) => void;
  private first: Uint8Array = NO_BYTES;
  /** True once the client's body has ended. */
  isWhole = false;

  /** `onRefused` is called for a fault after some bytes were sent. */
  constructor(parts: AsyncIterable<Uint8Array>, stream: BodyStream, onRefused: (refusal: Refusal) => void) {
    this.parts = parts[Symbol.asyncIterator]();
    this.stream = stream;
    this.onRefused = onRefused;
  }

  /** Reads the body until some of it can be sent. Rejects where the client's body breaks. */
  async begin(): Promise<BegunBody> {
    for (;;) {
      const { bytes, refusal, isLast } = await this.next();
      if (refusal !== undefined) return { outcome: 'refused', refusal };
      if (isLast) return { outcome: 'whole', body: bytes };
      if (bytes.length === 0) continue;
      // Requesting the next part may reuse its memory.
      this.first = new Uint8Array(bytes);
      return { outcome: 'streamed' };
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    const { first } = this;
    this.first = NO_BYTES;
    this.sentBytes += first.length;
    if (first.length > 0) yield first;
    while (!this.isWhole) {
      const { bytes, refusal } = await this.next();
      if (refusal !== undefined) {
        this.onRefused(refusal);
        throw new Error(refusal.code);
      }
      this.sentBytes += bytes.length;
      if (bytes.length > 0) yield bytes;
    }
  }

  private async next(): Promise<{ bytes: Uint8Array; refusal?: Refusal | undefined; isLast: boolean }> {
    const { done, value } = await this.parts.next();
    this.isWhole = done === true;
    if (done === true) return { ...this.stream.end(), isLast: true };
    return { ...this.stream.push(value), isLast: false };
  }
}
