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

/** Returns the plan for the response to a request; for a HEAD, that of the GET that it stands for (RFC 9110 §9.3.2). */
function representationPlan(
  { method, rest, operation }: RequestFacts,
  rules: CompiledRuleBook,
): ResponsePlan {
  if (method !== 'HEAD') return rules.responsePlan(operation, method);
  return rules.responsePlan(rules.match('GET', rest), 'GET');
}

/** True where rules or a module may change the body of a response: whether or not they find anything this time, its tag depends on them. */
export function isRepresentationRead(request: RequestFacts, rules: CompiledRuleBook): boolean {
  return !representationPlan(request, rules).isEmpty || transformsRepresentation(request, rules);
}

/** True where a module transforms the response to a request, or to the GET that a HEAD stands for. */
function transformsRepresentation(
  { method, rest, operation }: RequestFacts,
  rules: CompiledRuleBook,
): boolean {
  if (rules.ruleBook.modules === undefined) return false;
  return isTransformed(rules.ruleBook, method === 'HEAD' ? rules.match('GET', rest) : operation, 'response');
}

/**
 * Returns the fields of a response without content as those of the GET that it stands for, where that would be rewritten: a response to
 * HEAD (RFC 9110 §9.3.2), or a 304 (§15.4.5). They have no length: only rewriting a body would tell it. `keepsCoding` says whether a
 * rewritten body would get V2's content coding again.
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
  // What cannot be decoded is not rewritten.
  if (!isRewritten || coding === 'unsupported') return headers;
  const fields = fieldsOfAnotherBody(headers);
  return coding === undefined || !keepsCoding(coding)
    ? fields
    : codedResponseFields(fields, coding, undefined);
}

/** The operation of a request; of a HEAD without one of its own, that of the GET that it stands for (RFC 9110 §9.3.2). */
export function askedOperation(
  { method, rest, operation }: RequestFacts,
  rules: Pick<CompiledRuleBook, 'match'>,
  query?: string,
): Operation | undefined {
  return method === 'HEAD' && operation === undefined ? rules.match('GET', rest, query) : operation;
}

/** The status that a V1 client gets for one of V2. */
export function mappedStatus(status: number, request: RequestFacts, rules: CompiledRuleBook): number {
  return askedOperation(request, rules)?.status?.find(({ from }) => from === status)?.to ?? status;
}

/** The head of V2's response with the status that a V1 client gets: the same where that is V2's. */
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

/** Reason why a response that a rule applies to is not rewritten, as logged. */
export type ResponseNote =
  | 'response-too-large'
  | 'response-undecodable'
  /** JSON, as far as its first byte says, under a name that hides it. */
  | 'response-media-type'
  | 'response-buffer-full'
  | 'response-malformed'
  /** An `inverse` applies, and the response has no `data` for it. */
  | 'response-no-resource'
  /** A part that rules look up is missing: V2 does not have it, or did not say in time. */
  | 'lookup-failed'
  /** The same, because the driver does not ask V2. */
  | 'lookup-unasked'
  | 'response-partial';

/** How the body of a response is handled, to whose status a response rule applies. */
type ResponseDecision =
  /** It is collected, decoded and rewritten; one of several texts as it comes, text by text. */
  | {
      readonly action: 'rewrite';
      readonly coding: Coding | undefined;
      readonly texts: TextFormat | undefined;
      /** True where its type says nothing: it is JSON if its first byte says so, and streams on unchanged otherwise. */
      readonly isGuess: boolean;
    }
  /** It is forwarded unchanged; `note` says why, if it could have been rewritten otherwise. */
  | {
      readonly action: 'forward';
      readonly note: Exclude<ResponseNote, 'response-too-large'> | undefined;
      /** True where it may hide JSON, which the note `response-media-type` is for; `note` is for those that cannot look. */
      readonly mayHideJson?: true;
      /** The content coding that hides its first byte. */
      readonly coding?: Coding | undefined;
    }
  /** It is too long to be collected: a list can still be rewritten while it arrives. */
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
  // Its parts may be JSON, which no rule for responses reads.
  if (type === 'other')
    return forward(mediaType !== undefined && PARTS.test(mediaType) ? 'response-media-type' : undefined);
  const length = headerValue(headers, 'content-length');
  const isUnknown = type === 'guess' || type === 'hidden';
  if (isUnknown && (length === '0' || !hasContent(status))) return forward(undefined);
  // JSON in another charset, or of a type that readers take for JSON or not.
  if (type === 'charset' || type === 'ambiguous') return forward('response-undecodable');
  const encoding = headerValues(headers, 'content-encoding');
  const coding = encoding.length === 0 ? undefined : readCoding(encoding.join(','));
  if (coding === 'unsupported') return forward(type === 'hidden' ? undefined : 'response-undecodable');
  if (type === 'hidden') return { action: 'forward', note: undefined, mayHideJson: true, coding };
  // It may be a stream of text, which must not be held back, and a coding hides its first byte.
  if (isUnknown && coding !== undefined && length === undefined)
    return { action: 'forward', note: 'response-media-type', mayHideJson: true, coding };
  const range = headerValue(headers, 'content-range');
  // A 206 without Content-Range is the whole body, because the gateway asks V2 for no bytes of what it rewrites.
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

/** True for a response that is read as JSON, or as several texts of it. */
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
 * Points the addresses in the fields of a response, and the paths of its cookies, to V1's prefix at the gateway where they point to
 * the API of the origin, in place. Query rules are undone, and every other character stays.
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
      // Other fields of such a name may have no address at all: a place on the earth, for example.
      return rewrittenLink(
        value,
        REFERENCES.has(lower) || places.fields?.has(lower) === true ? places : { ...places, base: undefined },
      );
  }
}

/** Fields whose value is a reference, which may be relative to the request. */
const REFERENCES = new FieldNames([
  'location',
  'content-location',
  'operation-location',
  'azure-asyncoperation',
  'sourcemap',
  'x-sourcemap',
]);

/** Seconds, and the address behind them (HTML, "shared declarative refresh steps"). */
const REFRESH = /^([\d. \t]*[;,][ \t]*(?:url[ \t]*=[ \t]*)?["']?)([^"']+)/i;

/** Templates and the values of their parameters (RFC 9652): only the templates are addresses. */
const QUOTED = /(")([^"\\]+)/g;

/** Where a client learns how to get a token (RFC 9728 §5.1). */
const RESOURCE_METADATA = /(\bresource_metadata[ \t]*=[ \t]*"?)([^", \t]+)/gi;

/** True when a response has any of these fields, or of a service's own. */
export function hasLinks(headers: HeaderList, own: FieldNames | undefined): boolean {
  for (let at = 0; at < headers.length; at += 2) if (isLink(headers[at] ?? '', own)) return true;
  return false;
}

function isLink(name: string, own: FieldNames | undefined): boolean {
  return kindOfName(name) === 'link' || own?.has(name) === true;
}

/** A V1 client would never send a cookie back whose path is V2's (RFC 6265 §5.1.4). */
function rewrittenCookie(cookie: string, places: LinkRewriting): string {
  return cookie.replaceAll(
    /(;\s*path\s*=\s*)([^;\s]*)/gi,
    // The root is above V1's prefix as well.
    (_, start: string, path: string) => start + (path === '/' ? path : (rewrittenPath(path, places) ?? path)),
  );
}

/** The outcome of reading the beginning of a request body that the gateway rewrites while it arrives. */
type BegunBody =
  /** The body is refused, and nothing was sent. */
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  /** It ended before anything could be sent: this is all of it. */
  | { readonly outcome: 'whole'; readonly body: Uint8Array }
  /** Its first bytes can be sent, and the rest follows. */
  | { readonly outcome: 'streamed' };

/** Keeps the beginning of a body for people, up to a number of bytes and one more, which shows that it is longer. */
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

/** The body of a request that is rewritten as it arrives. If it must not go on, it breaks off, so that V2 never takes it for complete. */
export class RewrittenBody implements AsyncIterable<Uint8Array> {
  /** Bytes for V2 so far. */
  sentBytes = 0;
  private readonly parts: AsyncIterator<Uint8Array>;
  private readonly stream: BodyStream;
  private readonly onRefused: (refusal: Refusal) => void;
  private first: Uint8Array = NO_BYTES;
  /** True once the client's body has ended. */
  isWhole = false;

  /** `onRefused` is called for a fault behind bytes that were sent. */
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
      // Asking for more may use its memory again.
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
