import type { Socket } from 'node:net';

/** Connections checked for one to close before a new one is rejected. */
const MAX_CHECKS = 64;

/**
 * Limits the number of client connections: at the limit, the oldest connection with nothing in flight is closed for a new one.
 */
export class ConnectionLimit {
  readonly sockets = new Set<Socket>();
  /** Connections accepted so far. */
  accepted = 0;
  private readonly limit: number;
  private readonly isExpendable: (socket: Socket) => boolean;

  /** `isExpendable` is true for a connection that is idle, or has received only part of a request head or TLS handshake. */
  constructor(limit: number, isExpendable: (socket: Socket) => boolean) {
    this.limit = limit;
    this.isExpendable = isExpendable;
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
    let checks = 0;
    for (const socket of this.sockets) {
      this.sockets.delete(socket);
      if (this.isExpendable(socket)) {
        socket.destroy();
        return true;
      }
      // A busy connection moves to the back, to be checked after all others.
      this.sockets.add(socket);
      checks += 1;
      if (checks === MAX_CHECKS) return false;
    }
    return false;
  }
}
