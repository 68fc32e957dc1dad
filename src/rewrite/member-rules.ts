import { printScalar, scalarValue } from '../json/document.ts';
import { decodeString, type NameTable } from '../json/names.ts';
import { pointerToken } from '../json/pointer.ts';
import { SCALAR, STRING, type Tape } from '../json/tape.ts';
import type { Policies } from '../rules/rule-book.ts';
import type { OpenedMembers } from '../json/scanner.ts';
import type {
  MappedValue,
  MapRule,
  NestRule,
  OnlyRule,
  Path,
  RenameRule,
  StripRule,
  UnwrapRule,
} from '../rules/rule.ts';
import {
  currentPointer,
  type Draft,
  DraftMember,
  DraftObject,
  find,
  isRepeated,
  markChanged,
  originPointer,
  remove,
  settle,
  take,
  takeAll,
} from './draft.ts';
import type { Recorder, Refusal, RuleName } from './records.ts';

/** Why the rules stop: the request is refused, or a policy forwards it unchanged. */
export type Stop =
  | { readonly kind: 'refuse'; readonly refusal: Refusal }
  | { readonly kind: 'forward'; readonly note: string };

/** What a compiled rule has of its change, and of its place in the plan. */
export interface RuleBase extends RuleName {
  /** The first step code of the rule. */
  readonly code: number;
  readonly policies: Policies;
}

/** A request rule, compiled. */
export interface CompiledRule extends RuleBase, RuleReads {
  /** Applies it to one of the objects at `path`. */
  readonly apply: (run: Run, object: DraftObject) => Stop | undefined;
}

/** What a compiled rule reads of a body, in either direction. */
export interface RuleReads {
  /** Ids of the names on the path to the objects that the rule applies to; -1 for `*`. */
  readonly path: readonly number[];
  /** Levels below the body that it may read; when absent, those of the path and the members there. */
  readonly reach?: number;
  /** Levels by which it may lift a value; none when absent. */
  readonly lift?: number;
  /** Opens the members that it goes into, beside those on its path. */
  readonly open?: (opened: MembersToOpen) => void;
}

/** The members that rules open, being collected. */
export interface MembersToOpen extends OpenedMembers {
  readonly objects: boolean[];
  readonly arrays: boolean[];
  list: boolean;
}

/** The number of levels that rules record: a value may have been deeper in the body than where a rule reads it. */
export function levelsRead(rules: readonly RuleReads[], least = 0): number {
  const deepest = rules.reduce((most, { reach, path }) => Math.max(most, reach ?? path.length + 1), least);
  return deepest + rules.reduce((levels, { lift = 0 }) => levels + lift, 0);
}

/** True for a rule whose path begins with `*`: it is about the elements of a body that is an array. */
export function isOfList({ path }: RuleReads): boolean {
  return path[0] === -1;
}

/** Opens the members on the path to an object, whose segments are ids of names and -1 for `*`. */
export function openPath(opened: MembersToOpen, path: readonly number[]): void {
  const { objects, arrays } = opened;
  if (path[0] === -1) opened.list = true;
  for (const [at, id] of path.entries()) {
    if (id >= 0) (path[at + 1] === -1 ? arrays : objects)[id] = true;
  }
}

/** Opens the member `to` as the member `from` is opened: a rule renames or copies it. */
export function openLike({ objects, arrays }: MembersToOpen, to: number, from: number): void {
  if (objects[from] === true) objects[to] = true;
  if (arrays[from] === true) arrays[to] = true;
}

/** Step codes reserved for each member of a rule: what was done to it, and why. */
export const STEPS = 8;
/** The step that a rule is for. */
export const PLAIN = 0;
const CONFLICT = 1;
/** An object was made. */
export const MADE = 2;
const FLAT = 3;
const DUPLICATE = 4;
/** Another step of the rule. */
export const OTHER = 5;

/** The round of the search in which each name was last seen, by id; shared by the runs of a plan, one after the other. */
export interface Marks {
  readonly rounds: number[];
  round: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const QUOTE = 0x22;

/** An escape has at most six bytes for one UTF-16 unit, and UTF-8 has fewer. */
const MAX_BYTES_OF_UNIT = 6;

/** One run of a plan's rules over one body: the draft and its changes so far. */
export class Run {
  readonly draft: Draft;
  readonly recorder: Recorder | undefined;
  /** The steps so far, as codes in order: equal lists mean equal records, unless `isSingular`. */
  readonly codes: number[] = [];
  /** The values that maps looked up, in order: their positions in the maps determine the steps, in addition to the shape. */
  readonly lookups: Lookup[] = [];
  /** True if the records depend on more than the steps, such as indexes of an array. The shape of the body determines those. */
  isSingular = false;
  /** True if the records contain names that no rule uses, or values were converted: not even the shape of the body determines those. */
  hasForeignNames = false;
  private readonly marks: Marks;

  constructor(draft: Draft, recorder: Recorder | undefined, marks: Marks) {
    this.draft = draft;
    this.recorder = recorder;
    this.marks = marks;
  }

  /** Called before a value decides what a rule does: neither the shape nor the steps then tell what becomes of a body. */
  readsValues(): void {
    this.isSingular = this.hasForeignNames = true;
  }

  /** The current pointer of a member, for the records; empty in a run that makes none. */
  pointerOf(member: DraftMember): string {
    return this.recorder === undefined ? '' : (currentPointer(this.draft, member) ?? '');
  }

  /** Returns the last of the members of `object` with a repeated name, among names with a position in `places`. */
  findRepeated(object: DraftObject, places: readonly number[]): DraftMember | undefined {
    const marks = this.marks;
    marks.round += 1;
    const { members } = object;
    for (let k = members.length - 1; k >= 0; k -= 1) {
      const id = members[k]?.id ?? 0;
      if ((places[id] ?? -1) < 0) continue;
      if (marks.rounds[id] === marks.round) return find(object, id);
      marks.rounds[id] = marks.round;
    }
    return undefined;
  }

  /** Applies the rule's `duplicate` policy to a repeated member; the policy `last` drops all but the last. */
  settleRepeated(rule: RuleBase, id: number, last: DraftMember): Stop | undefined {
    const { holder } = last;
    if (holder === undefined || !isRepeated(holder, id, last)) return undefined;
    if (rule.policies.duplicate === 'forward') return { kind: 'forward', note: 'duplicate-member' };
    if (rule.policies.duplicate === 'refuse') {
      return refuse(
        'duplicate-member',
        400,
        'A member that the migration reads occurs twice in one object; send it once.',
        this,
        last,
      );
    }
    this.isSingular = true;
    const dropped = holder.members.filter((other) => other.id === id && other !== last);
    for (const member of dropped) {
      this.codes.push(rule.code + DUPLICATE);
      this.recorder?.drop(rule, member, 'duplicate');
    }
    takeAll(holder, dropped);
    return undefined;
  }

  /** Applies the rule's `conflict` policy: drops `loser`, the V2 name of an attribute that the V1 name also sets. */
  settleConflict(rule: RuleBase, code: number, loser: DraftMember): Stop | undefined {
    const { holder } = loser;
    if (holder === undefined) return undefined;
    if (rule.policies.conflict === 'forward') return { kind: 'forward', note: 'conflicting-members' };
    if (rule.policies.conflict === 'refuse') {
      return refuse(
        'conflicting-members',
        422,
        'The body has both the V1 and the V2 name of one attribute; send only the V1 name.',
        this,
        loser,
      );
    }
    for (let other: DraftMember | undefined = loser; other !== undefined; other = find(holder, loser.id)) {
      this.codes.push(code + CONFLICT);
      this.recorder?.drop(rule, other, 'conflict');
      take(other);
    }
    return undefined;
  }
}

/** Creates the refusal of a request because of a member of its body. */
export function refuse(code: string, status: number, detail: string, run: Run, member: DraftMember): Stop {
  return {
    kind: 'refuse',
    refusal: { code, status, detail, pointer: originPointer(run.draft, member) ?? '' },
  };
}

/** Compiles names into their positions in a rule, by id; -1 for every other id. */
export function placesOf(members: readonly string[], names: NameTable): readonly number[] {
  const ids = members.map((member) => names.add(member));
  const places = Array.from({ length: Math.max(0, ...ids) + 1 }, () => -1);
  for (const [place, id] of ids.entries()) places[id] = place;
  return places;
}

/** Compiles a path into ids of names; `*` is -1. */
export function pathIds(path: Path, names: NameTable): readonly number[] {
  return path.map((segment) => (segment === '*' ? -1 : names.add(segment)));
}

/** Compiles a rule about one member of each object: `apply` is called where it is there, and there once. */
export function aboutMember(
  rule: { readonly member: string; readonly in: Path },
  base: RuleBase,
  names: NameTable,
  apply: (run: Run, object: DraftObject, member: DraftMember) => Stop | undefined,
): CompiledRule {
  const id = names.add(rule.member);
  return {
    ...base,
    path: pathIds(rule.in, names),
    apply: (run, object) => {
      const member = find(object, id);
      if (member === undefined) return undefined;
      const stop = run.settleRepeated(base, id, member);
      return stop === undefined ? apply(run, object, member) : stop;
    },
  };
}

/** Replaces the body with the object in the named member, and drops members beside it, which V1 ignored. */
export function compileUnwrap(rule: UnwrapRule, base: RuleBase, names: NameTable): CompiledRule {
  const id = names.add(rule.member);
  return {
    ...base,
    path: [],
    lift: 1,
    open: ({ objects }) => {
      objects[id] = true;
    },
    apply: (run) => {
      const { draft, recorder } = run;
      const wrapper = find(draft.root, id);
      if (wrapper === undefined) return flat(rule.member, base, run);
      const stop = run.settleRepeated(base, id, wrapper);
      if (stop !== undefined) return stop;
      const body = draft.open(wrapper, wrapper.node);
      if (!(body instanceof DraftObject)) {
        if (base.policies.wrapper === 'forward') return { kind: 'forward', note: 'wrapper-not-object' };
        return refuse('wrapper-not-object', 422, `${rule.member} must be an object.`, run, wrapper);
      }
      if (draft.root.members.length > 1) {
        const dropped = dropSiblings(rule.member, base, run, wrapper);
        if (dropped !== undefined) return dropped;
      }
      run.codes.push(base.code + PLAIN);
      recorder?.unwrap(base, wrapper);
      wrapper.isRemoved = true;
      body.up = undefined;
      draft.root = body;
      return undefined;
    },
  };
}

function dropSiblings(name: string, base: RuleBase, run: Run, wrapper: DraftMember): Stop | undefined {
  const siblings = run.draft.root.members.filter((member) => member !== wrapper);
  if (base.policies.siblings === 'forward') return { kind: 'forward', note: 'wrapper-siblings' };
  if (base.policies.siblings === 'refuse') {
    const detail = `Only the member ${name} may be at the top level of the body.`;
    return refuse('wrapper-siblings', 422, detail, run, siblings[0] ?? wrapper);
  }
  run.readsValues();
  for (const member of siblings) {
    run.codes.push(base.code + OTHER);
    run.recorder?.drop({ change: base.change, rule: 'strip' }, member, 'sibling');
    member.isRemoved = true;
  }
  return undefined;
}

function flat(name: string, base: RuleBase, run: Run): Stop | undefined {
  if (base.policies.flat === 'forward') return { kind: 'forward', note: 'already-flat' };
  if (base.policies.flat === 'refuse') {
    const pointer = `/${pointerToken(name)}`;
    const refusal = { code: 'not-wrapped', status: 422, detail: `${name} is required.`, pointer };
    return { kind: 'refuse', refusal };
  }
  run.codes.push(base.code + FLAT);
  run.recorder?.flat(base);
  return undefined;
}

/** A `nest` rule while it applies. */
interface Nest extends RuleBase {
  /** The position of each named member in the rule, by the id of its name. */
  readonly places: readonly number[];
  readonly under: number;
}

/** Moves the named members into the sub-object, which is created in place of the first of them if there is none. */
export function compileNest(
  { members, under, ...rule }: NestRule,
  base: RuleBase,
  names: NameTable,
): CompiledRule {
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
  run.codes.push(rule.code + MADE);
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
  // A loop, because setting `length` leaves the optimised code.
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
  run.codes.push(rule.code + (rule.places[member.id] ?? 0) * STEPS + PLAIN);
  run.recorder?.move(rule, member, before, isConflict ? 'conflict' : undefined);
}

/** Renames the named member; an existing member with the new name is dropped. */
export function compileRename(rule: RenameRule, base: RuleBase, names: NameTable): CompiledRule {
  const [id, to] = [names.add(rule.member), names.add(rule.to)];
  return {
    ...base,
    path: pathIds(rule.in, names),
    open: (opened) => openLike(opened, id, to),
    apply: (run, object) => {
      const member = find(object, id);
      const other = find(object, to);
      const stop =
        (member && run.settleRepeated(base, id, member)) ?? (other && run.settleRepeated(base, to, other));
      if (stop !== undefined || member === undefined) return stop;
      const conflict = other && run.settleConflict(base, base.code, other);
      if (conflict !== undefined) return conflict;
      const before = run.pointerOf(member);
      member.id = to;
      member.isRenamed = true;
      markChanged(object);
      run.codes.push(base.code + PLAIN);
      run.recorder?.move(base, member, before, other === undefined ? undefined : 'conflict');
      return undefined;
    },
  };
}

/** Removes the named members (`strip`), or all but them (`only`). */
export function compileStrip(rule: StripRule | OnlyRule, base: RuleBase, names: NameTable): CompiledRule {
  const places = placesOf(rule.members, names);
  const isStrip = rule.rule === 'strip';
  const apply: CompiledRule['apply'] = (run, object) => {
    let dropped: DraftMember[] | undefined;
    let isAnyNamed = false;
    for (const member of object.members) {
      const isNamed = (places[member.id] ?? -1) >= 0;
      isAnyNamed ||= isNamed;
      if (isNamed === isStrip) (dropped ??= []).push(member);
    }
    // A single member that is dropped by its name cannot be repeated.
    if (isAnyNamed && !(isStrip && dropped?.length === 1)) {
      const repeated = run.findRepeated(object, places);
      if (repeated !== undefined)
        return run.settleRepeated(base, repeated.id, repeated) ?? apply(run, object);
    }
    if (dropped === undefined) return undefined;
    if (!isStrip) run.readsValues();
    // V1's messages about them have the order in which they are listed.
    if (isStrip) dropped.sort((one, other) => (places[one.id] ?? 0) - (places[other.id] ?? 0));
    for (const member of dropped) {
      run.codes.push(base.code + (isStrip ? (places[member.id] ?? 0) : 0) * STEPS + PLAIN);
      run.recorder?.drop(base, member);
    }
    takeAll(object, dropped);
    return undefined;
  };
  return { ...base, path: pathIds(rule.in, names), apply };
}

/** Replaces the value of the named member, if the map lists it. */
export function compileMap(rule: MapRule, base: RuleBase, names: NameTable): CompiledRule {
  const values = new MappedValues(rule.values);
  return aboutMember(rule, base, names, (run, object, member) => {
    const position = values.find(run.draft, member);
    run.lookups.push({ values, node: member.node });
    if (position < 0) return undefined;
    member.literal = values.text(position);
    markChanged(object);
    run.codes.push(base.code + position * STEPS + PLAIN);
    run.recorder?.replace(base, member, values.value(position) ?? null);
    return undefined;
  });
}

/** The values of a map, compiled: finds the position of a value in the map, and has its replacement. */
export class MappedValues {
  /** By position: the JSON text of the replacement. */
  private readonly texts: readonly Uint8Array[];
  /** By position: the decoded replacement, for a patch. */
  private readonly values: readonly (string | number | boolean | null)[];
  private readonly strings: ReadonlyMap<string, number>;
  private readonly tokens: ReadonlyMap<string, number>;
  /** Maximum bytes of a value that can be in the map. */
  private readonly maxBytes: number;

  constructor(values: readonly MappedValue[]) {
    this.texts = values.map(({ to }) => encoder.encode(printScalar(to)));
    this.values = values.map(({ to }) => scalarValue(to));
    this.strings = positions(values, true);
    this.tokens = positions(values, false);
    const longest = values.reduce((length, { from }) => Math.max(length, from.text.length), 0);
    this.maxBytes = MAX_BYTES_OF_UNIT * longest + 2;
  }

  /** Returns the position of the current value of `member` in the map; -1 if it is not in it, or an object or an array. */
  find({ bytes, tape }: Draft, { node, literal, value }: DraftMember): number {
    if (literal !== undefined) return this.positionOf(literal, 0, literal.length);
    // A rule may have put a list or an object in the place of the node's value.
    return node < 0 || value !== undefined ? -1 : this.positionAt(bytes, tape, node);
  }

  /** Returns the position of the value of `node` in the map; -1 if it is not in it, or an object or an array. */
  positionAt(bytes: Uint8Array, tape: Tape, node: number): number {
    const kind = tape.kind(node);
    if (kind !== STRING && kind !== SCALAR) return -1;
    return this.positionOf(bytes, tape.start(node), tape.end(node));
  }

  /** Returns the JSON text that replaces the value at a position. */
  text(position: number): Uint8Array | undefined {
    return this.texts[position];
  }

  /** Returns the decoded value that replaces the value at a position. */
  value(position: number): string | number | boolean | null | undefined {
    return this.values[position];
  }

  /** Returns the position of the JSON text from `start` to `end`; -1 if it is not in the map. */
  positionOf(bytes: Uint8Array, start: number, end: number): number {
    if (end - start > this.maxBytes) return -1;
    if (bytes[start] === QUOTE) return this.strings.get(decodeString(bytes, start, end)) ?? -1;
    return this.tokens.get(decoder.decode(bytes.subarray(start, end))) ?? -1;
  }
}

function positions(values: readonly MappedValue[], isString: boolean): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [position, { from }] of values.entries()) {
    if (from.isString === isString) found.set(from.text, position);
  }
  return found;
}

/** A value of a body that a map looked up. */
export interface Lookup {
  readonly values: MappedValues;
  /** The node of the member, which every body of the same shape has. */
  readonly node: number;
}

/**
 * Returns the positions of the values in the maps that look them up, in order: bodies of one shape with equal positions are
 * rewritten alike. A value that a map replaced is looked up as what it was replaced by.
 */
export function lookUp(lookups: readonly Lookup[], body: Uint8Array, tape: Tape): string {
  const replaced = new Map<number, Uint8Array>();
  let positions = '';
  for (const { values, node } of lookups) {
    const literal = replaced.get(node);
    const position =
      literal === undefined
        ? values.positionAt(body, tape, node)
        : values.positionOf(literal, 0, literal.length);
    const text = values.text(position);
    if (text !== undefined) replaced.set(node, text);
    positions += `${position} `;
  }
  return positions;
}
