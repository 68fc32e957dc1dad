import type { Hono } from 'hono';
import { isExplainRequest } from './explain-request.ts';
import { explain } from './explain.ts';
import { failureBody } from './failure-body.ts';
import type { InspectorParts } from './inspector-parts.ts';
import { rulesView } from './rules-view.ts';

/** Bytes of a request to explain: what is explained has been through somebody's hands. */
const LIMIT = 16 * 1024 * 1024;

/** Adds `/rules` and `/explain`. */
export function ruleRoutes(app: Hono, parts: InspectorParts): void {
  app.get('/rules', (c) => {
    const { current, since, text } = parts.rules();
    return c.json(rulesView({ ruleBook: current.ruleBook, since, text, tally: parts.view.tally }));
  });
  app.post('/explain', async (c) => {
    const length = Number(c.req.header('content-length') ?? Number.NaN);
    if (!(length <= LIMIT)) {
      return c.json(failureBody(413, 'too-large', `Send a Content-Length of at most ${LIMIT} bytes.`), 413);
    }
    const request = readJson(await c.req.text());
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
    return c.json(explanation);
  });
}

function readJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
