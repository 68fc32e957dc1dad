import { existsSync, readFileSync } from 'node:fs';
import { type LockedPackage, lockedPackages, productionPackages } from './locked-packages.ts';
import { type Manifest, readManifest } from './manifest.ts';

/** Licences that a package which ships may have: permissive ones, whose text is all that they ask for. */
const ALLOWED_LICENSES: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
]);

/**
 * Audits the dependencies in `root` without a network: exact versions, hashes, sources, install scripts, licences, and what is
 * installed against the lock file. Returns one sentence for each fault. Ages and advisories are not known offline.
 */
export function auditDependencies(root: URL): readonly string[] {
  const manifest = readManifest(root);
  const packages = lockedPackages(root);
  return [
    ...inexactVersions(manifest),
    ...packages.flatMap((locked) => lockFaults(locked, manifest)),
    ...productionPackages(packages).flatMap((locked) => [
      ...shippedFaults(locked),
      ...installedFaults(locked, root),
    ]),
  ];
}

/** A range would let the next `npm install` choose. */
function inexactVersions({ dependencies, devDependencies }: Manifest): readonly string[] {
  return Object.entries({ ...dependencies, ...devDependencies })
    .filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(version))
    .map(([name, version]) => `package.json asks for ${name} ${version}, which is not an exact version.`);
}

function lockFaults(
  { name, version, integrity, resolved, hasInstallScript, path }: LockedPackage,
  { allowScripts }: Manifest,
): readonly string[] {
  const faults: string[] = [];
  if (integrity?.startsWith('sha512-') !== true)
    faults.push(`${name} ${version} has no SHA-512 in the lock.`);
  if (resolved !== undefined && !resolved.startsWith('https://registry.npmjs.org/'))
    faults.push(`${name} ${version} does not come from the registry.`);
  if (hasInstallScript && allowScripts[name] === undefined)
    faults.push(`${name} ${version} (${path}) has an install script that package.json does not decide on.`);
  return faults;
}

function shippedFaults({ name, version, license, hasInstallScript }: LockedPackage): readonly string[] {
  const faults: string[] = [];
  if (hasInstallScript) faults.push(`${name} ${version} ships, and has an install script.`);
  if (license === undefined || !ALLOWED_LICENSES.has(license))
    faults.push(`${name} ${version} ships, and its licence is ${license ?? 'not declared'}.`);
  return faults;
}

function installedFaults({ name, version, path }: LockedPackage, root: URL): readonly string[] {
  const file = new URL(`${path}/package.json`, root);
  if (!existsSync(file)) return [`${name} ${version} is not installed: run npm ci.`];
  const installed: { readonly version?: string } = JSON.parse(readFileSync(file, 'utf8'));
  if (installed.version === version) return [];
  return [`${name} is installed in ${installed.version}, and locked in ${version}: run npm ci.`];
}

if (import.meta.main) {
  const root = new URL('../../', import.meta.url);
  const faults = auditDependencies(root);
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
  else {
    const count = productionPackages(lockedPackages(root)).length;
    console.log(`${count} packages ship: exact, hashed, permissive, without install scripts.`);
    console.log('Not known offline: ages and advisories (npm view <name> time, npm audit).');
  }
}
