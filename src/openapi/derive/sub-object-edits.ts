import { marked } from '../draft/change-mark.ts';
import type { Components } from '../components.ts';
import { editMembers, isObject, type JsonObject, objectIn, stringsOf } from '../json-object.ts';
import { type DescribedMember, membersOf, withProperties, withRequired } from '../object-schema.ts';
import { editSchema, type SchemaEdit } from './schema-edit.ts';

/** The parts of an edit that brings members of a sub-object to the object around it. */
export interface SubObjectEdit {
  readonly change: string;
  readonly under: string;
  /** The members to bring out; all if undefined. */
  readonly members: readonly string[] | undefined;
  /** True when they stay in the sub-object as well. */
  readonly keeps: boolean;
}

/** Brings members of the sub-object `under` out to the object around it, to its place; a sub-object that loses all is left out. */
export function bringOut({ change, under, members, keeps }: SubObjectEdit): SchemaEdit {
  const isWanted = (name: string): boolean => members?.includes(name) !== false;
  return {
    key: JSON.stringify(['out', change, under, members, keeps]),
    schema: (schema, components) => {
      const properties = objectIn(schema, 'properties');
      if (!Object.hasOwn(properties, under)) return keeps ? schema : withoutRequired(schema, under);
      const inside = membersOf(properties[under], components);
      const wanted = inside.filter(
        ({ name }) => isWanted(name) && !(keeps && Object.hasOwn(properties, name)),
      );
      if (wanted.length === 0) return schema;
      const left = keeps
        ? properties[under]
        : remainder(properties[under], { change, wanted, inside, components });
      return broughtOut(schema, { change, under, wanted, left });
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

interface Remainder {
  readonly change: string;
  readonly wanted: readonly DescribedMember[];
  readonly inside: readonly DescribedMember[];
  readonly components: Components;
}

/** The schema of the sub-object without the members that leave it; undefined when none is left. */
function remainder(schema: unknown, { change, wanted, inside, components }: Remainder): unknown {
  if (wanted.length === inside.length) return undefined;
  const names = wanted.map(({ name }) => name);
  return marked(editSchema(schema, [], removeMembers(change, names), components), change);
}

/** In an `allOf`, one part may require what another describes. */
function withoutRequired(schema: JsonObject, under: string): JsonObject {
  const required = stringsOf(schema['required']);
  return required.includes(under)
    ? withRequired(
        schema,
        required.filter((name) => name !== under),
      )
    : schema;
}

/** Removes members from an object and from its required ones. */
function removeMembers(change: string, names: readonly string[]): SchemaEdit {
  return {
    key: JSON.stringify(['remove', change, names]),
    schema: (schema) => {
      const pairs = Object.entries(objectIn(schema, 'properties'));
      const left = pairs.filter(([name]) => !names.includes(name));
      const edited = left.length === pairs.length ? schema : withProperties(schema, left);
      const required = stringsOf(schema['required']);
      const rest = required.filter((name) => !names.includes(name));
      return rest.length === required.length ? edited : withRequired(edited, rest);
    },
    value: (value) =>
      names.some((name) => Object.hasOwn(value, name))
        ? editMembers(value, (name, inside) => (names.includes(name) ? [] : [[name, inside]]))
        : value,
  };
}

interface BroughtOut {
  readonly change: string;
  readonly under: string;
  readonly wanted: readonly DescribedMember[];
  readonly left: unknown;
}

function broughtOut(schema: JsonObject, { change, under, wanted, left }: BroughtOut): JsonObject {
  const names = new Set(wanted.map(({ name }) => name));
  const moved = wanted.map(({ name, schema: inside }): readonly [string, unknown] => [
    name,
    marked(inside, change),
  ]);
  const pairs = Object.entries(objectIn(schema, 'properties')).flatMap(
    ([name, value]): readonly (readonly [string, unknown])[] => {
      if (name !== under) return names.has(name) ? [] : [[name, value]];
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
}
