import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';

/** A bundle as a user of the package makes it: what it imports, and the most that it may weigh. */
export interface Bundle {
  /** As in the table of docs/library.md. */
  readonly name: string;
  /** The module that is bundled, with imports below `src`. */
  readonly source: string;
  /** Maximum size in bytes, minified and gzipped; absent where another test holds it. */
  readonly limit?: number;
  /** What the user's bundle has anyway. */
  readonly external?: readonly string[];
}

const MIGRATION = `export { createMigration } from './library/capture-gateway.ts';\n`;

/** The bundles whose sizes docs/library.md tells, and the edge worker. */
export const BUNDLES: readonly Bundle[] = [
  {
    name: 'engine alone: request rules on bytes (`capture-gateway/rewrite/plan`)',
    source: `export { compilePlans } from './rewrite/plan.ts';`,
    limit: 20_000,
  },
  {
    name: '`createMigration`: decision, header fields, requests and responses',
    source: MIGRATION,
    limit: 83_000,
  },
  {
    name: '`createMigration` and `migrateFetch`',
    source: `${MIGRATION}export { migrateFetch } from './library/fetch.ts';`,
    limit: 85_000,
  },
  {
    name: '`createMigration` and `migrateV1`, without Hono itself',
    source: `${MIGRATION}export { migrateV1 } from './library/hono.ts';`,
    external: ['hono/*'],
    limit: 86_000,
  },
  {
    name: '`createMigration` and `readRuleBook`, with YAML and zod',
    source: `${MIGRATION}export { readRuleBook } from './library/capture-gateway.ts';`,
  },
  {
    name: 'the rule book that ships (`capture-gateway/rule-book`)',
    source: `export { ruleBook } from '../dist/edge/rule-book.js';`,
  },
  {
    name: 'edge worker, with the rule book that ships',
    source: `export { default } from './edge/main.ts';`,
    // The platform allows 3 MB; each isolate reads and compiles all of it before its first response.
    limit: 175_000,
  },
];

/** A bundle that was made. */
export interface MadeBundle {
  readonly text: string;
  /** Size in bytes, minified. */
  readonly minified: number;
  /** Size in bytes, minified and gzipped. */
  readonly gzipped: number;
}

/** Bundles a module and everything that it imports, as a deployment does; `ruleBook` is that of the edge worker. */
export async function makeBundle({ source, external = [] }: Bundle, ruleBook: unknown): Promise<MadeBundle> {
  const { outputFiles } = await build({
    stdin: {
      contents: source,
      resolveDir: fileURLToPath(new URL('../src/', import.meta.url)),
      loader: 'ts',
    },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2024',
    platform: 'neutral',
    external: ['cloudflare:*', 'node:*', ...external],
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
    plugins: [generated(ruleBook)],
    write: false,
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error('esbuild wrote nothing');
  return {
    text: file.text,
    minified: file.contents.length,
    gzipped: gzipSync(file.contents, { level: 9 }).length,
  };
}

/** The modules that Wrangler's build generates. */
function generated(ruleBook: unknown): Plugin {
  return {
    name: 'generated',
    setup: (context) => {
      context.onResolve({ filter: /\/dist\/edge\/[\w-]+\.js$/ }, ({ path }) => ({
        path,
        namespace: 'generated',
      }));
      context.onLoad({ filter: /rule-book\.js$/, namespace: 'generated' }, () => ({
        contents: `export const ruleBook = ${JSON.stringify(ruleBook)};\nexport const transforms = {};`,
      }));
      context.onLoad({ filter: /v2-schemas\.js$/, namespace: 'generated' }, () => ({
        contents: 'export const v2Schemas = undefined;',
      }));
    },
  };
}
