import { NO_BYTES } from '../json/names.ts';
import {
  type HeaderList,
  readDecimal,
  requestHeaders,
  responseHeaders,
  toHeaders,
} from '../http/header-list.ts';
import { splitUrl } from '../http/target.ts';
import { hasContent, RewrittenBody } from '../migrate/migrated.ts';
import { decodedStream, WEB_CODINGS } from '../migrate/decode-web-body.ts';
import { hashOnWeb } from '../migrate/judge-digests.ts';
import type { AskV2 } from './ask-v2.ts';
import {
  type CollectedRequest,
  finishWith,
  type Migration,
  type StreamedRequest,
  type StreamedResponse,
  type WebBody,
} from './migration.ts';
import { collectStream, continueStream, isJsonText, streamOf } from './web-body.ts';
import type { MigratedRequest, RefusedRequest, ResponseVerdict } from './verdicts.ts';

/** A handler with the signature of `fetch`; further arguments of the platform are handed on. */
type FetchHandler<Rest extends readonly unknown[] = []> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>;

/**
 * Wraps the handler of a V2 service so that it also serves V1 clients: it migrates requests under V1's prefix for `v2`, and passes all
 * others on unchanged. Bodies are decoded from gzip and deflate, and streamed unless a rule needs them whole. Response rules look up
 * objects by `lookups`, by default by `v2`.
 */
export function migrateFetch<Rest extends readonly unknown[]>(
  migration: Migration,
  v2: FetchHandler<Rest>,
  lookups = v2,
): (request: Request, ...rest: Rest) => Promise<Response> {
  return async (request, ...rest) => {
    const { origin, target } = splitUrl(request.url);
    if (!migration.isV1Target(target)) return v2(request, ...rest);
    const migrated = await migrateRequest(migration, request, target);
    if (migrated === 'pass') return v2(request, ...rest);
    if ('verdict' in migrated) return refusal(migrated);
    const { sent, body } = migrated;
    const response = await v2(requestTo(origin, request, sent, body), ...rest);
    return migrateResponse(migration, sent, response, (asked, fields, signal) => {
      const headers = new Headers(fields);
      const host = request.headers.get('host');
      if (host !== null) headers.set('host', host);
      const until = AbortSignal.any([request.signal, signal]);
      return lookups(new Request(origin + asked, { headers, signal: until, redirect: 'manual' }), ...rest);
    });
  };
}

/** A request for V2. */
interface SentRequest {
  readonly sent: MigratedRequest;
  readonly body: WebBody;
}

async function migrateRequest(
  migration: Migration,
  request: Request,
  target: string,
): Promise<SentRequest | RefusedRequest | 'pass'> {
  const { method } = request;
  const length = lengthOf(request);
  const hasBody = length === undefined ? request.body !== null : length > 0;
  const facts = { hasBody, codings: WEB_CODINGS, hash: hashOnWeb };
  const started = migration.startRequest(method, target, fieldsOf(request), facts);
  if (started.action === 'refuse') return started.refused;
  if (started.action === 'pass') return 'pass';
  if (
    started.action === 'collect' &&
    length !== undefined &&
    length <= started.bodyLimit &&
    !request.bodyUsed
  )
    return sentWith(started, new Uint8Array(await request.arrayBuffer()));
  const { body } = request;
  if (started.action === 'forward' && started.dropsBody !== true) return { sent: started.request, body };
  if (started.action === 'forward') {
    body?.cancel().catch(() => {});
    return { sent: started.request, body: null };
  }
  if (request.bodyUsed) return started.alreadyRead();
  if (started.action === 'stream') return streamRequest(started, body);
  // Rules can add a body to a request without one.
  const read = body === null ? { whole: NO_BYTES } : await collectStream(body, started.bodyLimit);
  if ('reader' in read) {
    // The rest is ignored, and so is the error if the client has left.
    read.reader.cancel().catch(() => {});
    return started.tooLarge();
  }
  return sentWith(started, read.whole);
}

async function sentWith(started: CollectedRequest, whole: Uint8Array): Promise<SentRequest | RefusedRequest> {
  if (whole.length > started.bodyLimit) return started.tooLarge();
  const outcome = await finishWith(started, whole, started.bodyLimit);
  if (outcome.verdict === 'refused') return outcome;
  return { sent: outcome, body: outcome.body && new Uint8Array(outcome.body) };
}

/**
 * The declared length of a body; undefined if only the stream shows it. @hono/node-server reads the body of its socket for
 * `arrayBuffer()`, but creates a complete `Request` with a stream for other uses of `body`.
 */
function lengthOf({ method, headers }: Request): number | undefined {
  return method === 'GET' || method === 'HEAD' ? undefined : readDecimal(headers.get('content-length') ?? '');
}

/** Forwards a body as it arrives. A fault before the first byte is sent refuses the request; a later one breaks the body off. */
async function streamRequest(
  started: StreamedRequest,
  body: ReadableStream<Uint8Array> | null,
): Promise<SentRequest | RefusedRequest> {
  const { request: sent } = started;
  const parts = new RewrittenBody(body ?? new Blob().stream(), started.open(), () => {});
  const begun = await parts.begin();
  if (begun.outcome === 'refused') {
    body?.cancel().catch(() => {});
    return started.refuse(begun.refusal);
  }
  if (begun.outcome === 'whole') return { sent, body: new Uint8Array(begun.body) };
  const iterator = parts[Symbol.asyncIterator]();
  const stream = streamOf(
    async () => (await iterator.next()).value ?? undefined,
    () => iterator.return().then(() => {}),
  );
  return { sent, body: stream };
}

/** The header fields as received; platforms that have no `Host` field have the host in the address. */
function fieldsOf({ headers, url }: Request): HeaderList {
  const fields = requestHeaders(headers, undefined);
  return headers.has('host') ? fields : [...fields, 'Host', new URL(url).host];
}

function requestTo(origin: string, request: Request, sent: MigratedRequest, body: WebBody): Request {
  const { signal, headers: received } = request;
  const { method } = sent;
  const headers = toHeaders(sent.headers.flat());
  const isReceived = (): boolean => body !== null && body === request.body;
  const length =
    body instanceof Uint8Array ? String(body.length) : isReceived() ? received.get('content-length') : null;
  if (length !== null) headers.set('content-length', length);
  const host = received.get('host');
  if (host !== null) headers.set('host', host);
  // Information of Workers about the client.
  const platform = 'cf' in request ? { cf: request.cf } : {};
  const redirect = redirectOf(request);
  const init: StreamingInit = { method, headers, signal, redirect, body, duplex: 'half', ...platform };
  return new Request(origin + sent.target, init);
}

/**
 * The handling of redirects by `fetch`. For requests from a socket, @hono/node-server's substitute for a `Request` would create a complete
 * one only to return the default.
 */
function redirectOf(request: Request): RequestRedirect {
  return Object.hasOwn(Object.getPrototypeOf(request), 'constructor') ? request.redirect : 'follow';
}

/** `duplex` is required for a body that is a stream, and not yet in every declaration. */
interface StreamingInit extends RequestInit {
  readonly duplex: 'half';
}

async function migrateResponse(
  migration: Migration,
  request: MigratedRequest,
  response: Response,
  ask: AskV2,
): Promise<Response> {
  const { status, headers, body } = response;
  const started = migration.startResponse(request, status, responseHeaders(headers), ask);
  const { unchanged } = started;
  if (started.action === 'forward' || body === null) return withHead(response, unchanged, body);
  if (started.action === 'stream') return withHead(response, started.response, await textsOf(started, body));
  const read = await collectStream(body, started.limit);
  if ('reader' in read) return withHead(response, unchanged, continueStream(read.start, read.reader));
  const { whole } = read;
  const outcome = isJsonText(whole)
    ? await started.settle(whole)
    : await finishWith(started, whole, started.limit);
  return withHead(response, outcome, outcome.body && new Uint8Array(outcome.body));
}

/** Returns the rewritten texts of a response as a stream. `fetch` decodes bodies, and leaves their coding in the head. */
async function textsOf(started: StreamedResponse, body: ReadableStream<Uint8Array>): Promise<WebBody> {
  const reader = body.getReader();
  const { value: first = NO_BYTES } = await reader.read();
  const received = continueStream(first, reader);
  const isDecoded = started.coding === undefined || isJsonText(first) || first[0] === RECORD_SEPARATOR;
  const decoded = isDecoded ? received : decodedStream(started.coding, first, received);
  if (decoded === undefined) return received;
  const texts = started.open();
  return decoded.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>({
      transform: (part, controller) => enqueue(controller, texts.push(part).bytes),
      flush: (controller) => enqueue(controller, texts.end().bytes),
    }),
  );
}

const RECORD_SEPARATOR = 0x1e;

function enqueue(
  controller: TransformStreamDefaultController<Uint8Array<ArrayBuffer>>,
  bytes: Uint8Array,
): void {
  if (bytes.length > 0) controller.enqueue(new Uint8Array(bytes));
}

/**
 * Returns a response with another head, and keeps settings that only Workers have, such as for a body that is already compressed.
 * Elsewhere, a body of bytes gets a new response: @hono/node-server writes its bytes at once, but reads those of a copied response from a
 * stream.
 */
function withHead(response: Response, head: ResponseHeadOf, body: WebBody): Response {
  const { status, headers: fields } = head;
  const isEmpty = !hasContent(status);
  if (isEmpty && body instanceof ReadableStream) body.cancel().catch(() => {});
  const headers = toHeaders(fields.flat());
  const isSame = status === response.status;
  if (!isSame || (body instanceof Uint8Array && !('webSocket' in response)))
    return new Response(isEmpty ? null : body, {
      status,
      headers,
      ...(isSame && { statusText: response.statusText }),
    });
  const changed = new Response(body, response);
  const names = [...changed.headers.keys()];
  for (const name of names) changed.headers.delete(name);
  for (const [name, value] of headers) changed.headers.append(name, value);
  return changed;
}

/** Status and fields of a response to a V1 client. */
type ResponseHeadOf = Pick<ResponseVerdict, 'status' | 'headers'>;

function refusal({ status, headers, body }: RefusedRequest): Response {
  return new Response(new Uint8Array(body), { status, headers: toHeaders(headers.flat()) });
}
