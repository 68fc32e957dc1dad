import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

// `npm run test:changed`: runs the tests of all tiers that depend on what the working tree has changed since the last commit, or since
// the commit that is named. A module counts for whoever imports it (test/support/product.ts imports the program that tests start);
// any other file, such as a rule book, a page or a text case, for the modules that name it. Flags go to vitest: `-- --project fast`.
const root = fileURLToPath(new URL('..', import.meta.url));
const given = process.argv.slice(2);
const since = given[0]?.startsWith('-') === false ? given[0] : 'HEAD';
const flags = given.filter((word) => word !== since);

const changed = [...git('diff', '--name-only', since), ...git('ls-files', '--others', '--exclude-standard')];
const modules = git(
  'ls-files',
  '--cached',
  '--others',
  '--exclude-standard',
  'src',
  'test',
  'config',
  'bench',
).filter((path) => /\.(?:ts|tsx|js)$/.test(path) && existsSync(`${root}${path}`));
const related = new Set<string>();
for (const path of changed) {
  if (modules.includes(path)) related.add(path);
  else for (const module of modules.filter((one) => names(one, basename(path)))) related.add(module);
}

if (related.size === 0) console.log(`Nothing has changed since ${since}.`);
else {
  const isWhole = existsSync(`${root}test/node_modules`) && existsSync(`${root}deploy/edge/node_modules`);
  if (!isWhole) console.log('test/system.sh has not run: tests of the tier system are left out.');
  const vitest = [
    'node_modules/vitest/vitest.mjs',
    'related',
    '--run',
    '--config',
    'config/vitest.config.ts',
  ];
  const { status } = spawnSync(
    process.execPath,
    [...vitest, '--passWithNoTests', ...(isWhole ? [] : ['--project', '!system']), ...flags, ...related],
    {
      cwd: root,
      stdio: 'inherit',
    },
  );
  process.exitCode = status ?? 1;
}

function git(...words: readonly string[]): readonly string[] {
  return execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);
}

function names(module: string, file: string): boolean {
  return readFileSync(`${root}${module}`, 'utf8').includes(file);
}
