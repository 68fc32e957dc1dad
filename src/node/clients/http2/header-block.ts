import { isFieldName, readDecimal } from '../../../http/header-list.ts';
import type { FieldReceiver } from './hpack.ts';

/** The maximum size of a header section; the gateway refuses a request with a larger one with 431. */
export interface HeaderBlockLimits {
  /** Bytes of names, values and their separators. */
  readonly headerBytes: number;
  readonly headerCount: number;
}

/** Bytes of the separators in a field line of HTTP/1.1. */
const SEPARATORS_BYTES = 4;
/** Bytes between the parts of a cookie. */
const COOKIE_SEPARATOR_BYTES = 2;
/** Connection-specific fields, which HTTP/2 forbids (RFC 9113 §8.2.2). */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** True for a field that HTTP/2 forbids. */
export function isConnectionField(name: string): boolean {
  return CONNECTION_FIELDS.has(name);
}

/**
 * The header section of a request (RFC 9113 §8.3.1): its pseudo-header fields become method, target and `host`. It joins the parts of a
 * cookie, since HTTP/1.1 has no split ones (§8.2.3). An authority beside a different `host` becomes a second `host`, which `decide`
 * refuses.
 */
export class RequestHeaderBlock implements FieldReceiver {
  method: string | undefined = undefined;
  target: string | undefined = undefined;
  readonly fields: string[] = [];
  /** The body's length, if the client gives it. */
  contentLength: number | undefined = undefined;
  expectsContinue = false;
  /** True for a section that a server must not serve (RFC 9113 §8.1.1). */
  isMalformed = false;
  private readonly limits: HeaderBlockLimits;
  private scheme: string | undefined = undefined;
  private authority: string | undefined = undefined;
  private host: string | undefined = undefined;
  private cookie = -1;
  private bytes = 0;

  constructor(limits: HeaderBlockLimits) {
    this.limits = limits;
  }

  field(name: string, value: string, isValid: boolean): void {
    if (!isValid) this.isMalformed = true;
    else if (name.startsWith(':')) this.pseudoField(name, value);
    else if (!this.isTooLarge) this.ownField(name, value);
  }

  /** Call it when the section is complete; `isWhole` is true if no body follows. */
  finish(isWhole: boolean): void {
    const { authority, fields, method } = this;
    // A CONNECT request has neither scheme nor path; `decide` refuses its method.
    if (method === 'CONNECT') this.target ??= authority;
    else if (this.scheme === undefined) this.isMalformed = true;
    if (method === undefined || !isFieldName(method)) this.isMalformed = true;
    if (this.target === undefined || this.target === '') this.isMalformed = true;
    if (isWhole && (this.contentLength ?? 0) > 0) this.isMalformed = true;
    // `:authority` replaces `Host` (RFC 9113 §8.3.1); if both agree, one is enough.
    if (authority !== undefined && authority !== this.host) fields.push('host', authority);
  }

  /** True once further fields can be dropped, because the request is already refused for its size. */
  private get isTooLarge(): boolean {
    return this.bytes > this.limits.headerBytes || this.fields.length > this.limits.headerCount * 2;
  }

  private pseudoField(name: string, value: string): void {
    // They must come before all other fields, and only once (RFC 9113 §8.3): servers could choose different ones.
    if (this.fields.length > 0) this.isMalformed = true;
    switch (name) {
      case ':method':
        this.isMalformed ||= this.method !== undefined;
        this.method = value;
        return;
      case ':path':
        this.isMalformed ||= this.target !== undefined;
        this.target = value;
        return;
      case ':scheme':
        this.isMalformed ||= this.scheme !== undefined;
        this.scheme = value;
        return;
      case ':authority':
        this.isMalformed ||= this.authority !== undefined;
        this.authority = value;
        return;
      default:
        this.isMalformed = true;
    }
  }

  private ownField(name: string, value: string): void {
    const { fields } = this;
    switch (name) {
      case 'cookie':
        if (this.cookie !== -1) {
          fields[this.cookie] += `; ${value}`;
          this.bytes += value.length + COOKIE_SEPARATOR_BYTES;
          return;
        }
        this.cookie = fields.length + 1;
        break;
      case 'host':
        this.host = value;
        break;
      case 'expect':
        this.expectsContinue = true;
        break;
      case 'content-length':
        this.isMalformed ||= this.contentLength !== undefined;
        this.contentLength = readDecimal(value);
        this.isMalformed ||= this.contentLength === undefined;
        break;
      case 'te':
        // The only value that HTTP/2 allows (RFC 9113 §8.2.2).
        this.isMalformed ||= value.toLowerCase() !== 'trailers';
        break;
      default:
        if (isConnectionField(name)) this.isMalformed = true;
    }
    fields.push(name, value);
    this.bytes += name.length + value.length + SEPARATORS_BYTES;
  }
}

/** Drops the fields of a block that is read only because later blocks depend on it. */
export const noFields: FieldReceiver = { field(): void {} };

/** The trailer section of a request over HTTP/2, from its decoded fields (RFC 9113 §8.1). */
export class TrailerBlock implements FieldReceiver {
  readonly fields: string[] = [];
  isMalformed = false;
  private readonly limits: HeaderBlockLimits;
  private bytes = 0;

  constructor(limits: HeaderBlockLimits) {
    this.limits = limits;
  }

  field(name: string, value: string, isValid: boolean): void {
    if (!isValid || name.startsWith(':') || isConnectionField(name)) this.isMalformed = true;
    this.bytes += name.length + value.length + SEPARATORS_BYTES;
    this.isMalformed ||=
      this.bytes > this.limits.headerBytes || this.fields.length >= this.limits.headerCount * 2;
    if (!this.isMalformed) this.fields.push(name, value);
  }
}
