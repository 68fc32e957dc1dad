import type { NameTable } from '../../json/names.ts';
import type { ListRule } from '../../rules/rule.ts';
import {
  type Draft,
  DraftArray,
  DraftElement,
  type DraftMember,
  type DraftObject,
  markChanged,
} from '../draft.ts';
import {
  aboutMember,
  type CompiledRule,
  type MembersToOpen,
  PLAIN,
  type RuleBase,
  type Run,
  type Stop,
} from '../run.ts';
import { jsonOf, NULL, renameTo } from './values.ts';

const encoder = new TextEncoder();

/** Makes the value of the named member the one element of a list; null is no value, and becomes an empty one. */
export function compileList(rule: ListRule, base: RuleBase, names: NameTable): CompiledRule {
  const [id, to] = [names.add(rule.member), names.add(rule.to)];
  const compiled = aboutMember(rule, base, names, (run, object, member) => {
    const stop = settle(base, run, object, member, to);
    if (stop !== undefined) return stop;
    run.readsValues();
    const before = run.pointerOf(member);
    const isNull = jsonOf(run.draft, member) === NULL;
    renameTo(member, to);
    enlist(run.draft, member, isNull);
    run.step(base.code + PLAIN);
    run.recorder?.enlist(base, member, before, isNull);
    return undefined;
  });
  // The one element of a list is opened as an element of the list will be.
  const open = ({ objects, arrays }: MembersToOpen): void => {
    if (arrays[to] === true) objects[id] = arrays[id] = true;
  };
  return { ...compiled, reach: compiled.path.length + 2, open };
}

/** Settles what a member that gets the name `to` has beside it: others of its name, and of the new one. */
function settle(
  rule: RuleBase,
  run: Run,
  object: DraftObject,
  member: DraftMember,
  to: number,
): Stop | undefined {
  const stop = run.settleRepeated(rule, member.id, member);
  return stop ?? (to === member.id ? undefined : run.settleName(rule, object, to));
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

/** Puts the first element of the list in the named member in its place: null for an empty list; another value stays. */
export function compileFirst(rule: Omit<ListRule, 'rule'>, base: RuleBase, names: NameTable): CompiledRule {
  const [id, to] = [names.add(rule.member), names.add(rule.to)];
  const compiled = aboutMember(rule, base, names, (run, object, member) => {
    run.readsValues();
    const { draft } = run;
    const value = draft.open(member, member.node);
    const isNull = value === undefined && jsonOf(draft, member) === NULL;
    if (!(value instanceof DraftArray) && !isNull) return run.settleValue(base, member, 'a list');
    if (isNull && to === id) return undefined;
    const stop = settle(base, run, object, member, to);
    if (stop !== undefined) return stop;
    const before = run.pointerOf(member);
    renameTo(member, to);
    markChanged(object);
    run.step(base.code + PLAIN);
    if (value instanceof DraftArray) {
      const isEmpty = putFirst(base, run, member, value);
      run.recorder?.first(base, member, before, isEmpty);
    } else run.recorder?.move(base, member, before);
    return undefined;
  });
  const open = ({ arrays }: MembersToOpen): void => {
    arrays[id] = true;
  };
  return { ...compiled, reach: compiled.path.length + 2, lift: 1, open };
}

/** Returns true if the list was empty. */
function putFirst(rule: RuleBase, run: Run, member: DraftMember, array: DraftArray): boolean {
  const { bytes, tape } = run.draft;
  const node = array.node < 0 ? 0 : tape.firstChild(array.node);
  const [entered] = array.elements;
  const isMade = array.node < 0;
  const isLonger = isMade ? array.elements.length > 1 : node > 0 && tape.next(node) > 0;
  if (isLonger) run.recorder?.keep(rule, member, 'more');
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
  return first === undefined && node <= 0;
}
