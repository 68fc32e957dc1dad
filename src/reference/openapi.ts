import { componentSchemas } from './component-schemas.ts';
import { describeRoute, onOne, versionHeaders } from './describe-route.ts';
import type { Dialect } from './dialect.ts';
import { RESOURCES } from './resources.ts';
import { ROUTES } from './routes.ts';

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
      schemas: componentSchemas(RESOURCES, schemas, spelling.deprecated.length > 0),
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
