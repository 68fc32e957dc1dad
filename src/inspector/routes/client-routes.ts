import type { Hono } from 'hono';
import { parsedJson } from '../../rewrite-log/attributes.ts';
import type { ClientsScreen, ClientsView } from '../api.ts';
import { CLIENT_SORTS, clientDetail, type ClientsFacts, clientsTable } from '../clients-table.ts';
import type { InspectorParts } from '../inspector-parts.ts';
import { failure, jsonResponse, queryFault, readCommand, WHOLE_NUMBER } from './responses.ts';
import { replicaOf, reportOf } from './stat-routes.ts';
import { shownNames } from '../shown-names.ts';

/** Maximum bytes of a request to name a client. */
const NAME_BYTES = 2048;

/** Rows of a page of clients: by default, and at most. */
const ROWS = 50;
const MAX_ROWS = 500;

/** Maximum characters to search for. */
const MAX_SEARCH = 200;

/** The facts about all clients, with those of the log from before the start. */
async function clientsFacts(parts: InspectorParts): Promise<ClientsFacts> {
  const { view, time, history, totals } = parts;
  const [report] = await Promise.all([reportOf(parts), history?.read()]);
  const { ring, trends, traces } = view;
  const { kind, sentence } = report.coverage ?? totals.coverage();
  return {
    report,
    known: [
      sentence,
      ...(kind === 'gateway'
        ? []
        : ['Trends, and the failures of each operation, are those of this replica alone.']),
    ].join(' '),
    now: time(),
    trendOf: (client) => trends.of(client),
    traces: traces.all,
    keptSince: ring.at(ring.oldest)?.time,
    hasLog: parts.loggedGuide !== undefined,
  };
}

/**
 * Adds `/clients/table`; `GET /clients`, which returns a `ClientsView`, and `POST /clients`, which takes `{"client": <hash>, "name": <text>}` (without
 * `name`, the name is removed) and returns the updated view. The media type is required, because another site's form cannot send it.
 */
export function clientRoutes(app: Hono, parts: InspectorParts): void {
  app.get('/clients/table', async (c) => {
    const { q = '', sort, order, offset, limit, open } = c.req.query();
    const fault = queryFault(c.req.query(), {
      sort: CLIENT_SORTS,
      order: ['usual', 'reversed'],
      offset: WHOLE_NUMBER,
      limit: WHOLE_NUMBER,
    });
    if (fault !== undefined) return failure(400, 'bad-query', fault);
    const query = {
      q: q.slice(0, MAX_SEARCH),
      sort: CLIENT_SORTS.find((name) => name === sort) ?? 'work',
      isReversed: order === 'reversed',
      offset: Number(offset ?? 0),
      limit: Math.min(MAX_ROWS, Math.max(1, Number(limit ?? ROWS))),
    };
    const facts = await clientsFacts(parts);
    const table = clientsTable(facts, query);
    if (open === undefined) return jsonResponse(table);
    const opened = open.split(',').flatMap((client) => clientDetail(facts, client) ?? []);
    return jsonResponse({ ...table, report: facts.report, opened } satisfies ClientsScreen);
  });
  app.get('/clients', () => jsonResponse(clientsView(parts)));
  app.post('/clients', async (c) => {
    const body = await readCommand(c.req.raw, NAME_BYTES);
    if (body instanceof Response) return body;
    const request = readRequest(body.text);
    if (request === undefined) return failure(400, 'bad-request', 'Send {"client": hash, "name": text}.');
    if (parts.nameClient === undefined) {
      const detail = 'The gateway keeps names in a file: set GATEWAY_CLIENT_NAMES, and start it again.';
      return failure(422, 'no-names-file', detail);
    }
    const outcome = parts.nameClient(request.client, request.name);
    if (outcome !== undefined) return failure(422, 'not-named', outcome.fault);
    return jsonResponse(clientsView(parts));
  });
}

function clientsView(parts: InspectorParts): ClientsView {
  const { names, view, nameClient, rollout } = parts;
  const { replica } = replicaOf(rollout?.view().replica);
  const known = names();
  const { all } = view.traces;
  const shown = shownNames(known, all);
  const hashes = new Set([...known.keys(), ...all.keys()]);
  return {
    canBeNamed: nameClient !== undefined,
    ...(replica === undefined ? {} : { replica: replica.name }),
    clients: [...hashes].map((client) => {
      const name = known.get(client);
      const called = shown.get(client);
      const { userAgents = [], addresses = [] } = all.get(client) ?? {};
      return {
        client,
        ...(name === undefined ? {} : { name }),
        ...(called === undefined ? {} : { called }),
        userAgents,
        addresses,
      };
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
