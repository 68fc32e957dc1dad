import { hasByteOrderMark } from '../../json/byte-order-mark.ts';
import { stringEnd } from '../../json/string-end.ts';
import type { AttributePlace, AttributeTree } from './attribute-tree.ts';

/** Maximum names listed of one body: one whose names are data cannot flood the log. */
const MAX_NAMES = 64;

/** Maximum names of one body that are new. */
const MAX_NEW_NAMES = 128;

/** Elements of an array to read: the first ones, and a sample of the others. */
const FIRST_ELEMENTS = 16;
const ELEMENT_SAMPLE = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/**
 * Reads the names of members in the first bytes of a body, each byte once. Skips a value without a place (its pointer is too
 * long, its name is beyond the limit) with everything in it, so that nesting costs no more than its bytes.
 */
export class NameWalk {
  /** The members found, each once, in document order. */
  readonly places: AttributePlace[] = [];
  /** False when the bytes cannot be the start of a JSON text. */
  isJson = true;
  private readonly tree: AttributeTree;
  private readonly body: number;
  private readonly bytes: Uint8Array;
  private readonly end: number;
  private at: number;
  private newNames = 0;

  /** Reads up to `length` bytes of `bytes`, which are body number `body` of `tree`. */
  constructor(tree: AttributeTree, body: number, bytes: Uint8Array, length: number) {
    this.tree = tree;
    this.body = body;
    this.bytes = bytes;
    this.end = length;
    this.at = hasByteOrderMark(bytes) ? 3 : 0;
    this.skipSpace();
    if (this.at >= this.end) this.fail();
    else this.value(tree.root);
  }

  /** Reads a value; recursion is as deep as a pointer, whose length is limited. */
  private value(place: AttributePlace | undefined): void {
    const byte = this.bytes[this.at];
    if (place !== undefined && byte === OPEN_OBJECT) this.object(place);
    else if (place !== undefined && byte === OPEN_ARRAY) this.array(place);
    else this.skipValue();
  }

  private object(place: AttributePlace): void {
    this.at += 1;
    this.skipSpace();
    if (this.bytes[this.at] === CLOSE_OBJECT) {
      this.at += 1;
      return;
    }
    while (this.at < this.end) {
      if (this.bytes[this.at] !== QUOTE) return this.fail();
      const member = this.member(place);
      this.skipSpace();
      if (this.at >= this.end) return;
      if (this.bytes[this.at] !== COLON) return this.fail();
      this.at += 1;
      this.skipSpace();
      this.value(member);
      if (this.endsAfterValue(CLOSE_OBJECT)) return;
    }
  }

  private array(place: AttributePlace): void {
    this.at += 1;
    this.skipSpace();
    if (this.bytes[this.at] === CLOSE_ARRAY) {
      this.at += 1;
      return;
    }
    for (let index = 0; this.at < this.end; index += 1) {
      const isSampled = index < FIRST_ELEMENTS || index % ELEMENT_SAMPLE === 0;
      this.value(isSampled ? this.tree.elementsOf(place) : undefined);
      if (this.endsAfterValue(CLOSE_ARRAY)) return;
    }
  }

  /** Reads the separator after a value; true when it ends the container or the walk. */
  private endsAfterValue(closer: number): boolean {
    this.skipSpace();
    if (this.at >= this.end) return true;
    const byte = this.bytes[this.at];
    this.at += 1;
    if (byte === closer) return true;
    if (byte !== COMMA) {
      this.fail();
      return true;
    }
    this.skipSpace();
    return false;
  }

  /** Reads a key and records its member. */
  private member(parent: AttributePlace): AttributePlace | undefined {
    const { bytes, end } = this;
    const start = this.at + 1;
    let hash = 0x811c9dc5;
    let i = start;
    while (i < end) {
      const byte = bytes[i] ?? 0;
      if (byte === QUOTE) break;
      hash = Math.imul(hash ^ byte, 0x01000193);
      if (byte === BACKSLASH) {
        i += 1;
        hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
      }
      i += 1;
    }
    this.at = i + 1;
    if (i >= end) return undefined;
    const place = this.tree.find(parent, hash, bytes, start, i) ?? this.added(parent, hash, start, i);
    if (place !== undefined && place.lastBody !== this.body) {
      place.lastBody = this.body;
      this.places.push(place);
      if (this.places.length === MAX_NAMES) this.at = end;
    }
    return place;
  }

  private added(
    parent: AttributePlace,
    hash: number,
    start: number,
    end: number,
  ): AttributePlace | undefined {
    if (this.newNames === MAX_NEW_NAMES) return undefined;
    this.newNames += 1;
    return this.tree.add(parent, hash, this.bytes, start, end);
  }

  /** Skips a value and everything in it, reading only quotes and brackets. */
  private skipValue(): void {
    const { bytes, end } = this;
    const start = this.at;
    let depth = 0;
    let i = start;
    while (i < end) {
      const byte = bytes[i];
      if (byte === QUOTE) {
        i = stringEnd(bytes, i, end);
        if (depth === 0) break;
        continue;
      }
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        depth += 1;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (depth === 0) break;
        depth -= 1;
        if (depth === 0) {
          i += 1;
          break;
        }
      } else if (depth === 0 && (byte === COMMA || isSpace(byte))) {
        break;
      }
      i += 1;
    }
    this.at = i;
    if (i === start) this.fail();
  }

  private skipSpace(): void {
    const { bytes, end } = this;
    let i = this.at;
    while (i < end && isSpace(bytes[i])) i += 1;
    this.at = i;
  }

  private fail(): void {
    this.isJson = false;
    this.at = this.end;
  }
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
