import type { Components } from './components.ts';
import { elementsOf, isObject, type JsonObject, memberOf, stringsOf } from './json-object.ts';
import { membersOf } from './object-schema.ts';

/** What a description, or recorded traffic, says of a value: enough to compare two versions of it. */
export interface Shape {
  /** JSON types without `null`; empty when any is possible. */
  readonly types: ReadonlySet<string>;
  /** The members of an object by name, in order. */
  readonly members: ReadonlyMap<string, MemberShape>;
  readonly element: Shape | undefined;
  /** The values of `enum`; empty when the description has none. */
  readonly values: readonly (string | number | boolean)[];
  readonly text: string;
  /** Further keywords, such as `format` and `maxLength`, as text; empty for none. */
  readonly constraints: string;
  readonly isDeprecated: boolean;
}

/** A member of an object. */
export interface MemberShape {
  readonly shape: Shape;
  readonly required: boolean;
}

/** The shape of a value about which nothing is known. */
export const ANY_SHAPE: Shape = {
  types: new Set(),
  members: new Map(),
  element: undefined,
  values: [],
  text: '',
  constraints: '',
  isDeprecated: false,
};

/** Levels of nesting beyond which a description is not compared. */
const MAX_LEVELS = 12;

/** The shape that a schema describes; a schema within itself has no members. */
export function shapeOf(schema: unknown, components: Components, open: readonly unknown[] = []): Shape {
  const found = components.followed(schema);
  if (!isObject(found) || open.includes(found) || open.length > MAX_LEVELS) return ANY_SHAPE;
  const inside = [...open, found];
  const parts = partsOf(found, components, inside);
  const members = membersOf(found, components).map(({ name, schema: member, required }) => {
    return [name, { shape: shapeOf(member, components, inside), required }] as const;
  });
  const elements = parts.flatMap((part) => (part['items'] === undefined ? [] : [part['items']]));
  const [element] = elements;
  return {
    types: typesOf(parts, members.length > 0),
    members: new Map(members),
    element: element === undefined ? undefined : shapeOf(element, components, inside),
    values: valuesOf(parts),
    text: textOf(isObject(schema) ? schema : {}) || parts.map(textOf).find((text) => text !== '') || '',
    constraints: constraintsOf(parts),
    isDeprecated: [schema, ...parts].some((part) => memberOf(part, 'deprecated') === true),
  };
}

/** The schema, and the schemas that it is made of. */
function partsOf(
  schema: JsonObject,
  components: Components,
  open: readonly unknown[],
): readonly JsonObject[] {
  if (open.length > MAX_LEVELS) return [schema];
  const inner = ['allOf', 'anyOf', 'oneOf'].flatMap((word) => elementsOf(schema[word]));
  const found = inner.map((part) => components.followed(part)).filter((part) => isObject(part));
  const parts = found.filter((part) => !open.includes(part));
  return [schema, ...parts.flatMap((part) => partsOf(part, components, [...open, part]))];
}

function typesOf(parts: readonly JsonObject[], hasMembers: boolean): ReadonlySet<string> {
  const types = new Set<string>(hasMembers ? ['object'] : []);
  for (const { type } of parts) {
    for (const name of typeof type === 'string' ? [type] : stringsOf(type)) {
      if (name !== 'null') types.add(name === 'integer' ? 'number' : name);
    }
  }
  return types;
}

function valuesOf(parts: readonly JsonObject[]): Shape['values'] {
  const listed = parts.flatMap((part) => [
    ...elementsOf(part['enum']),
    ...('const' in part ? [part['const']] : []),
  ]);
  return listed.filter(
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

const CONSTRAINTS: ReadonlySet<string> = new Set(
  'format pattern minLength maxLength minimum maximum multipleOf minItems maxItems uniqueItems default example examples'.split(
    ' ',
  ),
);

/** True when a value of one shape may be one of the other: they have a type in common, or one of them has any. */
export function isCompatible(one: Shape, other: Shape): boolean {
  if (one.types.size === 0 || other.types.size === 0) return true;
  return [...one.types].some((type) => other.types.has(type));
}
