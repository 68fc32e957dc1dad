import { gzipSync } from 'node:zlib';
import type { Plugin } from 'esbuild';
import type { RuleBook } from '../src/rules/rule-book.ts';
import { bundleModules } from './bundle-modules.ts';
import { kindsOf } from './kinds-of-book.ts';

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
  /** For a worker: whether to count all of its modules, or those that an isolate evaluates before its first request. */
  readonly modules?: 'all' | 'first';
}

/** The edge worker, as config/compile-rules.ts bundles it. */
const EDGE_WORKER = `export { default, RolloutObject } from './edge/main.ts';`;

const MIGRATION = `export { createMigration } from './library/capture-gateway.ts';\n`;

/** The bundles whose sizes docs/library.md tells, and the edge worker. */
export const BUNDLES: readonly Bundle[] = [
  {
    name: 'engine alone: request rules on bytes (`capture-gateway/rewrite/plan`)',
    source: `export { compilePlans } from './rewrite/plan.ts';`,
    limit: 23_700,
  },
  {
    name: '`createMigration`: decision, header fields, requests and responses',
    source: MIGRATION,
    limit: 92_000,
  },
  {
    name: '`createMigration` and `migrateFetch`',
    source: `${MIGRATION}export { migrateFetch } from './library/fetch.ts';`,
    limit: 94_000,
  },
  {
    name: '`createMigration` and `migrateV1`, without Hono itself',
    source: `${MIGRATION}export { migrateV1 } from './library/hono.ts';`,
    external: ['hono/*'],
    limit: 95_000,
  },
  {
    name: '`createMigration` and `readRuleBook`, with YAML and zod',
    source: `${MIGRATION}export { readRuleBook } from './library/capture-gateway.ts';`,
  },
  {
    name: 'the rule book that ships (`capture-gateway/rule-book`)',
    source: `export { ruleBook } from '../dist/edge/rule-book.js';`,
  },
  // The platform allows 3 MB; what an isolate evaluates before its first response costs each client that meets a new one.
  {
    name: 'edge worker before its first request, with the rule book that ships',
    source: EDGE_WORKER,
    modules: 'first',
    limit: 112_900,
  },
  {
    name: 'edge worker, with what it imports when it is asked for it',
    source: EDGE_WORKER,
    modules: 'all',
    limit: 179_100,
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
export async function makeBundle(
  { source, external = [], modules }: Bundle,
  ruleBook?: RuleBook,
): Promise<MadeBundle> {
  const isWorker = modules !== undefined;
  const made = await bundleModules(source, {
    external,
    plugins:
      ruleBook === undefined ? [] : [generated(ruleBook), ...(isWorker ? [await kindsOf(ruleBook)] : [])],
    splitting: isWorker,
  });
  const counted = made.filter(({ isFirst }) => isFirst || modules === 'all').map(({ contents }) => contents);
  const whole = Buffer.concat(counted);
  return {
    text: whole.toString(),
    minified: whole.length,
    gzipped: gzipSync(whole, { level: 9 }).length,
  };
}

/** The modules that Wrangler's build generates. */
function generated(ruleBook: RuleBook): Plugin {
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
