import { type Components, componentReference } from './components.ts';
import { elementsOf, isObject, type JsonObject, memberOf, objectIn, stringsOf } from './description.ts';

/** The facts about a value, from a description or from recorded traffic, by which two versions are compared. */
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
  /** Further keywords, such as `pattern` and `maxLength`, as text; empty for none. */
  readonly constraints: string;
  /** The formats of a string, such as `date`; empty for none. Formats of numbers are left out, because they only state a width. */
  readonly format: string;
  /** The limits of a number and its multiple, as text; empty for none. A value in another unit has other limits. */
  readonly limits: string;
  readonly isDeprecated: boolean;
  /** The name that its description recommends instead; absent if it recommends none. */
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
  /** The only direction in which the member is described: `response` for a read-only one, `request` for a write-only one. */
  readonly only?: Direction | undefined;
}

/** The direction of a body. */
export type Direction = 'request' | 'response';

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

/** One of the schemas that describe a value. */
interface Part {
  readonly schema: JsonObject;
  /** False for one of several alternatives. */
  readonly isCertain: boolean;
}

const CONSTRAINTS: ReadonlySet<string> = new Set(
  'format pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems prefixItems uniqueItems minProperties maxProperties default example examples not propertyNames dependentRequired contentEncoding contentMediaType'.split(
    ' ',
  ),
);

/** Formats that state the width of a number, not its meaning. */
const WIDTHS: ReadonlySet<string> = new Set(['int32', 'int64', 'float', 'double', 'decimal']);

/** Keywords beside a reference that annotate the value without describing its content. */
const ANNOTATIONS: ReadonlySet<string> = new Set(
  'description title summary deprecated example examples readOnly writeOnly nullable xml externalDocs'.split(
    ' ',
  ),
);

/**
 * The shapes of one description. Each schema has one shape, even if many places refer to it. Members and elements are read on first use,
 * because schemas that refer to each other describe values without an end.
 */
class ShapeCache {
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

  /** Returns one schema for several schemas of the same value; always the same object for the same schemas. */
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

const caches = new WeakMap<Components, ShapeCache>();

function cacheOf(components: Components): ShapeCache {
  const known = caches.get(components) ?? new ShapeCache();
  caches.set(components, known);
  return known;
}

/** The shape that a schema describes. */
export function shapeOf(schema: unknown, components: Components): Shape {
  if (!isObject(schema)) return ANY_SHAPE;
  return cacheOf(components).shape(schema, () => makeShape(schema, components));
}

function makeShape(schema: JsonObject, components: Components): Shape {
  const inner = onlyReferred(schema, components);
  if (inner !== undefined) {
    const { shape, isAlways } = inner;
    if (isAlways) return shape;
    return withAnnotations(shape, {
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
      if (elements.length > 0) element ??= shapeOf(cacheOf(components).oneOf(elements), components);
      return element;
    },
    get rest() {
      return others.length === 0 ? undefined : shapeOf(cacheOf(components).oneOf(others), components);
    },
    isNullable: schemas.some(isNullable),
    values,
    text: schemas.map(textOf).find((text) => text !== '') ?? '',
    constraints: constraintsOf(schemas),
    format: keywordTexts(schemas, ['format'], (format) => typeof format === 'string' && !WIDTHS.has(format)),
    limits: keywordTexts(schemas, ['multipleOf', 'maximum', 'exclusiveMaximum'], () => true),
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

/** The name that the description, or an extension about the deprecation, recommends instead. */
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

/** The shape with other annotations. Its members and elements are the same objects, so that they are compared only once. */
export function withAnnotations(
  shape: Shape,
  annotations: Partial<Pick<Shape, 'text' | 'isDeprecated' | 'successor' | 'isNullable' | 'constraints'>>,
): Shape {
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
    types: shape.types,
    values: shape.values,
    text: shape.text,
    constraints: shape.constraints,
    format: shape.format,
    limits: shape.limits,
    isDeprecated: shape.isDeprecated,
    successor: shape.successor,
    isNullable: shape.isNullable,
    further: shape.further,
    isClosed: shape.isClosed,
    kinds: shape.kinds,
    unread: shape.unread,
    ...annotations,
  };
}

/** The shape that a `$ref`, or an `allOf` with one `$ref`, leads to, if only annotations are beside the reference. */
function onlyReferred(
  schema: JsonObject,
  components: Components,
): { readonly shape: Shape; readonly isAlways: boolean } | undefined {
  const words = Object.keys(schema);
  const [base, ...more] = elementsOf(schema['allOf']);
  const isBase = typeof memberOf(base, '$ref') === 'string' && more.length === 0;
  const word = words.includes('$ref') ? '$ref' : isBase ? 'allOf' : undefined;
  const isPlain = words.every((one) => one === word || ANNOTATIONS.has(one) || one.startsWith('x-'));
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
          return (shape ??= shapeOf(cacheOf(components).oneOf(all), components));
        },
        required: required.has(name),
        only: onlyIn(all, components),
      };
      return [name, member];
    }),
  );
}

/** The only direction that one of a member's schemas allows. */
function onlyIn(schemas: readonly JsonObject[], components: Components): Direction | undefined {
  const isMarked = (word: string): boolean =>
    schemas.some((schema) =>
      [schema, components.followed(schema), ...elementsOf(schema['allOf'])].some(
        (part) => memberOf(part, word) === true,
      ),
    );
  if (isMarked('readOnly')) return 'response';
  return isMarked('writeOnly') ? 'request' : undefined;
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
  // Where all schemas apply, `integer` narrows `number`.
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
function keywordTexts(
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

/** True if a value can have both shapes: they have a type in common, or one of them allows any type. */
export function isCompatible(one: Shape, other: Shape): boolean {
  if (one.types.size === 0 || other.types.size === 0) return true;
  return [...widened(one)].some((type) => widened(other).has(type));
}

function widened({ types }: Shape): ReadonlySet<string> {
  return types.has('integer') ? new Set([...types, 'number']) : types;
}

/** True if every value of `old` has a type that `young` allows: an integer is a number, but not the other way round. */
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
