import type { PageFile } from '../api.ts';

/** Media types of the page's files, by extension. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

/** The name of the document among the files of the bundle. */
export const DOCUMENT = 'index.html';

/**
 * Lays out the bundle of the page as files by URL path, each also compressed by `gzip`. The document is asked for anew each time;
 * everything else has its hash in its name and is kept by browsers for good.
 */
export function pageFiles(
  bundle: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
  gzip: (body: Uint8Array) => Uint8Array<ArrayBuffer>,
): ReadonlyMap<string, PageFile> {
  return new Map(
    [...bundle].map(([name, body]) => {
      const mediaType = MEDIA_TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
      const file: PageFile = { mediaType, body, gzip: gzip(body), isHashed: name !== DOCUMENT };
      return [name === DOCUMENT ? '/' : `/page/${name}`, file];
    }),
  );
}

/** Puts the addresses of style and script into the document, and the icon, so that it needs no request. */
export function pageDocument(
  html: string,
  { style, script, icon }: { readonly style: string; readonly script: string; readonly icon: string },
): string {
  return html
    .replace('<!-- icon -->', `<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}" />`)
    .replace('<!-- style -->', `<link rel="stylesheet" href="page/${style}" />`)
    .replace('<!-- script -->', `<script defer src="page/${script}"></script>`);
}
