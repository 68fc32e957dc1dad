import { jsonText } from '../../report/text.ts';
import { readDecimal } from '../../http/header-list.ts';

/** Characters serialised and sent per turn of the event loop. */
const PART_CHARACTERS = 64 * 1024;

/** Levels of nesting whose members and elements are serialised one by one; deeper values are serialised whole. */
const OPENED_LEVELS = 3;

const encoder = new TextEncoder();

export const WHOLE_NUMBER: Accepted = {
  accepts: (value) => readDecimal(value) !== undefined,
  words: 'a whole number',
};

const MAX_SHOWN = 60;

/** Maximum time to receive the whole body of a request to the admin listener, in milliseconds. */
const BODY_TIMEOUT_MS = 10_000;

const TITLES = {
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  408: 'Request timeout',
  413: 'Content too large',
  422: 'Unprocessable content',
  429: 'Too many requests',
  503: 'Service unavailable',
} as const;

/**
 * Responds with a value as JSON, serialised and sent in chunks so that a large one does not block client traffic; the value is
 * read while it is sent. Waits for a slow reader.
 */
export function jsonResponse(value: object): Response {
  return partsResponse(jsonParts(value), 'application/json');
}

/** Responds with a text that is generated and sent in chunks. */
export function partsResponse(
  parts: Iterator<string>,
  contentType: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const first = nextChunk(parts);
  const all = { 'Content-Type': contentType, ...headers };
  if (first.isLast) return new Response(first.text, { headers: all });
  let next = first;
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      controller.enqueue(encoder.encode(next.text));
      if (next.isLast) {
        controller.close();
        return;
      }
      await pause();
      next = nextChunk(parts);
    },
  });
  return new Response(body, { headers: all });
}

/** Lets all other due work run first. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

function nextChunk(parts: Iterator<string>): { readonly text: string; readonly isLast: boolean } {
  let text = '';
  while (text.length < PART_CHARACTERS) {
    const { value, done } = parts.next();
    if (done === true) return { text, isLast: true };
    text += value;
  }
  return { text, isLast: false };
}

/** The JSON text of a value, in chunks. */
export function* jsonParts(value: unknown, level = 0): Generator<string, void, undefined> {
  if (level === OPENED_LEVELS || typeof value !== 'object' || value === null) {
    yield jsonText(value);
    return;
  }
  const isList = Array.isArray(value);
  let separator = isList ? '[' : '{';
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined && !isList) continue;
    yield isList ? separator : `${separator}${jsonText(name)}:`;
    yield* jsonParts(member, level + 1);
    separator = ',';
  }
  if (separator !== ',') yield separator;
  yield isList ? ']' : '}';
}

/** The valid values of a query parameter: one of these words, or those that a test accepts, with a description. */
type Accepted = readonly string[] | { readonly accepts: (value: string) => boolean; readonly words: string };

/** Describes the first query parameter with an invalid value; undefined if all are valid. */
export function queryFault(
  query: Readonly<Record<string, string>>,
  parameters: Readonly<Record<string, Accepted>>,
): string | undefined {
  for (const [name, accepted] of Object.entries(parameters)) {
    const value = query[name];
    if (value === undefined) continue;
    const isWords = 'length' in accepted;
    if (isWords ? accepted.includes(value) : accepted.accepts(value)) continue;
    const words = isWords ? `one of ${accepted.join(', ')}` : accepted.words;
    return `The query parameter ${name} takes ${words}, not "${value.slice(0, MAX_SHOWN)}".`;
  }
  return undefined;
}

/** The reason why a request body was not read. */
type BodyFault = 'too-large' | 'too-slow';

/** Reads the body of a request as text, of at most `limit` bytes and within ten seconds. */
export async function readBody(request: Request, limit: number): Promise<{ text: string } | BodyFault> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) return 'too-large';
  const reader = request.body?.getReader();
  if (reader === undefined) return { text: '' };
  const timeout = deadline();
  try {
    return await Promise.race([readAll(reader, limit), timeout.expired]);
  } finally {
    timeout.clear();
    // Discards the unread rest.
    reader.cancel().catch(() => {});
  }
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limit: number,
): Promise<{ text: string } | BodyFault> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return { text: text + decoder.decode() };
    bytes += value.length;
    if (bytes > limit) return 'too-large';
    text += decoder.decode(value, { stream: true });
  }
}

function deadline(): { readonly expired: Promise<BodyFault>; readonly clear: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expired = new Promise<BodyFault>((resolve) => {
    timer = setTimeout(() => resolve('too-slow'), BODY_TIMEOUT_MS);
  });
  return { expired, clear: () => clearTimeout(timer) };
}

/** The failure body of the admin listener: the `errors` envelope of the service. */
export interface FailureBody {
  readonly errors: readonly [
    { readonly status: string; readonly title: string; readonly detail: string; readonly code: string },
  ];
}

/** Creates a failure body; `detail` is a sentence with the remedy. */
export function failureBody(status: keyof typeof TITLES, code: string, detail: string): FailureBody {
  return { errors: [{ status: String(status), title: TITLES[status], detail, code }] };
}

/** Responds with a failure; `detail` is a sentence with the remedy. */
export function failure(
  status: keyof typeof TITLES,
  code: string,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const all = { 'Content-Type': 'application/json', ...headers };
  return new Response(jsonText(failureBody(status, code, detail)), { status, headers: all });
}

/**
 * Reads a command: a body of `application/json` and at most `limit` bytes, or the failure to respond with. The media type is
 * required, because another site's form cannot send it.
 */
export async function readCommand(request: Request, limit: number): Promise<{ text: string } | Response> {
  const isJson = /^application\/json(?:;|$)/i.test(request.headers.get('content-type') ?? '');
  if (!isJson) return failure(400, 'bad-request', 'Send application/json.');
  const body = await readBody(request, limit);
  return typeof body === 'string' ? bodyFailure(body, limit) : body;
}

/** Responds that a body was not read, and closes the connection, since the rest of the body may still arrive. */
export function bodyFailure(fault: BodyFault, limit: number): Response {
  const status = fault === 'too-large' ? 413 : 408;
  const detail =
    fault === 'too-large' ? `Send at most ${limit} bytes.` : 'The body was not received in time.';
  return failure(status, fault, detail, { Connection: 'close' });
}

export function tooManyRequests(): Response {
  return failure(429, 'too-many-requests', 'Try again in a second.', { 'Retry-After': '1' });
}
