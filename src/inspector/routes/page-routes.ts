import type { Hono } from 'hono';
import type { TokenBuckets } from '../../rollout/rate-limit.ts';
import type { PageFile } from '../api.ts';
import { addressOf, type GuardOptions, isSame, type Sessions } from '../guard.ts';
import { bodyFailure, failureBody, readBody, tooManyRequests } from './responses.ts';

/** Maximum bytes of a login body. */
const LOGIN_BYTES = 4096;

/** `gzip` in a list of codings (RFC 9110 §12.5.3), unless its weight is 0. */
const GZIP = /(?:^|,)\s*(?:x-)?gzip\s*(?:,|$|;\s*q=(?!0(?:\.0{0,3})?\s*(?:,|$)))/i;

const FOR_GOOD = 'public, max-age=31536000, immutable';

/** Media types of the page's files, by extension. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

/** The name of the document among the files of the bundle. */
export const DOCUMENT = 'index.html';

/** Serves the page. It contains no gateway data, so it needs no token; its requests do. */
export function pageRoutes(app: Hono, page: () => ReadonlyMap<string, PageFile>): void {
  app.on('GET', ['/', '/page/*'], async (c, next) => {
    const file = page().get(c.req.path);
    if (file === undefined) return next();
    const { mediaType, body, gzip, isHashed } = file;
    const isCompressed = gzip !== undefined && GZIP.test(c.req.header('accept-encoding') ?? '');
    return new Response(isCompressed ? gzip : body, {
      headers: {
        'Content-Type': mediaType,
        'Cache-Control': isHashed === true ? FOR_GOOD : 'no-cache',
        ...(gzip === undefined ? {} : { Vary: 'Accept-Encoding' }),
        ...(isCompressed ? { 'Content-Encoding': 'gzip' } : {}),
      },
    });
  });
}

/**
 * Accepts the token as `{"token":"…"}` and sets a session cookie, because an event stream cannot send a header field. `tries`
 * counts wrong tokens, each after it was judged. `/logout` ends the session.
 */
export function loginRoute(app: Hono, guard: GuardOptions, sessions: Sessions, tries: TokenBuckets): void {
  app.post('/login', async (c) => {
    const { token } = guard;
    const body = await readBody(c.req.raw, LOGIN_BYTES);
    if (typeof body === 'string') return bodyFailure(body, LOGIN_BYTES);
    if (token === undefined) return c.body(null, 204);
    const given = tokenIn(body.text);
    if (given === undefined || !(await isSame(given, token))) {
      if (!tries.take(addressOf(c.env))) return tooManyRequests();
      return c.json(failureBody(401, 'wrong-token', 'This is not the token.'), 401);
    }
    c.header('Set-Cookie', await sessions.begin(isSecure(c.req.url)));
    return c.body(null, 204);
  });
  app.post('/logout', async (c) => {
    c.header('Set-Cookie', await sessions.end(c.req.header('cookie'), isSecure(c.req.url)));
    return c.body(null, 204);
  });
}

function isSecure(url: string): boolean {
  return url.startsWith('https:');
}

function tokenIn(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== 'object' || body === null || !('token' in body)) return undefined;
    return typeof body.token === 'string' ? body.token : undefined;
  } catch {
    return undefined;
  }
}

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
