import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { constants, gzipSync } from 'node:zlib';
import type { PageFile } from '../../inspector/api.ts';
import { pageFiles } from '../../inspector/routes/page-files.ts';
import { bundlePage } from './bundle-page.ts';

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
