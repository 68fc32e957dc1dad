import { createServer, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { createServer as createTlsServer, type Server as TlsServer, type TLSSocket } from 'node:tls';
import { BufferBudget } from '../../gateway/limits.ts';
import type { Exchange } from '../../gateway/exchange.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import type { AddressRange } from '../../http/forwarding.ts';
import { type Failure, failure } from '../../migrate/failure.ts';
import { gatewayFailure } from '../../gateway/failures.ts';
import type { EarlyEnds, CountsByReason } from '../../rewrite-log/metric-families.ts';
import { closeEntry, openEntry } from '../../rewrite-log/observer.ts';
import type { ListenAddress } from '../../settings/setting-kinds.ts';
import type { BodyMemory } from '../body-memory.ts';
import { socketBelowTls } from '../node-internals.ts';
import { IS_NODE } from '../runtime.ts';
import type { TlsTexts } from '../files.ts';
import { type ClientConnection, ClientConnections, type ConnectionProtocol } from './connections.ts';
import { ACCEPT_QUEUES, type ClientListener, closePort, listenTogether } from './listen.ts';
import { onCheckPhase, TickBudget } from '../fair-turns.ts';
import { H1Connections, type H1Server } from './http1/connection.ts';
import { H2Connections, type H2Server } from './http2/connection.ts';
import { TICKET_KEYS_MS } from './ticket-keys.ts';
import { readProxied } from './proxy-protocol.ts';
import type { ReaderLimits } from './rates.ts';
import type { BodyResources } from './request-body.ts';

/** Limits and options for clients. Times are milliseconds; 0 is no limit. */
export interface GatewayServerOptions extends ReaderLimits {
  /** Maximum size of a request head in bytes. */
  readonly headerBytes: number;
  /** Maximum number of header fields in a request. */
  readonly headerCount: number;
  readonly headersTimeout: number;
  readonly idleTimeout: number;
  /** Time for which the server still accepts connections while it drains. */
  readonly drainDelay: number;
  /** True if trusted peers' connections begin with a PROXY protocol header, in which a load balancer names its client. */
  readonly proxyProtocol: boolean;
  readonly trustedProxies: readonly AddressRange[];
  /** Maximum number of client connections; at the limit, idle ones and ones with an incomplete head are closed for new ones. */
  readonly connections: number;
  /** If set, clients use TLS, and HTTP/2 if they choose. */
  readonly tls: TlsTexts | undefined;
  /** Memory for bodies in flight. */
  readonly memory: BodyMemory;
  /** True if other processes listen on the same port. */
  readonly reusePort?: boolean | undefined;
}

/** Bytes of one read, as many as Node takes at a time. */
const READ_BYTES = 64 * 1024;
/** Bytes of all request bodies together that are buffered before they take a connection to V2. */
const READ_AHEAD_BYTES = 32 * 1024 * 1024;
/** Milliseconds that bodies wait for each tiny chunk: four times what reading it takes. */
const WAIT_PER_CHUNK_MS = 0.0005;
/** Maximum tiny chunks of all bodies in one turn of the event loop; each takes some forty nanoseconds. */
const CHUNKS_PER_TURN = 32_768;
/** ALPN names (RFC 7301 §6), the preferred one first; `curl -0` offers only `http/1.0`. The request line has the real version. */
const PROTOCOLS = ['h2', 'http/1.1', 'http/1.0', 'http/0.9'];
/** Milliseconds of Node's longest timer: to Node, 0 means its own default. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** Options for TLS sessions that clients resume. */
const SESSIONS = {
  // Node's default is a hash of the command line: after a restart with other flags, no session could be resumed.
  sessionIdContext: 'capture-gateway',
  // Node's default is five minutes, and some scripts run once an hour.
  sessionTimeout: TICKET_KEYS_MS / 1000,
};
/** The message for a client that speaks plain HTTP where TLS is expected. */
const PLAIN_HTTP =
  'This port is for TLS, and the request is plain HTTP: use an address that begins with https://.';

/**
 * Milliseconds in which a kept-alive connection may send one more request while the server drains: a share of the drain time within
 * these bounds.
 */
const MIN_IDLE_GRACE_MS = 500;
const MAX_IDLE_GRACE_MS = 5000;
const IDLE_GRACE_SHARE = 0.25;
/** Milliseconds between two checks for idle connections while the server drains. */
const IDLE_CHECK_MS = 50;

/** The server for clients: plain HTTP/1.1, or TLS with HTTP/2 and HTTP/1.1. */
export class GatewayServer implements ClientListener, H1Server, H2Server {
  /** True once the server stops: every response then closes its connection. */
  draining = false;
  unfinished = 0;
  readonly bodies: BodyResources;
  private readonly handshakes = new HandshakeFailures();
  private readonly proxyHeaders = { malformed: 0, timeout: 0, closed: 0 };
  private readonly gateway: Gateway;
  private readonly options: GatewayServerOptions;
  private readonly server: Server | TlsServer;
  /** The server, and further listening sockets on its port. */
  private readonly listening: readonly [Server, ...Server[]];
  private ticketKeys: Buffer | undefined = undefined;
  private readonly connections: ClientConnections;
  private readonly h1: H1Connections;
  private readonly h2: H2Connections;

  constructor(gateway: Gateway, options: GatewayServerOptions) {
    this.gateway = gateway;
    this.options = options;
    this.bodies = {
      readAhead: new BufferBudget(READ_AHEAD_BYTES),
      turns: new TickBudget(),
      chunkTurns: new TickBudget(WAIT_PER_CHUNK_MS, CHUNKS_PER_TURN),
      memory: options.memory,
    };
    this.h1 = new H1Connections(options, this);
    this.h2 = new H2Connections(options, this);
    const isHalfOpen = options.tls === undefined;
    this.server = options.tls === undefined ? plainServer(isHalfOpen) : this.secureServer(options.tls);
    const startTls = this.server.listeners('connection');
    this.server.removeAllListeners('connection');
    this.listening = [
      this.server,
      ...Array.from({ length: ACCEPT_QUEUES - 1 }, () => plainServer(isHalfOpen)),
    ];
    this.connections = new ClientConnections({
      limit: options.connections,
      openTimeout: options.headersTimeout,
      open:
        options.tls === undefined && !options.proxyProtocol
          ? (connection) => this.connections.serve(connection)
          : (connection) => this.open(connection, startTls),
      begin: (connection) => this.begin(connection),
    });
    for (const server of this.listening) {
      server.on('connection', (socket: Socket) => this.connections.accept(socket));
      // The kernel may be out of descriptors for a moment: the server keeps running.
      server.on('error', ignore);
    }
  }

  /** Listens, and resolves to the origin for clients. */
  listen(address: ListenAddress): Promise<string> {
    const scheme = this.options.tls === undefined ? 'http' : 'https';
    return listenTogether(this.listening, address, scheme, this.options.reusePort === true);
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
    if (!('setSecureContext' in this.server)) return;
    this.server.setSecureContext({ ...tls, ...SESSIONS });
    // The new context has its own keys, but clients return with tickets of the old one.
    this.setTicketKeys();
  }

  useTicketKeys(keys: Uint8Array): void {
    this.ticketKeys = Buffer.from(keys);
    this.setTicketKeys();
  }

  private setTicketKeys(): void {
    // Bun's function throws; there each process keeps its own keys.
    if (IS_NODE && this.ticketKeys !== undefined && 'setTicketKeys' in this.server)
      this.server.setTicketKeys(this.ticketKeys);
  }

  /**
   * Accepts connections for the drain delay, until load balancers have noticed, then stops, lets requests in flight finish, and closes
   * the rest after `milliseconds`. Each response closes its connection. Idle connections stay open for a while after the port closes, so
   * that few requests arrive at a connection that is closing; the drain ends when no connection is left.
   */
  async drain(milliseconds: number): Promise<void> {
    this.draining = true;
    this.connections.drain();
    const deadline = setTimeout(() => onCheckPhase(() => this.destroyAll()), milliseconds);
    const wait = Math.min(this.options.drainDelay, milliseconds);
    await pause(wait);
    const closed = Promise.withResolvers<void>();
    await this.stopAccepting(closed.resolve);
    // After the reads of its turn, so that a request that has already arrived is served.
    const closeIdle = (): void => onCheckPhase(() => this.connections.closeIdle());
    let idleTimer: NodeJS.Timeout | undefined;
    const grace = setTimeout(
      () => {
        closeIdle();
        idleTimer = setInterval(closeIdle, IDLE_CHECK_MS);
      },
      Math.min(Math.max(0, idleGrace(milliseconds) - wait), milliseconds - wait),
    );
    await closed.promise;
    // The server stops counting a connection before that emits `close`, and exchanges outlive their connections by a turn.
    while (this.connections.size + this.h2.ending > 0) await nextTurn();
    clearTimeout(deadline);
    clearTimeout(grace);
    clearInterval(idleTimer);
  }

  private stopAccepting(onClosed: () => void): Promise<void> {
    const isOwn = process.platform === 'linux' && IS_NODE && this.options.reusePort !== true;
    return closePort(this.listening, { accepted: () => this.connections.accepted, isOwn, onClosed });
  }

  /** Closes every connection, even one with an exchange in flight. */
  destroyAll(): void {
    this.unfinished = this.gateway.inFlight;
    this.connections.destroyAll();
  }

  visit(visitor: (connection: ClientConnection) => void): void {
    this.connections.visit(visitor);
  }

  /** Reads a load balancer's header, if one is expected, and then serves HTTP or begins the TLS handshake. */
  private open(connection: ClientConnection, startTls: readonly Function[]): void {
    const serve = (): void => {
      if (this.options.tls === undefined) this.connections.serve(connection);
      else this.handshake(connection, startTls);
    };
    if (!this.options.proxyProtocol) {
      serve();
      return;
    }
    const onFault = (reason: keyof typeof this.proxyHeaders): void => {
      this.proxyHeaders[reason] += 1;
      if (reason === 'malformed') this.logRefused('bad-request');
    };
    readProxied(connection, { ...this.options, onFault }, serve);
  }

  /** Begins the TLS handshake by passing the socket to the listeners of Node's server, unless the first byte is plain HTTP. */
  private handshake(connection: ClientConnection, startTls: readonly Function[]): void {
    const { accepted } = connection;
    const onHandshake = (): void => {
      for (const start of startTls) Reflect.apply(start, this.server, [accepted]);
    };
    if (!IS_NODE) {
      onHandshake();
      return;
    }
    connection.onLate = () => this.handshakes.timedOut(accepted);
    this.handshakes.readFirstByte(accepted, {
      onPlain: () => this.refuse(connection, failure('bad-request', PLAIN_HTTP), false),
      onHandshake,
    });
  }

  private begin(connection: ClientConnection): ConnectionProtocol {
    const { socket } = connection;
    const isH2 = 'alpnProtocol' in socket && socket.alpnProtocol === 'h2';
    return isH2 ? this.h2.begin(connection) : this.h1.begin(connection);
  }

  /** Not half-open: the server would wait for a client that closes in the middle of a handshake, and count it as slow. */
  private secureServer(tls: TlsTexts): TlsServer {
    const server = createTlsServer({
      ...tls,
      // Other runtimes take a list instead; Deno then refuses a client that offers only HTTP/1.0.
      ...(IS_NODE ? { ALPNCallback: chooseProtocol } : { ALPNProtocols: PROTOCOLS }),
      noDelay: true,
      // Every byte would restart Node's timeout, which also only reports: `ClientConnections` counts from accept.
      handshakeTimeout: NO_TIMEOUT_MS,
      ...SESSIONS,
    });
    server.on('secureConnection', (socket: TLSSocket) => this.connections.secured(socket));
    this.handshakes.watch(server);
    return server;
  }

  /** Responds without a request, and closes the connection; `isHead` sends no body, as for HEAD. */
  refuse(connection: ClientConnection, refused: Failure, isHead: boolean): void {
    const { parts } = this.gateway;
    const requestId = parts.newRequestId();
    // Its version is unknown, so the response is written for V1's clients.
    const { type, body } = refused.content(parts.rules().ruleBook.refusals, requestId);
    const length = Buffer.byteLength(body);
    this.logUnread(refused, requestId, isHead ? 0 : length);
    connection.socket.end(
      `HTTP/1.1 ${refused.status} ${refused.title}\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n` +
        `Date: ${new Date().toUTCString()}\r\nx-gateway-error: ${refused.code}\r\nConnection: close\r\n\r\n${isHead ? '' : body}`,
    );
    this.connections.linger(connection);
  }

  linger(connection: ClientConnection, maxBytes?: number): void {
    this.connections.linger(connection, maxBytes);
  }

  logRefused(code: 'client-timeout' | 'bad-request'): void {
    this.logUnread(gatewayFailure(code), this.gateway.parts.newRequestId());
  }

  /**
   * Logs a request that could not be read, for which there is no exchange. Without `responseBytes` its connection was closed without
   * a response.
   */
  private logUnread(refused: Failure, requestId: string, responseBytes?: number): void {
    const { parts } = this.gateway;
    const entry = openEntry({
      route: 'none',
      method: '',
      requestId,
      verdict: 'refused',
      ruleBook: parts.rules().ruleBook.hash,
    });
    entry.failure = refused.code;
    entry.status = responseBytes === undefined ? 0 : refused.status;
    entry.responseBytes = responseBytes ?? 0;
    const none = { target: '', upstreamTarget: undefined, attempts: 0 };
    const closed = closeEntry(entry, { time: parts.time(), ...none });
    parts.record(closed);
    parts.observer?.observe(closed);
  }

  /** Always false over TLS, where Node ends the connection when the client ends its side (RFC 8446 §6.1). */
  get answersHalfClosed(): boolean {
    return (
      this.options.tls === undefined &&
      this.gateway.parts.rules().ruleBook.policies['half-close'] === 'answer'
    );
  }

  serve(exchange: Exchange): void {
    try {
      void this.gateway.serve(this.gateway.receive(exchange));
    } catch (error) {
      void this.gateway.failInternally(exchange, error);
    }
  }

  get bodyTimeout(): number {
    return this.options.bodyTimeout;
  }

  get minDataRate(): number {
    return this.options.minDataRate;
  }

  get minDataRateGrace(): number {
    return this.options.minDataRateGrace;
  }
}

/** With `allowHalfOpen`, a client may end its side after its last request and still read the response (RFC 9112 §9.6). */
function plainServer(allowHalfOpen: boolean): Server {
  return createServer({ allowHalfOpen, noDelay: true, highWaterMark: READ_BYTES });
}

function idleGrace(limit: number): number {
  return Math.max(MIN_IDLE_GRACE_MS, Math.min(MAX_IDLE_GRACE_MS, limit * IDLE_GRACE_SHARE));
}

function chooseProtocol({ protocols }: { readonly protocols: readonly string[] }): string | undefined {
  return PROTOCOLS.find((name) => protocols.includes(name));
}

/** For errors that need no handling: a socket emits `close` after each, and a server keeps running. */
function ignore(): void {}

/** Reasons for failed handshakes, by the code of Node's error; most clients that do not trust the certificate just close. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNRESET: 'closed',
  EPIPE: 'closed',
  ERR_SSL_HTTP_REQUEST: 'plain-http',
  ERR_SSL_WRONG_VERSION_NUMBER: 'not-tls',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'unsupported-version',
  ERR_SSL_NO_SHARED_CIPHER: 'no-shared-cipher',
  ERR_SSL_NO_APPLICATION_PROTOCOL: 'no-shared-protocol',
};

/** Alerts by which a client refuses the certificate (RFC 8446 §6.2). */
const CERTIFICATE_ALERT =
  /ALERT_(?:BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_(?:REVOKED|EXPIRED|UNKNOWN|REQUIRED)|UNKNOWN_CA)$/;

const ALL_REASONS: readonly string[] = [
  ...new Set([...Object.values(REASONS), 'timeout', 'certificate-rejected', 'other']),
];

/** Callbacks for a connection's first byte. */
interface FirstByteHandler {
  /** Called when the client speaks plain HTTP. */
  readonly onPlain: () => void;
  /** Called when the client begins a handshake, with all its bytes unread. */
  readonly onHandshake: () => void;
}

/** Failed TLS handshakes, by reason. */
class HandshakeFailures {
  /** Failures for each reason, including those that never occurred. */
  readonly counts: CountsByReason = Object.fromEntries(ALL_REASONS.map((reason) => [reason, 0]));

  /** Sockets, below TLS, whose handshake was too slow: Node reports their close once more. */
  private readonly late = new WeakSet<Socket>();

  /** Counts the failures that Node's server reports. */
  watch(server: Server): void {
    server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
      const below = socketBelowTls(socket);
      if (below === undefined || !this.late.has(below)) this.add(reasonOf(error));
    });
  }

  /** Counts a handshake that was not complete in time, or not begun; its socket then closes. */
  timedOut(accepted: Socket): void {
    this.late.add(accepted);
    this.add('timeout');
  }

  /**
   * Waits for a connection's first byte: a letter is plain HTTP, and a handshake begins with 22 (RFC 8446 §5.1). OpenSSL reports plain HTTP
   * only after the socket is closed, too late to tell the client why. A connection without a byte, such as a load balancer's check of the
   * port, is not counted.
   */
  readFirstByte(socket: Socket, { onPlain, onHandshake }: FirstByteHandler): void {
    // The client ended its side without sending a byte; a half-open server would wait forever.
    const end = (): void => void socket.destroy();
    const take = (chunk: Buffer): void => {
      socket.off('data', take).off('end', end).off('error', ignore);
      socket.pause();
      if (isLetter(chunk[0])) {
        this.add('plain-http');
        onPlain();
        return;
      }
      // TLS reads these bytes again.
      socket.unshift(chunk);
      onHandshake();
    };
    socket.on('data', take).on('end', end).on('error', ignore);
  }

  private add(reason: string): void {
    this.counts[reason] = (this.counts[reason] ?? 0) + 1;
  }
}

function reasonOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? (CERTIFICATE_ALERT.test(code) ? 'certificate-rejected' : 'other');
}

function isLetter(byte: number | undefined): boolean {
  const upper = (byte ?? 0) & ~0x20;
  return upper >= 0x41 && upper <= 0x5a;
}
