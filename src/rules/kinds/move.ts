import { type Book, formOf, objectsAt } from './book.ts';
import { beginsWith, isSamePath, printPath, readPath } from './paths.ts';
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
import type { Kind, Lens, StatusPattern, Words } from './kind.ts';
import { nullAt, type ResponseSetRule } from './set.ts';

/** Moves the member at `from` of each object at `in` to `to` in the same object; missing objects on the path are created. */
export interface MoveRule {
  readonly rule: 'move';
  /** The objects on both paths, up to the last common `*`. */
  readonly in: Path;
  readonly from: Path;
  readonly to: Path;
}

/** Moves the member at `from` of each object at `path` of a response to `to`; an object that becomes empty is removed. */
export interface ResponseMoveRule {
  readonly rule: 'move';
  /** The objects on both paths, up to the last common `*`. */
  readonly path: Path;
  readonly from: Path;
  readonly to: Path;
  readonly status: readonly StatusPattern[];
}

/** How `move` changes the bytes of requests. */
export const kind: Kind<MoveRule> = { compile: compilePlaced };

/**
 * `inverse` moves the member back. For a rule before the unwrap, the paths lead through the wrapper, if the member occurs in a response.
 */
export const lens: Lens<MoveRule, ResponseMoveRule | ResponseSetRule> = {
  became: (place) => place && `is ${place.join('.')}`,
  moves: ({ from, to }) => [{ from, to }],
  inverse: (rule, path, { inside, hasNulls }) => {
    const from = inside([...rule.in, ...rule.to]);
    const to = inside([...rule.in, ...rule.from]);
    if (from === undefined || to === undefined) return 'outside';
    if (from.length === 0 || to.length === 0) return 'wrapper';
    const common = inside(rule.in)?.length ?? 0;
    const end = to.slice(common);
    return [
      { rule: 'move', path, from: from.slice(common), to: end },
      ...(hasNulls ? [nullAt([...path, ...end])] : []),
    ];
  },
  leadsIn: true,
};

/** How messages and guides describe `move`. */
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

const MOVES_TO = 'The new path; missing objects on it are created. Each * is the one in move.';

/** How a rule book writes `move`. */
export const book: Book<MoveRule, ResponseMoveRule> = {
  request: {
    form: ({ strict, memberPath, inside }) =>
      formOf(
        strict({ move: memberPath, in: inside, to: memberPath.describe(MOVES_TO) }).describe(
          'Moves a member to another object; its value keeps its bytes.',
        ),
        (source, { path }) => {
          const { path: objects, ...ends } = placesOf(source.move, source.to, source.in);
          const at = [...path, 'move'];
          return [{ rule: { rule: 'move', in: objects, ...ends }, inside: at, members: [at] }];
        },
      ),
    policies: ['conflict'],
    faults: ({ rule, inside }, fault) => {
      const at = [...inside.slice(0, -1), 'to'];
      const why = placesFault('move', rule.from, rule.to) ?? staysFault(rule);
      if (why !== undefined) fault(at, why);
      if (!beginsWith(rule.from, rule.to) || rule.to.length >= rule.from.length) return;
      const [from, to] = [printPath([...rule.in, ...rule.from]), printPath([...rule.in, ...rule.to])];
      fault(at, `move replaces ${to}, which has other members, with ${from}; move it out under another name`);
    },
    learn: (rule, facts) => facts.move(rule.in, rule.from, rule.to),
    gives: 'moved',
    hasMembers: true,
    inexact: (rule) => {
      if (rule.in[0] !== '**' || (rule.from.length === 1 && rule.to.length === 1)) return [];
      const of = printPath([...rule.in, ...rule.from]);
      return [
        `the inverse of move of ${of} is not exact: inside another member that moved, its place is unknown`,
      ];
    },
  },
  response: {
    mayBeAnywhere: true,
    form: ({ strict, memberPath, status }) =>
      formOf(
        strict({ move: memberPath, to: memberPath.describe(MOVES_TO), status }).describe(
          'Moves a member of a response to another object; an object that becomes empty is removed.',
        ),
        (source, place) => [
          { rule: { rule: 'move', ...placesOf(source.move, source.to), status: place.status } },
        ],
      ),
    faults: ({ rule }, at, fault) => {
      const why = placesFault('move', rule.from, rule.to) ?? staysFault(rule);
      if (why !== undefined) fault([...at, 'to'], why);
    },
    effect: ['moves '],
    effectOn: ({ path, from }) => [[...path, ...from]],
    same: ({ from }) => [from],
    takes: (rule, path) => beginsWith(path, [...rule.path, ...rule.from]),
  },
};

function staysFault({ from, to }: Pick<MoveRule, 'from' | 'to'>): string | undefined {
  return isSamePath(from, to) ? 'move leaves the member where it is; write another path' : undefined;
}

/** The paths of a move or a copy must use the same elements of arrays. */
export function placesFault(rule: string, from: Path, to: Path): string | undefined {
  if (!from.includes('*') && !to.includes('*')) return undefined;
  return `each * of to must be that of ${rule}, at the same place`;
}

/** Splits two paths after their last common `*`: the rest are members of one object. */
export function placesOf(
  from: string,
  to: string,
  inside?: string,
): { readonly path: Path; readonly from: Path; readonly to: Path } {
  const [one, other] = [from, to].map((text) => [...objectsAt(inside), ...readPath(text)]);
  const path = one?.slice(0, Math.max(one.lastIndexOf('*'), one.lastIndexOf('**')) + 1) ?? [];
  const length = beginsWith(other ?? [], path) ? path.length : 0;
  return {
    path: path.slice(0, length),
    from: one?.slice(length) ?? [],
    to: other?.slice(length) ?? [],
  };
}

/** The parts of a body that a move or a copy needs: both of its paths, and the contents of the member under its new name. */
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
 * Moves the member, or a copy of it, to its place in another object; missing objects on the path are created. Objects of a response that
 * are left empty, or null, are removed: the other version did not have them.
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
    // A copy is taken from an object that is not shown.
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

/** Drops empty objects, the inner ones first; records them if no member was moved out of them. */
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

/** The temporary place, in a patch, of a member that moves into an object created at its own place; undefined for any other member. */
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

/** How members on the path are handled. */
interface OnTheWay<T> {
  /** Called with the last of the members with the same name. */
  repeated(member: DraftMember): T | undefined;
  /** Called with a member that has to be removed because another takes its place. */
  inTheWay(member: DraftMember): T | undefined;
  /** Called after an object was made in `target`. */
  made(target: DraftObject, made: DraftMember): void;
}

/**
 * Puts a member at its new path, at the end of an existing object. An object that is created for the member takes its place, if both are in
 * the same object.
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

/** Replaces `member` with a new member, whose value will contain it. */
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

/** True if the path `inner` leads into the value at `outer`. */
function isWithin(inner: readonly number[], outer: readonly number[]): boolean {
  return inner.length > outer.length && outer.every((id, at) => id === inner[at]);
}

/** Replaces the outermost member around a member with it, and drops all others in there. */
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
