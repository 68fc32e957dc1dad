import { isJsonObject } from '../../json/values.ts';
import { type Elements, makesList, type ResponseElementsRule } from './elements.ts';
import type { Reshape } from './schema-edits.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Resolves a reference to its schema. */
type Follow = (schema: unknown) => unknown;

/** The keywords of a schema that stay true for a value in another form. */
const KEPT_WORDS: ReadonlySet<string> = new Set(
  'title description deprecated readOnly writeOnly nullable'.split(' '),
);

/** The effect of a rule about a list on the schema and the examples of its member. */
export function shapeOfElements(rule: Pick<ResponseElementsRule, 'rule' | 'elements'>): Reshape {
  const { elements } = rule;
  const isList = makesList(rule);
  return {
    key: [isList, elements],
    schema: (schema, follow) => {
      const before = objectOf(follow(schema));
      const kept = Object.entries(before).filter(([word]) => KEPT_WORDS.has(word));
      const after = isList ? listSchema(elements, before) : plainSchema(elements, before, follow);
      const type: unknown = before['type'];
      const orNull = Array.isArray(type) && type.includes('null') ? { type: [after.type, 'null'] } : {};
      return { ...Object.fromEntries(kept), ...after, ...orNull };
    },
    value: (value) => (isList ? listValue(elements, value) : plainValue(elements, value)),
  };
}

interface TypedSchema extends JsonObject {
  readonly type: 'string' | 'array' | 'object';
}

function listSchema(elements: Elements, plain: JsonObject): TypedSchema {
  const of = (properties: JsonObject): TypedSchema => ({
    type: 'array',
    items: { type: 'object', required: Object.keys(properties), properties },
  });
  switch (elements.are) {
    case 'texts':
      return { type: 'array', items: { type: 'string' } };
    case 'objects':
      return of({ [elements.of]: plain['items'] ?? {} });
    case 'pairs': {
      const value = objectOf(plain['additionalProperties']);
      return of({ [elements.name]: { type: 'string' }, [elements.value]: value });
    }
  }
}

function plainSchema(elements: Elements, list: JsonObject, follow: Follow): TypedSchema {
  const ofMember = (name: string): unknown => memberSchema(list['items'], name, follow, 0) ?? {};
  switch (elements.are) {
    case 'texts':
      return { type: 'string' };
    case 'objects':
      return { type: 'array', items: ofMember(elements.of) };
    case 'pairs':
      return { type: 'object', additionalProperties: ofMember(elements.value) };
  }
}

/** Maximum levels of `allOf` in which a member is searched: a schema may contain itself. */
const MAX_PARTS = 8;

/** The schema of a member of an object, possibly in one of its `allOf` parts. */
function memberSchema(schema: unknown, name: string, follow: Follow, level: number): unknown {
  const { properties, allOf } = objectOf(follow(schema));
  const members = objectOf(properties);
  if (Object.hasOwn(members, name)) return members[name];
  if (!Array.isArray(allOf) || level === MAX_PARTS) return undefined;
  return allOf
    .map((part: unknown) => memberSchema(part, name, follow, level + 1))
    .find((found) => found !== undefined);
}

/** An example as a list; the same value if it cannot be converted. */
function listValue(elements: Elements, value: unknown): unknown {
  switch (elements.are) {
    case 'texts':
      if (typeof value !== 'string') return value;
      return value === '' ? [] : value.split(elements.with);
    case 'objects':
      return Array.isArray(value) ? value.map((one: unknown) => ({ [elements.of]: one })) : value;
    case 'pairs':
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
      return Object.entries(value).map(([name, one]: [string, unknown]) => ({
        [elements.name]: name,
        [elements.value]: one,
      }));
  }
}

/** An example without its list. */
function plainValue(elements: Elements, value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const all: readonly unknown[] = value;
  switch (elements.are) {
    case 'texts':
      return all.join(elements.with);
    case 'objects':
      return all.map((one) => objectOf(one)[elements.of] ?? one);
    case 'pairs':
      return Object.fromEntries(
        all.map((one) => [String(objectOf(one)[elements.name]), objectOf(one)[elements.value]]),
      );
  }
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
