import { PlainChunkSize } from '../../http/chunk-size.ts';
import { type HeaderKind, hasCloseOption } from '../../http/fields.ts';
import { type HeaderList, readDecimal } from '../../http/header-list.ts';
import { type RawHeaders, findHeadEnd, readFieldLines } from '../../http/raw-headers.ts';
import { ReadResponseHead, readStatusLine, type ResponseHead } from '../../http/response-head.ts';

/** Receives the responses on a connection. */
export interface ResponseEvents {
  information(status: number, headers: HeaderList): void;
  head(head: ResponseHead): void;
  /** With `isLast`, `complete` follows at once. */
  data(chunk: Buffer, isLast: boolean): void;
  /** `keepAliveMs` is how long another request may follow on the connection; 0 if none may. */
  complete(trailers: HeaderList, keepAliveMs: number): void;
}

/** Limits of a response head. */
export interface ResponseLimits {
  readonly headerBytes: number;
  readonly headerCount: number;
}

/** Why bytes are not a response. */
export type ResponseFault =
  | 'head too large'
  | 'too many header fields'
  | 'not HTTP'
  | 'unrequested upgrade'
  | 'invalid framing'
  | 'invalid chunk'
  | 'unsolicited bytes';

type State =
  | 'idle'
  | 'head'
  | 'length'
  | 'chunk-size'
  | 'chunk'
  | 'chunk-end'
  | 'trailers'
  | 'close'
  | 'whole';

const HTTP_1 = Buffer.from('HTTP/1.');
const NO_HEADERS: HeaderList = [];
const nothing = Buffer.alloc(0);
/** RFC 9112 §7.1.1, without the white space around extensions that only lenient readers accept. */
const CHUNK_SIZE =
  /^([0-9A-Fa-f]{1,12})(?:;[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"(?:[\t !\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)*$/;
/**
 * Milliseconds by which a connection closes before the server's announced timeout, since a request takes time to arrive.
 */
const KEEP_ALIVE_MARGIN_MS = 1000;
const TIMEOUT_PARAMETER = /(?:^|[,\t ])timeout=(\d{1,6})(?:$|[,\t ])/i;
/** Maximum bytes of a chunk's size line. */
const CHUNK_LINE_BYTES = 4096;

/**
 * Reads the responses on one connection, one request at a time (RFC 9112), as strictly as the gateway reads requests: either a single
 * numeric length or chunked coding, never both.
 */
export class ResponseReader {
  /** True when the response ends with the connection. */
  get isUntilClose(): boolean {
    return this.state === 'close';
  }

  /** Number of chunks read so far. */
  pieces = 0;
  private readonly limits: ResponseLimits;
  private readonly events: ResponseEvents;
  private state: State = 'idle';
  private isForHead = false;
  private keepAliveMs = 0;
  private readonly plainSize = new PlainChunkSize();
  /** Missing bytes of the body or chunk. */
  private left = 0;
  /** Where the data of the chunks already read is, moved together into one part. */
  private runStart = 0;
  private runEnd = 0;
  private trailerList: HeaderList = NO_HEADERS;
  /** Bytes of interim responses before the response. */
  private interim = 0;
  /** Begins with the `held` bytes of an incomplete head or line; larger, because they may arrive one by one. */
  private room = nothing;
  private held = 0;
  /** Number of held bytes already known not to end a section. */
  private scanned = 0;

  constructor(limits: ResponseLimits, events: ResponseEvents) {
    this.limits = limits;
    this.events = events;
  }

  /** Expects the response to a request with this method. */
  expect(method: string): void {
    this.state = 'head';
    this.isForHead = method === 'HEAD';
    this.interim = 0;
  }

  /**
   * Reads bytes; returns their fault, if any, and then reports nothing more. Parts of a body are views that are valid until this
   * returns; it may write to `chunk`.
   */
  read(chunk: Buffer): ResponseFault | undefined {
    const bytes = this.held === 0 ? chunk : this.joined(chunk);
    this.held = 0;
    let at = 0;
    while (at < bytes.length) {
      const next = this.step(bytes, at);
      if (
        this.runEnd > 0 &&
        (typeof next === 'string' || next < 0 || next === bytes.length || this.state === 'whole')
      )
        this.reportRun(bytes);
      if (typeof next === 'string') return next;
      if (next < 0) {
        this.held = bytes.length - at;
        // A copy, because the caller reuses `chunk`.
        if (bytes === chunk || at > 0) bytes.copy(this.roomFor(this.held), 0, at);
        return undefined;
      }
      at = next;
      if (this.state === 'whole') return this.complete(at === bytes.length);
    }
    return undefined;
  }

  private joined(chunk: Buffer): Buffer {
    const length = this.held + chunk.length;
    const room = this.roomFor(length);
    chunk.copy(room, this.held);
    return room.subarray(0, length);
  }

  private roomFor(length: number): Buffer {
    if (this.room.length < length) {
      const room = Buffer.allocUnsafe(length * 2);
      this.room.copy(room);
      this.room = room;
    }
    return this.room;
  }

  /** Reports the end of a response. Bytes after it must not become the response to the next request. */
  private complete(isLast: boolean): ResponseFault | undefined {
    const trailers = this.trailerList;
    this.state = 'idle';
    this.trailerList = NO_HEADERS;
    this.room = nothing;
    this.events.complete(trailers, isLast ? this.keepAliveMs : 0);
    return isLast || this.keepAliveMs <= 0 ? undefined : 'unsolicited bytes';
  }

  /** Reads one part from `at` on; returns where the next begins, or -1 if it is incomplete. */
  private step(bytes: Buffer, at: number): number | ResponseFault {
    switch (this.state) {
      case 'idle':
      case 'whole':
        // Unsolicited bytes must not be read as the response to the next request.
        return 'unsolicited bytes';
      case 'head':
        return this.head(bytes, at);
      case 'length':
        return this.body(bytes, at);
      case 'chunk':
        return this.chunk(bytes, at);
      case 'close':
        this.events.data(at === 0 ? bytes : bytes.subarray(at), false);
        return bytes.length;
      case 'chunk-size':
        return this.size(bytes, at);
      case 'chunk-end':
        if (bytes.length < at + 2) return -1;
        // A lenient reader that skips other bytes here would lose count (RFC 9112 §7.1).
        if (bytes[at] !== 0x0d || bytes[at + 1] !== 0x0a) return 'invalid chunk';
        this.state = 'chunk-size';
        return at + 2;
      case 'trailers':
        return this.trailers(bytes, at);
    }
  }

  private head(bytes: Buffer, at: number): number | ResponseFault {
    const end = this.sectionEnd(bytes, at);
    if (typeof end === 'string') return end;
    if (end < 0) return isBeginning(bytes, at) ? -1 : 'not HTTP';
    const text = bytes.toString('latin1', at, end + 2);
    const lineEnd = text.indexOf('\r\n');
    const line = readStatusLine(text.slice(0, lineEnd));
    if (line === undefined) return 'not HTTP';
    const lines = this.fields(text, lineEnd + 2, bytes, at);
    if (typeof lines === 'string') return lines;
    const { status } = line;
    // The gateway never asks for an upgrade, after which another protocol would follow (RFC 9110 §7.8).
    if (status === 101) return 'unrequested upgrade';
    const fault = this.frame(status, line.isKept, lines);
    if (fault !== undefined) return fault;
    if (status < 200) {
      // No body, whatever its fields say (RFC 9110 §15.2).
      this.state = 'head';
      // Endless 1xx responses count towards the limit for a head.
      this.interim += end + 4 - at;
      if (this.interim > this.limits.headerBytes) return 'head too large';
      this.events.information(status, lines.fields);
      return end + 4;
    }
    this.events.head(new ReadResponseHead(status, line.reason, lines, !line.isKept));
    return end + 4;
  }

  /** Finds the empty line after a header or trailer section; -1 while it has not arrived. */
  private sectionEnd(bytes: Buffer, at: number): number | ResponseFault {
    const { scanned } = this;
    const end = findHeadEnd(bytes, at + Math.max(0, scanned - 3));
    if ((end < 0 ? bytes.length : end) - at > this.limits.headerBytes) return 'head too large';
    this.scanned = end < 0 ? bytes.length - at : 0;
    // Otherwise the response of a server that ends lines with LF alone would run into the timeout.
    return end < 0 && hasBareLineFeed(bytes, at, at + scanned) ? 'not HTTP' : end;
  }

  /** The fields of a head or of trailers, as written. */
  private fields(text: string, from: number, bytes: Buffer, at: number): RawHeaders | ResponseFault {
    const lines = readFieldLines(text, from, bytes, at);
    if (lines === undefined) return 'not HTTP';
    return lines.kinds.length > this.limits.headerCount ? 'too many header fields' : lines;
  }

  /**
   * Finds the end of the body. The eight cases of RFC 9112 §6.3:
   * 1. a response to HEAD, and 1xx, 204 and 304: none, whatever the fields say;
   * 2. 2xx to CONNECT: never, since the gateway sends no CONNECT;
   * 3. both Transfer-Encoding and Content-Length: the RFC lets a proxy use the former; the gateway refuses both, since responses are smuggled
   *    this way, and V2 is one server that can be mended;
   * 4. Transfer-Encoding: `chunked` alone. Any other coding would have to be decoded, and none can be trusted from HTTP/1.0 (§6.1);
   * 5. an invalid or repeated Content-Length: refused, even if the repetitions agree;
   * 6. a valid Content-Length: that many bytes;
   * 7. concerns requests;
   * 8. neither: until the connection closes.
   * A 205 may have a body here, whatever RFC 9110 §15.3.6 says: a reader that does not expect one would read it as the next response. For
   * HTTP/2 clients, where frames end the response, the gateway drops that body.
   */
  private frame(status: number, isKept: boolean, lines: RawHeaders): ResponseFault | undefined {
    let length: number | undefined;
    let coding: string | undefined;
    this.keepAliveMs = isKept ? Number.POSITIVE_INFINITY : 0;
    for (let index = 0; index < lines.kinds.length; index += 1) {
      const kind = lines.kinds[index];
      if (kind === 'connection') {
        if (hasCloseOption(lines.value(index))) this.keepAliveMs = 0;
      } else if (kind === 'keep-alive') {
        const seconds = TIMEOUT_PARAMETER.exec(lines.value(index))?.[1];
        if (seconds !== undefined)
          this.keepAliveMs = Math.min(this.keepAliveMs, Number(seconds) * 1000 - KEEP_ALIVE_MARGIN_MS);
      } else if (kind === 'content-length') {
        if (length !== undefined) return 'invalid framing';
        length = readDecimal(lines.value(index));
        if (length === undefined) return 'invalid framing';
      } else if (kind === 'transfer-encoding') {
        if (coding !== undefined) return 'invalid framing';
        coding = lines.value(index).toLowerCase();
      }
    }
    // Cases 3 and 4; `isKept` is false for HTTP/1.0.
    if (coding !== undefined && (coding !== 'chunked' || length !== undefined || !isKept))
      return 'invalid framing';
    if (this.isForHead || status === 204 || status === 304) {
      this.state = 'whole';
    } else if (coding !== undefined) {
      this.state = 'chunk-size';
    } else if (length === undefined) {
      this.state = 'close';
      this.keepAliveMs = 0;
    } else {
      this.left = length;
      this.state = this.left === 0 ? 'whole' : 'length';
    }
    return undefined;
  }

  private body(bytes: Buffer, at: number): number {
    const length = Math.min(bytes.length - at, this.left);
    this.left -= length;
    if (this.left === 0) this.state = 'whole';
    this.events.data(length === bytes.length ? bytes : bytes.subarray(at, at + length), this.left === 0);
    return at + length;
  }

  /** Joins all chunks of one read into one part: thousands of one-byte chunks would otherwise be thousands of writes. */
  private chunk(bytes: Buffer, at: number): number {
    const length = Math.min(bytes.length - at, this.left);
    this.left -= length;
    if (this.left === 0) this.state = 'chunk-end';
    if (this.runEnd === 0) {
      this.runStart = at;
      this.runEnd = at + length;
    } else {
      bytes.copyWithin(this.runEnd, at, at + length);
      this.runEnd += length;
    }
    return at + length;
  }

  private reportRun(bytes: Buffer): void {
    const { runStart, runEnd } = this;
    this.runEnd = 0;
    this.events.data(bytes.subarray(runStart, runEnd), this.state === 'whole');
  }

  private size(bytes: Buffer, at: number): number | ResponseFault {
    const { plainSize } = this;
    if (plainSize.read(bytes, at)) return this.sized(plainSize.value, plainSize.next);
    const end = bytes.indexOf('\r\n', at, 'latin1');
    if ((end < 0 ? bytes.length : end) - at > CHUNK_LINE_BYTES) return 'invalid chunk';
    if (end < 0) return bytes.includes(0x0a, at) ? 'invalid chunk' : -1;
    const size = CHUNK_SIZE.exec(bytes.toString('latin1', at, end))?.[1];
    if (size === undefined) return 'invalid chunk';
    return this.sized(Number.parseInt(size, 16), end + 2);
  }

  private sized(bytes: number, next: number): number {
    this.pieces += 1;
    this.left = bytes;
    this.state = bytes === 0 ? 'trailers' : 'chunk';
    return next;
  }

  private trailers(bytes: Buffer, at: number): number | ResponseFault {
    if (bytes.length < at + 2) return -1;
    if (bytes[at] === 0x0d && bytes[at + 1] === 0x0a) {
      this.state = 'whole';
      return at + 2;
    }
    const end = this.sectionEnd(bytes, at);
    if (typeof end === 'string' || end < 0) return end;
    const lines = this.fields(bytes.toString('latin1', at, end + 2), 0, bytes, at);
    if (typeof lines === 'string') return lines;
    if (lines.kinds.some(isFraming)) return 'invalid framing';
    this.trailerList = lines.fields;
    this.state = 'whole';
    return end + 4;
  }
}

/** True for a field in which a downstream reader could find a different end of the body (RFC 9110 §6.5.1). */
function isFraming(kind: HeaderKind): boolean {
  return kind === 'content-length' || kind === 'transfer-encoding';
}

/** False when the bytes so far cannot begin a response, which then fails at once and not by a timeout. */
function isBeginning(bytes: Buffer, at: number): boolean {
  const length = Math.min(bytes.length - at, HTTP_1.length);
  return bytes.compare(HTTP_1, 0, length, at, at + length) === 0;
}

function hasBareLineFeed(bytes: Buffer, at: number, from: number): boolean {
  for (let found = bytes.indexOf(0x0a, from); found >= 0; found = bytes.indexOf(0x0a, found + 1)) {
    if (found === at || bytes[found - 1] !== 0x0d) return true;
  }
  return false;
}
