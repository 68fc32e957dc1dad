import { existsSync, readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import type { PageFile } from '../inspector/api.ts';
import { pageFiles } from '../inspector/page-files.ts';

/** Reads the inspector page from the installed sources: about 40 small files in some 60 ms. Throws when one is missing. */
export function loadInspectorPage(): ReadonlyMap<string, PageFile> {
  // The build output keeps them in a separate folder, or a compiler would take them for the types of the modules beside them.
  const built = new URL('../page/', import.meta.url);
  const sources = existsSync(built) ? built : new URL('../', import.meta.url);
  return pageFiles({
    read: (path) => readFileSync(new URL(path, sources), 'utf8'),
    stripTypes: (source) => withoutWarning(() => stripTypes(source)),
    readLibrary: (name) => readFileSync(new URL(import.meta.resolve(name)), 'utf8'),
  });
}

/** Bun has no function to strip types; the build output contains none. */
function stripTypes(source: string): string {
  return 'stripTypeScriptTypes' in nodeModule ? nodeModule.stripTypeScriptTypes(source) : source;
}

/** Node 24 warns on stderr that stripping types may still change, and an operator can do nothing about it. */
function withoutWarning<Result>(work: () => Result): Result {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = (): void => {};
  try {
    return work();
  } finally {
    process.emitWarning = emitWarning;
  }
}
