import type { Hono } from 'hono';
import { rulesView } from '../explain/explain-rules.ts';
import { readPasted } from '../explain/pasted-request.ts';
import type { TriedExchange } from '../explain/try-rules.ts';
import { type InspectorParts, workResponse } from '../inspector-parts.ts';
import { modesOf } from '../rollout-effect.ts';
import { bodyFailure, jsonResponse, readBody } from './responses.ts';

/** Maximum bytes of a request to explain. The command `explain` takes any size. */
const EXPLAIN_BYTES = 512 * 1024;

/** Maximum bytes of a rule book to try. */
const RULES_BYTES = 512 * 1024;

/** Kept exchanges that a trial gets, newest first, and their bytes. */
const MAX_TRIED = 500;
const MAX_TRIED_BYTES = 8 * 1024 * 1024;

/** Adds `/rules`, `/rules/try`, `/explain` and `/explain/read`. */
export function ruleRoutes(app: Hono, parts: InspectorParts): void {
  app.get('/rules', () => {
    const { current, since, text } = parts.rules();
    return jsonResponse(rulesView({ rules: current, since, text, totals: parts.totals }));
  });
  app.post('/rules/try', async (c) => {
    const body = await readBody(c.req.raw, RULES_BYTES);
    if (typeof body === 'string') return bodyFailure(body, RULES_BYTES);
    const { count, bytes, bodyLimit, codings } = parts.limits;
    const { current, text: currentText } = parts.rules();
    const work = {
      kind: 'try',
      text: body.text,
      ruleBook: current.ruleBook,
      currentText,
      exchanges: triedExchanges(parts),
      limits: { count, bytes, bodyLimit, codings },
      gatewayOrigin: parts.gatewayOrigin(),
      origin: parts.origin,
    } as const;
    return workResponse(work, current, parts);
  });
  // What reads commands as curl and shells do would be a sixth of the page.
  app.post('/explain/read', async (c) => {
    const body = await readBody(c.req.raw, EXPLAIN_BYTES);
    if (typeof body === 'string') return bodyFailure(body, EXPLAIN_BYTES);
    return c.json(readPasted(body.text, noFile));
  });
  app.post('/explain', async (c) => {
    const body = await readBody(c.req.raw, EXPLAIN_BYTES);
    if (typeof body === 'string') return bodyFailure(body, EXPLAIN_BYTES);
    const { count, bytes, bodyLimit, codings } = parts.limits;
    const { current } = parts.rules();
    const view = parts.rollout?.view();
    const work = {
      kind: 'explain',
      text: body.text,
      ruleBook: current.ruleBook,
      modes: view && modesOf(view),
      limits: { count, bytes, bodyLimit, codings },
      gatewayOrigin: parts.gatewayOrigin(),
      origin: parts.origin,
    } as const;
    return workResponse(work, current, parts);
  });
}

/** An operator's browser must not have the gateway read its files. */
function noFile(): never {
  throw new Error('The page reads no files.');
}

function triedExchanges({ view }: InspectorParts): readonly TriedExchange[] {
  const { ring, capture } = view;
  const tried: TriedExchange[] = [];
  let bytes = 0;
  for (const seq of ring.numbersBefore(ring.latest + 1)) {
    const kept = capture.of(seq);
    const entry = kept && ring.at(seq);
    if (entry?.route !== 'migrate' || kept === undefined) continue;
    bytes += (kept.v1Request.body.bytes?.length ?? 0) + (kept.v2Response?.body.bytes?.length ?? 0);
    if (bytes > MAX_TRIED_BYTES) break;
    tried.push({ seq, entry, kept });
    if (tried.length === MAX_TRIED) break;
  }
  return tried;
}
