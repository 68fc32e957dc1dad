import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The packages beside the main one, and why `npm ci` does not install them. */
const PACKAGES: Readonly<Record<string, string>> = {
  bench: 'other proxies to measure beside',
  'deploy/edge': 'Wrangler and workerd, 200 MB that only the edge needs',
  test: 'Bun, Deno and validators, 300 MB that only the tests of the system need',
};

const root = new URL('../', import.meta.url);

/** Installs a package as its lock file says, unless it is there already; returns the exit code of npm. */
export function installPackage(name: string): number {
  const lock = readFileSync(new URL(`${name}/package-lock.json`, root), 'utf8');
  const installed = new URL(`${name}/node_modules/.installed-lock.json`, root);
  if (existsSync(installed) && readFileSync(installed, 'utf8') === lock) return 0;
  console.error(`Installing ${name} for the first time takes a moment: ${PACKAGES[name] ?? name}.`);
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: fileURLToPath(new URL(name, root)),
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) return status ?? 1;
  writeFileSync(installed, lock);
  return 0;
}

// `node config/install-packages.ts NAME…`
if (import.meta.main)
  for (const name of process.argv.slice(2)) {
    process.exitCode = installPackage(name);
    if (process.exitCode !== 0) break;
  }
