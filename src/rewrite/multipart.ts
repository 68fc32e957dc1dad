import { NO_BYTES, bytesOfText } from '../json/names.ts';
import { concatBytes, latin1Bytes, latin1Text } from '../http/byte-collector.ts';
import { type Charset, charsetNamed, UTF8 } from '../http/charset.ts';
import { readPartType } from '../http/content.ts';
import { applyEdits, type Edit } from '../json/edit.ts';
import { takesRecord } from '../edits/recorder.ts';
import { pointerToken } from '../json/pointer.ts';
import { unlimitedMemory } from '../json/tape.ts';
import {
  type AddedField,
  type FieldChange,
  type FormField,
  type FormPlan,
  modelOfFields,
  type NamePart,
} from './form.ts';
import type { EditRecord, PatchOperation, Refusal, Rewrite } from './records.ts';
import {
  type BodyStream,
  MAX_STREAM_RECORDS,
  placedIn,
  type StreamFindings,
  type StreamOutput,
} from './text-stream.ts';

const CR = 0x0d;
const LF = 0x0a;
const DASH = 0x2d;

/** Maximum bytes of files held for fields after them, which may change earlier fields. */
const HELD_FILE_BYTES = 256 * 1024;
/** Maximum bytes of an epilogue that are read; RFC 2046 §5.1.1 lets readers ignore it. */
const MAX_EPILOGUE = 4096;
/** Maximum bytes of a part's header section, and of the preamble. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Parts of one body: Rack reads 4,096, PHP 1,000. The rules run on all fields at once, in the thread that serves. */
const MAX_PARTS = 10_000;
/** Memory for a field in addition to its bytes. */
const FIELD_BYTES = 512;
/** Maximum fields that are read again because they follow a file: alternating files and fields would otherwise take a minute. */
const MAX_FIELDS_READ = 200_000;
/** Maximum white space after a boundary (RFC 2046 §5.1.1). */
const MAX_PADDING = 64;

const UNREAD = 'the text of a part is in a charset or a transfer encoding that the gateway does not read';
const ENDS = 'contains the boundary of the body';
const WRITES = 'cannot be written in the charset of its part';
const LONG_HEADER = `the header of a part is longer than ${MAX_HEADER_BYTES} bytes`;

/** The rules and limits for a multipart body. */
export interface MultipartRules {
  readonly boundary: string;
  readonly forms: Pick<FormPlan, 'apply' | 'refused'>;
  /** Rewrites a part that is JSON. */
  readonly rewriteJson: (text: Uint8Array) => Rewrite;
  /** Maximum bytes of all fields together. */
  readonly limit: number;
  /** Reserves memory for bytes that are held; false if there is not enough. */
  readonly hold: (bytes: number) => boolean;
  /** Bytes of files that are held for the fields behind them. */
  readonly heldFileBytes?: number;
}

/** A part of the body that waits to be sent. */
interface Segment {
  readonly at: number;
  readonly bytes: Uint8Array;
  /** The field that it contains; undefined for any other bytes. */
  readonly field?: { readonly index: number; readonly places: Places; readonly charset: Charset };
}

/** The positions of the name and the content of a part, in the bytes from its delimiter to the next one. */
interface Places {
  readonly name: { readonly start: number; readonly end: number };
  readonly content: { readonly start: number; readonly end: number };
}

interface PartHead {
  readonly kind: 'field' | 'json' | 'file' | 'unread';
  /** Of the text of a field or of JSON. */
  readonly charset: Charset;
  readonly name: string | undefined;
  /** True with a file name. */
  readonly isNamedFile: boolean;
  /** Position in the header section. */
  readonly start: number;
  readonly end: number;
}

/** The state of the reader. Positions are in the bytes that are not read yet. */
type State =
  | { readonly in: 'preamble' | 'delimiter' }
  /** `line` is the start of the first line that is not read yet. */
  | { readonly in: 'headers'; readonly start: number; line: number }
  | { readonly in: 'field'; readonly head: PartHead; readonly start: number; readonly content: number }
  /** The content is sent while it arrives; `isBegun` is true once some of it is read. */
  | { readonly in: 'file'; readonly isBegun: boolean }
  | { readonly in: 'epilogue'; readonly bytes: number }
  /** The rest of the body is forwarded unchanged. */
  | { readonly in: 'unread' };

const DELIMITER: State = { in: 'delimiter' };

/** The edits so far. */
interface Found {
  /** Of the fields. */
  fields: readonly EditRecord[];
  /** Of parts that are JSON, and of names of files. */
  readonly others: EditRecord[];
  patch: readonly PatchOperation[];
  omitted: number;
  note: string | undefined;
}

/**
 * The request rules of one operation for a body in `multipart/form-data` (RFC 7578), while it arrives. Fields are treated as those of a
 * form, each JSON part as a separate body; of files only the names change. Fields wait until all are read, because a rule may read
 * several. V2 then gets the same as if the body had been rewritten whole, or nothing. Every byte outside edits stays.
 */
export class MultipartStream implements BodyStream {
  readonly fields: FormField[] = [];
  private readonly rules: MultipartRules;
  private readonly source: Source;
  private state: State = { in: 'preamble' };
  private readonly found: Found = { fields: [], others: [], patch: [], omitted: 0, note: undefined };
  private readonly out: Outgoing;
  private fieldBytes = 0;
  private parts = 0;
  private reserved = 0;
  /** Fields read so far, counted again each time that the rules run. */
  private work = 0;

  /** `keepsEdits` keeps all edits, for a body that is already complete. */
  constructor(rules: MultipartRules, keepsEdits = false) {
    this.rules = rules;
    this.source = new Source(rules.boundary);
    this.out = new Outgoing(keepsEdits ? [] : undefined);
  }

  /** In order: the edits of a file are known before those of the fields before it. */
  get edits(): readonly Edit[] | undefined {
    return this.out.edits?.toSorted((one, other) => one.start - other.start);
  }

  get findings(): StreamFindings<EditRecord> {
    const { fields, others, note } = this.found;
    const records: EditRecord[] = [];
    for (const record of [...fields, ...others])
      if (takesRecord(records, record, MAX_STREAM_RECORDS)) records.push(record);
    const omitted = this.found.omitted + fields.length + others.length - records.length;
    const patch = omitted === 0 && others.length === 0 ? this.found.patch : [];
    return { records, patch, omitted, isRewritten: this.out.hasChanged, note };
  }

  push(part: Uint8Array): StreamOutput {
    this.source.append(part);
    for (;;) {
      const next = this.step(this.state);
      if (next === 'more') break;
      if ('code' in next) return { bytes: NO_BYTES, refusal: next };
      this.state = next;
    }
    const refusal = this.reserve();
    if (refusal !== undefined) return { bytes: NO_BYTES, refusal };
    // If nothing was sent before the last boundary, the body is complete, and V2 gets its length.
    const isNearlyWhole =
      this.state.in === 'epilogue' && !this.out.hasReleased && this.state.bytes <= MAX_EPILOGUE;
    return { bytes: isNearlyWhole ? NO_BYTES : this.out.take() };
  }

  end(): StreamOutput {
    const { state, source } = this;
    const isEmpty = source.at === 0 && source.bytes.length === 0;
    if (isEmpty || state.in === 'unread' || state.in === 'epilogue') return { bytes: this.out.take() };
    const next = this.fault('the body ends without its last boundary');
    return 'code' in next ? { bytes: NO_BYTES, refusal: next } : { bytes: this.out.take() };
  }

  /** Reserves memory for the bytes held since the last call. */
  private reserve(): Refusal | undefined {
    const held =
      this.source.bytes.length + this.out.waitingBytes + this.fieldBytes + this.fields.length * FIELD_BYTES;
    if (held <= this.reserved) return undefined;
    if (!this.rules.hold(held - this.reserved))
      return {
        code: 'buffer-full',
        status: 503,
        detail: 'There is no memory left to read the fields; send them again later.',
      };
    this.reserved = held;
    return undefined;
  }

  /** Reads as far as the available bytes allow; returns the new state. */
  private step(state: State): State | 'more' | Refusal {
    switch (state.in) {
      case 'preamble':
        return this.readPreamble();
      case 'delimiter':
        return this.readDelimiter();
      case 'headers':
        return this.readHeaders(state);
      case 'field':
        return this.readField(state);
      case 'file':
        return this.readFile(state);
      case 'epilogue':
      case 'unread': {
        const { length } = this.source.bytes;
        if (length === 0) return 'more';
        this.out.push(this.source.take(length).bytes);
        return state.in === 'unread' ? state : { in: 'epilogue', bytes: state.bytes + length };
      }
    }
  }

  private readPreamble(): State | 'more' | Refusal {
    const { bytes, delimiter } = this.source;
    if (bytes.length < delimiter.length) return 'more';
    const at = startsWith(bytes, delimiter, 0) ? 0 : this.source.findDelimiter(0);
    if (at === undefined) return this.fault('a bare line feed precedes a boundary');
    if (at === -1 ? bytes.length > MAX_HEADER_BYTES + delimiter.length : at > MAX_HEADER_BYTES)
      return this.fault('there is no boundary where the first part should begin');
    if (at === -1) return 'more';
    this.pass(at);
    return DELIMITER;
  }

  /** A boundary ends with its line, or with two hyphens if it is the last one. */
  private readDelimiter(): State | 'more' | Refusal {
    const { bytes, delimiter } = this.source;
    let at = delimiter.length;
    if (bytes[at] === DASH && bytes[at + 1] === DASH)
      return this.settle(true) ?? { in: 'epilogue', bytes: 0 };
    while (bytes[at] === 0x20 || bytes[at] === 0x09) at += 1;
    const isPadded = at - delimiter.length <= MAX_PADDING;
    if (at + 1 >= bytes.length && isPadded) return 'more';
    if (bytes[at] !== CR || bytes[at + 1] !== LF || !isPadded)
      return this.fault('a boundary is not followed by CR and LF: another reader might not take it for one');
    this.parts += 1;
    if (this.parts > MAX_PARTS)
      return { code: 'body-too-large', status: 413, detail: `The body has more than ${MAX_PARTS} parts.` };
    return { in: 'headers', start: at + 2, line: at + 2 };
  }

  private readHeaders(state: Extract<State, { in: 'headers' }>): State | 'more' | Refusal {
    const { bytes } = this.source;
    const { start } = state;
    const content = this.endOfHeaders(state);
    if (content === undefined) return this.fault('a line of a part’s header ends without CR and LF');
    if (content === -1) return bytes.length - start > MAX_HEADER_BYTES ? this.fault(LONG_HEADER) : 'more';
    if (content - start > MAX_HEADER_BYTES) return this.fault(LONG_HEADER);
    const head = readHead(bytes.subarray(start, content));
    if (head === undefined) return this.fault('the header of a part cannot be read');
    if (head.kind === 'unread') return this.fault(UNREAD);
    if (head.kind !== 'file') return { in: 'field', head, start, content };
    return this.passFileHead(head, start, content) ? { in: 'file', isBegun: false } : this.fault(UNREAD);
  }

  /** Returns where the content begins, after the empty line; -1 if more bytes are needed, undefined for a bare line feed. */
  private endOfHeaders(state: Extract<State, { in: 'headers' }>): number | undefined {
    const { bytes } = this.source;
    for (;;) {
      const feed = bytes.indexOf(LF, state.line);
      if (feed === -1) return -1;
      if (bytes[feed - 1] !== CR || feed === state.line) return undefined;
      if (feed === state.line + 1) return feed + 1;
      state.line = feed + 1;
    }
  }

  private readField(state: Extract<State, { in: 'field' }>): State | 'more' | Refusal {
    const { bytes } = this.source;
    // The CRLF after an empty header may also begin the next boundary: the part then has no content at all.
    const next = this.source.findDelimiter(state.content - 1);
    if (next === undefined) return this.fault('a bare line feed precedes a boundary');
    if (next === -1 && this.fieldBytes + bytes.length > this.rules.limit) return this.tooLarge();
    if (next === -1) return 'more';
    const content = { start: state.content, end: next - 2 };
    if (content.end < content.start) return this.fault('a part has no content');
    this.fieldBytes += next;
    if (this.fieldBytes > this.rules.limit) return this.tooLarge();
    const { head, start } = state;
    return head.kind === 'json'
      ? this.takeJson(head, content, next)
      : this.takeField(head, { start: start + head.start, end: start + head.end }, content, next);
  }

  private takeField(
    head: PartHead,
    name: Places['name'],
    content: Places['content'],
    next: number,
  ): State | Refusal {
    const value = head.charset.decode(this.source.bytes.subarray(content.start, content.end));
    if (value === undefined) return this.fault(wrongText(head.charset));
    const index = this.fields.push({ name: namePartsOf(head.name ?? ''), value }) - 1;
    this.out.add({
      ...this.source.take(next),
      field: { index, places: { name, content }, charset: head.charset },
    });
    return DELIMITER;
  }

  private takeJson(head: PartHead, content: Places['content'], next: number): State | Refusal {
    const { bytes, at } = this.source;
    const { charset } = head;
    const text = inUtf8(charset, bytes.slice(content.start, content.end));
    if (text === undefined) return this.fault(wrongText(charset));
    const outcome = this.rules.rewriteJson(text);
    const prefix = `/${pointerToken(head.name ?? '')}`;
    if (outcome.verdict === 'refused') {
      const { pointer, position, ...refusal } = outcome.refusal;
      return {
        ...refusal,
        ...(pointer !== undefined && { pointer: prefix + pointer }),
        // Positions refer to the text in UTF-8.
        ...(position !== undefined &&
          charset.isUtf8 && {
            position: { ...position, offset: at + content.start + position.offset },
          }),
      };
    }
    for (const record of outcome.records) this.found.others.push(placedIn(record, prefix));
    if (outcome.verdict === 'unchanged') {
      this.found.note ??= outcome.note;
      this.pass(next);
      return DELIMITER;
    }
    const insert = fromUtf8(charset, outcome.body);
    if (insert === undefined) return unsayable(WRITES);
    this.found.omitted += outcome.omitted;
    this.change(next, [{ ...content, insert }]);
    return DELIMITER;
  }

  /**
   * A file keeps its bytes; rules move and rename its name like the path of a field. False if a rule is about its value and it has no
   * file name: services would then read it as a field, and the rest of the form would be migrated without it.
   */
  private passFileHead(head: PartHead, start: number, content: number): boolean {
    const changes =
      head.name === undefined
        ? undefined
        : this.rules.forms.apply([{ name: namePartsOf(head.name), value: '' }], undefined, 'behind-all');
    if (changes === undefined || !('fields' in changes)) {
      this.pass(content);
      return true;
    }
    if (changes.readsValues && !head.isNamedFile) return false;
    const [change] = changes.fields;
    // Rules do not split or join files.
    if (typeof change !== 'object' || change.name === undefined || change.value !== undefined) {
      this.pass(content);
      return true;
    }
    this.found.others.push(...changes.records.records.filter(({ note }) => note === undefined));
    const name = { start: start + head.start, end: start + head.end };
    this.change(content, [{ ...name, insert: bytesOfText(quoted(change.name)) }]);
    return true;
  }

  private readFile({ isBegun }: Extract<State, { in: 'file' }>): State | 'more' | Refusal {
    const { bytes, delimiter } = this.source;
    // The CRLF after the header may also begin a boundary: another reader would find a part here instead of a file.
    if (!isBegun && startsWith(bytes, delimiter, 0)) return this.fault('a part has no content');
    const next = this.source.findDelimiter(0);
    if (next === undefined) return this.fault('a bare line feed precedes a boundary');
    const isOver = next !== -1;
    const passed = isOver ? next : Math.max(0, bytes.length - delimiter.length - 2);
    this.pass(passed);
    if (!isOver && passed > 0) this.state = { in: 'file', isBegun: true };
    const refusal =
      this.out.waitingBytes > (this.rules.heldFileBytes ?? HELD_FILE_BYTES) ? this.settle(false) : undefined;
    return refusal ?? (isOver ? DELIMITER : 'more');
  }

  /** Forwards bytes unchanged. */
  private pass(bytes: number): void {
    if (bytes > 0) this.out.add(this.source.take(bytes));
  }

  /** Forwards bytes with edits. */
  private change(bytes: number, edits: readonly Edit[]): void {
    const { at, bytes: own } = this.source.take(bytes);
    this.out.note(at, edits);
    this.out.add({ at, bytes: applyEdits(own, edits) });
  }

  /** Runs the rules on all fields so far, and sends the waiting ones. Fields that rules make come after all others. */
  private settle(isLast: boolean): Refusal | undefined {
    const { found, out } = this;
    const { sent } = out;
    this.work += this.fields.length;
    if (sent !== undefined && this.work > MAX_FIELDS_READ)
      return malformed(`fields come after too many files${ORDER}`);
    const changes = this.rules.forms.apply(this.fields, unlimitedMemory, 'behind-all');
    if ('verdict' in changes && changes.verdict === 'refused') return changes.refusal;
    const isForwarded = 'verdict' in changes;
    if (isForwarded) found.note ??= changes.note;
    const became = isForwarded ? this.fields.map((): FieldChange => 'unchanged') : changes.fields;
    if (sent?.some((change, index) => !isSameChange(change, became[index])) === true)
      return malformed(
        `a field after a file changes one before it, which the gateway has already sent${ORDER}`,
      );
    const fault = out.send(became, this.source.delimiter);
    if (fault !== undefined) return unsayable(fault);
    if (isForwarded) return undefined;
    found.fields = changes.records.records;
    found.patch = changes.records.patch;
    if (!isLast) return undefined;
    found.omitted += changes.records.omitted;
    return this.addFields(changes.added);
  }

  private addFields(added: readonly AddedField[]): Refusal | undefined {
    if (added.length === 0) return undefined;
    const { out, source } = this;
    const { at, delimiter } = source;
    const parts = added.map(({ name, value }) => ({ name: quoted(name), value: bytesOfText(value) }));
    if (parts.some(({ value }) => breaksBoundary(value, delimiter))) return unsayable(ENDS);
    const line = bytesOfText('\r\n');
    const insert = concatBytes(
      parts.flatMap(({ name, value }) => [
        delimiter,
        bytesOfText(`\r\nContent-Disposition: form-data; name=${name}\r\n\r\n`),
        value,
        line,
      ]),
    );
    out.note(at, [{ start: 0, end: 0, insert }]);
    out.push(insert);
    return undefined;
  }

  private tooLarge(): Refusal {
    return {
      code: 'body-too-large',
      status: 413,
      detail: `The fields of the body are larger than ${this.rules.limit} bytes.`,
    };
  }

  /** Refuses a body that cannot be read, or forwards it unread if the policy `malformed` allows that and nothing in it was changed. */
  private fault(reason: string): Refusal | State {
    const { found, source, out } = this;
    const offset = source.at;
    const refusal = malformed(`The body is not valid multipart/form-data (RFC 7578): ${reason}.`);
    const position = { offset, line: 1, column: offset + 1 };
    const stopped = this.rules.forms.refused({ ...refusal, position, reason });
    if (stopped.verdict === 'refused') return stopped.refusal;
    if (out.hasChanged)
      return malformed(`${refusal.detail} The gateway has already rewritten other parts of it.`);
    found.note ??= stopped.note;
    found.fields = found.patch = [];
    out.send([], source.delimiter);
    if (source.bytes.length > 0) out.push(source.take(source.bytes.length).bytes);
    return { in: 'unread' };
  }
}

const ORDER = ': send all fields before the files.';

function malformed(detail: string): Refusal & { readonly detail: string } {
  return { code: 'malformed-form', status: 400, detail };
}

function unsayable(reason: string): Refusal {
  return malformed(`A value that the rules make ${reason}.`);
}

/** The output: bytes that can be sent, and bytes that wait until the rules have read all fields. */
class Outgoing {
  waitingBytes = 0;
  hasChanged = false;
  /** True once bytes were sent. */
  hasReleased = false;
  /** The changes of the fields that were sent; undefined while all wait. */
  sent: readonly FieldChange[] | undefined = undefined;
  /** All edits, if they are kept. */
  readonly edits: Edit[] | undefined;
  private waiting: Segment[] = [];
  private ready: Uint8Array[] = [];

  constructor(edits: Edit[] | undefined) {
    this.edits = edits;
  }

  /** Sends bytes. */
  push(bytes: Uint8Array): void {
    if (bytes.length > 0) this.ready.push(bytes);
  }

  /** Sends a segment, unless fields wait for a small file, or for the end of the body. */
  add(segment: Segment): void {
    if (this.sent !== undefined && this.waiting.length === 0 && segment.field === undefined) {
      this.push(segment.bytes);
      return;
    }
    this.waiting.push(segment);
    this.waitingBytes += segment.bytes.length;
  }

  /** Records edits of the bytes from `at` on. */
  note(at: number, edits: readonly Edit[]): void {
    if (edits.length > 0) this.hasChanged = true;
    for (const { start, end, insert } of edits)
      this.edits?.push({ start: at + start, end: at + end, insert });
  }

  /** Sends what waits, with the changes of the fields; returns why one of them cannot be written. */
  send(became: readonly FieldChange[], delimiter: Uint8Array): string | undefined {
    for (const segment of this.waiting) {
      const { field, bytes, at } = segment;
      const edits = field === undefined ? [] : editsOf(segment, field, became[field.index] ?? 'unchanged');
      if (edits === undefined) return WRITES;
      if (edits.some(({ insert }) => breaksBoundary(insert, delimiter))) return ENDS;
      this.note(at, edits);
      this.push(edits.length === 0 ? bytes : applyEdits(bytes, edits));
    }
    this.waiting = [];
    this.waitingBytes = 0;
    this.sent = became;
    return undefined;
  }

  take(): Uint8Array {
    const { ready } = this;
    this.ready = [];
    if (ready.length > 0) this.hasReleased = true;
    return ready.length === 1 ? (ready[0] ?? NO_BYTES) : concatBytes(ready);
  }
}

/** True for a value that contains the boundary: a client that knows which fields a rule joins could construct one. */
function breaksBoundary(value: Uint8Array, delimiter: Uint8Array): boolean {
  return value.some((_, at) => (at === 0 || value[at - 1] === LF) && startsWith(value, delimiter, at));
}

/** The bytes of a body that are not read yet. */
class Source {
  readonly delimiter: Uint8Array;
  bytes: Uint8Array = NO_BYTES;
  /** The position of the first of them in the body. */
  at = 0;
  /** The reader has searched up to here: before this position, only an incomplete boundary can begin. */
  private searchedTo = 0;

  constructor(boundary: string) {
    this.delimiter = bytesOfText(`--${boundary}`);
  }

  /** New bytes are only written after existing ones, so the bytes that were taken out need no copy. */
  append(part: Uint8Array): void {
    const { bytes } = this;
    const length = bytes.length + part.length;
    const end = bytes.byteOffset + bytes.length;
    if (bytes.length === 0 || end + part.length > bytes.buffer.byteLength) {
      // Grows in large steps, so that a body in many small parts is copied a few times instead of once for each part.
      const isGrowing = bytes.length > part.length;
      const buffer = new Uint8Array(isGrowing ? length + bytes.length : length);
      buffer.set(bytes);
      buffer.set(part, bytes.length);
      this.bytes = buffer.subarray(0, length);
      return;
    }
    const whole = new Uint8Array(bytes.buffer, bytes.byteOffset, length);
    whole.set(part, bytes.length);
    this.bytes = whole;
  }

  /**
   * Returns where the next delimiter begins, at the line feed at `from` or later; -1 if there is none, undefined if a bare line feed
   * precedes it.
   */
  findDelimiter(from: number): number | undefined {
    const { bytes, delimiter } = this;
    const start = Math.max(from, this.searchedTo - this.at - delimiter.length - 1);
    for (let feed = bytes.indexOf(LF, start); feed !== -1; feed = bytes.indexOf(LF, feed + 1)) {
      if (bytes[feed + 1] !== DASH || !startsWith(bytes, delimiter, feed + 1)) continue;
      return feed > 0 && bytes[feed - 1] === CR ? feed + 1 : undefined;
    }
    this.searchedTo = this.at + bytes.length;
    return -1;
  }

  take(length: number): Segment {
    const segment = { at: this.at, bytes: this.bytes.subarray(0, length) };
    this.bytes = this.bytes.subarray(length);
    this.at += length;
    return segment;
  }
}

/**
 * Returns the JSON text that means the same as the fields of a multipart body, or its first JSON part if it has no fields;
 * undefined for a body that cannot be read.
 */
export function multipartModel(body: Uint8Array, boundary: string): Uint8Array | undefined {
  let first: Uint8Array | undefined;
  const stream = new MultipartStream({
    boundary,
    forms: NO_RULES,
    limit: body.length,
    hold: () => true,
    rewriteJson: (text) => {
      first ??= text;
      return { verdict: 'unchanged', body: text, records: [] };
    },
  });
  const { refusal } = stream.push(body);
  if (refusal !== undefined || stream.end().refusal !== undefined) return undefined;
  return stream.fields.length === 0 && first !== undefined ? first : modelOfFields(stream.fields);
}

/** For reading fields without changing any. */
const NO_RULES: MultipartRules['forms'] = {
  apply: () => ({ verdict: 'unchanged', body: NO_BYTES, records: [] }),
  refused: (refusal) => ({ verdict: 'refused', refusal }),
};

function startsWith(bytes: Uint8Array, start: Uint8Array, at: number): boolean {
  if (at + start.length > bytes.length) return false;
  for (let k = 0; k < start.length; k += 1) if (bytes[at + k] !== start[k]) return false;
  return true;
}

const parameter = /;[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=("(?:[^"\\]|\\.)*"|[^;"\s]+)[ \t]*/y;
const disposition = /^content-disposition[ \t]*:[ \t]*form-data[ \t]*/i;

/** Reads the header section of a part; undefined if readers could find different names in it. */
function readHead(bytes: Uint8Array): PartHead | undefined {
  const lines = latin1Text(bytes)
    .replaceAll(/\r\n(?=[ \t])/g, '  ')
    .split('\r\n');
  let at = 0;
  let type: string | undefined;
  let types = 0;
  let isCoded = false;
  const parameters: {
    readonly name: string;
    readonly value: string;
    readonly start: number;
    readonly end: number;
  }[] = [];
  let dispositions = 0;
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (line !== '' && colon === -1) return undefined;
    const name = line.slice(0, Math.max(colon, 0)).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === 'content-type') {
      types += 1;
      type = value;
    }
    if (name === 'content-transfer-encoding') isCoded ||= !/^(?:7bit|8bit|binary)?$/i.test(value);
    if (name === 'content-disposition') {
      dispositions += 1;
      const found = parametersOf(line, at);
      if (found === undefined) return undefined;
      parameters.push(...found);
    }
    at += line.length + 2;
  }
  const names = parameters.filter(({ name }) => name === 'name');
  if (dispositions > 1 || names.length > 1 || types > 1) return undefined;
  const [found] = names;
  const filename = parameters.find((one) => one.name === 'filename')?.value;
  const isFile = parameters.some((one) => one.name === 'filename' || one.name === 'filename*');
  const name = found && UTF8.decode(latin1Bytes(unquoted(found.value)));
  if (found === undefined || parameters.some((one) => one.name === 'name*'))
    return { kind: 'file', charset: UTF8, name: undefined, isNamedFile: isFile, start: 0, end: 0 };
  if (name === undefined) return undefined;
  const isBlob = filename !== undefined && unquoted(filename) === 'blob';
  const reading = readingOf(type, isCoded, isFile, isBlob);
  return { ...reading, name, isNamedFile: isFile, start: found.start, end: found.end };
}

/** The parameters of the Content-Disposition at `at`; undefined if it cannot be read; empty for another disposition. */
function parametersOf(
  line: string,
  at: number,
):
  | readonly { readonly name: string; readonly value: string; readonly start: number; readonly end: number }[]
  | undefined {
  const start = disposition.exec(line)?.[0].length;
  if (start === undefined) return [];
  const found = [];
  parameter.lastIndex = start;
  for (let match = parameter.exec(line); match !== null; match = parameter.exec(line)) {
    const [whole, name = '', value = ''] = match;
    const from = at + match.index + whole.indexOf('=') + 1;
    found.push({ name: name.toLowerCase(), value, start: from, end: from + value.length });
    if (parameter.lastIndex === line.length) return found;
  }
  return found.length === 0 && start === line.length ? found : undefined;
}

/** Browsers name a nameless `Blob` `blob`: if it is JSON, it is a body and not a file. */
function readingOf(
  type: string | undefined,
  isCoded: boolean,
  isFile: boolean,
  isBlob: boolean,
): Pick<PartHead, 'kind' | 'charset'> {
  const reading = readPartType(type);
  const isJson = typeof reading === 'object' && reading.kind === 'json';
  if (reading === 'other' || (isFile && !(isBlob && isJson))) return { kind: 'file', charset: UTF8 };
  const charset = reading === 'malformed' || isCoded ? undefined : charsetNamed(reading.charset);
  if (charset === undefined) return { kind: 'unread', charset: UTF8 };
  return { kind: isJson ? 'json' : 'field', charset };
}

function wrongText({ isUtf8 }: Charset): string {
  return isUtf8 ? 'the text of a part is not UTF-8' : 'the text of a part is not in its charset';
}

/** JSON in UTF-8; undefined for bytes that are not text. The JSON scanner itself reports invalid UTF-8, and its position. */
function inUtf8(charset: Charset, bytes: Uint8Array): Uint8Array | undefined {
  if (charset.isUtf8) return bytes;
  const text = charset.decode(bytes);
  return text === undefined ? undefined : bytesOfText(text);
}

/** Converts UTF-8 to a charset. */
function fromUtf8(charset: Charset, bytes: Uint8Array): Uint8Array | undefined {
  if (charset.isUtf8) return bytes;
  const text = UTF8.decode(bytes);
  return text === undefined ? undefined : charset.encode(text);
}

function unquoted(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(["\\])/g, '$1') : value;
}

/** Splits a name at its brackets, as names of forms are: `data[property][suburb]`. */
function namePartsOf(name: string): readonly NamePart[] {
  const parts = /^[^[\]]+(?:\[[^[\]]*\])+$/.test(name) ? name.replaceAll(']', '').split('[') : [name];
  return parts.map((text) => ({ text, raw: text }));
}

/** A name as WHATWG's forms write it: no character can end the header. */
function quoted([first, ...rest]: readonly NamePart[]): string {
  const name = (first?.text ?? '') + rest.map(({ text }) => `[${text}]`).join('');
  return `"${name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')}"`;
}

/** The edits of a field; undefined if its charset cannot encode the new value. */
function editsOf(
  { bytes }: Segment,
  { places: { name, content }, charset }: NonNullable<Segment['field']>,
  change: FieldChange,
): readonly Edit[] | undefined {
  if (change === 'unchanged') return [];
  if (change === 'removed') return [{ start: 0, end: bytes.length, insert: NO_BYTES }];
  const edits: Edit[] = [];
  if (change.name !== undefined) edits.push({ ...name, insert: bytesOfText(quoted(change.name)) });
  if (change.value === undefined) return edits;
  const insert = charset.encode(change.value);
  return insert === undefined ? undefined : [...edits, { ...content, insert }];
}

function isSameChange(one: FieldChange, other: FieldChange | undefined): boolean {
  if (typeof one === 'string' || typeof other === 'string' || other === undefined) return one === other;
  return one.value === other.value && quotedOf(one) === quotedOf(other);
}

function quotedOf({ name }: Exclude<FieldChange, string>): string | undefined {
  return name && quoted(name);
}
