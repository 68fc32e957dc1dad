import { NO_BYTES, bytesOfText } from '../json/names.ts';
import { concatBytes, latin1Bytes, latin1Text } from '../http/byte-collector.ts';
import { UTF8 } from '../http/charset.ts';
import { hexValue } from '../http/chunk-size.ts';
import { looksLikeJson } from '../http/content.ts';
import { applyEdits, type Edit } from '../json/edit.ts';
import { JsonDocument } from '../json/document.ts';
import { Slab, type Tape, type WorkMemory } from '../json/tape.ts';
import type { Change, Operation, RuleBook } from '../rules/rule-book.ts';
import { formText, ruleInText } from '../rules/kinds/texts.ts';
import {
  currentName,
  type Draft,
  type DraftArray,
  DraftElement,
  type DraftMember,
  DraftObject,
  printDraft,
} from '../edits/draft.ts';
import { BUFFER_FULL, perOperation, type PerOperation, Plan } from './plan.ts';
import {
  isMalformed,
  METHOD_OVERRIDE,
  type Records,
  type Refusal,
  type Rewrite,
  tooDeep,
} from './records.ts';

/** Levels of brackets in a name, at most: the model of a form is built and walked by recursion. */
const MAX_LEVELS = 512;

/** Bytes of memory for a field in addition to its text: its place, its node, its part of the model. */
const FIELD_BYTES = 512;
/** Copies of the text: decoded as UTF-16, and as a model. */
const TEXT_COPIES = 4;

const AMPERSAND = 0x26;
const PERCENT = 0x25;
const PLUS = 0x2b;
const EQUALS = 0x3d;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/** The field that some frameworks read as the method of a POST. */
const METHOD_FIELD = '_method';

/** Services read this field like the query parameter, so a service that must not see another method does not get the field. */
export const NO_METHOD: Change = {
  id: METHOD_OVERRIDE,
  summary: 'The field that names another method.',
  on: 'every',
  request: [{ rule: 'strip', members: [METHOD_FIELD], in: [] }],
  response: [],
  policies: {},
  assumed: false,
};

/** One part of a field's name: `data[suburb]` has `data` and `suburb`, and an empty one stands for any element of a list. */
export interface NamePart {
  readonly text: string;
  /** As spelled by the client. */
  readonly raw: string;
}

/** A field of a form: `data[property][suburb]=x`. */
export interface FormField {
  readonly name: readonly NamePart[];
  readonly value: string;
}

/** What rules did to a field. */
export type FieldChange =
  | 'unchanged'
  | 'removed'
  /** A name or a value that is undefined stays as it is, byte for byte. */
  | { readonly name: readonly NamePart[] | undefined; readonly value: string | undefined };

/** A field that a rule made. */
export interface AddedField {
  /** The field before it; -1 for none. */
  readonly after: number;
  readonly name: readonly NamePart[];
  readonly value: string;
}

/** The effect of rules on the fields of a form. */
export interface FormChanges {
  /** One for each field. */
  readonly fields: readonly FieldChange[];
  readonly added: readonly AddedField[];
  readonly records: Records;
  /** True if a rule has read a value, or written one. */
  readonly readsValues: boolean;
}

/**
 * The request rules of one operation, for forms. A form is read as the equivalent JSON text, with strings as values, so the plan for JSON
 * applies with all rules and policies. The result is written as fields, and every character outside them stays.
 */
export class FormPlan {
  private readonly plan: Plan;
  /** For a body that is JSON. */
  private json: Plan | undefined = undefined;
  private readonly changes: readonly Change[];
  private readonly book: RuleBook;
  /** The methods that the form must not name for its request. */
  private readonly methods: readonly string[];
  private readonly slab = new Slab();

  /** `changes` are those that apply to the operation; a form is refused that names one of the `methods`. */
  constructor(book: RuleBook, changes: readonly Change[], methods: readonly string[] = []) {
    this.book = book;
    this.methods = methods;
    this.changes = changes;
    const dropped = book.override === 'drop' && changes.length > 0 ? [NO_METHOD] : [];
    this.plan = new Plan(book, [...dropped, ...changes.map(inText)]);
  }

  /** True if no rule applies to forms. */
  get isEmpty(): boolean {
    return this.plan.isEmpty && this.methods.length === 0;
  }

  /** Rewrites a form in `application/x-www-form-urlencoded`; never throws, for any bytes. */
  rewrite(body: Uint8Array, memory?: WorkMemory): Rewrite {
    if (body.length === 0 || this.isEmpty) return { verdict: 'unchanged', body, records: [] };
    const asJson = this.rewriteJson(body, memory);
    if (asJson !== undefined) return asJson;
    const places = splitForm(body);
    if (memory?.take(places.length * FIELD_BYTES + body.length * TEXT_COPIES) === false) return BUFFER_FULL;
    const read = readFields(body, places);
    if ('offset' in read) {
      // V2 may decode more than the rules can: at least the names in another charset.
      const named = this.methods.length === 0 ? undefined : this.methodInText(body);
      if (named !== undefined) return { verdict: 'refused', refusal: otherMethod(named) };
      return this.plan.isEmpty ? { verdict: 'unchanged', body, records: [] } : this.malformed(body, read);
    }
    const changes = this.apply(read.fields, memory);
    if ('verdict' in changes) return changes.verdict === 'unchanged' ? { ...changes, body } : changes;
    const pieces = read.indexes.map((index) => places[index] ?? { start: 0, end: 0, equals: 0 });
    const edits = formEdits(body, pieces, read.fields, changes);
    const { records, patch, omitted } = changes.records;
    if (edits.length === 0) return { verdict: 'unchanged', body, records };
    const rewritten = applyEdits(body, edits, this.slab, memory?.room);
    return { verdict: 'rewritten', body: rewritten, edits, records, patch, omitted };
  }

  /** Rewrites JSON that a client sends with the media type of a form, and keeps its escapes; undefined for a body that is not JSON. */
  private rewriteJson(body: Uint8Array, memory: WorkMemory | undefined): Rewrite | undefined {
    if (this.changes.length === 0) return undefined;
    let fault: Rewrite | undefined;
    for (const { text, places } of jsonTexts(body, memory)) {
      this.json ??= new Plan(this.book, this.changes);
      const outcome = this.json.rewrite(text, memory);
      if (isMalformed(outcome)) {
        fault ??= outcome;
        continue;
      }
      // A parser of forms finds a field even inside a string of JSON.
      const named = this.methods.length === 0 ? undefined : this.methodInText(body);
      if (named !== undefined) return { verdict: 'refused', refusal: otherMethod(named) };
      if (this.book.policies.media === 'strict')
        return { verdict: 'unchanged', body, records: [], note: 'media-type' };
      if (outcome.verdict === 'refused') return outcome;
      if (outcome.verdict === 'unchanged') return { ...outcome, body };
      const edits = places === undefined ? outcome.edits : outcome.edits.map((edit) => placed(edit, places));
      return { ...outcome, edits, body: applyEdits(body, edits, this.slab, memory?.room) };
    }
    return fault !== undefined && isNearlyJson(body) ? fault : undefined;
  }

  /**
   * Applies the rules to fields; returns the changes, or why the rules do not apply. `additions` are the fields that rules make, by
   * position.
   */
  apply(
    fields: readonly FormField[],
    memory: WorkMemory | undefined,
    additions: 'in-place' | 'behind-all' = 'in-place',
  ): FormChanges | Stopped {
    const named = fields.find((field) => this.namesMethod(field));
    if (named !== undefined) return { verdict: 'refused', refusal: otherMethod(named.value) };
    if (this.plan.isEmpty) return { verdict: 'unchanged', body: NO_BYTES, records: [] };
    const depth = Math.min(this.book.limits.depth, MAX_LEVELS);
    if (fields.some(({ name }) => name.length > depth)) return this.refused(tooDeep(depth));
    const model = new FormModel(fields);
    const applied = this.plan.applyTo(model.text, memory);
    switch (applied.outcome) {
      case 'buffer-full':
        return BUFFER_FULL;
      case 'fault':
        return this.refused(tooDeep(depth));
      case 'refuse':
        return { verdict: 'refused', refusal: applied.refusal };
      case 'forward':
        return { verdict: 'unchanged', body: NO_BYTES, records: [], note: applied.note };
      case 'applied': {
        const changes = new DraftFields(applied.draft, model, fields).changes();
        const isInPlace = additions === 'in-place';
        if (
          changesLists(changes, fields) &&
          !isSaid(applied.draft, model, fieldsAfter(changes, fields, isInPlace))
        )
          return this.unsayable();
        const isWritten = changes.fields.some(
          (change) => typeof change === 'object' && change.value !== undefined,
        );
        return { ...changes, records: applied.records, readsValues: isWritten || applied.readsValues };
      }
    }
  }

  private unsayable(): Stopped {
    const code = 'unconvertible-value';
    if (this.book.policies.value === 'forward')
      return { verdict: 'unchanged', body: NO_BYTES, records: [], note: code };
    const detail =
      'A form cannot express the lists that V2 would get: number their elements ([0], [1]), or send JSON.';
    return { verdict: 'refused', refusal: { code, status: 422, detail } };
  }

  private namesMethod({ name, value }: FormField): boolean {
    if (this.methods.length === 0) return false;
    const [first, second] = name;
    return second === undefined && first?.text === METHOD_FIELD && this.methods.includes(methodIn(value));
  }

  private methodInText(body: Uint8Array): string | undefined {
    const text = new TextDecoder('latin1').decode(body);
    return new URLSearchParams(text)
      .getAll(METHOD_FIELD)
      .find((value) => this.methods.includes(methodIn(value)));
  }

  /** Refuses a form that cannot be read, or forwards it, as the policy `malformed` says. */
  refused(refusal: Refusal): Stopped {
    return this.book.policies.malformed === 'forward'
      ? { verdict: 'unchanged', body: NO_BYTES, records: [], note: refusal.code }
      : { verdict: 'refused', refusal };
  }

  private malformed(body: Uint8Array, { offset, reason }: FormFault): Rewrite {
    const stopped = this.refused({
      code: 'malformed-form',
      status: 400,
      detail: 'The body is not a valid form: send fields in UTF-8, percent-encoded.',
      position: { offset, line: 1, column: offset + 1 },
      reason,
    });
    return stopped.verdict === 'unchanged' ? { ...stopped, body } : stopped;
  }
}

function methodIn(value: string): string {
  return value.trim().toUpperCase();
}

function otherMethod(value: string): Refusal {
  return {
    code: 'bad-request',
    status: 400,
    detail: `The field ${METHOD_FIELD} says ${methodIn(value)}, whose rules differ from those of the request line: send that method, or name it in X-HTTP-Method-Override or in the query.`,
    pointer: `/${METHOD_FIELD}`,
  };
}

/** A text that may be JSON, in a form. */
interface FormText {
  readonly text: Uint8Array;
  /** The position of each of its bytes in the form, and of its end; undefined if it begins with the form and has no escapes. */
  readonly places: Uint32Array | undefined;
}

const ESCAPED_MARK = /^%ef%bb%bf/i;
/** The beginning of JSON with any character escaped, as `curl --data-urlencode` sends it. */
const ESCAPED_JSON = /^(?:\+|%(?:20|09|0a|0d))*(?:[{[]|%[57]b)/i;
/** Maximum characters of a form that are searched for its first significant character. */
const MAX_LEAD = 256;

/**
 * The JSON texts that a form may be: `curl -d` sends JSON as a form unless given the media type. A client that sends the JSON as the name
 * of a field without a value adds an equals sign at its end.
 */
function* jsonTexts(body: Uint8Array, memory: WorkMemory | undefined): Generator<FormText> {
  const end = body[body.length - 1] === EQUALS ? body.length - 1 : body.length;
  const isPlain = looksLikeJson(body) === true;
  if (isPlain) yield { text: body.subarray(0, end), places: undefined };
  const start = latin1Text(body.subarray(0, MAX_LEAD)).replace(ESCAPED_MARK, '');
  if (!isPlain && !ESCAPED_JSON.test(start)) return;
  if (!body.includes(PERCENT) && !body.includes(PLUS)) return;
  if (memory?.take(body.length * TEXT_COPIES * 2) === false) return;
  const decoded = unescaped(body.subarray(0, end));
  if (decoded !== undefined) yield decoded;
}

/** True for a single unescaped name that begins like a JSON object, and that no real field would have. */
function isNearlyJson(body: Uint8Array): boolean {
  const start = latin1Text(body.subarray(0, MAX_LEAD));
  return /^(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*"/.test(start) && !body.includes(AMPERSAND);
}

/** Decodes all escapes of a form; undefined if one of them is invalid. */
function unescaped(body: Uint8Array): FormText | undefined {
  const places = new Uint32Array(body.length + 1);
  const text = unescapedBytes(body, 0, body.length, places);
  if (!(text instanceof Uint8Array)) return undefined;
  places[text.length] = body.length;
  return { text, places: places.subarray(0, text.length + 1) };
}

/** Converts an edit of a decoded text to one of the form. */
function placed({ start, end, insert }: Edit, places: Uint32Array): Edit {
  return { start: places[start] ?? 0, end: places[end] ?? 0, insert: bytesOfText(escaped(insert)) };
}

function escaped(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    text += /[\w.~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return text;
}

/** The JSON text that a body in the media type of a form is, as the rules read it; undefined for a form with fields. */
export function jsonInForm(body: Uint8Array): Uint8Array | undefined {
  for (const { text } of jsonTexts(body, undefined))
    if (JsonDocument.read(text) instanceof JsonDocument) return text;
  return undefined;
}

/** Returns the JSON text that means the same as a form; undefined for a form that cannot be read. */
export function formModel(body: Uint8Array): Uint8Array | undefined {
  const json = jsonInForm(body);
  if (json !== undefined) return json;
  const read = readFields(body, splitForm(body));
  return 'offset' in read ? undefined : modelOfFields(read.fields);
}

/** The same for fields that were read. */
export function modelOfFields(fields: readonly FormField[]): Uint8Array | undefined {
  return fields.some(({ name }) => name.length > MAX_LEVELS) ? undefined : new FormModel(fields).text;
}

/** The plans of a rule book for forms. */
export interface FormPlans {
  /**
   * Returns the plan of `operation`; `undefined` is for requests without an operation in the rule book. It refuses a form that names one of
   * the `methods` for its request.
   */
  of(operation: Operation | undefined, methods?: readonly string[]): FormPlan;
}

/** Compiles the request rules of `book` for forms, each plan on first use. */
export function compileForms(book: RuleBook): FormPlans {
  const byMethods = new Map<string, PerOperation<FormPlan>>();
  return {
    of: (operation, methods = []) => {
      const key = methods.join(' ');
      const plans =
        byMethods.get(key) ?? perOperation(book, (changes) => new FormPlan(book, changes, methods));
      byMethods.set(key, plans);
      return plans.of(operation);
    },
  };
}

/** Why the rules do not apply to a form: it is refused, or forwarded unchanged. */
type Stopped = Exclude<Rewrite, { readonly verdict: 'rewritten' }>;

/** A form has no types: returns the change with rules that compare and write values as text. */
export function inText(change: Change): Change {
  return { ...change, request: change.request.map(ruleInText) };
}

/** The place of a field in a form: it ends at `end`, its name at `equals`, which is `end` for a field without a value. */
interface FieldPlace {
  readonly start: number;
  readonly equals: number;
  readonly end: number;
}

/** Why a form cannot be read, and at which position. */
interface FormFault {
  readonly offset: number;
  readonly reason: string;
}

/** Splits a form at each ampersand. */
function splitForm(body: Uint8Array): readonly FieldPlace[] {
  const places: FieldPlace[] = [];
  for (let start = 0; start <= body.length;) {
    const ampersand = body.indexOf(AMPERSAND, start);
    const end = ampersand === -1 ? body.length : ampersand;
    const equals = body.subarray(start, end).indexOf(EQUALS);
    places.push({ start, equals: equals === -1 ? end : start + equals, end });
    start = end + 1;
  }
  return places;
}

/** Reads the fields at `places`; an empty one, as in `a&&b`, is not a field, and stays. */
function readFields(
  body: Uint8Array,
  places: readonly FieldPlace[],
): { readonly fields: readonly FormField[]; readonly indexes: readonly number[] } | FormFault {
  const fields: FormField[] = [];
  const indexes: number[] = [];
  for (const [index, { start, equals, end }] of places.entries()) {
    if (start === end) continue;
    const name = nameParts(body, start, equals);
    if ('offset' in name) return name;
    const value = decodePart(body, Math.min(equals + 1, end), end);
    if (typeof value !== 'string') return value;
    fields.push({ name, value });
    indexes.push(index);
  }
  return { fields, indexes };
}

/** Decodes the escapes between two positions; stores the position of each byte in `places`. */
function unescapedBytes(
  body: Uint8Array,
  start: number,
  end: number,
  places?: Uint32Array,
): Uint8Array | FormFault {
  const bytes = new Uint8Array(end - start);
  let length = 0;
  for (let at = start; at < end; at += 1) {
    let byte = body[at] ?? 0;
    if (places !== undefined) places[length] = at;
    if (byte === PLUS) byte = 0x20;
    if (byte === PERCENT) {
      const high = hexValue(body[at + 1]);
      const low = hexValue(body[at + 2]);
      if (high < 0 || low < 0 || at + 2 >= end)
        return { offset: at, reason: 'two hexadecimal digits are expected after the percent sign' };
      byte = high * 16 + low;
      at += 2;
    }
    bytes[length] = byte;
    length += 1;
  }
  return bytes.subarray(0, length);
}

/** Decodes a name or a value (WHATWG URL §5.1): strictly, because parsers differ about invalid text. */
function decodePart(body: Uint8Array, start: number, end: number): string | FormFault {
  const bytes = unescapedBytes(body, start, end);
  if (!(bytes instanceof Uint8Array)) return bytes;
  return UTF8.decode(bytes) ?? { offset: start, reason: 'the text is not UTF-8' };
}

/** Splits a name at its brackets, encoded or not: `data[property][suburb]`. Any other name is one part, such as `a[b` or one with dots. */
function nameParts(body: Uint8Array, start: number, end: number): readonly NamePart[] | FormFault {
  const ranges = nameRanges(body, start, end) ?? [{ from: start, to: end }];
  const parts: NamePart[] = [];
  for (const { from, to } of ranges) {
    const text = decodePart(body, from, to);
    if (typeof text !== 'string') return text;
    parts.push({ text, raw: latin1Text(body.subarray(from, to)) });
  }
  return parts;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** The parts of a name between brackets; undefined unless the name is followed by pairs of brackets only. */
function nameRanges(body: Uint8Array, start: number, end: number): readonly Range[] | undefined {
  const ranges: Range[] = [];
  let from = start;
  let isInside = false;
  for (let at = start; at < end;) {
    const bracket = bracketAt(body, at, end);
    if (bracket === undefined) {
      // Text between a closing bracket and the next opening one is not allowed.
      if (!isInside && ranges.length > 0) return undefined;
      at += 1;
      continue;
    }
    if (bracket.opens === isInside) return undefined;
    if (bracket.opens && ranges.length === 0) {
      if (at === start) return undefined;
      ranges.push({ from, to: at });
    }
    if (!bracket.opens) ranges.push({ from, to: at });
    isInside = bracket.opens;
    at += bracket.length;
    from = at;
  }
  return isInside || ranges.length === 0 ? undefined : ranges;
}

function bracketAt(
  body: Uint8Array,
  at: number,
  end: number,
): { readonly opens: boolean; readonly length: number } | undefined {
  const byte = body[at];
  if (byte === OPEN || byte === CLOSE) return { opens: byte === OPEN, length: 1 };
  if (byte !== PERCENT || body[at + 1] !== 0x35 || at + 2 >= end) return undefined;
  const letter = (body[at + 2] ?? 0) | 0x20;
  return letter === 0x62 || letter === 0x64 ? { opens: letter === 0x62, length: 3 } : undefined;
}

/** Returns the edits that change the fields at `places`. */
function formEdits(
  body: Uint8Array,
  places: readonly FieldPlace[],
  fields: readonly FormField[],
  { fields: changes, added }: FormChanges,
): readonly Edit[] {
  if (added.length === 0 && changes.every((change) => change === 'unchanged')) return [];
  const brackets = bracketsOf(body, 0, body.length) ?? ['[', ']'];
  const edits: Edit[] = [];
  let hasKept = places[0] !== undefined && places[0].start > 0;
  const additions = Map.groupBy(added, ({ after }) => after);
  /** Fields that wait for the next field that is kept, for an ampersand between them. */
  let pending = (additions.get(-1) ?? []).map((field) => printField(field, brackets));
  for (const [k, place] of places.entries()) {
    const change = changes[k] ?? 'unchanged';
    const own = bracketsOf(body, place.start, place.equals) ?? brackets;
    for (const field of additions.get(k) ?? []) pending.push(printField(field, own));
    if (change === 'removed') {
      // Removed with the ampersand before it, or the one after it if it is now the first.
      const next = Math.min(place.end + 1, body.length);
      edits.push(
        hasKept
          ? { start: place.start - 1, end: place.end, insert: NO_BYTES }
          : { start: place.start, end: next, insert: NO_BYTES },
      );
      // An empty pair after it stays.
      if (body[place.end + 1] === AMPERSAND) hasKept = true;
    } else {
      if (change !== 'unchanged') edits.push(...fieldEdits(place, fields[k], change, own));
      hasKept = true;
      if (pending.length > 0) edits.push(insertion(place.end, pending.map((text) => `&${text}`).join('')));
      pending = [];
    }
  }
  if (pending.length > 0)
    edits.push(insertion(body.length, (hasKept ? ['', ...pending] : pending).join('&')));
  return joined(edits);
}

function insertion(at: number, text: string): Edit {
  return { start: at, end: at, insert: bytesOfText(text) };
}

/** Merges edits at the same position, such as a value and a field after it. */
function joined(edits: readonly Edit[]): readonly Edit[] {
  const list: Edit[] = [];
  for (const edit of edits) {
    const last = list.at(-1);
    if (last === undefined || last.end !== edit.start) {
      list.push(edit);
      continue;
    }
    const insert = concatBytes([last.insert, edit.insert]);
    list[list.length - 1] = { start: last.start, end: edit.end, insert };
  }
  return list;
}

function fieldEdits(
  { start, equals, end }: FieldPlace,
  field: FormField | undefined,
  { name, value }: Exclude<FieldChange, string>,
  brackets: Brackets,
): readonly Edit[] {
  const edits: Edit[] = [];
  if (name !== undefined && !isSameName(name, field?.name))
    edits.push({ start, end: equals, insert: latin1Bytes(printName(name, brackets)) });
  if (value !== undefined) edits.push({ start: equals, end, insert: bytesOfText(`=${encoded(value)}`) });
  return edits;
}

function isSameName(one: readonly NamePart[], other: readonly NamePart[] | undefined): boolean {
  return one.length === other?.length && one.every(({ raw }, at) => raw === other[at]?.raw);
}

type Brackets = readonly [open: string, close: string];

/** The spelling of the first brackets between two positions; undefined if there are none. */
function bracketsOf(body: Uint8Array, start: number, end: number): Brackets | undefined {
  for (let at = start; at < end; at += 1) {
    const bracket = bracketAt(body, at, end);
    if (bracket === undefined) continue;
    if (bracket.length === 1) return ['[', ']'];
    return (body[at + 2] ?? 0) >= 0x61 ? ['%5b', '%5d'] : ['%5B', '%5D'];
  }
  return undefined;
}

function printName([first, ...rest]: readonly NamePart[], [open, close]: Brackets): string {
  return (first?.raw ?? '') + rest.map(({ raw }) => `${open}${raw}${close}`).join('');
}

function printField({ name, value }: AddedField, brackets: Brackets): string {
  return `${printName(name, brackets)}=${encoded(value)}`;
}

/** Encodes a text for a form (WHATWG URL §5.2): a space becomes a plus sign. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll('%20', '+');
}

/** True if rules change a field of a list `[]`, whose name does not tell which element it belongs to. */
function changesLists(
  { fields: changes, added }: Pick<FormChanges, 'fields' | 'added'>,
  fields: readonly FormField[],
): boolean {
  return (
    added.some(isInList) ||
    changes.some((change, at) => {
      const [before, after] = [fields[at], typeof change === 'string' ? undefined : change.name];
      return change !== 'unchanged' && (isInList({ name: after ?? [] }) || isInList(before ?? { name: [] }));
    })
  );
}

function isInList({ name }: Pick<FormField, 'name'>): boolean {
  return name.some(({ text }) => text === '');
}

/** The fields that V2 gets: added fields come after the next one that is kept. */
function fieldsAfter(
  { fields: changes, added }: Pick<FormChanges, 'fields' | 'added'>,
  fields: readonly FormField[],
  isInPlace: boolean,
): readonly FormField[] {
  const additions = Map.groupBy(added, ({ after }) => (isInPlace ? after : fields.length - 1));
  const sent: FormField[] = [];
  let pending: FormField[] = [...(additions.get(-1) ?? [])];
  for (const [at, field] of fields.entries()) {
    const change = changes[at] ?? 'unchanged';
    pending.push(...(additions.get(at) ?? []));
    if (change === 'removed') continue;
    const { name = field.name, value = field.value } = change === 'unchanged' ? field : change;
    sent.push({ name, value }, ...pending);
    pending = [];
  }
  return [...sent, ...pending];
}

/** True if the fields express everything that rules made of the model, except empty objects and lists, which a form cannot have. */
function isSaid(draft: Draft, model: FormModel, fields: readonly FormField[]): boolean {
  const made = applyEdits(model.text, printDraft(draft, []).edits(model.text, draft.tape, 0));
  return meaningOf(made) === meaningOf(new FormModel(fields).text);
}

/** Returns the same text for all JSON texts that have the same form. */
function meaningOf(json: Uint8Array): string | undefined {
  const document = JsonDocument.read(json);
  return document instanceof JsonDocument ? meaningAt(document, document.root, true) : undefined;
}

function meaningAt(document: JsonDocument, node: number, isRoot: boolean): string | undefined {
  const kind = document.kindOf(node);
  if (kind === 'string' || kind === 'scalar') return JSON.stringify(formText(document.valueOf(node)));
  const children = [...document.childrenOf(node)];
  const names = children.map((child) => (kind === 'array' ? '' : document.nameOf(child)));
  const inner = children.map((child) => meaningAt(document, child, false));
  const isNumbers = !isRoot && names.every((name) => /^\d+$/.test(name));
  if (kind === 'array' || (isNumbers && new Set(names).size === names.length)) {
    const elements = inner.filter((meaning) => meaning !== undefined);
    return elements.length === 0 ? undefined : `[${elements.join(',')}]`;
  }
  const members = new Map(names.map((name, at) => [name, inner[at]]));
  const said = [...members].filter(([, meaning]) => meaning !== undefined);
  const texts = said.map(([name, meaning]) => `${JSON.stringify(name)}:${meaning}`).sort();
  return texts.length === 0 ? undefined : `{${texts.join(',')}}`;
}

interface Leaf {
  readonly field: number;
}

interface Container {
  readonly kind: 'object' | 'list';
  readonly entries: { readonly name: string; readonly node: Leaf | Container }[];
  /** The last entry of each name. */
  readonly last: Map<string, Leaf | Container>;
}

function container(kind: Container['kind']): Container {
  return { kind, entries: [], last: new Map() };
}

/** A form as a JSON text for the rules; knows the field that each string comes from. */
class FormModel {
  /** In ASCII, so that its characters are its bytes. */
  readonly text: Uint8Array;
  /** In order of position: where a value begins, and its field. */
  private readonly starts: number[] = [];
  private readonly fieldsAt: number[] = [];
  private readonly fields: readonly FormField[];
  private readonly pieces: string[] = [];
  private length = 0;

  constructor(fields: readonly FormField[]) {
    this.fields = fields;
    const root = container('object');
    for (const field of fields.keys()) insertField(root, fields, field);
    this.print(root, false);
    this.text = bytesOfText(this.pieces.join(''));
  }

  /** The fields whose values are between two offsets of the text. */
  fieldsIn(start: number, end: number): readonly number[] {
    const { starts } = this;
    let low = 0;
    for (let high = starts.length; low < high;) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) < start) low = middle + 1;
      else high = middle;
    }
    let to = low;
    while (to < starts.length && (starts[to] ?? 0) < end) to += 1;
    return this.fieldsAt.slice(low, to);
  }

  private print(node: Leaf | Container, mayBeList: boolean): void {
    if ('field' in node) {
      this.starts.push(this.length);
      this.fieldsAt.push(node.field);
      this.write(asciiString(this.fields[node.field]?.value ?? ''));
      return;
    }
    const isList = node.kind === 'list' || (mayBeList && isNumbered(node));
    this.write(isList ? '[' : '{');
    for (const [at, { name, node: inner }] of node.entries.entries()) {
      if (at > 0) this.write(',');
      if (!isList) this.write(`${asciiString(name)}:`);
      this.print(inner, true);
    }
    this.write(isList ? ']' : '}');
  }

  private write(text: string): void {
    this.pieces.push(text);
    this.length += text.length;
  }
}

function asciiString(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** True for `a[0][b]=…&a[1][b]=…`: services read the numbers as indexes of a list. */
function isNumbered({ entries, last }: Container): boolean {
  return entries.length === last.size && entries.every(({ name }) => /^\d+$/.test(name));
}

/** Adds a field as Rack and PHP read it. A name that is both a value and a container counts as repeated, as in `a=1&a[b]=2`. */
function insertField(root: Container, fields: readonly FormField[], field: number): void {
  const names = fields[field]?.name ?? [];
  let at = root;
  for (const [step, { text }] of names.entries()) {
    if (step === names.length - 1) {
      add(at, text, { field });
      return;
    }
    const kind = names[step + 1]?.text === '' ? 'list' : 'object';
    const known = at.kind === 'list' ? at.entries.at(-1)?.node : at.last.get(text);
    const isKnown = known !== undefined && 'kind' in known && known.kind === kind;
    // Fields belong to the same list element until a name repeats.
    const isContinued =
      at.kind === 'object' || (kind === 'object' && isKnown && hasRoom(known, names, step + 1));
    at = isKnown && isContinued ? known : add(at, text, container(kind));
  }
}

function hasRoom(element: Container, names: readonly NamePart[], step: number): boolean {
  let at = element;
  for (let k = step; k < names.length; k += 1) {
    if (at.kind === 'list') return true;
    const known = at.last.get(names[k]?.text ?? '');
    if (known === undefined) return true;
    if ('field' in known || k === names.length - 1) return false;
    at = known;
  }
  return false;
}

function add<Node extends Leaf | Container>(at: Container, name: string, node: Node): Node {
  at.entries.push({ name, node });
  if (at.kind === 'object') at.last.set(name, node);
  return node;
}

/** A step of a field's name: its text, and its part in the client's name; -1 if a rule made it. */
interface Step {
  readonly text: string;
  readonly part: number;
}

/** Converts the rules' changes of a form's model to changes of its fields. */
class DraftFields {
  private readonly draft: Draft;
  private readonly tape: Tape;
  private readonly model: FormModel;
  private readonly fields: readonly FormField[];
  private readonly result: FieldChange[];
  private readonly added: AddedField[] = [];
  /** The last visited field: fields that a rule adds come after it. */
  private last = -1;

  constructor(draft: Draft, model: FormModel, fields: readonly FormField[]) {
    this.draft = draft;
    this.tape = draft.tape;
    this.model = model;
    this.fields = fields;
    this.result = fields.map(() => 'removed');
  }

  changes(): Pick<FormChanges, 'fields' | 'added'> {
    const { root } = this.draft;
    if (root.isChanged || root.node < 0) this.object(root, []);
    else this.keptInside(root.node, [], root.origin === undefined ? -1 : partOfHolder(root.origin));
    return { fields: this.result, added: this.added };
  }

  private object(object: DraftObject, steps: readonly Step[]): void {
    for (const member of object.members) {
      const { node, literal, isReplaced } = member;
      if (node >= 0 && literal === undefined && !isReplaced) this.members(member, steps);
      else this.made(member, steps);
    }
  }

  /** Visits a member of the form, or a group of them. */
  private members(member: DraftMember, steps: readonly Step[]): void {
    const part = partOfMember(member);
    const { value, last } = member;
    if (value !== undefined) {
      const inside = [...steps, { text: currentName(this.draft, member), part }];
      this.value(value, member.node, inside, part);
      return;
    }
    for (let { node } = member; ; node = this.tape.next(node)) {
      const isNamed = member.isRenamed || member.key !== undefined;
      const text = isNamed ? currentName(this.draft, member) : undefined;
      this.kept(node, steps, part, text);
      if (node === last) return;
    }
  }

  private value(value: DraftObject | DraftArray, node: number, steps: readonly Step[], part: number): void {
    if (!value.isChanged) this.keptInside(node, steps, part);
    else if (value instanceof DraftObject) this.object(value, steps);
    else this.array(value, steps, part);
  }

  private array(array: DraftArray, steps: readonly Step[], part: number): void {
    const elements = new Map(array.elements.map((element) => [element.index, element]));
    let index = 0;
    for (let node = this.tape.firstChild(array.node); node > 0; node = this.tape.next(node)) {
      const element = elements.get(index);
      const [first = 0] = this.fieldsOf(node);
      const text = this.fields[first]?.name[part + 1]?.text ?? '';
      const inside = [...steps, { text, part: part + 1 }];
      if (element?.isReplaced === true) this.replaced(element, inside);
      else if (element?.value === undefined) this.kept(node, steps, part + 1, text);
      else this.value(element.value, node, inside, part + 1);
      index += 1;
    }
  }

  /** Visits an element whose value a rule replaced, perhaps with that of a member. */
  private replaced({ value, literal, from }: DraftElement, steps: readonly Step[]): void {
    if (from === undefined || from.node < 0 || literal !== undefined) this.add(literal, value, steps);
    else if (value === undefined) this.keptInside(from.node, steps, partOfMember(from));
    else this.value(value, from.node, steps, partOfMember(from));
  }

  /** Visits a value that no rule changed. `part` is the part of the field's name that names it, and `text` its new text. */
  private kept(node: number, steps: readonly Step[], part: number, text: string | undefined): void {
    for (const field of this.fieldsOf(node)) {
      const own = text ?? this.fields[field]?.name[part]?.text ?? '';
      this.place(field, [...steps, { text: own, part }], part, undefined);
    }
  }

  private keptInside(node: number, steps: readonly Step[], part: number): void {
    for (const field of this.fieldsOf(node)) this.place(field, steps, part, undefined);
  }

  private fieldsOf(node: number): readonly number[] {
    return this.model.fieldsIn(this.tape.start(node), this.tape.end(node));
  }

  /** Moves a field to `steps`, with the parts of its name after `part`. */
  private place(field: number, steps: readonly Step[], part: number, value: string | undefined): void {
    const names = this.fields[field]?.name ?? [];
    const name = [...steps.map((step) => namePart(step, names)), ...names.slice(part + 1)];
    if (this.result[field] !== 'removed') {
      // A rule copied it: the field already has a place.
      this.added.push({ after: this.last, name, value: value ?? this.fields[field]?.value ?? '' });
      return;
    }
    this.last = field;
    const isSame = isSameName(name, names);
    this.result[field] =
      isSame && value === undefined ? 'unchanged' : { name: isSame ? undefined : name, value };
  }

  /** Visits a member that a rule made, or whose value it wrote. */
  private made(member: DraftMember, steps: readonly Step[]): void {
    const { node, literal, value } = member;
    const own = node >= 0 ? partOfMember(member) : -1;
    const inside = [...steps, { text: currentName(this.draft, member), part: own }];
    const [field, ...others] = node >= 0 ? this.fieldsOf(node) : [];
    const names = field === undefined ? [] : (this.fields[field]?.name ?? []);
    const isField = others.length === 0 && names.length === own + 1;
    if (literal !== undefined && field !== undefined && isField)
      this.place(field, inside, own, formText(literal));
    else this.add(literal, value, inside);
  }

  /** Adds the fields of a value that a rule made. */
  private add(
    literal: Uint8Array | undefined,
    value: DraftObject | DraftArray | undefined,
    steps: readonly Step[],
  ): void {
    if (literal !== undefined) {
      const name = steps.map((step) => namePart(step, this.fields[this.last]?.name ?? []));
      this.added.push({ after: this.last, name, value: formText(literal) });
    } else if (value !== undefined && value.node >= 0)
      this.value(value, value.node, steps, value.origin === undefined ? -1 : partOfHolder(value.origin));
    else if (value instanceof DraftObject) this.object(value, steps);
    else {
      const element = [...steps, { text: '', part: -1 }];
      for (const made of value?.elements ?? []) this.add(made.literal, made.value, element);
    }
  }
}

/** A part keeps the client's spelling, unless a rule made it. */
function namePart({ text, part }: Step, names: readonly NamePart[]): NamePart {
  const own = names[part];
  return own?.text === text ? own : { text, raw: encoded(text) };
}

/** The position of a member's name among the parts of its fields' names. */
function partOfMember({ home, isElement }: DraftMember): number {
  if (home.origin === undefined) return 0;
  return partOfHolder(home.origin) + (isElement ? 0 : 1);
}

function partOfHolder(holder: DraftMember | DraftElement): number {
  if (!(holder instanceof DraftElement)) return partOfMember(holder);
  const { up } = holder.array;
  return up === undefined ? 0 : partOfHolder(up) + 1;
}
