import type * as z from 'zod';
import { ByteCollector } from '../http/byte-collector.ts';
import { isObject, type Attributes } from './resources.ts';

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

/** Converts a reply to a web `Response`. */
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

/** Facts about API keys. There is no list of valid keys: the service accepts any key that is not empty. */
export interface ApiKeys {
  /** Keys that may only read: other methods get 403. */
  readonly readOnly: ReadonlySet<string>;
  /** Keys whose requests meet a store that fails, and get 500. */
  readonly failing: ReadonlySet<string>;
  readonly wait: RateLimit;
}

/** Admits a request: throws 401 without a key, 429 beyond its rate, 403 for a write with a key that may only read. */
export function admit({ readOnly, wait }: ApiKeys, method: string, authorization: string | undefined): void {
  const key = keyOf(authorization);
  if (key === undefined) {
    throw new Refusal(401, 'Send your API key as Authorization: Bearer <key>.', {
      headers: { 'www-authenticate': 'Bearer' },
    });
  }
  const seconds = wait(key);
  if (seconds > 0) throw tooMany(seconds);
  if (readOnly.has(key) && method !== 'GET' && method !== 'HEAD') {
    throw new Refusal(403, 'This key may only read.');
  }
}

/** The API key in an `Authorization` field; undefined without one. */
export function keyOf(authorization: string | undefined): string | undefined {
  return /^bearer +([^\s,]+)$/i.exec(authorization ?? '')?.[1];
}

function tooMany(seconds: number): Refusal {
  return new Refusal(
    429,
    `This key has reached its request limit for this minute: wait ${seconds} seconds.`,
    { headers: { 'retry-after': String(seconds) }, meta: { reset: seconds } },
  );
}

/** Counts one request of `key` and returns the seconds that it must wait: 0 when it may proceed. */
type RateLimit = (key: string) => number;

/**
 * Allows `perMinute` requests per key in a window of one minute that the key's first request opens. Zero allows all. `now`
 * returns milliseconds.
 */
export function createRateLimit(perMinute: number, now: () => number): RateLimit {
  if (perMinute === 0) return () => 0;
  const windows = new Map<string, { readonly end: number; used: number }>();
  return (key) => {
    const time = now();
    forget(windows, time);
    const window = windows.get(key);
    if (window === undefined) {
      windows.set(key, { end: time + 60_000, used: 1 });
      return 0;
    }
    window.used += 1;
    return window.used <= perMinute ? 0 : Math.ceil((window.end - time) / 1000);
  };
}

/**
 * Windows are ordered by their end. Every key is accepted, so the number of windows is limited too, against a flood of invented
 * keys.
 */
function forget(windows: Map<string, { readonly end: number }>, time: number): void {
  for (const [key, window] of windows) {
    if (window.end > time && windows.size < MAX_KEYS) return;
    windows.delete(key);
  }
}

const MAX_KEYS = 10_000;

/**
 * Reads a request body as JSON: 415 for another media type, charset or content coding, 413 beyond `limit` bytes, 400 unless it is
 * JSON in UTF-8, nested at most 512 levels deep. Bodies in gzip and deflate are decoded. Numbers become doubles, as in any plain service.
 */
export async function readJson(request: Request, limit: number): Promise<unknown> {
  requireJson(request.headers);
  const bytes = await readBytes(request, limit);
  const body = parse(decode(bytes), bytes.length === 0);
  if (isDeeper(body, MAX_DEPTH))
    throw new Refusal(400, `The body is nested too deep: at most ${MAX_DEPTH} levels.`);
  return body;
}

const MAX_DEPTH = 512;

function parse(text: string, isEmpty: boolean): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const problem = isEmpty ? 'The body is empty' : 'The body is not valid JSON';
    throw new Refusal(400, `${problem}: send one JSON object.`);
  }
}

function requireJson(headers: Headers): void {
  const type = headers.get('content-type') ?? '';
  if (!isUtf8Json(type)) {
    throw new Refusal(415, 'The body must be application/json in UTF-8.', {
      headers: { accept: 'application/json' },
    });
  }
}

/** The stream that undoes the coding of a body; undefined when it has none. */
function decoderFor(headers: Headers): DecompressionStream | undefined {
  const coding = (headers.get('content-encoding') ?? 'identity').trim().toLowerCase();
  if (coding === 'identity') return undefined;
  if (coding === 'gzip' || coding === 'deflate') return new DecompressionStream(coding);
  throw new Refusal(415, 'The Content-Encoding is not supported: Accept-Encoding lists those that are.', {
    headers: { 'accept-encoding': 'gzip, deflate' },
  });
}

function isUtf8Json(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  if (type !== 'application/json' && !/^application\/[\w.-]+\+json$/.test(type)) return false;
  return parameters.every((parameter) => {
    const [name, value = ''] = parameter.split('=');
    return name !== 'charset' || value.replaceAll('"', '') === 'utf-8';
  });
}

/** Reads a body and counts its bytes; the Content-Length, which may be absent or wrong, serves only to reject large uploads early. */
async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge('body', limit);
  const decoder = decoderFor(request.headers);
  const body = new ByteCollector();
  try {
    const stream = decoder === undefined ? request.body : request.body?.pipeThrough(decoder);
    for await (const chunk of stream ?? []) {
      body.add(chunk);
      if (body.length > limit) throw tooLarge(decoder === undefined ? 'body' : 'decoded body', limit);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const problem =
      decoder === undefined ? 'ended before it was complete' : 'does not match its Content-Encoding';
    throw new Refusal(400, `The body ${problem}.`);
  }
  return body.take();
}

function tooLarge(part: string, limit: number): Refusal {
  return new Refusal(413, `The ${part} is larger than ${limit} bytes.`);
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Refusal(400, 'The body is not UTF-8: send JSON in UTF-8.');
  }
}

/** True when a JSON value has more than `limit` levels of objects and arrays; not recursive, so that no depth can exhaust the stack. */
function isDeeper(value: unknown, limit: number): boolean {
  let level = containersIn([value]);
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === limit) return true;
    level = level.flatMap((container) => containersIn(Object.values(container)));
  }
  return false;
}

function containersIn(values: readonly unknown[]): object[] {
  return values.filter((value) => typeof value === 'object' && value !== null);
}

interface ParameterContext {
  /** The path of the parameters in the body. */
  readonly at: readonly string[];
  /** The sentence about an unknown attribute; `path` is the path of the object that has it, in the parameters. */
  readonly unknown: (path: readonly PropertyKey[], key: string) => string;
}

/** Returns the attributes in `parameters` that `schema` accepts; throws a 422 with a pointer to each rejected one. */
export function acceptAttributes(
  schema: z.ZodObject,
  parameters: unknown,
  context: ParameterContext,
): Attributes {
  const outcome = schema.safeParse(parameters, { reportInput: true });
  if (outcome.success) return outcome.data;
  const faults = outcome.error.issues.flatMap((issue) => issueFaults(issue, context));
  throw new Refusal(422, faults.slice(0, MAX_FAULTS));
}

/**
 * Returns the parameters of a body and their path: the object in the member `wrapper`, and the members beside it are ignored; the
 * body itself if it has no such member, or bodies have no wrapper. Throws a 422 when the member is not an object.
 */
export function parametersOf(
  body: unknown,
  wrapper: string | undefined,
): Pick<ParameterContext, 'at'> & { readonly parameters: unknown } {
  if (wrapper === undefined || !isObject(body) || !Object.hasOwn(body, wrapper))
    return { parameters: body, at: [] };
  const parameters = body[wrapper];
  if (isObject(parameters)) return { parameters, at: [wrapper] };
  const pointer = `/${wrapper}`;
  throw new Refusal(422, [{ detail: `${wrapper} must be an object.`, source: { pointer } }]);
}

/** A hostile body can hold a million unknown names; only the first few are reported. */
const MAX_FAULTS = 20;

function issueFaults(issue: z.core.$ZodIssue, { at, unknown }: ParameterContext): Fault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, MAX_FAULTS).map((key) => ({
      detail: unknown(issue.path, key),
      source: { pointer: pointerOf([...at, ...issue.path, key]) },
    }));
  }
  return [{ detail: invalidDetail(issue), source: { pointer: pointerOf([...at, ...issue.path]) } }];
}

function invalidDetail(issue: z.core.$ZodIssue): string {
  const name = issue.path.length === 0 ? 'The body' : issue.path.join('.');
  if (issue.code === 'invalid_type') {
    return issue.input === undefined && issue.path.length > 0
      ? `${name} is required.`
      : `${name} must be ${WANTED[issue.expected] ?? issue.expected}.`;
  }
  return `${name} is out of range: ${issue.message}.`;
}

const WANTED: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  object: 'an object',
  array: 'an array',
};

function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
