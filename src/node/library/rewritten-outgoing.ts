import { ServerResponse } from 'node:http';
import { ByteCollector } from '../../http/byte-collector.ts';
import { isHopByHop } from '../../http/hop-by-hop.ts';
import type { Migration } from '../../library/migration.ts';
import type { ResponseVerdict } from '../../library/response-verdict.ts';
import type { CollectedResponse } from '../../library/started-response.ts';
import type { RequestOfResponse } from '../../library/v1-response.ts';
import { decodeBodySync } from '../decode-body.ts';
import { applyHead, fieldsOf, isChunk, readWriteArguments, setFields } from './outgoing-arguments.ts';
import { rewriteInformation } from './rewritten-information.ts';

/**
 * Makes everything that a V2 service writes to `outgoing` the response to a migrated request, as its V1 client reads it. The
 * methods of this one object are replaced, as compression middleware does, so that any framework can write to it.
 */
export function rewriteResponse(
  migration: Migration,
  request: RequestOfResponse,
  outgoing: ServerResponse,
): void {
  const rewritten = new RewrittenOutgoing(migration, request, outgoing);
  const writeHead = (...given: unknown[]): unknown => rewritten.writeHead(given);
  Object.assign(outgoing, {
    writeHead,
    // Its old name.
    writeHeader: writeHead,
    write: (...given: unknown[]) => rewritten.write(given),
    end: (...given: unknown[]) => rewritten.end(given),
    flushHeaders: () => rewritten.flushHeaders(),
    // Node sends a head that was not written by it, and so does express-session.
    _implicitHeader: () => rewritten.implicitHeader(),
  });
  for (const method of FIELD_METHODS) {
    const original = outgoing[method].bind(outgoing);
    Object.assign(outgoing, {
      [method]: (...given: unknown[]) => {
        rewritten.refuseFields();
        return Reflect.apply(original, undefined, given);
      },
    });
  }
  rewriteInformation(migration, request, outgoing);
  // For the service, the head is sent as soon as it can no longer change it.
  Object.defineProperty(outgoing, 'headersSent', { configurable: true, get: () => rewritten.headersSent });
}

/** The methods of a response that change its header fields. */
const FIELD_METHODS = ['setHeader', 'appendHeader', 'removeHeader'] as const;

/** The methods of a response that write to it. */
type Method = 'writeHead' | 'write' | 'end' | 'flushHeaders';

/** A response that is collected until its end. */
interface Collected {
  readonly started: CollectedResponse;
  readonly body: ByteCollector;
}

class RewrittenOutgoing {
  private readonly migration: Migration;
  private readonly request: RequestOfResponse;
  private readonly outgoing: ServerResponse;
  private readonly original: Readonly<Pick<ServerResponse, Method>>;
  private hasBegun = false;
  private collected: Collected | undefined = undefined;

  constructor(migration: Migration, request: RequestOfResponse, outgoing: ServerResponse) {
    this.migration = migration;
    this.request = request;
    this.outgoing = outgoing;
    this.original = {
      writeHead: outgoing.writeHead.bind(outgoing),
      write: outgoing.write.bind(outgoing),
      end: outgoing.end.bind(outgoing),
      flushHeaders: outgoing.flushHeaders.bind(outgoing),
    };
  }

  get headersSent(): boolean {
    const { outgoing, collected } = this;
    return collected !== undefined || Reflect.get(ServerResponse.prototype, 'headersSent', outgoing);
  }

  /** Throws where the head of a collected response was written: Node would, if it was sent. */
  refuseFields(): void {
    if (this.collected !== undefined) throw headersSent('change');
  }

  writeHead(given: readonly unknown[]): unknown {
    const { outgoing } = this;
    if (this.hasBegun) {
      // Node calls it, too, when it sends a head that was not written.
      if (this.collected === undefined) return this.call('writeHead', given);
      throw headersSent('write');
    }
    // Node says what is wrong.
    if (!applyHead(outgoing, given)) return this.call('writeHead', given);
    this.begin();
    if (this.collected === undefined) this.call('writeHead', [outgoing.statusCode]);
    return outgoing;
  }

  /** Once only: what calls it cannot see that the head of a collected response was written. */
  implicitHeader(): void {
    if (this.collected === undefined) this.outgoing.writeHead(this.outgoing.statusCode);
  }

  flushHeaders(): unknown {
    this.begin();
    return this.collected === undefined ? this.call('flushHeaders', []) : undefined;
  }

  write(given: readonly unknown[]): unknown {
    // What Node refuses begins no response.
    if (!isChunk(given[0])) return this.call('write', given);
    this.begin();
    const { collected } = this;
    if (collected === undefined) return this.call('write', given);
    const { bytes, callback } = readWriteArguments(given);
    // The service may use its buffer again.
    if (bytes !== undefined) collected.body.add(bytes, true);
    if (callback !== undefined) queueMicrotask(callback);
    return collected.body.length > collected.started.limit ? this.stream(collected) : true;
  }

  end(given: readonly unknown[]): unknown {
    const [chunk] = given;
    const hasChunk = Boolean(chunk) && typeof chunk !== 'function';
    if (hasChunk && !isChunk(chunk)) return this.call('end', given);
    this.begin();
    const { collected } = this;
    if (collected === undefined) return this.call('end', given);
    const { bytes, callback } = readWriteArguments(given);
    if (bytes !== undefined) collected.body.add(bytes);
    const { started, body } = collected;
    if (body.length > started.limit) {
      this.stream(collected);
      return this.call('end', [callback]);
    }
    const whole = body.take();
    const { coding, limit } = started;
    // At once: for the service, a response has ended when `end` returns.
    const isCoded = coding !== undefined && whole.length > 0;
    const outcome = started.finish(isCoded ? decodeBodySync(coding, whole, limit) : whole, whole);
    this.collected = undefined;
    this.replaceFields(outcome);
    return this.call('end', outcome.body === null ? [callback] : [outcome.body, callback]);
  }

  /** Decides on the response, once its head is complete. */
  private begin(): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    const { outgoing, migration, request } = this;
    const started = migration.startResponse(request, outgoing.statusCode, fieldsOf(outgoing));
    if (started.action === 'collect') this.collected = { started, body: new ByteCollector() };
    else this.replaceFields(started.unchanged);
  }

  /** Sends the response that was collected so far as it is, and streams its rest. */
  private stream({ started, body }: Collected): unknown {
    this.collected = undefined;
    this.replaceFields(started.unchanged);
    return this.call('write', [body.take()]);
  }

  /** Hop-by-hop fields are the service's own: the connection is, too. Only the framing changes with the body. */
  private replaceFields({ verdict, status, headers }: ResponseVerdict): void {
    const { outgoing } = this;
    // The service may have set another one since, which Node would not send any more.
    outgoing.statusCode = status;
    const fields = headers.filter(([name]) => !isHopByHop(name));
    const kept = new Set(fields.map(([name]) => name.toLowerCase()));
    for (const name of outgoing.getHeaderNames()) {
      const isFraming = name === 'transfer-encoding' || name === 'trailer';
      const stays = isHopByHop(name) ? !(isFraming && verdict === 'rewritten') : kept.has(name);
      if (!stays) outgoing.removeHeader(name);
    }
    setFields(outgoing, fields);
  }

  private call(method: Method, given: readonly unknown[]): unknown {
    return Reflect.apply(this.original[method], undefined, given);
  }
}

function headersSent(action: string): Error {
  return Object.assign(new Error(`Cannot ${action} headers after they are sent to the client`), {
    code: 'ERR_HTTP_HEADERS_SENT',
  });
}
