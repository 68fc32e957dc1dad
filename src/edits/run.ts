import type { NameTable } from '../json/names.ts';
import type { OpenedMembers } from '../json/scanner.ts';
import {
  ANYWHERE,
  currentPointer,
  type Draft,
  type DraftMember,
  type DraftObject,
  find,
  isRepeated,
  originPointer,
  take,
  takeAll,
} from './draft.ts';
import type { Lookup } from './mapped-values.ts';
import type { DeprecatedAttribute, Refusal, RuleName } from './records.ts';
import type { Recorder } from './recorder.ts';

/**
 * Member names from the body's root downwards; `*` is any element of an array, and `**` an object at any depth. Empty means the body
 * itself.
 */
export type Path = readonly string[];

/** Why the rules stop: the request is refused, or a policy forwards it unchanged. */
export type Stop =
  | { readonly kind: 'refuse'; readonly refusal: Refusal }
  | { readonly kind: 'forward'; readonly note: string };

/** The choices of rules for bodies that can be read in several ways. */
export interface RulePolicies {
  /** A body that is an object without the wrapper. */
  readonly flat: 'migrate' | 'refuse' | 'forward';
  /** Members beside the wrapper. */
  readonly siblings: 'drop' | 'refuse' | 'forward';
  /** Both the V1 and the V2 spelling are present: the V1 value wins, or the request is refused or forwarded unchanged. */
  readonly conflict: 'v1' | 'refuse' | 'forward';
  /** A member that a rule names occurs twice in one object. */
  readonly duplicate: 'refuse' | 'last' | 'forward';
  /** The wrapper is not an object. */
  readonly wrapper: 'refuse' | 'forward';
  /** A value that a rule cannot convert: the request is refused or forwarded unchanged, or the value stays. */
  readonly value: 'refuse' | 'forward' | 'keep';
}

/** The policies of rules for responses, under which no rule stops: the client's name wins, and values that cannot be converted stay. */
const RESPONSE_POLICIES: RulePolicies = {
  flat: 'migrate',
  siblings: 'drop',
  conflict: 'v1',
  duplicate: 'last',
  wrapper: 'forward',
  value: 'keep',
};

/** The change of a compiled rule, and its place in the plan. */
export interface RuleBase extends RuleName {
  /** The first step code of the rule. */
  readonly code: number;
  readonly policies: RulePolicies;
}

/** The base of a rule for responses: without step codes, because its records depend on nothing else. */
export function responseBase({ change, rule }: RuleName): RuleBase {
  return { change, rule, code: 0, policies: RESPONSE_POLICIES };
}

export interface CompiledRule extends RuleBase, RuleReads {
  /** Applies it to one of the objects at `path`. */
  readonly apply: (run: Run, object: DraftObject) => Stop | undefined;
}

/** The parts of a body that a compiled rule reads. */
export interface RuleReads {
  /** Ids of the names on the path to the objects that the rule applies to; -1 for `*`, and `ANYWHERE`. */
  readonly path: readonly number[];
  /** Levels below the body that it may read; when absent, those of the path and the members there. */
  readonly reach?: number;
  /** Levels by which it may move a value up; none if absent. */
  readonly lift?: number;
  /** True if it does not apply to the response to a request without deprecated attributes. */
  readonly readsDeprecated?: true;
  /** True if its effect depends on the contents of strings. */
  readonly readsTexts?: true;
  /** True if it compares names that it does not list. */
  readonly readsAnyName?: boolean;
  /** True if it looks objects up at V2. */
  readonly looksUp?: true;
  /** True if it applies to a body of any kind, also to an array. */
  readonly isOfBody?: true;
  /** Opens the members whose contents it reads, in addition to those on its path. */
  readonly open?: (opened: MembersToOpen) => void;
}

/** The members that rules open, being collected. */
export interface MembersToOpen extends OpenedMembers {
  readonly objects: boolean[];
  readonly arrays: boolean[];
  list: boolean;
  /** True if a rule reads the contents of members with any name. */
  all: boolean;
}

/** The number of levels that are recorded for rules: a value may have been deeper in the body than where a rule reads it. */
export function levelsRead(rules: readonly RuleReads[], least = 0): number {
  if (rules.some(goesAnywhere)) return Infinity;
  const deepest = rules.reduce((most, { reach, path }) => Math.max(most, reach ?? path.length + 1), least);
  return deepest + rules.reduce((levels, { lift = 0 }) => levels + lift, 0);
}

/** True for a rule that also applies to a body that is an array: its path begins with `*` or `**`, or it is about any body. */
export function isOfList({ path, isOfBody }: RuleReads): boolean {
  return path[0] === -1 || path[0] === ANYWHERE || isOfBody === true;
}

/** Applies a rule to each of its objects; calls `ambiguous` if a member on the path is repeated. */
export function applyRule(
  rule: CompiledRule,
  run: Run,
  ambiguous: (id: number, member: DraftMember) => Stop | undefined,
): Stop | undefined {
  const { draft, recorder } = run;
  if (rule.isOfBody === true) return rule.apply(run, draft.root);
  if (recorder === undefined || !goesAnywhere(rule))
    return draft.each(rule.path, (object) => rule.apply(run, object), ambiguous);
  return draft.each(
    rule.path,
    (object) => {
      const before = recorder.length;
      const stop = rule.apply(run, object);
      if (recorder.length > before) recorder.reached(object);
      return stop;
    },
    ambiguous,
  );
}

/** True for a rule about objects at any depth. */
export function goesAnywhere({ path }: RuleReads): boolean {
  return path.includes(ANYWHERE);
}

/** Opens the members on the path to an object, whose segments are ids of names and -1 for `*`. */
export function openPath(opened: MembersToOpen, path: readonly number[]): void {
  const { objects, arrays } = opened;
  if (path[0] === -1) opened.list = true;
  if (path.includes(ANYWHERE)) opened.all = true;
  for (const [at, id] of path.entries()) {
    if (id >= 0) (path[at + 1] === -1 ? arrays : objects)[id] = true;
  }
}

/** Opens the member `to` like the member `from`, because a rule renames or copies it. */
export function openLike({ objects, arrays }: MembersToOpen, to: number, from: number): void {
  if (objects[from] === true) objects[to] = true;
  if (arrays[from] === true) arrays[to] = true;
}

/**
 * The names of the members that `rules` open, as in the body before them: the old name of a member that a rule renames; undefined for all
 * members.
 */
export function openedBy(rules: readonly RuleReads[]): OpenedMembers | undefined {
  const opened: MembersToOpen = { objects: [], arrays: [], list: false, all: false };
  for (const rule of rules.toReversed()) {
    openPath(opened, rule.path);
    rule.open?.(opened);
  }
  return opened.all ? undefined : opened;
}

/** Step codes reserved for each member of a rule: the edit, and its reason. */
export const STEPS = 8;
/** Step codes reserved for each rule: enough for the members and values of a rule book of several megabytes. */
export const STEPS_OF_RULE = STEPS * 2 ** 20;
/** The ordinary step of a rule. */
export const PLAIN = 0;
const CONFLICT = 1;
/** The rule created an object. */
export const MADE = 2;
/** The body had no wrapper. */
export const FLAT = 3;
const DUPLICATE = 4;
/** Another step of the rule. */
export const OTHER = 5;

/** Where a rule looks values up: an address of V2 with a key in it. */
export interface LookupAddress {
  /** The text before and after the key, below V2's prefix. */
  readonly before: string;
  readonly after: string;
  /**
   * The member of the items in the response that contains the key, if one request asks for all keys; undefined if there is one request
   * for each key.
   */
  readonly by?: string;
  /** The path to the object or the items in the response; undefined for the path of the rule book. */
  readonly resource?: Path;
}

/** One object that a rule looks up at V2. */
export interface Ask {
  /** The same for two lookups of one object. */
  readonly id: string;
  readonly address: LookupAddress;
  readonly key: string;
}

/** What rules look up in one response. */
export interface Asked {
  /** Objects that have not been looked up yet; the rules continued without them. */
  readonly asks: readonly Ask[];
  /** Set if a rule found no object for a key: `noted`, or `failed` if its `absent` says so. */
  readonly missing: 'noted' | 'failed' | undefined;
}

/** The data of an exchange that rules for a response use in addition to the body. */
export interface ResponseFacts {
  /** The attributes that V1 had deprecated and that the request used. */
  readonly deprecated: readonly DeprecatedAttribute[];
  /** Whether the request had the wrapper, so that pointers in errors lead into it. */
  readonly isWrapped: boolean;
  /** V2's objects for the keys that rules look up, as JSON; undefined for an object that V2 does not have. */
  readonly answers?: ReadonlyMap<string, Uint8Array | undefined> | undefined;
}

/** Maximum objects that the rules look up for one response, which may name a million. Any others count as missing. */
const MAX_ASKED = 10_000;

/** One run of a plan's rules over one body: the draft and its changes so far. */
export class Run {
  readonly draft: Draft;
  readonly recorder: Recorder | undefined;
  /** The data of a response's exchange; undefined for a request, whose rules follow the policies. */
  readonly response: ResponseFacts | undefined;
  /** The steps so far of a run without records, as codes in order: the same codes give the same records, unless `isSingular`. */
  readonly codes: number[] = [];
  /** The values that maps looked up, in order: their positions in the maps determine the steps, in addition to the shape. */
  readonly lookups: Lookup[] = [];
  /** True if the records depend on more than the steps, such as indexes of an array. The shape of the body determines those. */
  isSingular = false;
  /** True if the records contain names that no rule uses, or values were converted: not even the shape of the body determines those. */
  hasForeignNames = false;
  private readonly asks = new Map<string, Ask>();
  private missing: Asked['missing'] = undefined;
  private readonly seen: SeenIds;

  /** `seen` is scratch memory that the runs of a plan share, one after the other. */
  constructor(draft: Draft, recorder: Recorder | undefined, seen: SeenIds, response?: ResponseFacts) {
    this.draft = draft;
    this.recorder = recorder;
    this.seen = seen;
    this.response = response;
  }

  /** True if the request of a response had the wrapper, so that pointers in errors lead into it. */
  get isWrapped(): boolean {
    return this.response?.isWrapped ?? false;
  }

  /** What rules look up, or did not find; undefined if nothing. */
  get asked(): Asked | undefined {
    const { asks, missing } = this;
    return asks.size === 0 && missing === undefined ? undefined : { asks: [...asks.values()], missing };
  }

  /** The object that a rule looks up; undefined if V2 was not asked for it yet, or does not have it. */
  answerTo(ask: Ask): Uint8Array | undefined {
    const { answers } = this.response ?? {};
    const answer = answers?.get(ask.id);
    const isKnown = answer !== undefined || answers?.has(ask.id) === true;
    if (!isKnown && this.asks.size + (answers?.size ?? 0) < MAX_ASKED) this.asks.set(ask.id, ask);
    return answer;
  }

  /** Called if a rule finds no object for a key. */
  misses(how: 'noted' | 'failed'): void {
    if (this.missing !== 'failed') this.missing = how;
  }

  /** Called after each step of a rule. */
  step(code: number): void {
    if (this.recorder === undefined) this.codes.push(code);
  }

  /** Called before a rule decides by a value: shape and steps then no longer determine the result. */
  readsValues(): void {
    this.isSingular = this.hasForeignNames = true;
  }

  /** The current pointer of a member, for a patch; empty in a run that makes none. */
  pointerOf(member: DraftMember): string {
    // A patch that cannot express all edits is dropped, so pointers are not computed for it; deep in a body they are slow.
    return this.recorder?.makesPatch === true && this.recorder.isPatchable
      ? (currentPointer(this.draft, member) ?? '')
      : '';
  }

  /** An empty set of names that rules use; emptied again by the next call. */
  seenIds(): SeenIds {
    this.seen.clear();
    return this.seen;
  }

  /** Returns the last of the members of `object` with a repeated name, among names with a position in `places`. */
  findRepeated(object: DraftObject, places: readonly number[]): DraftMember | undefined {
    const seen = this.seenIds();
    const { members } = object;
    for (let k = members.length - 1; k >= 0; k -= 1) {
      const member = members[k];
      if (member === undefined || (places[member.id] ?? -1) < 0) continue;
      if (!seen.add(member)) return find(object, member.id);
    }
    return undefined;
  }

  /** Drops `members` of `object`; `note` gives the reason if no rule requires it. */
  drop(rule: RuleName, object: DraftObject, members: readonly DraftMember[], note?: string): void {
    if (members.length === 0) return;
    for (const member of members) this.recorder?.drop(rule, member, note);
    takeAll(object, members);
  }

  /** Resolves a repeated member of a request before its value is read. In a response nothing is dropped until a rule changes the last. */
  settleRead(rule: RuleBase, id: number, last: DraftMember): Stop | undefined {
    return this.response === undefined ? this.settleRepeated(rule, id, last) : undefined;
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
    for (const _ of dropped) this.step(rule.code + DUPLICATE);
    this.drop(rule, holder, dropped, 'duplicate');
    return undefined;
  }

  /**
   * Applies the rule's `conflict` policy: drops `loser`, the member with the other version's name for an attribute that is present under
   * both names.
   */
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
      this.step(code + CONFLICT);
      this.recorder?.drop(rule, other, 'conflict');
      take(other);
    }
    return undefined;
  }

  /** Resolves a conflict with a member whose name another member gets, by the policies of the rule. */
  settleName(rule: RuleBase, object: DraftObject, id: number): Stop | undefined {
    const other = find(object, id);
    if (other === undefined) return undefined;
    return this.settleRepeated(rule, id, other) ?? this.settleConflict(rule, rule.code, other);
  }

  /** Applies the policy `value` to a value that the rule cannot convert; `keep` leaves it, and records that. */
  settleValue(rule: RuleBase, member: DraftMember, expected: string): Stop | undefined {
    const { value } = rule.policies;
    if (value === 'forward') return { kind: 'forward', note: 'unconvertible-value' };
    if (value === 'refuse')
      return refuse('unconvertible-value', 422, `The value must be ${expected}.`, this, member);
    this.step(rule.code + OTHER);
    this.recorder?.keep(rule, member, 'value');
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

/** A set of member names, filled and queried with members instead of texts. */
export interface SeenNames {
  /** Adds the name of `member`; false if it was there. */
  add(member: DraftMember): boolean;
  has(member: DraftMember): boolean;
}

/** Names that rules use, by their ids. Clearing it takes constant time, so that one set serves every object of a long list. */
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

/** Compiles names into their positions in a rule, by id; -1 for every other id. */
export function placesOf(members: readonly string[], names: NameTable): readonly number[] {
  const ids = members.map((member) => names.add(member));
  const places = Array.from({ length: Math.max(0, ...ids) + 1 }, () => -1);
  for (const [place, id] of ids.entries()) places[id] = place;
  return places;
}

/** Compiles a path into ids of names; `*` is -1, and `**` is `ANYWHERE`. */
export function pathIds(path: Path, names: NameTable): readonly number[] {
  return path.map((segment) => (segment === '*' ? -1 : segment === '**' ? ANYWHERE : names.add(segment)));
}

/** Compiles a rule about one member of each object: calls `apply` if the member is present, after resolving repetitions in a request. */
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
      const stop = run.settleRead(base, id, member);
      return stop === undefined ? apply(run, object, member) : stop;
    },
  };
}

/** Returns what rules about a sub-object read: its members, some of which they move up. */
export function readsOfObject(path: readonly number[], id: number): RuleReads {
  return {
    path,
    reach: path.length + 2,
    lift: 1,
    open: ({ objects }) => {
      objects[id] = true;
    },
  };
}
