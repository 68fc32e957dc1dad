import type * as zod from 'zod';
import type { Path, RulePolicies } from '../../edits/run.ts';
import { memberAt, type StatusPattern } from './kind.ts';
import { readName, readPath } from './paths.ts';

/* How a rule book writes rules of a kind, and how `check` validates them. A bundle that only migrates contains none of it; zod is passed as an argument. */

/** A path in a rule book's source: keys and indexes from the root. */
export type SourcePath = readonly (string | number)[];

/** Reports a fault at a path of the source; `key` if the key itself is wrong instead of its value. */
export type Report = (path: SourcePath, message: string, blame?: 'key') => void;

/** A request rule and its position in the source. */
export interface Declared<Rule> {
  readonly rule: Rule;
  /** The path of the rule's object in the source. */
  readonly inside: SourcePath;
  /** The path of each of the rule's members in the source; for a map its member, then each of its values. */
  readonly members: readonly SourcePath[];
}

/** A response rule, and the paths of its values in the source; empty if it has none. */
export interface DeclaredBack<Rule> {
  readonly rule: Rule;
  readonly values?: readonly SourcePath[];
}

/** A rule for a query or for header fields, and its position in the source. */
export interface DeclaredNames<Rule> {
  readonly rule: Rule;
  /** The path in the source of each parameter or field; for a map its parameter or field, then each of its values. */
  readonly parts: readonly SourcePath[];
}

/** The position of a rule in the source of a rule book. */
export interface Place {
  readonly path: SourcePath;
  /** The statuses that a response rule is for. */
  readonly status: readonly StatusPattern[];
  /** The value at a path as JSON text. */
  readonly json: (path: SourcePath) => string;
  /** The text of the number at a path. */
  readonly number: (path: SourcePath) => string;
}

/** The schema of a rule in a rule book, and its reader. The first key of the schema names the rule. */
export interface Form<Rule> {
  readonly schema: zod.ZodObject;
  read(source: object, place: Place): readonly Rule[];
}

/** A form whose reader gets the parsed value of its schema. */
export function formOf<Schema extends zod.ZodObject, Rule>(
  schema: Schema,
  read: (source: zod.output<Schema>, place: Place) => readonly Rule[],
): Form<Rule> {
  return { schema, read };
}

/** The building blocks of schemas for rules. */
export interface Blocks {
  readonly z: Pick<
    typeof zod,
    'array' | 'enum' | 'int' | 'literal' | 'null' | 'number' | 'record' | 'string' | 'union'
  >;
  /** A mapping without unknown keys; the message for an unknown key lists the known ones. */
  readonly strict: <Shape extends zod.core.$ZodShape>(shape: Shape) => zod.ZodObject<Shape, zod.core.$strict>;
  /** A key that may be absent, with its description for editors. */
  readonly optional: <Schema extends zod.core.SomeType>(
    schema: Schema,
    description: string,
  ) => zod.ZodExactOptional<Schema>;
  /** A text in which `faultOf` finds no fault; its sentence becomes the message. */
  readonly checked: (faultOf: (text: string) => string | undefined) => zod.ZodString;
  /** One text or a list of them. */
  readonly oneOrMore: <Schema extends zod.core.SomeType>(
    schema: Schema,
    error: string,
  ) => zod.ZodUnion<readonly [Schema, zod.ZodArray<Schema>]>;
  readonly name: zod.ZodString;
  readonly memberPath: zod.ZodString;
  /** The path of the object with the member. */
  readonly inside: zod.ZodExactOptional<zod.ZodString>;
  /** The same without `**`. */
  readonly insideOne: zod.ZodExactOptional<zod.ZodString>;
  readonly text: zod.ZodString;
  readonly wellFormed: zod.ZodString;
  readonly scalar: zod.ZodType<Scalar>;
  readonly jsonValue: zod.ZodUnknown;
  readonly status: zod.ZodExactOptional<zod.ZodType<StatusPattern | StatusPattern[]>>;
  readonly parameter: zod.ZodString;
  readonly field: zod.ZodString;
  readonly fieldValue: zod.ZodString;
  /** A field value with a placeholder for another. */
  readonly template: zod.ZodExactOptional<zod.ZodString>;
  /** The path to an object or a list; an empty text is the body itself. */
  readonly resource: zod.ZodExactOptional<zod.ZodType<string>>;
}

/** A value of a map, or of a parameter. */
export type Scalar = string | number | boolean | null;

/** The forms of a kind of rule, in all the places of a rule book that allow it. */
export interface Book<Rule = never, Back = never, Query = never, Fields = never> {
  /** For bodies of requests. */
  readonly request?: RequestBook<Rule>;
  /** For bodies of responses. */
  readonly response?: ResponseBook<Back>;
  /** For queries. */
  readonly query?: NamesBook<Query>;
  /** For header fields of requests, and of responses unless `isOfRequests`. */
  readonly headers?: NamesBook<Fields>;
}

/** Rules for bodies of requests. */
export interface RequestBook<Rule> {
  form(this: void, blocks: Blocks): Form<Declared<Rule>>;
  /** The policies that rules of the kind use; all rules use `duplicate`. */
  readonly policies?: readonly (keyof RulePolicies)[];
  /** Reports what is wrong with a single rule. */
  faults?(this: void, declared: Declared<Rule>, fault: Report): void;
  /** Records the facts that hold for all bodies after the rule. */
  learn(this: void, rule: Rule, facts: Facts): void;
  /** The parts of the rule that can have no effect, although its objects and members may be present. */
  stale?(this: void, rule: Rule, facts: Facts): readonly StalePart[];
  /** True if rules of the kind apply to absent members. */
  readonly makes?: true;
  /** The part of the rule that can have no effect, in words; if absent, a member. */
  subject?(this: void, rule: Rule, part: number): string | undefined;
  /** The verb for a member that gets another name in its object. */
  readonly gives?: string;
  /** What happens to a member that the rule names, unless the member moves; with `keepsNamed`, to a member that it does not name. */
  fate?(this: void, rule: Rule): string;
  /** How to write this rule and one that renames `from` to `to`, which this rule takes, so that each names its V1 member. */
  apart?(this: void, rule: Rule, from: Path, to: Path): string;
  /** True if rules of the kind remove the members that they do not name. */
  readonly keepsNamed?: true;
  /** True if an `inverse` can say what to do about members that V2 lacks. */
  readonly hasMembers?: true;
  /** Sentences about values that no response can restore. */
  lost?(this: void, rule: Rule): readonly string[];
  /** Sentences about how a response may differ from V1's although the rule is undone. */
  inexact?(this: void, rule: Rule): readonly string[];
  /** What a PATCH with only some of the members loses: the words after the operation's name. */
  patched?(this: void, rule: Rule): string | undefined;
}

/** Rules for bodies of responses. */
export interface ResponseBook<Rule> {
  form(this: void, blocks: Blocks): Form<DeclaredBack<Rule>>;
  /** The statuses that rules of the kind apply to by default; 2xx if absent. */
  readonly usual?: readonly StatusPattern[];
  /** Reports what is wrong with a single rule; `at` is its path. */
  faults?(this: void, declared: DeclaredBack<Rule>, at: SourcePath, fault: Report): void;
  /** The effect on the member at the path of a rule, around its name: `gives`, and ` a value`. */
  readonly effect: readonly [before: string, after?: string];
  /** The members with the effect; empty for an unnamed one; if absent, the one at the path. */
  effectOn?(this: void, rule: Rule): readonly Path[];
  /** The parts that two rules with the same effect have in common, in addition to the path. */
  same?(this: void, rule: Rule): readonly unknown[];
  /** True if the rule has an effect on what `earlier`, the same rule with other parts, leaves as it is. */
  isFurther?(this: void, rule: Rule, earlier: Rule): boolean;
  /** True if repeating the rule has an effect each time. */
  isRepeatable?(this: void, rule: Rule): boolean;
  /** True if rules of the kind add the members that they name. */
  readonly adds?: true;
  /** True if rules of the kind may apply to members at any depth. */
  readonly mayBeAnywhere?: true;
  /** Records the facts that hold for all bodies after the rule, for kinds that differ from those of requests. */
  learn?(this: void, rule: Rule, facts: Facts): void;
  /** True if the rule removes a member at `path`; `members` are the members in it that are meant. */
  takes?(this: void, rule: Rule, path: Path, members: readonly string[] | undefined): boolean;
}

/** Rules for the parameters of a query, or for header fields. */
export interface NamesBook<Rule> {
  form(this: void, blocks: Blocks): Form<DeclaredNames<Rule>>;
  /** True if no response has such rules. */
  readonly isOfRequests?: true;
  /** True if rules of the kind use the policy `conflict`. */
  readonly hasConflict?: true;
  faults?(this: void, declared: DeclaredNames<Rule>, fault: Report): void;
  /** The names that must be present for the rule to have an effect. */
  looksFor(this: void, rule: Rule): readonly string[];
  /** The parts of the rule that can have no effect, because their values cannot occur any more. */
  stale?(this: void, rule: Rule, names: NameFacts): readonly StaleName[];
  /** Records the facts that hold for all parameters or fields after the rule. */
  learn?(this: void, rule: Rule, names: NameFacts): void;
  /** A sentence about an effect that a client may notice although the rule is valid. */
  warning?(this: void, rule: Rule): string | undefined;
}

/** A part of a rule that can never take effect: a member, a value of a map (from 1 on), or the object that it applies to. */
export interface StalePart {
  readonly part: number | 'inside';
  /** Why, and how to fix it. */
  readonly reason: string;
}

/** The same for a rule about names: a parameter or a field, or a value of a map (from 1 on). */
export interface StaleName {
  readonly part: number;
  readonly reason: string;
}

/** The facts that hold for all bodies after the rules so far; the rules of one change add to them. */
export interface Facts {
  /** The object in a member is the body. */
  unwrap(member: string): void;
  nest(inside: Path, members: readonly string[], under: string): void;
  rename(inside: Path, from: string, to: string): void;
  move(inside: Path, from: Path, to: Path): void;
  copy(inside: Path, from: Path, to: Path): void;
  strip(inside: Path, members: readonly string[]): void;
  /** An object has only these members. */
  close(inside: Path, members: readonly string[]): void;
  /** A member has none of these values, as JSON texts, but may have the others. */
  replace(inside: Path, member: string, from: readonly string[], to: readonly string[]): void;
  /** A member is present with an unknown value; if it was absent, or always. */
  add(inside: Path, member: string, isAlways: boolean): void;
  /** The value of a member, if present, has changed. */
  change(inside: Path, member: string): void;
  /** The members of an object are unknown. */
  forget(inside: Path): void;
  /** Members become others, with unknown values. */
  become(inside: Path, from: readonly string[], to: readonly string[]): void;
  /** The change that replaces a value of a member, a JSON text; undefined if the value may occur. */
  replacedBy(path: Path, json: string): string | undefined;
  /** The change that leaves only these members in an object; undefined if there may be others. */
  closedBy(inside: Path, members: ReadonlySet<string>): string | undefined;
}

/** The facts that hold for all parameters, or all header fields, after the rules so far. */
export interface NameFacts {
  /** Nothing has the name any more, because the change `does` something to it. */
  take(name: string, does: string): void;
  /** The name may be present again. */
  add(name: string): void;
  /** The name is certainly present. */
  set(name: string): void;
  /** The change that ensures that the name is present; undefined if it may be absent. */
  setBy(name: string): string | undefined;
  /** The values of a name are unknown. */
  change(name: string): void;
  /** A name has none of these values, but may have others. */
  replace(name: string, from: readonly string[], to: readonly string[]): void;
  /** The change that replaces a value of a name; undefined if the value may occur. */
  replacedBy(name: string, value: string): string | undefined;
}

/** A rule about the member that a text at `key` names; `values` are the paths of the values of a map. */
export function declareMember<Rule>(
  { path }: Place,
  key: string,
  { in: inside, of }: { readonly in?: string | undefined; readonly of: string },
  ruleOf: (place: { readonly member: string; readonly in: Path }) => Rule,
  values: readonly SourcePath[] = [],
): readonly Declared<Rule>[] {
  const at = [...path, key];
  const rule = ruleOf(memberAt([...objectsAt(inside), ...readPath(of)]));
  return [{ rule, inside: at, members: [at, ...values] }];
}

/** A rule about the members that the list at `key` names. */
export function declareMembers<Rule>(
  { path }: Place,
  key: string,
  { in: inside, of }: { readonly in?: string | undefined; readonly of: readonly string[] },
  ruleOf: (place: { readonly members: readonly string[]; readonly in: Path }) => Rule,
): readonly Declared<Rule>[] {
  const rule = ruleOf({ members: of.map(readName), in: objectsAt(inside) });
  const at = inside === undefined ? path : [...path, 'in'];
  return [{ rule, inside: at, members: of.map((_, index) => [...path, key, index]) }];
}

/** The path in `in`; if absent, that of the body. */
export function objectsAt(inside: string | undefined): Path {
  return inside === undefined ? [] : readPath(inside);
}

/** The texts at `key`, one or a list, each with its path in the source. */
export function listed(
  source: string | readonly string[],
  { path }: Place,
  key: string,
): { readonly names: readonly string[]; readonly parts: readonly SourcePath[] } {
  const at = [...path, key];
  return typeof source === 'string'
    ? { names: [source], parts: [at] }
    : { names: source, parts: source.map((_, index) => [...at, index]) };
}

/** The text of a scalar, for a place without types; a number keeps its spelling, even if JSON does not allow it: 007. */
export function textAt(value: unknown, path: SourcePath, { number }: Place): string {
  return typeof value === 'number' ? number(path) : String(value);
}

export function textIn(source: object, key: string): string | undefined {
  const value: unknown = Reflect.get(source, key);
  return typeof value === 'string' ? value : undefined;
}
