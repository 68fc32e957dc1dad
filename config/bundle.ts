import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';

/** Programs of the gateway and its threads: one module in the place of eight hundred is found, read and compiled in half the time. */
const PROGRAMS = [
  'cli/main',
  'cli/worker',
  'cli/health',
  'node/threads/rewriting-worker',
  'node/threads/operator-worker',
  'node/threads/description-worker',
  'node/threads/transform-worker',
  'node/rollout/file-worker',
  'cli/draft/v2-description-worker',
] as const;

/**
 * Bundles the programs with their dependencies into `dist/bundle`, and has the modules of the same names import them. Of the other
 * modules and declarations those stay that the package exports or that these import: no code is in the package without a use.
 */
export async function bundlePrograms(dist: string, exported: readonly string[]): Promise<void> {
  const folder = join(dist, 'bundle');
  await build({
    entryPoints: PROGRAMS.map((name) => join(dist, `${name}.js`)),
    outdir: folder,
    // Modules that look for files beside them are all in one folder: see ownAddresses.
    entryNames: '[name]',
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
    external: ['undici/*', '@redis/client', '@opentelemetry/*', 'fast-check'],
    // Dependencies in CommonJS call it.
    banner: {
      js: "import { createRequire as requireOfBundle } from 'node:module'; const require = requireOfBundle(import.meta.url);",
    },
    plugins: [ownAddresses(dist, folder), lazyHttp],
  });
  const launchers = ['cli/capture-gateway.js', 'cli/node-version.js'].map((name) => join(dist, name));
  const roots = exported.flatMap((name) => [join(dist, `${name}.js`), join(dist, `${name}.d.ts`)]);
  const used = new Set(launchers);
  for (const path of roots) reached(path, used);
  for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    const path = join(dist, name);
    if (/^(?:bundle|edge|page)\//.test(name) || !/\.(?:js|d\.ts)$/.test(name) || used.has(path)) continue;
    rmSync(path);
  }
  for (const name of PROGRAMS) {
    const path = join(dist, `${name}.js`);
    const target = relative(dirname(path), join(folder, basename(path)));
    writeFileSync(path, `import '${target}';\n`);
  }
}

/** Adds a module or declaration with all that it imports, by their paths. */
function reached(path: string, found: Set<string>): void {
  if (found.has(path)) return;
  found.add(path);
  const ending = path.endsWith('.d.ts') ? '.d.ts' : '.js';
  for (const [, specifier = ''] of readFileSync(path, 'utf8').matchAll(
    /(?:from|import\(|import) *'(\.[^']+)\.js'/g,
  ))
    reached(`${join(dirname(path), specifier)}${ending}`, found);
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
