import { concatBytes } from '../http/byte-collector.ts';
import { hasByteOrderMark, JsonDocument } from '../json/document.ts';
import { applyEdits, type Edit } from '../json/edit.ts';
import { decoded } from '../edits/values.ts';
import { bytesOfText, decodeString, textOfBytes } from '../json/names.ts';
import { pointerSteps, pointerToken } from '../json/pointer.ts';
import type { WorkMemory } from '../json/tape.ts';
import type { Change, RuleBook } from '../rules/rule-book.ts';
import { kindOf, lensNamed } from '../rules/kinds/kinds.ts';
import type { RequestRule } from '../rules/rule.ts';
import { isSameList } from './caches.ts';
import { BUFFER_FULL, BYTE_ORDER_MARK, perOperation, type PerOperation, Plan } from './plan.ts';
import { type EditRecord, malformed, type PatchOperation, type Refusal, type Rewrite } from './records.ts';

/** Maximum recorded edits of a patch: further edits are applied and counted. */
const MAX_RECORDED = 100;
/** Maximum operations of one patch: the rules run on two small bodies for each. */
const MAX_OPERATIONS = 10_000;

/** Maximum memory for reading a patch, in bytes for each byte of it. */
const BYTES_READ = 24;

const OPERATIONS: ReadonlySet<string> = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test']);

const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;

const NULL = bytesOfText('null');
const EMPTY_OBJECT = bytesOfText('{}');

/** V2's place for the member at a V1 pointer; undefined if V2 has none. */
interface Place {
  readonly pointer: string;
  /** Number of objects that are empty because the rules moved the member out of them. */
  readonly emptied: number;
  readonly records: readonly EditRecord[];
}

/** The result for one operation: the edits of its text, or its removal. */
interface Migrated {
  readonly isDropped: boolean;
  readonly edits: readonly Edit[];
  readonly records: readonly EditRecord[];
  readonly patch: readonly PatchOperation[];
  /** False if a value is missing for the patch. */
  readonly isPatchable: boolean;
}

type Stop = { readonly refusal: Refusal } | { readonly note: string };

/** One operation of a patch as it is read, by the offsets of its parts. */
interface PatchOperationText {
  readonly index: number;
  /** Its place in the patch that V2 gets. */
  readonly sentIndex: number;
  readonly path: number;
  readonly from: number | undefined;
  readonly value: number | undefined;
}

/**
 * The request rules of one operation for a JSON Patch (RFC 6902). For each pointer, the rules run on a body with only the member that it
 * names, which gives V2's pointer and value. An operation on a member that V2 lacks is dropped. Rules that add absent members do not
 * apply, because a patch leaves all other members as they are. All other bytes stay.
 */
export class JsonPatchPlan {
  /** The rules for a body that names what changes, such as a JSON Merge Patch (RFC 7396). */
  readonly merge: Plan;
  private readonly book: RuleBook;
  /** Rules that convert the form of a value, by their names in records: its parts have no place at V2. */
  private readonly reshaping: ReadonlySet<string>;

  /** `changes` are those that apply to the operation. */
  constructor(book: RuleBook, changes: readonly Change[]) {
    this.book = book;
    this.reshaping = new Set(
      changes.flatMap(({ id, request }) =>
        request.flatMap((rule) => ('elements' in rule ? [`${id} ${rule.rule}`] : [])),
      ),
    );
    this.merge = new Plan(
      { ...book, policies: { ...book.policies, flat: 'migrate' } },
      changes.map((change) => ({
        ...change,
        // A pointer may lead into the resource or into its wrapper.
        policies: { ...change.policies, flat: 'migrate' },
        request: change.request.filter(saysNothingOfAbsent),
      })),
    );
  }

  /** True if no rule applies to patches. */
  get isEmpty(): boolean {
    return this.merge.isEmpty;
  }

  /** Rewrites a patch; never throws, for any bytes. */
  rewrite(body: Uint8Array, memory?: WorkMemory): Rewrite {
    if (body.length === 0 || this.isEmpty) return { verdict: 'unchanged', body, records: [] };
    if (memory?.take(body.length * BYTES_READ) === false) return BUFFER_FULL;
    const { depth } = this.book.limits;
    const from = hasByteOrderMark(body) ? 3 : 0;
    const document = JsonDocument.read(body, depth, from);
    if (!(document instanceof JsonDocument))
      return this.stopped(body, { refusal: malformed(document, depth) }, true);
    const elements =
      document.kindOf(document.root) === 'array' ? [...document.childrenOf(document.root)] : [];
    if (document.kindOf(document.root) !== 'array' || elements.length > MAX_OPERATIONS)
      return this.stopped(
        body,
        { refusal: malformedPatch('', `at most ${MAX_OPERATIONS} operations in a list`) },
        true,
      );
    const edits: Edit[] = [];
    const records = new Map<string, EditRecord>();
    if (from > 0) {
      edits.push({ start: 0, end: from, insert: new Uint8Array() });
      records.set('', BYTE_ORDER_MARK);
    }
    const patch: PatchOperation[] = [];
    let isPatchable = true;
    let sentIndex = 0;
    for (const [index, element] of elements.entries()) {
      const read = readOperation(document, element, index, sentIndex);
      if ('refusal' in read) return this.stopped(body, read, true);
      const migrated = this.migrate(document, read, memory && { take: memory.take });
      if ('refusal' in migrated || 'note' in migrated) return this.stopped(body, migrated, false);
      if (migrated.isDropped) edits.push(removal(document, elements, index, sentIndex > 0));
      else sentIndex += 1;
      edits.push(...migrated.edits);
      isPatchable &&= migrated.isPatchable;
      patch.push(...migrated.patch);
      // Each move is recorded once, as for a body, even if many operations name it; the patch in the log has every operation.
      for (const record of migrated.records) records.set(JSON.stringify(record), record);
    }
    const all = [...records.values()];
    const kept = all.slice(0, MAX_RECORDED);
    if (edits.length === 0) return { verdict: 'unchanged', body, records: kept };
    const omitted = all.length - kept.length;
    const rewritten = applyEdits(body, edits);
    return {
      verdict: 'rewritten',
      body: rewritten,
      edits,
      records: kept,
      patch: omitted > 0 || !isPatchable ? [] : patch,
      omitted,
    };
  }

  private stopped(body: Uint8Array, stop: Stop, isMalformed: boolean): Rewrite {
    if ('note' in stop) return { verdict: 'unchanged', body, records: [], note: stop.note };
    if (isMalformed && this.book.policies.malformed === 'forward')
      return { verdict: 'unchanged', body, records: [], note: stop.refusal.code };
    return { verdict: 'refused', refusal: stop.refusal };
  }

  private migrate(
    document: JsonDocument,
    operation: PatchOperationText,
    memory: WorkMemory | undefined,
  ): Migrated | Stop {
    const { index, sentIndex, path, from, value } = operation;
    const edits: Edit[] = [];
    const records: EditRecord[] = [];
    const patch: PatchOperation[] = [];
    let isPatchable = true;
    for (const [part, node] of [
      ['path', path],
      ['from', from],
    ] as const) {
      if (node === undefined) continue;
      const pointer = textOf(document, node);
      const place = this.placeOf(pointer, memory);
      if (place === undefined) {
        return {
          isDropped: true,
          isPatchable: true,
          edits: [],
          records: this.recordsOf(pointer, memory),
          patch: [{ op: 'remove', path: `/${sentIndex}` }],
        };
      }
      if ('refusal' in place || 'note' in place) return at(place, index, part, pointer);
      records.push(...place.records);
      if (place.pointer !== pointer) {
        edits.push({ ...spanOf(document, node), insert: bytesOfText(JSON.stringify(place.pointer)) });
        patch.push({ op: 'replace', path: `/${sentIndex}/${part}`, value: place.pointer });
      }
      if (part !== 'path' || value === undefined) continue;
      const made = this.valueAt(pointer, place, document.valueOf(value), memory);
      if ('refusal' in made || 'note' in made) return at(made, index, 'value', pointer);
      records.push(...made.records);
      if (isSameList(made.bytes, document.valueOf(value))) continue;
      edits.push({ ...spanOf(document, value), insert: made.bytes });
      const scalar = scalarIn(made.bytes);
      isPatchable = scalar !== undefined;
      patch.push({ op: 'replace', path: `/${sentIndex}/value`, value: scalar });
    }
    edits.sort((one, other) => one.start - other.start);
    return { isDropped: false, edits, records, patch, isPatchable };
  }

  /** Returns where the rules put the member at a pointer; undefined if V2 has none. */
  private placeOf(pointer: string, memory: WorkMemory | undefined): Place | Stop | undefined {
    let [outcome, indexes] = this.migrated(pointer, NULL, memory);
    // A wrapped resource is an object.
    const isObject = outcome.verdict === 'refused';
    if (isObject) [outcome, indexes] = this.migrated(pointer, EMPTY_OBJECT, memory);
    if (outcome.verdict === 'refused') return { refusal: outcome.refusal };
    if (outcome.verdict === 'unchanged')
      return outcome.note === undefined
        ? { pointer, emptied: 0, records: outcome.records }
        : { note: outcome.note };
    const document = JsonDocument.read(outcome.body);
    if (!(document instanceof JsonDocument)) return { pointer, emptied: 0, records: [] };
    const found = placeIn(document, indexes, isObject);
    const isInside = outcome.records.some(
      ({ change, rule, from }) =>
        this.reshaping.has(`${change} ${rule}`) && from !== undefined && pointer.startsWith(`${from}/`),
    );
    if (
      isInside ||
      found === 'several' ||
      outcome.records.some(({ rule }) => lensNamed(rule)?.joins === true)
    )
      return { refusal: ofAnotherSize(pointer) };
    return found === 'none' ? undefined : { ...found, records: outcome.records };
  }

  /** Returns the value at `place` for V2, given the client's value at `pointer`. */
  private valueAt(
    pointer: string,
    place: Place,
    value: Uint8Array,
    memory: WorkMemory | undefined,
  ): { readonly bytes: Uint8Array; readonly records: readonly EditRecord[] } | Stop {
    const [outcome, indexes] = this.migrated(pointer, value, memory);
    if (outcome.verdict === 'refused') return { refusal: outcome.refusal };
    if (outcome.verdict === 'unchanged')
      return outcome.note === undefined ? { bytes: value, records: [] } : { note: outcome.note };
    const document = JsonDocument.read(outcome.body);
    if (document instanceof JsonDocument) {
      const found = placeIn(document, indexes, false, place.pointer);
      if (typeof found === 'object' && found.pointer === place.pointer && found.emptied === place.emptied)
        return { bytes: document.valueOf(found.node), records: outcome.records };
    }
    return { refusal: ofAnotherSize(pointer) };
  }

  /** The edits that remove the member at a pointer. */
  private recordsOf(pointer: string, memory: WorkMemory | undefined): readonly EditRecord[] {
    const [outcome] = this.migrated(pointer, NULL, memory);
    return outcome.verdict === 'rewritten' ? outcome.records : [];
  }

  /**
   * The rules' result for a body with only the value at the pointer, and the indexes in the pointer. A number is an index, or a member's
   * name if more rules then apply.
   */
  private migrated(
    pointer: string,
    value: Uint8Array,
    memory: WorkMemory | undefined,
  ): readonly [outcome: Rewrite, indexes: readonly string[]] {
    const steps = pointerSteps(pointer);
    const numbers = [...steps.keys()].filter((at) => isIndex(steps[at] ?? ''));
    const attempts = [-1, ...numbers.slice(0, MAX_NUMBERS)].map((name) => {
      const lists = new Set(numbers.filter((at) => at !== name));
      const outcome = this.merge.rewrite(bodyWith(steps, lists, value), memory);
      return [outcome, [...lists].map((at) => steps[at] ?? '')] as const;
    });
    return attempts.reduce((one, other) => (rulesIn(other[0]) > rulesIn(one[0]) ? other : one));
  }
}

/** The plans of a rule book for patches. */
export type JsonPatchPlans = PerOperation<JsonPatchPlan>;

/** Compiles the request rules of `book` for patches, each plan on first use. */
export function compileJsonPatches(book: RuleBook): JsonPatchPlans {
  return perOperation(book, (changes) => new JsonPatchPlan(book, changes));
}

function saysNothingOfAbsent(rule: RequestRule): boolean {
  return kindOf(rule).makesBody === undefined;
}

/** Refuses an operation on what is several members at V2, or a part of one: no pointer can name that. */
function ofAnotherSize(pointer: string): Refusal {
  const detail = 'At V2 this is not one member: patch smaller parts, or send the whole resource.';
  return { code: 'unconvertible-value', status: 422, detail, pointer };
}

function malformedPatch(pointer: string, expected: string): Refusal {
  return {
    code: 'malformed-patch',
    status: 400,
    detail: `The body is not a JSON Patch (RFC 6902): ${expected} is expected.`,
    pointer,
  };
}

/** Reads one operation. Refuses repeated members, because parsers differ about which one counts. */
function readOperation(
  document: JsonDocument,
  element: number,
  index: number,
  sentIndex: number,
): PatchOperationText | { readonly refusal: Refusal } {
  const found: { [Name in 'op' | 'path' | 'from' | 'value']?: number } = {};
  if (document.kindOf(element) !== 'object')
    return { refusal: malformedPatch(`/${index}`, 'an object for each operation') };
  for (const member of document.childrenOf(element)) {
    const name = document.nameOf(member);
    if (name !== 'op' && name !== 'path' && name !== 'from' && name !== 'value') continue;
    if (found[name] !== undefined) {
      const detail = `An operation of the patch has the member ${name} twice.`;
      return { refusal: { code: 'duplicate-member', status: 400, detail, pointer: `/${index}/${name}` } };
    }
    found[name] = member;
  }
  const { op, path, from, value } = found;
  const name = op === undefined ? '' : textOf(document, op);
  if (!OPERATIONS.has(name))
    return { refusal: malformedPatch(`/${index}/op`, 'add, remove, replace, move, copy or test') };
  const needsFrom = name === 'move' || name === 'copy';
  const wrong = !isPointer(document, path)
    ? 'path'
    : needsFrom && !isPointer(document, from)
      ? 'from'
      : undefined;
  if (path === undefined || wrong !== undefined)
    return { refusal: malformedPatch(`/${index}/${wrong}`, 'a pointer, such as "/name",') };
  const hasValue = !needsFrom && name !== 'remove';
  if (hasValue && value === undefined)
    return { refusal: malformedPatch(`/${index}`, 'a value for the operation') };
  return {
    index,
    sentIndex,
    path,
    from: needsFrom ? from : undefined,
    value: hasValue ? value : undefined,
  };
}

function isPointer(document: JsonDocument, node: number | undefined): boolean {
  if (node === undefined || document.kindOf(node) !== 'string') return false;
  const text = textOf(document, node);
  return text === '' || text.startsWith('/');
}

/** The decoded text of a string; empty for any other value. */
function textOf(document: JsonDocument, node: number): string {
  if (document.kindOf(node) !== 'string') return '';
  const { start, end } = spanOf(document, node);
  return decodeString(document.bytes, start, end);
}

function spanOf(document: JsonDocument, node: number): { readonly start: number; readonly end: number } {
  const value = document.valueOf(node);
  const start = value.byteOffset - document.bytes.byteOffset;
  return { start, end: start + value.length };
}

/** Maximum numbers in a pointer that are tried as the name of a member. */
const MAX_NUMBERS = 4;

function rulesIn(outcome: Rewrite): number {
  return outcome.verdict === 'refused' ? 0 : outcome.records.length;
}

/** A body that contains only `value`, at the end of `steps`, of which those at `lists` are indexes. */
function bodyWith(steps: readonly string[], lists: ReadonlySet<number>, value: Uint8Array): Uint8Array {
  const before = steps.map((step, at) => (lists.has(at) ? '[' : `{${JSON.stringify(step)}:`)).join('');
  const after = steps.map((_, at) => (lists.has(at) ? ']' : '}')).toReversed();
  return concatBytes([bytesOfText(before), value, bytesOfText(after.join(''))]);
}

/** An index of a list, or `-` for the position after its end (RFC 6901 §4). */
function isIndex(step: string): boolean {
  return /^(?:-|0|[1-9]\d*)$/.test(step);
}

/**
 * The place of the only value of a body, which may be an empty object; `none` if the rules removed it. At the pointer `end`, any value
 * counts.
 */
function placeIn(
  document: JsonDocument,
  indexes: readonly string[],
  isObject: boolean,
  end?: string,
): (Omit<Place, 'records'> & { readonly node: number }) | 'several' | 'none' {
  const waiting = [{ node: document.root, lists: 0, pointer: '' }];
  let found: (typeof waiting)[number] | undefined;
  let emptied = 0;
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const { node, lists, pointer } = at;
    const kind = document.kindOf(node);
    // A list that a rule made is the value itself.
    const isValue = pointer === end || (kind === 'array' ? lists >= indexes.length : kind !== 'object');
    const children = isValue ? [] : [...document.childrenOf(node)];
    if (isValue || (isObject && children.length === 0)) {
      if (found !== undefined) return 'several';
      found = at;
    } else if (children.length === 0) emptied += 1;
    for (const child of children)
      waiting.push(
        kind === 'array'
          ? { node: child, lists: lists + 1, pointer: `${pointer}/${indexes[lists] ?? ''}` }
          : { node: child, lists, pointer: `${pointer}/${pointerToken(document.nameOf(child))}` },
      );
  }
  return found === undefined ? 'none' : { ...found, emptied };
}

/** The edit that removes an operation from its list, with one comma. */
function removal(document: JsonDocument, elements: readonly number[], index: number, hasKept: boolean): Edit {
  const { start, end } = spanOf(document, elements[index] ?? 0);
  const before = elements[index - 1];
  const next = elements[index + 1];
  const insert = new Uint8Array();
  if (hasKept && before !== undefined) return { start: spanOf(document, before).end, end, insert };
  return { start, end: next === undefined ? end : spanOf(document, next).start, insert };
}

/** Adds to a refusal the place of its cause in the patch. */
function at(stop: Stop, index: number, part: string, pointer: string): Stop {
  if ('note' in stop) return stop;
  const { pointer: inside = '', position: _, ...refusal } = stop.refusal;
  const rest = part === 'value' && inside.startsWith(`${pointer}/`) ? inside.slice(pointer.length) : '';
  return { refusal: { ...refusal, pointer: `/${index}/${part}${rest}` } };
}

/** The decoded value of a scalar; undefined for an object and a list. */
function scalarIn(json: Uint8Array): string | number | boolean | null | undefined {
  if (json[0] === OPEN_OBJECT || json[0] === OPEN_LIST) return undefined;
  const value = decoded(textOfBytes(json));
  return typeof value === 'number' && !Number.isFinite(value) ? undefined : value;
}
