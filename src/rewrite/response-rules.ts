import type { BodyLinks } from './links.ts';
import type { Edit } from '../json/edit.ts';
import type { NameTable } from '../json/names.ts';
import { pointerToken } from '../json/pointer.ts';
import { SCALAR } from '../json/tape.ts';
import type {
  AliasRule,
  DeprecationsRule,
  FlattenRule,
  Path,
  RenameBackRule,
  ResponseMapRule,
  ResponseRuleName,
  StatusPattern,
  UnnestRule,
} from '../rules/rule.ts';
import {
  addMade,
  copyOf,
  currentName,
  currentPointer,
  type Draft,
  type DraftMember,
  DraftObject,
  find,
  insertBehind,
  layOutLike,
  markChanged,
  objectPointer,
  originObjectPointer,
  originToken,
  settle,
  takeAll,
} from './draft.ts';
import type { DeprecatedAttribute, PatchOperation } from './records.ts';
import { MappedValues, openLike, openPath, pathIds, placesOf, type RuleReads } from './member-rules.ts';

/** What a compiled response rule has of its change. */
export interface ResponseRuleBase {
  readonly change: string;
  readonly rule: ResponseRuleName;
}

/** A response rule, compiled. */
export interface CompiledResponseRule extends ResponseRuleBase, RuleReads {
  readonly status: readonly StatusPattern[];
  /** True if it compares names that it does not list. */
  readonly readsAnyName?: boolean;
  /** Applies it to one of the objects at `path`. */
  readonly apply: (run: ResponseRun, object: DraftObject) => void;
}

/** Maximum records of one response: a page of a list can have thousands of elements, and a log line must not. */
export const MAX_RECORDS = 64;

const LETTER_N = 0x6e;

const encoder = new TextEncoder();

/** The data of the exchange that a response plan needs in addition to the body. */
export interface ResponseContext {
  readonly status: number;
  /** The attributes that V1 had deprecated and that the request used. */
  readonly deprecated: readonly DeprecatedAttribute[];
  /** Whether the request had the wrapper, so that pointers in errors lead into it. */
  readonly isWrapped: boolean;
  /** Turns links back, if the rule book asks for it. */
  readonly links?: BodyLinks | undefined;
}

interface Edited {
  readonly rule: ResponseRuleBase;
  readonly at: DraftMember;
  /** The member in V2's body that it was, or was copied from. */
  readonly source: DraftMember | undefined;
  readonly note: ResponseNote | undefined;
}

/**
 * The reason for a special case: the response also had the V1 name, a member occurred twice, a value could not be converted, or a
 * list has more than one element.
 */
type ResponseNote = 'conflict' | 'duplicate' | 'value' | 'more';

/** A set of member names that is filled and read with members, not texts. */
interface SeenNames {
  /** Adds the name of `member`; false if it was there. */
  add(member: DraftMember): boolean;
  has(member: DraftMember): boolean;
}

/** One edit of a response, for people: its change, rule and place. Never contains a value. */
export interface ResponseRecord {
  readonly change: string;
  readonly rule: ResponseRuleName | 'transform';
  /** RFC 6901 pointer into V2's body: the place of the value, or of the one that a `map` replaced; absent if the gateway created the value, or changed a text in its place. */
  readonly from?: string;
  /** RFC 6901 pointer into the client's body; absent if the member is not in it. */
  readonly path?: string;
  /** The header field as V2 named it, for an edit of the header section, which has no pointers. */
  readonly header?: string;
  /** The header field as the client reads it; absent if it does not get it, and for any other edit. */
  readonly to?: string;
  /** The reason for a special case: `conflict`, `duplicate`, `value` (it could not be converted) or `more` (of a list, only the first is left). */
  readonly note?: string;
}

/** One run of the response rules over one response: the draft and its changes so far. */
export class ResponseRun {
  readonly draft: Draft;
  readonly context: ResponseContext;
  /** True if a rule has read a string or a scalar: the shape of the response then does not determine its effect. */
  hasReadValues = false;
  /** The operations so far, in a run that makes the patch. */
  private readonly patch: PatchOperation[] | undefined;
  private readonly ids: SeenIds;
  private readonly edited: Edited[] = [];
  private count = 0;
  private hasTexts = false;
  /** Objects of the record before: most records are about members of one object. */
  private lastHome: { readonly object: DraftObject; readonly pointer: string } | undefined;
  private lastHolder: { readonly object: DraftObject; readonly pointer: string | undefined } | undefined;

  /** `ids` is scratch memory that runs share, one after the other. */
  constructor(draft: Draft, context: ResponseContext, ids: SeenIds, makesPatch: boolean) {
    this.draft = draft;
    this.context = context;
    this.ids = ids;
    this.patch = makesPatch ? [] : undefined;
  }

  /** Applies a rule to each object at its path; of a repeated name, the last is used, as parsers do. */
  apply(rule: CompiledResponseRule): void {
    this.draft.each<never>(
      rule.path,
      (object) => {
        rule.apply(this, object);
        return undefined;
      },
      () => undefined,
    );
  }

  /** An empty set of names that rules use; emptied again by the next call. */
  seenIds(): SeenNames {
    this.ids.clear();
    return this.ids;
  }

  /** True if nothing was changed. */
  get isIdle(): boolean {
    return this.count === 0;
  }

  /** Number of edits beyond those that are recorded. */
  get omitted(): number {
    return Math.max(0, this.count - MAX_RECORDS);
  }

  /** True if a patch can say all: every edit is recorded, and none has a sentence, which may contain values. */
  get isPatchable(): boolean {
    return this.omitted === 0 && !this.hasTexts;
  }

  /** The current pointer of a member, for a patch; empty in a run that makes none. */
  pointerOf(member: DraftMember): string {
    return this.patch === undefined ? '' : (currentPointer(this.draft, member) ?? '');
  }

  /** Called after `member` was moved or renamed; `before` is its previous {@link pointerOf}. */
  move(rule: ResponseRuleBase, member: DraftMember, before: string): void {
    this.write({ rule, at: member, source: member, note: undefined });
    this.patch?.push({ op: 'move', from: before, path: this.pointerOf(member) });
  }

  /** Called after `copy` of `source` was added. */
  copy(rule: ResponseRuleBase, copy: DraftMember, source: DraftMember): void {
    this.write({ rule, at: copy, source, note: undefined });
    this.patch?.push({ op: 'copy', from: this.pointerOf(source), path: this.pointerOf(copy) });
  }

  /** Called after a member was added whose value the gateway made. */
  add(rule: ResponseRuleBase, made: DraftMember, value: unknown): void {
    this.write({ rule, at: made, source: undefined, note: undefined });
    this.make(made, value);
  }

  /** Called after an object was added for a member that the gateway adds. */
  make(made: DraftMember, value: unknown): void {
    this.patch?.push({ op: 'add', path: this.pointerOf(made), value });
  }

  /** Says in the patch that a member moved, to a place from which its next move is possible. */
  moveAside(from: string, path: string): void {
    this.patch?.push({ op: 'move', from, path });
  }

  /** Called after the text of a member was replaced; `source` is given where V2's own value takes its place. */
  replace(rule: ResponseRuleBase, member: DraftMember, source?: DraftMember): void {
    this.hasTexts = true;
    this.write({ rule, at: member, source, note: undefined });
  }

  /** Records that a value which the rule cannot convert was kept, or that not all of it is left. */
  keep(rule: ResponseRuleBase, member: DraftMember, note: 'value' | 'more' = 'value'): void {
    this.hasTexts = true;
    this.write({ rule, at: member, source: member, note });
  }

  /** Drops the members of `object` with the name `id`, except `kept`. */
  dropNamed(
    rule: ResponseRuleBase,
    object: DraftObject,
    id: number,
    kept: DraftMember | undefined,
    note: ResponseNote,
  ): void {
    let dropped: DraftMember[] | undefined;
    for (const member of object.members) {
      if (member.id === id && member !== kept) (dropped ??= []).push(member);
    }
    if (dropped !== undefined) this.drop(rule, object, dropped, note);
  }

  /** Drops `members` of `object`. */
  drop(
    rule: ResponseRuleBase,
    object: DraftObject,
    members: readonly DraftMember[],
    note: ResponseNote | undefined,
  ): void {
    for (const member of members) this.write({ rule, at: member, source: member, note });
    // To a patch, members with one name are one member.
    if (note !== 'duplicate') {
      const names = this.patch === undefined ? [] : members.map((member) => currentName(this.draft, member));
      for (const name of new Set(names)) this.removeName(object, name);
    }
    takeAll(object, members);
  }

  /** Called after `member` was taken from `object` because nothing is left in it. */
  remove(object: DraftObject, member: DraftMember): void {
    if (this.patch !== undefined) this.removeName(object, currentName(this.draft, member));
  }

  /** Returns the records, with pointers into the current response, and the patch if this run makes one. */
  finish(): { readonly records: readonly ResponseRecord[]; readonly patch: readonly PatchOperation[] } {
    return { records: this.edited.map((edited) => this.recordOf(edited)), patch: this.patch ?? [] };
  }

  private fromOf(member: DraftMember): string | undefined {
    const { home, node } = member;
    if (node < 0) return undefined;
    if (this.lastHome?.object !== home)
      this.lastHome = { object: home, pointer: originObjectPointer(this.draft, home) };
    return `${this.lastHome.pointer}/${originToken(this.draft, node)}`;
  }

  private pathOf(member: DraftMember): string | undefined {
    const { holder } = member;
    if (member.isRemoved || holder === undefined) return undefined;
    if (this.lastHolder?.object !== holder)
      this.lastHolder = { object: holder, pointer: objectPointer(this.draft, holder) };
    const { pointer } = this.lastHolder;
    return pointer === undefined ? undefined : `${pointer}/${pointerToken(currentName(this.draft, member))}`;
  }

  private removeName(object: DraftObject, name: string): void {
    const around = objectPointer(this.draft, object) ?? '';
    this.patch?.push({ op: 'remove', path: `${around}/${pointerToken(name)}` });
  }

  private write(edited: Edited): void {
    this.count += 1;
    if (this.edited.length < MAX_RECORDS) this.edited.push(edited);
  }

  private recordOf({ rule: { change, rule }, at, source, note }: Edited): ResponseRecord {
    const from = source === undefined ? undefined : this.fromOf(source);
    const path = this.pathOf(at);
    const record: { -readonly [Key in keyof ResponseRecord]: ResponseRecord[Key] } = { change, rule };
    if (from !== undefined) record.from = from;
    if (path !== undefined) record.path = path;
    if (note !== undefined) record.note = note;
    return record;
  }
}

/** True if one of the patterns includes the status. */
export function isAbout(status: readonly StatusPattern[], code: number): boolean {
  const family = `${Math.floor(code / 100)}xx`;
  return status.some((pattern) => pattern === code || pattern === family);
}

/** Names that rules use, by their ids. Emptied in no time, so that one set serves every object of a long list. */
export class SeenIds implements SeenNames {
  private readonly rounds: number[] = [];
  private round = 0;

  /** Removes all names. */
  clear(): void {
    this.round += 1;
  }

  add({ id }: DraftMember): boolean {
    if (this.rounds[id] === this.round) return false;
    this.rounds[id] = this.round;
    return true;
  }

  has({ id }: DraftMember): boolean {
    return id > 0 && this.rounds[id] === this.round;
  }
}

/** Compiles what all rules about one member of a response have; of a repeated name, the last counts. */
export function memberRule(
  {
    rule,
    path,
    status,
  }: { readonly rule: ResponseRuleName; readonly path: Path; readonly status: readonly StatusPattern[] },
  change: string,
  names: NameTable,
): Omit<CompiledResponseRule, 'apply'> & { readonly id: number } {
  const inside = pathIds(path.slice(0, -1), names);
  return { change, rule, status, path: inside, id: names.add(path.at(-1) ?? '') };
}

/** What rules that go into a sub-object read: its members, of which they lift some. */
function readsOfObject(path: readonly number[], id: number): RuleReads {
  return {
    path,
    reach: path.length + 2,
    lift: 1,
    open: ({ objects }) => {
      objects[id] = true;
    },
  };
}

/** An `unnest` rule while it applies. */
interface Unnest extends ResponseRuleBase {
  readonly id: number;
  /** The position of each member to move, by the id of its name; all members move if undefined. */
  readonly places: readonly number[] | undefined;
}

/**
 * Moves the members of the sub-object to its place in the object. V1 had no such sub-object, so it is dropped once it is empty, or
 * if it is null; any other value stays.
 */
export function compileUnnest(rule: UnnestRule, change: string, names: NameTable): CompiledResponseRule {
  const { members } = rule;
  const base = memberRule(rule, change, names);
  const unnest: Unnest = { ...base, places: members === undefined ? undefined : placesOf(members, names) };
  return {
    ...base,
    ...readsOfObject(base.path, base.id),
    readsAnyName: members === undefined,
    apply: (run, object) => {
      const nested = find(object, base.id);
      if (nested === undefined) return;
      const value = run.draft.open(nested, nested.node);
      if (value === undefined) run.hasReadValues = true;
      const isVoid = value === undefined && isNull(run.draft, nested);
      if (!isVoid && !(value instanceof DraftObject)) return;
      run.dropNamed(base, object, base.id, nested, 'duplicate');
      const moved = value instanceof DraftObject ? movedMembers(unnest, run, object, nested, value) : [];
      if (isVoid || (value instanceof DraftObject && value.members.length === moved.length)) {
        dissolve(base, run, object, nested, moved);
      } else if (value instanceof DraftObject && moved.length > 0) {
        moveBehind(base, run, object, nested, value, moved);
      }
    },
  };
}

/** True for a member whose value is null. */
export function isNull({ bytes, tape }: Draft, { node, literal }: DraftMember): boolean {
  return (
    node >= 0 && literal === undefined && tape.kind(node) === SCALAR && bytes[tape.start(node)] === LETTER_N
  );
}

/** The members to move, each name once; members of `object` with the same names are dropped. */
function movedMembers(
  rule: Unnest,
  run: ResponseRun,
  object: DraftObject,
  nested: DraftMember,
  value: DraftObject,
): readonly DraftMember[] {
  const { places } = rule;
  const seen = places === undefined ? new SeenTexts(run.draft) : run.seenIds();
  const moved: DraftMember[] = [];
  let repeated: DraftMember[] | undefined;
  for (let k = value.members.length - 1; k >= 0; k -= 1) {
    const member = value.members[k];
    if (member === undefined || !isNamed(rule, member)) continue;
    if (seen.add(member)) moved.push(member);
    else (repeated ??= []).push(member);
  }
  if (repeated !== undefined) run.drop(rule, value, repeated.toReversed(), 'duplicate');
  if (moved.length === 0) return moved;
  let taken: DraftMember[] | undefined;
  for (const member of object.members) {
    if (member !== nested && seen.has(member)) (taken ??= []).push(member);
  }
  if (taken !== undefined) run.drop(rule, object, taken, 'conflict');
  return moved.reverse();
}

/** Names of any members, decoded. */
class SeenTexts implements SeenNames {
  private readonly draft: Draft;
  private readonly texts = new Set<string>();

  constructor(draft: Draft) {
    this.draft = draft;
  }

  add(member: DraftMember): boolean {
    const name = currentName(this.draft, member);
    if (this.texts.has(name)) return false;
    this.texts.add(name);
    return true;
  }

  has(member: DraftMember): boolean {
    return this.texts.has(currentName(this.draft, member));
  }
}

/** A member with the name of the sub-object cannot be beside it. */
function isNamed({ id, places }: Unnest, member: DraftMember): boolean {
  if (member.id === id) return false;
  return places === undefined || (places[member.id] ?? -1) >= 0;
}

/** Puts `moved` in the place of the sub-object, whose other bytes go. */
function dissolve(
  rule: ResponseRuleBase,
  run: ResponseRun,
  object: DraftObject,
  nested: DraftMember,
  moved: readonly DraftMember[],
): void {
  const [first] = moved;
  if (first === undefined) {
    run.drop(rule, object, [nested], undefined);
    return;
  }
  layOutLike(first, nested);
  const { members } = object;
  const rest = members.splice(members.indexOf(nested));
  for (const member of moved) {
    const before = run.pointerOf(member);
    member.isMoved ||= nested.isMoved;
    member.holder = object;
    members.push(member);
    run.move(rule, member, before);
  }
  for (let k = 1; k < rest.length; k += 1) {
    const member = rest[k];
    if (member !== undefined) members.push(member);
  }
  nested.isRemoved = true;
  settle(object);
  run.remove(object, nested);
}

/** Puts `moved` behind the sub-object, which keeps the members that the rule does not name. */
function moveBehind(
  rule: ResponseRuleBase,
  run: ResponseRun,
  object: DraftObject,
  nested: DraftMember,
  value: DraftObject,
  moved: readonly DraftMember[],
): void {
  const befores = moved.map((member) => run.pointerOf(member));
  takeAll(value, moved);
  const rest = object.members.splice(object.members.indexOf(nested) + 1);
  for (const member of moved) {
    member.isRemoved = false;
    member.isMoved = true;
    layOutLike(member, nested);
    member.holder = object;
    object.members.push(member);
  }
  for (const member of rest) object.members.push(member);
  settle(object);
  for (const [k, member] of moved.entries()) run.move(rule, member, befores[k] ?? '');
}

/** Gives the member its V1 name. Drops a member that already has this name, because V1 had only one such attribute. */
export function compileRenameBack(
  rule: RenameBackRule,
  change: string,
  names: NameTable,
): CompiledResponseRule {
  const base = memberRule(rule, change, names);
  const to = names.add(rule.to);
  return {
    ...base,
    open: (opened) => openLike(opened, base.id, to),
    apply: (run, object) => {
      const member = find(object, base.id);
      if (member === undefined) return;
      run.dropNamed(base, object, base.id, member, 'duplicate');
      run.dropNamed(base, object, to, undefined, 'conflict');
      const before = run.pointerOf(member);
      member.id = to;
      member.isRenamed = true;
      markChanged(object);
      run.move(base, member, before);
    },
  };
}

/** Adds the V1 name beside the V2 name, unless the response already has it. */
export function compileAlias(rule: AliasRule, change: string, names: NameTable): CompiledResponseRule {
  const base = memberRule(rule, change, names);
  const as = names.add(rule.as);
  return {
    ...base,
    open: (opened) => openLike(opened, base.id, as),
    apply: (run, object) => {
      const member = find(object, base.id);
      if (member === undefined || find(object, as) !== undefined) return;
      const copy = copyOf(object, member, member, as);
      insertBehind(object, member, [copy]);
      run.copy(base, copy, member);
    },
  };
}

/** Adds each member of the sub-object after it, unless the object around it has that name; the last of a repeated name counts. */
export function compileFlatten(rule: FlattenRule, change: string, names: NameTable): CompiledResponseRule {
  const base = memberRule(rule, change, names);
  const members = rule.members && new Set(rule.members);
  return {
    ...base,
    ...readsOfObject(base.path, base.id),
    readsAnyName: true,
    apply: (run, object) => {
      const { draft } = run;
      const nested = find(object, base.id);
      const value = nested === undefined ? undefined : draft.open(nested, nested.node);
      if (nested === undefined || !(value instanceof DraftObject)) return;
      const existing = new Set(object.members.map((member) => currentName(draft, member)));
      const missing = new Map(
        value.members
          .map((member) => [currentName(draft, member), member] as const)
          .filter(([name]) => !existing.has(name) && members?.has(name) !== false),
      );
      if (missing.size === 0) return;
      const sources = [...missing.values()];
      const copies = sources.map((member) => copyOf(object, member, nested, 0));
      insertBehind(object, nested, copies);
      for (const [k, copy] of copies.entries()) run.copy(base, copy, sources[k] ?? copy);
    },
  };
}

/** Replaces the value of the member, if the map lists it; of a repeated name, the last counts. */
export function compileResponseMap(
  rule: ResponseMapRule,
  change: string,
  names: NameTable,
): CompiledResponseRule {
  const base = memberRule(rule, change, names);
  const values = new MappedValues(rule.values);
  return {
    ...base,
    apply: (run, object) => {
      const member = find(object, base.id);
      if (member === undefined) return;
      run.hasReadValues = true;
      const text = values.text(values.find(run.draft, member));
      if (text === undefined) return;
      member.literal = text;
      markChanged(object);
      run.replace(base, member, member);
    },
  };
}

/**
 * Adds the list of the deprecated attributes that the request used, and the objects around it where they are absent. An existing
 * member in its place is kept.
 */
export function compileDeprecations(
  rule: DeprecationsRule,
  change: string,
  names: NameTable,
): CompiledResponseRule {
  const path = pathIds(rule.path, names);
  const base = { change, rule: rule.rule, status: rule.status, path: [] };
  return {
    ...base,
    reach: path.length,
    open: (opened) => openPath(opened, path),
    apply: (run) => {
      if (run.context.deprecated.length === 0) return;
      const id = path.at(-1) ?? 0;
      let object = run.draft.root;
      for (const name of path.slice(0, -1)) {
        const member = find(object, name) ?? addObject(run, object, name);
        // A value written by a rule is a list or a text.
        if (member.literal !== undefined) return;
        const value = run.draft.open(member, member.node);
        if (!(value instanceof DraftObject)) return;
        object = value;
      }
      if (find(object, id) !== undefined) return;
      const list = addMade(object, id);
      list.literal = encoder.encode(JSON.stringify(run.context.deprecated));
      markChanged(object);
      run.add(base, list, run.context.deprecated);
    },
  };
}

function addObject(run: ResponseRun, object: DraftObject, id: number): DraftMember {
  const member = addMade(object, id);
  member.value = new DraftObject(-1, member);
  run.make(member, {});
  return member;
}

/** A response that rules changed. `body` is for the client. */
export interface RewrittenResponse {
  readonly verdict: 'rewritten';
  readonly body: Uint8Array;
  /** Byte edits against V2's body, in order, not overlapping. */
  readonly edits: readonly Edit[];
  /** At most 64; further edits are applied but not recorded. */
  readonly records: readonly ResponseRecord[];
  /** Number of edits that were applied but not recorded. */
  readonly omitted: number;
  /**
   * From V2's body to the client's. Empty if an edit was not recorded, because an incomplete patch would be wrong, or if a
   * text was replaced, because it may contain values.
   */
  readonly patch: readonly PatchOperation[];
}

/** The outcome of rewriting one response. `body` is for the client; if `unchanged`, it is the argument itself. */
export type ResponseRewrite =
  | RewrittenResponse
  | {
      readonly verdict: 'unchanged';
      readonly body: Uint8Array;
      /** Why no rule could be applied. */
      readonly note?: 'response-malformed' | 'response-buffer-full' | 'response-no-resource';
    };
