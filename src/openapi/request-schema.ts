import type { Schema } from '@cfworker/json-schema';
import { isObject, type JsonObject, memberOf, stringsOf } from './json-object.ts';

/**
 * A copy of a schema as a validator of JSON Schema reads it for a request: `nullable` of OpenAPI 3.0 is another alternative, and
 * members that are `readOnly` are not required (OpenAPI 3.0.4, Schema Object).
 */
export function requestSchema(schema: unknown, isOld: boolean): Schema {
  const converted = convert(schema, isOld);
  return isObject(converted) ? converted : {};
}

function convert(schema: unknown, isOld: boolean): unknown {
  if (Array.isArray(schema)) return schema.map((element) => convert(element, isOld));
  if (!isObject(schema)) return schema;
  const { nullable, ...rest } = schema;
  const inside = withoutReadOnly(
    Object.fromEntries(Object.entries(rest).map(([name, member]) => [name, convert(member, isOld)])),
  );
  if (isOld && nullable === true) return { anyOf: [{ type: 'null' }, inside] };
  return nullable === undefined ? inside : { ...inside, nullable: convert(nullable, isOld) };
}

function withoutReadOnly(schema: JsonObject): JsonObject {
  const { properties, required } = schema;
  if (!isObject(properties) || !Array.isArray(required)) return schema;
  const names = stringsOf(required);
  const needed = names.filter((name) => memberOf(memberOf(properties, name), 'readOnly') !== true);
  return needed.length === names.length ? schema : { ...schema, required: needed };
}
