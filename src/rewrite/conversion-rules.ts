import { readScalar, scalarValue } from '../json/document.ts';
import { type NameTable, stringText } from '../json/names.ts';
import { SCALAR, STRING } from '../json/tape.ts';
import {
  type Converter,
  converterOf,
  expectedBy,
  joinStrings,
  splitString,
  textConverterOf,
} from '../rules/conversion.ts';
import type {
  ConvertRule,
  JoinRule,
  ListRule,
  ResponseConvertRule,
  ResponseJoinRule,
  ResponseListRule,
  ResponseSplitRule,
  SplitRule,
} from '../rules/rule.ts';
import {
  addLast,
  currentPointer,
  type Draft,
  DraftArray,
  DraftElement,
  type DraftMember,
  type DraftObject,
  find,
  markChanged,
  takeAll,
} from './draft.ts';
import { type CompiledRule, OTHER, pathIds, PLAIN, refuse, type Run, type Stop } from './member-rules.ts';
import { type CompiledResponseRule, memberPlace, type ResponseRun } from './response-rules.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const NULL = 'null';

/** The JSON text of a member whose value is a string or a scalar; undefined for an object or an array. */
function jsonOf({ bytes, tape }: Draft, { node, literal, value }: DraftMember): string | undefined {
  if (literal !== undefined) return decoder.decode(literal);
  if (value !== undefined || node < 0) return undefined;
  const kind = tape.kind(node);
  if (kind !== STRING && kind !== SCALAR) return undefined;
  return decoder.decode(bytes.subarray(tape.start(node), tape.end(node)));
}

/** The decoded value of a JSON text of a string or a scalar, for a patch. */
function decoded(json: string): string | number | boolean | null {
  return json.startsWith('"') ? stringText(json.slice(1, -1)) : scalarValue(readScalar(json));
}

/** Gives a member the string or scalar that `json` is. */
function overwrite(member: DraftMember, json: string): void {
  member.literal = encoder.encode(json);
  member.value = undefined;
  if (member.holder !== undefined) markChanged(member.holder);
}

function renameTo(member: DraftMember, id: number): void {
  if (member.id === id) return;
  member.id = id;
  member.isRenamed = true;
}

/** What the policy `value` makes of a value that the rule cannot convert; `keep` leaves it, and says so. */
function settleValue(rule: CompiledRule, run: Run, member: DraftMember, expected: string): Stop | undefined {
  const { value } = rule.policies;
  if (value === 'forward') return { kind: 'forward', note: 'unconvertible-value' };
  if (value === 'refuse') {
    return refuse('unconvertible-value', 422, `The value must be ${expected}.`, run, member);
  }
  run.codes.push(rule.code + OTHER);
  run.recorder?.keep(rule, member);
  return undefined;
}

/** Drops a member whose name another takes, by the policies of the rule. */
function settleName(rule: CompiledRule, run: Run, object: DraftObject, id: number): Stop | undefined {
  const other = find(object, id);
  if (other === undefined) return undefined;
  return run.settleRepeated(rule, id, other) ?? run.settleConflict(rule, rule.code, other);
}

/** A rule that converts the value of a member, compiled. */
export interface CompiledConvert extends CompiledRule {
  readonly rule: ConvertRule['rule'];
  readonly path: readonly number[];
  readonly id: number;
  readonly convert: Converter;
  /** The values that it converts, in words. */
  readonly expected: string;
}

/** Compiles a rule that converts a value. */
export function compileConvert(rule: ConvertRule, base: CompiledRule, names: NameTable): CompiledConvert {
  const expected = expectedBy(rule.conversion);
  const ofText = rule.isOfTexts === true ? textConverterOf(rule.conversion) : undefined;
  const convert: Converter =
    ofText === undefined ? converterOf(rule.conversion) : (json) => convertText(json, ofText);
  const path = pathIds(rule.in, names);
  return { ...base, rule: rule.rule, path, id: names.add(rule.member), convert, expected };
}

/** A form says null by an empty text. */
function convertText(json: string, convert: (text: string) => string | undefined): string | undefined {
  const text = json.startsWith('"') ? stringText(json.slice(1, -1)) : undefined;
  if (text === undefined || text === '') return text === undefined ? undefined : json;
  const converted = convert(text);
  return converted === undefined ? undefined : JSON.stringify(converted);
}

/** Converts the value of the named member; null is no value, and stays. */
export function convert(rule: CompiledConvert, run: Run, object: DraftObject): Stop | undefined {
  const member = find(object, rule.id);
  if (member === undefined) return undefined;
  const stop = run.settleRepeated(rule, rule.id, member);
  if (stop !== undefined) return stop;
  run.readsValues();
  const json = jsonOf(run.draft, member);
  if (json === NULL) return undefined;
  const converted = json === undefined ? undefined : rule.convert(json);
  if (converted === undefined) return settleValue(rule, run, member, rule.expected);
  if (converted === json) return undefined;
  overwrite(member, converted);
  run.codes.push(rule.code + PLAIN);
  run.recorder?.replace(rule, member, decoded(converted));
  return undefined;
}

/** A `list` rule, compiled. */
export interface CompiledList extends CompiledRule {
  readonly rule: 'list';
  readonly path: readonly number[];
  readonly id: number;
  readonly to: number;
}

/** Compiles a `list` rule. */
export function compileList(rule: ListRule, base: CompiledRule, names: NameTable): CompiledList {
  const path = pathIds(rule.in, names);
  return { ...base, rule: 'list', path, id: names.add(rule.member), to: names.add(rule.to) };
}

/** Makes the value of the named member the one element of a list; null is no value, and becomes an empty one. */
export function list(rule: CompiledList, run: Run, object: DraftObject): Stop | undefined {
  const member = find(object, rule.id);
  if (member === undefined) return undefined;
  const stop = run.settleRepeated(rule, rule.id, member);
  if (stop !== undefined) return stop;
  const conflict = rule.to === rule.id ? undefined : settleName(rule, run, object, rule.to);
  if (conflict !== undefined) return conflict;
  run.readsValues();
  const before = run.recorder === undefined ? '' : (currentPointer(run.draft, member) ?? '');
  const isNull = jsonOf(run.draft, member) === NULL;
  renameTo(member, rule.to);
  enlist(run.draft, member, isNull);
  run.codes.push(rule.code + PLAIN);
  run.recorder?.enlist(rule, member, before, isNull);
  return undefined;
}

/** Puts the value of a member into an array of its own, which is empty for null. */
function enlist(draft: Draft, member: DraftMember, isNull: boolean): void {
  const value = draft.open(member, member.node);
  const array = new DraftArray(-1, member);
  array.isEntered = true;
  array.isChanged = true;
  if (!isNull) {
    const element = new DraftElement(array, 0);
    if (value === undefined) element.literal = encoder.encode(jsonOf(draft, member));
    else {
      value.up = element;
      element.value = value;
    }
    array.elements.push(element);
  }
  member.literal = undefined;
  member.value = array;
  member.isReplaced = true;
  if (member.holder !== undefined) markChanged(member.holder);
}

/** A `join` rule, compiled. */
export interface CompiledJoin extends CompiledRule {
  readonly rule: 'join';
  readonly path: readonly number[];
  readonly ids: readonly number[];
  readonly to: number;
  readonly with: string;
}

/** Compiles a `join` rule. */
export function compileJoin(rule: JoinRule, base: CompiledRule, names: NameTable): CompiledJoin {
  const ids = rule.members.map((member) => names.add(member));
  return {
    ...base,
    rule: 'join',
    path: pathIds(rule.in, names),
    ids,
    to: names.add(rule.to),
    with: rule.with,
  };
}

/** Joins the strings of the named members that are there; the joined one takes the place of the first of them. */
export function join(rule: CompiledJoin, run: Run, object: DraftObject): Stop | undefined {
  const members = rule.ids.flatMap((id) => find(object, id) ?? []);
  const first = object.members.find((member) => members.includes(member));
  if (first === undefined) return undefined;
  for (const member of members) {
    const stop = run.settleRepeated(rule, member.id, member);
    if (stop !== undefined) return stop;
  }
  run.readsValues();
  const values: string[] = [];
  for (const member of members) {
    const json = jsonOf(run.draft, member);
    if (json === undefined || (json !== NULL && !json.startsWith('"')))
      return settleValue(rule, run, member, 'a string');
    if (json !== NULL) values.push(json);
  }
  const stop = rule.ids.includes(rule.to) ? undefined : settleName(rule, run, object, rule.to);
  if (stop !== undefined) return stop;
  const joined = values.length === 0 ? NULL : (joinStrings(values, rule.with) ?? NULL);
  const others = members.filter((member) => member !== first);
  const before = run.recorder === undefined ? '' : (currentPointer(run.draft, first) ?? '');
  // The place of the others is that of the joined one, which has its name by then.
  const places = run.recorder === undefined ? [] : others.map((other) => currentPointer(run.draft, other));
  takeAll(object, others);
  renameTo(first, rule.to);
  overwrite(first, joined);
  run.codes.push(rule.code + PLAIN);
  run.recorder?.join(rule, first, { before, others, places, value: decoded(joined) });
  return undefined;
}

/** A `split` rule, compiled. */
export interface CompiledSplit extends CompiledRule, Splitting {
  readonly rule: 'split';
  readonly path: readonly number[];
  readonly id: number;
}

/** Compiles a `split` rule. */
export function compileSplit(rule: SplitRule, base: CompiledRule, names: NameTable): CompiledSplit {
  return {
    ...base,
    rule: 'split',
    path: pathIds(rule.in, names),
    id: names.add(rule.member),
    ids: rule.to.map((name) => names.add(name)),
    with: rule.with,
    at: rule.at,
    none: rule.isOfTexts === true ? '""' : NULL,
  };
}

/** Splits the string of the named member: the first part takes its place, the others come at the end; of null, each part is null. */
export function split(rule: CompiledSplit, run: Run, object: DraftObject): Stop | undefined {
  const member = find(object, rule.id);
  if (member === undefined) return undefined;
  const stop = run.settleRepeated(rule, rule.id, member);
  if (stop !== undefined) return stop;
  run.readsValues();
  const json = jsonOf(run.draft, member);
  const parts = partsOf(rule, json);
  if (parts === undefined)
    return settleValue(rule, run, member, `a string with ${JSON.stringify(rule.with)} in it`);
  for (const id of rule.ids) {
    const conflict = id === rule.id ? undefined : settleName(rule, run, object, id);
    if (conflict !== undefined) return conflict;
  }
  const before = run.recorder === undefined ? '' : (currentPointer(run.draft, member) ?? '');
  const made = putParts(rule, object, member, parts);
  run.codes.push(rule.code + PLAIN);
  run.recorder?.split(rule, member, before, made, parts.map(decoded));
  return undefined;
}

interface Splitting {
  readonly ids: readonly number[];
  readonly with: string;
  readonly at: 'first' | 'last';
  /** The JSON text of a value that is none, null when absent: each part of it is the same. */
  readonly none?: string;
}

function partsOf(rule: Splitting, json: string | undefined): readonly string[] | undefined {
  const { none = NULL } = rule;
  if (json === none) return rule.ids.map(() => none);
  return json === undefined ? undefined : splitString(json, rule.with, rule.ids.length, rule.at);
}

/** Puts the first part in the place of `member`, and returns the members of the others, at the end. */
function putParts(
  { ids }: Splitting,
  object: DraftObject,
  member: DraftMember,
  parts: readonly string[],
): readonly DraftMember[] {
  renameTo(member, ids[0] ?? 0);
  overwrite(member, parts[0] ?? NULL);
  return ids.slice(1).map((id, index) => {
    const made = addLast(object, id);
    overwrite(made, parts[index + 1] ?? NULL);
    return made;
  });
}

/** A rule for responses that converts the value of a member, compiled. */
export interface CompiledResponseConvert extends CompiledResponseRule {
  readonly rule: ResponseConvertRule['rule'];
  readonly id: number;
  readonly convert: Converter;
}

/** Compiles a rule for responses that converts a value. */
export function compileResponseConvert(
  rule: ResponseConvertRule,
  change: string,
  names: NameTable,
): CompiledResponseConvert {
  const { path, name } = memberPlace(rule.path, names);
  const convert = converterOf(rule.conversion);
  return { change, rule: rule.rule, status: rule.status, path, id: names.add(name), convert };
}

/** Converts the value of the member; one that cannot be converted stays, with a note. */
export function responseConvert(rule: CompiledResponseConvert, run: ResponseRun, object: DraftObject): void {
  const member = find(object, rule.id);
  if (member === undefined) return;
  run.hasReadValues = true;
  const json = jsonOf(run.draft, member);
  if (json === NULL) return;
  const converted = json === undefined ? undefined : rule.convert(json);
  if (converted === json) return;
  if (converted === undefined) {
    run.keep(rule, member);
    return;
  }
  run.dropNamed(rule, object, rule.id, member, 'duplicate');
  overwrite(member, converted);
  run.replace(rule, member, member);
}

/** A `list` or `first` rule for responses, compiled. */
export interface CompiledResponseList extends CompiledResponseRule {
  readonly rule: 'list' | 'first';
  readonly id: number;
  readonly to: number;
}

/** Compiles a `list` or `first` rule for responses. */
export function compileResponseList(
  rule: ResponseListRule,
  change: string,
  names: NameTable,
): CompiledResponseList {
  const { path, name } = memberPlace(rule.path, names);
  return { change, rule: rule.rule, status: rule.status, path, id: names.add(name), to: names.add(rule.to) };
}

/** Puts the value of the member into a list, or the first element of a list in its place: null for an empty one. */
export function responseList(rule: CompiledResponseList, run: ResponseRun, object: DraftObject): void {
  const member = find(object, rule.id);
  if (member === undefined) return;
  run.hasReadValues = true;
  const { draft } = run;
  const value = draft.open(member, member.node);
  if (rule.rule === 'first' && !(value instanceof DraftArray)) {
    if (jsonOf(draft, member) !== NULL) run.keep(rule, member);
    else if (rule.to !== rule.id) takeName(rule, run, object, member);
    return;
  }
  takeName(rule, run, object, member);
  if (value instanceof DraftArray && rule.rule === 'first') putFirst(rule, run, member, value);
  else enlist(draft, member, jsonOf(draft, member) === NULL);
  run.replace(rule, member, member);
}

/** Gives the member its new name, which no other has then. */
function takeName(
  rule: CompiledResponseList,
  run: ResponseRun,
  object: DraftObject,
  member: DraftMember,
): void {
  run.dropNamed(rule, object, rule.id, member, 'duplicate');
  if (rule.to === rule.id) return;
  run.dropNamed(rule, object, rule.to, undefined, 'conflict');
  renameTo(member, rule.to);
  markChanged(object);
  if (jsonOf(run.draft, member) === NULL) run.replace(rule, member, member);
}

function putFirst(
  rule: CompiledResponseList,
  run: ResponseRun,
  member: DraftMember,
  array: DraftArray,
): void {
  const { bytes, tape } = run.draft;
  const node = array.node < 0 ? 0 : tape.firstChild(array.node);
  const [entered] = array.elements;
  const isMade = array.node < 0;
  const isLonger = isMade ? array.elements.length > 1 : node > 0 && tape.next(node) > 0;
  if (isLonger) run.keep(rule, member, 'more');
  member.isReplaced = true;
  member.value = undefined;
  member.literal = undefined;
  const isListed = entered?.index === 0;
  // An array that no rule has entered lists nothing yet.
  const first = isListed ? entered : node > 0 ? new DraftElement(array, 0) : undefined;
  const value = first === undefined || isMade || isListed ? first?.value : run.draft.open(first, node);
  if (value !== undefined) {
    value.up = member;
    member.value = value;
  } else if (first?.literal !== undefined) member.literal = first.literal;
  else if (node > 0) member.literal = bytes.slice(tape.start(node), tape.end(node));
  else member.literal = encoder.encode(NULL);
  if (member.holder !== undefined) markChanged(member.holder);
}

/** A `join` rule for responses, compiled. */
export interface CompiledResponseJoin extends CompiledResponseRule {
  readonly rule: 'join';
  readonly ids: readonly number[];
  readonly to: number;
  readonly with: string;
}

/** Compiles a `join` rule for responses. */
export function compileResponseJoin(
  rule: ResponseJoinRule,
  change: string,
  names: NameTable,
): CompiledResponseJoin {
  const ids = rule.members.map((member) => names.add(member));
  const path = pathIds(rule.path, names);
  return { change, rule: 'join', status: rule.status, path, ids, to: names.add(rule.to), with: rule.with };
}

/** Joins the strings of the members that are there; where one is no string, all stay. */
export function responseJoin(rule: CompiledResponseJoin, run: ResponseRun, object: DraftObject): void {
  const members = rule.ids.flatMap((id) => find(object, id) ?? []);
  const first = object.members.find((member) => members.includes(member));
  if (first === undefined) return;
  run.hasReadValues = true;
  const values: string[] = [];
  for (const member of members) {
    const json = jsonOf(run.draft, member);
    if (json === undefined || (json !== NULL && !json.startsWith('"'))) {
      run.keep(rule, member);
      return;
    }
    if (json !== NULL) values.push(json);
  }
  for (const member of members) run.dropNamed(rule, object, member.id, member, 'duplicate');
  if (!rule.ids.includes(rule.to)) run.dropNamed(rule, object, rule.to, undefined, 'conflict');
  run.drop(
    rule,
    object,
    members.filter((member) => member !== first),
    undefined,
  );
  renameTo(first, rule.to);
  overwrite(first, values.length === 0 ? NULL : (joinStrings(values, rule.with) ?? NULL));
  run.replace(rule, first, first);
}

/** A `split` rule for responses, compiled. */
export interface CompiledResponseSplit extends CompiledResponseRule {
  readonly rule: 'split';
  readonly id: number;
  readonly ids: readonly number[];
  readonly with: string;
  readonly at: 'first' | 'last';
}

/** Compiles a `split` rule for responses. */
export function compileResponseSplit(
  rule: ResponseSplitRule,
  change: string,
  names: NameTable,
): CompiledResponseSplit {
  const { path, name } = memberPlace(rule.path, names);
  const { with: separator, at, status } = rule;
  const ids = rule.to.map((part) => names.add(part));
  return { change, rule: 'split', status, path, id: names.add(name), ids, with: separator, at };
}

/** Splits the string of the member; one that cannot be split stays, with a note. */
export function responseSplit(rule: CompiledResponseSplit, run: ResponseRun, object: DraftObject): void {
  const member = find(object, rule.id);
  if (member === undefined) return;
  run.hasReadValues = true;
  const parts = partsOf(rule, jsonOf(run.draft, member));
  if (parts === undefined) {
    run.keep(rule, member);
    return;
  }
  run.dropNamed(rule, object, rule.id, member, 'duplicate');
  for (const id of rule.ids) if (id !== rule.id) run.dropNamed(rule, object, id, undefined, 'conflict');
  const made = putParts(rule, object, member, parts);
  run.replace(rule, member, member);
  for (const part of made) run.replace(rule, part, member);
}
