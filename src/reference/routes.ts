import type { Reply } from './envelope.ts';
import { type Collection, createOne, listPage, readOne, removeOne, updateOne } from './collection.ts';
import type { Accepted, Dialect } from './dialect.ts';
import { RESOURCES, type Resource } from './resources.ts';
import type { Store } from './store.ts';

/** What a route responses when all is well; the description is made from it. */
export type Outcome = 'empty' | 'created' | 'one' | 'page' | 'nothing';

/** A request as a route sees it. */
interface Call {
  /** The `{id}` of the path; a text that cannot be an id names nothing. */
  readonly id: string;
  readonly query: URLSearchParams;
  /** Reads the body and checks it as the dialect has the route's resource. */
  readonly accepted: () => Promise<Accepted>;
}

/** A method on a path, described and done. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the prefix, with `{id}` where one stands. */
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly outcome: Outcome;
  /** The collection it works on; none for the heartbeat. */
  readonly resource?: Resource;
  readonly handle: (call: Call) => Reply | Promise<Reply>;
}

/** Every route of one version of the API. */
export function createRoutes(store: Store, dialect: Dialect): readonly Route[] {
  return [heartbeat, ...RESOURCES.flatMap((resource) => resourceRoutes({ store, dialect, resource }))];
}

const heartbeat: Route = {
  method: 'GET',
  path: '/heartbeat',
  operation: 'heartbeat',
  summary: 'Reply that the service is there',
  outcome: 'empty',
  handle: () => ({ status: 200, body: { data: {} } }),
};

function resourceRoutes(collection: Collection): Route[] {
  const { resource } = collection;
  const { kind, path, plural, singular, create, update } = resource;
  const routes: Route[] = [
    {
      method: 'GET',
      path,
      operation: `list_${plural.replaceAll(' ', '_')}`,
      summary: `List ${plural}, in the order of creation`,
      outcome: 'page',
      resource,
      handle: ({ query }) => listPage(collection, query),
    },
    {
      method: 'GET',
      path: `${path}/{id}`,
      operation: `read_${kind}`,
      summary: `Read a ${singular}`,
      outcome: 'one',
      resource,
      handle: ({ id }) => readOne(collection, id),
    },
    {
      method: 'DELETE',
      path: `${path}/{id}`,
      operation: `delete_${kind}`,
      summary: `Delete a ${singular}`,
      outcome: 'nothing',
      resource,
      handle: ({ id }) => removeOne(collection, id),
    },
  ];
  if (create !== undefined) {
    routes.push({
      method: 'POST',
      path,
      ...create,
      outcome: 'created',
      resource,
      handle: async ({ accepted }) => createOne(collection, await accepted()),
    });
  }
  if (update !== undefined) {
    routes.push({
      method: 'PATCH',
      path: `${path}/{id}`,
      ...update,
      outcome: 'one',
      resource,
      handle: async ({ id, accepted }) => updateOne(collection, id, await accepted()),
    });
  }
  return routes;
}
