import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, readFileSync, rmSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';
import { pageFiles } from '../src/inspector/page-files.ts';

// `npm run build`: modules without types into dist/, with declarations, and the sources that the inspector page is made of.
const from = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

rmSync(from('dist'), { recursive: true, force: true });
execFileSync(
  process.execPath,
  [from('node_modules/typescript/bin/tsc'), '-p', from('config/tsconfig.build.json')],
  {
    stdio: 'inherit',
  },
);
pageFiles({
  read: (path) => {
    cpSync(from(`src/${path}`), from(`dist/${path}`));
    return readFileSync(from(`src/${path}`), 'utf8');
  },
  stripTypes: (source) => stripTypeScriptTypes(source),
  readLibrary: () => '',
});
chmodSync(from('dist/cli/main.js'), 0o755);
