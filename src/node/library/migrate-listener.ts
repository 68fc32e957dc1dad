import { IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { ByteCollector } from '../../http/byte-collector.ts';
import { ALL_CODINGS, type Coding } from '../../http/content.ts';
import { isHopByHop } from '../../http/fields.ts';
import { unlimitedMemory } from '../../json/tape.ts';
import { RewrittenBody } from '../../migrate/migrated.ts';
import type { CollectedRequest, Migration, StreamedRequest } from '../../library/migration.ts';
import type { DecodedBody } from '../../migrate/decode-web-body.ts';
import type { MigratedRequest, RefusedRequest } from '../../library/verdicts.ts';
import { decodeBody } from '../decode-body.ts';
import { rewriteResponse } from './rewritten-response.ts';

/**
 * Wraps the request listener of a V2 service (a `node:http` listener, an Express application, …) so that it also serves V1
 * clients: it migrates requests under V1's prefix before they reach `v2`, and leaves all others untouched. For HTTP/1.1 servers,
 * with or without TLS; over HTTP/2 a request under V1's prefix gets 505.
 */
export function migrateListener(migration: Migration, v2: RequestListener): RequestListener {
  return (incoming, outgoing) => {
    const { method = '', url = '', rawHeaders, headers } = incoming;
    if (!migration.isV1Target(url)) {
      v2(incoming, outgoing);
      return;
    }
    if (incoming.httpVersionMajor > 1) {
      outgoing.writeHead(505).end();
      return;
    }
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    const started = migration.startRequest(method, url, rawHeaders, { hasBody, codings: ALL_CODINGS });
    const handle = (sent: MigratedRequest, request: IncomingMessage): void => {
      rewriteResponse(migration, sent, outgoing);
      v2(request, outgoing);
    };
    switch (started.action) {
      case 'pass':
        v2(incoming, outgoing);
        return;
      case 'refuse':
        refuse(outgoing, started.refused);
        return;
      case 'forward':
        if (started.dropsBody === true) {
          // The server reads the body to its end after the response.
          incoming.resume();
          handle(started.request, bufferedRequest(incoming, started.request));
          return;
        }
        replaceHead(incoming, started.request);
        handle(started.request, incoming);
        return;
      case 'stream':
        stream(started, incoming, (outcome, request) => {
          if (outcome.verdict === 'refused') refuse(outgoing, outcome);
          else handle(outcome, request);
        });
        return;
      case 'collect':
        collect(started, incoming, (outcome) => {
          if (outcome.verdict === 'refused') refuse(outgoing, outcome);
          else handle(outcome, bufferedRequest(incoming, outcome));
        });
    }
  };
}

/** Passes a body on as it arrives; does not call `done` if the client goes away before its first text. */
function stream(
  started: StreamedRequest,
  incoming: IncomingMessage,
  done: (outcome: MigratedRequest | RefusedRequest, request: IncomingMessage) => void,
): void {
  const { request: sent } = started;
  const body = new RewrittenBody(incoming, started.open(), undefined, () => {});
  body.begin().then(
    (begun) => {
      switch (begun.outcome) {
        case 'refused':
          // The server reads the body to its end after the response.
          incoming.resume();
          done(started.refuse(begun.refusal), incoming);
          return;
        case 'whole':
          done(sent, bufferedRequest(incoming, { ...sent, body: begun.body }));
          return;
        case 'streamed':
          done(sent, streamedRequest(incoming, sent, body));
      }
    },
    () => {},
  );
}

/** Reads the whole body; does not call `done` if the client goes away before its end. */
function collect(
  started: CollectedRequest,
  incoming: IncomingMessage,
  done: (outcome: MigratedRequest | RefusedRequest) => void,
): void {
  const { bodyLimit, coding } = started;
  const body = new ByteCollector(Math.min(Number(incoming.headers['content-length'] ?? 0), bodyLimit));
  const take = (chunk: Uint8Array): void => {
    body.add(chunk);
    if (body.length <= bodyLimit) return;
    incoming.off('data', take);
    incoming.off('end', end);
    // Drops the rest until the server closes the connection after the response.
    incoming.resume();
    done(started.tooLarge());
  };
  const end = (): void => finish(started, coding, body.take(), done);
  incoming.on('data', take);
  incoming.on('end', end);
  incoming.on('error', () => {});
}

function finish(
  started: CollectedRequest,
  coding: Coding | undefined,
  whole: Uint8Array,
  done: (outcome: MigratedRequest | RefusedRequest) => void,
): void {
  const settle = (decoded: DecodedBody, received?: Uint8Array): void => {
    const outcome = started.settle(decoded, received);
    if (outcome instanceof Promise) void outcome.then(done);
    else done(outcome);
  };
  if (coding === undefined || whole.length === 0) settle(whole);
  else decodeBody(coding, whole, started.bodyLimit, unlimitedMemory, (decoded) => settle(decoded, whole));
}

function refuse(outgoing: ServerResponse, { status, headers, body }: RefusedRequest): void {
  // After a body that is too large, the connection closes: before another request, the server would read the whole body.
  const closing = status === 413 ? ['Connection', 'close'] : [];
  outgoing.writeHead(status, [...headers.flat(), ...closing]);
  outgoing.end(body);
}

/** Replaces target and header fields of a request with a streamed body; its framing stays. */
function replaceHead(incoming: IncomingMessage, sent: MigratedRequest): void {
  incoming.method = sent.method;
  incoming.url = sent.target;
  setFields(incoming, incoming, [...connectionFields(incoming, true), ...sent.headers]);
}

/** Returns a request whose body is rewritten as it is read, and breaks if the client's body breaks or has a fault. */
function streamedRequest(
  incoming: IncomingMessage,
  sent: MigratedRequest,
  body: AsyncIterable<Uint8Array>,
): IncomingMessage {
  const request = requestWith(incoming, sent, ['Transfer-Encoding', 'chunked']);
  const parts = body[Symbol.asyncIterator]();
  request._read = () => {
    parts.next().then(
      ({ done, value }) => {
        request.complete = done === true;
        request.push(done === true ? null : new Uint8Array(value));
      },
      (error: unknown) => void request.destroy(error instanceof Error ? error : new Error(String(error))),
    );
  };
  return request;
}

/** Returns a request with a rewritten body, to replace one whose body was read. */
function bufferedRequest(incoming: IncomingMessage, sent: MigratedRequest): IncomingMessage {
  const { body } = sent;
  const request = requestWith(incoming, sent, ['Content-Length', String(body?.length ?? 0)]);
  request.complete = true;
  if (body !== null) request.push(body);
  request.push(null);
  return request;
}

function requestWith(incoming: IncomingMessage, sent: MigratedRequest, framing: Field): IncomingMessage {
  const request = new IncomingMessage(incoming.socket);
  // An own property, because Express replaces the prototype. There is nothing to read from the socket.
  request._read = () => {};
  request.httpVersion = incoming.httpVersion;
  request.httpVersionMajor = incoming.httpVersionMajor;
  request.httpVersionMinor = incoming.httpVersionMinor;
  request.method = sent.method;
  request.url = sent.target;
  setFields(request, incoming, [...connectionFields(incoming, false), ...sent.headers, framing]);
  return request;
}

type Field = [name: string, value: string];

/** Returns the connection's own fields, and with `isFramed` those that frame the received body. */
function connectionFields({ rawHeaders }: IncomingMessage, isFramed: boolean): Field[] {
  const fields: Field[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    const lower = name.toLowerCase();
    const isFraming = lower === 'content-length' || lower === 'transfer-encoding' || lower === 'trailer';
    if (isFraming ? isFramed : lower === 'host' || isHopByHop(lower))
      fields.push([name, rawHeaders[at + 1] ?? '']);
  }
  return fields;
}

/** Sets the fields in Node's three forms. For repeated names the joined value is Node's, as received. */
function setFields(request: IncomingMessage, received: IncomingMessage, fields: readonly Field[]): void {
  const lines = new Map<string, string[]>();
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    lines.set(lower, [...(lines.get(lower) ?? []), value]);
  }
  const headers = { ...received.headers };
  for (const name of Object.keys(headers)) if (!lines.has(name)) delete headers[name];
  for (const [name, values] of lines) {
    if (values.length === 1 && name !== 'set-cookie') headers[name] = values[0];
  }
  request.rawHeaders = fields.flat();
  request.headers = headers;
  request.headersDistinct = Object.fromEntries(lines);
}
