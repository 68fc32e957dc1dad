import type { Hono } from 'hono';
import { bodyFailure } from './failure-body.ts';
import type { InspectorParts } from './inspector-parts.ts';
import { jsonResponse } from './json-response.ts';
import { readBody } from './read-body.ts';
import { rulesView } from './rules-view.ts';
import { workResponse } from './work-response.ts';

/** Maximum bytes of a request to explain. The command `explain` takes any size. */
const EXPLAIN_BYTES = 512 * 1024;

/** Adds `/rules` and `/explain`. */
export function ruleRoutes(app: Hono, parts: InspectorParts): void {
  app.get('/rules', () => {
    const { current, since, text } = parts.rules();
    return jsonResponse(rulesView({ ruleBook: current.ruleBook, since, text, tally: parts.view.tally }));
  });
  app.post('/explain', async (c) => {
    const body = await readBody(c.req.raw, EXPLAIN_BYTES);
    if (typeof body === 'string') return bodyFailure(body, EXPLAIN_BYTES);
    const { count, bytes, bodyLimit, codings } = parts.limits;
    const { current } = parts.rules();
    const work = {
      kind: 'explain',
      text: body.text,
      ruleBook: current.ruleBook,
      limits: { count, bytes, bodyLimit, codings },
      gatewayOrigin: parts.gatewayOrigin(),
      origin: parts.origin,
    } as const;
    return workResponse(work, current, parts);
  });
}
