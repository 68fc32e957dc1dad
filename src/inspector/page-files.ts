import type { PageFile } from './api.ts';

/** The sources of the page, from a runtime that can read files. Paths begin at `src/`. */
export interface PageSources {
  read(path: string): string;
  /** Strips the types from a TypeScript module, leaving lines in place. */
  stripTypes(source: string): string;
  /** A library module as published, by its import specifier. */
  readLibrary(name: string): string;
}

/** The libraries that the page may import, and their paths. */
const LIBRARIES: Readonly<Record<string, string>> = {
  preact: 'page/preact.js',
  'preact/hooks': 'page/preact-hooks.js',
};

const MAIN = 'inspector/page/main.ts';

const PLAIN = [
  { path: 'inspector/page/style/tokens.css', mediaType: 'text/css; charset=utf-8' },
  { path: 'inspector/page/style/base.css', mediaType: 'text/css; charset=utf-8' },
  { path: 'inspector/page/style/traffic.css', mediaType: 'text/css; charset=utf-8' },
  { path: 'inspector/page/style/detail.css', mediaType: 'text/css; charset=utf-8' },
  { path: 'inspector/page/style/views.css', mediaType: 'text/css; charset=utf-8' },
  { path: 'inspector/page/icon.svg', mediaType: 'image/svg+xml' },
] as const;

/**
 * Assembles the page: files by URL path, from `/`. Modules are laid out as under `src/`, so that their own relative imports
 * resolve; the set of modules follows from the imports of `main.ts`. Throws when a module imports a library that the page does
 * not serve.
 */
export function pageFiles(sources: PageSources): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>();
  const modules = [MAIN];
  for (const path of modules) {
    const source = sources.stripTypes(sources.read(path));
    for (const [, specifier = ''] of source.matchAll(IMPORT)) {
      const imported = specifier.startsWith('.') ? resolve(path, specifier) : undefined;
      if (imported !== undefined && !modules.includes(imported)) modules.push(imported);
    }
    files.set(`/page/${path}`, script(pointAtLibraries(source, path)));
  }
  for (const [name, path] of Object.entries(LIBRARIES)) {
    files.set(`/${path}`, script(pointAtLibraries(sources.readLibrary(name), path.slice('page/'.length))));
  }
  for (const { path, mediaType } of PLAIN)
    files.set(`/page/${path}`, { mediaType, body: sources.read(path) });
  const paths = [...modules.map((path) => `page/${path}`), ...Object.values(LIBRARIES)];
  files.set('/', { mediaType: 'text/html; charset=utf-8', body: page(sources, paths) });
  return files;
}

const IMPORT = /\b(?:from|import)\s*["']([^"']+)["']/g;

function script(body: string): PageFile {
  return { mediaType: 'text/javascript; charset=utf-8', body };
}

/** Rewrites bare specifiers to paths: an import map would have to be inline, which the page's policy forbids. */
function pointAtLibraries(source: string, path: string): string {
  const up = '../'.repeat(path.split('/').length - 1);
  return source.replaceAll(IMPORT, (statement, specifier: string) => {
    if (specifier.startsWith('.')) return statement;
    const library = LIBRARIES[specifier];
    if (library === undefined) throw new Error(`The page imports ${specifier}, which it does not serve.`);
    const address = `${up === '' ? './' : up}${library.slice('page/'.length)}`;
    return statement.replace(specifier, address);
  });
}

function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

/** The document preloads its modules: otherwise the browser discovers them level by level, one round trip each. */
function page(sources: PageSources, modules: readonly string[]): string {
  const preloads = modules.map((path) => `<link rel="modulepreload" href="${path}">`).join('\n    ');
  return sources.read('inspector/page/page.html').replace('<!-- modules -->', preloads);
}
