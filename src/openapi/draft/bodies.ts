import type { Components } from '../components.ts';
import {
  type DescribedOperation,
  elementsOf,
  followed,
  isJsonMedia,
  isObject,
  isOfTexts,
  jsonMediaIn,
  type JsonObject,
  memberOf,
  objectIn,
  templateOf,
} from '../description.ts';
import { ANY_SHAPE, type MemberShape, type Shape, shapeOf, withAnnotations } from '../shape.ts';
import { plainName, singular, wordsOf } from './names.ts';

/** The form of a body: JSON, or the fields of a form, whose values are texts. */
export type BodyForm = 'json' | 'form' | 'multipart';

export interface DescribedBody {
  readonly form: BodyForm;
  readonly shape: Shape;
}

const FORMS: readonly (readonly [form: BodyForm, isMeant: (type: string) => boolean])[] = [
  ['json', isJsonMedia],
  ['form', (type) => type.startsWith('application/x-www-form-urlencoded')],
  ['multipart', (type) => type.startsWith('multipart/form-data')],
];

/** The request body of an operation that rules can rewrite: in JSON if the operation accepts it, otherwise as a form. */
export function requestBody(
  { operation }: DescribedOperation,
  components: Components,
): DescribedBody | undefined {
  const content = objectIn(followed(components.description, operation['requestBody']), 'content');
  for (const [form, isMeant] of FORMS) {
    const media = form === 'json' ? jsonIn(content) : Object.keys(content).find((type) => isMeant(type));
    const schema = media === undefined ? undefined : memberOf(content[media], 'schema');
    if (schema !== undefined) return { form, shape: shapeOf(schema, components) };
  }
  return undefined;
}

/** The media type of JSON in `content`: one text, or else several, which rules change one by one. */
function jsonIn(content: JsonObject): string | undefined {
  return jsonMediaIn(content)[0] ?? Object.keys(content).find(isOfTexts);
}

/** True if an operation refuses requests without a body. */
export function requiresBody({ operation }: DescribedOperation, { description }: Components): boolean {
  return memberOf(followed(description, operation['requestBody']), 'required') === true;
}

/** The shape of the body of an operation's request. */
export function requestShape(described: DescribedOperation, components: Components): Shape | undefined {
  return requestBody(described, components)?.shape;
}

/** A response in JSON, with its status as the description writes it. */
export interface DescribedResponse {
  readonly status: string;
  readonly shape: Shape;
}

/** The JSON responses with one of `statuses`: a status, `2XX`, or `default` for statuses without a key of their own. */
export function responsesIn(
  { operation }: DescribedOperation,
  components: Components,
  isMeant: (status: string) => boolean,
): readonly DescribedResponse[] {
  return Object.entries(objectIn(operation, 'responses')).flatMap(([status, declared]) => {
    if (!isMeant(status)) return [];
    const content = contentOf(declared, components);
    const media = jsonIn(content);
    const schema = media === undefined ? undefined : memberOf(content[media], 'schema');
    return schema === undefined ? [] : [{ status, shape: shapeOf(schema, components) }];
  });
}

function contentOf(declared: unknown, { description }: Components): JsonObject {
  return objectIn(followed(description, declared), 'content');
}

/** True if a successful response has a body in any media type. */
export function describesBody({ operation }: DescribedOperation, components: Components): boolean {
  return Object.entries(objectIn(operation, 'responses')).some(
    ([status, declared]) =>
      /^(?:2|default)/i.test(status) && Object.keys(contentOf(declared, components)).length > 0,
  );
}

/** The shape of a successful response: the first one in JSON. Beside a key for success, `default` describes errors. */
export function successShape(described: DescribedOperation, components: Components): Shape | undefined {
  const known = successes.get(described);
  // Cached, because each operation is compared with all operations of the other version.
  if (known?.components === components) return known.shape;
  const shape = findSuccess(described, components);
  successes.set(described, { components, shape });
  return shape;
}

const successes = new WeakMap<
  DescribedOperation,
  { readonly components: Components; readonly shape: Shape | undefined }
>();

function findSuccess(described: DescribedOperation, components: Components): Shape | undefined {
  const isOfSuccess = (status: string): boolean => status.startsWith('2');
  const hasSuccess = Object.keys(objectIn(described.operation, 'responses')).some(isOfSuccess);
  const [first] = responsesIn(
    described,
    components,
    hasSuccess ? isOfSuccess : (status) => status === 'default',
  );
  return first?.shape;
}

/**
 * The shape of the example of a successful response without a schema: only its names and types are known. Undefined for a response with a
 * schema, or without an example in JSON.
 */
export function exampleShape(described: DescribedOperation, components: Components): Shape | undefined {
  const known = exampleShapes.get(described);
  if (known?.components === components) return known.shape;
  const shape = findExample(described, components);
  exampleShapes.set(described, { components, shape });
  return shape;
}

const exampleShapes: typeof successes = new WeakMap();

function findExample(described: DescribedOperation, components: Components): Shape | undefined {
  if (successShape(described, components) !== undefined) return undefined;
  for (const [status, declared] of Object.entries(objectIn(described.operation, 'responses'))) {
    const content = status.startsWith('2') ? contentOf(declared, components) : {};
    const [media] = jsonMediaIn(content);
    const [first] = Object.values(objectIn(content[media ?? ''], 'examples'));
    const shown =
      memberOf(content[media ?? ''], 'example') ?? memberOf(followed(components.description, first), 'value');
    if (typeof shown === 'object' && shown !== null) return shapeOf(schemaOf(shown), components);
  }
  return undefined;
}

/** A schema with the names and types of a value. */
function schemaOf(value: unknown): JsonObject {
  if (Array.isArray(value)) {
    const all = value.map(schemaOf);
    const properties = all.flatMap((one) => Object.entries(objectIn(one, 'properties')));
    const [first = {}] = all;
    const merged = properties.length > 0 && { properties: Object.fromEntries(properties) };
    return { type: 'array', items: { ...first, ...merged } };
  }
  if (isObject(value)) {
    const properties = Object.entries(value).map(([name, inner]) => [name, schemaOf(inner)] as const);
    return { type: 'object', properties: Object.fromEntries(properties) };
  }
  if (value === null) return {};
  const type = Number.isInteger(value) ? 'integer' : typeof value;
  return { type, example: value };
}

/** The resource in the successful responses to an operation. */
export interface FoundResource {
  /** The member of the response with the resource; empty if the body is the resource. */
  readonly at: string;
  /** The shape of one resource, even if the response has a list. */
  readonly shape: Shape;
  /** The response around it. */
  readonly response: Shape;
}

/**
 * Finds the resource in successful responses: in `data`; the body itself; or, in a response to a GET of a collection, in its only list of
 * objects. Undefined if the description does not show the member.
 */
export function resourceIn(described: DescribedOperation, components: Components): FoundResource | undefined {
  const response = successShape(described, components) ?? exampleShape(described, components);
  if (response === undefined) return undefined;
  const data = response.members.get('data')?.shape;
  if (data !== undefined) return { at: 'data', shape: data.element ?? data, response };
  if (response.element !== undefined) return { at: '', shape: response.element, response };
  // A list of the path's name is the content, also if it has messages or links.
  const named = listsOfPath(response, described);
  const lists = named.length === 1 ? named : listsIn(response);
  const [list] = lists;
  const isCollection = described.method === 'GET' && !described.rest.endsWith('}');
  if (isCollection && lists.length === 1 && list !== undefined && isContent(list[0], response, described))
    return { at: list[0], shape: list[1].shape.element ?? ANY_SHAPE, response };
  const [only, ...more] = [...response.members].filter(([name]) => !isAside(name));
  // An envelope has the name of the path's resource, `{"ticket": {…}}` of `/tickets/{no}`, or a general one.
  const isEnvelope = only !== undefined && more.length === 0 && only[1].shape.members.size > 0;
  const envelope = only === undefined ? '' : wordsOf(only[0]).map(singular).join('');
  if (
    isEnvelope &&
    (ENVELOPES.has(envelope) ||
      (templateOf(described) ?? described.rest)
        .split('/')
        .some((segment) => wordsOf(segment).map(singular).join('') === envelope))
  )
    return { at: only[0], shape: only[1].shape, response };
  return response.members.size > 0 ? { at: '', shape: response, response } : undefined;
}

/** The lists of objects in a response, without those of errors and of links to other pages. */
export function listsIn(response: Shape): readonly (readonly [name: string, member: MemberShape])[] {
  return objectLists(response).filter(([name]) => !isAside(name));
}

/** The lists of objects in a response that have the name of the path's last word. */
function listsOfPath(response: Shape, described: DescribedOperation): ReturnType<typeof listsIn> {
  const path = (templateOf(described) ?? described.rest).split('/');
  const last = plainName(path.findLast((part) => part !== '' && !part.startsWith('{')) ?? '');
  return objectLists(response).filter(([name]) => plainName(name) === last);
}

function objectLists(response: Shape): ReturnType<typeof listsIn> {
  return [...response.members].filter(([, { shape }]) => (shape.element?.members.size ?? 0) > 0);
}

function isAside(name: string): boolean {
  return ASIDE.has(singular(wordsOf(name).at(-1) ?? ''));
}

/** True if the response has a list of resources. */
export function isListed({ at, response }: FoundResource): boolean {
  const carrier = at === '' ? response : response.members.get(at)?.shape;
  return carrier?.element !== undefined;
}

const ENVELOPES: ReadonlySet<string> = new Set('payload result response body content'.split(' '));

const ASIDE: ReadonlySet<string> = new Set('error warning message notice fault problem link'.split(' '));

/** General names of a list, which do not describe its content, and names of members beside a list. */
const LIST_NAMES: ReadonlySet<string> = new Set(
  'data item result record entry value list row content element object hit resource'.split(' '),
);
const PAGE_WORDS: ReadonlySet<string> = new Set(
  `page paging pagination per size limit offset total count number result record item set start end position next previous prev first last
  cursor token more has response is uri url link href self meta metadata object type status success ok error warning message code returned request id`.split(
    /\s+/,
  ),
);

/** True for a list that is the main content of a response: by its name, by the path's, or because only paging members are beside it. */
function isContent(list: string, response: Shape, described: DescribedOperation): boolean {
  const words = wordsOf(list).map(singular);
  if (words.length === 1 && words.every((word) => LIST_NAMES.has(word))) return true;
  const path = (templateOf(described) ?? described.rest)
    .split('/')
    .filter((part) => !/^(?:\{.*|)$/.test(part));
  const last = wordsOf(path.at(-1) ?? '').map(singular);
  const isNamed = last.length > 0 && last.every((word) => words.includes(word));
  if (isNamed || words.every((word) => last.includes(word))) return true;
  return [...response.members.keys()].every(
    (name) =>
      name === list ||
      wordsOf(name)
        .map(singular)
        .every((word) => PAGE_WORDS.has(word)),
  );
}

/** Where a parameter can be. */
export type ParameterPlace = 'query' | 'header' | 'cookie' | 'path';

/** The parameters of an operation in one place, as the members of an object. */
export function parameterShape(
  { operation, item }: DescribedOperation,
  components: Components,
  place: ParameterPlace,
): Shape {
  const declared = [...elementsOf(item['parameters']), ...elementsOf(operation['parameters'])];
  const members = declared.flatMap((one) =>
    parameterIn(followed(components.description, one), components, place),
  );
  return { ...ANY_SHAPE, members: new Map(members) };
}

function parameterIn(
  parameter: unknown,
  components: Components,
  place: ParameterPlace,
): readonly (readonly [string, MemberShape])[] {
  const name = memberOf(parameter, 'name');
  if (memberOf(parameter, 'in') !== place || typeof name !== 'string') return [];
  const [media] = Object.values(objectIn(parameter, 'content'));
  const shape = shapeOf(memberOf(parameter, 'schema') ?? memberOf(media, 'schema'), components);
  const text = memberOf(parameter, 'description');
  const example = memberOf(parameter, 'example');
  const shown = typeof example === 'string' && shape.constraints === '';
  const described = withAnnotations(shape, {
    constraints: shown ? JSON.stringify([['example', example]]) : shape.constraints,
    text: typeof text === 'string' ? text : shape.text,
  });
  return [[name, { shape: described, required: memberOf(parameter, 'required') === true }]];
}
