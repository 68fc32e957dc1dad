import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Exchange } from '../../gateway/exchange.ts';
import { failure } from '../../migrate/failure.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import type { AddressRange } from '../../http/forwarding.ts';
import type { ListenAddress } from '../../settings/setting-kinds.ts';
import { BufferBudget } from '../../gateway/limits.ts';
import type { BodyMemory } from '../body-memory.ts';
import { afterReads, PieceTurns, StreamedBodies } from './fair-turns.ts';
import { IS_NODE } from '../runtime.ts';
import { BusyPeers, type Peer } from './busy-peers.ts';
import { ClientConnections, type ClientConnectionsOwner } from './client-connections.ts';
import type { ClientListener } from './client-listener.ts';
import { ClientResets } from './client-resets.ts';
import { ConnectionFaults } from './connection-faults.ts';
import { ConnectionLimit } from './connection-limit.ts';
import { drainConnections, type DrainingServer } from './drain-connections.ts';
import { H1Exchange } from './h1-exchange.ts';
import { H2Connections, type H2ConnectionsOwner } from './http2/connection.ts';
import type { BodyResources } from './request-body.ts';
import { RequestLines } from './request-lines.ts';
import { closePort, listen } from './listen.ts';
import { LingeringConnections } from './lingering-connections.ts';
import { resetConnection } from './reset-connection.ts';
import type { ReaderLimits } from './rates.ts';
import { ProxiedConnections } from './proxy-protocol.ts';
import type { EarlyEnds } from '../../rewrite-log/metric-families.ts';
import { HandshakeFailures } from './tls-handshakes.ts';
import type { TlsTexts } from '../tls-files.ts';

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

/** Bytes of all request bodies together that are buffered before they take a connection to V2. */
const READ_AHEAD_BYTES = 32 * 1024 * 1024;
/** Milliseconds that bodies wait for each tiny chunk that the gateway reads itself: four times what reading it takes. */
const WAIT_PER_CHUNK_MS = 0.0005;
/** Tiny chunks of all bodies that the gateway reads itself in one turn of the event loop; each takes some forty nanoseconds. */
const CHUNKS_PER_TURN = 32_768;
/** ALPN names (RFC 7301 §6), the preferred one first; `curl -0` offers nothing but `http/1.0`. */
const PROTOCOLS = ['h2', 'http/1.1', 'http/1.0', 'http/0.9'];
/** What a client reads that speaks plain HTTP where TLS is expected. */
const PLAIN_HTTP =
  'This port is for TLS, and the request is plain HTTP: use an address that begins with https://.';
/** Milliseconds between two checks for timed-out connections. */
const TIMEOUT_CHECK_MS = 250;

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
  private readonly server: Server | Http2SecureServer;
  private readonly lingering = new LingeringConnections();
  private readonly faults: ConnectionFaults;
  private readonly lines: RequestLines;
  private readonly connections: ClientConnections;
  private readonly h2: H2Connections;
  /** Node's own handler of a new connection. */
  private serveByNodeServer: (socket: Socket) => void = ignore;
  private readonly proxied: ProxiedConnections | undefined;
  private readonly limit: ConnectionLimit;
  private readonly busy = new BusyPeers();

  constructor(gateway: Gateway, options: GatewayServerOptions) {
    this.gateway = gateway;
    this.options = options;
    this.bodies = {
      readAhead: new BufferBudget(READ_AHEAD_BYTES),
      turns: new PieceTurns(),
      chunkTurns: new PieceTurns(WAIT_PER_CHUNK_MS, CHUNKS_PER_TURN),
      streams: new StreamedBodies(Math.ceil(options.upstreamConnections / 2)),
      memory: options.memory,
    };
    this.faults = new ConnectionFaults(this.lingering, (refused, bytes) =>
      gateway.logRefused(refused, bytes),
    );
    this.lines = new RequestLines(options.headerBytes);
    this.connections = new ClientConnections(options, this);
    this.h2 = new H2Connections(options, this);
    this.limit = new ConnectionLimit(options.connections, {
      closeLingering: () => this.lingering.closeOldest(),
      isExpendable: (socket) =>
        !this.connections.isBusy(socket) && !this.h2.isBusy(socket) && !this.busy.has(socket),
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
    // The system may be out of descriptors for a moment: the server keeps running.
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
  cut(): void {
    this.unfinished = this.gateway.inFlight;
    for (const socket of this.limit.sockets) {
      if (this.connections.isResponding(socket) || this.busy.has(socket)) resetConnection(socket);
      else socket.destroy();
    }
  }

  closeIdle(): void {
    const { server } = this;
    this.connections.closeIdle();
    this.h2.closeIdle();
    // The secure server has this method too; its types lack it.
    if ('closeIdleConnections' in server && typeof server.closeIdleConnections === 'function') {
      server.closeIdleConnections();
    }
  }

  private plain(): Server {
    const server = createServer({ ...this.timeLimits(), noDelay: true, highWaterMark: 64 * 1024 });
    // Node truncates longer lists silently: a trailing Authorization would be lost. The gateway counts the fields itself.
    server.maxHeadersCount = 0;
    server.on('request', (incoming, outgoing) => this.serve(incoming, outgoing, false));
    server.on('checkContinue', (incoming, outgoing) => this.serve(incoming, outgoing, true));
    server.on('checkExpectation', (incoming, outgoing) => this.serve(incoming, outgoing, false));
    server.on('connect', (_incoming, socket) => this.faults.refuseNext(socket, failure('upgrade-refused')));
    server.on('clientError', (error, socket) => this.onClientError(error, socket));
    server.on('timeout', closeIfSilent);
    if (IS_NODE) this.readBeforeNode(server, 'connection');
    return server;
  }

  /** The gateway reads connections before Node's own server, because that is faster; other runtimes have servers of their own. */
  private readBeforeNode(server: Server | Http2SecureServer, event: 'connection' | 'secureConnection'): void {
    const [served] = server.listeners(event);
    if (served === undefined) return;
    this.serveByNodeServer = (socket) => void served.call(server, socket);
    server.removeAllListeners(event);
    server.on(event, (socket: Socket | TLSSocket) => {
      if ('alpnProtocol' in socket && socket.alpnProtocol === 'h2') this.h2.accept(socket);
      else if (IS_NODE) this.connections.accept(socket);
      else this.serveByNode(socket);
    });
  }

  /** A server of HTTP/1.1 over TLS. HTTP/2 is the gateway's own: Bun and Deno let it read the connections of this server of Node's, too. */
  private secure(tls: TlsTexts): Http2SecureServer {
    const server = createSecureServer({
      ...tls,
      allowHTTP1: true,
      ...('deno' in process.versions ? { ALPNProtocols: PROTOCOLS } : { ALPNCallback: chooseProtocol }),
      noDelay: true,
      handshakeTimeout: this.options.headersTimeout,
      http1Options: this.timeLimits(),
    });
    Object.assign(server, { maxHeadersCount: 0 });
    this.readBeforeNode(server, 'secureConnection');
    server.prependListener('secureConnection', serveOldProtocols);
    server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
      this.serve(incoming, outgoing, false);
    });
    server.on('checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => {
      this.serve(incoming, outgoing, true);
    });
    server.on('checkExpectation', (incoming: IncomingMessage, outgoing: ServerResponse) => {
      this.serve(incoming, outgoing, false);
    });
    server.on('connect', (_incoming: IncomingMessage, socket: Duplex) =>
      this.faults.refuseNext(socket, failure('upgrade-refused')),
    );
    server.on('clientError', (error: Error, socket: Duplex) => this.onClientError(error, socket));
    server.on('timeout', closeIfSilent);
    this.handshakes.watch(server);
    if (IS_NODE)
      this.handshakes.readFirstByte(server, {
        headersTimeout: this.options.headersTimeout,
        refusePlain: (socket) => this.faults.refuse(socket, failure('bad-request', PLAIN_HTTP)),
      });
    return server;
  }

  private timeLimits() {
    const { headerBytes, headersTimeout, requestTimeout, idleTimeout } = this.options;
    return {
      maxHeaderSize: headerBytes,
      headersTimeout,
      requestTimeout,
      keepAliveTimeout: idleTimeout,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      requireHostHeader: false,
      insecureHTTPParser: false,
    };
  }

  serveByNode(socket: Socket): void {
    this.serveByNodeServer(socket);
    this.lines.watch(socket);
  }

  refuse(socket: Socket, code: 'client-timeout' | 'bad-request'): void {
    this.faults.refuse(socket, failure(code));
  }

  linger(socket: Socket, maxBytes?: number): void {
    this.lingering.close(socket, maxBytes);
  }

  logRefused(code: 'client-timeout' | 'bad-request'): void {
    this.gateway.logRefused(failure(code));
  }

  private onClientError(error: Error, socket: Duplex): void {
    const isLate = 'code' in error && error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    if (isLate) this.faults.onTimeout(socket, () => this.onParserError(error, socket));
    else this.onParserError(error, socket);
  }

  private onParserError(error: Error, socket: Duplex): void {
    const isPreface = this.lines.stoppedAtPreface(error, socket);
    const isInHead = this.lines.isInHead(error, socket);
    this.faults.onParserError(isPreface ? new Error('the preface of HTTP/2') : error, socket, isInHead);
  }

  private serve(incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): void {
    const isValid = this.lines.isValid(incoming);
    const exchange = new H1Exchange(incoming, outgoing, { expectsContinue, isValid }, this);
    this.busy.begin(incoming.socket, outgoing);
    // Node drops the bytes that arrive in one piece with the end of an upgrade that it ignores, and would resume in the middle of a
    // later body.
    if (incoming.headers.upgrade !== undefined) exchange.closeAfterResponse();
    this.faults.enter(incoming.socket, exchange, outgoing, () => this.take(exchange));
  }

  take(exchange: Exchange): void {
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

/** Node treats every protocol that it does not know as HTTP/2; the version of an HTTP/1 request is in its request line. */
function serveOldProtocols(socket: TLSSocket): void {
  if (socket.alpnProtocol !== 'h2') socket.alpnProtocol = 'http/1.1';
}

/** Deno takes a list instead, and refuses a client that offers nothing but HTTP/1.0. */
function chooseProtocol({ protocols }: { readonly protocols: readonly string[] }): string | undefined {
  return PROTOCOLS.find((name) => protocols.includes(name));
}

/** Closes an idle connection of Node's server, unless its next request came while the process stood still. */
function closeIfSilent(socket: Socket): void {
  const { bytesRead } = socket;
  afterReads(() => {
    if (socket.bytesRead === bytesRead) socket.destroy();
  });
}

/** An error closes the connection, and its exchanges report that. */
function ignore(): void {}
