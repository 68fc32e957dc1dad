import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { auditDependencies } from '../../config/release/audit.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = new URL('../../', import.meta.url);
const HASH = { integrity: 'sha512-AAAA' };

/** A project with these dependencies and this lock; everything is installed. */
function project(manifest: object, packages: Readonly<Record<string, object>>): URL {
  const folder = temporaryFolder('audit');
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ dependencies: {}, allowScripts: {}, ...manifest }),
  );
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...packages } }));
  for (const [path, { version = '' }] of Object.entries(packages) as [string, { version?: string }][]) {
    mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, path, 'package.json'), JSON.stringify({ version }));
  }
  return pathToFileURL(`${folder}/`);
}

test('the dependencies of the project pass', () => {
  expect(auditDependencies(root)).toEqual([]);
});

test.each([
  [
    'a range',
    { dependencies: { a: '^1.0.0' } },
    {},
    'package.json asks for a ^1.0.0, which is not an exact version.',
  ],
  ['no hash', {}, { version: '1.0.0', license: 'MIT' }, 'a 1.0.0 has no SHA-512 in the lock.'],
  [
    'another source',
    {},
    { ...HASH, version: '1.0.0', license: 'MIT', resolved: 'git+ssh://git@example.org/a.git' },
    'a 1.0.0 does not come from the registry.',
  ],
  [
    'an install script in development without a decision',
    {},
    { ...HASH, version: '1.0.0', dev: true, hasInstallScript: true },
    'a 1.0.0 (node_modules/a) has an install script that package.json does not decide on.',
  ],
  [
    'an install script that ships',
    { allowScripts: { a: true } },
    { ...HASH, version: '1.0.0', license: 'MIT', hasInstallScript: true },
    'a 1.0.0 ships, and has an install script.',
  ],
  [
    'a licence with conditions',
    {},
    { ...HASH, version: '1.0.0', license: 'AGPL-3.0-only' },
    'a 1.0.0 ships, and its licence is AGPL-3.0-only.',
  ],
  ['no licence', {}, { ...HASH, version: '1.0.0' }, 'a 1.0.0 ships, and its licence is not declared.'],
])('%s is a fault', (_title, manifest, locked, fault) => {
  const packages = Object.keys(locked).length === 0 ? {} : { 'node_modules/a': locked };
  expect(auditDependencies(project(manifest, packages))).toEqual([fault]);
});

test('a package that is missing, or installed in another version than locked, is a fault', () => {
  const a = { ...HASH, version: '1.0.0', license: 'MIT' };
  const other = project({}, { 'node_modules/a': a });
  writeFileSync(new URL('node_modules/a/package.json', other), '{"version":"1.0.1"}');
  expect(auditDependencies(other)).toEqual(['a is installed in 1.0.1, and locked in 1.0.0: run npm ci.']);
  const folder = temporaryFolder('bare');
  for (const file of ['package.json', 'package-lock.json'])
    symlinkSync(fileURLToPath(new URL(file, other)), join(folder, file));
  expect(auditDependencies(pathToFileURL(`${folder}/`))).toEqual(['a 1.0.0 is not installed: run npm ci.']);
});
