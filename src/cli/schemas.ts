import { writeFileSync } from 'node:fs';
import * as z from 'zod';
import { ruleBookSource } from '../rules/rule-book-source.ts';

/** The JSON Schemas that are checked in, by file below the project's root. */
export const schemas: readonly (readonly [file: string, schema: z.ZodType])[] = [
  ['config/rules.schema.json', ruleBookSource],
];

/** Prints a zod schema as the JSON Schema of what may be written, in the draft that editors know best. */
export function printSchema(schema: z.ZodType): string {
  return `${JSON.stringify(z.toJSONSchema(schema, { target: 'draft-7', io: 'input' }), undefined, 2)}\n`;
}

if (import.meta.main) {
  for (const [file, schema] of schemas) {
    writeFileSync(new URL(`../../${file}`, import.meta.url), printSchema(schema));
  }
}
