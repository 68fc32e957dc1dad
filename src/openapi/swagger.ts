import { type Description, isObject, type JsonObject, memberOf, METHODS } from './description.ts';

/** True for a description of Swagger 2.0, the version before OpenAPI 3.0. */
export function isSwagger(value: unknown): value is JsonObject {
  return memberOf(value, 'swagger') === '2.0' && isObject(memberOf(value, 'paths'));
}

/**
 * Converts a description of Swagger 2.0 to OpenAPI 3.0, as far as the gateway reads one: servers, parameters, bodies, responses and
 * schemas. Descriptions, examples of responses and security definitions are not kept.
 */
export function fromSwagger(swagger: JsonObject): Description {
  const media: MediaTypes = {
    consumes: textsIn(swagger, 'consumes'),
    produces: textsIn(swagger, 'produces'),
  };
  const bodies = new Map<string, JsonObject>();
  const parameters: [string, unknown][] = [];
  for (const [name, parameter] of entriesIn(swagger, 'parameters')) {
    if (isObject(parameter) && isBody(parameter)) bodies.set(name, parameter);
    else parameters.push([name, parameterOf(parameter)]);
  }
  return {
    openapi: '3.0.3',
    info: memberOf(swagger, 'info') ?? {},
    servers: serversOf(swagger),
    paths: mapped(swagger, 'paths', (item) => itemOf(item, media, bodies)),
    components: {
      schemas: mapped(swagger, 'definitions', schemaOf),
      parameters: Object.fromEntries(parameters),
      responses: mapped(swagger, 'responses', (response) => responseOf(response, media.produces)),
    },
  };
}

/** The media types of bodies, where an operation names none. */
interface MediaTypes {
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
}

const JSON_TYPES: readonly string[] = ['application/json'];

function entriesIn(value: unknown, name: string): readonly (readonly [string, unknown])[] {
  const found = memberOf(value, name);
  return isObject(found) ? Object.entries(found) : [];
}

function mapped(value: unknown, name: string, each: (value: unknown) => unknown): JsonObject {
  return Object.fromEntries(entriesIn(value, name).map(([key, inside]) => [key, each(inside)]));
}

function textsIn(value: unknown, name: string): readonly string[] {
  const found = memberOf(value, name);
  const texts = Array.isArray(found) ? found.filter((text): text is string => typeof text === 'string') : [];
  return texts.length === 0 ? JSON_TYPES : texts;
}

function serversOf(swagger: JsonObject): readonly JsonObject[] {
  const [host, base] = [memberOf(swagger, 'host'), memberOf(swagger, 'basePath')];
  const path = typeof base === 'string' ? base : '/';
  if (typeof host !== 'string') return [{ url: path }];
  const schemes = memberOf(swagger, 'schemes');
  const known = Array.isArray(schemes) && schemes.length > 0 ? schemes : ['https'];
  return known.map((scheme: unknown) => ({ url: `${String(scheme)}://${host}${path}` }));
}

function itemOf(item: unknown, media: MediaTypes, bodies: ReadonlyMap<string, JsonObject>): unknown {
  if (!isObject(item)) return item;
  const shared = parametersIn(item, bodies);
  const operations = METHODS.flatMap((method): [string, unknown][] => {
    const operation = memberOf(item, method);
    return isObject(operation) ? [[method, operationOf(operation, shared, media, bodies)]] : [];
  });
  const reference = memberOf(item, '$ref');
  return {
    ...(reference === undefined ? {} : { $ref: reference }),
    ...Object.fromEntries(operations),
    parameters: shared.filter((parameter) => !isBody(parameter)).map(parameterOf),
  };
}

/** The parameters of a path or an operation; a reference to a shared body is followed, as OpenAPI 3 has no parameter for it. */
function parametersIn(value: JsonObject, bodies: ReadonlyMap<string, JsonObject>): readonly JsonObject[] {
  const list = memberOf(value, 'parameters');
  return (Array.isArray(list) ? list : []).filter(isObject).map((parameter) => {
    const reference = memberOf(parameter, '$ref');
    const name = typeof reference === 'string' ? reference.replace('#/parameters/', '') : '';
    return bodies.get(name) ?? parameter;
  });
}

function isBody(parameter: JsonObject): boolean {
  const place = memberOf(parameter, 'in');
  return place === 'body' || place === 'formData';
}

function operationOf(
  operation: JsonObject,
  shared: readonly JsonObject[],
  media: MediaTypes,
  bodies: ReadonlyMap<string, JsonObject>,
): JsonObject {
  const own = parametersIn(operation, bodies);
  const consumes = 'consumes' in operation ? textsIn(operation, 'consumes') : media.consumes;
  const produces = 'produces' in operation ? textsIn(operation, 'produces') : media.produces;
  const body = requestBodyOf(own.some(isBody) ? own : shared, consumes);
  return {
    ...Object.fromEntries(Object.entries(operation).filter(([name]) => !MOVED.has(name))),
    parameters: own.filter((parameter) => !isBody(parameter)).map(parameterOf),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: mapped(operation, 'responses', (response) => responseOf(response, produces)),
  };
}

/** Members of an operation that OpenAPI 3 has elsewhere. */
const MOVED: ReadonlySet<string> = new Set(['consumes', 'produces', 'schemes']);

function requestBodyOf(
  parameters: readonly JsonObject[],
  consumes: readonly string[],
): JsonObject | undefined {
  const body = parameters.find((parameter) => memberOf(parameter, 'in') === 'body');
  if (body !== undefined)
    return {
      required: memberOf(body, 'required') === true,
      content: contentOf(schemaOf(memberOf(body, 'schema') ?? {}), consumes),
    };
  const fields = parameters.filter((parameter) => memberOf(parameter, 'in') === 'formData');
  if (fields.length === 0) return undefined;
  const named = fields.map((field): [string, unknown] => [
    String(memberOf(field, 'name')),
    valueSchema(field),
  ]);
  const required = fields.filter((field) => memberOf(field, 'required') === true);
  const hasFile = fields.some((field) => memberOf(field, 'type') === 'file');
  const forms = consumes.filter((type) => /form/i.test(type));
  const schema = {
    type: 'object',
    properties: Object.fromEntries(named),
    ...(required.length === 0 ? {} : { required: required.map((field) => memberOf(field, 'name')) }),
  };
  const usual = hasFile ? 'multipart/form-data' : 'application/x-www-form-urlencoded';
  return { content: contentOf(schema, forms.length === 0 ? [usual] : forms) };
}

function contentOf(schema: unknown, types: readonly string[]): JsonObject {
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}

function responseOf(response: unknown, produces: readonly string[]): unknown {
  if (!isObject(response)) return response;
  const reference = memberOf(response, '$ref');
  if (typeof reference === 'string') return { $ref: moved(reference) };
  const schema = memberOf(response, 'schema');
  return {
    description: memberOf(response, 'description') ?? '',
    ...(schema === undefined ? {} : { content: contentOf(schemaOf(schema), produces) }),
  };
}

/** What a parameter has beside its schema. */
const PARAMETER_MEMBERS: ReadonlySet<string> = new Set([
  'name',
  'in',
  'description',
  'required',
  'collectionFormat',
]);

function parameterOf(parameter: unknown): unknown {
  if (!isObject(parameter)) return parameter;
  const reference = memberOf(parameter, '$ref');
  if (typeof reference === 'string') return { $ref: moved(reference) };
  const format = memberOf(parameter, 'collectionFormat');
  const kept = Object.entries(parameter).filter(
    ([name]) => ['name', 'in', 'description', 'required'].includes(name) || name.startsWith('x-'),
  );
  return {
    ...Object.fromEntries(kept),
    ...(memberOf(parameter, 'type') === 'array' ? { explode: format === 'multi' } : {}),
    schema: valueSchema(parameter),
  };
}

/** The schema that the members of a parameter are. */
function valueSchema(parameter: JsonObject): unknown {
  const members = Object.entries(parameter).filter(
    ([name]) => !PARAMETER_MEMBERS.has(name) && !name.startsWith('x-'),
  );
  return schemaOf(Object.fromEntries(members));
}

/** Members of a schema whose members are schemas. */
const SCHEMA_MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'definitions']);

/** Members of a schema that are values and no schemas. */
const VALUES: ReadonlySet<string> = new Set(['default', 'enum', 'example', 'required']);

function schemaOf(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(schemaOf);
  if (!isObject(schema)) return schema;
  const members = Object.entries(schema).flatMap(([name, value]): [string, unknown][] => {
    if (name === '$ref' && typeof value === 'string') return [[name, moved(value)]];
    if (name === 'x-nullable') return [['nullable', value]];
    if (name === 'discriminator' && typeof value === 'string') return [[name, { propertyName: value }]];
    if (name === 'type' && value === 'file')
      return [
        ['type', 'string'],
        ['format', 'binary'],
      ];
    if (VALUES.has(name)) return [[name, value]];
    return [[name, SCHEMA_MAPS.has(name) ? mapped(schema, name, schemaOf) : schemaOf(value)]];
  });
  return Object.fromEntries(members);
}

const PLACES: readonly (readonly [string, string])[] = [
  ['#/definitions/', '#/components/schemas/'],
  ['#/parameters/', '#/components/parameters/'],
  ['#/responses/', '#/components/responses/'],
];

function moved(reference: string): string {
  const place = PLACES.find(([from]) => reference.startsWith(from));
  return place === undefined ? reference : place[1] + reference.slice(place[0].length);
}
