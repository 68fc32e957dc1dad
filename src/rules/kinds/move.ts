import { badRequest, conflictNote, filled } from '../../edits/header-run.ts';
import { isFieldValue } from '../../http/header-list.ts';
import { queryParts, valueOf } from '../../http/target.ts';
import { pointerToken } from '../../json/pointer.ts';
import type { NameTable } from '../../json/names.ts';
import {
  addLast,
  copyOf,
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
} from '../../edits/draft.ts';
import {
  type CompiledRule,
  MADE,
  type MembersToOpen,
  openLike,
  openPath,
  type Path,
  pathIds,
  PLAIN,
  type RuleBase,
  type RuleReads,
  type Run,
  type Stop,
} from '../../edits/run.ts';
import { isNull } from '../../edits/values.ts';
import type { HeaderKind, Kind, Lens, StatusPattern, Words } from './kind.ts';

/** Moves the member at `from` of each object at `in` to `to` in the same object; the objects on the way there are made. */
export interface MoveRule {
  readonly rule: 'move';
  /** The objects that both paths have in common, up to the last `*`. */
  readonly in: Path;
  readonly from: Path;
  readonly to: Path;
}

/** Moves the member at `from` of each object at `path` of a response to `to`; an object that the move empties goes. */
export interface ResponseMoveRule {
  readonly rule: 'move';
  /** The objects that both paths have in common, up to the last `*`. */
  readonly path: Path;
  readonly from: Path;
  readonly to: Path;
  readonly status: readonly StatusPattern[];
}

/** Moves the value of the query parameter `parameter` to the field `to`, in place of the braces of `as`. */
export interface HeaderQueryRule {
  readonly rule: 'query';
  readonly parameter: string;
  readonly to: string;
  readonly as: string;
}

/** Its work on the bytes of requests. */
export const kind: Kind<MoveRule> = { compile: compilePlaced };

/** The member moves back. Before the unwrap, the paths of a member that ends up in a response lead through the wrapper. */
export const lens: Lens<MoveRule, ResponseMoveRule> = {
  moves: ({ from, to }) => [{ from, to }],
  inverse: (rule, path, { inside }) => {
    const from = inside([...rule.in, ...rule.to]);
    const to = inside([...rule.in, ...rule.from]);
    if (from === undefined || to === undefined) return 'outside';
    if (from.length === 0 || to.length === 0) return 'wrapper';
    const common = inside(rule.in)?.length ?? 0;
    return [{ rule: 'move', path, from: from.slice(common), to: to.slice(common) }];
  },
  leadsIn: true,
};

/** Moves a credential out of the query, because other parties' logs would keep it there. */
export const header: HeaderKind<HeaderQueryRule> = {
  apply: ({ parameter, to, as }, run) => {
    if (run.query === '') return undefined;
    const parts = queryParts(run.query.slice(1));
    const [first, second] = parts.filter(({ name }) => name === parameter);
    if (first === undefined) return undefined;
    const name = `The query parameter ${parameter}`;
    if (second !== undefined) return badRequest(`${name} occurs twice.`);
    const value = valueOf(first) ?? '';
    if (value === '' || value !== value.trim() || !isFieldValue(value))
      return badRequest(`${name} has no value that a header field can carry.`);
    const settled = run.settle(to, name);
    if (typeof settled !== 'boolean') return settled;
    const left = parts.filter((part) => part !== first);
    run.query = left.length === 0 ? '' : `?${left.map(({ raw }) => raw).join('&')}`;
    run.add(to, filled(as, value));
    run.record(to, { from: `?${parameter}`, to, ...conflictNote(settled) });
    return undefined;
  },
  moves: ({ parameter, to, as }) => [{ from: { query: parameter }, to, as }],
};

/** What people read of it. */
export const words: Words<MoveRule, ResponseMoveRule> = {
  of: 'both',
  named: ({ from }) => [from],
  say: (rule) => {
    const objects = 'in' in rule ? rule.in : rule.path;
    return `move ${[...objects, ...rule.from].join('.')} to ${[...objects, ...rule.to].join('.')}`;
  },
  none: ({ from }, place) => `${place} has no ${from.join('.')}.`,
  done: ({ name, place }) => `${name} moves to ${place}.`,
};

/** What a move or a copy reads: both of its paths, and the member by its old name as by its new one. */
function readsOfMove(path: readonly number[], from: readonly number[], to: readonly number[]): RuleReads {
  return {
    path,
    reach: path.length + Math.max(from.length, to.length),
    lift: Math.max(0, from.length - to.length),
    readsAnyName: isWithin(from, to),
    open: (opened: MembersToOpen) => {
      openLike(opened, from.at(-1) ?? 0, to.at(-1) ?? 0);
      for (const end of [from, to]) {
        openPath(opened, path);
        for (const id of end.slice(0, -1)) opened.objects[id] = true;
      }
    },
  };
}

/**
 * Moves the member, or a copy of it, to its place in another object; the objects on the way there are made. The other side had none of the objects that a
 * response is left with empty, or null: they go.
 */
export function compilePlaced(
  rule: Pick<MoveRule, 'in' | 'from' | 'to'>,
  base: RuleBase,
  names: NameTable,
): CompiledRule {
  const [from, to] = [pathIds(rule.from, names), pathIds(rule.to, names)];
  const reads = readsOfMove(pathIds(rule.in, names), from, to);
  return { ...base, ...reads, apply: (run, object) => move(base, from, to, run, object) };
}

function move(
  rule: RuleBase,
  from: readonly number[],
  to: readonly number[],
  run: Run,
  object: DraftObject,
): Stop | undefined {
  const { draft, recorder } = run;
  const isCopy = rule.rule === 'copy';
  const isBack = run.response !== undefined && !isCopy;
  let shared = 0;
  while (shared < from.length - 1 && from[shared] === to[shared]) shared += 1;
  const around: DraftMember[] = [];
  let holder = object;
  for (const [depth, id] of from.slice(0, -1).entries()) {
    const outer = find(holder, id);
    if (outer === undefined) return undefined;
    const stop = run.settleRepeated(rule, id, outer);
    if (stop !== undefined) return stop;
    const value = draft.open(outer, outer.node);
    if (!(value instanceof DraftObject)) {
      if (isBack) run.readsValues();
      if (isBack && value === undefined && depth >= shared && isNull(draft, outer))
        run.drop(rule, holder, [outer]);
      return undefined;
    }
    around.push(outer);
    holder = value;
  }
  const id = from.at(-1) ?? 0;
  const member = find(holder, id);
  if (member !== undefined) {
    const stop = run.settleRepeated(rule, id, member);
    if (stop !== undefined) return stop;
    if (isBack && isWithin(from, to)) {
      replaceAround(rule, run, member, around.slice(to.length - 1));
      return undefined;
    }
    let before = run.pointerOf(member);
    let isConflict = false;
    // A copy comes from an object that nobody sees.
    const home = isCopy ? new DraftObject(-1, undefined) : holder;
    const placed = isCopy ? copyOf(home, member, member, 0) : member;
    if (isCopy) home.members.push(placed);
    const stopped = place<Stop>(
      draft,
      { object, holder: home, member: placed, to },
      {
        repeated: (other) => run.settleRepeated(rule, other.id, other),
        inTheWay: (other) => {
          isConflict = true;
          return run.settleConflict(rule, rule.code, other);
        },
        made: (target, made) => {
          run.step(rule.code + MADE);
          if (recorder === undefined) return;
          const aside = asideOf(draft, before, target, made);
          if (aside !== undefined) recorder.moveAside(before, aside);
          before = aside ?? before;
          recorder.make(target, pointerToken(draft.names.name(made.id)));
        },
      },
    );
    if (stopped !== undefined) return stopped;
    run.step(rule.code + PLAIN);
    if (isCopy) recorder?.copy(rule, placed, member);
    else recorder?.move(rule, member, before, isConflict ? 'conflict' : undefined);
  }
  if (isBack) dropEmptied(rule, run, around.slice(shared), member === undefined);
  return undefined;
}

/** Drops objects that are empty, the inner ones first; they are recorded if no member was moved out of them. */
function dropEmptied(rule: RuleBase, run: Run, around: readonly DraftMember[], isRecorded: boolean): void {
  for (const emptied of around.toReversed()) {
    const { value, holder } = emptied;
    if (!(value instanceof DraftObject) || value.members.length > 0 || holder === undefined) return;
    if (isRecorded) run.drop(rule, holder, [emptied]);
    else {
      take(emptied);
      run.recorder?.remove(holder, emptied);
    }
  }
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

/** True if the path `inner` leads into what is at `outer`. */
function isWithin(inner: readonly number[], outer: readonly number[]): boolean {
  return inner.length > outer.length && outer.every((id, at) => id === inner[at]);
}

/** Puts a member in the place of the outermost member around it, and drops all others that are in there. */
function replaceAround(rule: RuleBase, run: Run, member: DraftMember, around: readonly DraftMember[]): void {
  for (const [depth, { value }] of around.entries()) {
    if (!(value instanceof DraftObject)) continue;
    const kept = around[depth + 1] ?? member;
    const others = value.members.filter((other) => other !== kept);
    run.drop(rule, value, others, 'conflict');
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
  run.recorder?.move(rule, member, before);
}
