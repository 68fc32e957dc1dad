import type { Socket } from 'node:net';
import { hexValue, PlainChunkSize } from '../../../http/chunk-size.ts';
import { readFieldLines } from '../../../http/raw-headers.ts';
import { type HeaderList, isTokenCharacter, isValueCharacter } from '../../../http/header-list.ts';
import { SocketBody } from '../request-body.ts';

const LF = 0x0a;
const CR = 0x0d;

/**
 * The part that comes next (RFC 9112 §7.1): `chunk-size [chunk-ext] CRLF`, as many bytes, CRLF, and so on; an empty chunk ends the data,
 * then trailers and an empty line end the body.
 */
type State = 'size' | 'line' | 'data' | 'data-cr' | 'data-lf' | 'trailers' | 'end';

/** A chunked body on a socket that the gateway reads itself (RFC 9112 §7.1). */
export class ChunkedBody extends SocketBody {
  isComplete = false;
  override pieces = 0;
  /** The fields after its last chunk, once it is complete. */
  rawTrailers: HeaderList = [];
  private readonly trailers: ChunkedTrailers;
  private readonly plainSize = new PlainChunkSize();
  private readonly line = new ChunkLine();
  private state: State = 'size';
  /** Bytes of the chunk that have not arrived. */
  private left = 0;
  /** The position of the data of the chunks read so far, moved together into one part. */
  private start = 0;
  private end = 0;

  /** `trailerBytes` is the maximum size of the fields after its last chunk. */
  constructor(connection: Socket, trailerBytes: number) {
    super(connection);
    this.trailers = new ChunkedTrailers(trailerBytes);
  }

  /** Moves the data of chunks together within `bytes`: thousands of one-byte chunks would otherwise be thousands of parts. */
  receive(bytes: Buffer): Buffer {
    this.start = 0;
    this.end = 0;
    this.pieces = 0;
    let at = 0;
    while (at < bytes.length && this.state !== 'end' && !this.isFaulty) at = this.step(bytes, at);
    this.isComplete = this.state === 'end';
    this.deliver(bytes.subarray(this.start, this.end));
    return bytes.subarray(at);
  }

  private step(bytes: Buffer, at: number): number {
    switch (this.state) {
      case 'size':
        return this.size(bytes, at);
      case 'line':
        if (this.isEnd(this.line.read(bytes[at] ?? 0))) this.sized(this.line.size);
        return at + 1;
      case 'data':
        return this.data(bytes, at);
      // Nothing but CRLF may follow the data: a reader that skips here reads a size of the sender's choice as data (§7.1, §11.2).
      case 'data-cr':
        return this.expect(bytes[at] === CR, 'data-lf', at);
      case 'data-lf':
        return this.expect(bytes[at] === LF, 'size', at);
      case 'trailers':
        if (this.isEnd(this.trailers.read(bytes[at] ?? 0))) this.finish();
        return at + 1;
      case 'end':
        return at;
    }
  }

  private size(bytes: Buffer, at: number): number {
    const { plainSize } = this;
    // Nearly every line is a size and CRLF within one read, and takes the fast path. Incomplete lines and extensions take a state
    // machine.
    if (plainSize.read(bytes, at)) {
      this.sized(plainSize.value);
      return plainSize.next;
    }
    this.line.begin();
    this.state = 'line';
    return at;
  }

  private sized(size: number): void {
    this.pieces += 1;
    this.left = size;
    this.state = size === 0 ? 'trailers' : 'data';
  }

  private data(bytes: Buffer, at: number): number {
    const length = Math.min(bytes.length - at, this.left);
    const next = at + length;
    this.left -= length;
    if (this.left === 0) this.state = 'data-cr';
    // The first data of a read stays where it is.
    if (this.end === this.start) {
      this.start = at;
      this.end = next;
    } else {
      bytes.copyWithin(this.end, at, next);
      this.end += length;
    }
    return next;
  }

  private expect(isThere: boolean, next: State, at: number): number {
    if (isThere) this.state = next;
    else this.isFaulty = true;
    return at + 1;
  }

  /** True at the end of a section that is read byte by byte. */
  private isEnd(read: boolean | undefined): boolean {
    if (read === undefined) this.isFaulty = true;
    return read === true;
  }

  private finish(): void {
    this.rawTrailers = this.trailers.fields;
    this.state = 'end';
  }
}

/** Maximum bytes of the names and values of a chunk's extensions, as in Node's server. */
const EXTENSION_BYTES = 16 * 1024;
/** Maximum bytes of the whole line: separators and leading zeros have no other limit, and each takes a step (CVE-2024-22019). */
const LINE_BYTES = 2 * EXTENSION_BYTES;
/** Significant digits that a size of 64 bits can have. */
const SIZE_DIGITS = 16;

const TAB = 0x09;
const SPACE = 0x20;
const QUOTE = 0x22;
const SEMICOLON = 0x3b;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;

type ChunkLineState =
  | 'first-digit'
  | 'digits'
  | 'extension'
  | 'name'
  | 'value'
  | 'quoted'
  | 'escaped'
  | 'quote-end'
  | 'lf';

/**
 * The line before a chunk, read byte by byte: its size, and extensions, which are dropped (RFC 9112 §7.1.1). It accepts the same lines as
 * Node's parser, which a differential fuzzer checks: extension names and values may be empty, though the grammar asks for a token.
 * Refusing those would gain nothing: extensions are dropped, and every reader ends their line at the CRLF. Only the gateway limits the
 * line's length.
 */
class ChunkLine {
  /** The size of the chunk in bytes, once the line is read. */
  size = 0;
  private state: ChunkLineState = 'first-digit';
  private digits = 0;
  private length = 0;
  private extensionBytes = 0;

  /** Begins a new line. */
  begin(): void {
    this.size = 0;
    this.state = 'first-digit';
    this.digits = 0;
    this.length = 0;
    this.extensionBytes = 0;
  }

  /** Reads the next byte of the line; true at its end, undefined if it is not the line of a chunk. */
  read(code: number): boolean | undefined {
    const next = this.next(code);
    this.length += 1;
    if (next === undefined || this.extensionBytes > EXTENSION_BYTES || this.length > LINE_BYTES)
      return undefined;
    if (next === 'end') return true;
    this.state = next;
    return false;
  }

  private next(code: number): ChunkLineState | 'end' | undefined {
    switch (this.state) {
      // At least one digit, without a sign, `0x` or white space before or after (§7.1): `BWS` is for extensions, and Node accepts none
      // here.
      case 'first-digit':
        return this.digit(code);
      case 'digits':
        return code === CR ? 'lf' : code === SEMICOLON ? 'extension' : this.digit(code);
      case 'extension':
        return code === SPACE || code === CR ? undefined : this.name(code);
      case 'name':
        return this.name(code);
      case 'value':
        return code === QUOTE
          ? this.counted('quoted')
          : isTokenCharacter(code)
            ? this.counted('value')
            : afterValue(code);
      case 'quoted':
        if (code === QUOTE) return this.counted('quote-end');
        if (code === BACKSLASH) return this.counted('escaped');
        return isText(code) ? this.counted('quoted') : undefined;
      case 'escaped':
        return isText(code) ? this.counted('quoted') : undefined;
      case 'quote-end':
        return afterValue(code);
      // Neither a bare CR nor a bare LF ends a line: another reader could see two lines (RFC 9112 §2.2).
      case 'lf':
        return code === LF ? 'end' : undefined;
    }
  }

  private digit(code: number): ChunkLineState | undefined {
    const value = hexValue(code);
    // Beyond 64 bits a reader that wraps around would see a small chunk (§7.1 asks for that to be anticipated).
    if (value < 0 || this.digits === SIZE_DIGITS) return undefined;
    // Leading zeros do not count.
    if (value > 0 || this.digits > 0) this.digits += 1;
    this.size = this.size * 16 + value;
    return 'digits';
  }

  private name(code: number): ChunkLineState | undefined {
    if (isTokenCharacter(code)) return this.counted('name');
    return code === EQUALS ? 'value' : afterValue(code);
  }

  private counted(state: ChunkLineState): ChunkLineState {
    this.extensionBytes += 1;
    return state;
  }
}

function afterValue(code: number): ChunkLineState | undefined {
  if (code === SEMICOLON) return 'extension';
  return code === CR ? 'lf' : undefined;
}

function isText(code: number): boolean {
  return code === TAB || isValueCharacter(code);
}

const COLON = 0x3a;
/** Fields in which another reader could find a different end of the body (RFC 9110 §6.5.1). */
const FRAMING = /^(?:content-length|transfer-encoding)$/i;

type TrailersState = 'line' | 'name' | 'before-value' | 'value' | 'line-lf' | 'last-lf';

/**
 * The trailer section after the last chunk of a request, read byte by byte (RFC 9112 §7.1.2) up to its empty line. It is as strict as the
 * header section, with the same limit in bytes. `trailersOf` selects the fields to forward (RFC 9110 §6.5.1): never those of framing,
 * routing, credentials or content.
 */
class ChunkedTrailers {
  private readonly limit: number;
  private state: TrailersState = 'line';
  private bytes = Buffer.alloc(0);
  private length = 0;
  /** Offset of the line that is read. */
  private line = 0;
  /** Bytes of names and values so far, and of white space in front of these. */
  private counted = 0;
  private spaces = 0;

  /** `limit` is the maximum bytes of its names and values, and also of its white space. */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** Its fields, once it is read. */
  get fields(): HeaderList {
    const { bytes, length } = this;
    return readFieldLines(bytes.toString('latin1', 0, length), 0, bytes)?.fields ?? [];
  }

  /** Reads the next byte; true at the end of the section, undefined when it is malformed. */
  read(code: number): boolean | undefined {
    const next = this.next(code);
    if (next === undefined) return undefined;
    if (next === 'end') return true;
    if (next === 'name' || next === 'value') this.counted += 1;
    else if (next === 'before-value') this.spaces += 1;
    if (Math.max(this.counted, this.spaces) >= this.limit) return undefined;
    if (code === COLON || (next !== 'before-value' && next !== 'last-lf')) this.add(code);
    this.state = next;
    return false;
  }

  private next(code: number): TrailersState | 'end' | undefined {
    switch (this.state) {
      case 'line':
        this.line = this.length;
        // White space would be obs-fold, a continuation line (RFC 9112 §5.2).
        return code === CR ? 'last-lf' : isTokenCharacter(code) ? 'name' : undefined;
      case 'name':
        if (code === COLON) return this.framesBody ? undefined : 'before-value';
        // No white space between name and colon (§5.1).
        return isTokenCharacter(code) ? 'name' : undefined;
      case 'before-value':
        return code === SPACE || code === TAB ? 'before-value' : valueState(code);
      case 'value':
        return valueState(code);
      case 'line-lf':
        return code === LF ? 'line' : undefined;
      case 'last-lf':
        return code === LF ? 'end' : undefined;
    }
  }

  private get framesBody(): boolean {
    return FRAMING.test(this.bytes.toString('latin1', this.line, this.length));
  }

  private add(code: number): void {
    if (this.length === this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(64, this.length * 2));
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[this.length] = code;
    this.length += 1;
  }
}

function valueState(code: number): TrailersState | undefined {
  if (code === CR) return 'line-lf';
  return isValueCharacter(code) ? 'value' : undefined;
}
