import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundlePrograms } from './bundle.ts';
import { gzipSync } from 'node:zlib';
import { bundlePage } from '../src/cli/serve/serving-files.ts';
import { readRuleBook } from '../src/rules/read-rule-book.ts';
import { BUNDLES, makeBundle } from './bundle-sizes.ts';

// `npm run build`: modules without types into dist/, with declarations, the bundle of the inspector page, and the rule book that
// ships as a module; prints the sizes of bundles.
const from = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

mkdirSync(from('dist'), { recursive: true });
// The rule book of the worker is Wrangler's build's, which may run at the same time.
for (const name of readdirSync(from('dist')).filter((entry) => entry !== 'edge'))
  rmSync(from(`dist/${name}`), { recursive: true });
execFileSync(
  process.execPath,
  [from('node_modules/typescript/bin/tsc'), '-p', from('config/tsconfig.build.json')],
  {
    stdio: 'inherit',
  },
);
// Plain JavaScript, which the compiler leaves out.
for (const name of ['capture-gateway.js', 'node-version.js'])
  copyFileSync(from(`src/cli/${name}`), from(`dist/cli/${name}`));
mkdirSync(from('dist/page'));
for (const [name, body] of bundlePage()) {
  writeFileSync(from(`dist/page/${name}`), body);
  const compressed = gzipSync(body, { level: 9 }).length;
  process.stdout.write(`dist/page/${name} ${body.length} bytes, ${compressed} compressed\n`);
}
for (const name of readdirSync(from('dist'), { recursive: true, encoding: 'utf8' })) {
  if (!name.endsWith('.d.ts')) continue;
  // The compiler leaves these as they are, and not every tool takes .ts for .d.ts.
  const text = readFileSync(from(`dist/${name}`), 'utf8');
  writeFileSync(from(`dist/${name}`), text.replaceAll(/((?:from|import\() *'\.[^']+)\.ts'/g, "$1.js'"));
}
const source = readFileSync(from('config/rules.yaml'), 'utf8');
const reading = await readRuleBook(source, 'config/rules.yaml');
if (!reading.ok)
  throw new Error(reading.faults.map(({ line, message }) => `line ${line}: ${message}`).join('\n'));
const { ruleBook } = reading;
writeFileSync(
  from('dist/library/shipped-rule-book.js'),
  `/** The rule book that ships, checked and without YAML. */\nexport const ruleBook = ${JSON.stringify(ruleBook, undefined, 1)};\n/** The SHA-256 of the text that it was read from, in hex digits. */\nexport const sourceSha256 = '${createHash('sha256').update(source).digest('hex')}';\n`,
);
writeFileSync(
  from('dist/library/shipped-rule-book.d.ts'),
  `import type { RuleBook } from '../rules/rule-book.js';\n/** The rule book that ships, checked and without YAML. */\nexport declare const ruleBook: RuleBook;\n/** The SHA-256 of the text that it was read from, in hex digits. */\nexport declare const sourceSha256: string;\n`,
);
await bundlePrograms(from('dist'), exportedModules());
console.log('bundles, minified and gzipped:');
for (const bundle of BUNDLES) {
  const { gzipped, minified } = await makeBundle(bundle, ruleBook);
  const size = (gzipped / 1000).toFixed(1).padStart(6);
  console.log(`${size} kB  ${bundle.name.replaceAll('`', '')} (${(minified / 1000).toFixed(1)} kB minified)`);
}

/** The modules that the package exports, without their endings, below `dist`. */
function exportedModules(): readonly string[] {
  const { exports }: { readonly exports: Readonly<Record<string, string | { readonly default: string }>> } =
    JSON.parse(readFileSync(from('package.json'), 'utf8'));
  const files = readdirSync(from('dist'), { recursive: true, encoding: 'utf8' });
  return Object.values(exports).flatMap((target) => {
    const [, pattern] =
      /^\.\/dist\/(.+)\.js$/.exec(typeof target === 'string' ? target : target.default) ?? [];
    if (pattern === undefined) return [];
    const [before = '', after] = pattern.split('*');
    if (after === undefined) return [pattern];
    return files
      .filter((file) => file.startsWith(before) && file.endsWith('.js'))
      .map((file) => file.slice(0, -'.js'.length));
  });
}
