import { Refusal, type Reply } from './envelope.ts';
import type { Accepted, Deprecation, Dialect } from './dialect.ts';
import { isObject } from './is-object.ts';
import { filtersOf, readListQuery } from './list-query.ts';
import { pageLinks } from './page-links.ts';
import type { Resource } from './resources.ts';
import type { Attributes, Store, StoredResource } from './store.ts';

/** A collection in a store, as a dialect presents it. */
export interface Collection {
  readonly store: Store;
  readonly dialect: Dialect;
  readonly resource: Resource;
}

/** 200 with a page of the collection and, in `meta`, its position in all that the filters select; `Link` leads to other pages. */
export function listPage({ store, dialect, resource }: Collection, query: URLSearchParams): Reply {
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
export function readOne({ store, dialect, resource }: Collection, id: string): Reply {
  const stored = store.read(resource.kind, parseId(resource, id));
  if (stored === undefined) throw missing(resource, id);
  return { status: 200, body: { data: present(resource, dialect, stored) } };
}

/** 204, or 404. */
export function removeOne({ store, resource }: Collection, id: string): Reply {
  if (!store.remove(resource.kind, parseId(resource, id))) throw missing(resource, id);
  return { status: 204 };
}

/** 201 with the resource and its Location; a `property` without an id creates that property too. */
export function createOne(
  { store, dialect, resource }: Collection,
  { attributes, deprecations }: Accepted,
): Reply {
  const created = store.atomically(() => {
    return store.create(resource.kind, withPropertyId(store, attributes));
  });
  const location = `${dialect.prefix}${resource.path}/${created.id}`;
  return { status: 201, headers: { location }, body: written(resource, dialect, created, deprecations) };
}

/** 200 with the updated resource, or 404. Objects, such as the client of a property, are merged member by member. */
export function updateOne(
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

/** The body after a write. Where V1 put its deprecation messages is not known: the dialect has the place. */
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
