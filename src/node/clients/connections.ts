import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { hasPeer, isReading, resetConnection, socketBelowTls } from '../node-internals.ts';
import { IS_NODE } from '../runtime.ts';
import { onCheckPhase } from '../fair-turns.ts';

/** What reads and writes a connection once its protocol is known: HTTP/1.1, or HTTP/2. */
export interface ConnectionProtocol {
  /** True once a request has arrived on it. */
  readonly isUsed: boolean;
  /** True while more than an incomplete head is in flight. */
  readonly isBusy: boolean;
  /** True while the end of the connection could be taken for the end of a response that the kernel has not taken all of. */
  readonly isResponding: boolean;
  /** Ends what the peer keeps waiting for too long; called several times a second. */
  checkTimes(now: number): void;
  /** Closes the connection, if nothing is in flight on it. */
  closeIdle(): void;
  /** The server drains: asks the peer to send no further requests, where the protocol has words for that. */
  drain?(): void;
}

/**
 * One connection with a client, from accept to close.
 *
 * | state | held in | at the limit of connections | when the server drains | ends |
 * |---|---|---|---|---|
 * | opening: its PROXY header or TLS handshake is due | no `protocol` | closes for a new one | goes on | after the headers timeout |
 * | idle: no request, or part of a head | `protocol`, not busy | closes for a new one | closes, a new one after half a second | after the headers or idle timeout |
 * | busy: a request is in flight | `protocol`, busy | stays, and queues behind the others | its response is the last | with the drain time |
 * | lingering: its last response is written, and bytes may come | `lingering` | closes before all others | goes on | after a silence of a second, or 30 s |
 *
 * It stands in the list of its server, which is in the order of accept but for busy ones that were in the way of a new one, or in that of
 * connections that linger. Requests and responses are the business of its `protocol`.
 */
export class ClientConnection {
  /** The socket as it was accepted: below TLS. */
  readonly accepted: Socket;
  /** The socket that HTTP is spoken on: that of TLS, once the handshake is over. */
  socket: Socket;
  protocol: ConnectionProtocol | undefined = undefined;
  /** When its protocol began, by the clock of `performance`. */
  since = 0;
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

  /** The address of the client, empty where it is gone before somebody asks; a load balancer may have named another one than the peer. */
  get remote(): string {
    this.address ??= this.accepted.remoteAddress ?? '';
    return this.address;
  }

  set remote(address: string) {
    this.address = address;
  }
}

/** A list whose links are in the connections themselves: to leave it takes neither a search nor a table. */
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

  /** Takes a connection out of the list that it is in, if it is in one. */
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

  /** Visits all connections; the one that is visited may leave the list. */
  visit(visitor: (connection: ClientConnection) => void): void {
    for (let at = this.first; at !== undefined;) {
      const { next } = at;
      visitor(at);
      at = next;
    }
  }
}

/** How connections begin. */
export interface ConnectionsHandler {
  /** Maximum number of connections. */
  readonly limit: number;
  /**
   * Reads what stands before HTTP, such as a PROXY header or a TLS handshake, and has the connection served behind it, by `serve` or over
   * TLS by `secured`: at once, later, or never.
   */
  open(connection: ClientConnection): void;
  /** Begins to read requests. */
  begin(connection: ClientConnection): ConnectionProtocol;
}

/** Milliseconds between two looks at all connections. */
const CHECK_MS = 250;
/** Looks at times between two looks for connections that were reset: each of those asks the kernel. */
const CHECKS_PER_RESET_CHECK = 4;
/** Connections that are checked for each new one at the limit, at least; a flood of those pays for no more once the checks of its time are used up. */
const MIN_CHECKS = 64;
/** Checks of all new connections in a stretch of time, each of which takes up to a microsecond. */
const CHECKS = 20_000;
const STRETCH_MS = 100;
/** Milliseconds for which a new connection stays open without a request while the server drains: its first request may be on its way. */
const FIRST_REQUEST_GRACE_MS = 500;
/** Maximum number of lingering connections; beyond it the oldest is closed. */
const MAX_LINGERING = 512;
/** Maximum bytes that are read and dropped behind the last response, where the protocol has no lower limit. */
const DROPPED_BYTES = 256 * 1024 * 1024;

/** The connections of a server with its clients: each has one record, from `accept` to its close. */
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

  /** Takes a new connection; at the limit one that lingers makes room for it, or the oldest one with nothing in flight. */
  accept(accepted: Socket): void {
    const connection = this.add(accepted);
    if (connection !== undefined) this.handler.open(connection);
  }

  /** The handshake on a connection is over: what is sent on `socket` is HTTP. */
  secured(socket: Socket): void {
    if (socket.destroyed) return;
    // A runtime other than Node may report no connection before that.
    const connection = this.recordOf(socket) ?? this.add(socket);
    if (connection === undefined) return;
    connection.socket = socket;
    this.serve(connection);
  }

  /** Visits all connections. */
  visit(visitor: (connection: ClientConnection) => void): void {
    this.serving.visit(visitor);
    this.lingering.visit(visitor);
  }

  /**
   * The last response is written. Closing with unread bytes of the client would reset the connection, and the client would lose its
   * response (RFC 9112 §9.6): the writing side ends, and further bytes are read and dropped, at most `maxBytes`, as long as they come at a
   * fair rate. It takes no time where the client has closed its side already: Node then closes the socket at once.
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

  /** Closes the connections with nothing in flight, except new ones: their first request may be on its way. */
  closeIdle(): void {
    const now = performance.now();
    this.serving.visit(({ protocol, since }) => {
      const isNew = protocol?.isUsed === false && now - since < FIRST_REQUEST_GRACE_MS;
      if (!isNew) protocol?.closeIdle();
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

  /** The record of a TLS socket: by the socket below, or by the peer where nobody tells that one. */
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

  /** What comes on the connection from now on is HTTP. */
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

  /** Closes the one that has lingered for longest; false where there is none. */
  private closeLingering(): boolean {
    const { first } = this.lingering;
    if (first !== undefined) this.close(first);
    return first !== undefined;
  }

  /** Closes a connection that counts no more from now on: it reports its close later. */
  private close(connection: ClientConnection): void {
    connection.list?.remove(connection);
    connection.accepted.destroy();
  }

  /** Closes what takes too long, and what was reset. */
  private check(): void {
    const now = performance.now();
    this.serving.visit(({ protocol }) => protocol?.checkTimes(now));
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

  private static check(this: void, connections: ClientConnections): void {
    // After the process stood still, what came in time is read first: to close before that would reset the connection.
    onCheckPhase(() => connections.check());
  }
}

/** Where a socket has its record: a table of all of them, or a listener for each, would cost every new connection more. */
const RECORD = Symbol('connection');

/** The record of a socket that a client was accepted on. */
function connectionOf(accepted: Socket): ClientConnection | undefined {
  const connection: unknown = Reflect.get(accepted, RECORD);
  return connection instanceof ClientConnection ? connection : undefined;
}

/** A connection has closed. */
function leave(this: Socket): void {
  const connection = connectionOf(this);
  connection?.list?.remove(connection);
}

/**
 * Closes a connection that its client has reset while it is not read, because V2 takes a body slowly, or because more requests than are
 * read ahead have arrived: Node reports nothing of it by then. The end of a connection that was closed in order stands behind the unread
 * bytes, and is found with them.
 */
function closeReset({ accepted }: ClientConnection): void {
  const isRead = isReading(accepted) === true && !accepted.isPaused();
  // On Linux a connection that was reset has no peer.
  if (!isRead && hasPeer(accepted) === false) accepted.destroy();
}

/** Milliseconds to wait for a client that sends nothing more. */
const SILENCE_MS = 1000;
/** Milliseconds between two checks of a client that goes on sending. */
const RATE_CHECK_MS = 5000;
/** Milliseconds for which a client may go on sending, as in nginx. */
const LINGER_MS = 30_000;
/** Minimum bytes per second that it must send. */
const SLOWEST_RATE_BYTES = 240;

/** What comes behind the last response: it is read and dropped. */
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
    // Reading may have been paused below the stream: only pause and resume restarts it, and that takes a turn.
    socket.pause();
    socket.resume();
    setImmediate(Lingering.readAndDrop, this);
  }

  /** Goes on as long as the client sends at a fair rate. */
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

  /** The bytes after the last request are none: whoever read those before gets no more. */
  private static readAndDrop(this: void, lingering: Lingering): void {
    lingering.socket.removeAllListeners('data');
    lingering.socket.on('data', (chunk: Uint8Array) => lingering.drop(chunk.length));
  }
}
