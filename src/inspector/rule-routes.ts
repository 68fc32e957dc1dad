import type { Hono } from 'hono';
import { isExplainRequest } from './explain-request.ts';
import { explain } from './explain.ts';
import { bodyFailure, failureBody } from './failure-body.ts';
import type { InspectorParts } from './inspector-parts.ts';
import { jsonResponse } from './json-response.ts';
import { readBody } from './read-body.ts';
import { rulesView } from './rules-view.ts';
import { parsedJson } from '../rewrite-log/parsed-json.ts';

/** Maximum bytes of a request to explain: it is processed between client requests. The command `explain` takes any size. */
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
    const request = parsedJson(body.text);
    if (!isExplainRequest(request)) {
      const detail = 'Send {"operation" or "method" and "target", "headers": [[name, value]], "body": text}.';
      return c.json(failureBody(400, 'bad-request', detail), 400);
    }
    const { limits, decode, gatewayOrigin, origin, rules } = parts;
    const explanation = await explain(request, {
      rules: rules().current,
      limits,
      decode,
      gatewayOrigin: gatewayOrigin(),
      origin,
    });
    if ('fault' in explanation) return c.json(failureBody(422, 'not-explained', explanation.fault), 422);
    return jsonResponse(explanation);
  });
}
