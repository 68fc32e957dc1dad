import type { Accepted, Deprecation, Dialect } from './dialect.ts';
import { type Fault, Refusal, type Reply } from './envelope.ts';
import {
  type Resource,
  RESOURCES,
  type Attributes,
  type Store,
  type StoredResource,
  isObject,
  spelledName,
} from './resources.ts';

/** A route's response on success; the OpenAPI description is generated from it. */
type Outcome = 'empty' | 'created' | 'one' | 'page' | 'nothing';

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

/** A collection in a store, as a dialect presents it. */
interface Collection {
  readonly store: Store;
  readonly dialect: Dialect;
  readonly resource: Resource;
}

/** 200 with a page of the collection and, in `meta`, its position in all that the filters select; `Link` leads to other pages. */
function listPage({ store, dialect, resource }: Collection, query: URLSearchParams): Reply {
  const { page, perPage, where } = readListQuery(query, filtersOf(resource, dialect));
  const { items, total } = store.list(resource.kind, where, (page - 1) * perPage, perPage);
  const pages = Math.ceil(total / perPage);
  const link = pageLinks(`${dialect.prefix}${resource.path}`, query, { page, pages });
  const meta = { page, per_page: perPage, total, total_pages: pages };
  return {
    status: 200,
    ...(link === undefined ? {} : { headers: { link } }),
    body: { data: items.map((stored) => present(resource, dialect, stored)), meta },
  };
}

/** 200 with the resource, or 404. */
function readOne({ store, dialect, resource }: Collection, id: string): Reply {
  const stored = store.read(resource.kind, parseId(resource, id));
  if (stored === undefined) throw missing(resource, id);
  return { status: 200, body: { data: present(resource, dialect, stored) } };
}

/** 204, or 404. */
function removeOne({ store, resource }: Collection, id: string): Reply {
  if (!store.remove(resource.kind, parseId(resource, id))) throw missing(resource, id);
  return { status: 204 };
}

/** 201 with the resource and its Location; a `property` without an id creates that property too. */
function createOne({ store, dialect, resource }: Collection, { attributes, deprecations }: Accepted): Reply {
  const created = store.atomically(() => {
    return store.create(resource.kind, withPropertyId(store, attributes));
  });
  const location = `${dialect.prefix}${resource.path}/${created.id}`;
  return { status: 201, headers: { location }, body: written(resource, dialect, created, deprecations) };
}

/** 200 with the updated resource, or 404. Objects, such as the client of a property, are merged member by member. */
function updateOne(
  { store, dialect, resource }: Collection,
  id: string,
  { attributes, deprecations }: Accepted,
): Reply {
  const stored = store.update(resource.kind, parseId(resource, id), (before) => merge(before, attributes));
  if (stored === undefined) throw missing(resource, id);
  return { status: 200, body: written(resource, dialect, stored, deprecations) };
}

function parseId(resource: Resource, text: string): number {
  const id = /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw missing(resource, text);
  return id;
}

function missing({ singular }: Resource, id: string): Refusal {
  return new Refusal(404, `There is no ${singular} ${JSON.stringify(id)}.`);
}

function withPropertyId(store: Store, attributes: Attributes): Attributes {
  const { property } = attributes;
  if (!isObject(property)) return attributes;
  const { id, ...described } = property;
  const propertyId = attributes['property_id'] ?? id ?? store.create('property', described).id;
  return { ...attributes, property_id: propertyId };
}

function merge(before: Attributes, given: Attributes): Attributes {
  const merged: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(given)) {
    const old = before[name];
    merged[name] = isObject(old) && isObject(value) ? merge(old, value) : value;
  }
  return merged;
}

function present({ kind }: Resource, dialect: Dialect, { id, attributes }: StoredResource): Attributes {
  return { id, ...dialect.present(kind, attributes) };
}

/** The body after a write. The place of V1's deprecation messages is not known; the dialect sets one. */
function written(
  resource: Resource,
  dialect: Dialect,
  stored: StoredResource,
  deprecations: readonly Deprecation[],
): unknown {
  const data = present(resource, dialect, stored);
  if (deprecations.length === 0) return { data };
  return dialect.deprecationsIn === 'data' ? { data: { ...data, deprecations } } : { data, deprecations };
}

/** The query of a list: a range, and the attributes that entries must have. */
interface ListQuery {
  /** Counts from 1. */
  readonly page: number;
  readonly perPage: number;
  /** In V1's spelling. */
  readonly where: Attributes;
}

/** Default and maximum entries per page. */
export const PER_PAGE_DEFAULT = 25;
export const PER_PAGE_MOST = 100;

/** A query parameter that filters a list. */
interface Filter {
  /** The name of the parameter: that of the attribute in the edition's spelling. */
  readonly parameter: string;
  /** The attribute in V1's spelling. */
  readonly attribute: string;
  readonly isNumber: boolean;
}

/** The filters of a collection. */
export function filtersOf({ kind, filters }: Resource, { spelling }: Dialect): readonly Filter[] {
  return filters.map((attribute) => ({
    parameter: spelledName(spelling, kind, attribute),
    attribute,
    isNumber: attribute.endsWith('_id'),
  }));
}

/** Reads a query; throws a 422 that names each parameter out of range. Other parameters are ignored, as is all but the first of a name. */
function readListQuery(query: URLSearchParams, filters: readonly Filter[]): ListQuery {
  const faults: Fault[] = [];
  const read = (parameter: string, fallback: number, max: number): number => {
    const text = query.get(parameter);
    if (text === null) return fallback;
    const value = /^\d{1,16}$/.test(text) ? Number(text) : 0;
    if (value >= 1 && value <= max) return value;
    faults.push({ detail: `${parameter} must be a whole number from 1 to ${max}.`, source: { parameter } });
    return fallback;
  };
  const page = read('page', 1, PAGE_MOST);
  const perPage = read('per_page', PER_PAGE_DEFAULT, PER_PAGE_MOST);
  const where = Object.fromEntries(
    filters
      .filter(({ parameter }) => query.has(parameter))
      .map(({ parameter, attribute, isNumber }) => [
        attribute,
        isNumber ? read(parameter, 0, Number.MAX_SAFE_INTEGER) : query.get(parameter),
      ]),
  );
  if (faults.length > 0) throw new Refusal(422, faults);
  return { page, perPage, where };
}

const PAGE_MOST = 999_999_999;

/** A page of a list, and how many there are. */
interface PageOfMany {
  readonly page: number;
  readonly pages: number;
}

/**
 * The `Link` field of a page (RFC 8288): `first`, `prev`, `next` and `last`, as far as they exist, with all other parameters of the
 * query. Undefined where none exists, and for a list of one page.
 */
function pageLinks(path: string, query: URLSearchParams, { page, pages }: PageOfMany): string | undefined {
  const link = (to: number, relation: string): string => {
    const target = new URLSearchParams(query);
    target.set('page', String(to));
    return `<${path}?${target.toString()}>; rel="${relation}"`;
  };
  const links = [
    ...(pages > 0 ? [link(1, 'first')] : []),
    ...(page > 1 && page - 1 <= pages ? [link(page - 1, 'prev')] : []),
    ...(page < pages ? [link(page + 1, 'next')] : []),
    ...(pages > 0 ? [link(pages, 'last')] : []),
  ];
  return links.length === 0 || (pages === 1 && page === 1) ? undefined : links.join(', ');
}
