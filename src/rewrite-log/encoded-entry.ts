import type { Entry } from './entry.ts';
import { EntryText, listJson, type SharedList } from './entry-line.ts';

/**
 * An entry as ASCII bytes, with an index of one digit in the place of each shared list. The log and the inspector take the same ones; they
 * are valid until the next entry is encoded.
 */
export interface EncodedEntry {
  readonly bytes: Uint8Array;
  readonly lists: readonly SharedList[];
  /** Where the index of each list stands. */
  readonly places: readonly number[];
}

const encoder = new TextEncoder();
let room = new Uint8Array(16 * 1024);

let lastEntry: Entry | undefined;
let lastEncoded: EncodedEntry;

/** Encodes an entry, unless it was the last one. */
export function encodedEntry(entry: Entry): EncodedEntry {
  if (entry !== lastEntry) {
    lastEncoded = encode(entry);
    lastEntry = entry;
  }
  return lastEncoded;
}

function encode(entry: Entry): EncodedEntry {
  const { text, lists, places } = new EntryText(entry);
  if (text.length > room.length) room = new Uint8Array(text.length * 2);
  encoder.encodeInto(text, room);
  return { bytes: room.subarray(0, text.length), lists, places };
}

/** The line of an entry in the log, with the line feed (`entryLine`), in parts that are valid until the next entry is encoded. */
export function encodedLine(entry: Entry): readonly Uint8Array[] {
  const { bytes, lists, places } = encodedEntry(entry);
  if (lists.length === 0) return [bytes];
  const parts: Uint8Array[] = [];
  let from = 0;
  for (let index = 0; index < lists.length; index += 1) {
    const place = places[index] ?? 0;
    parts.push(bytes.subarray(from, place), encodedList(lists[index] ?? []));
    from = place + 1;
  }
  parts.push(bytes.subarray(from));
  return parts;
}

/** Plans return the same list for bodies of the same shape, so its bytes are kept as long as the list exists. */
const bytesByList = new WeakMap<SharedList, Uint8Array>();

function encodedList(list: SharedList): Uint8Array {
  const known = bytesByList.get(list);
  if (known !== undefined) return known;
  const bytes = encoder.encode(listJson(list));
  bytesByList.set(list, bytes);
  return bytes;
}
