import { pointerOf, pointerToken } from '../json/pointer.ts';
import { elementsOf, isObject, type JsonObject, memberOf, objectIn, stringsOf } from './description.ts';
import { isNullable, type Located, readOnlyMembers, SchemaReferences } from './components.ts';
import { formats } from './formats.ts';
import { compilePattern, type LinearPattern } from './linear-pattern.ts';

/** A reason why a schema refuses a value. */
export interface SchemaFault {
  /** RFC 6901 pointer to the value that its schema refuses. */
  readonly pointer: string;
  /** Pointer to the cause, including the name of a missing or unknown member. */
  readonly at: string;
  readonly reason: string;
}

/** A keyword that is not checked. */
export interface LeftOutKeyword {
  /** Its place in the description, as a fragment (RFC 6901 §6). */
  readonly at: string;
  readonly why: string;
}

/**
 * A schema as a check of values. `faults` are the innermost ones, without those of values that were not recorded (`…`). Throws
 * `TooMuchWork` beyond `steps`.
 */
export type CompiledSchema = (
  value: unknown,
  steps: number,
) => { readonly isValid: boolean; readonly faults: readonly SchemaFault[] };

/** Maximum faults that a check lists: a hostile body has thousands of unknown members. */
const MAX_FAULTS = 64;

/** Maximum nesting of values and schemas in a check, which is recursive. */
const MAX_DEPTH = 500;

/** Stands for a value that was not recorded. */
const MASKED = '…';

/** Steps of a schema, in addition to those of its keywords: evaluating it takes as long as this many states of a pattern (measured). */
const EVALUATION = 16;

const TYPES: ReadonlySet<unknown> = new Set('null boolean object array number integer string'.split(' '));

const NO_NUMBER = 'it is no number';

/** Steps of a division of numbers of 300 digits (measured). */
const DIVISION = 100;

/**
 * Steps per character of an expression that the platform parses: it builds the set of a `\p{L}` anew each time, in 40 microseconds
 * (measured).
 */
const REGEX_UNIT = 400;

const NO_SCHEMA = 'it is no schema';
const NO_SCHEMAS = 'it is no object of schemas';
const NO_LIST = 'it is no list of schemas';

/** A compiled schema. */
interface Node {
  readonly checks: Check[];
  readonly readOnly: ReadOnlyNames;
  /** True if it has `unevaluatedProperties` or `unevaluatedItems`, which consider only what this schema evaluates. */
  isClosing: boolean;
}

type Check = (visit: Visit, run: Run) => boolean;

/** A checked value, and the state that its schemas share. */
interface Visit {
  readonly value: unknown;
  readonly place: Place | undefined;
  readonly readOnly: ReadOnlyNames;
  readonly evaluated: Evaluated;
}

/** The place of a value in the body. */
interface Place {
  readonly up: Place | undefined;
  readonly name: string | number;
}

/** Members that are `readOnly` for every value (`certain`), or in at least one alternative (`possible`). */
interface ReadOnlyNames {
  readonly certain: ReadonlySet<string>;
  readonly possible: ReadonlySet<string>;
}

/** The inputs and callbacks with which a keyword compiles its checks. */
interface Compiling {
  readonly schema: JsonObject;
  readonly node: Node;
  readonly isOld: boolean;
  readonly isNullable: boolean;
  /** Ignores a keyword, or a part of it. */
  readonly leaveOut: (steps: readonly string[], why: string) => void;
  /** Compiles a schema below this one: for a value inside the checked one, or for the same value (`beside`). */
  readonly inside: (...steps: readonly string[]) => Node;
  readonly beside: (...steps: readonly string[]) => Node;
  readonly pattern: (source: string) => ReturnType<typeof compilePattern>;
}

/**
 * Schemas of a description as checks of values: JSON Schema 2020-12, or that of OpenAPI 3.0. They are interpreted, because edge runtimes
 * forbid generated code, and each check counts its work: patterns and formats take linear time, and all other costs (many nested
 * alternatives, a large body) end with `TooMuchWork`. A keyword that cannot be used is left out and listed in `leftOut`; it never makes a
 * value invalid.
 */
export class SchemaChecks {
  readonly leftOut: LeftOutKeyword[] = [];
  private readonly references: SchemaReferences;
  private readonly isOld: boolean;
  private readonly nodes = new Map<unknown, Node>();
  private readonly patterns = new Map<string, ReturnType<typeof compilePattern>>();

  constructor(description: JsonObject) {
    this.references = new SchemaReferences(description);
    this.isOld = String(description['openapi']).startsWith('3.0');
  }

  /** Compiles a schema of the description, at the place `pointer`. */
  compile(schema: unknown, pointer: string): CompiledSchema {
    const node = this.node(this.references.locate(schema, pointer), []);
    return (value, steps) => {
      const run = new Run(steps);
      const isValid = evaluate(node, visitOf(node, value, undefined), run);
      const faults = run.faults
        .filter((fault) => fault.value !== MASKED && !isOtherBranch(fault, run.faults))
        .map((fault) => ({ pointer: fault.pointer, at: fault.at, reason: fault.reason }));
      return { isValid, faults };
    };
  }

  /** `open` are the schemas of the same value that are being compiled: a reference back to one of them would never end. */
  private node(located: Located, open: readonly unknown[]): Node {
    const { schema } = located;
    const known = this.nodes.get(schema);
    if (known !== undefined && isObject(schema)) return known;
    const follow = (part: unknown): unknown => this.followed(part, located);
    const node: Node = { checks: [], readOnly: readOnlyMembers(schema, follow), isClosing: false };
    if (isObject(schema)) {
      this.nodes.set(schema, node);
      this.compileKeywords(node, schema, { ...located, base: this.references.baseOf(located) }, [
        ...open,
        schema,
      ]);
    } else if (schema === false) {
      node.checks.push((visit, run) => run.refuse(visit, 'No value is allowed.'));
    }
    return node;
  }

  private followed(schema: unknown, from: Located): unknown {
    const reference = memberOf(schema, '$ref');
    return typeof reference === 'string' ? this.references.find(reference, from)?.schema : undefined;
  }

  private leaveOut(node: Node, located: Located, steps: readonly string[], why: string): void {
    this.leftOut.push({ at: [located.pointer, ...steps.map(fragment)].join('/'), why });
    node.checks.push(({ evaluated }, run) => {
      run.gaps += 1;
      evaluated.isPartial = true;
      return true;
    });
  }

  private compileKeywords(node: Node, schema: JsonObject, located: Located, open: readonly unknown[]): void {
    const compiling: Compiling = {
      schema,
      node,
      isOld: this.isOld,
      isNullable: this.isOld && isNullable(schema, (part) => this.followed(part, located)),
      leaveOut: (steps, why) => this.leaveOut(node, located, steps, why),
      inside: (...steps) => this.node(stepsInto(located, steps), []),
      beside: (...steps) => this.node(stepsInto(located, steps), open),
      pattern: (source) => this.pattern(source),
    };
    if (schema['$ref'] !== undefined) {
      this.reference(node, schema['$ref'], located, open);
      // OpenAPI 3.0.4 §4.7.23.1: members beside a reference are ignored.
      if (this.isOld) return nullableChecks(compiling);
    }
    for (const [keyword, compile] of KEYWORDS) {
      if (schema[keyword] === undefined) continue;
      const compiled = compile(compiling, schema[keyword], keyword);
      if (typeof compiled === 'string') this.leaveOut(node, located, [keyword], compiled);
      else if (compiled !== undefined) node.checks.push(compiled);
    }
    nullableChecks(compiling);
  }

  private reference(node: Node, reference: unknown, located: Located, open: readonly unknown[]): void {
    const target = typeof reference === 'string' ? this.references.find(reference, located) : undefined;
    if (target === undefined || !isSchema(target.schema)) {
      const why = `${JSON.stringify(reference)} leads to no schema of this description`;
      return this.leaveOut(node, located, ['$ref'], why);
    }
    if (open.includes(target.schema))
      return this.leaveOut(node, located, ['$ref'], `${JSON.stringify(reference)} leads back to itself`);
    const referred = this.node(target, open);
    node.checks.push((visit, run) => evaluate(referred, visit, run));
  }

  private pattern(source: string): ReturnType<typeof compilePattern> {
    const known = this.patterns.get(source) ?? compilePattern(source);
    this.patterns.set(source, known);
    return known;
  }
}

/** The state of one check. */
class Run {
  readonly faults: (SchemaFault & { readonly value: unknown })[] = [];
  /**
   * Counts of left-out keywords that were passed (`gaps`), and of missing members that a request may lack (`waived`). A schema that accepts
   * a value because of one of these might in truth refuse it, so its acceptance never makes a body invalid (`not`, `oneOf`, `if`,
   * `maxContains`).
   */
  gaps = 0;
  waived = 0;
  private depth = 0;
  private left: number;

  constructor(steps: number) {
    this.left = steps;
  }

  spend(steps: number): void {
    this.left -= steps;
    if (this.left < 0) throw new TooMuchWork('The check takes too many steps.');
  }

  enter(): void {
    this.depth += 1;
    if (this.depth > MAX_DEPTH) throw new TooMuchWork('The body or its schemas are nested too deeply.');
  }

  leave(): void {
    this.depth -= 1;
  }

  /** Notes a fault; `member` is the missing or unknown one. */
  refuse({ value, place }: Visit, reason: string, member?: string): false {
    if (this.faults.length < MAX_FAULTS) {
      const pointer = placePointer(place);
      const at = member === undefined ? pointer : `${pointer}/${pointerToken(member)}`;
      // A missing or unknown member of a masked value is a fault all the same.
      this.faults.push({ pointer, at, reason, value: member === undefined ? value : undefined });
    }
    return false;
  }

  /** True if no keyword was passed and no member waived since `before`. */
  isCertainSince(before: number): boolean {
    return this.gaps + this.waived === before;
  }
}

function placePointer(place: Place | undefined): string {
  const path: (string | number)[] = [];
  for (let at = place; at !== undefined; at = at.up) path.push(at.name);
  return pointerOf(path.reverse());
}

function evaluate(node: Node, visit: Visit, run: Run): boolean {
  run.spend(EVALUATION + node.checks.length);
  run.enter();
  const own = node.isClosing ? { ...visit, evaluated: new Evaluated() } : visit;
  let isValid = true;
  for (const check of node.checks) if (!check(own, run)) isValid = false;
  if (node.isClosing && isValid) visit.evaluated.add(own.evaluated);
  run.leave();
  return isValid;
}

/** The parts of a value that were evaluated, for `unevaluatedProperties` and `unevaluatedItems`. */
class Evaluated {
  readonly names = new Set<string>();
  readonly indexes = new Set<number>();
  /** The number of evaluated elements, from the first one on. */
  items = 0;
  /** True if a keyword was ignored: the parts that it would have evaluated are unknown. */
  isPartial = false;

  add(other: Evaluated): void {
    for (const name of other.names) this.names.add(name);
    for (const index of other.indexes) this.indexes.add(index);
    this.items = Math.max(this.items, other.items);
    this.isPartial ||= other.isPartial;
  }
}

function visitOf(node: Node, value: unknown, place: Place | undefined): Visit {
  return { value, place, readOnly: node.readOnly, evaluated: new Evaluated() };
}

/** A value that is not null fails the branch for null of its alternatives; the other branch says why it is refused. */
function isOtherBranch({ pointer, reason }: SchemaFault, faults: readonly SchemaFault[]): boolean {
  if (!reason.startsWith('Expected null, ')) return false;
  // Made once: the names in a pointer are the client's, and may be as long as its body.
  const below = `${pointer}/`;
  return faults.some(
    (other) => other.reason !== reason && (other.pointer === pointer || other.pointer.startsWith(below)),
  );
}

/** A step of a pointer within a fragment (RFC 6901 §6). */
function fragment(step: string): string {
  return encodeURI(pointerToken(step)).replaceAll('#', '%23');
}

function stepsInto(located: Located, steps: readonly string[]): Located {
  const schema = steps.reduce<unknown>(
    (value, step) => (Array.isArray(value) ? value[Number(step)] : memberOf(value, step)),
    located.schema,
  );
  return { schema, pointer: [located.pointer, ...steps.map(fragment)].join('/'), base: located.base };
}

/** Lets null pass where the schema is `nullable`, a word of OpenAPI 3.0. */
function nullableChecks({ node, isNullable }: Compiling): void {
  if (!isNullable) return;
  const checks = node.checks.splice(0);
  node.checks.push((visit, run) => visit.value === null || all(checks, (check) => check(visit, run)));
}

/** True if each item is accepted; does not stop at the first refusal, so that every fault is listed. */
function all<Item>(items: Iterable<Item>, accepts: (item: Item) => boolean): boolean {
  let isAccepted = true;
  for (const item of items) if (!accepts(item)) isAccepted = false;
  return isAccepted;
}

/** The check of a keyword, if it makes one; a sentence when the keyword cannot be used. */
type Compiled = Check | string | undefined;

type Compile = (compiling: Compiling, declared: unknown, keyword: string) => Compiled;

/** In the order in which faults are listed; keywords that depend on evaluation by others are last. */
const KEYWORDS: readonly (readonly [string, Compile])[] = [
  ['$dynamicRef', () => 'the gateway does not follow it'],
  ['type', compileType],
  ['const', (_, declared) => valuesCheck([declared])],
  ['enum', (_, declared) => (Array.isArray(declared) ? valuesCheck(declared) : 'it is no list')],
  ['minimum', compileLimit('minimum', 'exclusiveMinimum')],
  ['maximum', compileLimit('maximum', 'exclusiveMaximum')],
  ['exclusiveMinimum', compileExclusive('minimum')],
  ['exclusiveMaximum', compileExclusive('maximum')],
  ['multipleOf', compileMultiple],
  ['minLength', compileCount(lengthOf, 'characters', 1)],
  ['maxLength', compileCount(lengthOf, 'characters', -1)],
  ['pattern', compileTextPattern],
  ['format', compileFormat],
  ['required', compileRequired],
  ['minProperties', compileCount(memberCount, 'members', 1)],
  ['maxProperties', compileCount(memberCount, 'members', -1)],
  ['propertyNames', compileNames],
  ['dependentRequired', compileDependentRequired],
  ['dependentSchemas', compileDependentSchemas],
  ['properties', compileProperties],
  ['patternProperties', compilePatternProperties],
  ['additionalProperties', compileAdditional],
  ['minItems', compileCount(elementCount, 'elements', 1)],
  ['maxItems', compileCount(elementCount, 'elements', -1)],
  ['uniqueItems', compileUnique],
  ['prefixItems', compilePrefix],
  ['items', compileItems],
  ['contains', compileContains],
  ['allOf', compileAll],
  ['anyOf', compileAlternatives],
  ['oneOf', compileAlternatives],
  ['not', compileNot],
  ['if', compileIf],
  ['unevaluatedItems', compileUnevaluatedItems],
  ['unevaluatedProperties', compileUnevaluatedProperties],
];

function compileType(_: Compiling, declared: unknown): Compiled {
  const types: readonly unknown[] = Array.isArray(declared) ? declared : [declared];
  const other = types.find((type) => !TYPES.has(type));
  if (other !== undefined || types.length === 0) return `${JSON.stringify(other ?? [])} is no type of JSON`;
  return (visit, run) => {
    const type = typeOf(visit.value);
    if (types.includes(type)) return true;
    if (type === 'number' && types.includes('integer') && Number.isInteger(numberOf(visit.value)))
      return true;
    return run.refuse(visit, `Expected ${types.join(' or ')}, not ${type}.`);
  };
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return numberOf(value) === undefined ? typeof value : 'number';
}

/** The value of a number, also of one that is kept as text (`exactInteger`); undefined for anything else. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== null) return undefined;
  const text: unknown = Object.isFrozen(value) ? Reflect.get(value, 'rawJSON') : undefined;
  return typeof text === 'string' ? Number(text) : undefined;
}

function valuesCheck(declared: readonly unknown[]): Check {
  const allowed = new Set(declared.map((value) => canonicalText(value)));
  const listed = [...allowed].join(', ');
  const words = listed.length > 200 ? `${allowed.size} values that are allowed` : listed;
  return (visit, run) =>
    allowed.has(canonicalText(visit.value, run)) || run.refuse(visit, `Expected ${words}.`);
}

/** A text that two values share when they are equal (JSON Schema 2020-12 core §4.2.2), and only then. */
function canonicalText(value: unknown, run?: Run): string {
  if (typeof value === 'string') {
    run?.spend(1 + (value.length >> 3));
    return JSON.stringify(value);
  }
  run?.spend(1);
  if (typeof value !== 'object' || value === null) return String(value);
  run?.enter();
  const text = Array.isArray(value)
    ? `[${value.map((element) => canonicalText(element, run)).join(',')}]`
    : isMembers(value)
      ? `{${membersText(value, run)}}`
      : String(numberOf(value));
  run?.leave();
  // Each outer object copies the text of the inner ones: the total length is quadratic in the depth.
  run?.spend(text.length >> 3);
  return text;
}

/** A check of objects: it accepts any other value. */
function ofMembers(check: (value: JsonObject, visit: Visit, run: Run) => boolean): Check {
  return (visit, run) => !isMembers(visit.value) || check(visit.value, visit, run);
}

/** A check of arrays: it accepts any other value. */
function ofElements(check: (value: readonly unknown[], visit: Visit, run: Run) => boolean): Check {
  return (visit, run) => !Array.isArray(visit.value) || check(visit.value, visit, run);
}

/** True for an object of a body, also for one without a prototype. */
function isMembers(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && numberOf(value) === undefined
  );
}

function membersText(value: JsonObject, run: Run | undefined): string {
  const texts = Object.keys(value)
    .toSorted()
    .map((name) => `${canonicalText(name, run)}:${canonicalText(value[name], run)}`);
  return texts.join(',');
}

function compileLimit(kind: 'minimum' | 'maximum', exclusive: string): Compile {
  return ({ schema, isOld }, declared) => {
    const limit = numberOf(declared);
    // JSON Schema of draft 4, and so OpenAPI 3.0: a flag beside the limit.
    const isExclusive = isOld && schema[exclusive] === true;
    return limit === undefined ? NO_NUMBER : limitCheck(limit, kind, isExclusive);
  };
}

function limitCheck(limit: number, kind: 'minimum' | 'maximum', isExclusive: boolean): Check {
  return (visit, run) => {
    const value = numberOf(visit.value);
    if (value === undefined) return true;
    const isWithin = kind === 'minimum' ? value > limit : value < limit;
    if (isWithin || (value === limit && !isExclusive)) return true;
    const words =
      kind === 'minimum' ? (isExclusive ? 'more than' : 'at least') : isExclusive ? 'less than' : 'at most';
    return run.refuse(visit, `Expected ${words} ${limit}.`);
  };
}

function compileExclusive(kind: 'minimum' | 'maximum'): Compile {
  return ({ isOld }, declared) => {
    if (isOld && typeof declared === 'boolean') return undefined;
    const limit = numberOf(declared);
    return limit === undefined ? NO_NUMBER : limitCheck(limit, kind, true);
  };
}

function compileMultiple(_: Compiling, declared: unknown): Compiled {
  const divisor = numberOf(declared);
  if (divisor === undefined || divisor <= 0 || !Number.isFinite(divisor)) return 'it is no number above 0';
  return (visit, run) => {
    const value = numberOf(visit.value);
    if (value === undefined) return true;
    run.spend(DIVISION);
    if (isMultiple(value, divisor)) return true;
    return run.refuse(visit, `Expected a multiple of ${divisor}.`);
  };
}

/** Exact in decimal notation: 0.3 is a multiple of 0.1, although its double is none of the other's. */
function isMultiple(value: number, divisor: number): boolean {
  if (!Number.isFinite(value)) return false;
  const [one, other] = [decimal(value), decimal(divisor)];
  const exponent = Math.min(one.exponent, other.exponent);
  const scaled = ({ digits, exponent: own }: typeof one): bigint => digits * 10n ** BigInt(own - exponent);
  return scaled(one) % scaled(other) === 0n;
}

function decimal(value: number): { readonly digits: bigint; readonly exponent: number } {
  const [digits = '0', exponent = '0'] = String(Math.abs(value)).split('e');
  const [whole = '0', fraction = ''] = digits.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

/** `sign` is 1 for the least count and -1 for the greatest. */
function compileCount(
  countOf: (value: unknown, run: Run) => number | undefined,
  unit: string,
  sign: 1 | -1,
): Compile {
  const words = sign === 1 ? 'at least' : 'at most';
  return (_, declared) => {
    const limit = numberOf(declared);
    if (limit === undefined) return NO_NUMBER;
    return (visit, run) => {
      const count = countOf(visit.value, run);
      if (count === undefined || count * sign >= limit * sign) return true;
      return run.refuse(visit, `Expected ${words} ${limit} ${unit}, not ${count}.`);
    };
  };
}

/** In code points (JSON Schema 2020-12 validation §6.3). */
function lengthOf(value: unknown, run: Run): number | undefined {
  if (typeof value !== 'string') return undefined;
  run.spend(value.length >> 3);
  let length = value.length;
  for (let index = 1; index < value.length; index += 1) {
    const isPair =
      (value.charCodeAt(index) & 0xfc00) === 0xdc00 && (value.charCodeAt(index - 1) & 0xfc00) === 0xd800;
    if (isPair) length -= 1;
  }
  return length;
}

function compileTextPattern({ pattern }: Compiling, declared: unknown): Compiled {
  if (typeof declared !== 'string') return 'it is no text';
  const matches = pattern(declared);
  if (typeof matches !== 'function') return patternFault(declared, matches.fault);
  return (visit, run) => {
    if (typeof visit.value !== 'string' || matches(visit.value, run)) return true;
    return run.refuse(visit, `Expected a text that matches ${declared}.`);
  };
}

function patternFault(source: string, fault: string): string {
  return `${JSON.stringify(source)} cannot be checked: ${fault}`;
}

function compileFormat(_: Compiling, declared: unknown): Compiled {
  const hasFormat = typeof declared === 'string' ? formats.get(declared) : undefined;
  if (hasFormat === undefined) return;
  return (visit, run) => {
    if (typeof visit.value !== 'string') return true;
    run.spend(declared === 'regex' ? visit.value.length * REGEX_UNIT : visit.value.length >> 3);
    return hasFormat(visit.value) || run.refuse(visit, `Expected the format ${String(declared)}.`);
  };
}

function compileRequired(_: Compiling, declared: unknown): Compiled {
  if (!Array.isArray(declared)) return 'it is no list of names';
  const names = stringsOf(declared);
  return ofMembers((value, visit, run) => all(names, (name) => hasNeeded(name, value, visit, run)));
}

/** True for a member that is there, or is `readOnly` and so not needed in a request (OpenAPI 3.0.4 §4.7.24.2). */
function hasNeeded(name: string, value: JsonObject, visit: Visit, run: Run): boolean {
  run.spend(1);
  if (Object.hasOwn(value, name)) return true;
  if (!visit.readOnly.possible.has(name)) return run.refuse(visit, `Member "${name}" is missing.`, name);
  run.waived += 1;
  return true;
}

function memberCount(value: unknown): number | undefined {
  return isMembers(value) ? Object.keys(value).length : undefined;
}

function compileNames({ inside }: Compiling, declared: unknown): Compiled {
  if (!isSchema(declared)) return NO_SCHEMA;
  const names = inside('propertyNames');
  return ofMembers((value, visit, run) =>
    all(Object.keys(value), (name) => {
      const before = run.faults.length;
      if (evaluate(names, visitOf(names, name, visit.place), run)) return true;
      run.faults.length = before;
      return run.refuse(visit, `The name of member "${name}" is not allowed.`, name);
    }),
  );
}

function isSchema(value: unknown): boolean {
  return isObject(value) || typeof value === 'boolean';
}

function compileDependentRequired(_: Compiling, declared: unknown): Compiled {
  if (!isObject(declared)) return 'it is no object';
  const needs = Object.entries(declared).map(([name, names]) => [name, stringsOf(names)] as const);
  return ofMembers((value, visit, run) => {
    const needed = needs.flatMap(([name, names]) => (Object.hasOwn(value, name) ? names : []));
    return all(needed, (name) => hasNeeded(name, value, visit, run));
  });
}

function compileDependentSchemas({ beside }: Compiling, declared: unknown): Compiled {
  if (!isObject(declared)) return NO_SCHEMAS;
  const schemas = Object.keys(declared).map((name) => [name, beside('dependentSchemas', name)] as const);
  return ofMembers((value, visit, run) => {
    const wanted = schemas.filter(([name]) => Object.hasOwn(value, name));
    return all(wanted, ([, schema]) => evaluateBranch(schema, visit, run));
  });
}

/** Evaluates an alternative: the parts that it evaluates count only if it accepts the value, and its faults only if it does not. */
function evaluateBranch(node: Node, visit: Visit, run: Run): boolean {
  const branch = { ...visit, readOnly: joined(visit.readOnly, node.readOnly), evaluated: new Evaluated() };
  const isValid = evaluate(node, branch, run);
  if (isValid) visit.evaluated.add(branch.evaluated);
  return isValid;
}

function joined(outer: ReadOnlyNames, own: ReadOnlyNames): ReadOnlyNames {
  if (outer.certain.size === 0) return own;
  if (own.possible.size === 0) return { certain: outer.certain, possible: outer.certain };
  const certain = new Set([...outer.certain, ...own.certain]);
  return { certain, possible: new Set([...certain, ...own.possible]) };
}

function compileProperties({ inside }: Compiling, declared: unknown): Compiled {
  if (!isObject(declared)) return NO_SCHEMAS;
  const members = Object.keys(declared).map((name) => [name, inside('properties', name)] as const);
  return ofMembers((value, visit, run) => {
    run.spend(members.length >> 2);
    return all(members, ([name, schema]) => {
      if (!Object.hasOwn(value, name)) return true;
      visit.evaluated.names.add(name);
      return evaluateInside(schema, visit, name, value[name], run);
    });
  });
}

function evaluateInside(node: Node, visit: Visit, name: string | number, value: unknown, run: Run): boolean {
  return evaluate(node, visitOf(node, value, { up: visit.place, name }), run);
}

function compilePatternProperties(
  { node, inside, pattern, leaveOut }: Compiling,
  declared: unknown,
): Compiled {
  if (!isObject(declared)) return NO_SCHEMAS;
  for (const source of Object.keys(declared)) {
    const matches = pattern(source);
    if (typeof matches !== 'function') {
      leaveOut(['patternProperties', source], patternFault(source, matches.fault));
      continue;
    }
    const schema = inside('patternProperties', source);
    const check = ofMembers((value, visit, run) =>
      all(Object.keys(value), (name) => {
        if (!matches(name, run)) return true;
        visit.evaluated.names.add(name);
        return evaluateInside(schema, visit, name, value[name], run);
      }),
    );
    node.checks.push(check);
  }
  return undefined;
}

function compileAdditional({ schema, inside, pattern }: Compiling, declared: unknown): Compiled {
  if (!isSchema(declared)) return NO_SCHEMA;
  const known = new Set(Object.keys(objectIn(schema, 'properties')));
  const patterns = Object.keys(objectIn(schema, 'patternProperties')).map((source) => pattern(source));
  const usable = patterns.filter((matches): matches is LinearPattern => typeof matches === 'function');
  // It is unknown which members a left-out pattern would have matched.
  if (usable.length < patterns.length) return 'a name pattern beside it cannot be checked';
  const isOther = (_: Visit, name: string, run: Run): boolean =>
    !known.has(name) && !usable.some((matches) => matches(name, run));
  return othersCheck(declared === false ? undefined : inside('additionalProperties'), isOther);
}

/** Checks the members that other keywords did not check; without a schema, any such member is a fault. */
function othersCheck(
  schema: Node | undefined,
  isOther: (visit: Visit, name: string, run: Run) => boolean,
): Check {
  return ofMembers((value, visit, run) =>
    all(Object.keys(value), (name) => {
      run.spend(1);
      if (!isOther(visit, name, run)) return true;
      visit.evaluated.names.add(name);
      if (schema === undefined) return run.refuse(visit, `Member "${name}" is not allowed.`, name);
      return evaluateInside(schema, visit, name, value[name], run);
    }),
  );
}

function elementCount(value: unknown): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function compileUnique(_: Compiling, declared: unknown): Compiled {
  if (declared !== true) return;
  return ofElements((value, visit, run) => {
    // Equal values have equal texts: a set finds them in linear time, where comparing each with each is quadratic.
    const seen = new Map<string, number>();
    for (const [index, element] of value.entries()) {
      const text = canonicalText(element, run);
      const first = seen.get(text);
      if (first !== undefined) return run.refuse(visit, `Elements ${first} and ${index} are equal.`);
      seen.set(text, index);
    }
    return true;
  });
}

function compilePrefix({ inside }: Compiling, declared: unknown): Compiled {
  if (!Array.isArray(declared)) return NO_LIST;
  const schemas = declared.map((_, index) => inside('prefixItems', String(index)));
  return ofElements((value, visit, run) => {
    visit.evaluated.items = Math.max(visit.evaluated.items, schemas.length);
    return all(schemas.slice(0, value.length).entries(), ([index, schema]) => {
      return evaluateInside(schema, visit, index, value[index], run);
    });
  });
}

function compileItems({ schema, inside }: Compiling, declared: unknown): Compiled {
  if (!isSchema(declared)) return NO_SCHEMA;
  const first = elementsOf(schema['prefixItems']).length;
  const element = inside('items');
  return ofElements((value, visit, run) => {
    visit.evaluated.items = Infinity;
    return all(value.entries(), ([index, inner]) => {
      return index < first || evaluateInside(element, visit, index, inner, run);
    });
  });
}

function compileContains({ schema, inside }: Compiling, declared: unknown): Compiled {
  if (!isSchema(declared)) return NO_SCHEMA;
  const [least, most] = [numberOf(schema['minContains']) ?? 1, numberOf(schema['maxContains']) ?? Infinity];
  const element = inside('contains');
  return ofElements((value, visit, run) => {
    const faults = run.faults.length;
    let [accepted, certain] = [0, 0];
    for (const [index, inner] of value.entries()) {
      const before = run.gaps + run.waived;
      if (!evaluateInside(element, visit, index, inner, run)) continue;
      visit.evaluated.indexes.add(index);
      accepted += 1;
      if (run.isCertainSince(before)) certain += 1;
    }
    run.faults.length = faults;
    if (accepted >= least && certain <= most) return true;
    const expected = accepted < least ? `at least ${least}` : `at most ${most}`;
    return run.refuse(visit, `Expected ${expected} elements of a kind, not ${accepted}.`);
  });
}

function compileAll({ beside }: Compiling, declared: unknown): Compiled {
  if (!Array.isArray(declared)) return NO_LIST;
  const parts = declared.map((_, index) => beside('allOf', String(index)));
  return (visit, run) => all(parts, (part) => evaluate(part, visit, run));
}

function compileAlternatives({ beside }: Compiling, declared: unknown, keyword: string): Compiled {
  if (!Array.isArray(declared)) return NO_LIST;
  const parts = declared.map((_, index) => beside(keyword, String(index)));
  return (visit, run) => {
    const faults = run.faults.length;
    let [accepted, certain] = [0, 0];
    for (const part of parts) {
      const before = run.gaps + run.waived;
      if (!evaluateBranch(part, visit, run)) continue;
      accepted += 1;
      if (run.isCertainSince(before)) certain += 1;
    }
    if (accepted === 0) {
      return run.faults.length > faults ? false : run.refuse(visit, `It matches no schema of ${keyword}.`);
    }
    run.faults.length = faults;
    if (keyword === 'anyOf' || certain <= 1) return true;
    return run.refuse(visit, `It matches ${accepted} schemas of oneOf instead of one.`);
  };
}

function compileNot({ beside }: Compiling, declared: unknown): Compiled {
  if (!isSchema(declared)) return NO_SCHEMA;
  const part = beside('not');
  return (visit, run) => {
    const [before, faults] = [run.gaps + run.waived, run.faults.length];
    const isAccepted = evaluate(part, { ...visit, evaluated: new Evaluated() }, run);
    run.faults.length = faults;
    return (
      !isAccepted ||
      !run.isCertainSince(before) ||
      run.refuse(visit, 'It matches a schema that it must not match.')
    );
  };
}

function compileIf({ schema, beside }: Compiling, declared: unknown): Compiled {
  if (!isSchema(declared)) return NO_SCHEMA;
  const condition = beside('if');
  const [then, otherwise] = ['then', 'else'].map((word) =>
    schema[word] === undefined ? undefined : beside(word),
  );
  return (visit, run) => {
    const [before, faults] = [run.gaps + run.waived, run.faults.length];
    const isMet = evaluateBranch(condition, visit, run);
    run.faults.length = faults;
    if (isMet && !run.isCertainSince(before)) {
      visit.evaluated.isPartial = true;
      return true;
    }
    const branch = isMet ? then : otherwise;
    return branch === undefined || evaluateBranch(branch, visit, run);
  };
}

function compileUnevaluatedItems({ node, inside }: Compiling, declared: unknown): Compiled {
  if (!isSchema(declared)) return NO_SCHEMA;
  node.isClosing = true;
  const element = inside('unevaluatedItems');
  return (visit, run) => {
    const { value, evaluated } = visit;
    if (!Array.isArray(value) || evaluated.isPartial) return true;
    const first = evaluated.items;
    evaluated.items = Infinity;
    return all(value.entries(), ([index, inner]) => {
      if (index < first || evaluated.indexes.has(index)) return true;
      return evaluateInside(element, visit, index, inner, run);
    });
  };
}

function compileUnevaluatedProperties({ node, inside }: Compiling, declared: unknown): Compiled {
  if (!isSchema(declared)) return NO_SCHEMA;
  node.isClosing = true;
  const isOther = ({ evaluated }: Visit, name: string): boolean =>
    !evaluated.isPartial && !evaluated.names.has(name);
  return othersCheck(declared === false ? undefined : inside('unevaluatedProperties'), isOther);
}

/** A check took more work than is allowed for one body. */
export class TooMuchWork extends Error {}
