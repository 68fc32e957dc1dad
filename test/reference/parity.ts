import { isObject } from '../../src/reference/resources.ts';
import { ADDRESS } from '../../bench/v2-order.ts';

/** A request to either version: `POST /clients`, and a body as V1 clients send it; text goes as it is. */
export interface Step {
  readonly line: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A response, reduced to what must be equal in both versions. */
export interface Outcome {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Plays a request to an app, below `/api/v1` or `/api/v2`. */
export async function play(
  app: { request(path: string, init: RequestInit): Response | Promise<Response> },
  version: 'v1' | 'v2',
  { line, body, headers = {} }: Step,
): Promise<Outcome> {
  const [method = '', path = ''] = line.split(' ');
  const response = await app.request(`/api/${version}${path}`, {
    method,
    headers: { authorization: 'Bearer key', 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const fields = Object.fromEntries(response.headers);
  return { status: response.status, headers: fields, body: await response.text() };
}

/** The V2 request that means the same as a V1 request: changes 1 to 5 of the specification, written down once more. */
export function toV2({ line, body, headers = {} }: Step): Step {
  const renamed = line.includes('/orders/post_productions')
    ? line.replace('transition_type=', 'highlight_type=')
    : line;
  const wrapped =
    isObject(body) && isObject(body['data']) ? { body: parametersToV2(line, body['data']) } : { body };
  return { line: renamed, headers, ...wrapped };
}

/** The V1 response that means the same as a V2 response to `step`. */
export function toV1({ line, body }: Step, { status, headers, body: text }: Outcome): Outcome {
  const { 'x-api-version': _, ...others } = headers;
  const fields = Object.entries(others).map(([name, value]) => [
    name,
    nameInV1(line, value.replaceAll('/api/v2', '/api/v1')),
  ]);
  const isWrapped = isObject(body);
  return {
    status,
    headers: Object.fromEntries(fields),
    body: text === '' ? '' : JSON.stringify(bodyToV1(line, JSON.parse(text), isWrapped)),
  };
}

type Order = Readonly<Record<string, unknown>>;

function parametersToV2(line: string, given: Readonly<Record<string, unknown>>): unknown {
  if (!line.includes('/orders/')) return given;
  const { property } = given;
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      if (name === 'property' && isObject(property)) return [name, nested(property)];
      return name === 'transition_type' && line.includes('post_prod')
        ? ['highlight_type', value]
        : [name, value];
    }),
  );
}

function nested(property: Readonly<Record<string, unknown>>): unknown {
  const of = (isAddress: boolean): [string, unknown][] =>
    Object.entries(property).filter(([name]) => ADDRESS.includes(name) === isAddress);
  const address = Object.fromEntries(of(true));
  return Object.keys(address).length === 0 ? property : { ...Object.fromEntries(of(false)), address };
}

// oxlint-disable-next-line typescript/no-explicit-any -- any response
function bodyToV1(line: string, body: any, isWrapped: boolean): unknown {
  if (Array.isArray(body.errors)) {
    const errors = body.errors.map(
      ({ detail, source, ...error }: { detail: string; source?: { pointer?: string } }) => ({
        ...error,
        detail: nameInV1(line, detail.replace('property.address.', 'property.')),
        ...(source === undefined ? {} : { source: sourceInV1(line, source, isWrapped) }),
      }),
    );
    return { ...body, errors };
  }
  if (!line.includes('/orders/')) return body;
  const data = Array.isArray(body.data)
    ? body.data.map((order: Order) => orderToV1(line, order))
    : orderToV1(line, body.data);
  return { ...body, data };
}

function sourceInV1(line: string, source: { readonly pointer?: string }, isWrapped: boolean): unknown {
  const { pointer } = source;
  if (pointer === undefined) return source;
  const flat = nameInV1(line, pointer.replace('/property/address/', '/property/'));
  return { pointer: isWrapped ? `/data${flat}` : flat };
}

function orderToV1(line: string, order: Order): unknown {
  return Object.fromEntries(
    Object.entries(order).map(([name, value]) => {
      if (name !== 'property' || !isObject(value)) return [nameInV1(line, name), value];
      const members = Object.entries(value).flatMap(([own, inner]) =>
        own === 'address' && isObject(inner) ? Object.entries(inner) : [[own, inner] as const],
      );
      return [name, Object.fromEntries(members)];
    }),
  );
}

/** Only post production orders have either name. */
function nameInV1(line: string, text: string): string {
  return line.includes('/orders/post_productions')
    ? text.replaceAll('highlight_type', 'transition_type')
    : text;
}
