import type { Edit } from '../json/edit.ts';
import { printString } from '../json/member-name.ts';
import { DraftObject, type Draft, type DraftArray, type DraftMember } from './draft.ts';

/** Returns the edits that turn the V1 body into the draft, `from` being where its text starts (behind a byte order mark). */
export function printDraft(draft: Draft, from: number, keys: KeyCache): readonly Edit[] {
  const printer = new Printer(draft, keys);
  printer.keep(from, draft.tape.start(0));
  printer.root(draft.root);
  printer.keep(draft.tape.end(0), draft.bytes.length);
  return printer.finish();
}

/** What rules print of a name, by its id: the key, and the key with a colon and the bracket of a new object. */
export type KeyCache = ({ readonly key: Uint8Array; readonly opening: Uint8Array } | undefined)[];

const NOTHING = new Uint8Array();
const OPEN = Uint8Array.of(0x7b);
const CLOSE = Uint8Array.of(0x7d);
const COMMA = Uint8Array.of(0x2c);
const COLON = Uint8Array.of(0x3a);

/** Walks a draft and turns what it meets into edits: original bytes in their place are kept, all else is inserted. */
class Printer {
  readonly #draft: Draft;
  readonly #keys: KeyCache;
  readonly #edits: Edit[] = [];
  /** What comes before the next byte that is kept; the first `#count` are in use. */
  readonly #pending: Uint8Array[] = [NOTHING];
  #count = 0;
  /** Everything before this offset has been kept or given up. */
  #at = 0;

  constructor(draft: Draft, keys: KeyCache) {
    this.#draft = draft;
    this.#keys = keys;
  }

  /** Keeps original bytes in their place; what stands before a byte that was kept already is copied. */
  keep(start: number, end: number): void {
    if (start === end) return;
    if (start < this.#at) {
      this.#insert(this.#draft.bytes.subarray(start, end));
      return;
    }
    if (start > this.#at || this.#count > 0) this.#edit(start);
    this.#at = end;
  }

  root(object: DraftObject): void {
    // The bracket of a made object is printed with its key, and the body has none.
    if (object.node < 0) this.#insert(OPEN);
    this.object(object, false);
  }

  object(object: DraftObject, isCopy: boolean): void {
    const { tape } = this.#draft;
    const { node } = object;
    const end = node < 0 ? 0 : tape.end(node);
    const start = node < 0 ? 0 : tape.start(node);
    if (!object.isChanged) {
      this.#bytes(start, end, isCopy);
      return;
    }
    if (node >= 0) this.#bytes(start, start + 1, isCopy);
    for (let k = 0; k < object.members.length; k += 1) {
      const member = object.members[k];
      if (member !== undefined) this.#member(member, k === 0, isCopy || member.isMoved);
    }
    if (node < 0) this.#insert(CLOSE);
    else this.#bytes(object.hasTail ? this.#tailStart(end - 1) : end - 1, end, isCopy);
  }

  finish(): readonly Edit[] {
    const end = this.#draft.bytes.length;
    if (this.#at < end || this.#count > 0) this.#edit(end);
    return this.#edits;
  }

  #member(member: DraftMember, isFirst: boolean, isCopy: boolean): void {
    const { tape } = this.#draft;
    const { node, place, value, literal } = member;
    if (!member.hasDelimiter && !isFirst) this.#insert(COMMA);
    const isOwn = node >= 0 && !member.isRenamed && literal === undefined;
    if (isOwn && !isCopy && place === node && value?.isChanged !== true) {
      this.keep(this.#layoutStart(member), tape.end(node));
      return;
    }
    if (member.hasDelimiter || member.hasLead) {
      const layoutEnd = member.hasLead ? tape.keyStart(place) : tape.lead(place);
      this.#bytes(this.#layoutStart(member), layoutEnd, isCopy);
    }
    if (node < 0) {
      const { key, opening } = this.#key(member.id);
      if (literal === undefined) this.#insert(opening);
      else {
        this.#insert(key);
        this.#insert(COLON);
      }
    } else if (member.isRenamed) {
      this.#insert(this.#key(member.id).key);
      this.#bytes(tape.keyEnd(node), tape.start(node), isCopy);
    } else {
      this.#bytes(tape.keyStart(node), tape.start(node), isCopy);
    }
    // The bytes of a value that a rule wrote over are neither kept nor copied.
    if (literal !== undefined) this.#insert(literal);
    else if (value === undefined) this.#bytes(tape.start(node), tape.end(node), isCopy);
    else this.#value(value, isCopy);
  }

  /** Where the text starts that is printed before the key: the delimiter, white space, or the key itself. */
  #layoutStart(member: DraftMember): number {
    const { tape } = this.#draft;
    if (member.hasDelimiter) return tape.delimiter(member.place);
    return member.hasLead ? tape.lead(member.place) : tape.keyStart(member.place);
  }

  #value(value: DraftObject | DraftArray, isCopy: boolean): void {
    if (value instanceof DraftObject) {
      this.object(value, isCopy);
      return;
    }
    const { tape } = this.#draft;
    let at = tape.start(value.node);
    for (const element of value.elements) {
      if (element.value?.isChanged !== true) continue;
      const { node } = element.value;
      this.#bytes(at, tape.start(node), isCopy);
      this.#value(element.value, isCopy);
      at = tape.end(node);
    }
    this.#bytes(at, tape.end(value.node), isCopy);
  }

  #bytes(start: number, end: number, isCopy: boolean): void {
    if (isCopy) this.#insert(this.#draft.bytes.subarray(start, end));
    else this.keep(start, end);
  }

  #key(id: number): { readonly key: Uint8Array; readonly opening: Uint8Array } {
    const known = this.#keys[id];
    if (known !== undefined) return known;
    const key = printString(this.#draft.names.name(id));
    const opening = Uint8Array.of(...key, 0x3a, 0x7b);
    this.#keys[id] = { key, opening };
    return { key, opening };
  }

  #tailStart(close: number): number {
    let at = close;
    while (isSpace(this.#draft.bytes[at - 1] ?? 0)) at -= 1;
    return at;
  }

  #insert(part: Uint8Array): void {
    this.#pending[this.#count] = part;
    this.#count += 1;
  }

  #edit(end: number): void {
    this.#edits.push({ start: this.#at, end, insert: this.#inserted() });
  }

  /** What is to be inserted, in one piece; forgets it. */
  #inserted(): Uint8Array {
    const count = this.#count;
    this.#count = 0;
    if (count < 2) return count === 0 ? NOTHING : (this.#pending[0] ?? NOTHING);
    const parts = this.#pending.slice(0, count);
    const insert = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of parts) {
      insert.set(part, at);
      at += part.length;
    }
    return insert;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
