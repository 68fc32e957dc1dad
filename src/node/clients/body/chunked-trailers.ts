import { type HeaderList, isTokenCharacter, isValueCharacter } from '../../../http/header-list.ts';
import { readFieldLines } from '../../../http/field-lines.ts';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
/** Fields in which another reader could find a different end of the body (RFC 9110 §6.5.1). */
const FRAMING = /^(?:content-length|transfer-encoding)$/i;

type State = 'line' | 'name' | 'before-value' | 'value' | 'line-lf' | 'last-lf';

/**
 * The trailer section behind the last chunk of a request, read byte by byte (RFC 9112 §7.1.2), up to its empty line. It is as strict
 * as the header section, and holds no more bytes than that may have.
 */
export class ChunkedTrailers {
  private readonly limit: number;
  private state: State = 'line';
  private bytes = Buffer.alloc(0);
  private length = 0;
  /** Offset of the line that is read. */
  private line = 0;
  /** Bytes of names and values so far. */
  private counted = 0;

  /** `limit` is the maximum size of its names and values in bytes. */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** Its fields, once it is read. */
  get fields(): HeaderList {
    const { bytes, length } = this;
    return readFieldLines(bytes.toString('latin1', 0, length), 0, bytes)?.fields ?? [];
  }

  /** Reads the next byte; true at the end of the section, undefined when it is none. */
  read(code: number): boolean | undefined {
    const next = this.next(code);
    if (next === undefined) return undefined;
    if (next === 'end') return true;
    if (next === 'name' || next === 'value') this.counted += 1;
    if (this.counted >= this.limit) return undefined;
    if (code === COLON || (next !== 'before-value' && next !== 'last-lf')) this.add(code);
    this.state = next;
    return false;
  }

  private next(code: number): State | 'end' | undefined {
    switch (this.state) {
      case 'line':
        this.line = this.length;
        return code === CR ? 'last-lf' : isTokenCharacter(code) ? 'name' : undefined;
      case 'name':
        if (code === COLON) return this.framesBody ? undefined : 'before-value';
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

function valueState(code: number): State | undefined {
  if (code === CR) return 'line-lf';
  return isValueCharacter(code) ? 'value' : undefined;
}
