import type { Context, MiddlewareHandler } from 'hono';
import type { TokenBuckets } from '../rollout/rate-limit.ts';
import { hexOf } from '../rules/hash.ts';
import { htmlText } from '../report/text.ts';
import { failure, type FailureBody, tooManyRequests } from './routes/responses.ts';

/** Access control of the admin listener. */
export interface GuardOptions {
  /** Undefined if the listener is on loopback and needs none. */
  readonly token: string | undefined;
  /** Host names under which the admin listener is reachable, besides IP addresses and `localhost`. */
  readonly hosts: readonly string[];
}

/** The page may load its parts and make requests only from this origin; no site may frame it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
} as const;

/** Seconds after which a session ends, even one in use: a working day. */
const SESSION_SECONDS = 12 * 60 * 60;

/** Maximum sessions to remember as logged out; beyond it, the oldest is forgotten. */
const MAX_ENDED = 1000;

const SESSION = /^((\d{1,12})\.([0-9a-f]{32}))\.([0-9a-f]{64})$/;

const encoder = new TextEncoder();

/** Sets the page's security headers on every response. */
export function secureHeaders(): MiddlewareHandler {
  return async (c, next) => {
    await next();
    // Some routes set their own caching, or allow a style in their document.
    for (const [name, value] of Object.entries(HEADERS))
      if (!/^(?:Cache-Control|Content-Security-Policy)$/.test(name) || !c.res.headers.has(name))
        c.res.headers.set(name, value);
  };
}

/** Sends a failure to a browser that opened its address as a page; all others get it as JSON. */
export function failurePages(): MiddlewareHandler {
  return async (c, next) => {
    await next();
    const { status, headers } = c.res;
    const isJson = headers.get('content-type') === 'application/json';
    if (status < 400 || !isJson || c.req.header('accept')?.includes('text/html') !== true) return;
    const { errors }: FailureBody = await c.res.json();
    const [{ title, detail }] = errors;
    const page = new Headers(headers);
    page.set('Content-Type', 'text/html; charset=utf-8');
    c.res = new Response(failurePage(title, detail), { status, headers: page });
  };
}

function failurePage(title: string, detail: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${htmlText(title)}</title>
</head>
<body>
<main>
<h1>${htmlText(title)}</h1>
<p>${htmlText(detail)}</p>
</main>
</body>
</html>
`;
}

/**
 * Refuses requests from pages of other sites: cross-site requests, and those through a foreign name that was made to resolve here (DNS
 * rebinding, which cannot forge an address or `localhost`).
 */
export function sameSite({ hosts }: GuardOptions): MiddlewareHandler {
  const allowed = new Set(hosts.map((host) => host.toLowerCase()));
  return async (c, next) => {
    const host = c.req.header('host') ?? '';
    if (!isOwnHost(host, allowed)) {
      const detail = `This listener does not know the name ${shown(host)}. If it is reached under that name, for example behind a proxy, list it: GATEWAY_ADMIN_HOSTS=${shown(nameOf(host))}. If a proxy made the name up, let it pass on the browser's Host (nginx: proxy_set_header Host $host) and list that one.`;
      return failure(403, 'foreign-host', detail);
    }
    const origin = c.req.header('origin');
    const isCross =
      c.req.header('sec-fetch-site') === 'cross-site' && c.req.header('sec-fetch-mode') !== 'navigate';
    const from = origin === undefined ? undefined : (URL.parse(origin)?.host ?? origin);
    if (isCross || (from !== undefined && from !== host.toLowerCase())) {
      const detail =
        from === undefined || isCross
          ? 'Pages of other sites may not send this request.'
          : `The request is from a page at ${shown(from)}, and its Host is ${shown(host)}. If that page is this one, behind a proxy, let the proxy pass on the Host (nginx: proxy_set_header Host $host) and set GATEWAY_ADMIN_HOSTS=${shown(nameOf(from))}. Pages of other sites may not send it.`;
      return failure(403, 'cross-site', detail);
    }
    return next();
  };
}

function isOwnHost(host: string, allowed: ReadonlySet<string>): boolean {
  const name = nameOf(host);
  return /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\]|localhost)$/.test(name) || allowed.has(name);
}

function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '');
}

/** Prepares a host name from a request for display, since it may contain any characters. */
function shown(host: string): string {
  return /^[\w.:[\]-]{1,255}$/.test(host) ? host : '(no valid name)';
}

/** Returns the address that a request is from, as far as the platform knows it. */
export type AddressOf = (context: Context) => string;

/** Limits the request rate per address, so that a client that floods the listener blocks no other. */
export function requestRate(requests: TokenBuckets, from: AddressOf = socketAddress): MiddlewareHandler {
  return async (c, next) => (requests.take(from(c)) ? next() : tooManyRequests());
}

const socketAddress: AddressOf = ({ env }) => addressOf(env);

/**
 * Sessions of the page. A session is a random id with an end, signed with a key derived from the token. Every process and replica
 * with the token can thus check it without a store, and a new token ends all sessions. Browsers send a cookie to every port of a host,
 * so its name also depends on the token: gateways with other tokens on one host keep their sessions apart.
 */
export class Sessions {
  private readonly time: () => number;
  private readonly guard: GuardOptions;
  /** The key for the current token, which may be renewed. */
  private made: { readonly token: string; readonly key: Promise<CryptoKey> } | undefined = undefined;
  /** Ids of sessions that were logged out here. */
  private readonly ended = new Set<string>();

  /** `time` is milliseconds since 1970. */
  constructor(guard: GuardOptions, time: () => number) {
    this.time = time;
    this.guard = guard;
  }

  /** Returns the field value that begins a session. */
  async begin(secure: boolean): Promise<string> {
    const id = hexOf(crypto.getRandomValues(new Uint8Array(16)));
    const named = `${Math.floor(this.time() / 1000) + SESSION_SECONDS}.${id}`;
    const value = `${named}.${await this.signature(named)}`;
    return setCookie(await this.cookieName(), value, SESSION_SECONDS, secure);
  }

  /** Whether a `Cookie` field has a session that has not ended. */
  async has(header: string | undefined): Promise<boolean> {
    return (await this.idIn(header)) !== undefined;
  }

  /** Ends the session of a `Cookie` field in this process; returns the field value that removes it from the browser. */
  async end(header: string | undefined, secure: boolean): Promise<string> {
    const id = await this.idIn(header);
    if (id !== undefined) this.ended.add(id);
    const [oldest] = this.ended;
    if (this.ended.size > MAX_ENDED && oldest !== undefined) this.ended.delete(oldest);
    return setCookie(await this.cookieName(), '', 0, secure);
  }

  private async idIn(header: string | undefined): Promise<string | undefined> {
    const cookie = cookieValue(header, await this.cookieName());
    const [, named, end, id, signature] = SESSION.exec(cookie ?? '') ?? [];
    if (named === undefined || id === undefined || signature === undefined) return undefined;
    if (!(await isSame(signature, await this.signature(named)))) return undefined;
    return Number(end) * 1000 > this.time() && !this.ended.has(id) ? id : undefined;
  }

  private async cookieName(): Promise<string> {
    return `inspector-${(await this.signature('the name of the cookie')).slice(0, 8)}`;
  }

  private async signature(named: string): Promise<string> {
    // Without a token there is no access check and no session.
    const { token } = this.guard;
    if (token === undefined) return '';
    if (this.made?.token !== token) this.made = { token, key: signingKey(token) };
    const key = await this.made.key;
    return hexOf(new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(named))));
  }
}

/**
 * Without a `Path`, browsers take the folder of the login (RFC 6265 §5.1.4): behind a proxy that serves the page below a path, the
 * cookie goes neither to another page on that host nor to another application.
 */
function setCookie(name: string, value: string, maxAge: number, secure: boolean): string {
  return `${name}=${value}; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
}

function cookieValue(header: string | undefined, name: string): string | undefined {
  return header
    ?.split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);
}

async function signingKey(token: string): Promise<CryptoKey> {
  const bytes = encoder.encode(`inspector session ${token}`);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
}

/**
 * Requires the token, as a bearer or by a session, where there are `sessions`. `tries` limits wrong tokens only: behind a balancer all operators have one address,
 * and a guesser must not lock them out. Tokens are too long to be guessed at the request rate; the limit makes attempts visible.
 */
export function tokenGate(
  guard: GuardOptions,
  sessions: Pick<Sessions, 'has'> | undefined,
  tries: TokenBuckets,
  from: AddressOf = socketAddress,
): MiddlewareHandler {
  return async (c, next) => {
    const { token } = guard;
    if (token === undefined || (await sessions?.has(c.req.header('cookie'))) === true) return next();
    const bearer = /^bearer (.+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
    if (bearer !== undefined && (await isSame(bearer, token))) return next();
    if (bearer !== undefined && !tries.take(from(c))) return tooManyRequests();
    const headers = { 'WWW-Authenticate': 'Bearer' };
    return failure(401, 'token-needed', 'The admin listener requires its token.', headers);
  };
}

/** Compares two texts by their digests, in constant time. */
export async function isSame(given: string, expected: string): Promise<boolean> {
  const [one, other] = await Promise.all([digest(given), digest(expected)]);
  let difference = 0;
  for (let at = 0; at < one.length; at += 1) difference |= (one[at] ?? 0) ^ (other[at] ?? 0);
  return difference === 0;
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)));
}

/** The remote address of a request, as Node's server reports it; empty when it is unknown, so that all such clients share a limit. */
export function addressOf(environment: unknown): string {
  const incoming = memberOf(environment, 'incoming');
  const address = memberOf(memberOf(incoming, 'socket'), 'remoteAddress');
  return typeof address === 'string' ? address : '';
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const member: unknown = Reflect.get(value, name);
  return member;
}
