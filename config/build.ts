import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname } from 'node:path';
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
    const source = readFileSync(from(`src/${path}`), 'utf8');
    mkdirSync(dirname(from(`dist/${path}`)), { recursive: true });
    // Without types already: Bun, for one, could not take them off when the page is opened.
    writeFileSync(from(`dist/${path}`), path.endsWith('.ts') ? stripTypeScriptTypes(source) : source);
    return source;
  },
  stripTypes: (source) => source,
  readLibrary: () => '',
});
chmodSync(from('dist/cli/main.js'), 0o755);
