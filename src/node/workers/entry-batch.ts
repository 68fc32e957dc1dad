import { entryLine, type SharedList } from '../../rewrite-log/entry-line.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import { putListsBack } from '../../rewrite-log/packed-entries.ts';

/**
 * Entries on their way to another process. Those of similar requests share their lists of edits, which are longer than all the rest: a
 * list is sent once. The rest is JSON text, which costs a quarter of a structured clone of objects with fifty members.
 */
export interface EntryBatch {
  /** A JSON array of entries; a number in the place of a list is its index. */
  readonly entries: string;
  /** Lists that no batch had before; the first of them has the index `from`, and those that had indexes from there on are forgotten. */
  readonly lists: readonly SharedList[];
  readonly from: number;
}

/** Maximum items of all lists that are remembered: beyond, both sides forget them. */
const MAX_ITEMS = 20_000;

/** Writes batches for one {@link EntryReader}, which reads all of them in order. */
export class EntryWriter {
  /** Number of entries of the batch under way, and the characters of their text. */
  count = 0;
  private text = '';
  private lists: SharedList[] = [];
  private from = 0;
  private readonly indexes = new Map<SharedList, number>();
  private items = 0;

  get size(): number {
    return this.text.length;
  }

  /** Adds an entry to the batch, and returns its index. */
  add(entry: Entry): number {
    this.text += `${this.count === 0 ? '[' : ','}${entryLine(entry, this.indexOf)}`;
    this.count += 1;
    return this.count - 1;
  }

  /** Ends the batch, and begins the next one. */
  take(): EntryBatch {
    const { text, lists, from, indexes } = this;
    this.text = '';
    this.count = 0;
    this.lists = [];
    if (this.items > MAX_ITEMS) {
      indexes.clear();
      this.items = 0;
    }
    this.from = indexes.size;
    return { entries: text === '' ? '[]' : `${text}]`, lists, from };
  }

  private readonly indexOf = (list: SharedList): string => {
    const known = this.indexes.get(list);
    if (known !== undefined) return String(known);
    const index = this.indexes.size;
    this.indexes.set(list, index);
    this.lists.push(list);
    this.items += list.length;
    return String(index);
  };
}

/** Reads the batches of one writer. Entries share the lists that they shared before, so that what is derived from one is derived once. */
export class EntryReader {
  private readonly lists: SharedList[] = [];

  read({ entries, lists, from }: EntryBatch): readonly Entry[] {
    this.lists.splice(from, Number.POSITIVE_INFINITY, ...lists);
    const all: unknown = JSON.parse(entries);
    if (!isEntries(all)) return [];
    for (const entry of all) putListsBack(entry, this.lists);
    return all;
  }
}

/** True for any array: only a worker writes a batch. */
function isEntries(value: unknown): value is readonly Entry[] {
  return Array.isArray(value);
}
