import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { constants, gzipSync } from 'node:zlib';
import type * as esbuild from 'esbuild';
import type { PageFile } from '../../inspector/api.ts';
import { DOCUMENT, pageDocument, pageFiles } from '../../inspector/routes/page-routes.ts';

/** Loads the inspector page: the bundle of the build output, or one made of the sources of a checkout. */
export function loadInspectorPage(): ReadonlyMap<string, PageFile> {
  const built = new URL('../../page/', import.meta.url);
  return pageFiles(
    existsSync(built) ? readBundle(built) : bundlePage(),
    (body) => new Uint8Array(gzipSync(body, { level: constants.Z_BEST_COMPRESSION })),
  );
}

function readBundle(folder: URL): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
  return new Map(
    readdirSync(folder).map((name) => [name, new Uint8Array(readFileSync(new URL(name, folder)))]),
  );
}

/**
 * Bundles the inspector page from its sources with esbuild, in about a third of a second: the files by name, with their hash in
 * the name. The build output holds them, so that only a checkout needs esbuild.
 */
export function bundlePage(): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
  const { buildSync }: typeof esbuild = createRequire(import.meta.url)('esbuild');
  const folder = new URL('../../inspector/page/', import.meta.url);
  const { outputFiles } = buildSync({
    absWorkingDir: fileURLToPath(folder),
    entryPoints: { inspector: 'main.ts', 'inspector-style': 'style/page.css' },
    entryNames: '[name]-[hash]',
    outdir: '.',
    bundle: true,
    minify: true,
    write: false,
    // No module: browsers send an `Origin` for those, which a proxy with a Host of its own makes foreign.
    format: 'iife',
    target: 'es2024',
    charset: 'utf8',
    legalComments: 'none',
  });
  const files = new Map(
    outputFiles.map(({ path, contents }) => [
      path.slice(path.lastIndexOf('/') + 1),
      new Uint8Array(contents),
    ]),
  );
  const named = (end: string): string => [...files.keys()].find((name) => name.endsWith(end)) ?? '';
  const html = pageDocument(readFileSync(new URL('page.html', folder), 'utf8'), {
    style: named('.css'),
    script: named('.js'),
    icon: readFileSync(new URL('icon.svg', folder), 'utf8'),
  });
  return files.set(DOCUMENT, new TextEncoder().encode(html));
}
