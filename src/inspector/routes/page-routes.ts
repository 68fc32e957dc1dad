import type { Hono } from 'hono';
import type { PageFile } from '../api.ts';
import { bodyFailure, failureBody, tooManyRequests } from '../entries/failure-body.ts';
import { type GuardOptions, loginCookie } from '../guard.ts';
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
 * counts wrong tokens.
 */
export function loginRoute(app: Hono, { token }: GuardOptions, tries: TokenBuckets): void {
  app.post('/login', async (c) => {
    const address = addressOf(c.env);
    if (tries.isSpent(address)) return tooManyRequests();
    const body = await readBody(c.req.raw, LOGIN_BYTES);
    if (typeof body === 'string') return bodyFailure(body, LOGIN_BYTES);
    if (token === undefined) return c.body(null, 204);
    const given = tokenIn(body.text);
    const cookie =
      given === undefined ? undefined : await loginCookie(given, token, c.req.url.startsWith('https:'));
    if (cookie === undefined) {
      tries.take(address);
      return c.json(failureBody(401, 'wrong-token', 'This is not the token.'), 401);
    }
    c.header('Set-Cookie', cookie);
    return c.body(null, 204);
  });
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
