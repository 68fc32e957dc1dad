import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ClientFault } from '../../gateway/exchange.ts';
import { afterReads } from './fair-turns.ts';
import { type Failure, failure } from '../../migrate/failure.ts';
import type { H1Exchange } from './h1-exchange.ts';
import type { LingeringConnections } from './lingering-connections.ts';

/** Requests that may be queued on one connection before reading from it pauses. */
const MAX_QUEUED_REQUESTS = 16;

interface Connection {
  /** Exchanges whose responses are not complete, in the order of their requests. */
  readonly exchanges: Map<H1Exchange, ServerResponse>;
  /** The exchange of the last request whose head arrived. */
  latest: H1Exchange | undefined;
  /** Exchanges that wait for the one before them. */
  readonly waiting: WaitingExchange[];
  /** True once further bytes are no longer read as requests. */
  closing: boolean;
  /** True once the last request was entered; its body may still arrive. */
  hasLast: boolean;
  /** Sent once the responses before it are complete. */
  refused: Failure | undefined;
  headless: boolean;
  isPaused: boolean;
  /** The queued exchange whose body is faulty. */
  broken: { readonly exchange: H1Exchange; readonly fault: ClientFault } | undefined;
}

interface WaitingExchange {
  readonly exchange: H1Exchange;
  readonly start: () => void;
}

/**
 * Responds to requests that Node's parser rejects, once the responses before them are complete: Node alone writes its 400 in
 * front of them.
 */
export class ConnectionFaults {
  private readonly connections = new WeakMap<Duplex, Connection>();
  private readonly lingering: LingeringConnections;
  private readonly onRefused: (refused: Failure, responseBytes: number) => void;

  /** `onRefused` is called with each refusal that belongs to no exchange, and the bytes of its body. */
  constructor(lingering: LingeringConnections, onRefused: (refused: Failure, responseBytes: number) => void) {
    this.lingering = lingering;
    this.onRefused = onRefused;
  }

  /**
   * Starts an exchange once those before it on its connection are over: pipelined requests run in order, since the second may
   * build on the effect of the first (RFC 9112 §9.3.2). Requests after the last one, whose response closes the connection, are ignored.
   */
  enter(socket: Duplex, exchange: H1Exchange, outgoing: ServerResponse, start: () => void): void {
    const connection = this.of(socket);
    if (connection.closing || connection.hasLast) return;
    connection.hasLast = !outgoing.shouldKeepAlive;
    connection.exchanges.set(exchange, outgoing);
    connection.latest = exchange;
    outgoing.on('close', () => {
      // After a refused head, the beginning of the next request is unknown.
      if (!outgoing.shouldKeepAlive) connection.waiting.length = 0;
      this.leave(socket, connection, exchange);
    });
    if (connection.exchanges.size === 1) {
      start();
      return;
    }
    connection.waiting.push({ exchange, start });
    holdBack(socket, connection);
  }

  /** Responds from the gateway itself, without a request, and closes; `headless` sends no body, as to HEAD. */
  refuse(socket: Duplex, refused: Failure, headless = false): void {
    const connection = this.of(socket);
    if (connection.closing) return;
    connection.closing = true;
    const body = refused.envelope();
    this.onRefused(refused, headless ? 0 : Buffer.byteLength(body));
    socket.end(
      `HTTP/1.1 ${refused.status} ${refused.title}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
        `Date: ${new Date().toUTCString()}\r\nx-gateway-error: ${refused.code}\r\nConnection: close\r\n\r\n${headless ? '' : body}`,
    );
    this.lingering.close(socket);
  }

  /** Refuses the bytes behind the last request, once the responses before them are complete. */
  refuseNext(socket: Duplex, refused: Failure): void {
    const connection = this.of(socket);
    if (connection.exchanges.size > 0) connection.refused ??= refused;
    else this.refuse(socket, refused);
  }

  /**
   * Calls `respond` if the request that Node's server found late still is, once what has arrived is read: the process may have stood
   * still.
   */
  onTimeout(socket: Duplex, respond: () => void): void {
    const connection = this.of(socket);
    const { latest } = connection;
    const isInBody = latest?.taken === false;
    afterReads(() => {
      const isReceived = connection.latest !== latest || (isInBody && latest.taken);
      if (!isReceived) respond();
    });
  }

  /** Responds to an error of the parser, once the responses before it are complete; `headless` as for `refuse`. */
  onParserError(error: Error, socket: Duplex, headless: boolean): void {
    const code = 'code' in error ? String(error.code) : '';
    const connection = this.of(socket);
    if (code === 'ECONNRESET' || code === 'EPIPE') {
      socket.destroy();
      return;
    }
    if (connection.closing || connection.refused !== undefined) return;
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const refused = failureOfParser(error, code);
    for (const [exchange, outgoing] of connection.exchanges) {
      if (exchange.taken) continue;
      const fault = refused.code === 'client-timeout' ? 'client-timeout' : 'bad-framing';
      this.onBodyFault(
        socket,
        connection,
        exchange,
        outgoing,
        code === 'HPE_INVALID_EOF_STATE' ? 'gone' : fault,
      );
      return;
    }
    if (connection.exchanges.size > 0) {
      connection.refused = refused;
      connection.headless = headless;
      return;
    }
    if (connection.latest?.taken === false) {
      // The rest of a body that already has its response: a second response would be read as that to the next request.
      connection.closing = true;
      this.lingering.close(socket);
      return;
    }
    this.refuse(socket, refused, headless);
  }

  /** The body of an exchange is faulty: its response, from the gateway or V2, is the last. */
  private onBodyFault(
    socket: Duplex,
    connection: Connection,
    exchange: H1Exchange,
    outgoing: ServerResponse,
    fault: ClientFault | 'gone',
  ): void {
    connection.closing = true;
    // The client closed its side in the middle of a body: it has disconnected, and its exchange reports that.
    if (fault === 'gone') socket.destroy();
    else if (connection.waiting.some((waiting) => waiting.exchange === exchange))
      connection.broken = { exchange, fault };
    else if (!outgoing.writableEnded) exchange.fault(fault);
  }

  private leave(socket: Duplex, connection: Connection, exchange: H1Exchange): void {
    connection.exchanges.delete(exchange);
    const next = connection.waiting.shift();
    holdBack(socket, connection);
    if (next !== undefined && !socket.destroyed) {
      next.start();
      const isResponded = connection.exchanges.get(next.exchange)?.writableEnded === true;
      if (next.exchange === connection.broken?.exchange && !isResponded)
        next.exchange.fault(connection.broken.fault);
      return;
    }
    if (connection.exchanges.size > 0) return;
    if (connection.refused !== undefined) this.refuse(socket, connection.refused, connection.headless);
    else if (connection.closing) this.lingering.close(socket);
  }

  private of(socket: Duplex): Connection {
    const known = this.connections.get(socket);
    if (known !== undefined) return known;
    const connection: Connection = {
      exchanges: new Map(),
      latest: undefined,
      waiting: [],
      closing: false,
      hasLast: false,
      refused: undefined,
      headless: false,
      isPaused: false,
      broken: undefined,
    };
    this.connections.set(socket, connection);
    this.lingerOnClose(socket, connection);
    return connection;
  }

  /** Node closes a connection as soon as its last response is written; its client reads that a little later. */
  private lingerOnClose(socket: Duplex, connection: Connection): void {
    if (!('destroySoon' in socket)) return;
    socket.destroySoon = (): void => {
      connection.closing = true;
      this.lingering.close(socket);
    };
  }
}

/** Pauses reading while many requests are queued, or while the body of a queued request would be buffered in many small parts. */
function holdBack(socket: Duplex, connection: Connection): void {
  const { waiting, latest } = connection;
  const isPaused = waiting.length >= MAX_QUEUED_REQUESTS || (waiting.length > 0 && latest?.taken === false);
  if (isPaused === connection.isPaused) return;
  connection.isPaused = isPaused;
  if (isPaused) socket.pause();
  else socket.resume();
}

function failureOfParser(error: Error, code: string): Failure {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return failure('headers-too-large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return failure('client-timeout');
    case 'HPE_INVALID_VERSION':
      // The same code is that of a request line with a version that is none, or that does not end with CRLF.
      return failure(namesOtherVersion(error) ? 'unsupported-version' : 'bad-request');
    case 'HPE_INVALID_METHOD':
      return failure(
        'bad-request',
        'The request is not valid HTTP, or has a method that the gateway does not know.',
      );
    default:
      return failure('bad-request');
  }
}

/** True when the version in the request line is one, and not HTTP/1.0 or 1.1. */
function namesOtherVersion(error: Error): boolean {
  return 'reason' in error && error.reason === 'Invalid HTTP version';
}
