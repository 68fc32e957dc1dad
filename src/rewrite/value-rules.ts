import { JsonDocument } from '../json/document.ts';
import type { NameTable } from '../json/names.ts';
import { pointerToken } from '../json/pointer.ts';
import type {
  MoveRule,
  ResponseMoveRule,
  ResponseSetRule,
  ResponseStripRule,
  SetRule,
} from '../rules/rule.ts';
import {
  addLast,
  type Draft,
  DraftMember,
  DraftObject,
  find,
  layOutLike,
  markChanged,
  objectPointer,
  pointerAside,
  remove,
  settle,
  take,
  type Template,
  write,
} from './draft.ts';
import {
  type CompiledRule,
  MADE,
  MappedValues,
  type MembersToOpen,
  openLike,
  openPath,
  OTHER,
  pathIds,
  PLAIN,
  type RuleBase,
  type RuleReads,
  type Stop,
} from './member-rules.ts';
import {
  type CompiledResponseRule,
  isNull,
  memberRule,
  type ResponseRuleBase,
  type ResponseRun,
} from './response-rules.ts';

const encoder = new TextEncoder();

/** The value of a JSON text that the rule book reader made; later rules can go into its objects and arrays. */
function templateOf(json: string, names: NameTable): Template {
  const document = JsonDocument.read(encoder.encode(json));
  // The texts come from a rule book that was read, so that a fault cannot occur.
  if (!(document instanceof JsonDocument)) return { kind: 'literal', bytes: encoder.encode('null') };
  return templateAt(document, document.root, names);
}

function templateAt(document: JsonDocument, node: number, names: NameTable): Template {
  const children = [...document.childrenOf(node)];
  switch (document.kindOf(node)) {
    case 'object':
      return {
        kind: 'object',
        members: children.map((child) => [
          names.add(document.nameOf(child)),
          templateAt(document, child, names),
        ]),
      };
    case 'array':
      return { kind: 'array', elements: children.map((child) => templateAt(document, child, names)) };
    case 'string':
    case 'scalar':
      return { kind: 'literal', bytes: document.valueOf(node) };
  }
}

/** Gives the named member its value: where it is, or at the end of the object. */
export function compileSet(rule: SetRule, base: RuleBase, names: NameTable): CompiledRule {
  const id = names.add(rule.member);
  const template = templateOf(rule.json, names);
  return {
    ...base,
    path: pathIds(rule.in, names),
    apply: (run, object) => {
      const member = find(object, id);
      if (member === undefined) {
        const made = addLast(object, id);
        write(made, template);
        run.codes.push(base.code + PLAIN);
        run.recorder?.add(base, made, rule.value);
        return undefined;
      }
      const stop = run.settleRepeated(base, id, member);
      if (stop !== undefined || rule.rule === 'default') return stop;
      write(member, template);
      run.codes.push(base.code + OTHER);
      run.recorder?.replace(base, member, rule.value);
      return undefined;
    },
  };
}

/** What a move reads: both of its paths, and the moved member by its old name as by its new one. */
function readsOfMove(path: readonly number[], from: readonly number[], to: readonly number[]): RuleReads {
  return {
    path,
    reach: path.length + Math.max(from.length, to.length),
    lift: Math.max(0, from.length - to.length),
    open: (opened: MembersToOpen) => {
      openLike(opened, from.at(-1) ?? 0, to.at(-1) ?? 0);
      for (const end of [from, to]) {
        openPath(opened, path);
        for (const id of end.slice(0, -1)) opened.objects[id] = true;
      }
    },
  };
}

/** Moves the member to its place in another object; the objects on the way there are made. */
export function compileMove(rule: MoveRule, base: RuleBase, names: NameTable): CompiledRule {
  const [from, to] = [pathIds(rule.from, names), pathIds(rule.to, names)];
  return {
    ...base,
    ...readsOfMove(pathIds(rule.in, names), from, to),
    apply: (run, object) => {
      const { draft, recorder } = run;
      let holder = object;
      for (const id of from.slice(0, -1)) {
        const member = find(holder, id);
        if (member === undefined) return undefined;
        const stop = run.settleRepeated(base, id, member);
        if (stop !== undefined) return stop;
        const value = draft.open(member, member.node);
        if (!(value instanceof DraftObject)) return undefined;
        holder = value;
      }
      const id = from.at(-1) ?? 0;
      const member = find(holder, id);
      if (member === undefined) return undefined;
      const stop = run.settleRepeated(base, id, member);
      if (stop !== undefined) return stop;
      let before = run.pointerOf(member);
      let isConflict = false;
      const stopped = place<Stop>(
        draft,
        { object, holder, member, to },
        {
          repeated: (other) => run.settleRepeated(base, other.id, other),
          inTheWay: (other) => {
            isConflict = true;
            return run.settleConflict(base, base.code, other);
          },
          made: (target, made) => {
            run.codes.push(base.code + MADE);
            if (recorder === undefined) return;
            const aside = asideOf(draft, before, target, made);
            if (aside !== undefined) recorder.moveAside(before, aside);
            before = aside ?? before;
            recorder.make(target, pointerToken(draft.names.name(made.id)));
          },
        },
      );
      if (stopped !== undefined) return stopped;
      run.codes.push(base.code + PLAIN);
      recorder?.move(base, member, before, isConflict ? 'conflict' : undefined);
      return undefined;
    },
  };
}

/** Where a patch puts a member that is in the place of an object made for it; undefined if it is elsewhere. */
function asideOf(draft: Draft, before: string, target: DraftObject, made: DraftMember): string | undefined {
  const around = objectPointer(draft, target) ?? '';
  if (before !== `${around}/${pointerToken(draft.names.name(made.id))}`) return undefined;
  return pointerAside(draft, target, draft.names.name(made.id));
}

/** A member that moves from `holder` to `to`, a path from `object`. */
interface Moved {
  readonly object: DraftObject;
  readonly holder: DraftObject;
  readonly member: DraftMember;
  readonly to: readonly number[];
}

/** What becomes of the members on the way. */
interface OnTheWay<T> {
  /** Called with the last of the members that have one name. */
  repeated(member: DraftMember): T | undefined;
  /** Called with a member whose place another takes: it must go. */
  inTheWay(member: DraftMember): T | undefined;
  /** Called after an object was made in `target`. */
  made(target: DraftObject, made: DraftMember): void;
}

/**
 * Puts a member where its path leads: at the end of an object that is there; one that is made for it stands where the member stood,
 * if it is in the same object.
 */
function place<T>(draft: Draft, { object, holder, member, to }: Moved, way: OnTheWay<T>): T | undefined {
  let target = object;
  let isPlaced = false;
  for (const id of to.slice(0, -1)) {
    const next = find(target, id);
    if (next !== undefined && next !== member) {
      const stop = way.repeated(next);
      if (stop !== undefined) return stop;
      const value = draft.open(next, next.node);
      if (value instanceof DraftObject) {
        target = value;
        continue;
      }
      const conflict = way.inTheWay(next);
      if (conflict !== undefined) return conflict;
    }
    const made = isPlaced || target !== holder ? addLast(target, id) : encloser(target, member, id);
    const created = new DraftObject(-1, made);
    made.value = created;
    if (!isPlaced && target !== holder) detach(holder, member);
    isPlaced = true;
    way.made(target, made);
    target = created;
  }
  const id = to.at(-1) ?? 0;
  const other = find(target, id);
  if (other !== undefined && other !== member) {
    const stop = way.repeated(other) ?? way.inTheWay(other);
    if (stop !== undefined) return stop;
  }
  if (!isPlaced) detach(holder, member);
  if (member.id !== id) {
    member.id = id;
    member.isRenamed = true;
  }
  member.holder = target;
  target.members.push(member);
  settle(target);
  return undefined;
}

/** Puts a new member in the place of `member`, which will be in its value. */
function encloser(object: DraftObject, member: DraftMember, id: number): DraftMember {
  const made = new DraftMember(id, -1, member.place, member.hasDelimiter, object);
  made.hasLead = member.hasLead;
  made.isMoved = member.isMoved;
  member.hasLead = false;
  member.hasDelimiter = false;
  object.members[object.members.indexOf(member)] = made;
  markChanged(object);
  return made;
}

function detach(holder: DraftObject, member: DraftMember): void {
  remove(holder, member);
  member.isMoved = true;
  settle(holder);
}

/** Gives the member its value: where it is, or at the end of the object; of a repeated name, the last counts. */
export function compileResponseSet(
  rule: ResponseSetRule,
  change: string,
  names: NameTable,
): CompiledResponseRule {
  const base = memberRule(rule, change, names);
  const template = templateOf(rule.json, names);
  return {
    ...base,
    apply: (run, object) => {
      const member = find(object, base.id);
      if (member === undefined) {
        const made = addLast(object, base.id);
        write(made, template);
        run.add(base, made, rule.value);
      } else if (rule.rule === 'set') {
        run.dropNamed(base, object, base.id, member, 'duplicate');
        write(member, template);
        run.replace(base, member, member);
      }
    },
  };
}

/** Removes the member, each time that it is there. */
export function compileResponseStrip(
  rule: ResponseStripRule,
  change: string,
  names: NameTable,
): CompiledResponseRule {
  const base = memberRule(rule, change, names);
  const only = rule.only && new MappedValues([{ from: rule.only, to: rule.only }]);
  return {
    ...base,
    apply: (run, object) => {
      const members = object.members.filter(({ id }) => id === base.id);
      const last = members.at(-1);
      if (last !== undefined && only !== undefined) {
        run.hasReadValues = true;
        if (only.find(run.draft, last) === -1) return;
      }
      if (members.length > 0) run.drop(base, object, members, undefined);
    },
  };
}

/** Moves the member to its place in another object; V1 had none of the objects that are left empty, or null. */
export function compileResponseMove(
  rule: ResponseMoveRule,
  change: string,
  names: NameTable,
): CompiledResponseRule {
  const path = pathIds(rule.path, names);
  const [from, to] = [pathIds(rule.from, names), pathIds(rule.to, names)];
  const base = { change, rule: rule.rule, status: rule.status, ...readsOfMove(path, from, to) };
  return {
    ...base,
    readsAnyName: isWithin(from, to),
    apply: (run, object) => moveBack(base, from, to, run, object),
  };
}

function moveBack(
  rule: ResponseRuleBase,
  from: readonly number[],
  to: readonly number[],
  run: ResponseRun,
  object: DraftObject,
): void {
  const { draft } = run;
  let shared = 0;
  while (shared < from.length - 1 && from[shared] === to[shared]) shared += 1;
  const around: DraftMember[] = [];
  let holder = object;
  for (const [depth, id] of from.slice(0, -1).entries()) {
    const member = find(holder, id);
    if (member === undefined) return;
    run.dropNamed(rule, holder, id, member, 'duplicate');
    const value = draft.open(member, member.node);
    if (!(value instanceof DraftObject)) {
      run.hasReadValues = true;
      if (value === undefined && depth >= shared && isNull(draft, member))
        run.drop(rule, holder, [member], undefined);
      return;
    }
    around.push(member);
    holder = value;
  }
  const id = from.at(-1) ?? 0;
  const member = find(holder, id);
  if (member !== undefined) {
    run.dropNamed(rule, holder, id, member, 'duplicate');
    const outer = isWithin(from, to) ? around[to.length - 1] : undefined;
    if (outer !== undefined) {
      replaceAround(rule, run, member, around.slice(to.length - 1));
      return;
    }
    let before = run.pointerOf(member);
    place<never>(
      draft,
      { object, holder, member, to },
      {
        repeated: (other) => {
          if (other.holder !== undefined) run.dropNamed(rule, other.holder, other.id, other, 'duplicate');
          return undefined;
        },
        inTheWay: (other) => {
          if (other.holder !== undefined) run.drop(rule, other.holder, [other], 'conflict');
          return undefined;
        },
        made: (target, made) => {
          const aside = asideOf(draft, before, target, made);
          if (aside !== undefined) run.moveAside(before, aside);
          before = aside ?? before;
          run.make(made, {});
        },
      },
    );
    run.move(rule, member, before);
  }
  for (const emptied of around.slice(shared).toReversed()) {
    const { value, holder: outer } = emptied;
    if (!(value instanceof DraftObject) || value.members.length > 0 || outer === undefined) return;
    if (member === undefined) {
      run.drop(rule, outer, [emptied], undefined);
    } else {
      take(emptied);
      run.remove(outer, emptied);
    }
  }
}

/** True if the path `inner` leads into what is at `outer`. */
function isWithin(inner: readonly number[], outer: readonly number[]): boolean {
  return inner.length > outer.length && outer.every((id, at) => id === inner[at]);
}

/** Puts a member in the place of the outermost of the members that it is in; whatever else they have goes. */
function replaceAround(
  rule: ResponseRuleBase,
  run: ResponseRun,
  member: DraftMember,
  around: readonly DraftMember[],
): void {
  for (const [depth, { value }] of around.entries()) {
    if (!(value instanceof DraftObject)) continue;
    const kept = around[depth + 1] ?? member;
    const others = value.members.filter((other) => other !== kept);
    if (others.length > 0) run.drop(rule, value, others, 'conflict');
  }
  const [outer] = around;
  const object = outer?.holder;
  if (outer === undefined || object === undefined) return;
  const before = run.pointerOf(member);
  if (member.holder !== undefined) remove(member.holder, member);
  layOutLike(member, outer);
  member.isMoved ||= outer.isMoved;
  member.isRenamed = true;
  member.id = outer.id;
  member.holder = object;
  object.members[object.members.indexOf(outer)] = member;
  outer.isRemoved = true;
  markChanged(object);
  run.move(rule, member, before);
}
