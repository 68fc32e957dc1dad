import { expectsContent } from '../http/methods.ts';
import { TITLES } from './envelope.ts';
import type { Dialect } from './dialect.ts';
import { PER_PAGE_DEFAULT, PER_PAGE_MOST } from './page.ts';
import type { Resource } from './resources.ts';
import type { Outcome, Route } from './routes.ts';

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
      ...(dialect.dated ? [reference('parameters', 'version')] : []),
      ...(outcome === 'page' ? pageParameters : []),
    ],
    ...(takesBody(route) && resource !== undefined ? { requestBody: requestBody(resource, dialect) } : {}),
    responses: { ...success(outcome, resource, dialect), ...Object.fromEntries(failed) },
  };
}

/** The headers that every response has. */
export function versionHeaders({ dated }: Dialect): Record<string, unknown> {
  return dated ? { 'x-api-version': reference('headers', 'version') } : {};
}

/** True when a route serves one resource, and its path ends in an id. */
export function onOne({ path }: Route): boolean {
  return path.includes('{id}');
}

function requestBody({ schema }: Resource, { wrapper }: Dialect): unknown {
  const parameters = reference('schemas', `${schema}Attributes`);
  const wrapped = { type: 'object', required: [wrapper], properties: { [wrapper ?? '']: parameters } };
  return { required: true, content: json(wrapper === undefined ? parameters : wrapped) };
}

function success(
  outcome: Outcome,
  resource: Resource | undefined,
  dialect: Dialect,
): Record<number, unknown> {
  const schema = resource === undefined ? { type: 'object' } : reference('schemas', resource.schema);
  const deprecations = dialect.name === 'v1' ? { deprecations: DEPRECATION_LIST } : {};
  const one = json({ type: 'object', required: ['data'], properties: { data: schema, ...deprecations } });
  const many = { data: { type: 'array', items: schema }, meta: reference('schemas', 'PageMeta') };
  const page = json({ type: 'object', required: ['data', 'meta'], properties: many });
  const headers = versionHeaders(dialect);
  const ok = { description: 'OK', headers };
  const created = { description: 'Created', headers: { ...headers, location: LOCATION_HEADER } };
  const responses: Record<Outcome, Record<number, unknown>> = {
    empty: { 200: { ...ok, content: one } },
    one: { 200: { ...ok, content: one } },
    page: { 200: { ...ok, content: page } },
    created: { 201: { ...created, content: one } },
    nothing: { 204: { description: 'Deleted', headers } },
  };
  return responses[outcome];
}

function failures(route: Route): number[] {
  const statuses = [401, 429, 500];
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

function reference(part: string, name: string): unknown {
  return { $ref: `#/components/${part}/${name}` };
}

function json(schema: unknown): unknown {
  return { 'application/json': { schema } };
}

const LOCATION_HEADER = {
  description: 'Where it can be read.',
  schema: { type: 'string', format: 'uri-reference' },
};
const DEPRECATION_LIST = {
  type: 'array',
  description: 'The deprecated attributes that the request used.',
  items: {
    type: 'object',
    required: ['attribute', 'message'],
    properties: { attribute: { type: 'string' }, message: { type: 'string' } },
  },
};
const pageParameters = [
  { name: 'page', in: 'query', schema: { type: 'integer', minimum: 1, default: 1 } },
  {
    name: 'per_page',
    in: 'query',
    schema: { type: 'integer', minimum: 1, maximum: PER_PAGE_MOST, default: PER_PAGE_DEFAULT },
  },
];
