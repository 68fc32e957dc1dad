import { concatBytes } from '../http/byte-collector.ts';
import type { Edit } from '../json/edit.ts';
import type { Mark, Tape } from '../json/tape.ts';

const EMPTY = new Uint8Array();

/** Original bytes that the new text contains, and the inserted bytes before them. */
interface Span {
  readonly insert: Uint8Array;
  readonly start: Mark;
  end: Mark;
  /** True if the bytes are not in their original place, so that they are copied. */
  readonly isCopy: boolean;
}

/**
 * A new text in terms of an old one: the bytes that stay, those that are copied from elsewhere, and those that are inserted. It
 * refers to marks and not to offsets, so it applies to every text of the same shape.
 */
export class Recipe {
  private readonly spans: Span[] = [];
  /** Bytes to insert after the last span, before the next. */
  private inserted: Uint8Array = EMPTY;

  /** Adds original bytes. */
  bytes(start: Mark, end: Mark, isCopy: boolean): void {
    const last = this.spans.at(-1);
    if (this.inserted === EMPTY && last !== undefined && last.end === start && last.isCopy === isCopy) {
      last.end = end;
      return;
    }
    this.spans.push({ insert: this.inserted, start, end, isCopy });
    this.inserted = EMPTY;
  }

  /** Adds bytes that the original does not have. */
  insert(part: Uint8Array): void {
    this.inserted = this.inserted === EMPTY ? part : concatBytes([this.inserted, part]);
  }

  /** Returns the edits that turn `bytes` into the new text; `tape` describes `bytes` from offset `from` on. */
  edits(bytes: Uint8Array, tape: Tape, from: number): readonly Edit[] {
    const list = new EditList(bytes);
    list.keep(from, tape.offset(tape.startMark(0)));
    for (const { insert, start, end, isCopy } of this.spans) {
      if (insert !== EMPTY) list.insert(insert);
      if (isCopy) list.insert(bytes.subarray(tape.offset(start), tape.offset(end)));
      else list.keep(tape.offset(start), tape.offset(end));
    }
    if (this.inserted !== EMPTY) list.insert(this.inserted);
    list.keep(tape.offset(tape.endMark(0)), bytes.length);
    return list.finish();
  }
}

/** Converts the parts of a text to edits: original bytes in their place are kept, everything else is inserted. */
class EditList {
  private readonly bytes: Uint8Array;
  private readonly edits: Edit[] = [];
  /** Bytes to insert before the next byte that is kept. */
  private pending: Uint8Array[] = [];
  /** Everything before this offset has been kept or removed. */
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  insert(part: Uint8Array): void {
    this.pending.push(part);
  }

  /** Keeps original bytes in their place; bytes from before the current offset are copied. */
  keep(start: number, end: number): void {
    if (start === end) return;
    if (start < this.at) {
      this.insert(this.bytes.subarray(start, end));
      return;
    }
    if (start > this.at || this.pending.length > 0) this.edit(start);
    this.at = end;
  }

  finish(): readonly Edit[] {
    const end = this.bytes.length;
    if (this.at < end || this.pending.length > 0) this.edit(end);
    return this.edits;
  }

  private edit(end: number): void {
    this.edits.push({ start: this.at, end, insert: this.inserted() });
  }

  /** Returns the pending insertion as one array, and clears it. */
  private inserted(): Uint8Array {
    const pending = this.pending;
    if (pending.length < 2) return pending.pop() ?? EMPTY;
    this.pending = [];
    return concatBytes(pending);
  }
}
