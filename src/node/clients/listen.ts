import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, Server, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { EarlyEnds } from '../../rewrite-log/metric-families.ts';
import { EVERYWHERE, type ListenAddress } from '../../settings/setting-kinds.ts';
import { bindFault, hasPeer, setBacklog } from '../node-internals.ts';
import { IS_NODE } from '../runtime.ts';
import type { TlsTexts } from '../files.ts';

/** Turns of the event loop after which the port closes even if new connections still arrive. */
const MAX_TURNS = 200;
/** Turns after which the listen queue keeps length one: under load a longer one is never empty. */
const FULL_QUEUE_TURNS = 50;
/** Turns of the event loop in which a connection to itself is accepted, unless many others are ahead of it. */
const TURNS_TO_FIND = 20;
/** Maximum milliseconds of an idle turn of the event loop. */
const QUIET_TURN_MS = 0.05;

/** A port to be closed. */
interface ListenQueueOptions {
  /** Connections accepted so far. */
  readonly accepted: () => number;
  /** True if no other socket listens on the port, and this is Node on a system where a connection to itself succeeds at once. */
  readonly isOwn: boolean;
  /** Runs when the port and the last connection are closed. */
  readonly onClosed: () => void;
}

/**
 * Closes the port of `servers`, one after the other, each once its listen queue is empty: the kernel resets the connections in a closing
 * socket's queue. (Linux can move them to another socket of the port with `net.ipv4.tcp_migrate_req`, which is off by default, and helps
 * only while one stays.) Resolves when the port is closed.
 */
export async function closePort(servers: readonly Server[], options: ListenQueueOptions): Promise<void> {
  const open = servers.filter(({ listening }) => listening);
  let left = open.length;
  if (left === 0) options.onClosed();
  const close = (server: Server): void => {
    // `net.Server`'s `close` closes no connection, while subclasses' may. Bun's HTTP server is none; its `close` lets requests in flight finish.
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

/** Closes all servers in a turn of the event loop that brings no connection. */
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

/** Resolves to true if a turn of the event loop brings no connection and hardly takes any time. */
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
    // After a short sleep the kernel is unlikely to suspend the process before it closes its port.
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

/** A local port from which connections come to this server. */
interface QueueWay {
  readonly server: Server;
  /** Undefined if any port will do, because there is only one server. */
  readonly localPort?: number;
}

/**
 * Finds a port from which connections come to one of several servers: the kernel chooses by a hash of both addresses and the number of
 * servers, so the next connection from that port comes to the same server. Undefined if no server accepts the connection soon.
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
  // After an orderly close, the address would stay in use for a minute.
  socket.resetAndDestroy();
  return found[0];
}

/**
 * Fills a queue of length one with its own connection, and runs `close` in the same turn of the event loop. If another connection is in
 * the queue, it sets the queue's length to `backlog` again and returns false.
 *
 *     without:  queue [ ]   last check: empty │ a client connects: [c]    │ close: c is reset
 *     with:     queue [own] full              │ a client's SYN is ignored │ close: own is reset, the client tries again and is refused
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
    // `connect` calls the kernel in an earlier tick; within one machine the connection is then complete.
    process.nextTick(() => {
      const isTaken = hasPeer(placeholder) === true;
      if (isTaken) close();
      else setBacklog(server, backlog);
      placeholder.destroy();
      resolve(isTaken);
    });
  });
}

/** Returns the address at which a server bound to `host` can be reached from its own machine. */
async function ownHost(host: string): Promise<string> {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host !== '::') return host;
  // A container may have IPv6 sockets and no IPv6 address; a server on `::` then serves IPv4 alone.
  return (await isBindable('::1')) ? '::1' : '127.0.0.1';
}

/** Says why the system refuses an address to listen on; undefined for another error. */
export function listenFault(error: unknown): { readonly fault: string; readonly port?: number } | undefined {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return undefined;
  const { code, port, address = '', hostname = '' }: Error & ListenError = error;
  const host = address.includes(':') ? `[${address}]` : address;
  const where = `${host}:${port ?? ''}`;
  const known = port === undefined ? {} : { port };
  switch (code) {
    case 'EADDRINUSE':
      return { ...known, fault: `${where} is in use by another program (EADDRINUSE)` };
    case 'EADDRNOTAVAIL':
      return { ...known, fault: `${host} is no address of this machine (EADDRNOTAVAIL)` };
    case 'EACCES':
      return { ...known, fault: `this user may not listen on ${where} (EACCES)` };
    case 'ENOTFOUND':
      return { fault: `the host ${hostname} is unknown (ENOTFOUND)` };
    default:
      return { ...known, fault: error.message };
  }
}

/** What Node adds to an error of a listening socket. */
interface ListenError {
  readonly code?: unknown;
  readonly port?: number;
  readonly address?: string;
  readonly hostname?: string;
}

/** Returns the host to bind: for "everywhere" both families on one socket, or IPv4 if the kernel has no IPv6. */
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
 * Listening sockets for one port in one process. libuv accepts one connection from each in a turn of the event loop, and a turn under
 * load takes milliseconds, so with one socket hundreds of 1,000 clients that come at once wait for seconds. With more than eight, the new
 * connections of one turn take too much time from the others (`npm run bench -- clients --row burst`).
 */
export const ACCEPT_QUEUES = process.platform === 'linux' && IS_NODE ? 8 : 1;

/**
 * Binds a server, and resolves to its origin; rejects with the kernel's error if the address is not available. With `reusePort`
 * other sockets may bind the same port, and the kernel spreads connections over them.
 */
export async function listen(
  server: Server,
  { host: given, port }: ListenAddress,
  scheme: 'http' | 'https',
  reusePort = false,
): Promise<string> {
  const host = await boundHost(given);
  await once(server.listen({ host, port, backlog: LISTEN_BACKLOG, reusePort }), 'listening');
  return originOf(server.address(), scheme);
}

/**
 * Binds several servers to one port, and resolves to their origin. It rejects if another program listens on the port, unless `isShared`
 * says that other processes of this gateway do. If the kernel cannot have several sockets, the first server listens alone.
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
    // Rejects with the kernel's own error, or succeeds if only the option failed.
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
 * Runs `bind`, which binds with `SO_REUSEPORT`, if no program listens on the port; rejects otherwise. With that option a socket could
 * share the port with another program of the same user, such as a second gateway started by mistake. So a socket without the option tries
 * the port first; it never listens, and no client is lost with it. Two gateways that start at once would both find the port free, so they
 * take turns: a name in Linux's abstract namespace has one owner in the network namespace, and disappears with its process.
 */
async function bindFree<Result>(address: ListenAddress, bind: () => Promise<Result>): Promise<Result> {
  const turn = createServer();
  for (let tries = 0; tries < TAKES; tries += 1) {
    const isMine = await once(turn.listen(`\0capture-gateway:${address.port}`), 'listening').then(
      () => true,
      () => false,
    );
    if (isMine) break;
    // After a second, start anyway: a program that holds the name must not be able to prevent that.
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

/** Rejects with the kernel's error if a program listens on an address, which worker processes that share it would not notice. */
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

/** A file that every process reads itself. */
export type ReloadedFile = 'rule-book' | 'v2-openapi';

/** Where clients connect: a server of this process, or processes that share the port. */
export interface ClientListener {
  /** True while no more requests should be sent here, because it stops or none of its processes is up. */
  readonly draining: boolean;
  /** Listens, and resolves to the origin for clients. */
  listen(address: ListenAddress): Promise<string>;
  /** Accepts connections for the drain delay, then stops, and closes requests still in flight after `milliseconds`. */
  drain(milliseconds: number): Promise<void>;
  /** Closes every connection, even one with an exchange in flight. */
  destroyAll(): void;
  /** Number of exchanges cut off at the end of the drain time; unknown for other processes. */
  readonly unfinished?: number;
  /** Connections that ended before a request; unknown for other processes. */
  readonly earlyEnds?: EarlyEnds;
  /** Uses these certificates for new connections. */
  renew(tls: TlsTexts): void;
  /** Encrypts TLS session tickets with these keys, which all processes of the port share. */
  useTicketKeys?(keys: Uint8Array): void;
  /** Makes the other processes use these certificates for new connections to V2. */
  renewUpstream?(tls: TlsTexts): void;
  /** Makes the other processes hash API keys with this secret. */
  renewClientSecret?(secret: string): void;
  /** Makes the other processes read a file again. */
  reload?(what: ReloadedFile): void;
}
