import type { Hono } from 'hono';
import { parsedJson } from '../../rewrite-log/parsed-json.ts';
import type { ClientsView } from '../api.ts';
import { bodyFailure, failureBody } from '../entries/failure-body.ts';
import type { InspectorParts } from '../inspector-parts.ts';
import { readBody } from './read-body.ts';

/** Maximum bytes of a request to name a client. */
const NAME_BYTES = 2048;

/**
 * Adds `GET /clients`, which returns a `ClientsView`, and `POST /clients`, which takes `{"client": <hash>, "name": <text>}` (no
 * `name` takes it away) and returns the updated view. The media type is required, because another site's form cannot send it.
 */
export function clientRoutes(app: Hono, parts: InspectorParts): void {
  app.get('/clients', (c) => c.json(clientsView(parts)));
  app.post('/clients', async (c) => {
    const isJson = /^application\/json(?:;|$)/i.test(c.req.header('content-type') ?? '');
    if (!isJson) return c.json(failureBody(400, 'bad-request', 'Send application/json.'), 400);
    const body = await readBody(c.req.raw, NAME_BYTES);
    if (typeof body === 'string') return bodyFailure(body, NAME_BYTES);
    const request = readRequest(body.text);
    if (request === undefined)
      return c.json(failureBody(400, 'bad-request', 'Send {"client": hash, "name": text}.'), 400);
    if (parts.nameClient === undefined) {
      const detail = 'Names are kept in a file: set GATEWAY_CLIENT_NAMES, and start the gateway again.';
      return c.json(failureBody(422, 'no-names-file', detail), 422);
    }
    const outcome = parts.nameClient(request.client, request.name);
    if (outcome !== undefined) return c.json(failureBody(422, 'not-named', outcome.fault), 422);
    return c.json(clientsView(parts));
  });
}

function clientsView({ names, view, nameClient }: InspectorParts): ClientsView {
  const known = names();
  const { all } = view.traces;
  const hashes = new Set([...known.keys(), ...all.keys()]);
  return {
    canBeNamed: nameClient !== undefined,
    clients: [...hashes].map((client) => {
      const name = known.get(client);
      const { userAgents = [], addresses = [] } = all.get(client) ?? {};
      return { client, ...(name === undefined ? {} : { name }), userAgents, addresses };
    }),
  };
}

function readRequest(text: string): { readonly client: string; readonly name?: string } | undefined {
  const value = parsedJson(text);
  if (typeof value !== 'object' || value === null || !('client' in value)) return undefined;
  const { client } = value;
  if (typeof client !== 'string') return undefined;
  if (!('name' in value)) return { client };
  return typeof value.name === 'string' ? { client, name: value.name } : undefined;
}
