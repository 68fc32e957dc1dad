import type { Path } from '../../rules/rule.ts';
import type { Components } from '../components.ts';
import { isObject, type JsonObject } from '../json-object.ts';

/** An edit of the schema of an object, and of example values of that object. */
export interface SchemaEdit {
  /** Equal for edits that do the same. */
  readonly key: string;
  /** True when the edit adds a member: in an `allOf`, one part takes it. */
  readonly isAddition?: true;
  /** Returns the edited schema of the object itself, whose `$ref` and alternatives are edited apart; the same one if nothing changes. */
  readonly schema: (schema: JsonObject, components: Components) => JsonObject;
  /** Returns the edited value; the same one if nothing changes. */
  readonly value: (value: JsonObject) => JsonObject;
}

/**
 * Applies an edit to the objects at `path` of a schema; `*` is any element of an array. Referenced components are edited in a
 * variant of their own. Returns the same schema if nothing changes.
 */
export function editSchema(schema: unknown, path: Path, edit: SchemaEdit, components: Components): unknown {
  if (!isObject(schema)) return schema;
  const own = editOwn(schema, path, edit, components);
  if (edit.isAddition === true && own !== schema) return own;
  return editParts(own, path, edit, components);
}

function editOwn(schema: JsonObject, path: Path, edit: SchemaEdit, components: Components): JsonObject {
  const edited =
    path.length === 0 ? edit.schema(schema, components) : editBelow(schema, path, edit, components);
  return editExamples(edited, path, edit);
}

function editBelow(schema: JsonObject, path: Path, edit: SchemaEdit, components: Components): JsonObject {
  const [name = '', ...rest] = path;
  const inside = (value: unknown): unknown => editSchema(value, rest, edit, components);
  if (name !== '*') {
    const { properties } = schema;
    if (!isObject(properties) || !Object.hasOwn(properties, name)) return schema;
    return replaced(schema, 'properties', replaced(properties, name, inside(properties[name])));
  }
  const { items, prefixItems } = schema;
  const edited = replaced(schema, 'items', inside(items));
  return Array.isArray(prefixItems) ? replaced(edited, 'prefixItems', editAll(prefixItems, inside)) : edited;
}

function editParts(schema: JsonObject, path: Path, edit: SchemaEdit, components: Components): JsonObject {
  let edited = schema;
  const { $ref: reference } = schema;
  if (typeof reference === 'string') {
    const key = JSON.stringify([path, edit.key]);
    const inside = (part: unknown): unknown => editSchema(part, path, edit, components);
    const outcome = components.edited(reference, key, inside);
    if (outcome !== reference) edited = withReference(edited, outcome);
  }
  for (const word of ['allOf', 'anyOf', 'oneOf']) {
    const parts: unknown = schema[word];
    if (!Array.isArray(parts)) continue;
    let isDone = false;
    const inside = (part: unknown): unknown => {
      if (isDone) return part;
      const outcome = editSchema(part, path, edit, components);
      isDone = edit.isAddition === true && word === 'allOf' && outcome !== part;
      return outcome;
    };
    edited = replaced(edited, word, editAll(parts, inside));
  }
  return edited;
}

/** A reference to an edited component, or, for a place that is no component, the edited schema itself. */
function withReference(schema: JsonObject, outcome: string | JsonObject): JsonObject {
  if (typeof outcome === 'string') return { ...schema, $ref: outcome };
  const { $ref: _replaced, ...rest } = schema;
  return { ...outcome, ...rest };
}

function editExamples(schema: JsonObject, path: Path, edit: SchemaEdit): JsonObject {
  let edited = schema;
  for (const word of ['default', 'example', 'const']) {
    if (Object.hasOwn(schema, word)) edited = replaced(edited, word, editValue(schema[word], path, edit));
  }
  for (const word of ['examples', 'enum']) {
    const values: unknown = schema[word];
    if (Array.isArray(values))
      edited = replaced(
        edited,
        word,
        editAll(values, (value) => editValue(value, path, edit)),
      );
  }
  return edited;
}

/** Applies the edit to the objects at `path` of a value; returns the same value if nothing changes. */
export function editValue(value: unknown, path: Path, edit: SchemaEdit): unknown {
  const [name, ...rest] = path;
  if (name === '*' && Array.isArray(value))
    return editAll(value, (element) => editValue(element, rest, edit));
  if (!isObject(value)) return value;
  if (name === undefined) return edit.value(value);
  return Object.hasOwn(value, name) ? replaced(value, name, editValue(value[name], rest, edit)) : value;
}

/** The object with another value for a member; the same object if it is the same value. */
export function replaced(object: JsonObject, name: string, value: unknown): JsonObject {
  const before: unknown = Object.hasOwn(object, name) ? object[name] : undefined;
  if (before === value) return object;
  // A computed key in a literal defines the member, even if it is called `__proto__`.
  return { ...object, [name]: value };
}

function editAll(list: readonly unknown[], edit: (value: unknown) => unknown): readonly unknown[] {
  const edited = list.map((value) => edit(value));
  return edited.every((value, at) => value === list[at]) ? list : edited;
}
