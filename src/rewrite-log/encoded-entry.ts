import type { Entry } from './entry.ts';
import { EntryPieces, listJson, type SharedList } from './entry-line.ts';

/**
 * The text of an entry as ASCII bytes, in pieces with a shared list between each two. The log and the inspector take the same ones; they
 * are valid until the next entry is encoded.
 */
export interface EncodedEntry {
  readonly pieces: readonly Uint8Array[];
  readonly lists: readonly SharedList[];
  /** Bytes of all pieces. */
  readonly length: number;
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
  const { pieces: texts, lists } = new EntryPieces(entry);
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > room.length) room = new Uint8Array(length * 2);
  let used = 0;
  const pieces = texts.map((text) => {
    const piece = room.subarray(used, used + text.length);
    encoder.encodeInto(text, piece);
    used += text.length;
    return piece;
  });
  return { pieces, lists, length };
}

/** The line of an entry in the log, with the line feed (`entryLine`), in parts that are valid until the next entry is encoded. */
export function encodedLine(entry: Entry): readonly Uint8Array[] {
  const { pieces, lists } = encodedEntry(entry);
  return lists.length === 0 ? pieces : pieces.flatMap((piece, at) => withListBefore(piece, lists[at - 1]));
}

function withListBefore(piece: Uint8Array, list: SharedList | undefined): readonly Uint8Array[] {
  return list === undefined ? [piece] : [encodedList(list), piece];
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
