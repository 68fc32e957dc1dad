import type { Entry } from './entry.ts';

/** A list that entries of similar requests share. */
export type SharedList = readonly unknown[];

/** Members of an entry with such lists. */
const SHARED_LISTS = ['edits', 'patch', 'responseEdits', 'responsePatch', 'attributes'] as const;

/** The decimal places of each number of microseconds, without trailing zeros: V8 takes ten times as long to print a fraction. */
const MICROSECONDS = Array.from({ length: 1000 }, (_, count) => String(count / 1000).slice(1));

/** Microseconds up to which the shortest text of a number has three decimal places at most. */
const EXACT_COUNT = 1e12;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const TILDE = 0x7e;

const encoder = new TextEncoder();

/** Bytes of a page: about a hundred entries. A longer entry gets a separate page. */
const PAGE_BYTES = 64 * 1024;

const NO_LISTS: readonly SharedList[] = [];

const decoder = new TextDecoder();

/** Returns the JSON text that replaces a shared list. */
type ListText = (list: SharedList) => string;

/**
 * Formats an entry as a line of the log, with the line feed. Escapes every character except printable ASCII, so that a path cannot forge
 * a line or control a terminal. `listed` returns the text for a list that entries share.
 */
export function entryLine(entry: Entry, listed: ListText = listText): string {
  const { text, lists, places } = new EntryText(entry);
  let line = '';
  let from = 0;
  for (const [index, list] of lists.entries()) {
    const place = places[index] ?? 0;
    line += text.slice(from, place) + listed(list);
    from = place + 1;
  }
  return line + text.slice(from);
}

function listText(list: SharedList): string {
  const known = textByList.get(list);
  if (known !== undefined) return known;
  const text = listJson(list);
  textByList.set(list, text);
  return text;
}

/** Plans return the same list for bodies of the same shape, so its text is cached as long as the list exists. */
const textByList = new WeakMap<object, string>();

/** The JSON text of a list, in printable ASCII. */
function listJson(list: SharedList): string {
  return escaped(JSON.stringify(list));
}

function escaped(json: string): string {
  return json.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * An entry's text, with an index of one digit in place of each shared list. It is written member by member, since `JSON.stringify`
 * takes three times as long (3.0 against 1.1 µs for an order with seven members moved).
 */
class EntryText {
  readonly text: string;
  readonly lists: SharedList[] = [];
  /** The place of each list's index. */
  readonly places: number[] = [];

  constructor(entry: Entry) {
    let line = `{"time":"${entry.time}","level":"${entry.level}","requestId":${quoted(entry.requestId)}`;
    if (entry.traceId !== undefined) line += `,"traceId":"${entry.traceId}"`;
    if (entry.spanId !== undefined) line += `,"spanId":"${entry.spanId}"`;
    if (entry.spanOfClient !== undefined) line += ',"spanOfClient":true';
    if (entry.parentSpanId !== undefined) line += `,"parentSpanId":"${entry.parentSpanId}"`;
    if (entry.isSampled !== undefined) line += ',"isSampled":true';
    if (entry.client !== undefined) line += `,"client":"${entry.client}"`;
    line += `,"route":"${entry.route}"`;
    if (entry.side !== undefined) line += `,"side":"${entry.side}"`;
    line += `,"method":${quoted(entry.method)},"path":${quoted(entry.path)}`;
    if (entry.upstreamMethod !== undefined) line += `,"upstreamMethod":${quoted(entry.upstreamMethod)}`;
    if (entry.upstreamPath !== undefined) line += `,"upstreamPath":${quoted(entry.upstreamPath)}`;
    if (entry.operation !== undefined) line += `,"operation":${quoted(entry.operation)}`;
    if (entry.apiVersion !== undefined) {
      const { sent, why, field } = entry.apiVersion;
      line += `,"apiVersion":{"sent":${quoted(sent)},"why":"${why}"${field === undefined ? '' : `,"field":${quoted(field)}`}}`;
    }
    if (entry.mode !== undefined) line += rolloutMembers(entry);
    line += `,"verdict":"${entry.verdict}","edits":`;
    line = entry.edits.length === 0 ? `${line}[]` : this.withIndex(line, entry.edits);
    if (entry.patch !== undefined) line = this.withIndex(`${line},"patch":`, entry.patch);
    if (entry.heldMs !== undefined) line += `,"heldMs":${millisecondsText(entry.heldMs)}`;
    if (entry.newcomer !== undefined) line += `,"newcomer":"${entry.newcomer}"`;
    if (entry.responseEdits !== undefined)
      line = this.withIndex(`${line},"responseEdits":`, entry.responseEdits);
    if (entry.responsePatch !== undefined)
      line = this.withIndex(`${line},"responsePatch":`, entry.responsePatch);
    if (entry.responseEditsOmitted !== undefined)
      line += `,"responseEditsOmitted":${entry.responseEditsOmitted}`;
    if (entry.responseNote !== undefined) line += `,"responseNote":"${entry.responseNote}"`;
    if (entry.lookups !== undefined) line += `,"lookups":${plainList(entry.lookups)}`;
    if (entry.responseWould !== undefined) line += `,"responseWould":${plainList(entry.responseWould)}`;
    if (entry.errorPointers !== undefined) line += `,"errorPointers":${plainList(entry.errorPointers)}`;
    if (entry.deprecated !== undefined) line += `,"deprecated":${plainList(entry.deprecated)}`;
    if (entry.unechoed !== undefined) line += `,"unechoed":${plainList(entry.unechoed)}`;
    if (entry.editsOmitted !== undefined) line += `,"editsOmitted":${entry.editsOmitted}`;
    if (entry.note !== undefined) line += `,"note":${quoted(entry.note)}`;
    if (entry.failure !== undefined || entry.cause !== undefined) line += failureMembers(entry);
    if (entry.sent !== undefined) line += `,"sent":${entry.sent}`;
    line += `,"bytesIn":${entry.bytesIn},"bytesOut":${entry.bytesOut},"responseBytes":${entry.responseBytes}`;
    line += `,"status":${entry.status}`;
    if (entry.upstreamStatus !== undefined) line += `,"upstreamStatus":${entry.upstreamStatus}`;
    if (entry.incomplete === true) line += ',"incomplete":true';
    if (entry.upstreamMs !== undefined) line += `,"upstreamMs":${millisecondsText(entry.upstreamMs)}`;
    line += `,"totalMs":${millisecondsText(entry.totalMs)}`;
    if (entry.rewriteMs !== undefined) line += `,"rewriteMs":${millisecondsText(entry.rewriteMs)}`;
    if (entry.attributes !== undefined) line = this.withIndex(`${line},"attributes":`, entry.attributes);
    if (entry.attempts !== undefined) line += `,"attempts":${entry.attempts}`;
    this.text = `${line},"ruleBook":"${entry.ruleBook}"}\n`;
  }

  /** Adds the index of a list to the text before it. */
  private withIndex(text: string, list: SharedList): string {
    this.places.push(text.length);
    return `${text}${this.lists.push(list) - 1}`;
  }
}

function rolloutMembers({ mode, origin, would, comparison }: Entry): string {
  let members = `,"mode":"${mode}"`;
  if (origin !== undefined) members += `,"origin":"${origin}"`;
  if (would !== undefined) members += `,"would":${escaped(JSON.stringify(would))}`;
  if (comparison !== undefined) members += `,"comparison":${escaped(JSON.stringify(comparison))}`;
  return members;
}

/** Prints milliseconds as `JSON.stringify` does. */
function millisecondsText(milliseconds: number): string {
  const count = Math.round(milliseconds * 1000);
  if (count < 0 || count > EXACT_COUNT || count / 1000 !== milliseconds) return String(milliseconds);
  const whole = Math.trunc(count / 1000);
  return `${whole}${MICROSECONDS[count - whole * 1000]}`;
}

/** Prints a list that no other entry shares, which is not worth caching. */
function plainList(list: readonly unknown[]): string {
  return list.length === 0 ? '[]' : escaped(JSON.stringify(list));
}

function failureMembers(entry: Entry): string {
  let members = entry.failure === undefined ? '' : `,"failure":${quoted(entry.failure)}`;
  if (entry.cause !== undefined) members += `,"cause":${quoted(entry.cause)}`;
  if (entry.pointer !== undefined) members += `,"pointer":${quoted(entry.pointer)}`;
  if (entry.position !== undefined) members += `,"position":${JSON.stringify(entry.position)}`;
  return members;
}

/** Returns the JSON text of a string as the log has it, in printable ASCII. */
export function quoted(text: string): string {
  return isPlain(text) ? `"${text}"` : escaped(JSON.stringify(text));
}

/** True for printable ASCII without the quotation mark and the backslash. */
function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < SPACE || code > TILDE || code === QUOTE || code === BACKSLASH) return false;
  }
  return true;
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

/**
 * An entry as ASCII bytes, with an index of one digit in place of each shared list. The log and the inspector use the same bytes, which
 * are valid until the next entry is encoded.
 */
interface EncodedEntry {
  readonly bytes: Uint8Array;
  readonly lists: readonly SharedList[];
  /** The place of each list's index. */
  readonly places: readonly number[];
}

/** Encodes an entry, or returns the bytes of the last one if it is the same. */
function encodedEntry(entry: Entry): EncodedEntry {
  if (entry !== lastEntry) {
    lastEncoded = encode(entry);
    lastEntry = entry;
  }
  return lastEncoded;
}

let lastEntry: Entry | undefined;
let lastEncoded: EncodedEntry;

function encode(entry: Entry): EncodedEntry {
  const { text, lists, places } = new EntryText(entry);
  if (text.length > room.length) room = new Uint8Array(text.length * 2);
  encoder.encodeInto(text, room);
  return { bytes: room.subarray(0, text.length), lists, places };
}

let room = new Uint8Array(16 * 1024);

function encodedList(list: SharedList): Uint8Array {
  const known = bytesByList.get(list);
  if (known !== undefined) return known;
  const bytes = encoder.encode(listJson(list));
  bytesByList.set(list, bytes);
  return bytes;
}

/** Plans return the same list for bodies of the same shape, so its bytes are kept as long as the list exists. */
const bytesByList = new WeakMap<SharedList, Uint8Array>();

/** An entry's text, with indexes in place of shared lists. */
export interface PackedEntry {
  readonly text: string;
  readonly lists: readonly SharedList[];
}

/**
 * Numbered slots for entries, kept as bytes outside V8's heap. Objects would live just long enough to be copied twice by the garbage
 * collector, which took about ten times as long.
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

  /** Entries with the same lists share one array of them: an array for each would live as long as the entry. */
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
