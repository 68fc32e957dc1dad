import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environmentName, settings } from '../src/settings/settings.ts';
import { BodySchemas, requestDescription } from '../src/openapi/body-schemas.ts';
import { readDescription } from '../src/cli/draft/description-file.ts';
import { loadRuleBook } from '../src/node/rule-books.ts';
import { counted } from '../src/rules/words.ts';
import { bundleModules } from './bundle-modules.ts';
import { kindsOf } from './kinds-of-book.ts';

// Wrangler runs this before it uploads or serves the worker: it validates the rule book, so that the worker needs neither YAML nor zod,
// and bundles the worker into modules. Those that the first request does not need wait for an `import()`, which Wrangler would inline.
const folder = new URL('../dist/edge/', import.meta.url);
const path = process.env[environmentName(settings.rules)] || settings.rules.value;
const outcome = await loadRuleBook(path, environmentName(settings.rules));
if ('faults' in outcome) {
  process.stderr.write(outcome.faults.map((fault) => `${fault}\n`).join(''));
  process.exit(2);
}
const openapi = process.env[environmentName(settings.v2Openapi)] || undefined;
const description = openapi === undefined ? undefined : await readDescription(openapi);
if (description !== undefined && 'fault' in description) {
  process.stderr.write(`${String(description.fault)}\n`);
  process.exit(2);
}
try {
  const warnings = description && new BodySchemas(description).warnings(outcome.rules.ruleBook.operations);
  for (const warning of warnings ?? []) process.stderr.write(`warning: ${warning}\n`);
} catch (error) {
  process.stderr.write(`The schemas of ${openapi} cannot be used: ${String(error)}\n`);
  process.exit(2);
}
const { ruleBook } = outcome.rules;
// The bundle has the transforms as code, so that the rule book needs no texts of them; its hash counts them all the same.
const transforms = Object.entries(ruleBook.modules ?? {});
const imports = transforms.map(([module], at) => {
  const file = relative(fileURLToPath(folder), resolve(dirname(path), module)).replaceAll('\\', '/');
  return `import * as transform${at} from ${JSON.stringify(file)};\n`;
});
const linked = transforms.map(([module], at) => `${JSON.stringify(module)}: transform${at}`);
const bundledBook =
  ruleBook.modules === undefined
    ? ruleBook
    : {
        ...ruleBook,
        modules: Object.fromEntries(transforms.map(([module, { exports }]) => [module, { exports }])),
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
// Wrangler uploads every module in this folder, and several builds of one checkout may be under way.
const worker = new URL('worker/', folder);
mkdirSync(worker, { recursive: true });
const modules = await bundleModules(`export { default, RolloutObject } from './edge/main.ts';`, {
  splitting: true,
  plugins: [await kindsOf(ruleBook)],
});
for (const { name, contents } of modules) {
  const unfinished = new URL(`${name}.${process.pid}`, worker);
  writeFileSync(unfinished, contents);
  renameSync(unfinished, new URL(name, worker));
}
const names = new Set(modules.map(({ name }) => name));
for (const name of readdirSync(worker))
  if (name.endsWith('.js') && !names.has(name)) rmSync(new URL(name, worker), { force: true });
