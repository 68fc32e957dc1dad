import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer, type TLSSocket } from 'node:tls';
import { BufferBudget } from '../../gateway/limits.ts';
import type { Exchange } from '../../gateway/exchange.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import type { AddressRange } from '../../http/forwarding.ts';
import { type Failure, failure } from '../../migrate/failure.ts';
import type { EarlyEnds } from '../../rewrite-log/metric-families.ts';
import type { ListenAddress } from '../../settings/setting-kinds.ts';
import type { BodyMemory } from '../body-memory.ts';
import { IS_NODE } from '../runtime.ts';
import type { TlsTexts } from '../tls-files.ts';
import {
  ClientConnections,
  type ClientConnectionsOwner,
  ClientResets,
  ConnectionLimit,
} from './connections.ts';
import { type ClientListener, closePort, listen } from './listen.ts';
import {
  drainConnections,
  type DrainingServer,
  LingeringConnections,
  resetConnection,
} from './connection-ends.ts';
import { TickBudget, StreamedBodies } from './fair-turns.ts';
import { H2Connections, type H2ConnectionsOwner } from './http2/connection.ts';
import { type Peer, ProxiedConnections } from './proxy-protocol.ts';
import type { ReaderLimits } from './rates.ts';
import type { BodyResources } from './request-body.ts';
import { HandshakeFailures } from './tls-handshakes.ts';

/** How clients are served. Times are milliseconds; 0 is no limit. */
export interface GatewayServerOptions extends ReaderLimits {
  /** Maximum size of a request head in bytes. */
  readonly headerBytes: number;
  /** Maximum number of header fields in a request. */
  readonly headerCount: number;
  readonly headersTimeout: number;
  readonly idleTimeout: number;
  readonly requestTimeout: number;
  /** Time for which the server goes on accepting while it drains. */
  readonly drainDelay: number;
  /** Connections of trusted peers begin with a PROXY protocol header, in which a load balancer names its client. */
  readonly proxyProtocol: boolean;
  readonly trustedProxies: readonly AddressRange[];
  /** Maximum number of client connections; at the limit, idle ones and ones with an incomplete head are closed for new ones. */
  readonly connections: number;
  /**
   * Maximum number of connections to V2: requests with streamed bodies use at most half of them, unless their clients are fast.
   */
  readonly upstreamConnections: number;
  /** With it clients use TLS, and HTTP/2 if they choose. */
  readonly tls: TlsTexts | undefined;
  /** Memory for bodies on their way. */
  readonly memory: BodyMemory;
  /** Other processes listen on the same port. */
  readonly reusePort?: boolean | undefined;
}

/** Bytes of one read, as much as Node takes at a time. */
const READ_BYTES = 64 * 1024;
/** Bytes of all request bodies together that are buffered before they take a connection to V2. */
const READ_AHEAD_BYTES = 32 * 1024 * 1024;
/** Milliseconds that bodies wait for each tiny chunk that the gateway reads itself: four times what reading it takes. */
const WAIT_PER_CHUNK_MS = 0.0005;
/** Tiny chunks of all bodies that the gateway reads itself in one turn of the event loop; each takes some forty nanoseconds. */
const CHUNKS_PER_TURN = 32_768;
/** ALPN names (RFC 7301 §6), the preferred one first; `curl -0` offers nothing but `http/1.0`. The version of a request is in its line. */
const PROTOCOLS = ['h2', 'http/1.1', 'http/1.0', 'http/0.9'];
/** What a client reads that speaks plain HTTP where TLS is expected. */
const PLAIN_HTTP =
  'This port is for TLS, and the request is plain HTTP: use an address that begins with https://.';

/** The server for clients: plain HTTP/1.1, or TLS with HTTP/2 and HTTP/1.1. */
export class GatewayServer
  implements ClientListener, ClientConnectionsOwner, H2ConnectionsOwner, DrainingServer
{
  /** True once the server is to stop: every response then closes its connection. */
  draining = false;
  unfinished = 0;
  readonly bodies: BodyResources;
  private readonly handshakes = new HandshakeFailures();
  private readonly proxyHeaders = { malformed: 0, timeout: 0, closed: 0 };
  private readonly gateway: Gateway;
  private readonly options: GatewayServerOptions;
  private readonly server: Server | TlsServer;
  private readonly lingering = new LingeringConnections();
  private readonly connections: ClientConnections;
  private readonly h2: H2Connections;
  private readonly proxied: ProxiedConnections | undefined;
  private readonly limit: ConnectionLimit;

  constructor(gateway: Gateway, options: GatewayServerOptions) {
    this.gateway = gateway;
    this.options = options;
    this.bodies = {
      readAhead: new BufferBudget(READ_AHEAD_BYTES),
      turns: new TickBudget(),
      chunkTurns: new TickBudget(WAIT_PER_CHUNK_MS, CHUNKS_PER_TURN),
      streams: new StreamedBodies(Math.ceil(options.upstreamConnections / 2)),
      memory: options.memory,
    };
    this.connections = new ClientConnections(options, this);
    this.h2 = new H2Connections(options, this);
    this.limit = new ConnectionLimit(options.connections, {
      closeLingering: () => this.lingering.closeOldest(),
      isExpendable: (socket) => !this.connections.isBusy(socket) && !this.h2.isBusy(socket),
    });
    this.proxied = options.proxyProtocol
      ? new ProxiedConnections({
          ...options,
          onFault: (reason) => {
            this.proxyHeaders[reason] += 1;
            if (reason === 'malformed') gateway.logRefused(failure('bad-request'));
          },
        })
      : undefined;
    this.server = options.tls === undefined ? this.plain() : this.secure(options.tls);
    this.proxied?.readBefore(this.server);
    const resets = new ClientResets(this.limit.sockets);
    this.server.on('connection', (socket: Socket) => {
      this.limit.add(socket);
      if (IS_NODE) resets.watch();
    });
    // The kernel may be out of descriptors for a moment: the server keeps running.
    this.server.on('error', ignore);
  }

  /** Listens, and resolves to the origin for clients. */
  listen(address: ListenAddress): Promise<string> {
    return listen(
      this.server,
      address,
      this.options.tls === undefined ? 'http' : 'https',
      this.options.reusePort,
    );
  }

  /** Connections that ended before they had sent a request. */
  get earlyEnds(): EarlyEnds {
    return {
      handshakes: this.options.tls === undefined ? {} : this.handshakes.counts,
      proxyHeaders: this.options.proxyProtocol ? this.proxyHeaders : {},
    };
  }

  /** Uses these certificates for new connections. */
  renew(tls: TlsTexts): void {
    if ('setSecureContext' in this.server) this.server.setSecureContext(tls);
  }

  /**
   * Goes on accepting for the drain delay, stops, lets requests in flight finish, and closes the rest after `milliseconds`. A
   * kept-alive connection is not closed at once, as Node's own `close` does: a request may already be on its way.
   */
  drain(milliseconds: number): Promise<void> {
    this.draining = true;
    this.h2.drain();
    return drainConnections(this, this.options.drainDelay, milliseconds);
  }

  get open(): number {
    return this.limit.sockets.size + this.h2.ending;
  }

  stopAccepting(onClosed: () => void): Promise<void> {
    const isOwn = process.platform === 'linux' && IS_NODE && this.options.reusePort !== true;
    return closePort(this.server, { accepted: () => this.limit.accepted, isOwn, onClosed });
  }

  /** Closes every connection, even one with an exchange in flight. */
  destroyAll(): void {
    this.unfinished = this.gateway.inFlight;
    for (const socket of this.limit.sockets) {
      if (this.connections.isResponding(socket)) resetConnection(socket);
      else socket.destroy();
    }
  }

  closeIdle(): void {
    this.connections.closeIdle();
    this.h2.closeIdle();
  }

  /** Half open: a client that has sent its last request may end its side, and reads the response (RFC 9112 §9.6). */
  private plain(): Server {
    const server = createServer({ allowHalfOpen: true, noDelay: true, highWaterMark: READ_BYTES });
    server.on('connection', (socket: Socket) => this.connections.accept(socket));
    return server;
  }

  /** Not half open: a client that closes in the middle of a handshake would be waited for, and counted as one that is slow. */
  private secure(tls: TlsTexts): TlsServer {
    const server = createTlsServer({
      ...tls,
      // Other runtimes take a list instead; Deno then refuses a client that offers nothing but HTTP/1.0.
      ...(IS_NODE ? { ALPNCallback: chooseProtocol } : { ALPNProtocols: PROTOCOLS }),
      noDelay: true,
      handshakeTimeout: this.options.headersTimeout,
    });
    server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') this.h2.accept(socket);
      else this.connections.accept(socket);
    });
    this.handshakes.watch(server);
    if (IS_NODE)
      this.handshakes.readFirstByte(server, {
        headersTimeout: this.options.headersTimeout,
        refusePlain: (socket) => this.refuse(socket, failure('bad-request', PLAIN_HTTP), false),
      });
    return server;
  }

  /** Responds without a request, and closes the connection; `isHead` sends no body, as to HEAD. */
  refuse(socket: Socket, refused: Failure, isHead: boolean): void {
    const body = refused.envelope();
    const length = Buffer.byteLength(body);
    this.gateway.logRefused(refused, isHead ? 0 : length);
    socket.end(
      `HTTP/1.1 ${refused.status} ${refused.title}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n` +
        `Date: ${new Date().toUTCString()}\r\nx-gateway-error: ${refused.code}\r\nConnection: close\r\n\r\n${isHead ? '' : body}`,
    );
    this.lingering.close(socket);
  }

  linger(socket: Socket, maxBytes?: number): void {
    this.lingering.close(socket, maxBytes);
  }

  logRefused(code: 'client-timeout' | 'bad-request'): void {
    this.gateway.logRefused(failure(code));
  }

  serve(exchange: Exchange): void {
    try {
      void this.gateway.serve(this.gateway.receive(exchange));
    } catch (error) {
      void this.gateway.failInternally(exchange, error);
    }
  }

  /** The address of the client on a connection; a load balancer may have supplied it. */
  addressOf(peer: Peer): string {
    return this.proxied === undefined ? (peer.remoteAddress ?? '') : this.proxied.addressOf(peer);
  }

  get bodyTimeout(): number {
    return this.options.bodyTimeout;
  }

  get requestTimeout(): number {
    return this.options.requestTimeout;
  }

  get minDataRate(): number {
    return this.options.minDataRate;
  }

  get minDataRateGrace(): number {
    return this.options.minDataRateGrace;
  }
}

function chooseProtocol({ protocols }: { readonly protocols: readonly string[] }): string | undefined {
  return PROTOCOLS.find((name) => protocols.includes(name));
}

/** An error closes the connection, and its exchanges report that. */
function ignore(): void {}
