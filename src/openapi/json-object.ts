/** An object of a description, read as data. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** True for an object that is neither an array nor a number kept as text. */
export function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    // Only `JSON.rawJSON` makes objects without a prototype.
    Object.getPrototypeOf(value) !== null
  );
}

/** The object in the member `name` of `value`; an empty one if there is none. */
export function objectIn(value: unknown, name: string): JsonObject {
  const found = memberOf(value, name);
  return isObject(found) ? found : {};
}

/** The own member `name` of `value`, if it is an object that has one. */
export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The elements of an array; none for anything else. */
export function elementsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The elements of an array that are strings. */
export function stringsOf(value: unknown): readonly string[] {
  return elementsOf(value).filter((element) => typeof element === 'string');
}

/** A copy of `object` with each member as `edit` returns it: another pair, several, or none. */
export function editMembers(
  object: JsonObject,
  edit: (name: string, value: unknown) => readonly (readonly [string, unknown])[],
): JsonObject {
  // `fromEntries` defines members: assigning to `__proto__` would set the prototype.
  return Object.fromEntries(Object.entries(object).flatMap(([name, value]) => edit(name, value)));
}
