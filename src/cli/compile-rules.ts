import { mkdirSync, writeFileSync } from 'node:fs';
import { environmentName, settings } from '../settings/settings.ts';
import { loadRuleBook } from '../node/rule-book-file.ts';

// Wrangler runs this before every bundle: the rule book is validated here, so that the worker needs neither YAML nor zod.
const folder = new URL('../../dist/edge/', import.meta.url);
const path = process.env[environmentName(settings.rules)] || settings.rules.value;
const outcome = await loadRuleBook(path);
if ('faults' in outcome) {
  process.stderr.write(outcome.faults.map((fault) => `${fault}\n`).join(''));
  process.exit(2);
}
const { ruleBook } = outcome.rules;
mkdirSync(folder, { recursive: true });
writeFileSync(
  new URL('rule-book.js', folder),
  `export const ruleBook = ${JSON.stringify(ruleBook, null, 1)};\n`,
);
process.stderr.write(
  `rule book ${path} compiled: ${ruleBook.changes.length} changes, hash ${ruleBook.hash}\n`,
);
