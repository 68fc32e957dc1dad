import { isObject, type JsonObject, stringsOf } from '../json-object.ts';

/** The extension that lists the ids of the changes that a part of V1's description results from. */
export const CHANGE_MARK = 'x-change';

/** Marks a schema or an operation with the id of a change; a schema that is `true` becomes an object. */
export function marked(part: unknown, change: string): JsonObject {
  const object = isObject(part) ? part : part === false ? { not: {} } : {};
  const ids = stringsOf(object[CHANGE_MARK]);
  return ids.includes(change) ? object : { ...object, [CHANGE_MARK]: [...ids, change] };
}
