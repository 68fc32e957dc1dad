import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environmentName, settings } from '../src/settings/settings.ts';
import { BodySchemas, requestDescription } from '../src/openapi/body-schemas.ts';
import { readDescription } from '../src/cli/draft/description-file.ts';
import { loadRuleBook } from '../src/node/rule-books.ts';
import { counted } from '../src/report/text.ts';

// Wrangler runs this before every bundle: the rule book is validated here, so that the worker needs neither YAML nor zod.
const folder = new URL('../dist/edge/', import.meta.url);
const path = process.env[environmentName(settings.rules)] || settings.rules.value;
const outcome = await loadRuleBook(path, environmentName(settings.rules));
if ('faults' in outcome) {
  process.stderr.write(outcome.faults.map((fault) => `${fault}\n`).join(''));
  process.exit(2);
}
const source = process.env[environmentName(settings.v2Openapi)] || undefined;
const description = source === undefined ? undefined : await readDescription(source);
if (description !== undefined && 'fault' in description) {
  process.stderr.write(`${String(description.fault)}\n`);
  process.exit(2);
}
try {
  const warnings = description && new BodySchemas(description).warnings(outcome.rules.ruleBook.operations);
  for (const warning of warnings ?? []) process.stderr.write(`warning: ${warning}\n`);
} catch (error) {
  process.stderr.write(`The schemas of ${source} cannot be used: ${String(error)}\n`);
  process.exit(2);
}
const { ruleBook } = outcome.rules;
// The bundle has the transforms as code, so that the rule book needs no texts of them; its hash counts them all the same.
const modules = Object.entries(ruleBook.modules ?? {});
const imports = modules.map(([module], at) => {
  const file = relative(fileURLToPath(folder), resolve(dirname(path), module)).replaceAll('\\', '/');
  return `import * as transform${at} from ${JSON.stringify(file)};\n`;
});
const linked = modules.map(([module], at) => `${JSON.stringify(module)}: transform${at}`);
const bundledBook =
  ruleBook.modules === undefined
    ? ruleBook
    : {
        ...ruleBook,
        modules: Object.fromEntries(modules.map(([module, { exports }]) => [module, { exports }])),
      };
mkdirSync(folder, { recursive: true });
writeFileSync(
  new URL('rule-book.js', folder),
  `${imports.join('')}export const ruleBook = ${JSON.stringify(bundledBook, null, 1)};\nexport const transforms = {${linked.join(', ')}};\n`,
);
process.stderr.write(
  `rule book ${path} compiled: ${counted(ruleBook.changes.length, 'change')}, hash ${ruleBook.hash}\n`,
);
// The validator is in the bundle only if there is something to validate with.
writeFileSync(
  new URL('v2-schemas.js', folder),
  description === undefined
    ? 'export const v2Schemas = undefined;\n'
    : `import { BodySchemas } from '../../src/openapi/body-schemas.ts';\nexport const v2Schemas = new BodySchemas(${JSON.stringify(requestDescription(description))});\nv2Schemas.prepare();\n`,
);
