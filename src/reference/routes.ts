import type { Reply } from './envelope.ts';
import { type Collection, createOne, listPage, readOne, removeOne, updateOne } from './collection.ts';
import type { Accepted, Dialect } from './dialect.ts';
import { RESOURCES, type Resource } from './resources.ts';
import type { Store } from './store.ts';

/** A route's response on success; the OpenAPI description is generated from it. */
export type Outcome = 'empty' | 'created' | 'one' | 'page' | 'nothing';

/** A request as a route receives it. */
interface Call {
  readonly store: Store;
  /** The edition of the API that the request selects. */
  readonly dialect: Dialect;
  /** The `{id}` of the path; a text that cannot be an id matches no resource. */
  readonly id: string;
  readonly query: URLSearchParams;
  /** Reads the body and validates it against the dialect's schema of the route's resource. */
  readonly accepted: () => Promise<Accepted>;
}

/** A method on a path, with its description and handler. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path below the prefix, with `{id}` for one resource. */
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly outcome: Outcome;
  /** The collection it serves; absent for the heartbeat. */
  readonly resource?: Resource;
  readonly handle: (call: Call) => Reply | Promise<Reply>;
}

const HEARTBEAT: Route = {
  method: 'GET',
  path: '/heartbeat',
  operation: 'heartbeat',
  summary: 'Reply that the service is there',
  outcome: 'empty',
  handle: () => ({ status: 200, body: { data: {} } }),
};

/** Every route: each version of the API has the same. */
export const ROUTES: readonly Route[] = [HEARTBEAT, ...RESOURCES.flatMap(resourceRoutes)];

function resourceRoutes(resource: Resource): Route[] {
  const { kind, path, plural, singular, create, update } = resource;
  const collection = ({ store, dialect }: Call): Collection => ({ store, dialect, resource });
  const routes: Route[] = [
    {
      method: 'GET',
      path,
      operation: `list_${plural.replaceAll(' ', '_')}`,
      summary: `List ${plural}, in the order of creation`,
      outcome: 'page',
      resource,
      handle: (call) => listPage(collection(call), call.query),
    },
    {
      method: 'GET',
      path: `${path}/{id}`,
      operation: `read_${kind}`,
      summary: `Read a ${singular}`,
      outcome: 'one',
      resource,
      handle: (call) => readOne(collection(call), call.id),
    },
    {
      method: 'DELETE',
      path: `${path}/{id}`,
      operation: `delete_${kind}`,
      summary: `Delete a ${singular}`,
      outcome: 'nothing',
      resource,
      handle: (call) => removeOne(collection(call), call.id),
    },
  ];
  if (create !== undefined) {
    routes.push({
      method: 'POST',
      path,
      ...create,
      outcome: 'created',
      resource,
      handle: async (call) => createOne(collection(call), await call.accepted()),
    });
  }
  if (update !== undefined) {
    routes.push({
      method: 'PATCH',
      path: `${path}/{id}`,
      ...update,
      outcome: 'one',
      resource,
      handle: async (call) => updateOne(collection(call), call.id, await call.accepted()),
    });
  }
  return routes;
}
