import { marked } from './change-mark.ts';
import { isObject, objectIn } from '../json-object.ts';
import { editSchema, replaced, type SchemaEdit } from '../derive/schema-edit.ts';

/** Replaces values of the member `of`: in `enum` and `const` of its schema, and in examples. `values` is by the old value. */
export function mapValues(
  change: string,
  of: string,
  values: ReadonlyMap<unknown, readonly unknown[]>,
): SchemaEdit {
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
    value: (value) => value,
  };
  const mapped = (value: unknown): unknown => values.get(value)?.[0] ?? value;
  return {
    key,
    schema: (schema, components) => {
      const properties = objectIn(schema, 'properties');
      if (!Object.hasOwn(properties, of)) return schema;
      const edited = withMappedExamples(editSchema(properties[of], [], inner, components), mapped);
      return replaced(schema, 'properties', replaced(properties, of, edited));
    },
    value: (value) => (Object.hasOwn(value, of) ? replaced(value, of, mapped(value[of])) : value),
  };
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
