import { Hono } from 'hono';
import { type Rate, TokenBuckets } from '../rollout/rate-limit.ts';
import { requestRate, sameSite, secureHeaders, Sessions, tokenGate } from './guard.ts';
import type { InspectorParts } from './inspector-parts.ts';
import { rolloutRoutes } from './rollout-admin.ts';
import { entryRoutes } from './routes/entry-routes.ts';
import { loginRoute, pageRoutes } from './routes/page-routes.ts';
import { resendRoute } from './routes/resend-route.ts';
import { ruleRoutes } from './routes/rule-routes.ts';
import { clientRoutes, statRoutes } from './routes/stat-routes.ts';

/** Limit of wrong tokens from one address. */
const WRONG_TOKEN_RATE: Rate = { burst: 10, perSecond: 1 };

/** Limit of requests from one address: a page sends at most some ten a second. */
const REQUEST_RATE: Rate = { burst: 300, perSecond: 100 };

/** Creates the admin listener's routes for operators; the listener itself serves health. */
export function createInspector(parts: InspectorParts): Hono {
  const app = new Hono();
  app.use(secureHeaders(), sameSite(parts));
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
  if (parts.rollout !== undefined) rolloutRoutes(app, parts.rollout);
  return app;
}
