import type { Tape } from './tape.ts';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

/** Shared empty array. */
export const NO_BYTES = new Uint8Array();

/** A text in UTF-8. */
export function bytesOfText(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

/** Decodes UTF-8, and keeps a byte order mark; invalid bytes become U+FFFD. */
export function textOfBytes(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

const BACKSLASH = 0x5c;

const SHORT_ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** A number as RFC 8259 §6 writes it, or a literal. */
const TOKEN = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;

/** Returns the bytes of `text` as a JSON string with its quotes. */
export function printString(text: string): Uint8Array {
  return encoder.encode(JSON.stringify(text));
}

/** Returns the decoded name of the member at `node`, as a JSON parser would read it. */
export function memberName(bytes: Uint8Array, tape: Tape, node: number): string {
  return decodeKey(bytes, tape.keyStart(node), tape.keyEnd(node), tape.isKeyEscaped(node));
}

/** Returns the decoded text of the JSON string from `start` to `end`, quotes included. */
export function decodeString(bytes: Uint8Array, start: number, end: number): string {
  return decodeKey(bytes, start, end, bytes.subarray(start, end).includes(BACKSLASH));
}

function decodeKey(bytes: Uint8Array, start: number, end: number, isEscaped: boolean): string {
  const raw = decoder.decode(bytes.subarray(start + 1, end - 1));
  return isEscaped ? unescape(raw) : raw;
}

/** Returns the text of a well-formed JSON string, given as it is spelled between its quotes. */
export function stringText(raw: string): string {
  return raw.includes('\\') ? unescape(raw) : raw;
}

/** Spells a text as a JSON string does between its quotes. */
export function spelledText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** A JSON string, or a number, `true`, `false` or `null`. */
export interface JsonScalar {
  readonly isString: boolean;
  /** The decoded text of a string; otherwise the JSON text: `1.0` and `1` are two scalars. */
  readonly text: string;
}

/** Returns the scalar of a decoded value; a number has its shortest JSON text. */
export function scalarOf(value: string | number | boolean | null): JsonScalar {
  return { isString: typeof value === 'string', text: String(value) };
}

/**
 * Reads a scalar from a text that is not JSON, such as a key: the text of a number, `true`, `false` or `null` is that value, any other
 * text a string. Double quotes around a text make it a string: `"1"`.
 */
export function readScalar(text: string): JsonScalar {
  if (TOKEN.test(text)) return { isString: false, text };
  const isQuoted = text.length > 1 && text.startsWith('"') && text.endsWith('"');
  return { isString: true, text: isQuoted ? text.slice(1, -1) : text };
}

export function printScalar({ isString, text }: JsonScalar): string {
  return isString ? JSON.stringify(text) : text;
}

/** Returns the decoded value of a scalar; a number is rounded to a double. */
export function scalarValue({ isString, text }: JsonScalar): string | number | boolean | null {
  if (isString) return text;
  if (text === 'null') return null;
  return text === 'true' || text === 'false' ? text === 'true' : Number(text);
}

/** Decodes the escapes of RFC 8259 section 7 in a string that the scanner found well-formed; lone surrogates are kept. */
function unescape(raw: string): string {
  let text = '';
  let kept = 0;
  let from = 0;
  // A callback of `replaceAll` for each escape takes five times as long: a second for a string of 2 MB.
  for (let at = raw.indexOf('\\'); at !== -1; at = raw.indexOf('\\', from)) {
    const short = raw[at + 1] ?? '';
    from = at + (short === 'u' ? 6 : 2);
    if (at > kept) text += raw.slice(kept, at);
    kept = from;
    const character = SHORT_ESCAPES[short];
    if (character !== undefined) text += character;
    else if (short === 'u') text += String.fromCharCode(Number.parseInt(raw.slice(at + 2, from), 16));
    // The character represents itself; it and the next ones are kept.
    else kept = at + 1;
  }
  return text + raw.slice(kept);
}

/** Assigns ids to the names that rules use: a member's name is looked up once, and compared as an integer from then on. */
export class NameTable {
  private readonly ids = new Map<string, number>();
  private readonly names: string[] = [''];
  private readonly bytes: Uint8Array[] = [new Uint8Array()];
  private buckets: number[][] = [[], []];
  /** By the first byte of a name, or the closing quote of an empty one: a bit for each length that occurs. */
  private readonly lengths = new Int32Array(256);

  /** Returns the id of `name`, from 1 on; adds a new name. */
  add(name: string): number {
    const known = this.ids.get(name);
    if (known !== undefined) return known;
    const id = this.names.length;
    this.ids.set(name, id);
    this.names.push(name);
    this.bytes.push(encoder.encode(name));
    this.index();
    return id;
  }

  name(id: number): string {
    return this.names[id] ?? '';
  }

  /** Returns the id of the key from `keyStart` to `keyEnd`, compared after decoding; 0 if the name is not in the table. */
  find(bytes: Uint8Array, keyStart: number, keyEnd: number, isEscaped: boolean): number {
    if (isEscaped) return this.ids.get(decodeKey(bytes, keyStart, keyEnd, true)) ?? 0;
    const start = keyStart + 1;
    const length = keyEnd - 1 - start;
    // Most names of a body are not in the table: length and first byte rule them out.
    if (((this.lengths[bytes[start] ?? 0] ?? 0) & (1 << (length & 31))) === 0) return 0;
    const bucket = this.buckets[hash(bytes, start, length) & (this.buckets.length - 1)] ?? [];
    for (let k = 0; k < bucket.length; k += 1) {
      const id = bucket[k] ?? 0;
      const name = this.bytes[id];
      if (name !== undefined && name.length === length && hasNameAt(bytes, start, name)) return id;
    }
    return 0;
  }

  private index(): void {
    if (this.names.length * 2 > this.buckets.length) {
      this.buckets = Array.from({ length: this.buckets.length * 4 }, () => []);
      for (let id = 1; id < this.names.length; id += 1) this.place(id);
      return;
    }
    this.place(this.names.length - 1);
  }

  private place(id: number): void {
    const name = this.bytes[id] ?? new Uint8Array();
    const first = name[0] ?? 0x22;
    this.lengths[first] = (this.lengths[first] ?? 0) | (1 << (name.length & 31));
    this.buckets[hash(name, 0, name.length) & (this.buckets.length - 1)]?.push(id);
  }
}

function hash(bytes: Uint8Array, start: number, length: number): number {
  if (length === 0) return 0;
  const end = start + length - 1;
  const middle = start + (length >> 1);
  const first = bytes[start] ?? 0;
  const beforeLast = bytes[length > 1 ? end - 1 : end] ?? 0;
  return length + first * 3 + (bytes[middle] ?? 0) * 31 + (bytes[end] ?? 0) * 7 + beforeLast * 131;
}

function hasNameAt(bytes: Uint8Array, start: number, name: Uint8Array): boolean {
  for (let k = 0; k < name.length; k += 1) {
    if (bytes[start + k] !== name[k]) return false;
  }
  return true;
}
