import { lookup } from 'node:dns/promises';
import { type AddressInfo, connect, createServer, Server, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { EarlyEnds } from '../../rewrite-log/metric-families.ts';
import { EVERYWHERE, type ListenAddress } from '../../settings/setting-kinds.ts';
import { bindFault, hasPeer, setBacklog } from '../node-internals.ts';
import { IS_NODE } from '../runtime.ts';
import type { TlsTexts } from '../files.ts';

/** Turns of the event loop in which new connections may still arrive before the port is closed regardless. */
const MAX_TURNS = 200;
/** Turns after which the listen queue stays at length one: under load a longer one is never empty. */
const FULL_QUEUE_TURNS = 50;
/** Turns of the event loop in which a connection to itself is accepted, unless many others stand in the queue before it. */
const TURNS_TO_FIND = 20;
/** Milliseconds of a turn of the event loop in which nothing happens. */
const QUIET_TURN_MS = 0.05;

/** A port that is to be closed. */
interface ListenQueueOptions {
  /** Connections accepted so far. */
  readonly accepted: () => number;
  /** True if nobody else listens on the port, and this is Node on a system that connects to itself at once. */
  readonly isOwn: boolean;
  /** Runs when the port and the last connection are closed. */
  readonly onClosed: () => void;
}

/**
 * Closes the port of `servers`, one after the other, each once its listen queue is empty: the kernel resets the connections in the queue of
 * a socket that closes. (Linux can move them to another socket of the port: `net.ipv4.tcp_migrate_req`, which is off by default, and helps
 * only while one stays.) Resolves when the port is closed.
 */
export async function closePort(servers: readonly Server[], options: ListenQueueOptions): Promise<void> {
  const open = servers.filter(({ listening }) => listening);
  let left = open.length;
  if (left === 0) options.onClosed();
  const close = (server: Server): void => {
    // That of `net.Server` closes no connection. Bun's HTTP server is none; its own lets requests in flight finish.
    const closing: Pick<Server, 'close'> = server instanceof Server ? Server.prototype : server;
    closing.close.call(server, () => {
      left -= 1;
      if (left === 0) options.onClosed();
    });
  };
  if (!options.isOwn) await closeInQuietTurn(open, options, close);
  while (open.some(({ listening }) => listening))
    await closeOne(
      open.filter(({ listening }) => listening),
      close,
    );
}

/** Closes all in a turn of the event loop that brings no connection. */
async function closeInQuietTurn(
  servers: readonly Server[],
  { accepted }: ListenQueueOptions,
  close: (server: Server) => void,
): Promise<void> {
  for (let count = 0; count < MAX_TURNS; count += 1) {
    await pause(1);
    if (await isTurnQuiet(accepted)) break;
    for (const server of servers) setBacklog(server, count < FULL_QUEUE_TURNS ? LISTEN_BACKLOG : 0);
  }
  for (const server of servers) close(server);
}

/** Resolves to true when a turn of the event loop has brought no connection and hardly taken any time. */
async function isTurnQuiet(accepted: () => number): Promise<boolean> {
  const before = accepted();
  const began = performance.now();
  await nextTurn();
  return accepted() === before && performance.now() - began < QUIET_TURN_MS;
}

/** Closes one of the servers that listen on a port. */
async function closeOne(servers: readonly Server[], close: (server: Server) => void): Promise<void> {
  const address = servers[0]?.address();
  const host = typeof address === 'object' && address !== null ? await ownHost(address.address) : '';
  for (let count = 0; count < MAX_TURNS; count += 1) {
    // A process that has just slept is not likely to be suspended before it closes its port.
    await pause(1);
    const way = await wayInto(servers, host);
    if (way === undefined) continue;
    const { server, localPort } = way;
    const isClosed = await closeEmptyQueue(
      server,
      host,
      count < FULL_QUEUE_TURNS ? LISTEN_BACKLOG : 0,
      () => close(server),
      localPort,
    );
    if (isClosed) return;
  }
  for (const server of servers.slice(0, 1)) close(server);
}

/** A connection to itself from this port stands in the queue of this server. */
interface QueueWay {
  readonly server: Server;
  /** Any port, where there is one server only. */
  readonly localPort?: number;
}

/**
 * Finds a port from which connections come to one of several servers: the kernel chooses by a hash of both addresses and the number of
 * servers, so the next one from the same port comes to the same. Undefined when none accepts the connection soon.
 */
async function wayInto(servers: readonly Server[], host: string): Promise<QueueWay | undefined> {
  const [first] = servers;
  if (first === undefined || servers.length === 1) return first && { server: first };
  const address = first.address();
  if (address === null || typeof address === 'string') return { server: first };
  const socket = connect({ port: address.port, host }).on('error', () => {});
  const found: QueueWay[] = [];
  const stops = servers.map((server) => {
    const onConnection = ({ remotePort }: Socket): void => {
      if (remotePort !== undefined && remotePort === socket.localPort)
        found.push({ server, localPort: remotePort });
    };
    server.on('connection', onConnection);
    return () => server.off('connection', onConnection);
  });
  for (let count = 0; found.length === 0 && count < TURNS_TO_FIND; count += 1) await nextTurn();
  for (const stop of stops) stop();
  // In order, the addresses would stay in use for a minute.
  socket.resetAndDestroy();
  return found[0];
}

/**
 * Takes the only place of a queue of length one with a connection of its own, and runs `close` in the same turn of the event loop,
 * unless somebody else had the place: then the queue gets the length `backlog` again, and the result is false.
 *
 *     without:  queue [ ]   last look: empty │ a client connects: [c] │ close: c is reset
 *     with:     queue [own] full             │ a client's SYN is ignored │ close: own is reset, the client asks again, and is refused
 */
function closeEmptyQueue(
  server: Server,
  host: string,
  backlog: number,
  close: () => void,
  localPort?: number,
): Promise<boolean> {
  const address = server.address();
  if (address === null || typeof address === 'string') {
    close();
    return Promise.resolve(true);
  }
  return new Promise((resolve) => {
    const placeholder = connect({ port: address.port, host, localPort });
    placeholder.on('error', () => {});
    setBacklog(server, 0);
    // `connect` asks the kernel in a tick before this one; to the same machine it is connected when that returns.
    process.nextTick(() => {
      const isTaken = hasPeer(placeholder) === true;
      if (isTaken) close();
      else setBacklog(server, backlog);
      placeholder.destroy();
      resolve(isTaken);
    });
  });
}

/** The address at which a server bound to `host` is reached from its own machine. */
async function ownHost(host: string): Promise<string> {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host !== '::') return host;
  // A container may have the sockets of IPv6 and no address of it; one of `::` then serves IPv4 alone.
  return (await isBindable('::1')) ? '::1' : '127.0.0.1';
}

/** The host to bind: everywhere is both families on one socket, and IPv4 where the kernel has no other. */
export async function boundHost(host: string): Promise<string> {
  if (host !== EVERYWHERE) return host;
  return (await isBindable('::')) ? '::' : '0.0.0.0';
}

function isBindable(host: string): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server
      .once('error', () => resolve(false))
      .listen({ host, port: 0 }, () => server.close(() => resolve(true)));
  });
}

/** Connections that the kernel queues until the server accepts them. */
const LISTEN_BACKLOG = 1024;

/**
 * Listening sockets of one port in one process. libuv accepts one connection from each in a turn of the event loop, and a turn under load
 * takes milliseconds: of 1,000 clients that come at once, one socket leaves hundreds unserved for seconds. More than eight bring more new
 * connections into one turn than leave others their share of it (`npm run bench -- clients --row burst`).
 */
export const ACCEPT_QUEUES = process.platform === 'linux' && IS_NODE ? 8 : 1;

/**
 * Binds a server, and resolves to its origin; rejects with the kernel's error when the address is not available. With `reusePort`
 * other sockets may bind the same port, and the kernel spreads connections over them.
 */
export async function listen(
  server: Server,
  { host: given, port }: ListenAddress,
  scheme: 'http' | 'https',
  reusePort = false,
): Promise<string> {
  const host = await boundHost(given);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: LISTEN_BACKLOG, reusePort }, () => {
      server.off('error', reject);
      resolve(originOf(server.address(), scheme));
    });
  });
}

/**
 * Binds several servers to one port, and resolves to their origin. A port that somebody else listens on is an error, unless `isShared`
 * says that other processes of this gateway do. Where the kernel cannot have several sockets, the first server listens alone.
 */
export async function listenTogether(
  servers: readonly [Server, ...Server[]],
  address: ListenAddress,
  scheme: 'http' | 'https',
  isShared: boolean,
): Promise<string> {
  const [first, ...others] = servers;
  if (others.length === 0) return listen(first, address, scheme, isShared);
  // A name may have several addresses, and all servers need the same one.
  const host = (await lookup(await boundHost(address.host))).address;
  const together = { host, port: address.port };
  const bind = (): Promise<string> => listen(first, together, scheme, true);
  const origin = await (isShared || address.port === 0 ? bind() : bindFree(together, bind)).catch(() =>
    // Says in the kernel's words what is wrong, or works where only the option does not.
    listen(first, address, scheme),
  );
  const port = Number(new URL(origin).port || (scheme === 'https' ? 443 : 80));
  await Promise.allSettled(others.map((server) => listen(server, { host, port }, scheme, true)));
  return origin;
}

/** Milliseconds between two tries to be the only process that takes a port, and the number of tries. */
const TAKE_AGAIN_MS = 5;
const TAKES = 200;

/**
 * Runs `bind`, which binds with `SO_REUSEPORT`, if nobody listens on the port; rejects otherwise. Such a socket binds a port that another
 * program of the same user has bound the same way, a second gateway by mistake for one: a socket without the option tells, and is bound for
 * that and never listens, so no client is lost with it. Two gateways that start at once would both find the port free, so they take turns:
 * a name in the abstract namespace of Linux has one owner in the network namespace, and goes with its process.
 */
async function bindFree<Result>(address: ListenAddress, bind: () => Promise<Result>): Promise<Result> {
  const turn = createServer();
  for (let tries = 0; tries < TAKES; tries += 1) {
    const isMine = await new Promise<boolean>((resolve) => {
      turn
        .once('error', () => resolve(false))
        .listen(`\0capture-gateway:${address.port}`, () => resolve(true));
    });
    if (isMine) break;
    // After a second somebody else uses the name: nobody may keep a gateway from starting with that.
    await pause(TAKE_AGAIN_MS);
  }
  try {
    const fault = bindFault(address.host, address.port);
    if (fault !== undefined) throw new Error(fault);
    return await bind();
  } finally {
    turn.close();
  }
}

/** Rejects with the kernel's error when somebody listens on an address; with that none of several processes would notice it. */
export async function requireFree(address: ListenAddress): Promise<void> {
  if (ACCEPT_QUEUES === 1 || address.port === 0) return;
  const { address: host } = await lookup(await boundHost(address.host));
  if (bindFault(host, address.port) === undefined) return;
  const server = createServer();
  await listen(server, address, 'http');
  server.close();
}

function originOf(bound: AddressInfo | string | null, scheme: string): string {
  if (bound === null || typeof bound === 'string') return '';
  return `${scheme}://${bound.address.includes(':') ? `[${bound.address}]` : bound.address}:${bound.port}`;
}

/** A file that every process reads again itself. */
export type ReloadedFile = 'rule-book' | 'v2-openapi';

/** Where clients connect: a server of this process, or processes that share the port. */
export interface ClientListener {
  /** True while no more requests should be sent here: it stops, or none of its processes is up. */
  readonly draining: boolean;
  /** Listens, and resolves to the origin for clients. */
  listen(address: ListenAddress): Promise<string>;
  /** Goes on accepting for the drain delay, stops, lets requests in flight finish, and closes the rest after `milliseconds`. */
  drain(milliseconds: number): Promise<void>;
  /** Closes every connection, even one with an exchange in flight. */
  destroyAll(): void;
  /** Number of exchanges that were in flight when their connections were closed for the end of the drain time; unknown of other processes. */
  readonly unfinished?: number;
  /** Connections that ended before they had sent a request; unknown of other processes. */
  readonly earlyEnds?: EarlyEnds;
  /** Uses these certificates for new connections. */
  renew(tls: TlsTexts): void;
  /** Writes and reads the tickets of TLS sessions with these keys, which all processes of the port have. */
  useTicketKeys?(keys: Uint8Array): void;
  /** Makes the other processes use these certificates for new connections to V2. */
  renewUpstream?(tls: TlsTexts): void;
  /** Makes the other processes name clients by this key. */
  renewClientSecret?(secret: string): void;
  /** Makes the other processes read a file again. */
  reload?(what: ReloadedFile): void;
}
