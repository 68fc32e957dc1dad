import { elementsOf, isObject, type JsonObject, memberOf, objectIn } from './json-object.ts';

/** The schema that a `$ref` of `schema` leads to; undefined where there is none. */
export type Follow = (schema: unknown) => unknown;

/**
 * The parts of a schema that hold together for each value: itself, what its `$ref` leads to, and those of `allOf`, at any depth. A
 * word such as `readOnly`, `required` or `nullable` holds in whichever part it stands.
 */
export function partsOf(schema: unknown, follow: Follow): readonly JsonObject[] {
  const parts = new Set<JsonObject>();
  const pending: unknown[] = [schema];
  while (pending.length > 0) {
    const part = pending.pop();
    if (!isObject(part) || parts.has(part)) continue;
    parts.add(part);
    pending.push(...elementsOf(part['allOf']).toReversed(), follow(part));
  }
  return [...parts];
}

/** The names of members that a schema calls `readOnly`: in each view of a value (`certain`), or also in one of its alternatives. */
export function readOnlyMembers(
  schema: unknown,
  follow: Follow,
): { readonly certain: ReadonlySet<string>; readonly possible: ReadonlySet<string> } {
  const parts = partsOf(schema, follow);
  const certain = new Set<string>();
  for (const part of parts) {
    for (const [name, member] of Object.entries(objectIn(part, 'properties'))) {
      if (isReadOnly(member, follow)) certain.add(name);
    }
  }
  const alternatives = parts.flatMap((part) => alternativesOf(part));
  if (alternatives.length === 0) return { certain, possible: certain };
  const possible = new Set(certain);
  const seen = new Set<unknown>(parts);
  for (let part = alternatives.pop(); part !== undefined; part = alternatives.pop()) {
    for (const inner of partsOf(part, follow)) {
      if (seen.has(inner)) continue;
      seen.add(inner);
      alternatives.push(...alternativesOf(inner));
      for (const [name, member] of Object.entries(objectIn(inner, 'properties'))) {
        if (isReadOnly(member, follow)) possible.add(name);
      }
    }
  }
  return { certain, possible };
}

function alternativesOf(schema: JsonObject): unknown[] {
  return [
    ...elementsOf(schema['anyOf']),
    ...elementsOf(schema['oneOf']),
    ...Object.values(objectIn(schema, 'dependentSchemas')),
    schema['then'],
    schema['else'],
  ].filter((part) => part !== undefined);
}

/** Maximum alternatives within alternatives that are searched for `readOnly`: a schema may be its own. */
const MAX_ALTERNATIVES = 6;

/** True for a schema with `readOnly` in one of its parts, or in each of its alternatives that is not just null. */
function isReadOnly(schema: unknown, follow: Follow, depth = 0): boolean {
  if (depth > MAX_ALTERNATIVES) return false;
  return partsOf(schema, follow).some((part) => {
    if (part['readOnly'] === true) return true;
    return ['anyOf', 'oneOf'].some((word) => {
      const branches = elementsOf(part[word]).filter((branch) => memberOf(branch, 'type') !== 'null');
      return branches.length > 0 && branches.every((branch) => isReadOnly(branch, follow, depth + 1));
    });
  });
}

/**
 * True for a schema of OpenAPI 3.0 that accepts null: `nullable` stands beside its other words, or in a part that has no type of its
 * own and so is meant for the whole.
 */
export function isNullable(schema: JsonObject, follow: Follow): boolean {
  if (schema['nullable'] === true) return true;
  return partsOf(schema, follow).some(
    (part) =>
      part['nullable'] === true &&
      part['type'] === undefined &&
      part['$ref'] === undefined &&
      part['allOf'] === undefined,
  );
}
