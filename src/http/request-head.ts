import type { RawHeaders } from './raw-headers.ts';
import {
  type HeaderKind,
  HOP_BY_HOP_KINDS,
  isFraming,
  namesOthers,
  nominated,
  kindOfName,
} from './fields.ts';
import { type HeaderList, headerValue, isFieldValue, readDecimal, withoutFields } from './header-list.ts';

/** The fields of a request to forward. */
export interface ForwardedFields {
  readonly forwardedHeaders: HeaderList;
  /** The lines of these fields, in latin1; undefined unless they were received as lines that can be forwarded unchanged. */
  readonly forwardedLines: string | undefined;
}

/** Which lines of a head are kept, and what is added after them. */
export interface LineChanges {
  readonly isKept: (kind: HeaderKind) => boolean;
  /** True if a field is repeated of which only the first line is forwarded. */
  readonly hasRepetition: () => boolean;
  /** The field for the release, and its value; undefined if none is set. */
  readonly versionHeader: string;
  readonly version: string | undefined;
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
  /** True if rules made the body, which is JSON. */
  readonly isBodyMade: boolean;
}

/** The fields of a request's header section that the gateway uses, read in one pass. */
export type RequestHead = Readonly<Omit<HeadReader, 'read'>>;

/** Why a header section is refused, with the response status. */
interface HeadFault {
  readonly status: 400 | 431 | 501;
  readonly detail: string;
}

/** Limits of a header section. */
export interface HeadLimits {
  /** Maximum number of fields. */
  readonly count: number;
  /** Maximum bytes of names, values and their separators. */
  readonly bytes: number;
}

/**
 * Reads a header section, and refuses anything that two parsers could read differently. `targetBytes` count against the limit of bytes:
 * in HTTP/1.1 the limit includes the target.
 */
export function readHead(
  headers: HeaderList,
  limits: HeadLimits,
  trusted: boolean,
  targetBytes = 0,
): RequestHead {
  const head = new HeadOfList(headers, trusted);
  head.read(limits, targetBytes);
  return head;
}

/** Fields that are not forwarded. */
const NOT_FORWARDED: ReadonlySet<HeaderKind> = new Set<HeaderKind>([
  ...HOP_BY_HOP_KINDS,
  'host',
  'content-length',
  'expect',
  // Only CGI servers read it, as a field that is not forwarded.
  'claimed-alias',
]);

/** The reader of a header section, independent of its form. */
abstract class HeadReader implements ForwardedFields {
  fault: HeadFault | undefined = undefined;
  host: string | undefined = undefined;
  authorization: string | undefined = undefined;
  contentType: string | undefined = undefined;
  /** All values of `Content-Encoding`, joined with commas. */
  contentEncoding: string | undefined = undefined;
  /** Length of the body in bytes; undefined without `Content-Length`. */
  contentLength: number | undefined = undefined;
  chunked = false;
  apiVersion: string | undefined = undefined;
  /** True if `x-api-version` occurs with two values, so that servers could read different releases. */
  repeatsVersion = false;
  /** True if `Authorization`, `Content-Type` or `x-api-version` is repeated, and only the first counts. */
  repeatsFields = false;
  requestId: string | undefined = undefined;
  /** All values of `traceparent`, joined with commas: more than one is invalid. */
  traceparent: string | undefined = undefined;
  /** True if the request continues a trace with a field other than `traceparent`, such as `b3`. */
  hasOtherTrace = false;
  upgrade: string | undefined = undefined;
  expect: string | undefined = undefined;
  /** All values of `Accept-Encoding`, joined with commas. */
  acceptEncoding: string | undefined = undefined;
  /** All values of `If-Match`, joined with commas. */
  ifMatch: string | undefined = undefined;
  /** All values of `If-None-Match`, joined with commas. */
  ifNoneMatch: string | undefined = undefined;
  /** All values of `X-HTTP-Method-Override` and its variants, joined with commas. */
  methodOverride: string | undefined = undefined;
  private hasSignature = false;
  /** All values of `Range`, joined with commas. */
  range: string | undefined = undefined;
  /** All values of `Via`, joined with commas. */
  via: string | undefined = undefined;
  /** All values of `Max-Forwards`, joined with commas: more than one is invalid. */
  maxForwards: string | undefined = undefined;
  /** The value of `Origin`: a page of another origin sent the request. */
  origin: string | undefined = undefined;
  /** The method that a preflight asks for. */
  preflightMethod: string | undefined = undefined;
  /** True for a request that names trailers in `Trailer`. */
  namesTrailers = false;
  /** True for a request with a digest of its body that can be checked. */
  hasDigest = false;
  private readonly trusted: boolean;
  private length: string | undefined = undefined;
  private coding: string | undefined = undefined;
  protected connection: string[] | undefined = undefined;
  private forwarded: HeaderList | undefined = undefined;

  constructor(trusted: boolean) {
    this.trusted = trusted;
  }

  /** Number of fields. */
  protected abstract get count(): number;

  /** Reads this many fields; returns the bytes of their names and values. */
  protected abstract readFields(count: number): number;

  /** The fields to forward, including those that `Connection` lists. */
  protected abstract forwardedFields(): HeaderList;

  /**
   * The fields to forward, in order and spelling as received: without hop-by-hop fields, those that `Connection` lists, `Host`, `Expect`
   * and the framing, and without `Forwarded` and similar fields unless the peer is trusted. `Trailer` is included if the body has no
   * length, because trailers are then forwarded.
   */
  get forwardedHeaders(): HeaderList {
    if (this.forwarded === undefined) {
      const fields = this.forwardedFields();
      this.forwarded =
        this.connection === undefined ? fields : withoutFields(fields, nominated(this.connection));
    }
    return this.forwarded;
  }

  /** True for a request that its client has signed, in a field for signatures or in `Authorization`. */
  get isSigned(): boolean {
    return this.hasSignature || (this.authorization !== undefined && isSignature(this.authorization));
  }

  get forwardedLines(): string | undefined {
    return this.changedLines();
  }

  /** The changed lines of these fields; undefined if the fields were not received as lines, or only together with others. */
  changedLines(_changes?: LineChanges): string | undefined {
    return undefined;
  }

  read(limits: HeadLimits, targetBytes: number): void {
    const { count } = this;
    if (count > limits.count)
      this.fault = { status: 431, detail: `The request has more than ${limits.count} header fields.` };
    const read = Math.min(count, limits.count);
    if (targetBytes + this.readFields(read) + read * PUNCTUATION > limits.bytes) {
      this.fault ??= {
        status: 431,
        detail: `The request's header section is larger than ${limits.bytes} bytes.`,
      };
    }
    this.readFraming();
  }

  /** True for a field that is forwarded, unless `Connection` lists it. Call it only after all fields are read. */
  protected isForwarded(kind: HeaderKind): boolean {
    if (kind === 'other') return true;
    if (kind === 'forwarding') return this.trusted;
    if (kind === 'trailer') return this.length === undefined;
    return !NOT_FORWARDED.has(kind);
  }

  /** Takes the value of a field that the gateway uses. */
  protected take(kind: HeaderKind, value: string): void {
    if (kind === 'host') this.host = this.only(kind, this.host, value);
    else if (kind === 'authorization') this.authorization = this.equal(kind, this.authorization, value);
    else if (kind === 'content-type') this.contentType = this.first(this.contentType, value);
    else if (kind === 'content-length') this.length = this.only(kind, this.length, value);
    else if (kind === 'transfer-encoding') this.coding = this.only(kind, this.coding, value);
    else if (kind === 'x-api-version') this.takeVersion(value);
    else if (kind === 'x-request-id') this.requestId ??= value;
    else if (kind === 'traceparent') this.traceparent = joined(this.traceparent, value, ',');
    else if (kind === 'content-encoding') this.contentEncoding = joined(this.contentEncoding, value, ',');
    else if (kind === 'upgrade') this.upgrade = joined(this.upgrade, value, ', ');
    else if (kind === 'expect') this.expect = joined(this.expect, value, ', ');
    else if (kind === 'accept-encoding') this.acceptEncoding = joined(this.acceptEncoding, value, ', ');
    else if (kind === 'if-match') this.ifMatch = joined(this.ifMatch, value, ', ');
    else if (kind === 'if-none-match') this.ifNoneMatch = joined(this.ifNoneMatch, value, ', ');
    else if (kind === 'method-override') this.methodOverride = joined(this.methodOverride, value, ',');
    else if (kind === 'signature') this.hasSignature = true;
    else if (kind === 'range') this.range = joined(this.range, value, ', ');
    else if (kind === 'via') this.via = joined(this.via, value, ',');
    else if (kind === 'max-forwards') this.maxForwards = joined(this.maxForwards, value, ',');
    else if (kind === 'origin') this.origin = joined(this.origin, value, ',');
    else if (kind === 'preflight') this.preflightMethod = joined(this.preflightMethod, value, ',');
    else if (kind === 'trailer') this.namesTrailers = true;
    else if (kind === 'digest') this.hasDigest = true;
    else if (kind === 'other-trace') this.hasOtherTrace = true;
    else if (kind === 'connection' && namesOthers(value)) (this.connection ??= []).push(value);
  }

  protected fieldsToForward(kinds: readonly HeaderKind[], fields: HeaderList): HeaderList {
    const kept: string[] = [];
    for (let index = 0; index < kinds.length; index += 1) {
      if (this.isForwarded(kinds[index] ?? 'other'))
        kept.push(fields[index * 2] ?? '', fields[index * 2 + 1] ?? '');
    }
    return kept;
  }

  protected refuse(detail: string): void {
    this.fault ??= { status: 400, detail };
  }

  /** A second name of a framing field could smuggle another request; second names of other fields are left to the service. */
  protected takeAlias(name: string): void {
    const lower = name.toLowerCase();
    const plain = lower.replaceAll('_', '-');
    if (isFraming(plain)) this.refuse(`The header ${lower} can be read as ${plain}.`);
  }

  private takeVersion(value: string): void {
    this.repeatsVersion ||= this.apiVersion !== undefined && this.apiVersion !== value;
    this.apiVersion = this.first(this.apiVersion, value);
  }

  /** With two lines of such a field, parsers could read different requests. */
  private only(name: string, before: string | undefined, value: string): string {
    if (before !== undefined) this.refuse(`The header ${name} occurs twice.`);
    return value;
  }

  /** Two lines with the same value are unambiguous; some clients send such a field twice. */
  private equal(name: string, before: string | undefined, value: string): string {
    this.repeatsFields ||= before !== undefined;
    return before === value ? value : this.only(name, before, value);
  }

  /** Servers such as Node, Go and the servlet API use the first line of a field that concerns neither routing nor framing. */
  private first(before: string | undefined, value: string): string {
    this.repeatsFields ||= before !== undefined;
    return before ?? value;
  }

  private readFraming(): void {
    if (this.length !== undefined) {
      this.contentLength = readDecimal(this.length);
      if (this.contentLength === undefined) this.refuse('Content-Length is not a number of bytes.');
    }
    if (this.coding === undefined) return;
    if (this.length !== undefined) this.refuse('The request has both Transfer-Encoding and Content-Length.');
    if (this.coding.toLowerCase() === 'chunked') {
      this.chunked = true;
      return;
    }
    this.fault ??= /^[a-z][\w-]*(?:[ \t]*,[ \t]*[a-z][\w-]*)*$/i.test(this.coding)
      ? { status: 501, detail: 'The only supported transfer coding is chunked.' }
      : { status: 400, detail: 'Transfer-Encoding is malformed.' };
  }
}

class HeadOfList extends HeadReader {
  private readonly headers: HeaderList;
  /** Kind of each field. */
  private readonly kinds: HeaderKind[] = [];

  constructor(headers: HeaderList, trusted: boolean) {
    super(trusted);
    this.headers = headers;
  }

  protected get count(): number {
    return this.headers.length / 2;
  }

  protected readFields(count: number): number {
    const { headers, kinds } = this;
    let bytes = 0;
    for (let at = 0; at < count * 2; at += 2) {
      const name = headers[at] ?? '';
      const value = headers[at + 1] ?? '';
      const kind = kindOfName(name);
      bytes += name.length + value.length;
      if (!isFieldValue(value))
        this.refuse(`The value of ${name.toLowerCase()} contains a control character.`);
      if (kind === 'alias') this.takeAlias(name);
      else if (kind !== 'other') this.take(kind, value);
      kinds.push(kind);
    }
    return bytes;
  }

  protected forwardedFields(): HeaderList {
    return this.fieldsToForward(this.kinds, this.headers);
  }
}

/** True for credentials that are computed from the request: AWS, the draft before RFC 9421, OAuth 1.0 (RFC 5849), Hawk, and HMACs. */
function isSignature(authorization: string): boolean {
  return SIGNING_SCHEME.test(authorization);
}

const SIGNING_SCHEME =
  /^(?:AWS4-|(?:AWS|Signature|Hawk|MAC|HMAC[\w-]*|SharedKey(?:Lite)?) |OAuth .*oauth_signature=)/i;

/** Bytes that separate a name, a value and the next field. */
const PUNCTUATION = 4;

function joined(before: string | undefined, value: string, separator: string): string {
  return before === undefined ? value : `${before}${separator}${value}`;
}

/** Reads a header section like `readHead`, from lines: creates strings only for the fields that the gateway uses. */
export function readHeadLines(
  lines: RawHeaders,
  limits: HeadLimits,
  trusted: boolean,
  targetBytes: number,
): RequestHead {
  const head = new HeadOfLines(lines, trusted);
  head.read(limits, targetBytes);
  return head;
}

class HeadOfLines extends HeadReader {
  private readonly lines: RawHeaders;

  constructor(lines: RawHeaders, trusted: boolean) {
    super(trusted);
    this.lines = lines;
  }

  protected get count(): number {
    return this.lines.kinds.length;
  }

  protected readFields(count: number): number {
    const { lines } = this;
    let bytes = 0;
    for (let index = 0; index < count; index += 1) {
      const kind = lines.kinds[index] ?? 'other';
      bytes += lines.bytes(index);
      if (kind === 'alias') this.takeAlias(lines.name(index));
      else if (kind !== 'other') this.take(kind, lines.value(index));
    }
    return bytes;
  }

  protected forwardedFields(): HeaderList {
    return this.fieldsToForward(this.lines.kinds, this.lines.fields);
  }

  override changedLines(changes?: LineChanges): string | undefined {
    if (this.connection !== undefined) return undefined;
    if (changes === undefined) return this.lines.filter((kind) => this.isForwarded(kind));
    const { version, versionHeader, requestId, traceparent, isBodyMade } = changes;
    // A replaced field keeps its place.
    if (changes.hasRepetition()) return undefined;
    if (version !== undefined && this.hasVersion(versionHeader)) return undefined;
    if (requestId !== undefined && this.requestId !== undefined) return undefined;
    if (traceparent !== undefined && this.traceparent !== undefined) return undefined;
    const kept = this.lines.filter((kind) => this.isForwarded(kind) && changes.isKept(kind));
    if (kept === undefined) return undefined;
    return `${kept}${line('content-type', isBodyMade ? 'application/json' : undefined)}${line(versionHeader, version)}${line('x-request-id', requestId)}${line('traceparent', traceparent)}`;
  }

  private hasVersion(versionHeader: string): boolean {
    if (versionHeader === 'x-api-version') return this.apiVersion !== undefined;
    return headerValue(this.forwardedHeaders, versionHeader) !== undefined;
  }
}

function line(name: string, value: string | undefined): string {
  return value === undefined ? '' : `${name}: ${value}\r\n`;
}

/** Methods of requests to an API. */
export const API_METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const KNOWN_METHODS: ReadonlySet<string> = /* @__PURE__ */ new Set(
  /* @__PURE__ */ API_METHODS.concat(['CONNECT', 'TRACE']),
);

/** True for a method that reads a resource and changes nothing (RFC 9110 §9.3.1 and §9.3.2). */
export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** True for a method whose requests are expected to have content (RFC 9110 §8.6, RFC 5789 for PATCH). */
export function expectsContent(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}

/** The method as a label: one that RFC 9110 and RFC 5789 do not define becomes `_OTHER`, as OpenTelemetry requires. */
export function methodLabel(method: string): string {
  return KNOWN_METHODS.has(method) ? method : '_OTHER';
}

/** The latest valid value: nearly all requests have the same one. */
let lastValid: string | undefined;

/** True for a `Host` value that is a name or an address with an optional port (RFC 3986 §3.2.2), and nothing else. */
export function isHost(value: string): boolean {
  if (value === lastValid) return true;
  if (!/^(?:[\w.~!$&'()*+,=%-]+|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i.test(value)) return false;
  const port = /:(\d+)$/.exec(value.slice(value.indexOf(']') + 1));
  if (port !== null && Number(port[1]) >= 65_536) return false;
  lastValid = value;
  return true;
}

/** The form of a host for comparisons: in lower case, and without the default port of HTTP or HTTPS. */
export function bareHost(host: string): string {
  return host.toLowerCase().replace(/:(?:80|443)?$/, '');
}
