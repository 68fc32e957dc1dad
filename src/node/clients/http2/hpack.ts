import { isTokenCharacter, isValueCharacter } from '../../../http/header-list.ts';

/** The fields that both sides of every connection know (RFC 7541, appendix A); the first one has the index 1. */
export const STATIC_FIELDS: readonly (readonly [name: string, value: string])[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ['accept-language', ''],
  ['accept-ranges', ''],
  ['accept', ''],
  ['access-control-allow-origin', ''],
  ['age', ''],
  ['allow', ''],
  ['authorization', ''],
  ['cache-control', ''],
  ['content-disposition', ''],
  ['content-encoding', ''],
  ['content-language', ''],
  ['content-length', ''],
  ['content-location', ''],
  ['content-range', ''],
  ['content-type', ''],
  ['cookie', ''],
  ['date', ''],
  ['etag', ''],
  ['expect', ''],
  ['expires', ''],
  ['from', ''],
  ['host', ''],
  ['if-match', ''],
  ['if-modified-since', ''],
  ['if-none-match', ''],
  ['if-range', ''],
  ['if-unmodified-since', ''],
  ['last-modified', ''],
  ['link', ''],
  ['location', ''],
  ['max-forwards', ''],
  ['proxy-authenticate', ''],
  ['proxy-authorization', ''],
  ['range', ''],
  ['referer', ''],
  ['refresh', ''],
  ['retry-after', ''],
  ['server', ''],
  ['set-cookie', ''],
  ['strict-transport-security', ''],
  ['transfer-encoding', ''],
  ['user-agent', ''],
  ['vary', ''],
  ['via', ''],
  ['www-authenticate', ''],
];

/** Receives the fields of a block in order. */
export interface FieldReceiver {
  /** Takes a field as latin1; an invalid one makes the message malformed (RFC 9113 §8.2.1). */
  field(name: string, value: string, isValid: boolean): void;
}

/** The largest number in a block: any length or index beyond is an error. */
const MAX_NUMBER = 0x0fff_ffff;
const TAB = 0x09;
const SPACE = 0x20;
const COLON = 0x3a;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
/** Room for one decoded string. */
let decoded = Buffer.allocUnsafeSlow(4096);

/**
 * Decodes the header blocks of one connection in order (RFC 7541): a block may refer to fields of earlier ones. It also checks each field,
 * once for all blocks that refer to it.
 */
export class HpackDecoder {
  private readonly table = new DynamicTable();
  private bytes: Buffer = decoded;
  /** The block as latin1, made for the first string in it that is not Huffman-coded. */
  private text: string | undefined = undefined;
  private from = 0;
  private at = 0;
  private end = 0;
  /** True once the block is malformed. */
  private isBroken = false;
  /** True if the last string was valid as the name or value that it was read as. */
  private isTextValid = true;

  /** Reads the block between two offsets; false if it is malformed, and then no later block can be read either. */
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
        // Only at the beginning of a block (RFC 7541 §4.2), and never beyond what the gateway has announced (§6.3).
        if (!mayResize || !this.table.resize(limit)) this.isBroken = true;
        continue;
      }
      // The patterns of RFC 7541 §6.1 and §6.2: 1 is an index, 01 adds to the table, 0000 does not, and 0001 never may (§6.2.3).
      mayResize = false;
      if (first >= 0x80) this.readIndexed(receiver);
      else this.readLiteral(first, receiver);
    }
    // Drops references to the borrowed bytes.
    this.bytes = decoded;
    this.text = undefined;
    return !this.isBroken;
  }

  private readIndexed(receiver: FieldReceiver): void {
    // An index of 0, or beyond both tables, is an error of the whole connection (RFC 7541 §2.3.3, §6.1).
    const field = this.table.at(this.readNumber(0x7f));
    if (field === undefined || this.isBroken) this.isBroken = true;
    else receiver.field(field.name, field.value, field.isValid);
  }

  /**
   * Reads a literal field, which may be added to the table (RFC 7541 §6.2.1). The never-indexed flag of §6.2.3 does not matter to a proxy
   * that indexes nothing on the way to V2.
   */
  private readLiteral(first: number, receiver: FieldReceiver): void {
    const isRemembered = first >= 0x40;
    const index = this.readNumber(isRemembered ? 0x3f : 0x0f);
    const known = index === 0 ? undefined : this.table.at(index);
    if (index !== 0 && known === undefined) this.isBroken = true;
    const name = known?.name ?? this.readText(true, isRemembered);
    // The known field may be invalid only because of its value.
    const isNameValid = known === undefined ? this.isTextValid : known.isValid || isName(known.name);
    const value = this.readText(false, isRemembered);
    if (this.isBroken) return;
    const isValid = isNameValid && this.isTextValid;
    if (isRemembered) this.table.add({ name, value, isValid });
    receiver.field(name, value, isValid);
  }

  /** Reads a number whose first bits, in `mask`, share a byte with other bits (RFC 7541 §5.1). */
  private readNumber(mask: number): number {
    let value = (this.bytes[this.at] ?? 0) & mask;
    this.at += 1;
    if (value < mask) return value;
    // Four more bytes at most (RFC 7541 §5.1 allows a limit): otherwise zeros could be endless, or the sum could overflow.
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

  /** Reads a string (RFC 7541 §5.2) and checks it as a name or value. A string for the table must not keep the block's text in memory. */
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
    // The shortest code has five bits (RFC 7541, appendix B), so a string grows to 8/5 at most.
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

/** True for a name in lower case; a pseudo-header field's begins with a colon (RFC 9113 §8.2.1, §8.3). */
function areName(bytes: Uint8Array, from: number, to: number): boolean {
  let at = bytes[from] === COLON ? from + 1 : from;
  if (at >= to) return false;
  for (; at < to; at += 1) if (!isNameCharacter(bytes[at] ?? 0)) return false;
  return true;
}

/** True for a value without control characters and surrounding white space (RFC 9113 §8.2.1, RFC 9110 §5.5). */
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

/** A field that a block may refer to by its index. */
interface TableField {
  readonly name: string;
  readonly value: string;
  /** False for a field that makes the message malformed. */
  readonly isValid: boolean;
}

/** Maximum bytes of fields in the table: the protocol's default (RFC 9113 §6.5.2). */
const TABLE_BYTES = 4096;
/** Bytes that a field takes in the table beyond its characters (RFC 7541 §4.1). */
const FIELD_BYTES = 32;

const staticFields: readonly TableField[] = STATIC_FIELDS.map(([name, value]) => ({
  name,
  value,
  isValid: true,
}));

/** The fields that the requests of one connection refer to by index (RFC 7541 §2.3). */
class DynamicTable {
  /** The oldest field first; those before `first` are evicted. */
  private fields: TableField[] = [];
  private first = 0;
  private bytes = 0;
  private limit = TABLE_BYTES;

  at(index: number): TableField | undefined {
    if (index <= staticFields.length) return staticFields[index - 1];
    const at = this.fields.length - (index - staticFields.length);
    return at < this.first ? undefined : this.fields[at];
  }

  /** Adds a field, and evicts the oldest ones to make room (RFC 7541 §4.4). */
  add(field: TableField): void {
    const bytes = bytesOf(field);
    this.forget(this.limit - bytes);
    // A field larger than the table empties it, and is no error (RFC 7541 §4.4).
    if (bytes > this.limit) return;
    this.fields.push(field);
    this.bytes += bytes;
  }

  /** Changes the size limit; false for more than the gateway allows (RFC 7541 §6.3). */
  resize(limit: number): boolean {
    if (limit > TABLE_BYTES) return false;
    this.limit = limit;
    this.forget(limit);
    return true;
  }

  /** Evicts the oldest fields until the others take no more than `bytes`. */
  private forget(bytes: number): void {
    while (this.bytes > Math.max(0, bytes)) {
      const oldest = this.fields[this.first];
      if (oldest === undefined) return;
      this.bytes -= bytesOf(oldest);
      this.first += 1;
    }
    // Rarely, so that evicting a field takes constant time on average.
    if (this.first < this.fields.length / 2) return;
    this.fields = this.fields.slice(this.first);
    this.first = 0;
  }
}

function bytesOf({ name, value }: TableField): number {
  return name.length + value.length + FIELD_BYTES;
}

/** The length in bits of each byte's code and, last, of the code for the end of the string (RFC 7541, appendix B). */
const CODE_BITS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];
/** The end of the string, which no string may contain. */
const END_OF_TEXT = 256;
/** Bits of the pieces in which codes are read; the shortest code has five, so a piece completes at most one. */
const PIECE_BITS = 4;
const PIECES = 1 << PIECE_BITS;
/** Maximum bits of padding (RFC 7541 §5.2). */
const MAX_PADDING_BITS = 7;
/** A transition contains the completed byte, a flag if there is one, the next node, and a flag if the bits are not a code. */
const ENDS_BYTE = 1 << 8;
const NODE_SHIFT = 9;
const FAILS = 1 << 18;

interface Decoder {
  /** For each node and each piece. */
  readonly transitions: Int32Array;
  /** The nodes at which a string may end: after at most seven bits of padding, all ones. */
  readonly mayEnd: Uint8Array;
}

let decoder: Decoder | undefined;

/**
 * Decodes a Huffman-coded string (RFC 7541 §5.2) into `target`, which has room for 8/5 of its bytes; returns the number of bytes
 * written, or -1 for an invalid string.
 */
export function decodeHuffman(bytes: Uint8Array, from: number, to: number, target: Uint8Array): number {
  decoder ??= makeDecoder();
  const { transitions, mayEnd } = decoder;
  let node = 0;
  let written = 0;
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at] ?? 0;
    const high = transitions[node * PIECES + (byte >> PIECE_BITS)] ?? FAILS;
    if ((high & ENDS_BYTE) !== 0) target[written++] = high;
    const low = transitions[((high & ~FAILS) >> NODE_SHIFT) * PIECES + (byte & (PIECES - 1))] ?? FAILS;
    if (((high | low) & FAILS) !== 0) return -1;
    if ((low & ENDS_BYTE) !== 0) target[written++] = low;
    node = low >> NODE_SHIFT;
  }
  // Padding is the beginning of the code for the end of the string: fewer than eight ones (RFC 7541 §5.2).
  return mayEnd[node] === 1 ? written : -1;
}

/** Makes the tree of all codes: for each node the next nodes after a 0 and a 1, where a leaf is its byte negated, minus one. */
function makeTree(): Int32Array {
  const tree = new Int32Array(2 * CODE_BITS.length);
  let nodes = 1;
  let code = 0;
  let bits = 0;
  const symbols = CODE_BITS.map((_, symbol) => symbol);
  // Codes of one length are consecutive, and those of the next length continue after them.
  symbols.sort((left, right) => bitsOf(left) - bitsOf(right) || left - right);
  for (const symbol of symbols) {
    code <<= bitsOf(symbol) - bits;
    bits = bitsOf(symbol);
    let node = 0;
    for (let bit = bits - 1; bit > 0; bit -= 1) {
      const edge = 2 * node + ((code >> bit) & 1);
      if (tree[edge] === 0) tree[edge] = nodes++;
      node = tree[edge] ?? 0;
    }
    tree[2 * node + (code & 1)] = -symbol - 1;
    code += 1;
  }
  return tree;
}

function makeDecoder(): Decoder {
  const tree = makeTree();
  const nodes = tree.length / 2 - 1;
  const transitions = new Int32Array(nodes * PIECES);
  for (let node = 0; node < nodes; node += 1) {
    for (let piece = 0; piece < PIECES; piece += 1)
      transitions[node * PIECES + piece] = transition(tree, node, piece);
  }
  const mayEnd = new Uint8Array(nodes);
  let node = 0;
  for (let bits = 0; bits <= MAX_PADDING_BITS; bits += 1) {
    mayEnd[node] = 1;
    node = tree[2 * node + 1] ?? 0;
  }
  return { transitions, mayEnd };
}

function transition(tree: Int32Array, start: number, piece: number): number {
  let node = start;
  let ended = 0;
  for (let bit = PIECE_BITS - 1; bit >= 0; bit -= 1) {
    node = tree[2 * node + ((piece >> bit) & 1)] ?? 0;
    if (node >= 0) continue;
    const symbol = -node - 1;
    // The end of the string inside a string is an error (RFC 7541 §5.2).
    if (symbol === END_OF_TEXT) return FAILS;
    ended = ENDS_BYTE | symbol;
    node = 0;
  }
  return (node << NODE_SHIFT) | ended;
}

function bitsOf(symbol: number): number {
  return CODE_BITS[symbol] ?? 0;
}
