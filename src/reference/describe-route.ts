import { expectsContent } from '../http/methods.ts';
import { TITLES } from './envelope.ts';
import type { Dialect } from './dialect.ts';
import { filtersOf, PER_PAGE_DEFAULT, PER_PAGE_MOST } from './list-query.ts';
import type { Resource } from './resources.ts';
import type { Route } from './routes.ts';

/** The OpenAPI operation of a route. */
export function describeRoute(route: Route, dialect: Dialect): unknown {
  const { operation, summary, resource, outcome } = route;
  const headers = versionHeaders(dialect);
  const failed = failures(route).map((status) => [status, failure(status, headers)]);
  return {
    operationId: operation,
    summary,
    ...(resource === undefined ? {} : { tags: [resource.plural] }),
    parameters: [
      ...(dialect.release === undefined ? [] : [reference('parameters', 'version')]),
      ...(outcome === 'page' && resource !== undefined ? pageParameters(resource, dialect) : []),
    ],
    ...(takesBody(route) && resource !== undefined ? { requestBody: requestBody(resource, dialect) } : {}),
    responses: { ...success(route, dialect), ...Object.fromEntries(failed) },
  };
}

/** The headers that every response has. */
export function versionHeaders({ release }: Dialect): Record<string, unknown> {
  return release === undefined ? {} : { 'x-api-version': reference('headers', 'version') };
}

/** True when a route serves one resource, and its path ends in an id. */
export function onOne({ path }: Route): boolean {
  return path.includes('{id}');
}

function pageParameters(resource: Resource, dialect: Dialect): readonly unknown[] {
  return [
    queryParameter('page', { type: 'integer', minimum: 1, default: 1 }),
    queryParameter('per_page', {
      type: 'integer',
      minimum: 1,
      maximum: PER_PAGE_MOST,
      default: PER_PAGE_DEFAULT,
    }),
    ...filtersOf(resource, dialect).map(({ parameter, isNumber }) =>
      queryParameter(parameter, isNumber ? { type: 'integer', minimum: 1 } : { type: 'string' }),
    ),
  ];
}

function queryParameter(name: string, schema: unknown): unknown {
  return { name, in: 'query', schema };
}

function requestBody({ schema }: Resource, { wrapper }: Dialect): unknown {
  const parameters = reference('schemas', `${schema}Attributes`);
  const wrapped = { type: 'object', required: [wrapper], properties: { [wrapper ?? '']: parameters } };
  return { required: true, content: json(wrapper === undefined ? parameters : wrapped) };
}

function success(route: Route, dialect: Dialect): Record<number, unknown> {
  const { outcome } = route;
  const headers = versionHeaders(dialect);
  const ok = { description: 'OK', headers };
  switch (outcome) {
    case 'empty':
    case 'one':
      return { 200: { ...ok, content: json(one(route, dialect)) } };
    case 'page':
      return { 200: { ...ok, headers: { ...headers, link: LINK_HEADER }, content: json(page(route)) } };
    case 'created': {
      const located = { ...headers, location: LOCATION_HEADER };
      return { 201: { description: 'Created', headers: located, content: json(one(route, dialect)) } };
    }
    case 'nothing':
      return { 204: { description: 'Deleted', headers } };
  }
}

function one(route: Route, { spelling, deprecationsIn }: Dialect): unknown {
  const data = resourceSchema(route);
  const lists = takesBody(route) && spelling.deprecated.length > 0;
  if (!lists) return { type: 'object', required: ['data'], properties: { data } };
  const deprecations = reference('schemas', 'Deprecations');
  const properties =
    deprecationsIn === 'data' ? { data: { ...data, properties: { deprecations } } } : { data, deprecations };
  return { type: 'object', required: ['data'], properties };
}

function page(route: Route): unknown {
  const data = { type: 'array', items: resourceSchema(route) };
  const properties = { data, meta: reference('schemas', 'PageMeta') };
  return { type: 'object', required: ['data', 'meta'], properties };
}

function resourceSchema({ resource }: Route): Record<string, unknown> {
  return resource === undefined ? { type: 'object' } : reference('schemas', resource.schema);
}

function failures(route: Route): number[] {
  const statuses = [401, 429, 500];
  if (route.method !== 'GET') statuses.push(403);
  if (takesBody(route)) statuses.push(400, 413, 415);
  if (takesBody(route) || route.outcome === 'page') statuses.push(422);
  if (onOne(route)) statuses.push(404);
  if (route.resource !== undefined) statuses.push(503);
  return statuses;
}

function failure(status: number, headers: unknown): unknown {
  return { description: TITLES[status], headers, content: json(reference('schemas', 'Errors')) };
}

function takesBody({ method }: Route): boolean {
  return expectsContent(method);
}

function reference(part: string, name: string): Record<string, unknown> {
  return { $ref: `#/components/${part}/${name}` };
}

function json(schema: unknown): unknown {
  return { 'application/json': { schema } };
}

const LINK_HEADER = {
  description: 'Other pages: first, prev, next and last; absent when there is one page.',
  schema: { type: 'string' },
};
const LOCATION_HEADER = {
  required: true,
  description: 'Where it can be read.',
  schema: { type: 'string', format: 'uri-reference' },
};
