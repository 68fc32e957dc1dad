import { nameIn } from '../report/text.ts';
import { Hono } from 'hono';
import { type Rate, TokenBuckets } from '../rollout/rate-limit.ts';
import {
  failurePages,
  requestRate,
  sameSite,
  secureHeaders,
  Sessions,
  tokenGate,
  addressOf,
  type GuardOptions,
  isSame,
} from './guard.ts';
import { type InspectorParts, workResponse } from './inspector-parts.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { rolloutRoutes } from './rollout-admin.ts';
import { draftRoutes } from './routes/draft-routes.ts';
import { entryRoutes } from './routes/entry-routes.ts';
import { resendRoute } from './routes/resend-route.ts';
import { clientRoutes } from './routes/client-routes.ts';
import { stateOf, statRoutes } from './routes/stat-routes.ts';
import { rulesView } from './explain/explain-rules.ts';
import { readPasted } from './explain/pasted-request.ts';
import { chosenExchanges, type RulesTrialParts, type TriedExchange } from './explain/try-rules.ts';
import { modesOf } from './rollout-effect.ts';
import { bodyFailure, jsonResponse, readBody, failure, tooManyRequests } from './routes/responses.ts';
import type { PageFile } from './api.ts';

/** Limit on wrong tokens from one address. */
const WRONG_TOKEN_RATE: Rate = { burst: 10, perSecond: 1 };

/** Limit on requests from one address: a page sends about ten a second at most. */
const REQUEST_RATE: Rate = { burst: 300, perSecond: 100 };

/** Creates the admin listener's routes for operators, without those for health. */
export function createInspector(parts: InspectorParts): Hono {
  const app = new Hono();
  app.use(secureHeaders(), failurePages(), sameSite(parts));
  const tries = new TokenBuckets(WRONG_TOKEN_RATE, parts.time);
  pageRoutes(app, parts.page);
  app.use(requestRate(new TokenBuckets(REQUEST_RATE, parts.time)));
  const sessions = new Sessions(parts, parts.time);
  loginRoute(app, parts, sessions, tries);
  app.use(tokenGate(parts, sessions, tries));
  entryRoutes(app, parts);
  clientRoutes(app, parts);
  resendRoute(app, parts);
  statRoutes(app, parts);
  ruleRoutes(app, parts);
  if (parts.draft !== undefined) draftRoutes(app, parts.draft);
  if (parts.rollout !== undefined) rolloutRoutes(app, parts.rollout, () => stateOf(parts));
  return app;
}

/** Maximum bytes of a request to explain. The command `explain` takes any size. */
const EXPLAIN_BYTES = 512 * 1024;

/** Maximum bytes of a rule book to try. */
const RULES_BYTES = 512 * 1024;

/** Kept exchanges from which those of a trial are chosen: the newest. */
const MAX_CHOICES = 5000;

/** Adds `/rules`, `/rules/try`, `/explain` and `/explain/read`. */
function ruleRoutes(app: Hono, parts: InspectorParts): void {
  app.get('/rules', () => {
    const { current, since, text, refusal } = parts.rules();
    const view = rulesView({ rules: current, since, text, totals: parts.totals });
    const file = parts.ruleFile === undefined ? {} : { file: parts.ruleFile };
    return jsonResponse({
      ...view,
      ...file,
      ...(parts.draft !== undefined && { isDraft: true }),
      ...(refusal?.text !== undefined && { refused: refusal.text }),
    });
  });
  app.post('/rules/try', async (c) => {
    const body = await readBody(c.req.raw, RULES_BYTES);
    if (typeof body === 'string') return bodyFailure(body, RULES_BYTES);
    const { current, text: currentText } = parts.rules();
    const work = {
      kind: 'try',
      text: body.text,
      ruleBook: current.ruleBook,
      currentText,
      ...triedExchanges(parts),
      description: parts.v2Description?.(),
      limits: parts.limits,
      gatewayOrigin: parts.gatewayOrigin(),
      origin: parts.origin,
    } as const;
    return workResponse(work, current, parts);
  });
  // Read here and not in the page, where the readers of curl and shells would be a sixth of the code.
  app.post('/explain/read', async (c) => {
    const body = await readBody(c.req.raw, EXPLAIN_BYTES);
    if (typeof body === 'string') return bodyFailure(body, EXPLAIN_BYTES);
    return jsonResponse(readPasted(body.text, noFile));
  });
  app.post('/explain', async (c) => {
    const body = await readBody(c.req.raw, EXPLAIN_BYTES);
    if (typeof body === 'string') return bodyFailure(body, EXPLAIN_BYTES);
    const { current } = parts.rules();
    const view = parts.rollout?.view();
    const work = {
      kind: 'explain',
      text: body.text,
      ruleBook: current.ruleBook,
      modes: view && modesOf(view),
      names: scopedNames(current.ruleBook, parts.names()),
      limits: parts.limits,
      gatewayOrigin: parts.gatewayOrigin(),
      origin: parts.origin,
    } as const;
    return workResponse(work, current, parts);
  });
}

/** Selects the names of the clients in scopes of the end of V1; the work gets no others, because a names file may be long. */
function scopedNames({ rollout }: RuleBook, names: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const scopes = [rollout?.gone, ...Object.values(rollout?.ends?.operations ?? {}).map(({ gone }) => gone)];
  const hashes = scopes.flatMap((scope) => [...(scope?.clients ?? []), ...(scope?.except ?? [])]);
  return new Map(hashes.map((hash) => [hash, nameIn(names, hash)]));
}

/** Refuses to read a file that a command names, so that the page cannot make the gateway read its own files. */
function noFile(): never {
  throw new Error('The page reads no files.');
}

function triedExchanges({ view }: InspectorParts): Pick<RulesTrialParts, 'exchanges' | 'isCut'> {
  const { ring, capture } = view;
  const choices: TriedExchange[] = [];
  for (const seq of ring.numbersBefore(ring.latest + 1)) {
    const kept = capture.of(seq);
    const entry = kept && ring.at(seq);
    if (entry?.route !== 'migrate' || kept === undefined) continue;
    choices.push({ seq, entry, kept });
    if (choices.length === MAX_CHOICES) break;
  }
  return chosenExchanges(choices);
}

/** Maximum bytes of a login body. */
const LOGIN_BYTES = 4096;

/** Matches `gzip` in a list of codings (RFC 9110 §12.5.3), unless its weight is 0. */
const GZIP = /(?:^|,)\s*(?:x-)?gzip\s*(?:,|$|;\s*q=(?!0(?:\.0{0,3})?\s*(?:,|$)))/i;

const FOREVER = 'public, max-age=31536000, immutable';

/** Media types of the page's files, by extension. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

/** The name of the document among the files of the bundle. */
export const DOCUMENT = 'index.html';

/** Serves the page. It contains no gateway data, so it needs no token, unlike its requests. */
function pageRoutes(app: Hono, page: () => ReadonlyMap<string, PageFile>): void {
  app.on('GET', ['/', '/page/*'], async (c, next) => {
    const file = page().get(c.req.path);
    if (file === undefined) return next();
    const { mediaType, body, gzip, isHashed } = file;
    const isCompressed = gzip !== undefined && GZIP.test(c.req.header('accept-encoding') ?? '');
    return new Response(isCompressed ? gzip : body, {
      headers: {
        'Content-Type': mediaType,
        'Cache-Control': isHashed === true ? FOREVER : 'no-cache',
        ...(gzip === undefined ? {} : { Vary: 'Accept-Encoding' }),
        ...(isCompressed ? { 'Content-Encoding': 'gzip' } : {}),
      },
    });
  });
}

/**
 * Adds `/login`, which takes the token as `{"token":"…"}` and sets a session cookie, because an event stream cannot send a header
 * field, and `/logout`, which ends the session. `tries` limits wrong tokens only.
 */
function loginRoute(app: Hono, guard: GuardOptions, sessions: Sessions, tries: TokenBuckets): void {
  app.post('/login', async (c) => {
    const { token } = guard;
    const body = await readBody(c.req.raw, LOGIN_BYTES);
    if (typeof body === 'string') return bodyFailure(body, LOGIN_BYTES);
    if (token === undefined) return c.body(null, 204);
    const given = tokenIn(body.text);
    if (given === undefined || !(await isSame(given, token))) {
      if (!tries.take(addressOf(c.env))) return tooManyRequests();
      return failure(401, 'wrong-token', 'This is not the token.');
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
 * Returns the bundle of the page as files by URL path, each also compressed by `gzip`. Browsers revalidate the document each time,
 * and cache everything else forever, under names that contain hashes.
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

/** Inserts the addresses of style and script into the document, and the icon itself, which then needs no request. */
export function pageDocument(
  html: string,
  { style, script, icon }: { readonly style: string; readonly script: string; readonly icon: string },
): string {
  return html
    .replace('<!-- icon -->', `<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}" />`)
    .replace('<!-- style -->', `<link rel="stylesheet" href="page/${style}" />`)
    .replace('<!-- script -->', `<script defer src="page/${script}"></script>`);
}
