import { readFileSync, writeFileSync } from 'node:fs';
import * as z from 'zod';
import { entrySchema } from '../rewrite-log/entry-schema.ts';
import { ruleBookSource } from '../rules/rule-book-source.ts';
import { exitCodesTable } from './exit-codes.ts';
import { logFieldsTable } from './log-fields-text.ts';
import { manualPage } from './manual-page.ts';
import { settingsExample, settingsTable } from './settings-texts.ts';

/** The generated JSON Schemas, by path below the project's root. */
export const schemas: readonly (readonly [file: string, schema: z.ZodType])[] = [
  ['config/rules.schema.json', ruleBookSource],
  ['config/entry.schema.json', entrySchema],
];

/** Prints a zod schema as the JSON Schema of its input, in draft 7, which editors support best. */
export function printSchema(schema: z.ZodType): string {
  return `${JSON.stringify(z.toJSONSchema(schema, { target: 'draft-7', io: 'input' }), undefined, 2)}\n`;
}

/** The page with the generated tables. */
export const TABLES_PAGE = 'docs/operating.md';

/** Returns every generated text by path; `page` is the current text of `TABLES_PAGE`. */
export async function generatedTexts(
  page: string,
): Promise<readonly (readonly [file: string, text: string])[]> {
  const withSettings = replaceTable(page, 'settings', settingsTable());
  const withExitCodes = replaceTable(withSettings, 'exit-codes', exitCodesTable());
  return [
    ...schemas.map(([file, schema]) => [file, printSchema(schema)] as const),
    ['config/gateway.env.example', settingsExample()],
    [TABLES_PAGE, replaceTable(withExitCodes, 'log-fields', logFieldsTable())],
    ['docs/capture-gateway.1', await manualPage()],
  ];
}

function replaceTable(page: string, name: string, table: string): string {
  const marked = new RegExp(`(<!-- ${name} -->\\n)[^]*?(<!-- /${name} -->)`);
  return page.replace(marked, (_, start: string, end: string) => `${start}\n${table}\n${end}`);
}

if (import.meta.main) {
  const root = new URL('../../', import.meta.url);
  for (const [file, text] of await generatedTexts(readFileSync(new URL(TABLES_PAGE, root), 'utf8'))) {
    writeFileSync(new URL(file, root), text);
  }
}
