import type { Hono } from 'hono';
import type { PageFile } from '../api.ts';
import { bodyFailure, failureBody, tooManyRequests } from '../entries/failure-body.ts';
import { type GuardOptions, isSame, type Sessions } from '../guard.ts';
import type { TokenBuckets } from '../../rollout/token-buckets.ts';
import { addressOf } from '../remote-address.ts';
import { readBody } from './read-body.ts';

/** Maximum bytes of a login body. */
const LOGIN_BYTES = 4096;

/** `gzip` in a list of codings (RFC 9110 §12.5.3), unless its weight is 0. */
const GZIP = /(?:^|,)\s*(?:x-)?gzip\s*(?:,|$|;\s*q=(?!0(?:\.0{0,3})?\s*(?:,|$)))/i;

const FOR_GOOD = 'public, max-age=31536000, immutable';

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
