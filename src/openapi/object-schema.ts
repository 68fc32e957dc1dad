import type { Components } from './components.ts';
import { partsOf } from './flattened-schema.ts';
import { elementsOf, isObject, type JsonObject, memberOf, objectIn, stringsOf } from './json-object.ts';

/** A member of an object, as its schema describes it. */
export interface DescribedMember {
  readonly name: string;
  readonly schema: unknown;
  readonly required: boolean;
}

/** The members that a schema describes, in references and all of its parts; alternatives make them optional. */
export function membersOf(schema: unknown, components: Components): readonly DescribedMember[] {
  const members = new Map<string, DescribedMember>();
  collect(schema, { components, isCertain: true, members, open: new Set() });
  // `required` may stand in another part of `allOf` than the member, and before it.
  const needed = new Set(
    partsOf(schema, (part) => {
      const reference = memberOf(part, '$ref');
      return typeof reference === 'string' ? components.schema(reference) : undefined;
    }).flatMap((part) => stringsOf(part['required'])),
  );
  return [...members.values()].map((member) => ({
    ...member,
    required: member.required || needed.has(member.name),
  }));
}

interface Collection {
  readonly components: Components;
  /** False within alternatives. */
  readonly isCertain: boolean;
  readonly members: Map<string, DescribedMember>;
  /** Schemas that are being collected: a schema may refer to itself. */
  readonly open: Set<unknown>;
}

function collect(schema: unknown, collection: Collection): void {
  const { components, isCertain, members, open } = collection;
  const found = components.followed(schema);
  if (!isObject(found) || open.has(found)) return;
  open.add(found);
  const required = new Set(isCertain ? stringsOf(found['required']) : []);
  for (const [name, described] of Object.entries(objectIn(found, 'properties'))) {
    const known = members.get(name);
    members.set(name, known ?? { name, schema: described, required: required.has(name) });
  }
  for (const name of required) {
    const known = members.get(name);
    if (known !== undefined) members.set(name, { ...known, required: true });
  }
  for (const part of elementsOf(found['allOf'])) collect(part, collection);
  for (const word of ['anyOf', 'oneOf']) {
    for (const part of elementsOf(found[word])) collect(part, { ...collection, isCertain: false });
  }
  open.delete(found);
}

/** True for a schema that describes an object itself: with members, or with the type. */
export function isObjectSchema(schema: JsonObject): boolean {
  const { type, properties } = schema;
  return isObject(properties) || type === 'object' || (Array.isArray(type) && type.includes('object'));
}

/** The schema with other members in `properties`, in the order of the list. */
export function withProperties(
  schema: JsonObject,
  properties: readonly (readonly [string, unknown])[],
): JsonObject {
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** The schema with another list of required members; without the list when it is empty. */
export function withRequired(schema: JsonObject, names: readonly string[]): JsonObject {
  const { required: before, ...rest } = schema;
  if (names.length === 0) return before === undefined ? schema : rest;
  return { ...schema, required: [...new Set(names)] };
}
