/** A response before serialisation; no `body` sends none. */
export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One entry of the `errors` envelope, without the members that follow from its status. */
export interface Fault {
  readonly detail: string;
  /** RFC 6901 pointer into the request body, or the name of a query parameter. */
  readonly source?: { readonly pointer: string } | { readonly parameter: string };
}

/** Thrown when a request cannot be served; the app responds with the `errors` envelope. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly faults: readonly Fault[];
  readonly headers: Readonly<Record<string, string>>;
  readonly meta: Readonly<Record<string, unknown>> | undefined;

  constructor(
    status: number,
    faults: string | readonly Fault[],
    more: { headers?: Readonly<Record<string, string>>; meta?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(`${status} ${TITLES[status]}`);
    this.status = status;
    this.faults = typeof faults === 'string' ? [{ detail: faults }] : faults;
    this.headers = more.headers ?? {};
    this.meta = more.meta;
  }
}

/** Converts a refusal to its response: `{"errors":[{"status","title","detail","source"}],"meta"}`. */
export function refusalResponse({ status, faults, headers, meta }: Refusal): Reply {
  const errors = faults.map((fault) => ({
    status: String(status),
    title: TITLES[status] ?? 'Error',
    ...fault,
  }));
  return { status, headers, body: meta === undefined ? { errors } : { errors, meta } };
}

/** Converts to a web `Response`. */
export function toResponse({ status, body, headers = {} }: Reply): Response {
  return body === undefined
    ? new Response(null, { status, headers })
    : Response.json(body, { status, headers });
}

/** The title of each status that the service refuses with. */
export const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};
