import { readFileSync, writeFileSync } from 'node:fs';
import * as z from 'zod';
import { entrySchema } from '../rewrite-log/entry-schema.ts';
import { ruleBookSource } from '../rules/rule-book-source.ts';
import { settingsExample, settingsTable } from './settings-texts.ts';

/** The JSON Schemas that are checked in, by file below the project's root. */
export const schemas: readonly (readonly [file: string, schema: z.ZodType])[] = [
  ['config/rules.schema.json', ruleBookSource],
  ['config/entry.schema.json', entrySchema],
];

/** Prints a zod schema as the JSON Schema of what may be written, in the draft that editors know best. */
export function printSchema(schema: z.ZodType): string {
  return `${JSON.stringify(z.toJSONSchema(schema, { target: 'draft-7', io: 'input' }), undefined, 2)}\n`;
}

/** Returns every checked-in text that is made from the source, by file; `readme` is what the README says now. */
export function generatedTexts(readme: string): readonly (readonly [file: string, text: string])[] {
  return [
    ...schemas.map(([file, schema]) => [file, printSchema(schema)] as const),
    ['config/gateway.env.example', settingsExample()],
    [
      'README.md',
      readme.replace(/(<!-- settings -->\n)[^]*?(<!-- \/settings -->)/, `$1\n${settingsTable()}\n$2`),
    ],
  ];
}

if (import.meta.main) {
  const root = new URL('../../', import.meta.url);
  for (const [file, text] of generatedTexts(readFileSync(new URL('README.md', root), 'utf8'))) {
    writeFileSync(new URL(file, root), text);
  }
}
