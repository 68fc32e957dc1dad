import { type AddressInfo, connect, Server } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { EarlyEnds } from '../../rewrite-log/metric-families.ts';
import type { ListenAddress } from '../../settings/setting-kinds.ts';
import { hasPeer, setBacklog } from '../node-internals.ts';
import type { TlsTexts } from '../tls-files.ts';

/** Turns of the event loop in which new connections may still arrive before the port is closed regardless. */
const MAX_TURNS = 200;
/** Turns after which the listen queue stays at length one: under load a longer one is never empty. */
const FULL_QUEUE_TURNS = 50;
/** Milliseconds of a turn of the event loop in which nothing happens. */
const QUIET_TURN_MS = 0.05;

/** A server whose port is to be closed. */
interface ListenQueueOptions {
  /** Connections accepted so far. */
  readonly accepted: () => number;
  /** True if nobody else listens on the port, and this is Node on a system that connects to itself at once. */
  readonly isOwn: boolean;
  /** Runs when the port and the last connection are closed. */
  readonly onClosed: () => void;
}

/**
 * Closes the port of `server` once its listen queue is empty: the kernel resets the connections in the queue of a port that
 * closes. Resolves when the port is closed.
 */
export async function closePort(server: Server, options: ListenQueueOptions): Promise<void> {
  // That of `net.Server` closes no connection. Bun's HTTP server is none; its own lets requests in flight finish.
  const closing: Pick<Server, 'close'> = server instanceof Server ? Server.prototype : server;
  const close = (): void => void closing.close.call(server, options.onClosed);
  for (let count = 0; count < MAX_TURNS && server.listening; count += 1) {
    // A process that has just slept is not likely to be suspended before it closes its port.
    await pause(1);
    const backlog = count < FULL_QUEUE_TURNS ? LISTEN_BACKLOG : 0;
    if (options.isOwn) await closeEmptyQueue(server, backlog, close);
    else if (await isTurnQuiet(options)) close();
    else setBacklog(server, backlog);
  }
  if (server.listening) close();
}

/** Resolves to true when a turn of the event loop has brought no connection and hardly taken any time. */
async function isTurnQuiet({ accepted }: ListenQueueOptions): Promise<boolean> {
  const before = accepted();
  const began = performance.now();
  await nextTurn();
  return accepted() === before && performance.now() - began < QUIET_TURN_MS;
}

/**
 * Takes the only place of a queue of length one with a connection of its own, and runs `close` in the same turn of the event loop,
 * unless somebody else had the place: then the queue gets the length `backlog` again.
 *
 *     without:  queue [ ]   last look: empty │ a client connects: [c] │ close: c is reset
 *     with:     queue [own] full             │ a client's SYN is ignored │ close: own is reset, the client asks again, and is refused
 */
function closeEmptyQueue(server: Server, backlog: number, close: () => void): Promise<void> {
  const address = server.address();
  if (address === null || typeof address === 'string') {
    close();
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const placeholder = connect({ port: address.port, host: ownHost(address.address) });
    placeholder.on('error', () => {});
    setBacklog(server, 0);
    // `connect` asks the kernel in a tick before this one; to the same machine it is connected when that returns.
    process.nextTick(() => {
      if (hasPeer(placeholder) === true) close();
      else setBacklog(server, backlog);
      placeholder.destroy();
      resolve();
    });
  });
}

/** The address at which a server bound to `host` is reached from its own machine. */
function ownHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** Connections that the kernel queues until the server accepts them. */
const LISTEN_BACKLOG = 1024;

/**
 * Binds a server, and resolves to its origin; rejects with the kernel's error when the address is not available. With `reusePort`
 * other processes may bind the same port, and the kernel spreads connections over them.
 */
export function listen(
  server: Server,
  { host, port }: ListenAddress,
  scheme: 'http' | 'https',
  reusePort = false,
): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: LISTEN_BACKLOG, reusePort }, () => {
      server.off('error', reject);
      resolve(originOf(server.address(), scheme));
    });
  });
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
  /** Makes the other processes use these certificates for new connections to V2. */
  renewUpstream?(tls: TlsTexts): void;
  /** Makes the other processes name clients by this key. */
  renewClientSecret?(secret: string): void;
  /** Makes the other processes read a file again. */
  reload?(what: ReloadedFile): void;
}
