import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type * as esbuild from 'esbuild';
import { DOCUMENT, pageDocument } from '../../inspector/routes/page-files.ts';

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
