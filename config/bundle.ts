import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';

/** Programs that start a gateway: one module in the place of eight hundred is found, read and compiled in half the time. */
const PROGRAMS = ['main', 'worker'] as const;

/**
 * Bundles the programs of `dist/cli` with their dependencies into `dist/bundle`, and has the modules of the same names import them.
 * The modules stay, for whoever imports them as a library, and for threads.
 */
export async function bundlePrograms(dist: string): Promise<void> {
  const folder = join(dist, 'bundle');
  await build({
    entryPoints: PROGRAMS.map((name) => join(dist, 'cli', `${name}.js`)),
    outdir: folder,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    legalComments: 'none',
    logLevel: 'warning',
    // The package says that its modules have no side effects, for whoever imports them; the check of Node's version has one.
    ignoreAnnotations: true,
    // Loaded by few commands and settings, and not before they are used.
    external: ['undici/*', '@redis/client', 'fast-check'],
    // Dependencies in CommonJS call it.
    banner: {
      js: "import { createRequire as requireOfBundle } from 'node:module'; const require = requireOfBundle(import.meta.url);",
    },
    plugins: [ownAddresses(dist, folder), lazyHttp],
  });
  for (const name of PROGRAMS)
    writeFileSync(join(dist, 'cli', `${name}.js`), `import '../bundle/${name}.js';\n`);
}

/** Modules find files beside them; in the bundle, they are beside other modules. */
function ownAddresses(dist: string, folder: string): Plugin {
  return {
    name: 'own-addresses',
    setup(setup) {
      setup.onLoad({ filter: /\.js$/ }, ({ path }) => {
        if (!path.startsWith(dist)) return undefined;
        const text = readFileSync(path, 'utf8');
        const address = `new URL(${JSON.stringify(relative(folder, path))}, import.meta.url).href`;
        return { contents: text.replaceAll('import.meta.url', address), loader: 'js' };
      });
    },
  };
}

/** Importing `node:http` reads all its exports, some of which load a whole client; `require` reads those that are used. */
const lazyHttp: Plugin = {
  name: 'lazy-http',
  setup(setup) {
    setup.onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) =>
      kind === 'require-call' ? undefined : { path: 'http', namespace: 'required' },
    );
    setup.onLoad({ filter: /./, namespace: 'required' }, () => ({
      contents: "module.exports = require('node:http');",
      loader: 'js',
    }));
  },
};
