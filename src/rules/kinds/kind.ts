import type { HeaderRun, HeaderStop } from '../../edits/header-run.ts';
import type { QueryRun } from '../../edits/query-run.ts';
import type { CompiledRule, LookupAddress, Path, RuleBase } from '../../edits/run.ts';
import type { QueryPart } from '../../http/target.ts';
import type { NameTable } from '../../json/names.ts';

/** Statuses that a response rule applies to: exact ones or classes. */
export type StatusPattern = number | '2xx' | '4xx' | '5xx';

/** Whether rules of a kind change the value of a member, because V2's values differ from V1's. */
export interface ChangesValue {
  readonly changesValue?: true;
}

/** A kind of rule for responses: how it changes their bytes. */
export interface ResponseKind<Rule> extends ChangesValue {
  /** Compiles a rule, once for each plan. */
  compile(rule: Rule, base: RuleBase, names: NameTable): CompiledRule;
}

/** A kind of rule for requests: how it changes their bytes. */
export interface Kind<Rule> extends ResponseKind<Rule> {
  /** True for a rule without any effect. */
  isIdle?(rule: Rule): boolean;
  /** The member that replaces the body. */
  unwraps?(rule: Rule): string;
  /** True for a rule that adds a member to an empty body. */
  makesBody?(rule: Rule): boolean;
}

/** A kind of rule for queries: how it changes those of requests, and those of links in responses. */
export interface QueryKind<Rule> {
  /** Compiles a rule, once for each plan. */
  compile(rule: Rule): CompiledQueryRule;
  /** The parameter that a rule renames. */
  renames?(rule: Rule): { readonly from: string; readonly to: string };
  /** True if a rule is about an absent parameter: an existing one stays. */
  keepsPresent?(rule: Rule): boolean;
  /** True for rules that add a parameter to a query without any. */
  readonly adds?: true;
}

export interface CompiledQueryRule {
  readonly apply: (run: QueryRun) => void;
  /** Converts a parameter of a link of V2 to V1's; undefined for one that V1 does not have. If absent, all stay. */
  readonly restore?: (part: QueryPart) => QueryPart | undefined;
  /** Converts the parameters of such a link together, if one of V1 corresponds to several of V2. */
  readonly restoreAll?: (parts: readonly QueryPart[]) => readonly QueryPart[];
}

/** A kind of rule for header fields: how it changes those of a request or of a response. */
export interface HeaderKind<Rule> {
  apply(rule: Rule, run: HeaderRun): HeaderStop | undefined;
  /** The fields, and the parameters, of V1's clients that a rule removes or moves. */
  moves?(rule: Rule): readonly MovedField[];
}

/** A field or parameter of V1's clients, and the field of V2 for it; undefined if there is none. */
export interface MovedField {
  readonly from: { readonly header: string } | { readonly query: string };
  readonly to: string | undefined;
  /** The text around a credential, with braces in its place. */
  readonly as?: string | undefined;
}

/** How a kind of request rule changes names, and the rules `Undo` that undo it in a response. */
export interface Lens<Rule, Undo> extends ChangesValue {
  /** The members that a rule renames or moves; empty for a rule that does neither. */
  moves(rule: Rule): readonly MovedMember[];
  /**
   * The rules that undo a rule in a response, in their order, or why there are none. `objects` is the path to the rule's objects in the
   * response.
   */
  inverse(rule: Rule, objects: Path, place: ResponsePlace): readonly Undone<Undo>[] | NoInverse;
  /** True if a rule only renames members, and leaves their values and their places. */
  readonly isOfName?: true;
  /** True if the members that a rule names may also lead through the wrapper, in addition to the path to its objects. */
  readonly leadsIn?: true;
  /** True if a rule gives a member its own value, also one that was not there. */
  readonly writes?: true;
  /** True if a rule is about an absent member: an existing one stays. */
  isForAbsent?(rule: Rule): boolean;
  /** True if a rule removes a member with this name from its objects. */
  drops?(rule: Rule, name: string): boolean;
  /** True if V1 itself had deprecated the members that a rule removes. */
  readonly isDeprecating?: true;
  /** True for a rule that makes one member of several. */
  readonly joins?: true;
  /** The change of an attribute that V1's clients use, as a phrase: `is called title`. `place` is its place in V2, if it has one. */
  became?(place: Path | undefined): string | undefined;
}

/** The place of a member in both versions, as paths from the objects of a rule. */
export interface MovedMember {
  readonly from: Path;
  readonly to: Path;
  /** The places of its nested members, as paths from it; each `*` of `from` is the one of `to`. */
  readonly inside?: readonly { readonly from: Path; readonly to: Path }[];
}

/** A response rule without the statuses that it applies to. */
export type Undone<Rule> = Rule extends unknown ? Omit<Rule, 'status'> : never;

/** How messages and guides describe a rule for responses. */
export interface ResponseWords<Rule> {
  /** True if a member that a rule copies also stays in its place. */
  readonly keeps?: true;
  /** How a guide describes the value in V2, for a rule called `name`; absent for kinds that do not change values. */
  remark?(this: void, name: string): string;
  /** Where a rule book may have rules of this kind. */
  readonly of: 'requests' | 'responses' | 'both';
  /** The rule as a phrase: `rename name to title`. `name` is its member, `where` the place of its objects: ` in property`, or nothing. */
  say(rule: Rule, name: string, where: string): string;
}

/** How messages and guides describe a rule of one kind; `Back` is the same for responses. No bundle that only migrates contains it. */
export interface Words<Rule, Back = never> extends ResponseWords<Rule | Back> {
  /** The members that a rule names, as paths from its objects, in the order of the rule book; for an `unwrap`, from the body. */
  named(rule: Rule): readonly Path[];
  /** Why a rule had no effect on the object `place`; if absent: it has none of the members. */
  none?(rule: Rule, place: string): string;
  /** Why a rule may have no inverse: the words after "since". */
  readonly why?: string;
  /** The effect of an edit, as a sentence. */
  done(edit: EditPlaces): string;
}

/** The places of an edit, as shown to people. */
export interface EditPlaces {
  readonly rule: string;
  /** The name before, and after. */
  readonly name: string;
  readonly to: string;
  /** The name of the surrounding object after the edit, and the member's path. */
  readonly around: string;
  readonly place: string;
  /** True for a member that the client did not send. */
  readonly isAdded: boolean;
  /** The conversion as a phrase, such as `scale price by 100`; absent if the rule is not known. */
  readonly how?: string | undefined;
}

/** Why a rule cannot be undone, as a keyword; its sentence is in `why` of the words. */
export type NoInverse = string;

/** The place in responses of the members that a request rule wrote. */
export interface ResponsePlace {
  /** Converts a path in a request to one in the resource; undefined for a place beside the wrapper. */
  readonly inside: (path: Path) => Path | undefined;
  /** True if V1 always had the members that a `nest` moves, with null for those without a value. */
  readonly hasNulls: boolean;
}

/** The address of a lookup for people, with braces in place of the key. */
export function printAddress({ before, after }: LookupAddress): string {
  return `${before}{}${after}`;
}

/** The objects that contain the member at a path of a response, and the member's name. */
export function memberAt(path: Path): { readonly in: Path; readonly member: string } {
  return { in: path.slice(0, -1), member: path.at(-1) ?? '' };
}
