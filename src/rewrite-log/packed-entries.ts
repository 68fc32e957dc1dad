import { encodedEntry } from './encoded-entry.ts';
import { SHARED_LISTS, type SharedList } from './entry-line.ts';
import type { Entry } from './entry.ts';

/** An entry as its text, in which the places of shared lists have their indexes. */
export interface PackedEntry {
  readonly text: string;
  readonly lists: readonly SharedList[];
}

/** Bytes of a page: some hundred entries. A longer entry has a page of its own. */
const PAGE_BYTES = 64 * 1024;

const NO_LISTS: readonly SharedList[] = [];

const decoder = new TextDecoder();

/** Texts of entries, one after the other. */
class Page {
  readonly bytes: Uint8Array;
  used = 0;
  /** Number of entries here that are still in their slots. */
  entries = 0;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
  }

  add(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.used);
    this.used += bytes.length;
    this.entries += 1;
  }
}

/**
 * Numbered slots for entries, whose texts are kept as bytes outside V8's heap. As objects they would live just long enough to be copied
 * twice by its collections, which took about ten times as long.
 */
export class PackedEntries {
  private readonly pages: (Page | undefined)[];
  private readonly starts: Uint32Array;
  private readonly lengths: Uint32Array;
  private readonly lists: (readonly SharedList[])[];
  /** The lists of the last entry with this first one. */
  private readonly byFirst = new WeakMap<SharedList, readonly SharedList[]>();
  private page = new Page(PAGE_BYTES);
  /** A page without entries, to be used next. */
  private spare: Page | undefined = undefined;

  constructor(slots: number) {
    this.pages = Array.from({ length: slots });
    this.lists = Array.from({ length: slots }, () => NO_LISTS);
    this.starts = new Uint32Array(slots);
    this.lengths = new Uint32Array(slots);
  }

  /** Puts an entry into a slot, in place of the one there. */
  put(slot: number, entry: Entry): void {
    const { bytes, lists } = encodedEntry(entry);
    this.leave(slot);
    const page = this.pageFor(bytes.length);
    this.pages[slot] = page;
    this.starts[slot] = page.used;
    this.lengths[slot] = bytes.length;
    this.lists[slot] = this.shared(lists);
    page.add(bytes);
  }

  /** Returns the entry in a slot; undefined when it is empty. */
  at(slot: number): PackedEntry | undefined {
    const page = this.pages[slot];
    if (page === undefined) return undefined;
    const [start = 0, length = 0] = [this.starts[slot], this.lengths[slot]];
    return {
      text: decoder.decode(page.bytes.subarray(start, start + length)),
      lists: this.lists[slot] ?? NO_LISTS,
    };
  }

  /** Entries that share their lists share one array of them: a new one each would live as long as the entry. */
  private shared(lists: readonly SharedList[]): readonly SharedList[] {
    const [first] = lists;
    if (first === undefined) return NO_LISTS;
    const known = this.byFirst.get(first);
    if (known?.length === lists.length && known.every((list, at) => list === lists[at])) return known;
    this.byFirst.set(first, lists);
    return lists;
  }

  private leave(slot: number): void {
    const page = this.pages[slot];
    if (page === undefined) return;
    page.entries -= 1;
    if (page.entries > 0 || page.bytes.length > PAGE_BYTES) return;
    page.used = 0;
    if (page !== this.page) this.spare = page;
  }

  /** Returns a page with room for so many bytes. */
  private pageFor(bytes: number): Page {
    if (bytes > PAGE_BYTES) return new Page(bytes);
    if (this.page.used + bytes > PAGE_BYTES) {
      this.page = this.spare ?? new Page(PAGE_BYTES);
      this.spare = undefined;
    }
    return this.page;
  }
}

/** Makes the entry again. */
export function unpacked({ text, lists }: PackedEntry): Entry {
  const entry: Entry = JSON.parse(text);
  putListsBack(entry, lists);
  return entry;
}

/** Replaces each number in the place of a list by the list with that index. */
export function putListsBack(entry: Entry, lists: readonly SharedList[]): void {
  for (const name of SHARED_LISTS) {
    const index: unknown = entry[name];
    if (typeof index === 'number') Reflect.set(entry, name, lists[index]);
  }
}
