import { Hono } from 'hono';
import { entryRoutes } from './entry-routes.ts';
import type { InspectorParts } from './inspector-parts.ts';
import { statRoutes } from './stat-routes.ts';
import { sameSite, secureHeaders, tokenGate } from './guard.ts';
import { loginRoute, pageRoutes } from './page-routes.ts';
import { ruleRoutes } from './rule-routes.ts';
import { rolloutRoutes } from './rollout-routes.ts';

/** Makes the routes of the admin listener that operators use; health is the listener's own. */
export function createInspector(parts: InspectorParts): Hono {
  const app = new Hono();
  app.use(secureHeaders(), sameSite(parts));
  pageRoutes(app, parts.page);
  loginRoute(app, parts);
  app.use(tokenGate(parts));
  entryRoutes(app, parts);
  statRoutes(app, parts);
  ruleRoutes(app, parts);
  if (parts.rollout !== undefined) rolloutRoutes(app, parts.rollout);
  return app;
}
