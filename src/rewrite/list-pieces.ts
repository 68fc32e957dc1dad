import { concatBytes } from '../http/byte-collector.ts';
import { bytesOfText, NO_BYTES, stringText, textOfBytes } from '../json/names.ts';
import { pointerToken } from '../json/pointer.ts';
import { skipSpace } from '../json/scanner.ts';
import type { PatchOperation } from './records.ts';
import { MAX_RECORDS, takesRecord } from '../edits/recorder.ts';
import type { ResponseRecord, ResponseRewrite, RewrittenResponse } from './response-rules.ts';

/** A piece of at least this many bytes ends with its element: even very small elements then take only a few megabytes of memory. */
const PIECE_BYTES = 32 * 1024;

/** Longest spelling of a key that is compared, in bytes: no rule has a longer name, even if fully escaped. */
const MAX_KEY_BYTES = 8 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The result of rewriting a list in pieces. */
export interface ListOutcome {
  readonly records: readonly ResponseRecord[];
  readonly omitted: number;
  readonly patch: readonly PatchOperation[];
  /** Why some of it is not rewritten. */
  readonly note: ListNote | undefined;
}

type ListNote = 'response-malformed' | 'response-buffer-full' | 'response-too-large';

/**
 * Rewrites the elements of a list in a response, a few at a time, while the response arrives: only the elements of the current piece take
 * memory, even for a very long list. Each piece is a response of its own, with the members around the list, so that the plan for the
 * whole response rewrites it; that plan must have rules for elements of this list only.
 *
 * The response around the list is not checked: `outside` gets it, with an empty list in place of the rewritten one.
 */
export class ListPieces {
  /** Number of lists that were found. */
  lists = 0;
  /** True if a name on the path to the list occurred twice, so that parsers could find different lists. */
  isAmbiguous = false;
  /** Number of pieces that were emitted. */
  pieces = 0;
  private readonly path: readonly string[];
  private readonly before: Uint8Array;
  private readonly after: Uint8Array;
  private readonly pointer: string;
  private readonly rewrite: (piece: Uint8Array) => ResponseRewrite;
  private readonly emit: (part: Uint8Array) => void;
  private readonly outside: ((part: Uint8Array) => void) | undefined;
  /** The bytes from `from` to `to` are not emitted yet; those before `at` are read. */
  private bytes: Uint8Array = NO_BYTES;
  private from = 0;
  private at = 0;
  private to = 0;
  private isInString = false;
  private isEscaped = false;
  /** The depth of the next byte, and how many of the names on the path lead to its innermost container on the path. */
  private depth = 0;
  private matched = 0;
  /** True if the next string of the object on the path is a key. */
  private awaitsKey = false;
  private keyAt = -1;
  /** True after a key that is the next name of the path. */
  private isOnPath = false;
  /** True if the response is an object. */
  private isObject = false;
  private readonly seen: number[] = [];
  /** Depth of the list; 0 outside it. */
  private listDepth = 0;
  /** Elements of the list before this piece, and in it. */
  private elements = 0;
  private inPiece = 0;
  private note: ListNote | undefined = undefined;
  private readonly records: ResponseRecord[] = [];
  private count = 0;
  private readonly patch: PatchOperation[] = [];
  private isPatchable = true;

  /**
   * `path` has the names that lead to the list; it is empty if the response is the list. `emit` gets the response in parts, each in its
   * own memory.
   */
  constructor(
    path: readonly string[],
    rewrite: (piece: Uint8Array) => ResponseRewrite,
    emit: (part: Uint8Array) => void,
    outside?: (part: Uint8Array) => void,
  ) {
    this.path = path;
    this.rewrite = rewrite;
    this.emit = emit;
    this.outside = outside;
    this.pointer = path.map((name) => `/${pointerToken(name)}`).join('');
    this.before = bytesOfText(`${path.map((name) => `{${JSON.stringify(name)}:`).join('')}[`);
    this.after = bytesOfText(`]${'}'.repeat(path.length)}`);
  }

  /** Bytes held until their piece is complete. */
  get held(): number {
    return this.to - this.from;
  }

  /** Takes the next part of the response, which is copied. */
  push(part: Uint8Array): void {
    this.append(part);
    if (this.note === undefined) this.read();
    if (this.note !== undefined) this.pass(this.to);
    else if (this.listDepth === 0) this.pass(this.keyAt === -1 ? this.at : this.keyAt);
  }

  /** Stops rewriting: the rest of the response stays unchanged. */
  giveUp(note: ListNote): void {
    this.note ??= note;
    this.pass(this.to);
  }

  /** Takes the whole responsewithout copying it: `bytes` must not change until the end. */
  pushWhole(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.to = bytes.length;
    this.read();
  }

  /** Ends the response. If it breaks off within the list, the rest stays unchanged. */
  end(): ListOutcome {
    if (this.listDepth > 0) this.note ??= 'response-malformed';
    this.pass(this.to);
    const { records, count, patch, note } = this;
    const omitted = Math.max(0, count - records.length);
    return { records, omitted, patch: omitted === 0 && this.isPatchable ? patch : [], note };
  }

  private append(part: Uint8Array): void {
    const { bytes, from, to } = this;
    const held = to - from;
    if (to + part.length > bytes.length) {
      const needed = held + part.length;
      // Half of the buffer is free after each move, so that on average each byte is moved at most twice.
      const target = needed * 2 > bytes.length ? new Uint8Array(needed * 2) : bytes;
      if (target === bytes) bytes.copyWithin(0, from, to);
      else target.set(bytes.subarray(from, to));
      this.bytes = target;
      this.at -= from;
      if (this.keyAt >= 0) this.keyAt -= from;
      this.from = 0;
      this.to = held;
    }
    this.bytes.set(part, this.to);
    this.to += part.length;
  }

  private read(): void {
    while (this.at < this.to && this.note === undefined) {
      if (this.isInString) this.readString();
      else this.readByte(this.bytes[this.at] ?? 0);
    }
  }

  private readString(): void {
    const { bytes, to } = this;
    let { at } = this;
    for (;;) {
      if (this.isEscaped && at < to) {
        this.isEscaped = false;
        at += 1;
      }
      while (at < to && bytes[at] !== QUOTE && bytes[at] !== BACKSLASH) at += 1;
      if (at >= to) break;
      this.isEscaped = bytes[at] === BACKSLASH;
      at += 1;
      if (this.isEscaped) continue;
      this.isInString = false;
      break;
    }
    this.at = at;
    if (this.keyAt === -1) return;
    if (at - this.keyAt > MAX_KEY_BYTES) this.keyAt = -1;
    else if (!this.isInString) this.readKey(bytes.subarray(this.keyAt + 1, at - 1));
  }

  private readKey(raw: Uint8Array): void {
    const { matched } = this;
    this.keyAt = -1;
    this.isOnPath = stringText(textOfBytes(raw)) === this.path[matched];
    if (!this.isOnPath) return;
    this.isAmbiguous ||= (this.seen[matched] ?? 0) > 0;
    this.seen[matched] = (this.seen[matched] ?? 0) + 1;
  }

  private readByte(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.isInString = true;
        if (this.awaitsKey && this.isAtPath) this.keyAt = this.at;
        break;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        this.open(byte);
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        this.close();
        break;
      case COMMA:
        if (this.listDepth > 0 && this.depth === this.listDepth) this.comma();
        else if (this.isAtPath) {
          this.awaitsKey = true;
          this.isOnPath = false;
        }
        break;
      case COLON:
        if (this.isAtPath) this.awaitsKey = false;
        break;
    }
    this.at += 1;
  }

  /** True in the innermost object on the path to the list. */
  private get isAtPath(): boolean {
    return this.listDepth === 0 && this.isObject && this.depth === this.matched + 1;
  }

  private open(byte: number): void {
    const { path, depth, isOnPath } = this;
    const isHere = isOnPath && this.isAtPath;
    this.depth = depth + 1;
    if (this.listDepth > 0) return;
    this.isOnPath = false;
    if (depth === 0) {
      if (path.length === 0 && byte === OPEN_ARRAY) this.begin();
      this.isObject = byte === OPEN_OBJECT;
      this.awaitsKey = this.isObject;
    } else if (isHere && this.matched + 1 === path.length) {
      if (byte === OPEN_ARRAY) this.begin();
    } else if (isHere && byte === OPEN_OBJECT) {
      this.matched += 1;
      this.awaitsKey = true;
    }
  }

  private close(): void {
    if (this.listDepth > 0 && this.depth === this.listDepth) this.finish();
    else if (this.matched > 0 && this.isAtPath) this.matched -= 1;
    this.depth -= 1;
    this.awaitsKey = false;
    this.isOnPath = false;
  }

  private begin(): void {
    this.lists += 1;
    this.listDepth = this.depth;
    this.elements = 0;
    this.inPiece = 0;
    this.pass(this.at + 1);
  }

  private comma(): void {
    this.inPiece += 1;
    if (this.at - this.from < PIECE_BYTES) return;
    this.piece(false);
    if (this.note !== undefined) return;
    this.elements += this.inPiece;
    this.inPiece = 0;
    // The comma itself belongs to the list.
    this.emitTo(this.at + 1);
  }

  private finish(): void {
    this.piece(this.elements === 0 && this.inPiece === 0);
    if (this.note === undefined) this.listDepth = 0;
  }

  /** Rewrites the waiting elements up to here; only an empty list has none. */
  private piece(mayBeEmpty: boolean): void {
    const { before, after, at } = this;
    const elements = this.bytes.subarray(this.from, at);
    if (skipSpace(elements, 0, elements.length) === elements.length) {
      if (mayBeEmpty) this.emitTo(at);
      else this.note = 'response-malformed';
      return;
    }
    const whole = concatBytes([before, elements, after]);
    const outcome = this.rewrite(whole);
    if (outcome.verdict === 'rewritten') this.record(outcome);
    else if (outcome.note !== undefined) {
      this.note = outcome.note === 'response-buffer-full' ? outcome.note : 'response-malformed';
      return;
    }
    this.pieces += 1;
    this.emit(outcome.body.subarray(before.length, outcome.body.length - after.length));
    this.from = at;
  }

  private record({ records, omitted, patch }: RewrittenResponse): void {
    const { elements, pointer } = this;
    const shifted = (place: string): string => {
      const index = place.slice(pointer.length + 1).split('/', 1)[0] ?? '';
      return `${pointer}/${Number(index) + elements}${place.slice(pointer.length + 1 + index.length)}`;
    };
    this.count += records.length + omitted;
    for (const record of records) {
      if (!takesRecord(this.records, record, MAX_RECORDS)) continue;
      const { from, path } = record;
      this.records.push({
        ...record,
        ...(from !== undefined && { from: shifted(from) }),
        ...(path !== undefined && { path: shifted(path) }),
      });
    }
    this.isPatchable &&= patch.length > 0 && omitted === 0;
    if (!this.isPatchable) return;
    for (const operation of patch)
      this.patch.push({
        ...operation,
        path: shifted(operation.path),
        ...('from' in operation && { from: shifted(operation.from) }),
      });
  }

  /** Emits bytes outside the list unchanged. */
  private pass(to: number): void {
    if (to <= this.from) return;
    const part = this.emitTo(to);
    this.outside?.(part);
  }

  private emitTo(to: number): Uint8Array {
    const part = this.bytes.slice(this.from, to);
    this.from = to;
    if (part.length > 0) this.emit(part);
    return part;
  }
}
