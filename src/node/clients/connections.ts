import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { hasPeer, isReading, resetConnection, socketBelowTls } from '../node-internals.ts';
import { IS_NODE } from '../runtime.ts';
import { onCheckPhase } from '../fair-turns.ts';

/** Reads and writes a connection once its protocol is known: HTTP/1.1 or HTTP/2. */
export interface ConnectionProtocol {
  /** True once a request has arrived on it. */
  readonly isUsed: boolean;
  /** True while more than an incomplete head is in flight. */
  readonly isBusy: boolean;
  /** True while closing the connection would look like the end of a response that the kernel has not taken whole. */
  readonly isResponding: boolean;
  /** Ends requests and idle connections that exceed a timeout; called several times a second. */
  checkTimes(now: number): void;
  /** Closes the connection if nothing is in flight on it. */
  closeIdle(): void;
  /** Asks the peer for no further requests, if the protocol can, because the server drains. */
  drain?(): void;
}

/**
 * One connection with a client, from accept to close.
 *
 * | state | held in | at the limit of connections | when the server drains | ends |
 * |---|---|---|---|---|
 * | opening: its PROXY header or TLS handshake is due | no `protocol` | closes for a new one | continues for two seconds | after the headers timeout from accept, even if bytes arrive |
 * | idle: no request, or part of a head | `protocol`, not busy | closes for a new one | closes, a new one after half a second | after the headers or idle timeout |
 * | busy: a request is in flight | `protocol`, busy | stays, and queues behind the others | its response is the last | with the drain time |
 * | lingering: its last response is written, and bytes may come | `lingering` | closes before all others | goes on | after a silence of a second, or 30 s |
 *
 * It is in one of its server's two lists: lingering connections, or all others in the order of accept, except that `makeRoom` moves busy
 * ones to the end. Its `protocol` handles requests and responses.
 */
export class ClientConnection {
  /** The socket as it was accepted: below TLS. */
  readonly accepted: Socket;
  /** The socket for HTTP: the TLS socket once the handshake is over. */
  socket: Socket;
  protocol: ConnectionProtocol | undefined = undefined;
  /** When its protocol began, or before that, when it was accepted, by the clock of `performance`. */
  since = performance.now();
  /** Counts that its PROXY header or TLS handshake was not complete in time; the connection then closes. */
  onLate: (() => void) | undefined = undefined;
  lingering: Lingering | undefined = undefined;
  // Its place in a list.
  list: ConnectionList | undefined = undefined;
  next: ClientConnection | undefined = undefined;
  previous: ClientConnection | undefined = undefined;
  private address: string | undefined = undefined;

  constructor(accepted: Socket) {
    this.accepted = accepted;
    this.socket = accepted;
  }

  /** The client's address, possibly named by a load balancer; empty if the client disconnected before the first call. */
  get remote(): string {
    this.address ??= this.accepted.remoteAddress ?? '';
    return this.address;
  }

  set remote(address: string) {
    this.address = address;
  }
}

/** A list whose links are in the connections themselves: leaving it takes neither a search nor a table. */
class ConnectionList {
  first: ClientConnection | undefined = undefined;
  size = 0;
  private last: ClientConnection | undefined = undefined;

  /** Adds a connection at the end; it leaves the list that it was in. */
  add(connection: ClientConnection): void {
    connection.list?.remove(connection);
    connection.list = this;
    connection.previous = this.last;
    if (this.last === undefined) this.first = connection;
    else this.last.next = connection;
    this.last = connection;
    this.size += 1;
  }

  /** Removes a connection that is in this list; ignores any other. */
  remove(connection: ClientConnection): void {
    if (connection.list !== this) return;
    const { next, previous } = connection;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.last = previous;
    else next.previous = previous;
    connection.list = undefined;
    connection.next = undefined;
    connection.previous = undefined;
    this.size -= 1;
  }

  /** Visits all connections; the visited one may leave the list. */
  visit(visitor: (connection: ClientConnection) => void): void {
    for (let at = this.first; at !== undefined;) {
      const { next } = at;
      visitor(at);
      at = next;
    }
  }
}

/** Opens and serves connections. */
export interface ConnectionsHandler {
  /** Maximum number of connections. */
  readonly limit: number;
  /** Maximum milliseconds from accept to `serve`; 0 is no limit. */
  readonly openTimeout: number;
  /**
   * Reads the bytes before HTTP, such as a PROXY header or a TLS handshake, and then calls `serve`, or over TLS `secured`: at once,
   * later, or never.
   */
  open(connection: ClientConnection): void;
  /** Begins to read requests. */
  begin(connection: ClientConnection): ConnectionProtocol;
}

/** Milliseconds between two checks of all connections. */
const CHECK_MS = 250;
/** Checks of timeouts for each check for connections that were reset, which asks the kernel. */
const CHECKS_PER_RESET_CHECK = 4;
/** Minimum number of connections that are checked for each new one at the limit, even in a flood that has used up `CHECKS`. */
const MIN_CHECKS = 64;
/** Maximum checks for all new connections in `STRETCH_MS`; each takes up to a microsecond. */
const CHECKS = 20_000;
const STRETCH_MS = 100;
/** Milliseconds for which a new connection stays open without a request while the server drains: its first request may be on its way. */
const FIRST_REQUEST_GRACE_MS = 500;
/** Milliseconds for which a new connection may complete its TLS handshake while the server drains: three round trips of a slow network. */
const OPENING_GRACE_MS = 2000;
/** Maximum number of lingering connections; beyond it the oldest is closed. */
const MAX_LINGERING = 512;
/** Maximum bytes that are read and dropped after the last response, unless the protocol has a lower limit. */
const DROPPED_BYTES = 256 * 1024 * 1024;

/** A server's connections with its clients: each has one record, from `accept` to its close. */
export class ClientConnections {
  /** Connections accepted so far. */
  accepted = 0;
  private readonly handler: ConnectionsHandler;
  private readonly serving = new ConnectionList();
  private readonly lingering = new ConnectionList();
  private timer: NodeJS.Timeout | undefined = undefined;
  private checksUntilReset = CHECKS_PER_RESET_CHECK;
  private stretchSince = Number.NEGATIVE_INFINITY;
  private checks = 0;

  constructor(handler: ConnectionsHandler) {
    this.handler = handler;
  }

  /** Number of connections. */
  get size(): number {
    return this.serving.size + this.lingering.size;
  }

  /** Takes a new connection; at the limit it closes a lingering one, or else the oldest one with nothing in flight. */
  accept(accepted: Socket): void {
    const connection = this.add(accepted);
    if (connection !== undefined) this.handler.open(connection);
  }

  /** Serves HTTP on a TLS socket whose handshake is over. */
  secured(socket: Socket): void {
    if (socket.destroyed) return;
    // Other runtimes than Node may not have reported the connection before.
    const connection = this.recordOf(socket) ?? this.add(socket);
    if (connection === undefined) return;
    connection.socket = socket;
    this.serve(connection);
  }

  visit(visitor: (connection: ClientConnection) => void): void {
    this.serving.visit(visitor);
    this.lingering.visit(visitor);
  }

  /**
   * Closes a connection whose last response is written. Closing with unread bytes from the client would reset the connection and lose the
   * response (RFC 9112 §9.6), so only the writing side ends, and further bytes are read and dropped: at most `maxBytes`, and while they
   * arrive fast enough. If the client has already closed its side, Node closes the socket at once.
   */
  linger(connection: ClientConnection, maxBytes = DROPPED_BYTES): void {
    const { socket } = connection;
    if (socket.destroyed || connection.list !== this.serving) return;
    if (socket.writable) socket.end();
    if (this.lingering.size >= MAX_LINGERING) this.closeLingering();
    this.lingering.add(connection);
    connection.lingering = new Lingering(socket, maxBytes);
  }

  /** Asks for no further requests. */
  drain(): void {
    this.serving.visit(({ protocol }) => protocol?.drain?.());
  }

  /** Closes the connections with nothing in flight, except new ones, whose handshake or first request may be on its way. */
  closeIdle(): void {
    const now = performance.now();
    this.serving.visit(({ accepted, protocol, since }) => {
      const age = now - since;
      if (protocol === undefined) {
        if (age >= OPENING_GRACE_MS) accepted.destroy();
      } else if (protocol.isUsed || age >= FIRST_REQUEST_GRACE_MS) {
        protocol.closeIdle();
      }
    });
  }

  /** Closes every connection, even one with an exchange in flight. */
  destroyAll(): void {
    this.visit(({ accepted, protocol }) => {
      if (protocol?.isResponding === true) resetConnection(accepted);
      else accepted.destroy();
    });
  }

  private add(accepted: Socket): ClientConnection | undefined {
    this.accepted += 1;
    if (this.size >= this.handler.limit && !this.makeRoom()) {
      accepted.destroy();
      return undefined;
    }
    const connection = new ClientConnection(accepted);
    this.serving.add(connection);
    Reflect.set(accepted, RECORD, connection);
    accepted.on('close', leave);
    this.timer ??= setInterval(ClientConnections.check, CHECK_MS, this).unref();
    return connection;
  }

  /** Finds the record of a TLS socket by the socket below, or by the peer's address if that socket is unknown. */
  private recordOf(socket: Socket): ClientConnection | undefined {
    const { remoteAddress, remotePort } = socket;
    const below = socketBelowTls(socket);
    const known = connectionOf(below ?? socket);
    if (known !== undefined || below !== undefined || remotePort === undefined) return known;
    let found: ClientConnection | undefined;
    this.serving.visit((connection) => {
      const { accepted, protocol } = connection;
      const isSame = accepted.remotePort === remotePort && accepted.remoteAddress === remoteAddress;
      if (isSame && protocol === undefined) found = connection;
    });
    return found;
  }

  /** Reads HTTP on a connection from now on. */
  serve(connection: ClientConnection): void {
    connection.since = performance.now();
    connection.protocol = this.handler.begin(connection);
  }

  private makeRoom(): boolean {
    if (this.closeLingering()) return true;
    let left = Math.min(this.serving.size, Math.max(MIN_CHECKS, CHECKS - this.checksUsed()));
    for (; left > 0; left -= 1) {
      const { first } = this.serving;
      if (first === undefined) return false;
      this.checks += 1;
      if (first.protocol?.isBusy !== true) {
        this.close(first);
        return true;
      }
      // A busy connection moves to the back, to be checked after all others.
      this.serving.add(first);
    }
    return false;
  }

  private checksUsed(): number {
    const now = performance.now();
    if (now - this.stretchSince > STRETCH_MS) {
      this.stretchSince = now;
      this.checks = 0;
    }
    return this.checks;
  }

  /** Closes the connection that has lingered longest; false if there is none. */
  private closeLingering(): boolean {
    const { first } = this.lingering;
    if (first !== undefined) this.close(first);
    return first !== undefined;
  }

  /** Closes a connection and stops counting it; its `close` event comes later. */
  private close(connection: ClientConnection): void {
    connection.list?.remove(connection);
    connection.accepted.destroy();
  }

  /** Closes connections that take too long or were reset. */
  private check(): void {
    const now = performance.now();
    this.serving.visit((connection) => {
      if (connection.protocol === undefined) this.checkOpening(connection, now);
      else connection.protocol.checkTimes(now);
    });
    this.lingering.visit(({ lingering }) => lingering?.checkTimes(now));
    this.checksUntilReset -= 1;
    if (this.checksUntilReset === 0) {
      this.checksUntilReset = CHECKS_PER_RESET_CHECK;
      if (IS_NODE) this.visit(closeReset);
    }
    if (this.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Closes a connection that is not open in time, even while bytes arrive slowly. */
  private checkOpening({ accepted, since, onLate }: ClientConnection, now: number): void {
    const { openTimeout } = this.handler;
    if (openTimeout === 0 || now - since < openTimeout || accepted.destroyed) return;
    onLate?.();
    accepted.destroy();
  }

  private static check(this: void, connections: ClientConnections): void {
    // After a stall of the process, read first the bytes that arrived in time: closing before that would reset the connection.
    onCheckPhase(() => connections.check());
  }
}

/** The socket's property with its record: a table, or a listener for each socket, would take longer for every new connection. */
const RECORD = Symbol('connection');

/** The record of a socket that a client was accepted on. */
function connectionOf(accepted: Socket): ClientConnection | undefined {
  const connection: unknown = Reflect.get(accepted, RECORD);
  return connection instanceof ClientConnection ? connection : undefined;
}

function leave(this: Socket): void {
  const connection = connectionOf(this);
  connection?.list?.remove(connection);
}

/**
 * Closes a connection that its client has reset while it is not being read (V2 takes a body slowly, or the read-ahead is full): Node
 * reports nothing then. An orderly end comes after the unread bytes, and is found with them.
 */
function closeReset({ accepted }: ClientConnection): void {
  const isRead = isReading(accepted) === true && !accepted.isPaused();
  // On Linux a connection that was reset has no peer.
  if (!isRead && hasPeer(accepted) === false) accepted.destroy();
}

/** Milliseconds to wait for a client that sends nothing more. */
const SILENCE_MS = 1000;
/** Milliseconds between two checks of a client that keeps sending. */
const RATE_CHECK_MS = 5000;
/** Milliseconds for which a client may go on sending, as in nginx. */
const LINGER_MS = 30_000;
/** Minimum bytes per second that it must send. */
const SLOWEST_RATE_BYTES = 240;

/** Reads and drops the bytes after the last response. */
class Lingering {
  private readonly socket: Socket;
  private readonly maxBytes: number;
  private readonly since = performance.now();
  private bytes = 0;
  private checkedBytes = 0;
  private checkedAt = this.since;
  private checkAt = this.since + SILENCE_MS;

  constructor(socket: Socket, maxBytes: number) {
    this.socket = socket;
    this.maxBytes = maxBytes;
    socket.on('error', () => socket.destroy());
    // Reading may have been stopped below the stream: only pause and resume restart it, a turn later.
    socket.pause();
    socket.resume();
    setImmediate(Lingering.readAndDrop, this);
  }

  /** Continues while the client sends fast enough. */
  checkTimes(now: number): void {
    if (now < this.checkAt) return;
    const least = ((now - this.checkedAt) / 1000) * SLOWEST_RATE_BYTES;
    if (this.bytes - this.checkedBytes < least || now - this.since > LINGER_MS) this.socket.destroy();
    this.checkedBytes = this.bytes;
    this.checkedAt = now;
    this.checkAt = now + RATE_CHECK_MS;
  }

  private drop(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > this.maxBytes) this.socket.destroy();
  }

  /** Further bytes after the last request are dropped, not parsed. */
  private static readAndDrop(this: void, lingering: Lingering): void {
    lingering.socket.removeAllListeners('data');
    lingering.socket.on('data', (chunk: Uint8Array) => lingering.drop(chunk.length));
  }
}
