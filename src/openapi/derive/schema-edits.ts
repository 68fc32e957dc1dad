import { type InvertedRule, whyNoInverse } from '../../rules/inverse.ts';
import type { Conversion } from '../../rules/kinds/convert.ts';
import { kindOf, type KindOfResponseRule } from '../../rules/kinds/kinds.ts';
import type { PlacedEdit, Reshape, SchemaEdits } from '../../rules/kinds/schema-edits.ts';
import { inOrder } from '../../rules/kinds/wrap.ts';
import { requestSchemaEdits, responseSchemaEdits } from '../../rules/kinds/schemas.ts';
import { type Change, isRewritten, type Operation } from '../../rules/rule-book.ts';
import type { Path, RequestRule, StatusPattern } from '../../rules/rule.ts';
import {
  type Components,
  componentReference,
  type DescribedMember,
  isObjectSchema,
  membersOf,
  withProperties,
  withRequired,
} from '../components.ts';
import {
  editMembers,
  isObject,
  type JsonObject,
  marked,
  memberOf,
  objectIn,
  stringsOf,
} from '../description.ts';
import { convertedSchema, convertedValue, takenSchema } from './name-components.ts';

/** One step from V2's schema to V1's. */
export interface InverseEdit {
  readonly change: string;
  /** The path of the objects to edit; for a wrapper, that of the body. */
  readonly path: Path;
  /** The edit of these objects, or the member that wraps the body. */
  readonly edit: SchemaEdit | { readonly wrapper: string };
  /** The statuses of responses that it applies to; undefined for requests. */
  readonly status: readonly StatusPattern[] | undefined;
  /** The edited member of V2 and its rule, in words; undefined for an edit whose member need not be in V2's description. */
  readonly words: string | undefined;
}

/** The changes that apply to requests and responses of a method and an operation of the rule book, in order. */
export function changesOf(
  changes: readonly Change[],
  method: string,
  operation: Operation | undefined,
): readonly Change[] {
  const isEvery = isRewritten(method);
  return changes.filter(({ on }) =>
    on === 'every' ? isEvery : operation !== undefined && on.includes(operation.id),
  );
}

/** The steps from the schema of V2's request to that of V1's: the request rules undone, the last one first. */
export function requestEdits(changes: readonly Change[]): readonly InverseEdit[] {
  return changes
    .flatMap(({ id, request }) => request.map((rule) => requestEdit(id, rule)))
    .toReversed()
    .flat();
}

function requestEdit(change: string, rule: RequestRule): readonly InverseEdit[] {
  return requestSchemaEdits(rule, schemaEdits(change, true)).map((placed) =>
    inverseEdit(change, rule.rule, placed, undefined),
  );
}

/**
 * The steps from the schemas of V2's responses to those of V1's, in the order of the gateway: first the rules that `inverse` stands for
 * (`inverted`), then the explicit response rules.
 */
export function responseEdits(
  changes: readonly Change[],
  inverted: readonly InvertedRule[],
): readonly InverseEdit[] {
  const leavesOut = changes.some(({ request }) => request.some(isLeavingOut));
  const editsOf = (change: string, rule: KindOfResponseRule): readonly InverseEdit[] =>
    responseSchemaEdits(rule, schemaEdits(change, leavesOut)).map((placed) =>
      inverseEdit(change, rule.rule, placed, rule.status),
    );
  return [
    // The resource is in `data` or in its elements; a description shows only one of the two, so a missing member is no fault.
    ...inverted.flatMap(({ change, rule }) =>
      editsOf(change, rule).map((edit) => ({ ...edit, words: undefined })),
    ),
    ...inOrder(changes.flatMap(({ id, response }) => response.map((rule) => ({ id, rule })))).flatMap(
      ({ id, rule }) => ('path' in rule ? editsOf(id, rule) : []),
    ),
  ];
}

/** True for a rule that removes an attribute, which V1's responses listed. */
function isLeavingOut(rule: RequestRule): boolean {
  return whyNoInverse(rule) === 'lost' && kindOf(rule).isIdle?.(rule) !== true;
}

function inverseEdit(
  change: string,
  rule: string,
  { in: path, edit, of }: PlacedEdit<InverseEdit['edit']>,
  status: InverseEdit['status'],
): InverseEdit {
  const side = status === undefined ? '' : ' in responses';
  const words = of === undefined ? undefined : `${of.join('.')}${side}, which its ${rule} names`;
  return { change, path, edit, status, words };
}

function schemaEdits(change: string, leavesOut: boolean): SchemaEdits<InverseEdit['edit']> {
  return {
    leavesOut,
    wrap: (wrapper) => ({ wrapper }),
    rename: (from, to) => renameMember(change, from, to),
    reshape: (from, to, shape) => reshape(change, from, to, shape),
    convert: (member, conversion) => convertMember(change, member, conversion),
    loosen: (member, conversion) =>
      reshape(change, member, member, {
        key: ['loosen', conversion],
        schema: (schema, follow) => takenSchema(schema, conversion, follow),
        value: (value) => value,
      }),
    map: (member, values) => mapValues(change, member, values),
    add: (member, schema) => addMember(change, member, schema),
    alias: (member, as) => copyMember(change, member, as),
    replace: (members, texts) => replaceMembers(change, members, texts),
    remove: (members) => removeMembers(change, members),
    removeAt: (path) => removeAt(change, path),
    move: (from, to) => placeMember(change, from, to, false),
    copy: (from, to) => placeMember(change, from, to, true),
    bringOut: (under, members, keeps) => bringOut(change, under, members, keeps),
    allowAbsent: (member) => makeOptional(change, member),
    allowNull: (member) => makeNullable(change, member),
    allowOthers: () => openObject(change),
  };
}

/** Gives the member `from` of an object the name `to`, in its place; an existing member `to` is removed. */
function renameMember(change: string, from: string, to: string): SchemaEdit {
  const rename = (name: string): string => (name === from ? to : name);
  return {
    key: JSON.stringify(['rename', change, from, to]),
    schema: (schema) => {
      let edited = schema;
      const properties = objectIn(schema, 'properties');
      if (Object.hasOwn(properties, from)) {
        const pairs = Object.entries(properties).filter(([name]) => name !== to);
        edited = withProperties(
          edited,
          pairs.map(([name, value]) => (name === from ? [to, marked(value, change)] : [name, value])),
        );
      }
      const required = stringsOf(schema['required']);
      if (required.includes(from)) edited = withRequired(edited, required.map(rename));
      const dependent = schema['dependentRequired'];
      if (isObject(dependent) && JSON.stringify(dependent).includes(JSON.stringify(from))) {
        const renamed = editMembers(dependent, (name, names) => [
          [rename(name), stringsOf(names).map(rename)],
        ]);
        edited = replaced(edited, 'dependentRequired', renamed);
      }
      const discriminator = schema['discriminator'];
      if (memberOf(discriminator, 'propertyName') === from && isObject(discriminator))
        edited = replaced(edited, 'discriminator', { ...discriminator, propertyName: to });
      return edited;
    },
    value: (value) => {
      if (!Object.hasOwn(value, from)) return value;
      return editMembers(value, (name, inside) => (name === to ? [] : [[rename(name), inside]]));
    },
  };
}

/** Adds the member `name` with this schema to an object that lacks it; behind the member `behind`, if there is one. */
function addMember(change: string, name: string, schema: JsonObject): SchemaEdit {
  return {
    key: JSON.stringify(['add', change, name]),
    isAddition: true,
    schema: (holder) => {
      const properties = objectIn(holder, 'properties');
      if (!isObjectSchema(holder) || Object.hasOwn(properties, name)) return holder;
      return withMember(holder, name, marked(schema, change));
    },
  };
}

/** Allows null for a member with a schema, in a form that is valid in OpenAPI 3.0 and 3.1. */
function makeNullable(change: string, name: string): SchemaEdit {
  return {
    key: JSON.stringify(['or null', change, name]),
    schema: (holder) => {
      const properties = objectIn(holder, 'properties');
      const schema = properties[name];
      const isOpen = isObject(schema) && Object.keys(schema).every((keyword) => keyword === 'x-change');
      if (!Object.hasOwn(properties, name) || isOpen) return holder;
      const widened = marked({ anyOf: [schema, { enum: [null] }] }, change);
      return withMember(holder, name, widened);
    },
  };
}

/** Copies the member `from` to the member `to` behind it, unless the object already has a member `to`. */
function copyMember(change: string, from: string, to: string): SchemaEdit {
  return {
    key: JSON.stringify(['copy', change, from, to]),
    schema: (schema) => {
      const properties = objectIn(schema, 'properties');
      if (!Object.hasOwn(properties, from) || Object.hasOwn(properties, to)) return schema;
      const pairs = Object.entries(properties).flatMap(([name, value]): (readonly [string, unknown])[] =>
        name === from
          ? [
              [name, value],
              [to, marked(value, change)],
            ]
          : [[name, value]],
      );
      return withProperties(schema, pairs);
    },
    value: (value) => {
      if (!Object.hasOwn(value, from) || Object.hasOwn(value, to)) return value;
      return editMembers(value, (name, inside) =>
        name === from
          ? [
              [name, inside],
              [to, inside],
            ]
          : [[name, inside]],
      );
    },
  };
}

/** Allows members in an object that its schema does not name: V1 read or ignored them. */
function openObject(change: string): SchemaEdit {
  return {
    key: JSON.stringify(['open', change]),
    schema: (schema) => {
      if (schema['additionalProperties'] !== false) return schema;
      const { additionalProperties: _closed, ...rest } = schema;
      return marked(rest, change);
    },
  };
}

/** Moves members of the sub-object `under` to its place in the outer object; a sub-object that loses all members is removed. */
function bringOut(
  change: string,
  under: string,
  /** Undefined for all members. */
  members: readonly string[] | undefined,
  /** True if the members also stay in the sub-object. */
  keeps: boolean,
): SchemaEdit {
  const isWanted = (name: string): boolean => members?.includes(name) !== false;
  return {
    key: JSON.stringify(['out', change, under, members, keeps]),
    schema: (schema, components) => {
      const properties = objectIn(schema, 'properties');
      if (!Object.hasOwn(properties, under)) return keeps ? schema : withoutRequired(schema, [under]);
      const inside = membersOf(properties[under], components);
      const wanted = inside.filter(
        ({ name }) => isWanted(name) && !(keeps && Object.hasOwn(properties, name)),
      );
      if (wanted.length === 0) return schema;
      const names = wanted.map(({ name }) => name);
      const left = keeps
        ? properties[under]
        : wanted.length === inside.length
          ? undefined
          : marked(editSchema(properties[under], [], removeMembers(change, names), components), change);
      const moved = wanted.map((member) => [member.name, marked(member.schema, change)] as const);
      const pairs = Object.entries(properties).flatMap(
        ([name, value]): readonly (readonly [string, unknown])[] => {
          if (name !== under) return names.includes(name) ? [] : [[name, value]];
          return left === undefined ? moved : [[name, left], ...moved];
        },
      );
      const edited = withProperties(schema, pairs);
      const required = stringsOf(schema['required']);
      if (!required.includes(under)) return edited;
      const own = required.filter((name) => name !== under || left !== undefined);
      return withRequired(edited, [
        ...own,
        ...wanted.filter((member) => member.required).map(({ name }) => name),
      ]);
    },
    value: (value) => {
      const sub = value[under];
      if (!isObject(sub)) return value;
      const moved = Object.entries(sub).filter(
        ([name]) => isWanted(name) && !(keeps && Object.hasOwn(value, name)),
      );
      if (moved.length === 0) return value;
      const rest = keeps ? sub : editMembers(sub, (name, inside) => (isWanted(name) ? [] : [[name, inside]]));
      const names = new Set(moved.map(([name]) => name));
      return editMembers(value, (name, inside) => {
        if (name !== under) return names.has(name) ? [] : [[name, inside]];
        return Object.keys(rest).length === 0
          ? moved
          : keeps
            ? [[name, rest], ...moved]
            : [...moved, [name, rest]];
      });
    },
  };
}

/** Separate from `withoutMembers`, because one part of an `allOf` may require a member that another describes. */
function withoutRequired(schema: JsonObject, names: readonly string[]): JsonObject {
  const required = stringsOf(schema['required']);
  const left = required.filter((name) => !names.includes(name));
  return left.length === required.length ? schema : withRequired(schema, left);
}

/** Removes members from an object and from its required ones. */
function removeMembers(change: string, names: readonly string[]): SchemaEdit {
  return {
    key: JSON.stringify(['remove', change, names]),
    schema: (schema) => withoutMembers(schema, names),
    value: (value) => withoutValues(value, names),
  };
}

function withoutMembers(schema: JsonObject, names: readonly string[]): JsonObject {
  const pairs = Object.entries(objectIn(schema, 'properties'));
  const left = pairs.filter(([name]) => !names.includes(name));
  return withoutRequired(left.length === pairs.length ? schema : withProperties(schema, left), names);
}

function withoutValues(value: JsonObject, names: readonly string[]): JsonObject {
  return names.some((name) => Object.hasOwn(value, name))
    ? editMembers(value, (name, inside) => (names.includes(name) ? [] : [[name, inside]]))
    : value;
}

/** Makes the member `name` optional. */
function makeOptional(change: string, name: string): SchemaEdit {
  return {
    key: JSON.stringify(['optional', change, name]),
    schema: (schema) => {
      const edited = withoutRequired(schema, [name]);
      return edited === schema ? schema : marked(edited, change);
    },
  };
}

/** Replaces the schema and the examples of the member `from` by others, under the name `to`. */
function reshape(change: string, from: string, to: string, { key, ...shape }: Reshape): SchemaEdit {
  return {
    key: JSON.stringify(['reshape', change, from, to, key]),
    schema: (schema, components) => {
      const properties = objectIn(schema, 'properties');
      if (!Object.hasOwn(properties, from)) return schema;
      const edited = withProperties(
        schema,
        Object.entries(properties)
          .filter(([name]) => name === from || name !== to)
          .map(([name, value]) =>
            name === from
              ? [
                  to,
                  marked(
                    shape.schema(value, (part) => components.followed(part)),
                    change,
                  ),
                ]
              : [name, value],
          ),
      );
      const required = stringsOf(schema['required']);
      return required.includes(from)
        ? withRequired(
            edited,
            required.map((name) => (name === from ? to : name)),
          )
        : edited;
    },
    value: (value) =>
      Object.hasOwn(value, from)
        ? editMembers(value, (name, inside) =>
            name === from ? [[to, shape.value(inside)]] : name === to ? [] : [[name, inside]],
          )
        : value,
  };
}

/** Converts a member: its schema, and its examples. */
function convertMember(change: string, name: string, conversion: Conversion): SchemaEdit {
  return reshape(change, name, name, {
    key: conversion,
    schema: (schema, follow) => convertedSchema(schema, conversion, follow),
    value: (value) => convertedValue(value, conversion),
  });
}

/** Replaces the members `from` by strings `to`, with examples of their own. */
function replaceMembers(change: string, from: readonly string[], to: readonly string[]): SchemaEdit {
  return {
    key: JSON.stringify(['replace', change, from, to]),
    schema: (schema) => {
      const properties = objectIn(schema, 'properties');
      if (!from.some((name) => Object.hasOwn(properties, name))) return schema;
      const isRequired = stringsOf(schema['required']).some((name) => from.includes(name));
      const rest = withoutMembers(schema, from);
      const made = to.map((name): readonly [string, unknown] => [name, marked({ type: 'string' }, change)]);
      const edited = withProperties(rest, [
        ...Object.entries(objectIn(rest, 'properties')).filter(([name]) => !to.includes(name)),
        ...made,
      ]);
      return isRequired
        ? withRequired(edited, [...new Set([...stringsOf(rest['required']), ...to])])
        : edited;
    },
    value: (value) => withoutValues(value, from),
  };
}

/**
 * Puts the member at the path `from` of an object at the path `to`. Unless the member also stays at `from` (`keeps`), objects that lose all
 * members are removed.
 */
function placeMember(change: string, from: Path, to: Path, keeps: boolean): SchemaEdit {
  return {
    key: JSON.stringify(['place', change, from, to, keeps]),
    schema: (schema, components) => {
      // A member that a reference or an alternative describes is edited there.
      if (!Object.hasOwn(objectIn(schema, 'properties'), from[0] ?? '')) return schema;
      const found = describedAt(schema, from, components);
      if (found === undefined) return schema;
      const rest = keeps ? schema : withoutDescribed(schema, from, change, components);
      const member = { ...found, schema: marked(found.schema, change) };
      return withDescribed(rest, to, { member, change, components });
    },
    value: (value) => {
      const found = valueAt(value, from);
      if (found === undefined) return value;
      return withValueAt(keeps ? value : withoutValueAt(value, from), to, found.value);
    },
  };
}

/** Removes the member at a path of an object; objects that lose all members are removed. */
function removeAt(change: string, path: Path): SchemaEdit {
  return {
    key: JSON.stringify(['remove', change, path, 'around']),
    schema: (schema, components) => withoutDescribed(schema, path, change, components),
    value: (value) => (valueAt(value, path) === undefined ? value : withoutValueAt(value, path)),
  };
}

/** The member at a path, which is required if the objects around it are as well. */
function describedAt(schema: unknown, path: Path, components: Components): DescribedMember | undefined {
  const [name, ...rest] = path;
  const member = membersOf(schema, components).find((one) => one.name === name);
  if (member === undefined || rest.length === 0) return member;
  const inner = describedAt(member.schema, rest, components);
  return inner && { ...inner, required: inner.required && member.required };
}

function withoutDescribed(
  schema: JsonObject,
  path: Path,
  change: string,
  components: Components,
): JsonObject {
  const [name = '', ...rest] = path;
  const properties = objectIn(schema, 'properties');
  if (!Object.hasOwn(properties, name)) return schema;
  const inside = properties[name];
  const isEmptied =
    rest.length === 0 || membersOf(inside, components).every((member) => member.name === rest[0]);
  if (isEmptied && rest.length < 2) return withoutMembers(schema, [name]);
  const edit: SchemaEdit = {
    key: JSON.stringify(['without', change, rest]),
    schema: (holder) => withoutDescribed(holder, rest, change, components),
  };
  return withMember(schema, name, editSchema(inside, [], edit, components));
}

interface Described {
  readonly member: DescribedMember;
  readonly change: string;
  readonly components: Components;
}

function withDescribed(schema: JsonObject, path: Path, described: Described): JsonObject {
  const { member, change, components } = described;
  const [name = '', ...rest] = path;
  const properties = objectIn(schema, 'properties');
  const required = stringsOf(schema['required']);
  if (rest.length === 0) {
    const others = Object.entries(properties).filter(([key]) => key !== name);
    const edited = withProperties(schema, [...others, [name, member.schema]]);
    return member.required && !required.includes(name) ? withRequired(edited, [...required, name]) : edited;
  }
  const edit: SchemaEdit = {
    key: JSON.stringify(['with', change, rest]),
    schema: (holder) => withDescribed(holder, rest, described),
  };
  const made = Object.hasOwn(properties, name)
    ? editSchema(properties[name], [], edit, components)
    : marked(withDescribed({ type: 'object' }, rest, described), change);
  return withMember(schema, name, made);
}

/** The schema with `member` as the schema of the member `name`; a new member comes last. */
function withMember(schema: JsonObject, name: string, member: unknown): JsonObject {
  return { ...schema, properties: { ...objectIn(schema, 'properties'), [name]: member } };
}

function valueAt(value: JsonObject, path: Path): { readonly value: unknown } | undefined {
  const [name = '', ...rest] = path;
  if (!Object.hasOwn(value, name)) return undefined;
  const inside = value[name];
  if (rest.length === 0) return { value: inside };
  return isObject(inside) ? valueAt(inside, rest) : undefined;
}

function withoutValueAt(value: JsonObject, path: Path): JsonObject {
  const [name = '', ...rest] = path;
  return editMembers(value, (key, inside) => {
    if (key !== name) return [[key, inside]];
    if (rest.length === 0 || !isObject(inside)) return [];
    const left = withoutValueAt(inside, rest);
    return Object.keys(left).length === 0 ? [] : [[key, left]];
  });
}

function withValueAt(value: JsonObject, path: Path, moved: unknown): JsonObject {
  const [name = '', ...rest] = path;
  const known = Object.hasOwn(value, name) ? value[name] : undefined;
  if (rest.length === 0) return replaced(value, name, moved);
  return replaced(value, name, withValueAt(isObject(known) ? known : {}, rest, moved));
}

/** An edit of the schema of an object, and of example values of that object. */
interface SchemaEdit {
  /** Equal for edits that do the same. */
  readonly key: string;
  /** True if the edit adds a member: only one part of an `allOf` gets it. */
  readonly isAddition?: true;
  /**
   * Returns the edited schema of the object itself, or the same schema if nothing changes; `$ref` and alternatives are edited separately.
   */
  readonly schema: (schema: JsonObject, components: Components) => JsonObject;
  /** Returns the edited value, or the same value if nothing changes; absent if examples stay unchanged. */
  readonly value?: (value: JsonObject) => JsonObject;
}

/**
 * Applies an edit to the objects at `path` of a schema; `*` is any element of an array. For a referenced component, it makes an edited
 * variant. Returns the same schema if nothing changes.
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
  if (name === '**') {
    const edited = editAllBelow(schema, (value) => editSchema(value, path, edit, components));
    return rest.length === 0 ? edit.schema(edited, components) : editBelow(edited, rest, edit, components);
  }
  if (name !== '*') {
    const { properties } = schema;
    if (!isObject(properties) || !Object.hasOwn(properties, name)) return schema;
    return replaced(schema, 'properties', replaced(properties, name, inside(properties[name])));
  }
  const { items, prefixItems } = schema;
  const edited = replaced(schema, 'items', inside(items));
  return Array.isArray(prefixItems) ? replaced(edited, 'prefixItems', editAll(prefixItems, inside)) : edited;
}

/** Edits the schemas of a schema's members and elements. */
function editAllBelow(schema: JsonObject, edit: (schema: unknown) => unknown): JsonObject {
  let edited = schema;
  const { properties, prefixItems } = schema;
  if (isObject(properties)) {
    let inner = properties;
    for (const [name, value] of Object.entries(properties)) inner = replaced(inner, name, edit(value));
    edited = replaced(edited, 'properties', inner);
  }
  for (const word of ['items', 'additionalProperties'])
    if (isObject(schema[word])) edited = replaced(edited, word, edit(schema[word]));
  return Array.isArray(prefixItems) ? replaced(edited, 'prefixItems', editAll(prefixItems, edit)) : edited;
}

function editParts(schema: JsonObject, path: Path, edit: SchemaEdit, components: Components): JsonObject {
  let edited = schema;
  const { $ref: reference, discriminator } = schema;
  const editedAt = (place: string): string | JsonObject =>
    components.edited(place, JSON.stringify([path, edit.key]), (part) =>
      editSchema(part, path, edit, components),
    );
  if (typeof reference === 'string') {
    const outcome = editedAt(reference);
    if (outcome !== reference) edited = withReference(edited, outcome);
  }
  const mapping = memberOf(discriminator, 'mapping');
  if (isObject(discriminator) && isObject(mapping)) {
    const led = editMapping(mapping, components, editedAt);
    edited = replaced(edited, 'discriminator', replaced(discriminator, 'mapping', led));
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

/** The mapping of a discriminator to the edited components: it must name the alternatives' new components. */
function editMapping(
  mapping: JsonObject,
  components: Components,
  editedAt: (place: string) => string | JsonObject,
): JsonObject {
  let edited = mapping;
  for (const [name, to] of Object.entries(mapping)) {
    if (typeof to !== 'string') continue;
    // A component, by its name or a reference to it (OpenAPI 3.1.1 §4.8.25).
    const place = components.names.includes(to) ? componentReference(to) : to;
    if (components.baseOf(place) === undefined) continue;
    const outcome = editedAt(place);
    if (typeof outcome === 'string' && outcome !== place) edited = replaced(edited, name, outcome);
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
  if (name === '**') {
    if (Array.isArray(value)) return editAll(value, (element) => editValue(element, path, edit));
    if (!isObject(value)) return value;
    let edited = value;
    for (const [member, inner] of Object.entries(value))
      edited = replaced(edited, member, editValue(inner, path, edit));
    return editValue(edited, rest, edit);
  }
  if (name === '*' && Array.isArray(value))
    return editAll(value, (element) => editValue(element, rest, edit));
  if (!isObject(value)) return value;
  if (name === undefined) return edit.value?.(value) ?? value;
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

/** Replaces values of the member `of`: in `enum` and `const` of its schema, and in examples. `values` has V1's values by V2's. */
function mapValues(change: string, of: string, values: ReadonlyMap<unknown, readonly unknown[]>): SchemaEdit {
  const key = JSON.stringify(['map', change, of, [...values]]);
  const inner: SchemaEdit = {
    key,
    schema: (schema) => {
      let edited = schema;
      const { enum: listed, const: only } = schema;
      if (Array.isArray(listed) && listed.some((value) => values.has(value))) {
        edited = {
          ...edited,
          enum: [...new Set(listed.flatMap((value: unknown) => values.get(value) ?? [value]))],
        };
      }
      const [first, ...more] = values.get(only) ?? [];
      if (first !== undefined) {
        const { const: _replaced, ...rest } = edited;
        edited = more.length === 0 ? { ...edited, const: first } : { ...rest, enum: [first, ...more] };
      }
      return edited === schema ? schema : marked(edited, change);
    },
  };
  const mapped = (value: unknown): unknown => values.get(value)?.[0] ?? value;
  return {
    key,
    schema: (schema, components) => {
      const properties = objectIn(schema, 'properties');
      if (!Object.hasOwn(properties, of)) return schema;
      const edited = withMappedExamples(editSchema(properties[of], [], inner, components), mapped);
      return replaced(withMappedChoices(schema, of, values), 'properties', replaced(properties, of, edited));
    },
    value: (value) => (Object.hasOwn(value, of) ? replaced(value, of, mapped(value[of])) : value),
  };
}

/** The schema with V1's values in its discriminator: each selects the schema of the V2 value that it is mapped to. */
function withMappedChoices(
  schema: JsonObject,
  of: string,
  values: ReadonlyMap<unknown, readonly unknown[]>,
): JsonObject {
  const { discriminator } = schema;
  const mapping = memberOf(discriminator, 'mapping');
  if (!isObject(discriminator) || !isObject(mapping) || discriminator['propertyName'] !== of) return schema;
  if (!Object.keys(mapping).some((name) => values.has(name))) return schema;
  const mapped = editMembers(mapping, (name, to) =>
    (values.get(name) ?? [name]).map((value): [string, unknown] => [String(value), to]),
  );
  return { ...schema, discriminator: { ...discriminator, mapping: mapped } };
}

function withMappedExamples(schema: unknown, mapped: (value: unknown) => unknown): unknown {
  if (!isObject(schema)) return schema;
  let edited = schema;
  for (const word of ['default', 'example']) {
    if (Object.hasOwn(schema, word)) edited = replaced(edited, word, mapped(schema[word]));
  }
  const { examples } = schema;
  if (!Array.isArray(examples)) return edited;
  const all = examples.map((value) => mapped(value));
  return all.every((value, at) => value === examples[at]) ? edited : { ...edited, examples: all };
}
