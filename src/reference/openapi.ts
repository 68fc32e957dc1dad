import * as z from 'zod';
import { expectsContent } from '../http/request-head.ts';
import type { Dialect } from './dialect.ts';
import { TITLES } from './envelope.ts';
import { type Resource, RESOURCES, type Schemas } from './resources.ts';
import { filtersOf, PER_PAGE_DEFAULT, PER_PAGE_MOST, type Route, ROUTES } from './routes.ts';

/**
 * The OpenAPI 3.1 description of an edition, with the same schemas that the service validates bodies against. `releases` are all
 * that the service has. Descriptions of two editions have the same structure, texts and order, and differ only as the editions do.
 */
export function describeApi(
  dialect: Dialect,
  releases: readonly string[],
): Readonly<Record<string, unknown>> {
  const { prefix, release, schemas, spelling } = dialect;
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of ROUTES) {
    const path = (paths[`${prefix}${route.path}`] ??= onOne(route) ? { parameters: [ID_PARAMETER] } : {});
    path[route.method.toLowerCase()] = describeRoute(route, dialect);
  }
  paths[`${prefix}/openapi.json`] = { get: describeItself(dialect) };
  return {
    openapi: '3.1.1',
    info: {
      title: 'Property capture',
      version: release ?? '1',
      summary: 'The reference service that comes with capture-gateway.',
      description:
        'The seven operations of the specification, and reading, listing and deleting what they created. ' +
        'Attributes that neither the specification nor the public documentation names are assumptions.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'Any API key that is not empty.' },
      },
      ...(release === undefined ? {} : versionComponents(releases)),
      schemas: componentSchemas(RESOURCES, schemas, spelling.deprecated),
    },
  };
}

function describeItself(dialect: Dialect): unknown {
  const content = { 'application/json': { schema: { type: 'object' } } };
  return {
    operationId: 'describe_api',
    summary: 'This description',
    security: [],
    responses: { 200: { description: 'OK', headers: versionHeaders(dialect), content } },
  };
}

function versionComponents(releases: readonly string[]): Record<string, unknown> {
  const description = `A dated release (${releases.join(', ')}); absent or invalid means the latest.`;
  return {
    parameters: {
      version: {
        name: 'x-api-version',
        in: 'header',
        required: false,
        description,
        schema: { type: 'string' },
      },
    },
    headers: {
      version: {
        description: 'The release that responded.',
        required: true,
        schema: { type: 'string', format: 'date' },
      },
    },
  };
}

const ID_PARAMETER = { name: 'id', in: 'path', required: true, schema: { type: 'integer', minimum: 1 } };

/**
 * The `components.schemas` of the description: for each resource `ClientAttributes`, as requests send it, and `Client`, as
 * responses contain it; and the envelopes `PageMeta`, `Errors` and, where the edition has them, `Deprecations`. Objects inside a
 * resource are written out, so that each schema belongs to one resource, and editions differ only where resources do.
 */
function componentSchemas(
  resources: readonly Resource[],
  schemas: Schemas,
  deprecated: readonly string[],
): Record<string, unknown> {
  const registry = z.registry<{ id: string }>();
  for (const { kind, schema } of resources) {
    const attributes = schemas[kind];
    registry.add(attributes, { id: `${schema}Attributes` });
    const members = Object.entries(attributes.shape).filter(([name]) => !deprecated.includes(name));
    registry.add(z.object({ id: z.int().positive(), ...Object.fromEntries(members) }), { id: schema });
  }
  registry.add(pageMeta, { id: 'PageMeta' });
  registry.add(errors, { id: 'Errors' });
  if (deprecated.length > 0) registry.add(deprecations, { id: 'Deprecations' });
  const generated = z.toJSONSchema(registry, { io: 'input', uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(
    Object.entries(generated.schemas).map(([name, { $schema: _dialect, $id: _id, ...schema }]) => [
      name,
      schema,
    ]),
  );
}

const count = z.int().nonnegative();
const pageMeta = z.object({ page: count, per_page: count, total: count, total_pages: count });
const source = z.union([z.object({ pointer: z.string() }), z.object({ parameter: z.string() })]);
const errors = z.object({
  errors: z
    .array(z.object({ status: z.string(), title: z.string(), detail: z.string(), source: source.optional() }))
    .min(1),
  meta: z.object({ reset: count.describe('Seconds to wait.') }).optional(),
});
const deprecations = z
  .array(z.object({ attribute: z.string(), message: z.string() }))
  .describe('The deprecated attributes that the request used; absent when it used none.');

/** The OpenAPI operation of a route. */
function describeRoute(route: Route, dialect: Dialect): unknown {
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
function versionHeaders({ release }: Dialect): Record<string, unknown> {
  return release === undefined ? {} : { 'x-api-version': reference('headers', 'version') };
}

/** True when a route serves one resource, and its path ends in an id. */
function onOne({ path }: Route): boolean {
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
