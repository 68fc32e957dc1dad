import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { parse as parseQuery } from 'node:querystring';
import { ALL_CODINGS } from '../../http/content.ts';
import { isHopByHop } from '../../http/fields.ts';
import { RewrittenBody } from '../../migrate/migrated.ts';
import {
  type CollectedRequest,
  finishWith,
  type Migration,
  type StreamedRequest,
} from '../../library/migration.ts';
import type { MigratedRequest, RefusedRequest } from '../../library/verdicts.ts';
import { queryOf } from '../../migrate/transform.ts';
import { decodeBody } from '../decode-body.ts';
import { hashBody } from '../runtime.ts';
import { fieldsOf, type ParsedBody, parsedBody, putParsedBody } from './parsed-body.ts';
import {
  collectBody,
  dropBody,
  isBeingRead,
  putBody,
  putStream,
  takeStream,
  wasRead,
} from './request-body.ts';
import { rewriteResponse } from './rewritten-response.ts';

/**
 * A request listener that can also be used as middleware: with `next`, as Connect and Express call it. It returns the result of V2's
 * listener, or a promise of it.
 */
export type MigratingListener = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  next?: (error?: unknown) => unknown,
) => unknown;

/**
 * Wraps the request listener of a V2 service (a `node:http` listener, an Express application, …) so that it also serves V1
 * clients: it migrates requests under V1's prefix before they reach `v2`, and leaves all others untouched. Without `v2`, or with the
 * application that it is used in, it is middleware: `app.use(migrateListener(migration))`. A request stays the same object; behind a body
 * parser, its `rawBody` or `body` is migrated. For HTTP/1.1 servers, with or without TLS; over HTTP/2 a request under V1's prefix gets 505.
 */
export function migrateListener(
  migration: Migration,
  v2?: (...given: Parameters<RequestListener>) => unknown,
): MigratingListener {
  const serve: MigratingListener | undefined = v2;
  /** Requests that were passed to `v2`: if it calls this listener again, the rest of its middleware continues. */
  const handedOn = new WeakSet<IncomingMessage>();
  const listener: MigratingListener = (incoming, outgoing, next) => {
    if (next !== undefined && (serve === undefined || isUsedIn(serve, listener, incoming)))
      return whenReady(migrateInPlace(migration, incoming, outgoing), next, next);
    if (serve === undefined)
      throw new TypeError(
        'Without the listener of V2, migrateListener returns middleware, which needs next.',
      );
    if (next === undefined)
      return whenReady(
        migrateInPlace(migration, incoming, outgoing),
        () => serve(incoming, outgoing),
        rethrow,
      );
    if (handedOn.has(incoming)) return next();
    handedOn.add(incoming);
    const serveNext = async (): Promise<unknown> => {
      try {
        return await serve(incoming, outgoing, next);
      } catch (error) {
        return next(error);
      }
    };
    return whenReady(migrateInPlace(migration, incoming, outgoing), serveNext, next);
  };
  return listener;
}

/** Calls `go` if a request is ready for V2, at once if that is known; `fail` gets errors of the migration. */
function whenReady(
  ready: boolean | Promise<boolean>,
  go: () => unknown,
  fail: (error: unknown) => unknown,
): unknown {
  if (typeof ready === 'boolean') return ready ? go() : undefined;
  return ready.then((isReady) => (isReady ? go() : undefined), fail);
}

function rethrow(error: unknown): never {
  throw error;
}

/** True if `app` uses the listener as its middleware: a migrated request then continues there, instead of starting again. */
function isUsedIn(app: object, listener: unknown, incoming: object): boolean {
  if ('app' in incoming && incoming.app === app) return true;
  const stack: unknown = 'stack' in app ? app.stack : undefined;
  return Array.isArray(stack) && stack.some((layer) => Object(layer).handle === listener);
}

/** Converts a V1 request to one for V2; false if it already has its response, or its client has disconnected. */
function migrateInPlace(
  migration: Migration,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): boolean | Promise<boolean> {
  const { method = '', url = '', headers } = incoming;
  if (!migration.isV1Target(url)) return true;
  if (incoming.httpVersionMajor > 1) {
    outgoing.writeHead(505).end();
    return false;
  }
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  const isRead = hasBody && wasRead(incoming);
  if (isRead && isBeingRead(incoming)) {
    // Other code began to read the body: its result is complete at the end of the body.
    const { promise, resolve } = Promise.withResolvers<boolean>();
    incoming.once('end', () => setImmediate(() => resolve(migrateInPlace(migration, incoming, outgoing))));
    incoming.once('close', () => resolve(false));
    return promise;
  }
  const parsed = isRead ? parsedBody(incoming) : undefined;
  const fields = parsed?.fields ?? fieldsOf(incoming);
  const started = migration.startRequest(method, url, fields, {
    hasBody,
    codings: ALL_CODINGS,
    hash: hashBody,
  });
  const handle = (sent: MigratedRequest): true => {
    rewriteResponse(migration, sent, outgoing);
    return true;
  };
  switch (started.action) {
    case 'pass':
      return true;
    case 'refuse':
      return refuse(outgoing, started.refused);
    case 'forward':
      if (started.dropsBody === true) {
        dropBody(incoming);
        replaceBody(incoming, started.request, new Uint8Array());
      } else if (parsed === undefined) replaceHead(incoming, started.request);
      else putWhole(incoming, started.request, parsed.bytes());
      return handle(started.request);
    case 'stream':
    case 'collect': {
      if (isRead && parsed === undefined) return refuse(outgoing, started.alreadyRead());
      return receiveBody(started, incoming, parsed).then((outcome) => {
        if (outcome === undefined) return false;
        return outcome.verdict === 'refused' ? refuse(outgoing, outcome) : handle(outcome);
      });
    }
  }
}

/** Rewrites the body and the head; undefined if the client disconnects before that is possible. */
async function receiveBody(
  started: CollectedRequest | StreamedRequest,
  incoming: IncomingMessage,
  parsed: ParsedBody | undefined,
): Promise<MigratedRequest | RefusedRequest | undefined> {
  if (started.action === 'stream' && parsed === undefined && !incoming.complete)
    return streamBody(started, incoming);
  const bodyLimit = started.action === 'collect' ? started.bodyLimit : Infinity;
  const whole = parsed?.bytes() ?? (await collectBody(incoming, bodyLimit));
  if (whole === undefined) return undefined;
  const outcome =
    started.action === 'stream'
      ? started.finish(whole)
      : whole === 'too-large' || whole.length > bodyLimit
        ? started.tooLarge()
        : await finishWith(started, whole, bodyLimit, decodeBody);
  if (outcome.verdict !== 'refused') replaceBody(incoming, outcome, outcome.body ?? new Uint8Array());
  return outcome;
}

/** Forwards a body while it arrives. */
async function streamBody(
  started: StreamedRequest,
  incoming: IncomingMessage,
): Promise<MigratedRequest | RefusedRequest | undefined> {
  const { request: sent } = started;
  const source = takeStream(incoming);
  const body = new RewrittenBody(source, started.open(), () => {});
  const begun = await body.begin().catch(() => undefined);
  switch (begun?.outcome) {
    case undefined:
      return undefined;
    case 'refused':
      // The server reads the body to its end after the response.
      source.resume();
      return started.refuse(begun.refusal);
    case 'whole':
      replaceBody(incoming, sent, begun.body);
      return sent;
    case 'streamed':
      putStream(incoming, body);
      replaceHead(incoming, sent, ['Transfer-Encoding', 'chunked']);
      return sent;
  }
}

/** Sends a refusal; returns false, because V2 does not get the request. */
function refuse(outgoing: ServerResponse, { status, headers, body }: RefusedRequest): false {
  // After a body that is too large, the connection closes: the server would otherwise read the whole body before the next request.
  const closing = status === 413 ? ['Connection', 'close'] : [];
  outgoing.writeHead(status, [...headers.flat(), ...closing]);
  outgoing.end(body);
  return false;
}

/** Replaces a body that was read or dropped, in the stream and in the property of a body parser. */
function replaceBody(incoming: IncomingMessage, sent: MigratedRequest, body: Uint8Array): void {
  putWhole(incoming, sent, body);
  putParsedBody(incoming, body);
}

function putWhole(incoming: IncomingMessage, sent: MigratedRequest, body: Uint8Array): void {
  putBody(incoming, body);
  replaceHead(incoming, sent, ['Content-Length', String(body.length)]);
}

/** Replaces method, target and header fields; the framing stays if the body does. */
function replaceHead(incoming: IncomingMessage, sent: MigratedRequest, framing?: Field): void {
  const { url = '' } = incoming;
  const isFramed = framing === undefined;
  incoming.method = sent.method;
  incoming.url = sent.target;
  setFields(incoming, [
    ...connectionFields(incoming, isFramed),
    ...sent.headers,
    ...(isFramed ? [] : [framing]),
  ]);
  if (queryOf(url) !== queryOf(sent.target)) replaceQuery(incoming, queryOf(sent.target));
}

/** Express 4 and others have already parsed the query. */
function replaceQuery(incoming: IncomingMessage, query: string): void {
  if (!Object.hasOwn(incoming, 'query')) return;
  const app: unknown = 'app' in incoming ? incoming.app : undefined;
  const parser: unknown =
    typeof app === 'function' && 'get' in app && typeof app.get === 'function'
      ? Reflect.apply(app.get, app, ['query parser fn'])
      : undefined;
  const parsed: unknown =
    typeof parser === 'function' ? Reflect.apply(parser, undefined, [query]) : parseQuery(query);
  Object.assign(incoming, { query: parsed });
}

type Field = [name: string, value: string];

/** Returns the connection's own fields, and with `isFramed` those that frame the received body. */
function connectionFields(incoming: IncomingMessage, isFramed: boolean): Field[] {
  const received = fieldsOf(incoming);
  const fields: Field[] = [];
  for (let at = 0; at < received.length; at += 2) {
    const name = received[at] ?? '';
    const lower = name.toLowerCase();
    const isFraming = lower === 'content-length' || lower === 'transfer-encoding' || lower === 'trailer';
    if (isFraming ? isFramed : lower === 'host' || isHopByHop(lower))
      fields.push([name, received[at + 1] ?? '']);
  }
  return fields;
}

/** Sets the fields in Node's three forms. For repeated names the joined value is Node's, as received. */
function setFields(incoming: IncomingMessage, fields: readonly Field[]): void {
  const lines = new Map<string, string[]>();
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    lines.set(lower, [...(lines.get(lower) ?? []), value]);
  }
  const headers = { ...incoming.headers };
  for (const name of Object.keys(headers)) if (!lines.has(name)) delete headers[name];
  for (const [name, values] of lines) {
    if (values.length === 1 && name !== 'set-cookie') headers[name] = values[0];
  }
  incoming.rawHeaders = fields.flat();
  incoming.headers = headers;
  incoming.headersDistinct = Object.fromEntries(lines);
}
