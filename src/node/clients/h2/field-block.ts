import { isTokenCharacter, isValueCharacter } from '../../../http/header-list.ts';
import { FieldTable } from './field-table.ts';
import { decodeHuffman } from './huffman.ts';

/** Receives the fields of a block, in their order. */
export interface FieldReceiver {
  /** Takes a field, in latin1; an invalid one makes its message malformed (RFC 9113 §8.2.1). */
  field(name: string, value: string, isValid: boolean): void;
}

/** The largest number in a block: any length or index beyond is an error. */
const MAX_NUMBER = 0x0fff_ffff;
const TAB = 0x09;
const SPACE = 0x20;
const COLON = 0x3a;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
/** Decoded texts, one at a time. */
let decoded = Buffer.allocUnsafeSlow(4096);

/**
 * Reads the blocks of fields of one connection (RFC 7541), one after the other: a block may refer to fields of those before it. It also
 * checks each field, once for all the blocks that refer to it.
 */
export class FieldBlocks {
  private readonly table = new FieldTable();
  private bytes: Buffer = decoded;
  /** The block in latin1; made for the first text in it that is not coded. */
  private text: string | undefined = undefined;
  private from = 0;
  private at = 0;
  private end = 0;
  /** True once the block turned out to be no block. */
  private isBroken = false;
  /** The text that was read last was valid where it stood. */
  private isTextValid = true;

  /** Reads the block in `bytes` between two offsets; false for what is no block: then no later one can be read either. */
  read(bytes: Buffer, from: number, to: number, receiver: FieldReceiver): boolean {
    this.bytes = bytes;
    this.text = undefined;
    this.from = from;
    this.at = from;
    this.end = to;
    let mayResize = true;
    while (this.at < this.end && !this.isBroken) {
      const first = bytes[this.at] ?? 0;
      if ((first & 0xe0) === 0x20) {
        const limit = this.readNumber(0x1f);
        if (!mayResize || !this.table.resize(limit)) this.isBroken = true;
        continue;
      }
      mayResize = false;
      if (first >= 0x80) this.readIndexed(receiver);
      else this.readLiteral(first, receiver);
    }
    // Nothing refers to bytes that others write to, or keeps them alive.
    this.bytes = decoded;
    this.text = undefined;
    return !this.isBroken;
  }

  private readIndexed(receiver: FieldReceiver): void {
    const field = this.table.at(this.readNumber(0x7f));
    if (field === undefined || this.isBroken) this.isBroken = true;
    else receiver.field(field.name, field.value, field.isValid);
  }

  /** A field that is to be remembered has a prefix of its own. The never-indexed flag does not matter to a proxy that does not index. */
  private readLiteral(first: number, receiver: FieldReceiver): void {
    const isRemembered = first >= 0x40;
    const index = this.readNumber(isRemembered ? 0x3f : 0x0f);
    const known = index === 0 ? undefined : this.table.at(index);
    if (index !== 0 && known === undefined) this.isBroken = true;
    const name = known?.name ?? this.readText(true, isRemembered);
    // A known name may have come with another value that was not.
    const isNameValid = known === undefined ? this.isTextValid : known.isValid || isName(known.name);
    const value = this.readText(false, isRemembered);
    if (this.isBroken) return;
    const isValid = isNameValid && this.isTextValid;
    if (isRemembered) this.table.add({ name, value, isValid });
    receiver.field(name, value, isValid);
  }

  /** Reads a number whose first bits share a byte with something else (RFC 7541 §5.1); `mask` has those bits. */
  private readNumber(mask: number): number {
    let value = (this.bytes[this.at] ?? 0) & mask;
    this.at += 1;
    if (value < mask) return value;
    for (let shift = 0; this.at < this.end && shift <= 21; shift += 7) {
      const byte = this.bytes[this.at] ?? 0;
      this.at += 1;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (value > MAX_NUMBER) break;
        return value;
      }
    }
    this.isBroken = true;
    return 0;
  }

  /** Reads a text (RFC 7541 §5.2), and whether it is valid as a name or as a value; one that is remembered is no part of the block's. */
  private readText(isOfName: boolean, isRemembered: boolean): string {
    const isCoded = (this.bytes[this.at] ?? 0) >= 0x80;
    const length = this.readNumber(0x7f);
    const from = this.at;
    const to = from + length;
    this.at = to;
    if (this.isBroken || to > this.end) {
      this.isBroken = true;
      return '';
    }
    if (isCoded) return this.decode(from, to, isOfName);
    this.check(this.bytes, from, to, isOfName);
    if (isRemembered) return this.bytes.toString('latin1', from, to);
    this.text ??= this.bytes.toString('latin1', this.from, this.end);
    return this.text.slice(from - this.from, to - this.from);
  }

  private decode(from: number, to: number, isOfName: boolean): string {
    // The shortest code of a byte has five of eight bits.
    const room = Math.ceil(((to - from) * 8) / 5);
    if (decoded.length < room) decoded = Buffer.allocUnsafeSlow(2 * room);
    const length = decodeHuffman(this.bytes, from, to, decoded);
    if (length < 0) {
      this.isBroken = true;
      return '';
    }
    this.check(decoded, 0, length, isOfName);
    return decoded.toString('latin1', 0, length);
  }

  private check(bytes: Buffer, from: number, to: number, isOfName: boolean): void {
    this.isTextValid = isOfName ? areName(bytes, from, to) : areValue(bytes, from, to);
  }
}

/** True for the bytes of a name in lower case; that of a pseudo-header field begins with a colon (RFC 9113 §8.2.1, §8.3). */
function areName(bytes: Uint8Array, from: number, to: number): boolean {
  let at = bytes[from] === COLON ? from + 1 : from;
  if (at >= to) return false;
  for (; at < to; at += 1) if (!isNameCharacter(bytes[at] ?? 0)) return false;
  return true;
}

/** True for the bytes of a value: neither a control character, nor white space around it (RFC 9113 §8.2.1, RFC 9110 §5.5). */
function areValue(bytes: Uint8Array, from: number, to: number): boolean {
  if (from === to) return true;
  if (isSpace(bytes[from] ?? 0) || isSpace(bytes[to - 1] ?? 0)) return false;
  for (let at = from; at < to; at += 1) if (!isValueCharacter(bytes[at] ?? 0)) return false;
  return true;
}

function isName(text: string): boolean {
  return areName(Buffer.from(text, 'latin1'), 0, text.length);
}

function isNameCharacter(code: number): boolean {
  return isTokenCharacter(code) && !(code >= UPPER_A && code <= UPPER_Z);
}

function isSpace(code: number): boolean {
  return code === SPACE || code === TAB;
}
