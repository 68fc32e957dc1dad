import { titles } from './answer.ts';
import { componentSchemas } from './component-schemas.ts';
import { perPageDefault, perPageMost } from './page.ts';
import { resources, type Resource } from './resources.ts';
import type { Outcome, Route } from './routes.ts';
import type { Schemas } from './schemas.ts';

/** The OpenAPI 3.1 description of `routes`, with the schemas that the service itself checks bodies against. */
export function describeApi(
  routes: readonly Route[],
  schemas: Schemas,
  prefix: string,
  releases: readonly string[],
): Readonly<Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = (paths[`${prefix}${route.path}`] ??= onOne(route) ? { parameters: [idParameter] } : {});
    path[route.method.toLowerCase()] = describeRoute(route);
  }
  paths[`${prefix}/openapi.json`] = { get: selfDescription };
  return {
    openapi: '3.1.1',
    info: {
      title: 'Property capture, V2',
      version: releases.at(-1),
      summary: 'The reference service that comes with capture-gateway.',
      description:
        'The seven operations of the V2 specification, and reading, listing and deleting what they created. ' +
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
      parameters: { version: versionParameter(releases) },
      headers: {
        version: { description: 'The release that answered.', schema: { type: 'string', format: 'date' } },
      },
      schemas: componentSchemas(resources, schemas),
    },
  };
}

function describeRoute(route: Route): unknown {
  const { operation, summary, resource, outcome } = route;
  return {
    operationId: operation,
    summary,
    ...(resource === undefined ? {} : { tags: [resource.plural] }),
    parameters: [reference('parameters', 'version'), ...(outcome === 'page' ? pageParameters : [])],
    ...(takesBody(route) && resource !== undefined
      ? {
          requestBody: {
            required: true,
            content: json(reference('schemas', `${resource.schema}Attributes`)),
          },
        }
      : {}),
    responses: {
      ...success(outcome, resource),
      ...Object.fromEntries(failures(route).map((status) => [status, failure(status)])),
    },
  };
}

function success(outcome: Outcome, resource: Resource | undefined): Record<number, unknown> {
  const schema = resource === undefined ? { type: 'object' } : reference('schemas', resource.schema);
  const one = json({ type: 'object', required: ['data'], properties: { data: schema } });
  const many = { data: { type: 'array', items: schema }, meta: reference('schemas', 'PageMeta') };
  const page = json({ type: 'object', required: ['data', 'meta'], properties: many });
  const ok = { description: 'OK', headers: versionHeader };
  const responses: Record<Outcome, Record<number, unknown>> = {
    empty: { 200: { ...ok, content: one } },
    one: { 200: { ...ok, content: one } },
    page: { 200: { ...ok, content: page } },
    created: {
      201: { description: 'Created', headers: { ...versionHeader, location: locationHeader }, content: one },
    },
    nothing: { 204: { description: 'Deleted', headers: versionHeader } },
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

function failure(status: number): unknown {
  return {
    description: titles[status],
    headers: versionHeader,
    content: json(reference('schemas', 'Errors')),
  };
}

function onOne({ path }: Route): boolean {
  return path.includes('{id}');
}

function takesBody({ method }: Route): boolean {
  return method === 'POST' || method === 'PATCH';
}

function reference(part: string, name: string): unknown {
  return { $ref: `#/components/${part}/${name}` };
}

function json(schema: unknown): unknown {
  return { 'application/json': { schema } };
}

function versionParameter(releases: readonly string[]): unknown {
  return {
    name: 'x-api-version',
    in: 'header',
    required: false,
    description: `A dated release (${releases.join(', ')}); absent or invalid means the latest.`,
    schema: { type: 'string' },
  };
}

const versionHeader = { 'x-api-version': reference('headers', 'version') };
const locationHeader = {
  description: 'Where it can be read.',
  schema: { type: 'string', format: 'uri-reference' },
};
const idParameter = { name: 'id', in: 'path', required: true, schema: { type: 'integer', minimum: 1 } };
const pageParameters = [
  { name: 'page', in: 'query', schema: { type: 'integer', minimum: 1, default: 1 } },
  {
    name: 'per_page',
    in: 'query',
    schema: { type: 'integer', minimum: 1, maximum: perPageMost, default: perPageDefault },
  },
];
const selfDescription = {
  operationId: 'describe_api',
  summary: 'This description',
  security: [],
  responses: { 200: { description: 'OK', headers: versionHeader, content: json({ type: 'object' }) } },
};
