import type { Components } from '../../openapi/components.ts';
import {
  type DescribedOperation,
  elementsOf,
  followed,
  isJsonMedia,
  memberOf,
  objectIn,
  printJsonText,
} from '../../openapi/description.ts';
import { shapeOf } from '../../openapi/shape.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import {
  declaredExample,
  pathOf,
  type SampleRequest,
  sampleOf,
  sampleRequest,
  shownSample,
} from './samples.ts';

/** A response from a description's examples or schemas. */
export interface ExampleResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Empty for a response without a body, or with one that is not text. */
  readonly body: string;
}

/** A V1 client's request from a description, with every parameter, and with the body of its example if it has one. */
export function exampleRequest(
  described: DescribedOperation,
  components: Components,
  ruleBook: Pick<RuleBook, 'from'>,
): SampleRequest {
  const { description } = components;
  const request = sampleRequest(described, pathOf(described, description), components, ruleBook, {
    isShown: true,
  });
  const content = objectIn(followed(description, described.operation['requestBody']), 'content');
  const json = Object.entries(content).find(([type]) => isJsonMedia(type));
  const shown = json && shownExample(json[1], components);
  return request.body === undefined || shown === undefined
    ? request
    : { ...request, body: printJsonText(shown) };
}

/** The first successful response of an operation in its description. */
export function exampleResponse(described: DescribedOperation, components: Components): ExampleResponse {
  const { description } = components;
  const all = Object.entries(objectIn(described.operation, 'responses'));
  const [key, declared] = all.find(([status]) => status.startsWith('2')) ??
    all.find(([status]) => status === 'default') ?? ['200', {}];
  const status = /^2\d\d$/.test(key) ? Number(key) : 200;
  return responseIn(followed(description, declared), status, described.method, components);
}

/** The first error of an operation in its description; undefined if there is none. */
export function exampleError(
  described: DescribedOperation,
  components: Components,
): ExampleResponse | undefined {
  const { description } = components;
  const all = Object.entries(objectIn(described.operation, 'responses'));
  const [key, declared] = all.find(([status]) => /^[45]/.test(status)) ??
    all.find(([status]) => status === 'default') ?? [''];
  if (declared === undefined) return undefined;
  const status = /^[45]\d\d$/.test(key) ? Number(key) : key.startsWith('5') ? 500 : 400;
  return responseIn(followed(description, declared), status, described.method, components);
}

function responseIn(
  response: unknown,
  status: number,
  method: string,
  components: Components,
): ExampleResponse {
  const { description } = components;
  const headers = Object.entries(objectIn(response, 'headers')).map(([name, field]) => {
    const schema = memberOf(followed(description, field), 'schema');
    return [name.toLowerCase(), String(sampleOf(shapeOf(schema, components)))] as const;
  });
  const content = Object.entries(objectIn(response, 'content'));
  const [type, media] = content.find(([one]) => isJsonMedia(one)) ?? content[0] ?? [];
  if (type === undefined || method === 'HEAD' || status === 204) return { status, headers, body: '' };
  if (!isJsonMedia(type)) return { status, headers: [...headers, ['content-type', type]], body: 'text' };
  const body = printJsonText(exampleOf(media, components));
  return { status, headers: [...headers, ['content-type', type]], body };
}

/** The example of a media type, or of its whole schema; undefined if there is none. */
function shownExample(media: unknown, { description }: Components): unknown {
  const schema = followed(description, memberOf(media, 'schema'));
  return (
    declaredExample(media, description) ??
    memberOf(schema, 'example') ??
    elementsOf(memberOf(schema, 'examples'))[0]
  );
}

/** The example of a body, or else a value for its schema. */
function exampleOf(media: unknown, components: Components): unknown {
  return shownExample(media, components) ?? shownSample(shapeOf(memberOf(media, 'schema'), components));
}
