import type { HeaderRun, HeaderStop } from '../../edits/header-run.ts';
import type { QueryRun } from '../../edits/query-run.ts';
import type { CompiledRule, LookupAddress, Path, RuleBase } from '../../edits/run.ts';
import type { QueryPart } from '../../http/target.ts';
import type { NameTable } from '../../json/names.ts';

/** Statuses that a response rule applies to: exact ones or classes. */
export type StatusPattern = number | '2xx' | '4xx' | '5xx';

/** Whether rules of a kind give a member another value, because V2's values differ from V1's. */
export interface ChangesValue {
  readonly changesValue?: true;
}

/** A kind of rules for responses: their work on bytes. */
export interface ResponseKind<Rule> extends ChangesValue {
  /** Compiles a rule, once for each plan. */
  compile(rule: Rule, base: RuleBase, names: NameTable): CompiledRule;
}

/** A kind of rules for requests: their work on bytes. */
export interface Kind<Rule> extends ResponseKind<Rule> {
  /** True for a rule that can do nothing. */
  isIdle?(rule: Rule): boolean;
  /** The member that a rule puts in the place of the body. */
  unwraps?(rule: Rule): string;
  /** True for a rule that puts a member into a body that has none of its own. */
  makesBody?(rule: Rule): boolean;
}

/** A kind of rules for queries: its work on those of requests, and on those of links in responses. */
export interface QueryKind<Rule> {
  /** Compiles a rule, once for each plan. */
  compile(rule: Rule): CompiledQueryRule;
  /** The parameter that a rule gives another name. */
  renames?(rule: Rule): { readonly from: string; readonly to: string };
  /** True where a rule is about an absent parameter: one that is there stays. */
  keepsPresent?(rule: Rule): boolean;
  /** True for rules that add a parameter to a query without any. */
  readonly adds?: true;
}

/** A rule for queries, compiled. */
export interface CompiledQueryRule {
  readonly apply: (run: QueryRun) => void;
  /** Turns a parameter of a link of V2 back; undefined for one that V1 has not. When absent, all stay. */
  readonly restore?: (part: QueryPart) => QueryPart | undefined;
  /** Turns the parameters of such a link back together, where one of V1 is several of V2. */
  readonly restoreAll?: (parts: readonly QueryPart[]) => readonly QueryPart[];
}

/** A kind of rules for header fields: its work on those of a request or of a response. */
export interface HeaderKind<Rule> {
  apply(rule: Rule, run: HeaderRun): HeaderStop | undefined;
  /** The fields, and the parameters, that a rule takes from V1's clients. */
  moves?(rule: Rule): readonly MovedField[];
}

/** What V1's clients send, and the field that V2 gets in its place; undefined where it gets none. */
export interface MovedField {
  readonly from: { readonly header: string } | { readonly query: string };
  readonly to: string | undefined;
  /** The text around a credential, with braces in its place. */
  readonly as?: string | undefined;
}

/** What a kind of rules for requests does to names, and what undoes it in a response: rules `Undo`. */
export interface Lens<Rule, Undo> extends ChangesValue {
  /** The members that a rule gives a name or a place; none for a rule that leaves both. */
  moves(rule: Rule): readonly MovedMember[];
  /**
   * The rules that undo a rule in a response, in their order, or why nothing does. `objects` is the path there to the objects of the
   * rule.
   */
  inverse(rule: Rule, objects: Path, place: ResponsePlace): readonly Undone<Undo>[] | NoInverse;
  /** True where a rule gives members another name, and leaves their values and their places. */
  readonly isOfName?: true;
  /** True where not only the path to its objects, but the members that a rule names may lead through the wrapper. */
  readonly leadsIn?: true;
  /** True where a rule is about an absent member: one that is there stays. */
  isForAbsent?(rule: Rule): boolean;
  /** True where a rule removes a member of this name from its objects. */
  drops?(rule: Rule, name: string): boolean;
  /** True where V1 itself called the members deprecated that a rule removes. */
  readonly isDeprecating?: true;
  /** True where a rule makes one member of several. */
  readonly joins?: true;
  /** What became of an attribute that V1's clients send, for its place in V2, if it has one: `is called title`. */
  became?(place: Path | undefined): string | undefined;
}

/** The place of a member in both versions, as paths from the objects of a rule. */
export interface MovedMember {
  readonly from: Path;
  readonly to: Path;
  /** What is elsewhere in its value, as paths from there; each `*` of `from` is the one of `to`. */
  readonly inside?: readonly { readonly from: Path; readonly to: Path }[];
}

/** A response rule without the statuses that it is for. */
export type Undone<Rule> = Rule extends unknown ? Omit<Rule, 'status'> : never;

/** What people read of a rule for responses. */
export interface ResponseWords<Rule> {
  /** Whether the member that a rule gives a place stays where it is as well. */
  readonly keeps?: true;
  /** What a guide says of the value in V2, for any rule called `name`; absent for kinds that leave values as they are. */
  remark?(this: void, name: string): string;
  /** Where a rule book has rules of this kind. */
  readonly of: 'requests' | 'responses' | 'both';
  /** The rule in words: `rename name to title`. `name` is its member, `where` the place of its objects: ` in property`, or nothing. */
  say(rule: Rule, name: string, where: string): string;
}

/** What people read of a rule of one kind; `Back` is the same for responses. No bundle that only migrates has it. */
export interface Words<Rule, Back = never> extends ResponseWords<Rule | Back> {
  /** The members that a rule names, as paths from its objects, in the order of the rule book; for an `unwrap` from the body. */
  named(rule: Rule): readonly Path[];
  /** Why a rule had no effect on an object, which is called `place`; when absent, that it has none of the members. */
  none?(rule: Rule, place: string): string;
  /** Why a rule may have no inverse: what goes on after "since". */
  readonly why?: string;
  /** What an edit did, in one sentence. */
  done(edit: EditPlaces): string;
}

/** The places of an edit, as people read them. */
export interface EditPlaces {
  readonly rule: string;
  /** The name before, and after. */
  readonly name: string;
  readonly to: string;
  /** The name of the object around the member after, and the member's path. */
  readonly around: string;
  readonly place: string;
  /** True for a member that the client did not send. */
  readonly isAdded: boolean;
}

/** Why no rule undoes another, in a word; its sentence is `why` of the words. */
export type NoInverse = string;

/** Where responses have what a request rule wrote. */
export interface ResponsePlace {
  /** Where the resource has what a request has at `path`; undefined for a place beside the wrapper. */
  readonly inside: (path: Path) => Path | undefined;
  /** True where V1 had every member that a `nest` moves, with null for those that have no value. */
  readonly hasNulls: boolean;
}

/** The address of a lookup as people read it, with braces in the place of the key. */
export function printAddress({ before, after }: LookupAddress): string {
  return `${before}{}${after}`;
}

/** The objects with the member at a path of a response, and its name. */
export function memberAt(path: Path): { readonly in: Path; readonly member: string } {
  return { in: path.slice(0, -1), member: path.at(-1) ?? '' };
}
