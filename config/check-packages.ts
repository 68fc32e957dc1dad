import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// The last part of `npm run check:types`: modules that import what only the packages of the tests and of the bench install are checked
// where those are, so that `npm run check` needs nothing but `npm ci`.
const root = new URL('../', import.meta.url);

for (const name of ['test', 'bench']) {
  if (!existsSync(new URL(`${name}/node_modules`, root))) {
    console.log(
      `${name} is not installed: its types are not checked (node config/install-packages.ts ${name}).`,
    );
    continue;
  }
  const { status } = spawnSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '-p', `${name}/tsconfig.json`],
    { cwd: fileURLToPath(root), stdio: 'inherit' },
  );
  if (status !== 0) process.exitCode = 1;
}
