import { hexValue } from '../../../http/chunk-size.ts';
import { isTokenCharacter, isValueCharacter } from '../../../http/header-list.ts';

/** Maximum bytes of the names and values of a chunk's extensions, as in Node's server. */
const EXTENSION_BYTES = 16 * 1024;
/** Significant digits that a size of 64 bits can have. */
const SIZE_DIGITS = 16;

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const SEMICOLON = 0x3b;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;

type State =
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
 * The line before a chunk, read byte by byte: its size, and extensions, which are dropped (RFC 9112 §7.1.1). It accepts exactly what
 * Node's parser accepts: there, names and values of extensions may be empty.
 */
export class ChunkLine {
  /** The size of the chunk in bytes, once the line is read. */
  size = 0;
  private state: State = 'first-digit';
  private digits = 0;
  private extensionBytes = 0;

  /** Begins a new line. */
  begin(): void {
    this.size = 0;
    this.state = 'first-digit';
    this.digits = 0;
    this.extensionBytes = 0;
  }

  /** Reads the next byte of the line; true at its end, undefined when it is not the line of a chunk. */
  read(code: number): boolean | undefined {
    const next = this.next(code);
    if (next === undefined || this.extensionBytes > EXTENSION_BYTES) return undefined;
    if (next === 'end') return true;
    this.state = next;
    return false;
  }

  private next(code: number): State | 'end' | undefined {
    switch (this.state) {
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
      case 'lf':
        return code === LF ? 'end' : undefined;
    }
  }

  private digit(code: number): State | undefined {
    const value = hexValue(code);
    if (value < 0 || this.digits === SIZE_DIGITS) return undefined;
    // Zeros in front are no digits of the number.
    if (value > 0 || this.digits > 0) this.digits += 1;
    this.size = this.size * 16 + value;
    return 'digits';
  }

  private name(code: number): State | undefined {
    if (isTokenCharacter(code)) return this.counted('name');
    return code === EQUALS ? 'value' : afterValue(code);
  }

  private counted(state: State): State {
    this.extensionBytes += 1;
    return state;
  }
}

function afterValue(code: number): State | undefined {
  if (code === SEMICOLON) return 'extension';
  return code === CR ? 'lf' : undefined;
}

function isText(code: number): boolean {
  return code === TAB || isValueCharacter(code);
}
