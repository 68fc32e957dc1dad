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
import {
  aboutMember,
  type CompiledRule,
  type MembersToOpen,
  OTHER,
  pathIds,
  PLAIN,
  refuse,
  type RuleBase,
  type Run,
  type Stop,
} from './member-rules.ts';
import {
  type CompiledResponseRule,
  memberRule,
  type ResponseRuleBase,
  type ResponseRun,
} from './response-rules.ts';

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
function settleValue(rule: RuleBase, run: Run, member: DraftMember, expected: string): Stop | undefined {
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
function settleName(rule: RuleBase, run: Run, object: DraftObject, id: number): Stop | undefined {
  const other = find(object, id);
  if (other === undefined) return undefined;
  return run.settleRepeated(rule, id, other) ?? run.settleConflict(rule, rule.code, other);
}

/** Converts the value of the named member; null is no value, and stays. */
export function compileConvert(rule: ConvertRule, base: RuleBase, names: NameTable): CompiledRule {
  const expected = expectedBy(rule.conversion);
  const ofText = rule.isOfTexts === true ? textConverterOf(rule.conversion) : undefined;
  const convert: Converter =
    ofText === undefined ? converterOf(rule.conversion) : (json) => convertText(json, ofText);
  return aboutMember(rule, base, names, (run, _, member) => {
    run.readsValues();
    const json = jsonOf(run.draft, member);
    if (json === NULL) return undefined;
    const converted = json === undefined ? undefined : convert(json);
    if (converted === undefined) return settleValue(base, run, member, expected);
    if (converted === json) return undefined;
    overwrite(member, converted);
    run.codes.push(base.code + PLAIN);
    run.recorder?.replace(base, member, decoded(converted));
    return undefined;
  });
}

/** A form says null by an empty text. */
function convertText(json: string, convert: (text: string) => string | undefined): string | undefined {
  const text = json.startsWith('"') ? stringText(json.slice(1, -1)) : undefined;
  if (text === undefined || text === '') return text === undefined ? undefined : json;
  const converted = convert(text);
  return converted === undefined ? undefined : JSON.stringify(converted);
}

/** Makes the value of the named member the one element of a list; null is no value, and becomes an empty one. */
export function compileList(rule: ListRule, base: RuleBase, names: NameTable): CompiledRule {
  const [id, to] = [names.add(rule.member), names.add(rule.to)];
  return {
    ...aboutMember(rule, base, names, (run, object, member) => {
      const conflict = to === id ? undefined : settleName(base, run, object, to);
      if (conflict !== undefined) return conflict;
      run.readsValues();
      const before = run.pointerOf(member);
      const isNull = jsonOf(run.draft, member) === NULL;
      renameTo(member, to);
      enlist(run.draft, member, isNull);
      run.codes.push(base.code + PLAIN);
      run.recorder?.enlist(base, member, before, isNull);
      return undefined;
    }),
    open: (opened) => openListed(opened, id, to),
  };
}

/** The one element of a list is opened as an element of the list will be. */
function openListed({ objects, arrays }: MembersToOpen, id: number, to: number): void {
  if (arrays[to] === true) objects[id] = arrays[id] = true;
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

/** The members of `object` with these names that are there, and the one of them that comes first. */
function membersOf(
  object: DraftObject,
  ids: readonly number[],
): { readonly members: readonly DraftMember[]; readonly first: DraftMember | undefined } {
  const members = ids.flatMap((id) => find(object, id) ?? []);
  return { members, first: object.members.find((member) => members.includes(member)) };
}

/** The strings of members, without nulls; the first member that is neither, if there is one. */
function stringsOf(draft: Draft, members: readonly DraftMember[]): readonly string[] | DraftMember {
  const values: string[] = [];
  for (const member of members) {
    const json = jsonOf(draft, member);
    if (json === undefined || (json !== NULL && !json.startsWith('"'))) return member;
    if (json !== NULL) values.push(json);
  }
  return values;
}

/** Joins the strings of the named members that are there; the joined one takes the place of the first of them. */
export function compileJoin(rule: JoinRule, base: RuleBase, names: NameTable): CompiledRule {
  const ids = rule.members.map((member) => names.add(member));
  const to = names.add(rule.to);
  return {
    ...base,
    path: pathIds(rule.in, names),
    apply: (run, object) => {
      const { members, first } = membersOf(object, ids);
      if (first === undefined) return undefined;
      for (const member of members) {
        const stop = run.settleRepeated(base, member.id, member);
        if (stop !== undefined) return stop;
      }
      run.readsValues();
      const values = stringsOf(run.draft, members);
      if (!('length' in values)) return settleValue(base, run, values, 'a string');
      const stop = ids.includes(to) ? undefined : settleName(base, run, object, to);
      if (stop !== undefined) return stop;
      const joined = joinedOf(values, rule.with);
      const others = members.filter((member) => member !== first);
      const before = run.pointerOf(first);
      // The place of the others is that of the joined one, which has its name by then.
      const places =
        run.recorder === undefined ? [] : others.map((other) => currentPointer(run.draft, other));
      takeAll(object, others);
      renameTo(first, to);
      overwrite(first, joined);
      run.codes.push(base.code + PLAIN);
      run.recorder?.join(base, first, { before, others, places, value: decoded(joined) });
      return undefined;
    },
  };
}

function joinedOf(values: readonly string[], separator: string): string {
  return values.length === 0 ? NULL : (joinStrings(values, separator) ?? NULL);
}

/** Splits the string of the named member: the first part takes its place, the others come at the end; of null, each part is null. */
export function compileSplit(rule: SplitRule, base: RuleBase, names: NameTable): CompiledRule {
  const id = names.add(rule.member);
  const ids = rule.to.map((name) => names.add(name));
  const none = rule.isOfTexts === true ? '""' : NULL;
  return aboutMember(rule, base, names, (run, object, member) => {
    run.readsValues();
    const parts = partsOf(rule, jsonOf(run.draft, member), none);
    if (parts === undefined)
      return settleValue(base, run, member, `a string with ${JSON.stringify(rule.with)} in it`);
    for (const part of ids) {
      const conflict = part === id ? undefined : settleName(base, run, object, part);
      if (conflict !== undefined) return conflict;
    }
    const before = run.pointerOf(member);
    const made = putParts(ids, object, member, parts);
    run.codes.push(base.code + PLAIN);
    run.recorder?.split(base, member, before, made, parts.map(decoded));
    return undefined;
  });
}

/** The parts of a string; each part of a value that is none, whose JSON text is `none`, is the same. */
function partsOf(
  { to, with: separator, at }: Pick<SplitRule, 'to' | 'with' | 'at'>,
  json: string | undefined,
  none = NULL,
): readonly string[] | undefined {
  if (json === none) return to.map(() => none);
  return json === undefined ? undefined : splitString(json, separator, to.length, at);
}

/** Puts the first part in the place of `member`, and returns the members of the others, at the end. */
function putParts(
  ids: readonly number[],
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

/** Converts the value of the member; one that cannot be converted stays, with a note. */
export function compileResponseConvert(
  rule: ResponseConvertRule,
  change: string,
  names: NameTable,
): CompiledResponseRule {
  const base = memberRule(rule, change, names);
  const convert = converterOf(rule.conversion);
  return {
    ...base,
    apply: (run, object) => {
      const member = find(object, base.id);
      if (member === undefined) return;
      run.hasReadValues = true;
      const json = jsonOf(run.draft, member);
      if (json === NULL) return;
      const converted = json === undefined ? undefined : convert(json);
      if (converted === json) return;
      if (converted === undefined) {
        run.keep(base, member);
        return;
      }
      run.dropNamed(base, object, base.id, member, 'duplicate');
      overwrite(member, converted);
      run.replace(base, member, member);
    },
  };
}

/** A `list` or `first` rule for responses while it applies. */
interface ResponseList extends ResponseRuleBase {
  readonly id: number;
  readonly to: number;
}

/** Puts the value of the member into a list, or the first element of a list in its place: null for an empty one. */
export function compileResponseList(
  rule: ResponseListRule,
  change: string,
  names: NameTable,
): CompiledResponseRule {
  const base = { ...memberRule(rule, change, names), to: names.add(rule.to) };
  const { id, to, path } = base;
  const isFirst = rule.rule === 'first';
  return {
    ...base,
    reach: path.length + 2,
    lift: isFirst ? 1 : 0,
    open: (opened) => {
      if (isFirst) opened.arrays[id] = true;
      else openListed(opened, id, to);
    },
    apply: (run, object) => {
      const member = find(object, id);
      if (member === undefined) return;
      run.hasReadValues = true;
      const { draft } = run;
      const value = draft.open(member, member.node);
      if (isFirst && !(value instanceof DraftArray)) {
        if (jsonOf(draft, member) !== NULL) run.keep(base, member);
        else if (to !== id) takeName(base, run, object, member);
        return;
      }
      takeName(base, run, object, member);
      if (value instanceof DraftArray && isFirst) putFirst(base, run, member, value);
      else enlist(draft, member, jsonOf(draft, member) === NULL);
      run.replace(base, member, member);
    },
  };
}

/** Gives the member its new name, which no other has then. */
function takeName(rule: ResponseList, run: ResponseRun, object: DraftObject, member: DraftMember): void {
  run.dropNamed(rule, object, rule.id, member, 'duplicate');
  if (rule.to === rule.id) return;
  run.dropNamed(rule, object, rule.to, undefined, 'conflict');
  renameTo(member, rule.to);
  markChanged(object);
  if (jsonOf(run.draft, member) === NULL) run.replace(rule, member, member);
}

function putFirst(rule: ResponseRuleBase, run: ResponseRun, member: DraftMember, array: DraftArray): void {
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

/** Joins the strings of the members that are there; where one is no string, all stay. */
export function compileResponseJoin(
  rule: ResponseJoinRule,
  change: string,
  names: NameTable,
): CompiledResponseRule {
  const base = { change, rule: rule.rule, status: rule.status, path: pathIds(rule.path, names) };
  const ids = rule.members.map((member) => names.add(member));
  const to = names.add(rule.to);
  return {
    ...base,
    apply: (run, object) => {
      const { members, first } = membersOf(object, ids);
      if (first === undefined) return;
      run.hasReadValues = true;
      const values = stringsOf(run.draft, members);
      if (!('length' in values)) {
        run.keep(base, values);
        return;
      }
      for (const member of members) run.dropNamed(base, object, member.id, member, 'duplicate');
      if (!ids.includes(to)) run.dropNamed(base, object, to, undefined, 'conflict');
      const others = members.filter((member) => member !== first);
      run.drop(base, object, others, undefined);
      renameTo(first, to);
      overwrite(first, joinedOf(values, rule.with));
      run.replace(base, first, first);
    },
  };
}

/** Splits the string of the member; one that cannot be split stays, with a note. */
export function compileResponseSplit(
  rule: ResponseSplitRule,
  change: string,
  names: NameTable,
): CompiledResponseRule {
  const base = memberRule(rule, change, names);
  const ids = rule.to.map((part) => names.add(part));
  return {
    ...base,
    apply: (run, object) => {
      const member = find(object, base.id);
      if (member === undefined) return;
      run.hasReadValues = true;
      const parts = partsOf(rule, jsonOf(run.draft, member));
      if (parts === undefined) {
        run.keep(base, member);
        return;
      }
      run.dropNamed(base, object, base.id, member, 'duplicate');
      for (const id of ids) if (id !== base.id) run.dropNamed(base, object, id, undefined, 'conflict');
      const made = putParts(ids, object, member, parts);
      run.replace(base, member, member);
      for (const part of made) run.replace(base, part, member);
    },
  };
}
