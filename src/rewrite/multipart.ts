import { concatBytes, latin1Bytes, latin1Text } from '../http/byte-collector.ts';
import { type Charset, charsetNamed, UTF8 } from '../http/charset.ts';
import { readPartType } from '../http/content.ts';
import { applyEdits, type Edit } from '../json/edit.ts';
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

/** Bytes of files that are held for fields behind them, which may change what becomes of those before. */
const HELD_FILE_BYTES = 256 * 1024;
/** Bytes behind the last boundary that are awaited; RFC 2046 §5.1.1 has readers ignore them. */
const MAX_EPILOGUE = 4096;
/** Bytes of the header section of one part, and of the preamble before the first. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Parts of one body: Rack reads 4,096, PHP 1,000. What becomes of fields is decided at once, on the thread that serves. */
const MAX_PARTS = 10_000;
/** Memory that a field takes beside its bytes. */
const FIELD_BYTES = 512;
/** Fields that are read again for each file with fields behind it: so many files with a field between them would cost a minute. */
const MAX_FIELDS_READ = 200_000;
/** White space behind a boundary that is read (RFC 2046 §5.1.1). */
const MAX_PADDING = 64;

const UNREAD = 'the text of a part is in a charset or a transfer encoding that the gateway does not read';
const ENDS = 'contains the boundary of the body';
const WRITES = 'cannot be written in the charset of its part';
const LONG_HEADER = `the header of a part is longer than ${MAX_HEADER_BYTES} bytes`;

const EMPTY = new Uint8Array();
const encoder = new TextEncoder();

/** The rules and limits for a multipart body. */
export interface MultipartRules {
  readonly boundary: string;
  readonly forms: Pick<FormPlan, 'apply' | 'refused'>;
  /** Rewrites a part that is JSON. */
  readonly rewriteJson: (text: Uint8Array) => Rewrite;
  /** Maximum bytes of all fields together. */
  readonly limit: number;
  /** Reserves bytes that are held; false when they do not fit. */
  readonly hold: (bytes: number) => boolean;
  /** Bytes of files that are held for the fields behind them. */
  readonly heldFileBytes?: number;
}

/** A part of the body that waits to be sent. */
interface Segment {
  readonly at: number;
  readonly bytes: Uint8Array;
  /** The field that it is; undefined for any other bytes. */
  readonly field?: { readonly index: number; readonly places: Places; readonly charset: Charset };
}

/** Where name and content of a part are, in the bytes from its delimiter up to the next one. */
interface Places {
  readonly name: { readonly start: number; readonly end: number };
  readonly content: { readonly start: number; readonly end: number };
}

/** The head of a part. */
interface PartHead {
  readonly kind: 'field' | 'json' | 'file' | 'unread';
  /** Of the text of a field or of JSON. */
  readonly charset: Charset;
  readonly name: string | undefined;
  /** True with a file name. */
  readonly isNamedFile: boolean;
  /** In the header section. */
  readonly start: number;
  readonly end: number;
}

/**
 * The request rules of one operation for a body in `multipart/form-data` (RFC 7578), as it arrives. Its fields are those of a
 * form; a part that is JSON is a body of its own; only the names of files change. Fields wait for the others, so that V2 gets
 * what it would get of the whole body, or the body is refused. Every byte outside edits stays.
 */
export class MultipartStream implements BodyStream {
  private readonly kept: Edit[] | undefined;
  private readonly rules: MultipartRules;
  private readonly delimiter: Uint8Array;
  private state: 'preamble' | 'delimiter' | 'headers' | 'field' | 'file' | 'epilogue' | 'unread' = 'preamble';
  /** Bytes that are not read yet, the first of them at `at` in the body. */
  private rest: Uint8Array = EMPTY;
  private at = 0;
  /** No boundary begins before this place of the body, but for one that is not there whole. */
  private searchedTo = 0;
  private headerStart = 0;
  /** The first line of the header that is not read yet. */
  private headerLine = 0;
  private contentStart = 0;
  private fileStart = 0;
  private head: PartHead | undefined = undefined;
  private waiting: Segment[] = [];
  private waitingBytes = 0;
  private fieldBytes = 0;
  private parts = 0;
  private reserved = 0;
  /** Fields that were read so far, each time that what becomes of all was decided. */
  private work = 0;
  readonly fields: FormField[] = [];
  /** What became of the fields that were sent. */
  private readonly sent: FieldChange[] = [];
  private hasSent = false;
  /** True once bytes went on. */
  private hasReleased = false;
  private epilogueBytes = 0;
  private hasChanged = false;
  private output: Uint8Array[] = [];
  private formRecords: readonly EditRecord[] = [];
  private readonly otherRecords: EditRecord[] = [];
  private patch: readonly PatchOperation[] = [];
  private omitted = 0;
  private note: string | undefined = undefined;

  /** With `keepsEdits`, all edits are kept: for a body that is there whole. */
  constructor(rules: MultipartRules, keepsEdits = false) {
    this.rules = rules;
    this.delimiter = encoder.encode(`--${rules.boundary}`);
    this.kept = keepsEdits ? [] : undefined;
  }

  /** In order: those of files are known before those of the fields before them. */
  get edits(): readonly Edit[] | undefined {
    return this.kept?.toSorted((one, other) => one.start - other.start);
  }

  get findings(): StreamFindings<EditRecord> {
    const all = [...this.formRecords, ...this.otherRecords];
    const records = all.slice(0, MAX_STREAM_RECORDS);
    const omitted = this.omitted + all.length - records.length;
    const patch = omitted === 0 && this.otherRecords.length === 0 ? this.patch : [];
    return { records, patch, omitted, isRewritten: this.hasChanged, note: this.note };
  }

  push(part: Uint8Array): StreamOutput {
    this.append(part);
    for (;;) {
      const next = this.step();
      if (next === 'more') break;
      if (next !== 'next') return { bytes: EMPTY, refusal: next };
    }
    // With nothing sent by its last boundary, the body is whole in a moment, and V2 gets its length.
    if (this.state === 'epilogue' && !this.hasReleased && this.epilogueBytes <= MAX_EPILOGUE)
      return this.reserve() ?? { bytes: EMPTY };
    return this.reserve() ?? { bytes: this.takeOutput() };
  }

  end(): StreamOutput {
    if (this.state === 'unread' || this.state === 'epilogue' || (this.at === 0 && this.rest.length === 0))
      return { bytes: this.takeOutput() };
    const refusal = this.malformed('the body ends without its last boundary');
    return refusal === undefined ? { bytes: this.takeOutput() } : { bytes: EMPTY, refusal };
  }

  /** Bytes are only ever written behind those that are there, so that what was taken needs no copy of its own. */
  private append(part: Uint8Array): void {
    const { rest } = this;
    const length = rest.length + part.length;
    const end = rest.byteOffset + rest.length;
    if (rest.length === 0 || end + part.length > rest.buffer.byteLength) {
      // What comes in many small parts is copied a few times, not once for each of them.
      const isGrowing = rest.length > part.length;
      const buffer = new Uint8Array(isGrowing ? length + rest.length : length);
      buffer.set(rest);
      buffer.set(part, rest.length);
      this.rest = buffer.subarray(0, length);
      return;
    }
    const whole = new Uint8Array(rest.buffer, rest.byteOffset, length);
    whole.set(part, rest.length);
    this.rest = whole;
  }

  private takeOutput(): Uint8Array {
    const { output } = this;
    this.output = [];
    if (output.length > 0) this.hasReleased = true;
    return output.length === 1 ? (output[0] ?? EMPTY) : concatBytes(output);
  }

  /** Reserves what is held beyond what was before. */
  private reserve(): StreamOutput | undefined {
    const held = this.rest.length + this.waitingBytes + this.fieldBytes + this.fields.length * FIELD_BYTES;
    if (held <= this.reserved) return undefined;
    if (!this.rules.hold(held - this.reserved))
      return {
        bytes: EMPTY,
        refusal: {
          code: 'buffer-full',
          status: 503,
          detail: 'There is no memory left to read the fields; send them again later.',
        },
      };
    this.reserved = held;
    return undefined;
  }

  private step(): 'more' | 'next' | Refusal {
    switch (this.state) {
      case 'preamble':
        return this.readPreamble();
      case 'delimiter':
        return this.readDelimiter();
      case 'headers':
        return this.readHeaders();
      case 'field':
        return this.readField();
      case 'file':
        return this.readFile();
      case 'epilogue':
        this.epilogueBytes += this.rest.length;
        this.pass(this.rest.length);
        return 'more';
      case 'unread':
        this.pass(this.rest.length);
        return 'more';
    }
  }

  private readPreamble(): 'more' | 'next' | Refusal {
    const { rest, delimiter } = this;
    if (rest.length < delimiter.length) return 'more';
    const at = startsWith(rest, delimiter, 0) ? 0 : this.findDelimiter(0);
    if (at === undefined) return this.fault('a bare line feed precedes a boundary');
    if (at === -1 ? rest.length > MAX_HEADER_BYTES + delimiter.length : at > MAX_HEADER_BYTES)
      return this.fault('there is no boundary where the first part should begin');
    if (at === -1) return 'more';
    this.pass(at);
    this.state = 'delimiter';
    return 'next';
  }

  /** Where the next delimiter begins, from the line feed at `from` or later; -1 without one, undefined for one behind a line feed alone. */
  private findDelimiter(from: number): number | undefined {
    const { rest, delimiter } = this;
    const start = Math.max(from, this.searchedTo - this.at - delimiter.length - 1);
    for (let feed = rest.indexOf(LF, start); feed !== -1; feed = rest.indexOf(LF, feed + 1)) {
      if (rest[feed + 1] !== DASH || !startsWith(rest, delimiter, feed + 1)) continue;
      return feed > 0 && rest[feed - 1] === CR ? feed + 1 : undefined;
    }
    this.searchedTo = this.at + rest.length;
    return -1;
  }

  /** A boundary ends with its line, or, if it is the last one, with two hyphens. */
  private readDelimiter(): 'more' | 'next' | Refusal {
    const { rest, delimiter } = this;
    let at = delimiter.length;
    if (rest[at] === DASH && rest[at + 1] === DASH) {
      const refusal = this.settle(true);
      if (refusal !== undefined) return refusal;
      if (this.state === 'delimiter') this.state = 'epilogue';
      return 'next';
    }
    while (rest[at] === 0x20 || rest[at] === 0x09) at += 1;
    const isPadded = at - delimiter.length <= MAX_PADDING;
    if (at + 1 >= rest.length && isPadded) return 'more';
    if (rest[at] !== CR || rest[at + 1] !== LF || !isPadded)
      return this.fault('a boundary is not followed by CR and LF: another reader might not take it for one');
    this.parts += 1;
    if (this.parts > MAX_PARTS)
      return { code: 'body-too-large', status: 413, detail: `The body has more than ${MAX_PARTS} parts.` };
    this.headerStart = this.headerLine = at + 2;
    this.state = 'headers';
    return 'next';
  }

  private readHeaders(): 'more' | 'next' | Refusal {
    const { rest, headerStart } = this;
    const end = this.endOfHeaders();
    if (end === undefined) return this.fault('a line of a part’s header ends without CR and LF');
    if (end === -1) return rest.length - headerStart > MAX_HEADER_BYTES ? this.fault(LONG_HEADER) : 'more';
    if (end - headerStart > MAX_HEADER_BYTES) return this.fault(LONG_HEADER);
    const head = readHead(rest.subarray(headerStart, end));
    if (head === undefined) return this.fault('the header of a part cannot be read');
    if (head.kind === 'unread') return this.fault(UNREAD);
    this.head = head;
    this.contentStart = end;
    if (head.kind !== 'file') {
      this.state = 'field';
      return 'next';
    }
    if (this.passFileHead(head) === 'unread') return this.fault(UNREAD);
    this.fileStart = this.at;
    this.state = 'file';
    return 'next';
  }

  /** Where the content begins, behind the empty line; -1 where that is still to come, undefined for a line feed alone. */
  private endOfHeaders(): number | undefined {
    const { rest } = this;
    for (;;) {
      const feed = rest.indexOf(LF, this.headerLine);
      if (feed === -1) return -1;
      if (rest[feed - 1] !== CR || feed === this.headerLine) return undefined;
      if (feed === this.headerLine + 1) return feed + 1;
      this.headerLine = feed + 1;
    }
  }

  private readField(): 'more' | 'next' | Refusal {
    const { rest, contentStart, head } = this;
    // The CRLF behind an empty header may also be that of the next boundary: then the part has no content at all.
    const next = this.findDelimiter(contentStart - 1);
    if (next === undefined) return this.fault('a bare line feed precedes a boundary');
    if (next === -1 && this.fieldBytes + rest.length > this.rules.limit) return this.tooLarge();
    if (next === -1) return 'more';
    const content = { start: contentStart, end: next - 2 };
    if (content.end < content.start || head === undefined) return this.fault('a part has no content');
    this.fieldBytes += next;
    if (this.fieldBytes > this.rules.limit) return this.tooLarge();
    const refusal =
      head.kind === 'json' ? this.takeJson(head, content, next) : this.takeField(head, content, next);
    if (refusal !== undefined) return refusal;
    if (this.state === 'field') this.state = 'delimiter';
    return 'next';
  }

  private takeField(head: PartHead, content: Places['content'], next: number): Refusal | undefined {
    const { headerStart, rest } = this;
    const value = head.charset.decode(rest.subarray(content.start, content.end));
    if (value === undefined) return this.malformed(wrongText(head.charset));
    const index = this.fields.push({ name: namePartsOf(head.name ?? ''), value }) - 1;
    const name = { start: headerStart + head.start, end: headerStart + head.end };
    this.wait(next, { index, places: { name, content }, charset: head.charset });
    return undefined;
  }

  private takeJson(head: PartHead, content: Places['content'], next: number): Refusal | undefined {
    const { rest, at } = this;
    const { charset } = head;
    const text = inUtf8(charset, rest.slice(content.start, content.end));
    if (text === undefined) return this.malformed(wrongText(charset));
    const outcome = this.rules.rewriteJson(text);
    const prefix = `/${pointerToken(head.name ?? '')}`;
    if (outcome.verdict === 'refused') {
      const { pointer, position, ...refusal } = outcome.refusal;
      return {
        ...refusal,
        ...(pointer !== undefined && { pointer: prefix + pointer }),
        // Positions are those of the text in UTF-8.
        ...(position !== undefined &&
          charset.isUtf8 && {
            position: { ...position, offset: at + content.start + position.offset },
          }),
      };
    }
    for (const record of outcome.records) this.otherRecords.push(placedIn(record, prefix));
    if (outcome.verdict === 'unchanged') {
      this.note ??= outcome.note;
      this.wait(next);
      return undefined;
    }
    const insert = fromUtf8(charset, outcome.body);
    if (insert === undefined) return this.unsayable(WRITES);
    this.omitted += outcome.omitted;
    this.change(next, [{ ...content, insert }]);
    return undefined;
  }

  /**
   * A file keeps its bytes; its name is the path of a field, which rules move and rename. Without a file name, services read it as a
   * field: a rule about its value would be left out, and the rest of the form migrated without it.
   */
  private passFileHead(head: PartHead): 'passed' | 'unread' {
    const { contentStart, headerStart } = this;
    const parts = head.name === undefined ? [] : namePartsOf(head.name);
    const changes =
      head.name === undefined
        ? undefined
        : this.rules.forms.apply([{ name: parts, value: '' }], undefined, 'behind-all');
    const change = changes !== undefined && 'fields' in changes ? changes.fields[0] : undefined;
    const isOfValue = changes !== undefined && 'fields' in changes && changes.readsValues;
    if (isOfValue && !head.isNamedFile) return 'unread';
    if (
      changes === undefined ||
      !('fields' in changes) ||
      typeof change !== 'object' ||
      change.name === undefined ||
      // A file is no text that rules split or join.
      change.value !== undefined
    ) {
      this.pass(contentStart);
      return 'passed';
    }
    this.otherRecords.push(...changes.records.records.filter(({ note }) => note === undefined));
    const name = { start: headerStart + head.start, end: headerStart + head.end };
    this.change(contentStart, [{ ...name, insert: encoder.encode(quoted(change.name)) }]);
    return 'passed';
  }

  private readFile(): 'more' | 'next' | Refusal {
    const { rest, delimiter } = this;
    // The CRLF behind the header may also be that of a boundary: another reader would find a part where this one finds a file.
    if (this.fileStart === this.at && startsWith(rest, delimiter, 0))
      return this.fault('a part has no content');
    const next = this.findDelimiter(0);
    if (next === undefined) return this.fault('a bare line feed precedes a boundary');
    const held = this.rules.heldFileBytes ?? HELD_FILE_BYTES;
    if (next === -1) {
      this.pass(Math.max(0, rest.length - delimiter.length - 2));
      return this.waitingBytes > held ? (this.settle(false) ?? 'more') : 'more';
    }
    this.pass(next);
    this.state = 'delimiter';
    return this.waitingBytes > held ? (this.settle(false) ?? 'next') : 'next';
  }

  /** Lets so many bytes go on as they are. */
  private pass(bytes: number): void {
    if (bytes > 0) this.add(this.take(bytes));
  }

  private wait(bytes: number, field: Segment['field']): void;
  private wait(bytes: number): void;
  private wait(bytes: number, field?: Segment['field']): void {
    const segment = this.take(bytes);
    this.add(field === undefined ? segment : { ...segment, field });
  }

  /** Lets so many bytes go on with edits. */
  private change(bytes: number, edits: readonly Edit[]): void {
    const segment = this.take(bytes);
    this.keepEdits(segment.at, edits);
    this.add({ at: segment.at, bytes: applyEdits(segment.bytes, edits) });
  }

  private keepEdits(at: number, edits: readonly Edit[]): void {
    if (edits.length > 0) this.hasChanged = true;
    for (const { start, end, insert } of this.kept === undefined ? [] : edits)
      this.kept?.push({ start: at + start, end: at + end, insert });
  }

  private take(bytes: number): Segment {
    const segment = { at: this.at, bytes: this.rest.subarray(0, bytes) };
    this.rest = this.rest.subarray(bytes);
    this.at += bytes;
    return segment;
  }

  /** Sends a segment, unless fields wait: those before a file of this size, or none of the whole body. */
  private add(segment: Segment): void {
    const isOver = this.state === 'epilogue' || this.state === 'unread';
    if (isOver || (this.hasSent && this.waiting.length === 0 && segment.field === undefined)) {
      this.output.push(segment.bytes);
      return;
    }
    this.waiting.push(segment);
    this.waitingBytes += segment.bytes.length;
  }

  /** Decides on all fields so far, and sends those that wait. Fields that rules make come after all others. */
  private settle(isLast: boolean): Refusal | undefined {
    this.work += this.fields.length;
    if (this.hasSent && this.work > MAX_FIELDS_READ)
      return this.outOfOrder('fields come after too many files');
    const changes = this.rules.forms.apply(this.fields, unlimitedMemory, 'behind-all');
    if ('verdict' in changes && changes.verdict === 'refused') return changes.refusal;
    const isForwarded = 'verdict' in changes;
    if (isForwarded) this.note ??= changes.note;
    const became = isForwarded ? this.fields.map((): FieldChange => 'unchanged') : changes.fields;
    if (this.sent.some((change, index) => !isSameChange(change, became[index])))
      return this.outOfOrder(
        'a field after a file changes one before it, which the gateway has already sent',
      );
    for (const segment of this.waiting) {
      const { field, bytes, at } = segment;
      const edits = field === undefined ? [] : editsOf(segment, field, became[field.index] ?? 'unchanged');
      if (edits === undefined) return this.unsayable(WRITES);
      if (edits.some(({ insert }) => this.breaksBoundary(insert))) return this.unsayable(ENDS);
      this.keepEdits(at, edits);
      const sent = edits.length === 0 ? bytes : applyEdits(bytes, edits);
      if (sent.length > 0) this.output.push(sent);
    }
    this.waiting = [];
    this.waitingBytes = 0;
    this.hasSent = true;
    for (let index = this.sent.length; index < became.length; index += 1)
      this.sent.push(became[index] ?? 'unchanged');
    if (isForwarded) return undefined;
    this.formRecords = changes.records.records;
    this.patch = changes.records.patch;
    if (!isLast) return undefined;
    this.omitted += changes.records.omitted;
    return this.addFields(changes.added);
  }

  private addFields(added: readonly AddedField[]): Refusal | undefined {
    if (added.length === 0) return undefined;
    const parts = added.map(({ name, value }) => ({ name: quoted(name), value: encoder.encode(value) }));
    if (parts.some(({ value }) => this.breaksBoundary(value))) return this.unsayable(ENDS);
    const line = encoder.encode('\r\n');
    const insert = concatBytes(
      parts.flatMap(({ name, value }) => [
        this.delimiter,
        encoder.encode(`\r\nContent-Disposition: form-data; name=${name}\r\n\r\n`),
        value,
        line,
      ]),
    );
    this.keepEdits(this.at, [{ start: 0, end: 0, insert }]);
    this.output.push(insert);
    return undefined;
  }

  /** True for a value that a reader would take for the end of its part: a client that knows what a rule joins could make one. */
  private breaksBoundary(value: Uint8Array): boolean {
    return (
      startsWith(value, this.delimiter, 0) ||
      value.some((byte, at) => byte === LF && startsWith(value, this.delimiter, at + 1))
    );
  }

  private outOfOrder(reason: string): Refusal {
    return { code: 'malformed-form', status: 400, detail: `${reason}: send all fields before the files.` };
  }

  private unsayable(reason: string): Refusal {
    return { code: 'malformed-form', status: 400, detail: `A value that the rules make ${reason}.` };
  }

  private tooLarge(): Refusal {
    return {
      code: 'body-too-large',
      status: 413,
      detail: `The fields of the body are larger than ${this.rules.limit} bytes.`,
    };
  }

  private fault(reason: string): Refusal | 'next' {
    return this.malformed(reason) ?? 'next';
  }

  /**
   * Refuses a body that cannot be read, or forwards it unread if the policy `malformed` says so and nothing in it was changed.
   */
  private malformed(reason: string): Refusal | undefined {
    const offset = this.at;
    const stopped = this.rules.forms.refused({
      code: 'malformed-form',
      status: 400,
      detail: `The body is not valid multipart/form-data (RFC 7578): ${reason}.`,
      position: { offset, line: 1, column: offset + 1 },
      reason,
    });
    if (stopped.verdict === 'refused') return stopped.refusal;
    if (this.hasChanged)
      return {
        code: 'malformed-form',
        status: 400,
        detail: `The body is not valid multipart/form-data (RFC 7578): ${reason}. The gateway has already rewritten other parts of it.`,
      };
    this.note ??= stopped.note;
    this.state = 'unread';
    for (const { bytes } of this.waiting) this.output.push(bytes);
    this.waiting = [];
    this.waitingBytes = 0;
    this.formRecords = this.patch = [];
    this.pass(this.rest.length);
    return undefined;
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

/** Reads fields, and changes none. */
const NO_RULES: MultipartRules['forms'] = {
  apply: () => ({ verdict: 'unchanged', body: EMPTY, records: [] }),
  refused: (refusal) => ({ verdict: 'refused', refusal }),
};

function startsWith(bytes: Uint8Array, start: Uint8Array, at: number): boolean {
  if (at + start.length > bytes.length) return false;
  for (let k = 0; k < start.length; k += 1) if (bytes[at + k] !== start[k]) return false;
  return true;
}

const parameter = /;[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=("(?:[^"\\]|\\.)*"|[^;"\s]+)[ \t]*/y;
const disposition = /^content-disposition[ \t]*:[ \t]*form-data[ \t]*/i;

/** Reads the header section of a part; undefined where two readers could find two names in it. */
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

/** The parameters of a Content-Disposition that begins at `at`; undefined for one that cannot be read, and none for another one. */
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

/** Browsers name a `Blob` that has no name `blob`: one of JSON is a body and no file. */
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

/** JSON in UTF-8; undefined for bytes that are no text. The scanner of JSON says itself what is not UTF-8, and where. */
function inUtf8(charset: Charset, bytes: Uint8Array): Uint8Array | undefined {
  if (charset.isUtf8) return bytes;
  const text = charset.decode(bytes);
  return text === undefined ? undefined : encoder.encode(text);
}

/** The way back. */
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

/** A name as WHATWG's forms write it: no character of it ends the header. */
function quoted([first, ...rest]: readonly NamePart[]): string {
  const name = (first?.text ?? '') + rest.map(({ text }) => `[${text}]`).join('');
  return `"${name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')}"`;
}

/** The edits of a field; undefined where its charset has no character for its new value. */
function editsOf(
  { bytes }: Segment,
  { places: { name, content }, charset }: NonNullable<Segment['field']>,
  change: FieldChange,
): readonly Edit[] | undefined {
  if (change === 'unchanged') return [];
  if (change === 'removed') return [{ start: 0, end: bytes.length, insert: EMPTY }];
  const edits: Edit[] = [];
  if (change.name !== undefined) edits.push({ ...name, insert: encoder.encode(quoted(change.name)) });
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
