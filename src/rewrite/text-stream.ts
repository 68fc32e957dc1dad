import { hasByteOrderMark } from '../json/document.ts';
import { isSpace } from '../json/scanner.ts';
import { NO_BYTES, bytesOfText } from '../json/names.ts';
import { ByteCollector, concatBytes } from '../http/byte-collector.ts';
import { looksLikeJson, type TextFormat } from '../http/content.ts';
import { applyEdits, type Edit } from '../json/edit.ts';
import { takesRecord } from '../edits/recorder.ts';
import type { RuleName } from '../edits/records.ts';
import type { EditRecord, PatchOperation, Refusal, Rewrite } from './records.ts';
import type { ResponseRecord, ResponseRewrite } from './response-rules.ts';

const LINE_FEED = 0x0a;
const RECORD_SEPARATOR = 0x1e;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const SPACE = 0x20;
const CARRIAGE_RETURN = 0x0d;
const COLON = 0x3a;
const DATA = bytesOfText('data:');

/** Maximum recorded edits of one stream: further edits are applied and counted. */
export const MAX_STREAM_RECORDS = 100;

/** The rules for a stream of one kind of body. */
export interface StreamRules<Outcome> {
  /** Maximum bytes of one text, or of the fields of a form. */
  readonly limit: number;
  /** Reserves memory for bytes that are held until their text is complete; false if there is not enough. */
  readonly hold: (bytes: number) => boolean;
  /** Rewrites one JSON text. */
  readonly rewrite: (text: Uint8Array) => Outcome;
}

/** The result for a part of a stream: the bytes to send, and the refusal that ends it. */
export interface StreamOutput {
  /** May share memory with the part. Empty if nothing can be sent yet. */
  readonly bytes: Uint8Array;
  /** Why the rest is not sent: the whole body is then refused, even if V2 has some of it. */
  readonly refusal?: Refusal | undefined;
}

/** The edits of a stream so far. Pointers begin with the number of the text, as if the texts were the elements of a list. */
export interface StreamFindings<Record, Note extends string = string> {
  readonly records: readonly Record[];
  readonly patch: readonly PatchOperation[];
  /** Edits that were applied but not recorded; there is no patch then. */
  readonly omitted: number;
  /** True once a byte was changed. */
  readonly isRewritten: boolean;
  /** The first reason why rules were not applied to some of it. */
  readonly note: Note | undefined;
}

/** A body that is rewritten while it arrives. */
export interface BodyStream<Record = EditRecord, Note extends string = string> {
  readonly findings: StreamFindings<Record, Note>;
  /** Takes the next part of the body, which it does not keep. */
  push(part: Uint8Array): StreamOutput;
  /** Takes the end of the body. */
  end(): StreamOutput;
}

/** A piece of a stream: a text with the white space and separator around it. */
interface Piece {
  readonly bytes: Uint8Array;
  /** `part` is a part of a text that exceeds the limit or the available memory. */
  readonly kind: 'text' | 'blank' | 'part';
  readonly why?: 'too-large' | 'buffer-full';
  /** True for the last part of a text. */
  readonly isLast?: boolean;
}

/**
 * Splits a body into JSON texts, wherever the parts of its bytes end. A text is complete with its line feed, without waiting for the next
 * text. In `json-seq` a text may contain line feeds (RFC 7464 §2.2), and a record separator ends a truncated one. An event ends with an
 * empty line, and a comment before an event with its line, so that it can keep the connection open.
 */
class TextSplitter {
  private readonly format: TextFormat;
  private readonly limit: number;
  private readonly hold: (bytes: number) => boolean;
  private held = new ByteCollector();
  /** Maximum bytes reserved so far. */
  private reserved = 0;
  private unbounded: 'too-large' | 'buffer-full' | undefined = undefined;
  // The state of the `json-seq` reader within a text.
  private hasBegun = false;
  private hasContent = false;
  private depth = 0;
  private isInString = false;
  private isEscaped = false;
  // The state of the event reader.
  private isLineEmpty = true;
  private isComment = false;
  /** True once the event has a line that is not a comment. */
  private hasLines = false;
  /** True after a carriage return, to which a line feed may belong. */
  private isBehindReturn = false;

  constructor(format: TextFormat, { limit, hold }: Pick<StreamRules<unknown>, 'limit' | 'hold'>) {
    this.format = format;
    this.limit = limit;
    this.hold = hold;
  }

  *pieces(part: Uint8Array): Generator<Piece, void> {
    for (let start = 0; start < part.length;) {
      const end = this.endOf(part, start);
      const bytes = part.subarray(start, end === -1 ? part.length : end);
      const piece = this.pieceOf(bytes, end !== -1);
      if (piece !== undefined) yield piece;
      start += bytes.length;
    }
  }

  /** Returns the last text of the body if its separator is missing. */
  rest(): Piece | undefined {
    return this.unbounded === undefined && this.held.length > 0 ? this.whole(this.held.take()) : undefined;
  }

  private pieceOf(bytes: Uint8Array, isLast: boolean): Piece | undefined {
    const { held } = this;
    if (this.unbounded === undefined) {
      if (held.length + bytes.length > this.limit) this.unbounded = 'too-large';
      else if (isLast && held.length === 0) return this.whole(bytes);
      // White space that keeps a connection open must not wait for the next text.
      else if (
        held.length === 0 &&
        this.format !== 'events' &&
        isBlank(bytes[0] ?? 0) &&
        bytes.every(isSpace)
      )
        return this.whole(bytes);
      else if (!this.keep(bytes)) this.unbounded = 'buffer-full';
      else return isLast ? this.whole(held.take()) : undefined;
    }
    const why = this.unbounded;
    if (isLast) this.unbounded = undefined;
    return { bytes: held.length > 0 ? concatBytes([held.take(), bytes]) : bytes, kind: 'part', why, isLast };
  }

  /** A comment before an event is a separate piece. */
  private whole(bytes: Uint8Array): Piece {
    const isComment = this.format === 'events' && bytes[0] === COLON;
    return { bytes, kind: isComment || bytes.every(isBlank) ? 'blank' : 'text' };
  }

  private keep(bytes: Uint8Array): boolean {
    const more = this.held.length + bytes.length - this.reserved;
    if (more > 0) {
      // Doubles each time, so that a text in many small parts rarely needs a new reservation.
      const wanted = Math.min(Math.max(more, this.reserved, 1024), this.limit);
      if (!this.hold(wanted)) return false;
      this.reserved += wanted;
    }
    this.held.add(bytes, true);
    return true;
  }

  private endOf(part: Uint8Array, start: number): number {
    if (this.format === 'ndjson') return endOfLine(part, start);
    if (this.format === 'events') return this.endOfEvent(part, start);
    return this.endOfSequenceText(part, start);
  }

  /** Lines end with CR, LF or both; an LF that arrives after the CR that ended an event is a separate piece. */
  private endOfEvent(part: Uint8Array, start: number): number {
    for (let at = start; at < part.length; at += 1) {
      const byte = part[at] ?? 0;
      const isLate = byte === LINE_FEED && this.isBehindReturn;
      this.isBehindReturn = byte === CARRIAGE_RETURN;
      if (isLate) {
        if (at === start && this.held.length === 0 && this.unbounded === undefined) return at + 1;
        continue;
      }
      if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) {
        if (this.isLineEmpty) this.isComment = byte === COLON;
        this.isLineEmpty = false;
        continue;
      }
      const isEnd = this.isLineEmpty || (this.isComment && !this.hasLines);
      this.hasLines = !isEnd && (this.hasLines || !this.isComment);
      this.isLineEmpty = true;
      if (!isEnd) continue;
      if (byte !== CARRIAGE_RETURN || part[at + 1] !== LINE_FEED) return at + 1;
      this.isBehindReturn = false;
      return at + 2;
    }
    return -1;
  }

  /** Returns where the text that begins at `start` ends; -1 if not in this part. */
  private endOfSequenceText(part: Uint8Array, start: number): number {
    for (let at = start; at < part.length; at += 1) {
      const byte = part[at] ?? 0;
      if (byte === RECORD_SEPARATOR && this.hasBegun) {
        this.restart();
        return at;
      }
      this.hasBegun = true;
      if (this.isInString) this.readInString(byte);
      else if (byte === LINE_FEED && this.hasContent && this.depth <= 0) {
        this.restart();
        return at + 1;
      } else if (byte !== RECORD_SEPARATOR) this.readOutside(byte);
    }
    return -1;
  }

  private readInString(byte: number): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (byte === BACKSLASH) this.isEscaped = true;
    else if (byte === QUOTE) this.isInString = false;
  }

  private readOutside(byte: number): void {
    if (byte === OPEN || byte === OPEN_LIST) this.depth += 1;
    if (byte === CLOSE || byte === CLOSE_LIST) this.depth -= 1;
    if (byte === QUOTE) this.isInString = true;
    if (byte > SPACE) this.hasContent = true;
  }

  private restart(): void {
    this.hasBegun = this.hasContent = this.isInString = this.isEscaped = false;
    this.depth = 0;
  }
}

function endOfLine(part: Uint8Array, start: number): number {
  const at = part.indexOf(LINE_FEED, start);
  return at === -1 ? -1 : at + 1;
}

function isBlank(byte: number): boolean {
  return isSpace(byte) || byte === RECORD_SEPARATOR;
}

interface Placed {
  readonly from?: string;
  readonly path?: string;
}

/** The bytes to send for one part, and the findings so far. */
abstract class TextStream<
  Record extends Placed & RuleName,
  Outcome,
  Note extends string,
> implements BodyStream<Record, Note> {
  /** Edits against the whole body, if they are kept. */
  readonly edits: Edit[] | undefined;
  protected readonly rules: StreamRules<Outcome>;
  protected readonly format: TextFormat;
  /** Number of texts so far, without blank lines. */
  protected texts = 0;
  protected note: Note | undefined = undefined;
  /** Bytes and pieces before the current one. */
  protected offset = 0;
  protected lines = 0;
  private readonly splitter: TextSplitter;
  private records: Record[] = [];
  private patch: PatchOperation[] = [];
  private omitted = 0;
  private hasChanged = false;
  private isPatchable = true;

  /** `keepsEdits` keeps all edits, for a body that is already complete. */
  constructor(format: TextFormat, rules: StreamRules<Outcome>, keepsEdits = false) {
    this.format = format;
    this.rules = rules;
    this.splitter = new TextSplitter(format, rules);
    this.edits = keepsEdits ? [] : undefined;
  }

  get findings(): StreamFindings<Record, Note> {
    const { records, omitted, hasChanged: isRewritten, note } = this;
    return { records, patch: this.isPatchable ? this.patch : [], omitted, isRewritten, note };
  }

  push(part: Uint8Array): StreamOutput {
    const output = new Output();
    for (const piece of this.splitter.pieces(part)) {
      const refusal = this.take(piece, output);
      if (refusal !== undefined) return { bytes: NO_BYTES, refusal };
    }
    return { bytes: output.take() };
  }

  end(): StreamOutput {
    const output = new Output();
    const rest = this.splitter.rest();
    const refusal = rest && this.take(rest, output);
    return refusal === undefined ? { bytes: output.take() } : { bytes: NO_BYTES, refusal };
  }

  /** Handles a piece that is not a text, or exceeds the limit; a refusal ends the stream. */
  protected abstract unread(why: 'too-large' | 'buffer-full' | 'no-separator'): Refusal | undefined;

  /** Applies the rules to one text. */
  protected abstract apply(text: Uint8Array): Refusal | undefined | Applied<Record>;

  private take(piece: Piece, output: Output): Refusal | undefined {
    const { bytes, kind } = piece;
    const refusal = kind === 'text' ? this.takeText(bytes, output) : this.takeOther(piece, output);
    this.offset += bytes.length;
    this.lines += 1;
    return refusal;
  }

  private takeOther({ bytes, why, isLast }: Piece, output: Output): Refusal | undefined {
    output.add(bytes);
    const refusal = why === undefined ? undefined : this.unread(why);
    if (isLast === true) this.texts += 1;
    return refusal;
  }

  private takeText(bytes: Uint8Array, output: Output): Refusal | undefined {
    const from = bytes[0] === RECORD_SEPARATOR ? 1 : 0;
    if (this.format === 'json-seq' && from === 0) {
      output.add(bytes);
      return this.unread('no-separator');
    }
    const text = from === 0 ? bytes : bytes.subarray(from);
    const applied = this.apply(text);
    if (applied !== undefined && 'code' in applied) return applied;
    this.texts += 1;
    if (applied === undefined) {
      output.add(bytes);
      return undefined;
    }
    this.find(applied, this.texts - 1, from);
    if (applied.body === text) output.add(bytes);
    else {
      this.hasChanged = true;
      output.add(bytes.subarray(0, from));
      output.add(applied.body);
    }
    return undefined;
  }

  private find({ records, patch, omitted, edits }: Applied<Record>, index: number, from: number): void {
    const prefix = `/${index}`;
    const all = this.records.length + records.length;
    for (const record of records)
      if (takesRecord(this.records, record, MAX_STREAM_RECORDS)) this.records.push(placedIn(record, prefix));
    this.omitted += omitted + all - this.records.length;
    this.isPatchable &&=
      this.omitted === 0 && (patch.length > 0 || records.every(({ path }) => path === undefined));
    if (this.isPatchable) this.patch.push(...patch.map((operation) => placedIn(operation, prefix)));
    else this.patch = [];
    const at = this.offset + from;
    for (const { start, end, insert } of this.edits === undefined ? [] : edits)
      this.edits?.push({ start: at + start, end: at + end, insert });
  }
}

/** The effect of the rules on one text. */
interface Applied<Record> {
  /** The text itself if no byte changed. */
  readonly body: Uint8Array;
  readonly records: readonly Record[];
  readonly patch: readonly PatchOperation[];
  readonly omitted: number;
  readonly edits: readonly Edit[];
}

/** Makes pointers relative to the whole body, given a part such as one of several texts. */
export function placedIn<Place extends Placed>(place: Place, prefix: string): Place {
  const { from, path } = place;
  return {
    ...place,
    ...(from !== undefined && { from: prefix + from }),
    ...(path !== undefined && { path: prefix + path }),
  };
}

type Position = NonNullable<Refusal['position']>;

/** The texts of a request body. If one cannot be read, the gateway refuses the body, as it does for a JSON body. */
export class RequestTexts extends TextStream<EditRecord, Rewrite, string> {
  protected unread(why: 'too-large' | 'buffer-full' | 'no-separator'): Refusal | undefined {
    return refusalOf(why, this.texts, this.rules.limit, this.offset);
  }

  protected apply(text: Uint8Array): Refusal | Applied<EditRecord> {
    const outcome = this.rules.rewrite(text);
    if (outcome.verdict === 'refused') return this.placed(outcome.refusal);
    if (outcome.verdict === 'rewritten') return outcome;
    this.note ??= outcome.note;
    return { body: text, records: outcome.records, patch: [], omitted: 0, edits: [] };
  }

  private placed(refusal: Refusal): Refusal {
    const { pointer, position } = refusal;
    const detail = `Text ${this.texts + 1} of the stream: ${refusal.detail}`;
    return {
      ...refusal,
      detail,
      ...(pointer !== undefined && { pointer: `/${this.texts}${pointer}` }),
      ...(position !== undefined && { position: this.positionInBody(position) }),
    };
  }

  /** In NDJSON, a text is a line; in a sequence, lines are counted from the beginning of the text. */
  private positionInBody({ offset, line, column }: Position): Position {
    const isSequence = this.format === 'json-seq';
    return {
      offset: this.offset + offset + (isSequence ? 1 : 0),
      line: isSequence ? line : this.lines + line,
      column,
    };
  }
}

function refusalOf(
  why: 'too-large' | 'buffer-full' | 'no-separator',
  index: number,
  limit: number,
  offset: number,
): Refusal {
  switch (why) {
    case 'too-large':
      return {
        code: 'body-too-large',
        status: 413,
        detail: `Text ${index + 1} of the stream is larger than ${limit} bytes.`,
      };
    case 'buffer-full':
      return {
        code: 'buffer-full',
        status: 503,
        detail: `There is no memory left to read text ${index + 1} of the stream; send it again later.`,
      };
    case 'no-separator':
      return {
        code: 'malformed-json',
        status: 400,
        detail: `Text ${index + 1} of the stream does not begin with a record separator (0x1E, RFC 7464).`,
        position: { offset, line: 1, column: 1 },
      };
  }
}

/** Why rules were not applied to a text of a response. */
export type TextNote =
  | 'response-malformed'
  | 'response-too-large'
  | 'response-buffer-full'
  | 'response-no-resource';

/** The texts of a response. One that cannot be read stays unchanged, as a JSON response does, and the next is rewritten. */
export class ResponseTexts extends TextStream<ResponseRecord, ResponseRewrite, TextNote> {
  protected unread(why: 'too-large' | 'buffer-full' | 'no-separator'): undefined {
    this.note ??= why === 'no-separator' ? 'response-malformed' : `response-${why}`;
    return undefined;
  }

  protected apply(text: Uint8Array): Applied<ResponseRecord> | undefined {
    if (this.format === 'events') return this.applyToEvent(text);
    const outcome = this.rules.rewrite(text);
    if (outcome.verdict === 'rewritten') return outcome;
    this.note ??= outcome.note;
    return undefined;
  }

  /** The data of an event may be any text, such as `[DONE]`: only data that begins like an object should be JSON. */
  private applyToEvent(event: Uint8Array): Applied<ResponseRecord> | undefined {
    const data = dataOf(event, this.offset === 0);
    if (looksLikeJson(data.text) !== true) return undefined;
    const outcome = this.rules.rewrite(data.text);
    if (outcome.verdict === 'rewritten') {
      const edits = outcome.edits.flatMap((edit) => inEvent(edit, data));
      return { ...outcome, edits, body: applyEdits(event, edits) };
    }
    this.note ??= outcome.note;
    return undefined;
  }
}

/** The data of an event, its lines joined by line feeds. */
interface EventData {
  readonly text: Uint8Array;
  /** The position of each of its bytes in the event, and of its end; for a line feed, the end of its line. */
  readonly places: Uint32Array;
}

function dataOf(event: Uint8Array, isFirst: boolean): EventData {
  const text = new Uint8Array(event.length);
  const places = new Uint32Array(event.length + 1);
  let length = 0;
  let lines = 0;
  // The stream may begin with a byte order mark.
  const first = isFirst && hasByteOrderMark(event) ? 3 : 0;
  for (let start = first, end = 0; start < event.length; start = end + 1) {
    end = start;
    while (end < event.length && event[end] !== LINE_FEED && event[end] !== CARRIAGE_RETURN) end += 1;
    if (!isData(event, start)) continue;
    if (lines > 0) {
      text[length] = LINE_FEED;
      length += 1;
    }
    lines += 1;
    const from = start + DATA.length + (event[start + DATA.length] === SPACE ? 1 : 0);
    text.set(event.subarray(from, end), length);
    for (let at = from; at < end; at += 1) places[length + at - from] = at;
    length += end - from;
    places[length] = end;
  }
  return { text: text.subarray(0, length), places };
}

function isData(event: Uint8Array, start: number): boolean {
  for (const [at, byte] of DATA.entries()) if (event[start + at] !== byte) return false;
  return true;
}

/** Converts an edit of the data to edits of the event, one for each line, so that everything between the lines stays. */
function inEvent({ start, end, insert }: Edit, { text, places }: EventData): readonly Edit[] {
  const edits: Edit[] = [];
  let from = start;
  for (let at = start; at <= end; at += 1) {
    if (at < end && text[at] !== LINE_FEED) continue;
    const place = places[from] ?? 0;
    const added = from === start ? inData(insert) : NO_BYTES;
    if (at > from || added.length > 0) edits.push({ start: place, end: place + at - from, insert: added });
    from = at + 1;
  }
  return edits;
}

/** Text that rules insert may contain line feeds of the data: each begins a new data line. */
function inData(insert: Uint8Array): Uint8Array {
  if (!insert.includes(LINE_FEED)) return insert;
  const parts: Uint8Array[] = [];
  for (let start = 0; start <= insert.length;) {
    const end = endOfLine(insert, start);
    parts.push(insert.subarray(start, end === -1 ? insert.length : end));
    if (end === -1) break;
    parts.push(DATA);
    start = end;
  }
  return concatBytes(parts);
}

/** Rewrites a complete body with a stream that keeps its edits. */
export function rewriteWhole(
  stream: BodyStream & { readonly edits: readonly Edit[] | undefined },
  body: Uint8Array,
): Rewrite {
  const first = stream.push(body);
  const last = first.refusal === undefined ? stream.end() : first;
  if (last.refusal !== undefined) return { verdict: 'refused', refusal: last.refusal };
  const { records, patch, omitted, isRewritten, note } = stream.findings;
  if (!isRewritten) return { verdict: 'unchanged', body, records, ...(note !== undefined && { note }) };
  const edits = stream.edits ?? [];
  // Copied even if it is only the end of the body.
  const bytes =
    last.bytes.length === 0 && first.bytes.buffer !== body.buffer
      ? first.bytes
      : concatBytes([first.bytes, last.bytes]);
  return { verdict: 'rewritten', body: bytes, edits, records, patch, omitted };
}

/** The bytes to send for one part. Adjacent bytes stay one view of the part, without a copy. */
class Output {
  private readonly parts: Uint8Array[] = [];

  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const last = this.parts.at(-1);
    if (
      last !== undefined &&
      last.buffer === bytes.buffer &&
      last.byteOffset + last.length === bytes.byteOffset
    )
      this.parts[this.parts.length - 1] = new Uint8Array(
        last.buffer,
        last.byteOffset,
        last.length + bytes.length,
      );
    else this.parts.push(bytes);
  }

  take(): Uint8Array {
    const [first = NO_BYTES] = this.parts;
    return this.parts.length > 1 ? concatBytes(this.parts) : first;
  }
}
