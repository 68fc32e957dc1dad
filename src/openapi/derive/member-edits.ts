import { marked } from '../draft/change-mark.ts';
import { editMembers, isObject, type JsonObject, memberOf, objectIn, stringsOf } from '../json-object.ts';
import { isObjectSchema, withProperties, withRequired } from '../object-schema.ts';
import { replaced, type SchemaEdit } from './schema-edit.ts';

/** Gives the member `from` of an object the name `to`, in its place; an existing member `to` gives way. */
export function renameMember(change: string, from: string, to: string): SchemaEdit {
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
      return editMembers(value, (name, inside) => {
        if (name === to) return [];
        return [[rename(name), inside]];
      });
    },
  };
}

/** Adds the member `name` with this schema to an object, unless it has it; after `behind`, if that is there. */
export function addMember(change: string, name: string, schema: JsonObject): SchemaEdit {
  return {
    key: JSON.stringify(['add', change, name]),
    isAddition: true,
    schema: (holder) => {
      const properties = objectIn(holder, 'properties');
      if (!isObjectSchema(holder) || Object.hasOwn(properties, name)) return holder;
      return withProperties(holder, [...Object.entries(properties), [name, marked(schema, change)]]);
    },
    value: (value) => value,
  };
}

/** Adds the member `to` with the schema and value of `from`, behind it, unless the object has it. */
export function copyMember(change: string, from: string, to: string): SchemaEdit {
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

/** Lets an object have members that its schema does not name: V1 read them, or ignored them. */
export function openObject(change: string): SchemaEdit {
  return {
    key: JSON.stringify(['open', change]),
    schema: (schema) => {
      if (schema['additionalProperties'] !== false) return schema;
      const { additionalProperties: _closed, ...rest } = schema;
      return marked(rest, change);
    },
    value: (value) => value,
  };
}
