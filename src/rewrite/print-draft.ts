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
export type KeyCache = Map<number, { readonly key: Uint8Array; readonly opening: Uint8Array }>;

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
  readonly #pending: Uint8Array[] = [];
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
      this.#pending.push(this.#draft.bytes.subarray(start, end));
      return;
    }
    if (start > this.#at || this.#pending.length > 0) this.#edit(start);
    this.#at = end;
  }

  root(object: DraftObject): void {
    // The bracket of a made object is printed with its key, and the body has none.
    if (object.node < 0) this.#pending.push(OPEN);
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
    if (node < 0) this.#pending.push(CLOSE);
    else this.#bytes(object.hasTail ? this.#tailStart(end - 1) : end - 1, end, isCopy);
  }

  finish(): readonly Edit[] {
    const end = this.#draft.bytes.length;
    if (this.#at < end || this.#pending.length > 0) this.#edit(end);
    return this.#edits;
  }

  #member(member: DraftMember, isFirst: boolean, isCopy: boolean): void {
    const { tape } = this.#draft;
    const { node, place, value, literal } = member;
    const isKept = !isCopy && member.hasDelimiter && !member.isRenamed && node >= 0 && literal === undefined;
    if (isKept && value?.isChanged !== true) {
      this.keep(tape.delimiter(node), tape.end(node));
      return;
    }
    if (member.hasDelimiter) this.#bytes(tape.delimiter(place), tape.lead(place), isCopy);
    else if (!isFirst) this.#pending.push(COMMA);
    if (member.hasLead) this.#bytes(tape.lead(place), tape.keyStart(place), isCopy);
    if (node < 0) {
      const { key, opening } = this.#key(member.id);
      if (literal === undefined) this.#pending.push(opening);
      else this.#pending.push(key, COLON);
    } else if (member.isRenamed) {
      this.#pending.push(this.#key(member.id).key);
      this.#bytes(tape.keyEnd(node), tape.start(node), isCopy);
    } else {
      this.#bytes(tape.keyStart(node), tape.start(node), isCopy);
    }
    if (literal !== undefined) {
      // The bytes of the value itself are neither kept nor copied.
      this.#pending.push(literal);
      return;
    }
    if (value === undefined) this.#bytes(tape.start(node), tape.end(node), isCopy);
    else this.#value(value, isCopy);
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
    if (isCopy) this.#pending.push(this.#draft.bytes.subarray(start, end));
    else this.keep(start, end);
  }

  #key(id: number): { readonly key: Uint8Array; readonly opening: Uint8Array } {
    const known = this.#keys.get(id);
    if (known !== undefined) return known;
    const key = printString(this.#draft.names.name(id));
    const opening = Uint8Array.of(...key, 0x3a, 0x7b);
    this.#keys.set(id, { key, opening });
    return { key, opening };
  }

  #tailStart(close: number): number {
    let at = close;
    while (isSpace(this.#draft.bytes[at - 1] ?? 0)) at -= 1;
    return at;
  }

  #edit(end: number): void {
    this.#edits.push({ start: this.#at, end, insert: this.#inserted() });
  }

  #inserted(): Uint8Array {
    const parts = this.#pending;
    const first = parts[0];
    if (first === undefined) return NOTHING;
    if (parts.length === 1) {
      parts.length = 0;
      return first;
    }
    let length = 0;
    for (const part of parts) length += part.length;
    const insert = new Uint8Array(length);
    let at = 0;
    for (const part of parts) {
      insert.set(part, at);
      at += part.length;
    }
    parts.length = 0;
    return insert;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
