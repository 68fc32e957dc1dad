import { readFileSync, writeFileSync } from 'node:fs';
import * as z from 'zod';
import { entrySchema } from '../rewrite-log/entry-schema.ts';
import { ruleBookSource } from '../rules/rule-book-source.ts';
import { exitCodesTable } from './exit-codes.ts';
import { logFieldsTable } from './manual/log-fields-text.ts';
import { manualPage } from './manual/manual-page.ts';
import { prometheusRule, RULE_FILES } from './manual/prometheus-rule.ts';
import { settingsExample, settingsTable } from './settings/settings-texts.ts';

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
const TABLES_PAGE = 'docs/operating.md';

/** Returns every generated text by path; `read` gives the current text of a file by its path. */
export async function generatedTexts(
  read: (file: string) => string,
): Promise<readonly (readonly [file: string, text: string])[]> {
  const withSettings = replaceTable(read(TABLES_PAGE), 'settings', settingsTable());
  const withExitCodes = replaceTable(withSettings, 'exit-codes', exitCodesTable());
  return [
    ...schemas.map(([file, schema]) => [file, printSchema(schema)] as const),
    ['config/gateway.env.example', settingsExample()],
    [TABLES_PAGE, replaceTable(withExitCodes, 'log-fields', logFieldsTable())],
    ['docs/capture-gateway.1', await manualPage()],
    ['deploy/kubernetes/monitoring/rules.yaml', prometheusRule(RULE_FILES.map(read))],
  ];
}

function replaceTable(page: string, name: string, table: string): string {
  // Not proven linear: the pages are ours.
  const marked = new RegExp(`(<!-- ${name} -->\\n)[^]*?(<!-- /${name} -->)`);
  return page.replace(marked, (_, start: string, end: string) => `${start}\n${table}\n${end}`);
}

if (import.meta.main) {
  const root = new URL('../../', import.meta.url);
  const read = (file: string): string => readFileSync(new URL(file, root), 'utf8');
  for (const [file, text] of await generatedTexts(read)) {
    writeFileSync(new URL(file, root), text);
  }
}
