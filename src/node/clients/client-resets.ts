import type { Socket } from 'node:net';
import { hasPeer, isReading } from '../node-internals.ts';

/** Milliseconds between two checks. */
const CHECK_MS = 1000;

/**
 * Closes connections that their clients reset while they are not read, because V2 takes a body slowly, or because more requests than
 * are read ahead have arrived: Node reports nothing of them by then. The end of a connection that was closed in order stands behind
 * the unread bytes, and is found with them.
 */
export class ClientResets {
  private readonly sockets: ReadonlySet<Socket>;
  private timer: NodeJS.Timeout | undefined = undefined;

  /** `sockets` are all connections with clients. */
  constructor(sockets: ReadonlySet<Socket>) {
    this.sockets = sockets;
  }

  /** Checks all connections now and then, as long as there are any. */
  watch(): void {
    this.timer ??= setInterval(check, CHECK_MS, this).unref();
  }

  /** Closes those that are reset. */
  check(): void {
    for (const socket of this.sockets) if (isReset(socket)) socket.destroy();
    if (this.sockets.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}

/** True where the system says so of a connection that is not read: on Linux, one that was reset has no peer. */
function isReset(socket: Socket): boolean {
  const isRead = isReading(socket) === true && !socket.isPaused();
  return !isRead && hasPeer(socket) === false;
}

function check(resets: ClientResets): void {
  resets.check();
}
