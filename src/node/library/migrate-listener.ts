import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ByteCollector } from '../../http/byte-collector.ts';
import { ALL_CODINGS, type Coding } from '../../http/content-coding.ts';
import { unlimitedMemory } from '../../json/work-memory.ts';
import { isV1Target } from '../../library/is-v1-target.ts';
import type { Migration } from '../../library/migration.ts';
import type { MigratedRequest, RefusedRequest } from '../../library/request-verdict.ts';
import type { CollectedRequest } from '../../library/started-request.ts';
import { decodeBody } from '../decode-body.ts';
import { bufferedRequest, replaceHead } from './migrated-incoming.ts';
import { rewriteResponse } from './rewritten-outgoing.ts';

/**
 * Wraps the request listener of a V2 service (a `node:http` listener, an Express application, …) so that it serves V1 clients, too:
 * requests under `/api/v1` reach `v2` migrated, all others untouched. For HTTP/1.1 servers, with or without TLS; over HTTP/2 a request under `/api/v1` gets 505.
 */
export function migrateListener(migration: Migration, v2: RequestListener): RequestListener {
  return (incoming, outgoing) => {
    const { method = '', url = '', rawHeaders, headers } = incoming;
    if (!isV1Target(url)) {
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
        replaceHead(incoming, started.request);
        handle(started.request, incoming);
        return;
      case 'collect':
        collect(started, incoming, (outcome) => {
          if (outcome.verdict === 'refused') refuse(outgoing, outcome);
          else handle(outcome, bufferedRequest(incoming, outcome));
        });
    }
  };
}

/** Reads the whole body; `done` is not called if the client goes away before its end. */
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
    // The rest is dropped until the server has closed the connection behind the response.
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
  if (coding === undefined || whole.length === 0) {
    done(started.finish(whole));
    return;
  }
  decodeBody(coding, whole, started.bodyLimit, unlimitedMemory, (decoded) =>
    done(started.finish(decoded, whole)),
  );
}

function refuse(outgoing: ServerResponse, { status, headers, body }: RefusedRequest): void {
  // Behind a body that is too large for the service, no other request is read: the server would read it whole first.
  const closing = status === 413 ? ['Connection', 'close'] : [];
  outgoing.writeHead(status, [...headers.flat(), ...closing]);
  outgoing.end(body);
}
