import type { Hono } from 'hono';
import type { RolloutRequest, RolloutView } from '../../rollout/rollout-view.ts';
import { bodyFailure, failureBody } from '../entries/failure-body.ts';
import { readBody } from './read-body.ts';
import { parsedJson } from '../../rewrite-log/parsed-json.ts';

/** Shows and changes the state of the rollout. */
export interface RolloutAdmin {
  view(): RolloutView;
  /** Executes a command, and shares it where it can; resolves to a sentence when it fails, and then nothing has changed. */
  command(request: RolloutRequest): Promise<{ readonly fault: string } | undefined>;
}

/** Maximum bytes of a command. */
const COMMAND_BYTES = 4096;

/**
 * Adds `GET /rollout`, which returns a `RolloutView`, and `POST /rollout`, which takes a `RolloutRequest` and returns the updated
 * view. The media type is required, because another site's form cannot send it.
 */
export function rolloutRoutes(app: Hono, rollout: RolloutAdmin): void {
  app.get('/rollout', (c) => c.json(rollout.view()));
  app.post('/rollout', async (c) => {
    const isJson = /^application\/json(?:;|$)/i.test(c.req.header('content-type') ?? '');
    if (!isJson) return c.json(failureBody(400, 'bad-request', 'Send application/json.'), 400);
    const body = await readBody(c.req.raw, COMMAND_BYTES);
    if (typeof body === 'string') return bodyFailure(body, COMMAND_BYTES);
    const request = readRequest(body.text);
    if (request === undefined) {
      const detail =
        'Send {"mode": "migrate", "observe", "shadow" or "canary", "share", "operation", "client", "force"}.';
      return c.json(failureBody(400, 'bad-request', detail), 400);
    }
    const outcome = await rollout.command(request);
    if (outcome !== undefined) return c.json(failureBody(422, 'not-changed', outcome.fault), 422);
    return c.json(rollout.view());
  });
}

const MODES: readonly NonNullable<RolloutRequest['mode']>[] = ['migrate', 'observe', 'shadow', 'canary'];
const KNOWN: ReadonlySet<string> = new Set(['mode', 'share', 'operation', 'client', 'force']);

function readRequest(text: string): RolloutRequest | undefined {
  const value = parsedJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  if (Object.keys(value).some((key) => !KNOWN.has(key))) return undefined;
  const { mode, share, operation, client, force }: { [Key in keyof RolloutRequest]?: unknown } = value;
  const chosen = MODES.find((candidate) => candidate === mode);
  if (mode !== undefined && chosen === undefined) return undefined;
  if (share !== undefined && typeof share !== 'number') return undefined;
  if (operation !== undefined && typeof operation !== 'string') return undefined;
  if (client !== undefined && typeof client !== 'string') return undefined;
  if (force !== undefined && typeof force !== 'boolean') return undefined;
  return {
    ...(chosen === undefined ? {} : { mode: chosen }),
    ...(share === undefined ? {} : { share }),
    ...(operation === undefined ? {} : { operation }),
    ...(client === undefined ? {} : { client }),
    ...(force === undefined ? {} : { force }),
  };
}
