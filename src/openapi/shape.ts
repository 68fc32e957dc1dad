import { type Components, componentReference } from './components.ts';
import { elementsOf, isObject, type JsonObject, memberOf, objectIn, stringsOf } from './description.ts';

/** The facts about a value from a description, or from recorded traffic, with which two versions can be compared. */
export interface Shape {
  /** JSON types without `null`, `integer` among them; empty when any is possible. */
  readonly types: ReadonlySet<string>;
  /** The members of an object by name, in order: those of all alternatives and of all subtypes. */
  readonly members: ReadonlyMap<string, MemberShape>;
  readonly element: Shape | undefined;
  /** The shape of members with any other name, if the description has one. */
  readonly rest: Shape | undefined;
  /** The values of `enum`; empty when the description has none. */
  readonly values: readonly (string | number | boolean)[];
  readonly text: string;
  /** Further keywords, such as `format` and `maxLength`, as text; empty for none. */
  readonly constraints: string;
  /** The formats of a string, such as `date`; empty for none. Those of numbers only tell a width. */
  readonly format: string;
  /** The limits of a number and its multiple, as text: another unit has others. Empty if there are none. */
  readonly limits: string;
  readonly isDeprecated: boolean;
  /** What its description says to use instead; absent for nothing. */
  readonly successor?: string | undefined;
  /** True when it may be null. */
  readonly isNullable: boolean;
  /** Why the value may have members that are not listed, as the end of a sentence; empty when it has none. */
  readonly further: string;
  /** True if the description forbids other members. */
  readonly isClosed: boolean;
  /** The member that selects one of several schemas, and its values if the description lists them; absent if there is none. */
  readonly kinds?: ValueKinds | undefined;
  /** References of its schema without a target, or into another document: their content is unknown. */
  readonly unread: readonly string[];
}

/** The content of a discriminator. */
export interface ValueKinds {
  readonly property: string;
  readonly values: readonly string[];
}

/** A member of an object. */
export interface MemberShape {
  readonly shape: Shape;
  readonly required: boolean;
  /** The only direction in which it is described: `answered` for one that is read-only, `sent` for one that is write-only. */
  readonly only?: OneDirection | undefined;
}

/** The direction of a member that is not in both requests and responses. */
export type OneDirection = 'answered' | 'sent';

/** The shape of a value about which nothing is known. */
export const ANY_SHAPE: Shape = {
  types: new Set(),
  members: new Map(),
  element: undefined,
  rest: undefined,
  isNullable: false,
  values: [],
  text: '',
  constraints: '',
  format: '',
  limits: '',
  isDeprecated: false,
  further: '',
  isClosed: false,
  unread: [],
};

/** A schema that a value is described by, beside others. */
interface Part {
  readonly schema: JsonObject;
  /** False for one of several alternatives. */
  readonly isCertain: boolean;
}

const CONSTRAINTS: ReadonlySet<string> = new Set(
  'format pattern minLength maxLength minimum maximum multipleOf minItems maxItems uniqueItems minProperties maxProperties default example examples not propertyNames dependentRequired contentEncoding contentMediaType'.split(
    ' ',
  ),
);

/** Formats that say how wide a number is, and nothing about its meaning. */
const WIDTHS: ReadonlySet<string> = new Set(['int32', 'int64', 'float', 'double', 'decimal']);

/** Keywords beside a reference that do not describe the inside of the value. */
const REMARKS: ReadonlySet<string> = new Set(
  'description title summary deprecated example examples readOnly writeOnly nullable xml externalDocs'.split(
    ' ',
  ),
);

/**
 * The shapes of one description. Each schema has one, however many places refer to it, and what is inside is read when somebody asks:
 * schemas that refer to each other describe values without an end.
 */
class ShapeMemory {
  private readonly shapes = new WeakMap<JsonObject, Shape>();
  private readonly numbers = new WeakMap<JsonObject, number>();
  private readonly several = new Map<string, JsonObject>();
  private count = 0;

  shape(schema: JsonObject, make: () => Shape): Shape {
    const known = this.shapes.get(schema);
    if (known !== undefined) return known;
    // A schema that contains only itself has no content.
    this.shapes.set(schema, ANY_SHAPE);
    const made = make();
    this.shapes.set(schema, made);
    return made;
  }

  /** One schema for several of the same value: the same one for the same schemas. */
  oneOf(schemas: readonly JsonObject[]): JsonObject {
    const [first] = schemas;
    if (first !== undefined && schemas.length === 1) return first;
    const key = [...new Set(schemas.map((schema) => this.numberOf(schema)))].toSorted((a, b) => a - b).join();
    const known = this.several.get(key) ?? { anyOf: schemas };
    this.several.set(key, known);
    return known;
  }

  private numberOf(schema: JsonObject): number {
    const known = this.numbers.get(schema) ?? (this.count += 1);
    this.numbers.set(schema, known);
    return known;
  }
}

const memories = new WeakMap<Components, ShapeMemory>();

function memoryOf(components: Components): ShapeMemory {
  const known = memories.get(components) ?? new ShapeMemory();
  memories.set(components, known);
  return known;
}

/** The shape that a schema describes. */
export function shapeOf(schema: unknown, components: Components): Shape {
  if (!isObject(schema)) return ANY_SHAPE;
  return memoryOf(components).shape(schema, () => makeShape(schema, components));
}

function makeShape(schema: JsonObject, components: Components): Shape {
  const inner = onlyReferred(schema, components);
  if (inner !== undefined) {
    const { shape, isAlways } = inner;
    if (isAlways) return shape;
    return withRemarks(shape, {
      text: textOf(schema) || shape.text,
      isDeprecated: memberOf(schema, 'deprecated') === true || shape.isDeprecated,
      isNullable: isNullable(schema) || shape.isNullable,
      successor: successorIn([schema]) ?? shape.successor,
    });
  }
  const { parts, unread } = collectParts(schema, components);
  const schemas = parts.map((part) => part.schema);
  const names = new Set(schemas.flatMap((part) => Object.keys(objectIn(part, 'properties'))));
  const elements = schemas
    .flatMap((part) => [...elementsOf(part['prefixItems']), part['items']])
    .filter(isObject);
  const values = valuesOf(schemas);
  const others = schemas.map((part) => part['additionalProperties']).filter(isObject);
  let members: Shape['members'] | undefined;
  let element: Shape | undefined;
  return {
    types: typesOf(parts, names.size > 0, values),
    get members() {
      return (members ??= membersIn(parts, components));
    },
    get element() {
      if (elements.length > 0) element ??= shapeOf(memoryOf(components).oneOf(elements), components);
      return element;
    },
    get rest() {
      return others.length === 0 ? undefined : shapeOf(memoryOf(components).oneOf(others), components);
    },
    isNullable: schemas.some(isNullable),
    values,
    text: schemas.map(textOf).find((text) => text !== '') ?? '',
    constraints: constraintsOf(schemas),
    format: listed(schemas, ['format'], (format) => typeof format === 'string' && !WIDTHS.has(format)),
    limits: listed(schemas, ['multipleOf', 'maximum', 'exclusiveMaximum'], () => true),
    isDeprecated: schemas.some((part) => memberOf(part, 'deprecated') === true),
    successor: successorIn(schemas),
    further: furtherIn(schemas),
    isClosed: isClosedBy(schemas),
    kinds: kindsIn(schemas),
    unread,
  };
}

const SUCCESSORS = [
  /\buse (?:the )?[`'"*]*([\w.]+)[`'"*]*(?: \w+)? instead\b/i,
  /\binstead,? use (?:the )?[`'"*]*([\w.]+)/i,
  /\b(?:replaced by|superseded by|in favou?r of) (?:the )?[`'"*]*([\w.]+)/i,
];

/** The name that a description, or what an extension says of its deprecation, has for what is to be used instead. */
function successorIn(schemas: readonly JsonObject[]): string | undefined {
  for (const schema of schemas) {
    for (const [key, value] of Object.entries(schema)) {
      const isMeant = key === 'description' || (key.startsWith('x-') && /deprecat/i.test(key));
      if (!isMeant || typeof value !== 'string') continue;
      for (const words of SUCCESSORS) {
        const found = words.exec(value)?.[1]?.replace(/\.$/, '');
        if (found !== undefined) return found;
      }
    }
  }
  return undefined;
}

function kindsIn(schemas: readonly JsonObject[]): ValueKinds | undefined {
  for (const schema of schemas) {
    const { propertyName: property, mapping } = objectIn(schema, 'discriminator');
    if (typeof property === 'string')
      return { property, values: Object.keys(isObject(mapping) ? mapping : {}) };
  }
  return undefined;
}

/** The shape with other remarks. What is inside is the same object, so that it is compared once. */
export function withRemarks(
  shape: Shape,
  remarks: Partial<Pick<Shape, 'text' | 'isDeprecated' | 'successor' | 'isNullable' | 'constraints'>>,
): Shape {
  const {
    types,
    values,
    text,
    constraints,
    format,
    limits,
    isDeprecated,
    successor,
    further,
    isClosed,
    unread,
  } = shape;
  return {
    get members() {
      return shape.members;
    },
    get element() {
      return shape.element;
    },
    get rest() {
      return shape.rest;
    },
    isNullable: shape.isNullable,
    types,
    values,
    text,
    constraints,
    format,
    limits,
    isDeprecated,
    successor,
    further,
    isClosed,
    kinds: shape.kinds,
    unread,
    ...remarks,
  };
}

/** The shape of the one schema that a reference, or an `allOf` of one, leads to, where nothing but remarks stands beside it. */
function onlyReferred(
  schema: JsonObject,
  components: Components,
): { readonly shape: Shape; readonly isAlways: boolean } | undefined {
  const words = Object.keys(schema);
  const [base, ...more] = elementsOf(schema['allOf']);
  const isBase = typeof memberOf(base, '$ref') === 'string' && more.length === 0;
  const word = words.includes('$ref') ? '$ref' : isBase ? 'allOf' : undefined;
  const isPlain = words.every((one) => one === word || REMARKS.has(one) || one.startsWith('x-'));
  if (word === undefined || !isPlain) return undefined;
  const end = components.followed(word === '$ref' ? schema : base);
  if (!isObject(end) || end['$ref'] !== undefined || end === schema) return undefined;
  return { shape: shapeOf(end, components), isAlways: words.length === 1 };
}

/** The schemas of a value, and their references without a target. */
interface Collected {
  readonly parts: readonly Part[];
  readonly unread: readonly string[];
}

/**
 * The schema and those that it is made of: what references lead to and what stands beside them (JSON Schema 2020-12 §8.2.3.1),
 * alternatives, conditions, and the subtypes that a discriminator chooses from.
 */
function collectParts(declared: unknown, components: Components): Collected {
  const parts: Part[] = [];
  const unread = new Set<string>();
  const seen = new Set<JsonObject>();
  const collect = (schema: unknown, isCertain: boolean): void => {
    if (!isObject(schema) || seen.has(schema)) return;
    seen.add(schema);
    parts.push({ schema, isCertain });
    for (const word of ['$ref', '$dynamicRef', '$recursiveRef']) {
      const reference: unknown = schema[word];
      if (typeof reference !== 'string') continue;
      const found: unknown = word === '$ref' ? components.schema(reference) : undefined;
      if (found === undefined || found === schema) unread.add(reference);
      collect(found, isCertain);
    }
    for (const part of elementsOf(schema['allOf'])) collect(part, isCertain);
    const conditions = ['if', 'then', 'else'].map((word) => schema[word]);
    const alternatives = [...elementsOf(schema['anyOf']), ...elementsOf(schema['oneOf'])];
    const dependent = Object.values(objectIn(schema, 'dependentSchemas'));
    const subtypes = subtypesOf(schema, components, unread);
    for (const part of [...alternatives, ...conditions, ...dependent, ...subtypes]) collect(part, false);
  };
  collect(declared, true);
  return { parts, unread: [...unread] };
}

/** The schemas that a discriminator chooses from: those of its mapping, and components that extend the schema (OpenAPI 3.1 §4.8.25). */
function subtypesOf(schema: JsonObject, components: Components, unread: Set<string>): readonly unknown[] {
  const { discriminator } = schema;
  if (!isObject(discriminator)) return [];
  const mapped = Object.values(objectIn(discriminator, 'mapping')).flatMap((name) => {
    if (typeof name !== 'string') return [];
    const isName = components.names.includes(name);
    const found = components.schema(isName ? componentReference(name) : name);
    if (found === undefined) unread.add(name);
    return [found];
  });
  const extending = components.names
    .map((name) => components.schema(componentReference(name)))
    .filter((other) =>
      elementsOf(memberOf(other, 'allOf')).some((base) => components.followed(base) === schema),
    );
  return [...mapped, ...extending];
}

/** True for a schema that allows null by itself. */
function isNullable(schema: JsonObject): boolean {
  const { type } = schema;
  return (
    schema['nullable'] === true ||
    type === 'null' ||
    stringsOf(type).includes('null') ||
    elementsOf(schema['enum']).includes(null)
  );
}

function membersIn(parts: readonly Part[], components: Components): ReadonlyMap<string, MemberShape> {
  const schemas = new Map<string, JsonObject[]>();
  const required = new Set<string>();
  for (const { schema, isCertain } of parts) {
    if (isCertain) for (const name of stringsOf(schema['required'])) required.add(name);
    for (const [name, member] of Object.entries(objectIn(schema, 'properties'))) {
      const known = schemas.get(name) ?? [];
      schemas.set(name, known);
      if (isObject(member)) known.push(member);
    }
  }
  // A member that is required may have no description.
  for (const name of required) if (!schemas.has(name)) schemas.set(name, []);
  return new Map(
    [...schemas].map(([name, all]) => {
      let shape: Shape | undefined = all.length === 0 ? ANY_SHAPE : undefined;
      const member = {
        get shape() {
          return (shape ??= shapeOf(memoryOf(components).oneOf(all), components));
        },
        required: required.has(name),
        only: onlyIn(all, components),
      };
      return [name, member];
    }),
  );
}

/** The only direction that one of a member's schemas allows. */
function onlyIn(schemas: readonly JsonObject[], components: Components): OneDirection | undefined {
  const isSaid = (word: string): boolean =>
    schemas.some((schema) =>
      [schema, components.followed(schema), ...elementsOf(schema['allOf'])].some(
        (part) => memberOf(part, word) === true,
      ),
    );
  if (isSaid('readOnly')) return 'answered';
  return isSaid('writeOnly') ? 'sent' : undefined;
}

function isClosedBy(schemas: readonly JsonObject[]): boolean {
  return schemas.some((schema) =>
    ['additionalProperties', 'unevaluatedProperties'].some((word) => schema[word] === false),
  );
}

function furtherIn(schemas: readonly JsonObject[]): string {
  const takesMore = schemas.some((schema) =>
    ['additionalProperties', 'unevaluatedProperties'].some(
      (word) => schema[word] === true || isObject(schema[word]),
    ),
  );
  const hasPatterns = schemas.some((schema) => Object.keys(objectIn(schema, 'patternProperties')).length > 0);
  return takesMore || hasPatterns ? 'its description allows further members' : '';
}

function typesOf(parts: readonly Part[], hasMembers: boolean, values: Shape['values']): ReadonlySet<string> {
  const types = new Set<string>(hasMembers ? ['object'] : []);
  let isWhole = false;
  for (const { schema, isCertain } of parts) {
    const { type } = schema;
    const names = typeof type === 'string' ? [type] : stringsOf(type);
    for (const name of names) if (name !== 'null') types.add(name);
    isWhole ||= isCertain && names.includes('integer') && !names.includes('number');
  }
  // One of several schemas that all hold makes the others narrower.
  if (isWhole) types.delete('number');
  if (types.size > 0) return types;
  return new Set(values.map((value) => (Number.isInteger(value) ? 'integer' : typeof value)));
}

function valuesOf(parts: readonly JsonObject[]): Shape['values'] {
  const all = parts.flatMap((part) => [
    ...elementsOf(part['enum']),
    ...('const' in part ? [part['const']] : []),
  ]);
  return all.filter(
    (value) => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean',
  );
}

function textOf(schema: JsonObject): string {
  const { description, title } = schema;
  return typeof description === 'string' ? description : typeof title === 'string' ? title : '';
}

function constraintsOf(parts: readonly JsonObject[]): string {
  const pairs = parts.flatMap((part) => Object.entries(part).filter(([name]) => CONSTRAINTS.has(name)));
  return pairs.length === 0 ? '' : JSON.stringify(pairs.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** The values of keywords as text, such as `date` or `maximum 100`. */
function listed(
  parts: readonly JsonObject[],
  words: readonly string[],
  isMeant: (value: unknown) => boolean,
): string {
  const found = parts.flatMap((part) =>
    words.flatMap((word) => {
      const value = part[word];
      const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
      if (!isScalar || !isMeant(value)) return [];
      return [word === 'format' ? String(value) : `${word} ${value}`];
    }),
  );
  return [...new Set(found)].toSorted().join(' or ');
}

/** True when a value of one shape may be one of the other: they have a type in common, or one of them has any. */
export function isCompatible(one: Shape, other: Shape): boolean {
  if (one.types.size === 0 || other.types.size === 0) return true;
  return [...wide(one)].some((type) => wide(other).has(type));
}

function wide({ types }: Shape): ReadonlySet<string> {
  return types.has('integer') ? new Set([...types, 'number']) : types;
}

/** True when every value of `old` has a type that `young` has: a number that is none of the integers is not one of them. */
export function fitsInto(old: Shape, young: Shape): boolean {
  if (old.types.size === 0 || young.types.size === 0) return true;
  return [...old.types].every(
    (type) => young.types.has(type) || (type === 'integer' && young.types.has('number')),
  );
}

/** The shape at a path of member names, where `*` is any element; undefined for none. */
export function shapeAt(shape: Shape, path: readonly string[]): Shape | undefined {
  let current: Shape | undefined = shape;
  for (const name of path) current = name === '*' ? current?.element : current?.members.get(name)?.shape;
  return current;
}
