import { hasCloseOption, hasKeepAliveOption } from '../../../http/fields.ts';
import { type RawHeaders, findHeadEnd, readFieldLines } from '../../../http/raw-headers.ts';
import { isFieldName, isTokenCharacter, readDecimal } from '../../../http/header-list.ts';
import { API_METHODS } from '../../../http/request-head.ts';
import { type Failure, failure } from '../../../migrate/failure.ts';

/** A request of HTTP/1.1 or HTTP/1.0 whose head has arrived. It has no body, one with a length, or a chunked one. */
export interface H1Request {
  /** Any token (RFC 9110 §9.1). */
  readonly method: string;
  /** In origin, absolute or asterisk form; in authority form for CONNECT alone (RFC 9112 §3.2). */
  readonly target: string;
  readonly version: '1.1' | '1.0';
  readonly lines: RawHeaders;
  /** Offset of the body in the bytes. */
  readonly bodyAt: number;
  /** Offset of the request's end; beyond the bytes while part of the body is missing, `Infinity` for a chunked one. */
  readonly end: number;
  /** The client waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1). */
  readonly expectsContinue: boolean;
  /** The connection closes after the response, because the client wants that or the body's end is unknown. */
  readonly isLast: boolean;
  /**
   * True when the client has announced that nothing follows (RFC 9112 §9.6). An HTTP/1.0 client may send a stray CRLF after a body
   * (§2.2).
   */
  readonly hasNoRest: boolean;
}

/** The beginning of a refused request. The end of its body is unknown, so the bytes after it are not read. */
export class RefusedHead {
  readonly failure: Failure;
  /** True for HEAD, whose response has no body (RFC 9110 §9.3.2). */
  readonly isHead: boolean;

  constructor(refused: Failure, isHead: boolean) {
    this.failure = refused;
    this.isHead = isHead;
  }
}

/**
 * Bytes that a head may have beyond its limit, which, like that of Node's parser, does not count the method, the version, and the
 * separators of fields.
 */
export const SPARE_HEAD_BYTES = 1024;

const COMMON_VERSION = ' HTTP/1.1';
const VERSION_LENGTH = 'HTTP/1.1'.length;
/** The version is a name and two digits (RFC 9112 §2.3); it is case-sensitive. */
const VERSION = /^HTTP\/\d\.\d$/;
/** The absolute form: a scheme (RFC 3986 §3.1) and an authority. */
const ABSOLUTE = /^[a-z][a-z\d+.-]*:\/\//i;
/** A list of transfer codings in which chunked is not the last one. */
const CHUNKED_INSIDE = /(?:^|,)[\t ]*chunked[\t ]*,/i;
/** Maximum bytes of a method: the longest registered one has 17, and anything longer is not a request (RFC 9112 §3). */
const METHOD_BYTES = 256;
const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const DELETE = 0x7f;

/** The number of bytes of empty lines at the beginning, which a server skips before a request line (RFC 9112 §2.2). */
export function emptyLinesAt(bytes: Uint8Array): number {
  let at = 0;
  for (;;) {
    // A bare LF may end a line (§2.2), which is harmless for an empty one. A bare CR may not.
    if (bytes[at] === LF) at += 1;
    else if (bytes[at] === CR && bytes[at + 1] === LF) at += 2;
    else return at;
  }
}

/**
 * Reads the request that `bytes` begin with; undefined while its head is incomplete. It refuses violations of RFC 9112 that another
 * server could read as another request; `headerBytes` is the maximum size of a head. `decide` checks the rest of the head, such as a
 * second `Host`, a coding other than chunked, or an expectation.
 */
export function readRequest(bytes: Buffer, headerBytes: number): H1Request | RefusedHead | undefined {
  const headEnd = findHeadEnd(bytes, 0);
  if (headEnd < 0) return readPartial(bytes, headerBytes);
  if (headEnd > headerBytes + SPARE_HEAD_BYTES) return refused(bytes, failure('headers-too-large'));
  const text = bytes.toString('latin1', 0, headEnd + 2);
  const lineEnd = text.indexOf('\r\n');
  const line = readRequestLine(text.slice(0, lineEnd));
  if ('code' in line) return refused(bytes, line);
  const lines = readFieldLines(text, lineEnd + 2, bytes);
  if (lines === undefined) return refused(bytes, failure('bad-request'));
  if (headEnd > headerBytes && isTooLarge(line.target, lines, headerBytes))
    return refused(bytes, failure('headers-too-large'));
  return readFraming(bytes, line, lines, headEnd + 4);
}

interface RequestLine {
  readonly method: string;
  readonly target: string;
  readonly version: '1.1' | '1.0';
}

/** Reads a request line without its CRLF (RFC 9112 §3): three parts with one space between them. */
function readRequestLine(line: string): RequestLine | Failure {
  const methodEnd = line.indexOf(' ');
  const targetEnd = line.length - COMMON_VERSION.length;
  const method = line.slice(0, methodEnd);
  if (!line.endsWith(COMMON_VERSION) || !API_METHODS.includes(method) || methodEnd >= targetEnd)
    return readUncommonLine(line);
  const target = line.slice(methodEnd + 1, targetEnd);
  return isTarget(method, target) ? { method, target, version: '1.1' } : failure('bad-request');
}

/** Reads a request line with another version or method. */
function readUncommonLine(line: string): RequestLine | Failure {
  const methodEnd = line.indexOf(' ');
  const method = line.slice(0, methodEnd);
  // HTTP/2's preface (RFC 9113 §3.4) is not a request: frames follow it.
  if (line === PREFACE) return failure('unsupported-version', HTTP2_IN_CLEAR);
  if (methodEnd < 0 || methodEnd > METHOD_BYTES || !isFieldName(method) || method === 'PRI')
    return failure('bad-request');
  const targetEnd = line.lastIndexOf(' ');
  const target = line.slice(methodEnd + 1, targetEnd === methodEnd ? undefined : targetEnd);
  if (!isTarget(method, target)) return failure('bad-request');
  // HTTP/0.9 has no version in its request line; later versions require one (RFC 9112 §3).
  if (targetEnd === methodEnd) return failure('bad-request');
  const version = line.slice(targetEnd + 1);
  if (version.length !== VERSION_LENGTH || !VERSION.test(version)) return failure('bad-request');
  const digits = version.slice(-3);
  return digits === '1.1' || digits === '1.0'
    ? { method, target, version: digits }
    : failure('unsupported-version');
}

const PREFACE = 'PRI * HTTP/2.0';
const HTTP2_IN_CLEAR =
  'The client began with HTTP/2, which the gateway serves only over TLS, where ALPN agrees on it: use HTTP/1.1 here, or https.';
const SLASH = 0x2f;

/**
 * True for a target in one of the forms of RFC 9112 §3.2, without control characters and spaces; only CONNECT may use the authority form.
 * `decide` checks bytes beyond ASCII.
 */
function isTarget(method: string, target: string): boolean {
  for (let at = 0; at < target.length; at += 1) {
    const code = target.charCodeAt(at);
    if (code <= SPACE || code === DELETE) return false;
  }
  if (target.charCodeAt(0) === SLASH) return true;
  return method === 'CONNECT' ? target !== '' : target === '*' || ABSOLUTE.test(target);
}

/** True when target, names and values exceed the limit; the caller checks only heads whose total size does. */
function isTooLarge(target: string, lines: RawHeaders, headerBytes: number): boolean {
  let counted = target.length;
  for (let index = 0; index < lines.kinds.length; index += 1) counted += lines.bytes(index);
  return counted >= headerBytes;
}

/** Finds the end of a request (RFC 9112 §6.3), and whether its connection persists (§9.3). */
function readFraming(
  bytes: Buffer,
  { method, target, version }: RequestLine,
  lines: RawHeaders,
  bodyAt: number,
): H1Request | RefusedHead {
  let length: number | undefined;
  let isChunked = false;
  let hasCoding = false;
  let isUnknown = false;
  let closes = false;
  let keepsAlive = false;
  let expects = false;
  for (let index = 0; index < lines.kinds.length; index += 1) {
    const use = lines.kinds[index];
    if (use === 'expect') {
      expects = true;
    } else if (use === 'connection') {
      closes ||= hasCloseOption(lines.value(index));
      keepsAlive ||= version === '1.0' && hasKeepAliveOption(lines.value(index));
    } else if (use === 'content-length') {
      // Two lengths, even equal ones, or a list of them: servers may use different ones (§6.3, rule 5).
      if (length !== undefined) return refused(bytes, failure('bad-request'));
      length = readDecimal(lines.value(index));
      if (length === undefined) return refused(bytes, failure('bad-request'));
    } else if (use === 'transfer-encoding') {
      const isPlain = !hasCoding && lines.value(index).toLowerCase() === 'chunked';
      isChunked = isPlain;
      // A coding after chunked leaves the end unknown for some servers only (§6.3, rule 4).
      if (CHUNKED_INSIDE.test(lines.value(index))) return refused(bytes, failure('bad-request'));
      isUnknown ||= !isPlain;
      hasCoding = true;
    }
    // `Proxy-Connection` is not `Connection` (RFC 9112 appendix C.2.2).
  }
  // The length gives one end, the chunks another: request smuggling (§6.1, §11.2).
  if (hasCoding && length !== undefined) return refused(bytes, failure('bad-request'));
  // HTTP/1.0 has no transfer codings (§6.1), and any but chunked leaves the end unknown (§6.3, rule 4): the decision refuses both.
  isUnknown ||= hasCoding && version === '1.0';
  // The bytes after a CONNECT belong to a tunnel (RFC 9110 §9.3.6).
  isUnknown ||= method === 'CONNECT';
  const asksToClose = closes || (version === '1.0' && !keepsAlive);
  const size = isUnknown ? 0 : isChunked ? Number.POSITIVE_INFINITY : (length ?? 0);
  return {
    method,
    target,
    version,
    lines,
    bodyAt,
    end: bodyAt + size,
    // A client of HTTP/1.0 does not wait (RFC 9110 §10.1.1).
    expectsContinue: expects && version === '1.1',
    isLast: isUnknown || asksToClose,
    hasNoRest: asksToClose && !isUnknown && (version === '1.1' || size === 0),
  };
}

/** Checks the beginning of a head; undefined if more bytes are needed. */
function readPartial(bytes: Buffer, headerBytes: number): RefusedHead | undefined {
  const lineEnd = bytes.indexOf(LF);
  if (lineEnd < 0) {
    if (!isPartialLine(bytes)) return refused(bytes, failure('bad-request'));
  } else {
    // Every LF must follow a CR (§2.2). Further bytes cannot fix a bare one, so it is refused at once.
    for (let at = lineEnd; at >= 0; at = bytes.indexOf(LF, at + 1)) {
      if (bytes[at - 1] !== CR) return refused(bytes, failure('bad-request'));
    }
    const line = readRequestLine(bytes.toString('latin1', 0, lineEnd - 1));
    if ('code' in line) return refused(bytes, line);
  }
  return bytes.length > headerBytes + SPARE_HEAD_BYTES
    ? refused(bytes, failure('headers-too-large'))
    : undefined;
}

/** True if a request line may begin like this; anything else, such as a TLS handshake, is refused without waiting for more. */
function isPartialLine(bytes: Buffer): boolean {
  let at = 0;
  while (isTokenCharacter(bytes[at] ?? 0)) at += 1;
  if (at > METHOD_BYTES) return false;
  if (at === bytes.length) return true;
  // Part of an empty line may have arrived.
  if (at === 0) return bytes.length === 1 && bytes[0] === CR;
  if (bytes[at] !== SPACE) return false;
  for (at += 1; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    const isEnd = byte === CR && at === bytes.length - 1;
    if (!isEnd && (byte < SPACE || byte === DELETE)) return false;
  }
  return true;
}

function refused(bytes: Buffer, why: Failure): RefusedHead {
  return new RefusedHead(why, bytes.toString('latin1', 0, HEAD.length) === HEAD);
}

const HEAD = 'HEAD ';

/** The beginning of an incomplete request head. It scans each byte only once. */
export class PartialHead {
  /** When its first byte arrived, by the clock of `performance`. */
  readonly since = performance.now();
  private readonly limit: number;
  private bytes: Buffer;
  private length: number;
  /** True once its request line is complete and checked. */
  private hasLine: boolean;

  /** `limit` is the maximum size of a head in bytes. */
  constructor(first: Buffer, limit: number) {
    this.limit = limit;
    // A copy: the received bytes may be part of a larger buffer.
    this.bytes = Buffer.allocUnsafeSlow(first.length);
    this.bytes.set(first);
    this.length = first.length;
    this.hasLine = first.includes(LF);
  }

  /** Adds bytes; true once the request line or the head is complete, or a bare LF or too many bytes need a refusal. */
  add(chunk: Buffer): boolean {
    const from = this.length;
    this.length += chunk.length;
    if (this.length > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(this.length, this.bytes.length * 2));
      this.bytes.copy(larger, 0, 0, from);
      this.bytes = larger;
    }
    this.bytes.set(chunk, from);
    return this.length > this.limit || this.isCheckable(from);
  }

  /** All bytes received so far. */
  received(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  private isCheckable(from: number): boolean {
    const { bytes, length } = this;
    if (findHeadEnd(bytes.subarray(0, length), Math.max(0, from - 3)) >= 0) return true;
    for (let at = bytes.indexOf(LF, from); at >= 0 && at < length; at = bytes.indexOf(LF, at + 1)) {
      if (at === 0 || bytes[at - 1] !== CR) return true;
      if (this.hasLine) continue;
      this.hasLine = true;
      return true;
    }
    return false;
  }
}
