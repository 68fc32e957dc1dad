import { declareMembers, type Book, formOf } from './book.ts';
import { printPath, readName } from './paths.ts';
import { pointerToken } from '../../json/pointer.ts';
import type { NameTable } from '../../json/names.ts';
import { DraftMember, DraftObject, find, remove, settle } from '../../edits/draft.ts';
import {
  type CompiledRule,
  MADE,
  type Path,
  pathIds,
  placesOf,
  PLAIN,
  type RuleBase,
  type Run,
  STEPS,
  type Stop,
} from '../../edits/run.ts';
import type { Kind, Words, Lens } from './kind.ts';
import { nullAt, type ResponseSetRule } from './set.ts';
import type { UnnestRule } from './unnest.ts';

/** Moves `members` of each object at `in` into its sub-object `under`, which is created in place of the first one moved. */
export interface NestRule {
  readonly rule: 'nest';
  readonly members: readonly string[];
  readonly in: Path;
  readonly under: string;
}

/** How `nest` changes the bytes of requests. */
export const kind: Kind<NestRule> = { compile };

/** `inverse` moves the members back, and adds null for those that V2 lacks, if V1 always had them. */
export const lens: Lens<NestRule, UnnestRule | ResponseSetRule> = {
  became: (place) => place && `belongs in the ${place.at(-2)} object`,
  moves: ({ members, under }) => members.map((member) => ({ from: [member], to: [under, member] })),
  inverse: ({ members, under }, objects, { hasNulls }) => {
    const nulls = hasNulls ? members : [];
    return [
      { rule: 'unnest', path: [...objects, under], members },
      ...nulls.map((member) => nullAt([...objects, member])),
    ];
  },
};

/** How messages and guides describe `nest`. */
export const words: Words<NestRule> = {
  of: 'requests',
  named: ({ members }) => members.map((member) => [member]),
  say: ({ members, under }, _, where) => `nest ${members.join(', ')}${where} under ${under}`,
  done: ({ name, around }) => `${name} moves into ${around}.`,
};

/** How a rule book writes `nest`. */
export const book: Book<NestRule> = {
  request: {
    form: ({ z, strict, name, inside }) =>
      formOf(
        strict({
          nest: z.array(name).min(1).describe('The members to move.'),
          in: inside,
          under: name.describe('The sub-object that they move into.'),
        }).describe('Moves the named members of an object into a sub-object of it.'),
        (source, place) =>
          declareMembers(place, 'nest', { in: source.in, of: source.nest }, (objects) => {
            return { rule: 'nest', ...objects, under: readName(source.under) };
          }),
      ),
    policies: ['conflict'],
    faults: ({ rule, members }, fault) => {
      const at = members[rule.members.indexOf(rule.under)];
      if (at === undefined) return;
      const move = printMoveUnder(rule.in, rule.under, rule.under);
      const way =
        rule.members.length > 1
          ? `remove it from the list, and write ${move} before this rule`
          : `write ${move} instead`;
      fault(at, `nest would move "${rule.under}" into itself; ${way}, with its V2 name at the end`);
    },
    learn: ({ in: objects, members, under }, facts) => facts.nest(objects, members, under),
    apart: (rule, from, to) => {
      const [old = '', young = ''] = [from.at(-1), to.at(-1)];
      if (old !== rule.under) return `nest ${printPath(from)} by its V1 name, and rename it there`;
      // A member cannot nest under its own name.
      const move = printMoveUnder(rule.in, old, young);
      return rule.members.length > 1
        ? `write ${move} instead of the rename, and leave ${printPath([young])} out of the nest`
        : `write ${move} instead of both`;
    },
    fate: (rule) => `then nests under ${printPath([...rule.in, rule.under])}`,
    hasMembers: true,
  },
};

/** Prints the rule that moves a member into an object of its own name, as a rule book writes it. */
function printMoveUnder(objects: Path, member: string, as: string): string {
  const text = (path: Path): string => {
    const plain = printPath(path).slice(1, -1);
    return /^[A-Za-z_][\w.-]*$/.test(plain) ? plain : `'${plain.replaceAll("'", "''")}'`;
  };
  const inside = objects.length === 0 ? '' : `, in: ${text(objects)}`;
  return `{ move: ${text([member])}${inside}, to: ${text([member, as])} }`;
}

/** A `nest` rule while it applies. */
interface Nest extends RuleBase {
  /** The position of each named member in the rule, by the id of its name. */
  readonly places: readonly number[];
  readonly under: number;
}

/** Moves the named members into the sub-object, which is created in place of the first of them if there is none. */
function compile({ members, under, ...rule }: NestRule, base: RuleBase, names: NameTable): CompiledRule {
  const nest: Nest = { ...base, places: placesOf(members, names), under: names.add(under) };
  const path = pathIds(rule.in, names);
  return {
    ...base,
    path,
    reach: path.length + 2,
    open: ({ objects }) => {
      objects[nest.under] = true;
    },
    apply: (run, object) => {
      const existing = find(object, nest.under);
      const stop = settleDuplicates(nest, run, object, existing);
      if (stop !== undefined) return stop;
      const first = object.members.find((member) => isNamed(nest, member));
      if (first === undefined) return undefined;
      const value = existing === undefined ? undefined : run.draft.open(existing, existing.node);
      if (value instanceof DraftObject) return add(nest, run, object, value);
      if (existing !== undefined) {
        const conflict = run.settleConflict(nest, nest.code, existing);
        if (conflict !== undefined) return conflict;
      }
      enclose(nest, run, object, first);
      return undefined;
    },
  };
}

/** Applies the `duplicate` policy to repeated members that the rule names. */
function settleDuplicates(
  rule: Nest,
  run: Run,
  object: DraftObject,
  existing: DraftMember | undefined,
): Stop | undefined {
  const stop = existing === undefined ? undefined : run.settleRepeated(rule, rule.under, existing);
  if (stop !== undefined) return stop;
  for (;;) {
    const repeated = run.findRepeated(object, rule.places);
    if (repeated === undefined) return undefined;
    const stop = run.settleRepeated(rule, repeated.id, repeated);
    if (stop !== undefined) return stop;
  }
}

function isNamed(rule: Nest, member: DraftMember): boolean {
  return (rule.places[member.id] ?? -1) >= 0;
}

/** Adds the named members to the existing object; if both have a name, the flat value wins. */
function add(rule: Nest, run: Run, object: DraftObject, target: DraftObject): Stop | undefined {
  for (const member of object.members.filter((other) => isNamed(rule, other))) {
    const other = find(target, member.id);
    if (other !== undefined) {
      const code = rule.code + (rule.places[member.id] ?? 0) * STEPS;
      const stop = run.settleRepeated(rule, member.id, other) ?? run.settleConflict(rule, code, other);
      if (stop !== undefined) return stop;
    }
    const before = run.pointerOf(member);
    remove(object, member);
    member.isMoved = true;
    put(rule, run, target, member, before, other !== undefined);
  }
  settle(target);
  settle(object);
  return undefined;
}

/** Creates the sub-object in place of `first` and moves the named members into it. */
function enclose(rule: Nest, run: Run, object: DraftObject, first: DraftMember): void {
  const holder = new DraftMember(rule.under, -1, first.place, first.hasDelimiter, object);
  const created = new DraftObject(-1, holder);
  holder.hasLead = first.hasLead;
  holder.isMoved = first.isMoved;
  holder.value = created;
  first.hasLead = false;
  run.step(rule.code + MADE);
  run.recorder?.make(object, pointerToken(run.draft.names.name(rule.under)));
  const { members } = object;
  const count = members.length;
  let length = 0;
  let isInPlace = true;
  for (let k = 0; k < count; k += 1) {
    const member = members[k];
    if (member === undefined) continue;
    if (!isNamed(rule, member)) {
      if (created.members.length > 0) isInPlace = false;
      members[length] = member;
      length += 1;
      continue;
    }
    const before = run.pointerOf(member);
    if (member === first) {
      members[length] = holder;
      length += 1;
    }
    // Adjacent members of the new object stay in place: only brackets are inserted around them.
    if (!isInPlace) member.isMoved = true;
    put(rule, run, created, member, before, false);
  }
  // A loop, because setting `length` leaves optimised code.
  while (members.length > length) members.pop();
  settle(created);
  settle(object);
}

function put(
  rule: Nest,
  run: Run,
  target: DraftObject,
  member: DraftMember,
  before: string,
  isConflict: boolean,
): void {
  target.members.push(member);
  member.holder = target;
  run.step(rule.code + (rule.places[member.id] ?? 0) * STEPS + PLAIN);
  run.recorder?.move(rule, member, before, isConflict ? 'conflict' : undefined);
}
