import { concatBytes } from '../http/byte-collector.ts';
import { MAX_RECORDS } from '../edits/recorder.ts';
import { applyEdits, type Edit } from '../json/edit.ts';
import { decodeString, NO_BYTES, printString } from '../json/names.ts';
import { pointerOf } from '../json/pointer.ts';
import { stringEnd } from '../json/scanner.ts';
import { MOVED } from './records.ts';
import type { ResponseRecord, RewrittenResponse } from './response-rules.ts';

/** Maximum bytes of a string that is read as a link or as a name: servers refuse longer addresses. */
const MAX_STRING_BYTES = 16 * 1024;

/** Levels of nesting whose names are known: a rule book cannot allow more. */
const MAX_LEVELS = 100_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const SLASH = 0x2f;
const UPPER_H = 0x48;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const LOWER_H = 0x68;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The recorded edits of a response, and the number of all others. */
type RecordedEdits = Pick<RewrittenResponse, 'records' | 'omitted' | 'patch'>;

/** Rewrites the links of a JSON text: every string value at any depth. The text itself is not checked. */
export class LinkReader {
  /** The first links that were rewritten, each with the pointer of its member, never with a value. */
  readonly records: ResponseRecord[] = [];
  /** Number of links that were rewritten. */
  count = 0;
  private readonly turn: (text: string) => string;
  /** The path to the next value: for each container an index, or a name as spelled. */
  private readonly steps: (number | Uint8Array)[] = [];
  /** True if the next string of an object is a name. */
  private awaitsName = false;

  /** `turn` returns the client's form of a link, and any other text unchanged. */
  constructor(turn: (text: string) => string) {
    this.turn = turn;
  }

  /** Adds the edits of links to those of the rules, and removes the patch, which would contain the values of links. */
  withLinkRecords<Edits extends RecordedEdits>(known: Edits): Edits {
    if (this.count === 0) return known;
    const { records, omitted } = known;
    const all = [...records, ...this.records.slice(0, Math.max(1, MAX_RECORDS - records.length))];
    return { ...known, records: all, omitted: omitted + records.length + this.count - all.length, patch: [] };
  }

  /** Reads the next bytes; returns the offset up to which they are final. */
  read(bytes: Uint8Array, edits: Edit[]): number {
    const { steps } = this;
    let at = 0;
    while (at < bytes.length) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        const end = stringEnd(bytes, at, bytes.length + 1);
        if (end > bytes.length) return this.unfinished(bytes, at);
        this.readString(bytes, at, end, edits);
        this.awaitsName = false;
        at = end;
        continue;
      }
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        this.awaitsName = byte === OPEN_OBJECT;
        if (steps.length < MAX_LEVELS) steps.push(this.awaitsName ? NO_BYTES : 0);
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        steps.pop();
        this.awaitsName = false;
      } else if (byte === COMMA) {
        const step = steps.pop() ?? 0;
        this.awaitsName = typeof step !== 'number';
        steps.push(typeof step === 'number' ? step + 1 : step);
      }
      at += 1;
    }
    return at;
  }

  /** Returns the offset up to which bytes are final if a string is not complete. */
  protected unfinished(bytes: Uint8Array, _at: number): number {
    return bytes.length;
  }

  protected readString(bytes: Uint8Array, start: number, end: number, edits: Edit[]): void {
    const { steps, records } = this;
    if (this.awaitsName) {
      steps[steps.length - 1] = bytes.subarray(start, end);
      return;
    }
    if (end - start > MAX_STRING_BYTES || !mayBeLink(bytes, start + 1)) return;
    const text = decodeString(bytes, start, end);
    const turned = this.turn(text);
    if (turned === text) return;
    edits.push({ start, end, insert: printString(turned) });
    this.count += 1;
    if (records.length === MAX_RECORDS) return;
    const path = pointerOf(
      steps.map((step) => (typeof step === 'number' ? step : decodeString(step, 0, step.length))),
    );
    records.push({ change: MOVED, rule: 'map', from: path, path });
  }
}

/** Rewrites links while their text arrives. It holds back at most one string, unless that is too long for a link. */
export class LinkStream extends LinkReader {
  /** The beginning of a string whose end has not arrived. */
  private rest: Uint8Array = NO_BYTES;
  /** True within a string that is too long for a link. */
  private isInLong = false;

  /** Takes the next part, which must not change later; returns the bytes that can be sent to the client. */
  push(part: Uint8Array): Uint8Array {
    // The rest of a long string is read as one that begins here.
    const lead = this.isInLong ? QUOTES : NO_BYTES;
    const bytes = lead.length + this.rest.length === 0 ? part : concatBytes([lead, this.rest, part]);
    const edits: Edit[] = [];
    const end = this.read(bytes, edits);
    this.rest = bytes.subarray(end);
    const read = bytes.subarray(0, end);
    return (edits.length === 0 ? read : applyEdits(read, edits)).subarray(lead.length);
  }

  /** Ends the text: returns the rest of a text that breaks off within a string. */
  end(): Uint8Array {
    return this.rest;
  }

  /** Holds back all of a short string, and half an escape of a long one. */
  protected override unfinished(bytes: Uint8Array, at: number): number {
    if (!this.isInLong && bytes.length - at <= MAX_STRING_BYTES) return at;
    this.isInLong = true;
    let end = bytes.length;
    while (bytes[end - 1] === BACKSLASH) end -= 1;
    return bytes.length - ((bytes.length - end) % 2);
  }

  protected override readString(bytes: Uint8Array, start: number, end: number, edits: Edit[]): void {
    if (!this.isInLong) super.readString(bytes, start, end, edits);
    this.isInLong = false;
  }
}

const QUOTES = Uint8Array.of(QUOTE);

/** True for a string that begins like an address: with a slash, escaped or not, or with `http`. */
function mayBeLink(bytes: Uint8Array, start: number): boolean {
  const first = bytes[start];
  return first === SLASH || first === BACKSLASH || first === LOWER_H || first === UPPER_H;
}
