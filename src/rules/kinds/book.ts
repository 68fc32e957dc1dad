import type * as zod from 'zod';
import type { Path, RulePolicies } from '../../edits/run.ts';
import { memberAt, type StatusPattern } from './kind.ts';
import { readName, readPath } from './paths.ts';

/*
 * How a rule book has rules of a kind, and what `check` finds out about them. A bundle that only migrates has nothing of it; zod comes as an
 * argument.
 */

/** A path in a rule book's source: keys and indexes from the root. */
export type SourcePath = readonly (string | number)[];

/** Reports a fault at a path of the source; `key` where the key there is wrong, not its value. */
export type Report = (path: SourcePath, message: string, blame?: 'key') => void;

/** A request rule and its position in the source. */
export interface Declared<Rule> {
  readonly rule: Rule;
  /** The path of the rule's object in the source. */
  readonly inside: SourcePath;
  /** The path of each of the rule's members in the source; for a map its member, then each of its values. */
  readonly members: readonly SourcePath[];
}

/** A response rule, and where its values are in the source: empty where it has none. */
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

/** Where a rule stands in the source of a rule book. */
export interface Place {
  readonly path: SourcePath;
  /** The statuses that a response rule is for. */
  readonly status: readonly StatusPattern[];
  /** The value at a path as JSON text. */
  readonly json: (path: SourcePath) => string;
  /** The text of the number at a path. */
  readonly number: (path: SourcePath) => string;
}

/** How a rule book writes a rule, and how that is read. The first key of the schema names the rule. */
export interface Form<Rule> {
  readonly schema: zod.ZodObject;
  read(source: object, place: Place): readonly Rule[];
}

/** A form whose reader gets what its schema lets through. */
export function formOf<Schema extends zod.ZodObject, Rule>(
  schema: Schema,
  read: (source: zod.output<Schema>, place: Place) => readonly Rule[],
): Form<Rule> {
  return { schema, read };
}

/** What schemas of rules are made of. */
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
  /** A text in which `faultOf` finds nothing wrong; its sentence is that of the fault. */
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
  /** The same, which is no object at any depth. */
  readonly insideOne: zod.ZodExactOptional<zod.ZodString>;
  readonly text: zod.ZodString;
  readonly wellFormed: zod.ZodString;
  readonly scalar: zod.ZodType<Scalar>;
  readonly jsonValue: zod.ZodUnknown;
  readonly status: zod.ZodExactOptional<zod.ZodType<StatusPattern | StatusPattern[]>>;
  readonly parameter: zod.ZodString;
  readonly field: zod.ZodString;
  readonly fieldValue: zod.ZodString;
  /** A value of a field with room for another. */
  readonly template: zod.ZodExactOptional<zod.ZodString>;
  /** The path to an object or a list; an empty text is the body itself. */
  readonly resource: zod.ZodExactOptional<zod.ZodType<string>>;
}

/** A value of a map, or of a parameter. */
export type Scalar = string | number | boolean | null;

/** How a rule book has the rules of a kind, wherever it has them. */
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
  /** The policies that they use; any rule uses `duplicate`. */
  readonly policies?: readonly (keyof RulePolicies)[];
  /** Reports what is wrong with one on its own. */
  faults?(this: void, declared: Declared<Rule>, fault: Report): void;
  /** Tells what is certain of any body after it, whatever the body was before. */
  learn(this: void, rule: Rule, facts: Facts): void;
  /** The parts of it that can have no effect, in a place that may be there with members that may be there. */
  stale?(this: void, rule: Rule, facts: Facts): readonly StalePart[];
  /** True if they are for members that are absent. */
  readonly makes?: true;
  /** The part of it that can have no effect, in words; that of a member when absent. */
  subject?(this: void, rule: Rule, part: number): string | undefined;
  /** What is done to a member that gets another name in its object. */
  readonly gives?: string;
  /** What happens to a member that it names, where that is not a move; to those that it does not name for `keepsNamed`. */
  fate?(this: void, rule: Rule): string;
  /** True if members that it does not name go. */
  readonly keepsNamed?: true;
  /** True if an `inverse` can say what becomes of members that V2 lacks. */
  readonly hasMembers?: true;
  /** What no response can bring back. */
  lost?(this: void, rule: Rule): readonly string[];
  /** What a response may have otherwise than V1 had it, although the rule is undone. */
  inexact?(this: void, rule: Rule): readonly string[];
  /** What a PATCH loses that has a part of the members, behind the operation's name. */
  patched?(this: void, rule: Rule): string | undefined;
}

/** Rules for bodies of responses. */
export interface ResponseBook<Rule> {
  form(this: void, blocks: Blocks): Form<DeclaredBack<Rule>>;
  /** The statuses that they are for, unless they say so; 2xx when absent. */
  readonly usual?: readonly StatusPattern[];
  /** Reports what is wrong with one on its own; `at` is its path. */
  faults?(this: void, declared: DeclaredBack<Rule>, at: SourcePath, fault: Report): void;
  /** What is done to the member at the path of a rule, around its name: `gives`, and ` a value`. */
  readonly effect: readonly [before: string, after?: string];
  /** The members that the effect is on, without a name for none; that at the path when absent. */
  effectOn?(this: void, rule: Rule): readonly Path[];
  /** What a rule with the same effect has the same, beside its path. */
  same?(this: void, rule: Rule): readonly unknown[];
  /** True if the same rule has an effect each time. */
  isRepeatable?(this: void, rule: Rule): boolean;
  /** True if they add what they name. */
  readonly adds?: true;
  /** True if they may be about members at any depth. */
  readonly mayBeAnywhere?: true;
  /** True if a member at `path` is no longer there after the rule; `members` are those inside of it that are meant. */
  takes?(this: void, rule: Rule, path: Path, members: readonly string[] | undefined): boolean;
}

/** Rules for the parameters of a query, or for header fields. */
export interface NamesBook<Rule> {
  form(this: void, blocks: Blocks): Form<DeclaredNames<Rule>>;
  /** True if no response has such rules. */
  readonly isOfRequests?: true;
  /** True if they use the policy `conflict`. */
  readonly hasConflict?: true;
  faults?(this: void, declared: DeclaredNames<Rule>, fault: Report): void;
  /** The names that must be there for it to have an effect. */
  looksFor(this: void, rule: Rule): readonly string[];
  /** The values that it looks for, and cannot find any more. */
  stale?(this: void, rule: Rule, names: NameFacts): readonly StaleName[];
  /** Tells what is certain of all parameters or fields after it. */
  learn?(this: void, rule: Rule, names: NameFacts): void;
  /** What a client may notice although nothing is wrong. */
  warning?(this: void, rule: Rule): string | undefined;
}

/** A part of a rule that can never take effect: a member, a value of a map (from 1 on), or the object that it applies to. */
export interface StalePart {
  readonly part: number | 'inside';
  /** Why, and how to fix it. */
  readonly reason: string;
}

/** The same of a rule about names: a parameter or a field, or a value of a map (from 1 on). */
export interface StaleName {
  readonly part: number;
  readonly reason: string;
}

/** What is certain of any body after the rules so far: a rule of one change adds to it. */
export interface Facts {
  /** The object in a member is the body. */
  unwrap(member: string): void;
  nest(inside: Path, members: readonly string[], under: string): void;
  rename(inside: Path, from: string, to: string): void;
  move(inside: Path, from: Path, to: Path): void;
  copy(inside: Path, from: Path, to: Path): void;
  strip(inside: Path, members: readonly string[]): void;
  /** An object has none but these members. */
  close(inside: Path, members: readonly string[]): void;
  /** A member has none of these values, as JSON texts, and may have the others. */
  replace(inside: Path, member: string, from: readonly string[], to: readonly string[]): void;
  /** A member is there whose value is not known; where it was gone, or in any case. */
  add(inside: Path, member: string, isAlways: boolean): void;
  /** The value of a member, if it is there, is another. */
  change(inside: Path, member: string): void;
  /** Members become others, whose values are not known. */
  become(inside: Path, from: readonly string[], to: readonly string[]): void;
  /** The change that replaces a value of a member, a JSON text; undefined if it may be there. */
  replacedBy(path: Path, json: string): string | undefined;
  /** The change that leaves nothing but these members in an object; undefined if there may be others. */
  closedBy(inside: Path, members: ReadonlySet<string>): string | undefined;
}

/** What is certain of all parameters, or of all header fields, after the rules so far. */
export interface NameFacts {
  /** Nothing has the name any more: the change `does` it already. */
  take(name: string, does: string): void;
  /** The name may be there again. */
  add(name: string): void;
  /** The name is there for certain. */
  set(name: string): void;
  /** The change that sees to it that the name is there; undefined if it may be absent. */
  setBy(name: string): string | undefined;
  /** The values of a name are not known. */
  change(name: string): void;
  /** A name has none of these values, and may have the others. */
  replace(name: string, from: readonly string[], to: readonly string[]): void;
  /** The change that replaces a value of a name; undefined if it may be there. */
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

/** The path that `in` has; that of the body when absent. */
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

/** The text of a scalar, for a place without types; a number is as it is written, also where JSON has no such number: 007. */
export function textAt(value: unknown, path: SourcePath, { number }: Place): string {
  return typeof value === 'number' ? number(path) : String(value);
}

/** The text at a key of a source. */
export function textIn(source: object, key: string): string | undefined {
  const value: unknown = Reflect.get(source, key);
  return typeof value === 'string' ? value : undefined;
}
