import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type BuildOptions, type Plugin, transform } from 'esbuild';

/** A module of a bundle. */
interface BundledModule {
  /** Its file's name; the entry is `main.js`. */
  readonly name: string;
  readonly contents: Uint8Array;
  /** True for the entry and all that it imports; false for what waits for an `import()`. */
  readonly isFirst: boolean;
}

/** What to bundle besides the module itself. */
interface BundleParts extends Pick<BuildOptions, 'plugins'> {
  /** What the user's bundle has anyway. */
  readonly external?: readonly string[];
  /** Makes modules of their own of what is imported with `import()`. */
  readonly splitting?: boolean;
}

/** Nothing is written there. */
const OUT = fileURLToPath(new URL('../dist/', import.meta.url));

const COMMON = {
  absWorkingDir: OUT,
  outdir: OUT,
  entryNames: 'main',
  bundle: true,
  format: 'esm',
  target: 'es2024',
  platform: 'neutral',
  legalComments: 'none',
} as const satisfies BuildOptions;

/** Bundles a module with imports below `src`. */
export async function bundleModules(
  source: string,
  { external = [], plugins = [], splitting = false }: BundleParts,
): Promise<readonly BundledModule[]> {
  const { outputFiles, metafile } = await build({
    ...COMMON,
    stdin: {
      contents: source,
      resolveDir: fileURLToPath(new URL('../src/', import.meta.url)),
      sourcefile: 'main.ts',
      loader: 'ts',
    },
    splitting,
    plugins,
    minify: !splitting,
    metafile: true,
    external: ['cloudflare:*', 'node:*', ...external],
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
    write: false,
  });
  if (!splitting) return outputFiles.map(({ contents }) => ({ name: 'main.js', contents, isFirst: true }));
  const first = new Set<string>();
  const take = (name: string): void => {
    if (first.has(name)) return;
    first.add(name);
    for (const { path, kind } of metafile.outputs[name]?.imports ?? [])
      if (kind === 'import-statement') take(path);
  };
  take('main.js');
  const texts = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
  return joined(texts, first, metafile.outputs['main.js']?.exports ?? []);
}

/** The module with all code that is evaluated first. The entry exports no more than the platform looks for. */
const FIRST = 'first.js';

/**
 * Joins the modules that are evaluated first, which esbuild keeps apart where others share them: what imports and exports say costs 5 %
 * of the code.
 */
async function joined(
  texts: ReadonlyMap<string, string>,
  first: ReadonlySet<string>,
  exports: readonly string[],
): Promise<readonly BundledModule[]> {
  const used = new Map<string, SharedName>();
  const others = [...texts].flatMap(([name, text]) =>
    first.has(name) ? [] : [{ name, text: withSharedNames(text, first, used) }],
  );
  const shared = [...used].map(([name, { from, as }]) => `export { ${name} as ${as} } from './${from}';\n`);
  const { outputFiles } = await build({
    ...COMMON,
    stdin: {
      contents: `export { ${exports.join(', ')} } from './main.js';\n${shared.join('')}`,
      resolveDir: OUT,
    },
    plugins: [texted(texts, first)],
    minify: true,
    external: ['cloudflare:*', 'node:*'],
    write: false,
  });
  const entry = new TextEncoder().encode(`export{${exports.join(',')}}from"./${FIRST}";\n`);
  return [
    { name: 'main.js', contents: entry, isFirst: true },
    ...outputFiles.map(({ contents }) => ({ name: FIRST, contents, isFirst: true })),
    ...(await Promise.all(
      others.map(async ({ name, text }) => {
        const { code } = await transform(text, { minify: true, format: 'esm', target: COMMON.target });
        return { name, contents: new TextEncoder().encode(code), isFirst: false };
      }),
    )),
  ];
}

/** An import as esbuild writes it. */
const IMPORT = /^import (?:\{([^}]*)\} from )?"\.\/([\w.-]+)";$/gm;

/** A name that the joined module exports for others: the module that has it, and what it is called there. */
interface SharedName {
  readonly from: string;
  readonly as: string;
}

/** Has a module import from the joined one what it imports from those that are evaluated first, and notes these names. */
function withSharedNames(text: string, first: ReadonlySet<string>, used: Map<string, SharedName>): string {
  return text.replaceAll(IMPORT, (statement, names: string | undefined, from: string) => {
    if (!first.has(from)) return statement;
    const shared = (names?.split(',') ?? []).map((pair) => {
      const [name = '', local = name] = pair.trim().split(' as ');
      const known = used.get(name) ?? { from, as: `s${used.size.toString(36)}` };
      if (known.from !== from) throw new Error(`Two modules export ${name}.`);
      used.set(name, known);
      return `${known.as} as ${local}`;
    });
    return shared.length === 0 ? '' : `import { ${shared.join(', ')} } from "./${FIRST}";`;
  });
}

/** The modules that were bundled, by name; what is imported with `import()` stays where it is. */
function texted(texts: ReadonlyMap<string, string>, first: ReadonlySet<string>): Plugin {
  return {
    name: 'texted',
    setup: (context) => {
      context.onResolve({ filter: /^\.\/[\w.-]+\.js$/ }, ({ path }) => {
        const name = basename(path);
        return first.has(name) ? { path: name, namespace: 'texted' } : { path, external: true };
      });
      context.onLoad({ filter: /.*/, namespace: 'texted' }, ({ path }) => ({
        contents: texts.get(path) ?? '',
      }));
    },
  };
}
