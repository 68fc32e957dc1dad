import type { Socket } from 'node:net';

/** How a server tells which of its connections may close for a new one. */
export interface ConnectionLimitOwner {
  /** Closes a connection whose last response is written; false where there is none. */
  closeLingering(): boolean;
  /** True for a connection that is idle, or has received only part of a request head or TLS handshake. */
  isExpendable(socket: Socket): boolean;
}

/** Connections that are checked for each new one, at least; a flood of those pays for no more once the checks of its time are used up. */
const MIN_CHECKS = 64;
/** Checks of all new connections in a stretch of time, each of which takes up to a microsecond. */
const CHECKS = 20_000;
const STRETCH_MS = 100;

/**
 * Limits the number of client connections: at the limit, one that lingers is closed for a new one, or the oldest with nothing in
 * flight.
 */
export class ConnectionLimit {
  readonly sockets = new Set<Socket>();
  /** Connections accepted so far. */
  accepted = 0;
  private readonly limit: number;
  private readonly owner: ConnectionLimitOwner;
  private stretchSince = Number.NEGATIVE_INFINITY;
  private checks = 0;

  constructor(limit: number, owner: ConnectionLimitOwner) {
    this.limit = limit;
    this.owner = owner;
  }

  /** Admits a new connection, or closes it when all others are busy. */
  add(socket: Socket): void {
    this.accepted += 1;
    if (this.sockets.size >= this.limit && !this.makeRoom()) {
      socket.destroy();
      return;
    }
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
  }

  private makeRoom(): boolean {
    if (this.owner.closeLingering()) return true;
    let left = Math.min(this.sockets.size, Math.max(MIN_CHECKS, CHECKS - this.checksUsed()));
    for (const socket of this.sockets) {
      if (left === 0) return false;
      left -= 1;
      this.checks += 1;
      this.sockets.delete(socket);
      if (this.owner.isExpendable(socket)) {
        socket.destroy();
        return true;
      }
      // A busy connection moves to the back, to be checked after all others.
      this.sockets.add(socket);
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
}
