import { PlainChunkSize } from '../../http/chunk-size.ts';
import { hasCloseOption, isFraming } from '../../http/fields.ts';
import { type HeaderList, readDecimal } from '../../http/header-list.ts';
import {
  findLenientEnd,
  readLenientChunkSize,
  readLenientHead,
  readLenientTrailers,
} from '../../http/lenient-response.ts';
import { type RawHeaders, findHeadEnd, rawHeadersOf, readFieldLines } from '../../http/raw-headers.ts';
import {
  ReadResponseHead,
  readStatusLine,
  type ResponseHead,
  type StatusLine,
} from '../../http/response-head.ts';

/** Receives the responses on a connection. */
export interface ResponseEvents {
  information(status: number, headers: HeaderList): void;
  head(head: ResponseHead): void;
  /** With `isLast`, `complete` follows at once. */
  data(chunk: Buffer, isLast: boolean): void;
  /** `keepAliveMs` is how long another request may follow on the connection; 0 if none may. */
  complete(trailers: HeaderList, keepAliveMs: number): void;
}

/** Limits of a response head, and how strictly it is read. */
export interface ResponseLimits {
  readonly headerBytes: number;
  readonly headerCount: number;
  /** True for a service that is no longer maintained, whose malformed responses are read as nginx and HAProxy do; false by default. */
  readonly isLenient?: boolean;
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

const HTTP = Buffer.from('HTTP/');
const LF = 0x0a;
const CR = 0x0d;
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
 * Reads the responses on one connection, one request at a time (RFC 9112): as strictly as the gateway reads requests and, for a lenient
 * service, otherwise as nginx and HAProxy do. A response that only the lenient readers accept is the last one on its connection: no bytes
 * after it can become the response to another request, and its client gets it with new framing.
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
  /** True once part of the response was only read leniently. */
  private isLenient = false;
  private keepAliveMs = 0;
  private readonly plainSize = new PlainChunkSize();
  /** Missing bytes of the body or chunk. */
  private left = 0;
  /** The position of the data of the chunks read so far, moved together into one part. */
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
    this.isLenient = false;
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
    const keepAliveMs = this.isLenient ? 0 : this.keepAliveMs;
    this.state = 'idle';
    this.trailerList = NO_HEADERS;
    this.room = nothing;
    this.events.complete(trailers, isLast ? keepAliveMs : 0);
    return isLast || keepAliveMs <= 0 ? undefined : 'unsolicited bytes';
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
        return this.chunkEnd(bytes, at);
      case 'trailers':
        return this.trailers(bytes, at);
    }
  }

  private head(bytes: Buffer, at: number): number | ResponseFault {
    const empty = this.lineEnd(bytes, at);
    if (empty !== 0) return empty < 0 ? -1 : this.emptyLine(at + empty);
    const end = this.sectionEnd(bytes, at);
    if (typeof end === 'string') return end;
    if (end < 0) return isBeginning(bytes, at) ? -1 : 'not HTTP';
    const fault = this.readHead(bytes, at, end);
    if (fault !== 'not HTTP' && fault !== 'invalid framing') return fault ?? end;
    return this.readLeniently(bytes, at, fault);
  }

  /** Skips empty lines before a response, such as those after the previous body; they count towards the limit for a head. */
  private emptyLine(next: number): number | ResponseFault {
    if (this.limits.isLenient !== true) return 'not HTTP';
    this.isLenient = true;
    this.interim += 1;
    return this.interim > this.limits.headerBytes ? 'head too large' : next;
  }

  private readHead(bytes: Buffer, at: number, end: number): ResponseFault | undefined {
    const text = bytes.toString('latin1', at, end - 2);
    const lineEnd = text.indexOf('\r\n');
    const line = readStatusLine(text.slice(0, lineEnd));
    if (line === undefined) return 'not HTTP';
    const lines = readFieldLines(text, lineEnd + 2, bytes, at);
    return lines === undefined ? 'not HTTP' : this.take(line, lines, end - at);
  }

  /** Reads a head that `readHead` refuses with `fault`; its end may be earlier. */
  private readLeniently(bytes: Buffer, at: number, fault: ResponseFault): number | ResponseFault {
    if (this.limits.isLenient !== true) return fault;
    const end = findLenientEnd(bytes, at);
    const head = end < 0 ? undefined : readLenientHead(bytes.toString('latin1', at, end));
    if (head === undefined) return fault;
    this.isLenient = true;
    return this.take(head.line, rawHeadersOf(head.fields), end - at) ?? end;
  }

  /** Takes the head of an interim or the final response, of `size` bytes. */
  private take(line: StatusLine, lines: RawHeaders, size: number): ResponseFault | undefined {
    if (lines.kinds.length > this.limits.headerCount) return 'too many header fields';
    const { status } = line;
    // The gateway never asks for an upgrade, after which another protocol would follow (RFC 9110 §7.8).
    if (status === 101) return 'unrequested upgrade';
    const fault = this.frame(status, line.isKept, lines);
    if (fault !== undefined) return fault;
    if (status < 200) {
      // No body, even if its fields name one (RFC 9110 §15.2).
      this.state = 'head';
      // Endless 1xx responses count towards the limit for a head.
      this.interim += size;
      if (this.interim > this.limits.headerBytes) return 'head too large';
      this.events.information(status, lines.fields);
      return undefined;
    }
    this.events.head(new ReadResponseHead(status, line.reason, lines, !line.isKept));
    return undefined;
  }

  /** Finds the first byte after a header or trailer section and its empty line; -1 if it has not arrived. */
  private sectionEnd(bytes: Buffer, at: number): number | ResponseFault {
    const { headerBytes } = this.limits;
    const from = at + Math.max(0, this.scanned - 3);
    const strict = findHeadEnd(bytes, from);
    this.scanned = 0;
    if (strict >= 0 && strict - at <= headerBytes) return strict + 4;
    const lenient = findLenientEnd(bytes, from);
    if (lenient >= 0 && lenient - at <= headerBytes)
      return this.limits.isLenient === true ? lenient : 'not HTTP';
    if (strict >= 0 || bytes.length - at > headerBytes) return 'head too large';
    this.scanned = bytes.length - at;
    return -1;
  }

  /**
   * Finds the end of the body. The eight cases of RFC 9112 §6.3:
   * 1. a response to HEAD, and 1xx, 204 and 304: none, whatever the fields say;
   * 2. 2xx to CONNECT: never, since the gateway sends no CONNECT;
   * 3. both Transfer-Encoding and Content-Length: read leniently, the former wins, and the length is left out;
   * 4. Transfer-Encoding: `chunked` alone. Any other coding would have to be decoded. From HTTP/1.0 it is read leniently (§6.1);
   * 5. a repeated Content-Length: read leniently if the repetitions agree; any other, and an invalid one: refused;
   * 6. a valid Content-Length: that many bytes;
   * 7. concerns requests;
   * 8. neither: until the connection closes.
   * A 205 may have a body here, although RFC 9110 §15.3.6 forbids it: otherwise it would be read as the next response. For
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
    if (coding !== undefined) {
      const isPlain = coding === 'chunked' && length === undefined && (isKept || this.isLenient);
      if (!isPlain) return 'invalid framing';
    }
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
    const end = bytes.indexOf(LF, at);
    if ((end < 0 ? bytes.length : end) - at > CHUNK_LINE_BYTES) return 'invalid chunk';
    if (end < 0) return -1;
    const hasReturn = end > at && bytes[end - 1] === CR;
    const line = bytes.toString('latin1', at, hasReturn ? end - 1 : end);
    const strict = hasReturn ? CHUNK_SIZE.exec(line)?.[1] : undefined;
    if (strict !== undefined) return this.sized(Number.parseInt(strict, 16), end + 1);
    // A bare LF does not end an extension: other parsers treat it as part of the extension, and find another chunk after it.
    const mayRead = this.limits.isLenient === true && (hasReturn || !line.includes(';'));
    const lenient = mayRead ? readLenientChunkSize(line) : undefined;
    if (lenient === undefined) return 'invalid chunk';
    this.isLenient = true;
    return this.sized(lenient, end + 1);
  }

  /** Skips the line end after a chunk. A parser that skips other bytes here loses its position (RFC 9112 §7.1). */
  private chunkEnd(bytes: Buffer, at: number): number | ResponseFault {
    const length = this.lineEnd(bytes, at);
    if (length > 0) this.state = 'chunk-size';
    return length === 0 ? 'invalid chunk' : length < 0 ? -1 : at + length;
  }

  /** Bytes of the line end at `at`; 0 if there is none, -1 if it is incomplete. */
  private lineEnd(bytes: Buffer, at: number): number {
    if (bytes[at] === LF && this.limits.isLenient === true) {
      this.isLenient = true;
      return 1;
    }
    if (bytes[at] !== CR) return 0;
    if (bytes.length < at + 2) return -1;
    return bytes[at + 1] === LF ? 2 : 0;
  }

  private sized(bytes: number, next: number): number {
    this.pieces += 1;
    this.left = bytes;
    this.state = bytes === 0 ? 'trailers' : 'chunk';
    return next;
  }

  private trailers(bytes: Buffer, at: number): number | ResponseFault {
    const empty = this.lineEnd(bytes, at);
    if (empty < 0) return -1;
    if (empty > 0) {
      this.state = 'whole';
      return at + empty;
    }
    const end = this.sectionEnd(bytes, at);
    if (typeof end === 'string' || end < 0) return end;
    const lines = readFieldLines(bytes.toString('latin1', at, end - 2), 0, bytes, at);
    // A downstream parser could find another end of the body in a framing field (RFC 9110 §6.5.1).
    const fault =
      lines === undefined ? 'not HTTP' : lines.kinds.some(isFraming) ? 'invalid framing' : undefined;
    if (lines !== undefined && fault === undefined) return this.takeTrailers(lines.fields, end);
    return this.limits.isLenient === true ? this.lenientTrailers(bytes, at) : (fault ?? 'not HTTP');
  }

  private lenientTrailers(bytes: Buffer, at: number): number | ResponseFault {
    const end = findLenientEnd(bytes, at);
    const fields = readLenientTrailers(bytes.toString('latin1', at, end));
    if (fields === undefined) return 'not HTTP';
    this.isLenient = true;
    return this.takeTrailers(fields, end);
  }

  private takeTrailers(fields: HeaderList, end: number): number | ResponseFault {
    if (fields.length > this.limits.headerCount * 2) return 'too many header fields';
    this.trailerList = fields;
    this.state = 'whole';
    return end;
  }
}

/** False if the bytes so far cannot begin a response, which then fails at once instead of after a timeout. */
function isBeginning(bytes: Buffer, at: number): boolean {
  const length = Math.min(bytes.length - at, HTTP.length);
  return bytes.compare(HTTP, 0, length, at, at + length) === 0;
}
