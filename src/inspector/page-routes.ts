import type { Hono } from 'hono';
import type { PageFile } from './api.ts';
import { failureBody } from './failure-body.ts';
import { type GuardOptions, loginCookie } from './guard.ts';

/** Serves the page. It holds nothing of the gateway, so it needs no token; what it asks for does. */
export function pageRoutes(app: Hono, page: () => ReadonlyMap<string, PageFile>): void {
  app.on('GET', ['/', '/page/*'], async (c, next) => {
    const file = page().get(c.req.path);
    if (file === undefined) return next();
    return new Response(file.body, { headers: { 'Content-Type': file.mediaType } });
  });
}

/** Takes the token once, as `{"token":"…"}`, and gives a cookie for it: an event stream cannot send a header. */
export function loginRoute(app: Hono, { token }: GuardOptions): void {
  app.post('/login', async (c) => {
    const given = tokenIn(await c.req.text());
    if (token === undefined) return c.body(null, 204);
    const cookie =
      given === undefined ? undefined : await loginCookie(given, token, c.req.url.startsWith('https:'));
    if (cookie === undefined) return c.json(failureBody(401, 'wrong-token', 'This is not the token.'), 401);
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
