import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Failure, failure } from '../../migrate/failure.ts';
import type { H1Exchange } from './h1-exchange.ts';
import { linger } from './linger.ts';

/** Requests that may wait for their turn on one connection before it is read no further. */
const MOST_WAITING = 16;

interface Connection {
  /** Exchanges whose responses are not out, in the order of their requests. */
  readonly exchanges: Set<H1Exchange>;
  /** The exchange of the last request whose head came. */
  latest: H1Exchange | undefined;
  /** Starts the exchanges that wait for the one before them. */
  readonly waiting: (() => void)[];
  /** True once nothing that comes is a request any more. */
  closing: boolean;
  fault: Failure | undefined;
}

/**
 * Responds to what Node's parser refuses, once the responses before it are out: Node alone writes its 400 in front of them.
 */
export class ConnectionFaults {
  private readonly connections = new WeakMap<Duplex, Connection>();
  private readonly told: (refused: Failure) => void;

  /** `told` hears of each refusal that belongs to no exchange. */
  constructor(told: (refused: Failure) => void) {
    this.told = told;
  }

  /**
   * Starts an exchange when those before it on its connection are over: pipelined requests run in their order, since
   * the second may build on what the first made (RFC 9112 §9.3.2). What comes behind the last is not heard.
   */
  enter(socket: Duplex, exchange: H1Exchange, outgoing: ServerResponse, start: () => void): void {
    const connection = this.of(socket);
    if (connection.closing) {
      socket.destroy();
      return;
    }
    connection.exchanges.add(exchange);
    connection.latest = exchange;
    outgoing.on('close', () => {
      // Behind a head that was refused, nobody knows where the next one begins.
      if (!outgoing.shouldKeepAlive) {
        if (connection.waiting.length >= MOST_WAITING) socket.resume();
        connection.waiting.length = 0;
      }
      this.leave(socket, connection, exchange);
    });
    if (connection.exchanges.size === 1) {
      start();
      return;
    }
    connection.waiting.push(start);
    if (connection.waiting.length === MOST_WAITING) socket.pause();
  }

  private leave(socket: Duplex, connection: Connection, exchange: H1Exchange): void {
    connection.exchanges.delete(exchange);
    if (connection.waiting.length === MOST_WAITING) socket.resume();
    const next = connection.waiting.shift();
    if (next !== undefined && !socket.destroyed) next();
    else if (connection.fault !== undefined && connection.exchanges.size === 0)
      this.refuse(socket, connection.fault);
  }

  /** Responds to in the gateway's own name where there is no request to speak of, and closes. */
  refuse(socket: Duplex, refused: Failure): void {
    const connection = this.of(socket);
    if (connection.closing) return;
    connection.closing = true;
    this.told(refused);
    const body = refused.envelope();
    socket.end(
      `HTTP/1.1 ${refused.status} ${refused.title}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
        `Date: ${new Date().toUTCString()}\r\nx-gateway-error: ${refused.code}\r\nConnection: close\r\n\r\n${body}`,
    );
    linger(socket);
  }

  private of(socket: Duplex): Connection {
    const known = this.connections.get(socket);
    if (known !== undefined) return known;
    const connection: Connection = {
      exchanges: new Set(),
      latest: undefined,
      waiting: [],
      closing: false,
      fault: undefined,
    };
    this.connections.set(socket, connection);
    lingerOnClose(socket, connection);
    return connection;
  }

  /** Responds to a fault of the parser, when the responses before it are out. */
  meet(error: Error, socket: Duplex): void {
    const code = 'code' in error ? String(error.code) : '';
    if (code === 'ECONNRESET' || code === 'EPIPE' || !socket.writable) {
      socket.destroy();
      return;
    }
    const connection = this.of(socket);
    if (connection.closing || connection.fault !== undefined) return;
    if (connection.exchanges.size === 0 && connection.latest?.taken === false) {
      // The rest of a body that was answered already: a second response would be taken for the next request's.
      socket.destroy();
      return;
    }
    const refused = failureOfParser(code);
    const broken = [...connection.exchanges].find((exchange) => !exchange.taken);
    connection.fault = refused;
    if (broken !== undefined && code === 'HPE_INVALID_EOF_STATE') {
      // The client closed its side in the middle of a body: it went away, and its exchange tells so.
      connection.closing = true;
      connection.fault = undefined;
      socket.destroy();
      return;
    }
    if (broken !== undefined) {
      // The connection closes behind the response of the exchange whose body this was.
      connection.closing = true;
      connection.fault = undefined;
      broken.fault(refused.code === 'client-timeout' ? 'client-timeout' : 'bad-framing');
      return;
    }
    if (connection.exchanges.size === 0) this.refuse(socket, refused);
  }
}

function failureOfParser(code: string): Failure {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return failure('headers-too-large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return failure('client-timeout');
    case 'HPE_INVALID_VERSION':
      return failure('unsupported-version');
    default:
      return failure('bad-request');
  }
}

/**
 * Node closes a connection as soon as its last response is written. With bytes of the request unread, that is a reset, and
 * the client loses the response; so what still comes is read for a while, and no request in it is heard.
 */
function lingerOnClose(socket: Duplex, connection: Connection): void {
  if (!('destroySoon' in socket)) return;
  socket.destroySoon = (): void => {
    connection.closing = true;
    if (socket.writable) socket.end();
    linger(socket);
  };
}
