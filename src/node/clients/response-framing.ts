import { FieldNames, type HeaderList, isNamed, withoutFields } from '../../http/header-list.ts';
import type { HttpVersion } from '../../migrate/decision.ts';

const CONTENT_LENGTH = new FieldNames(['content-length']);
const TRAILER = new FieldNames(['trailer']);

/** How the end of a response body is signalled to the client (RFC 9112 §6.3). */
type Framing = 'length' | 'chunks' | 'close' | 'none';

/** The request that a response belongs to. */
interface FramedRequest {
  readonly method: string;
  readonly version: HttpVersion;
}

/**
 * The framing of one response, for every kind of connection: the fields of its head, and the length of its body. The client would read
 * bytes beyond V2's length as the next response.
 */
export class ResponseFraming {
  readonly kind: Framing;
  /** The head's fields without those that must not be forwarded; the same list if that is all of them. */
  readonly fields: HeaderList;
  /** Missing bytes of a body with a length. */
  private left = 0;

  constructor(request: FramedRequest, status: number, headers: HeaderList) {
    const hasContent = request.method !== 'HEAD' && !isEmpty(status, request.version);
    let length: string | undefined;
    let hasTrailerField = false;
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at];
      if (isNamed(name, 'content-length')) length = headers[at + 1];
      else if (isNamed(name, 'trailer')) hasTrailerField = true;
    }
    this.kind = kindOf(request.version, hasContent, length !== undefined);
    this.left = this.kind === 'length' ? Number(length) : 0;
    // RFC 9110 §8.6: with a length on 204, the client would wait for bytes that never arrive.
    const dropsLength =
      length !== undefined && (status === 204 || (status === 205 && request.version === '2'));
    const dropsTrailer = hasTrailerField && !this.hasTrailers;
    const kept = dropsLength ? withoutFields(headers, CONTENT_LENGTH) : headers;
    this.fields = dropsTrailer ? withoutFields(kept, TRAILER) : kept;
  }

  /**
   * Counts a part of the body; returns whether it is one of many, the last one, or beyond the length, or `none` without a body.
   */
  count(bytes: number): 'part' | 'last' | 'beyond' | 'none' {
    if (this.kind === 'none') return 'none';
    if (this.kind !== 'length') return 'part';
    this.left -= bytes;
    if (this.left > 0) return 'part';
    return this.left === 0 ? 'last' : 'beyond';
  }

  /** Bytes that are missing; infinite without a length. */
  get missing(): number {
    if (this.kind === 'none') return 0;
    return this.kind === 'length' ? this.left : Infinity;
  }

  /** True when the body may end here. */
  get isWhole(): boolean {
    return this.kind !== 'length' || this.left === 0;
  }

  /** True when trailers can follow the body. */
  get hasTrailers(): boolean {
    return this.kind === 'chunks';
  }
}

/** True for a status that a final response can have. HTTP has no class beyond 5 (RFC 9110 §15), but old services use higher statuses. */
export function isFinalStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 200 && status <= 999;
}

/** True for an interim status other than 101, which would end HTTP on the connection. */
export function isInterimStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 100 && status <= 199 && status !== 101;
}

function kindOf(version: FramedRequest['version'], hasContent: boolean, hasLength: boolean): Framing {
  if (!hasContent) return 'none';
  if (version === '2') return hasLength ? 'length' : 'chunks';
  if (hasLength) return 'length';
  return version === '1.1' ? 'chunks' : 'close';
}

/** An HTTP/2 stream ends with the head of a 205: RFC 9110 §15.3.6 allows it no content. */
function isEmpty(status: number, version: FramedRequest['version']): boolean {
  return status === 204 || status === 304 || (status === 205 && version === '2');
}

/** What exchanges on sockets return as `handled`: their response goes to the socket directly. */
export const ALREADY_SENT = new Response(null);
