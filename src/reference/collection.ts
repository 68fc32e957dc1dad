import { Refusal, type Answer } from './answer.ts';
import { readPage } from './page.ts';
import type { Resource } from './resources.ts';
import type { Attributes, Store, StoredResource } from './store.ts';

/** 200 with a page of the collection and, in `meta`, where in the whole of it that page is. */
export function listPage(store: Store, { kind }: Resource, query: URLSearchParams): Answer {
  const { page, perPage } = readPage(query);
  const { items, total } = store.list(kind, (page - 1) * perPage, perPage);
  const meta = { page, per_page: perPage, total, total_pages: Math.ceil(total / perPage) };
  return { status: 200, body: { data: items.map(present), meta } };
}

/** 200 with the resource, or 404. */
export function readOne(store: Store, resource: Resource, id: string): Answer {
  const kept = store.read(resource.kind, parseId(resource, id));
  if (kept === undefined) throw missing(resource, id);
  return { status: 200, body: { data: present(kept) } };
}

/** 204, or 404. */
export function removeOne(store: Store, resource: Resource, id: string): Answer {
  if (!store.remove(resource.kind, parseId(resource, id))) throw missing(resource, id);
  return { status: 204 };
}

/** 201 with the resource and its Location; `property` without an id brings that property into being too. */
export function createOne(store: Store, resource: Resource, attributes: Attributes, prefix: string): Answer {
  const created = store.atomically(() => {
    return store.create(resource.kind, withPropertyId(store, attributes));
  });
  const location = `${prefix}${resource.path}/${created.id}`;
  return { status: 201, headers: { location }, body: { data: present(created) } };
}

/** 200 with the resource as it is after the update, or 404. Objects, such as an address, are updated member by member. */
export function updateOne(store: Store, resource: Resource, id: string, attributes: Attributes): Answer {
  const kept = store.update(resource.kind, parseId(resource, id), (before) => merge(before, attributes));
  if (kept === undefined) throw missing(resource, id);
  return { status: 200, body: { data: present(kept) } };
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

function present({ id, attributes }: StoredResource): Attributes {
  return { id, ...attributes };
}

function isObject(value: unknown): value is Attributes {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
