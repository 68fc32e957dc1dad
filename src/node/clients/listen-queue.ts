import { connect, Server } from 'node:net';
import { LISTEN_BACKLOG } from '../listen.ts';

/** Turns of the event loop in which new connections may still arrive before the port is closed regardless. */
const MAX_TURNS = 200;
/** Milliseconds of a turn of the event loop in which nothing happens. */
const QUIET_TURN_MS = 0.05;

/** A server whose port is to be closed. */
export interface ListenQueueOptions {
  /** Connections accepted so far. */
  readonly accepted: () => number;
  /** True if nobody else listens on the port, and this is Node on a system that connects to itself at once. */
  readonly isOwn: boolean;
  /** Runs when the port and the last connection are closed. */
  readonly onClosed: () => void;
}

/** The object below Node's server: only it can change the length of the queue of a server that listens. */
interface ListeningHandle {
  listen(backlog: number): number;
}

/** The object below Node's socket: only it can tell at once whether the system has connected it. */
interface ConnectingHandle {
  getpeername(into: object): number;
}

/**
 * Closes the port of `server` once its listen queue is empty: the system resets the connections in the queue of a port that
 * closes. Resolves when the port is closed.
 */
export async function closePort(server: Server, options: ListenQueueOptions): Promise<void> {
  // That of `net.Server` closes no connection. Bun's HTTP server is none; its own lets requests in flight finish.
  const closing: Pick<Server, 'close'> = server instanceof Server ? Server.prototype : server;
  const close = (): void => void closing.close.call(server, options.onClosed);
  for (let count = 0; count < MAX_TURNS && server.listening; count += 1) {
    // A process that has just slept is not likely to be suspended before it closes its port.
    await pause(1);
    if (options.isOwn) await closeEmptyQueue(server, close);
    else if (await isTurnQuiet(options)) close();
  }
  if (server.listening) close();
}

/** Resolves to true when a turn of the event loop has brought no connection and hardly taken any time. */
async function isTurnQuiet({ accepted }: ListenQueueOptions): Promise<boolean> {
  const before = accepted();
  const began = performance.now();
  await turn();
  return accepted() === before && performance.now() - began < QUIET_TURN_MS;
}

/**
 * Takes the only place of a queue of length one with a connection of its own, and runs `close` in the same turn of the event loop,
 * unless somebody else had the place. Without this a connection can arrive between the last look at the queue and the close. With
 * it the system ignores what arrives: that client asks again a second later, and is refused.
 */
function closeEmptyQueue(server: Server, close: () => void): Promise<void> {
  const handle: unknown = Reflect.get(server, '_handle');
  const address = server.address();
  if (!listens(handle) || address === null || typeof address === 'string') {
    close();
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const placeholder = connect({ port: address.port, host: ownHost(address.address) });
    placeholder.on('error', () => {});
    handle.listen(0);
    // `connect` asks the system in a tick before this one; to the same machine it is connected when that returns.
    process.nextTick(() => {
      if (isConnected(Reflect.get(placeholder, '_handle'))) close();
      else handle.listen(LISTEN_BACKLOG);
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

function listens(handle: unknown): handle is ListeningHandle {
  return typeof handle === 'object' && handle !== null && 'listen' in handle;
}

function isConnected(handle: unknown): boolean {
  return connects(handle) && handle.getpeername({}) === 0;
}

function connects(handle: unknown): handle is ConnectingHandle {
  return typeof handle === 'object' && handle !== null && 'getpeername' in handle;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}

function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
