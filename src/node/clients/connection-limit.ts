import type { Socket } from 'node:net';

/** Connections that are looked at for one that can go, before a new one is turned away. */
const MOST_LOOKS = 64;

/** Holds the connections of clients to a number: beyond it, one on which nothing is under way makes room, the oldest first. */
export class ConnectionLimit {
  readonly sockets = new Set<Socket>();
  /** Connections that came so far. */
  accepted = 0;
  private readonly limit: number;
  private readonly isExpendable: (socket: Socket) => boolean;

  /** `isExpendable` is true for a connection that is idle, or has brought half a head or half a handshake. */
  constructor(limit: number, isExpendable: (socket: Socket) => boolean) {
    this.limit = limit;
    this.isExpendable = isExpendable;
  }

  /** Takes a new connection in, or closes it when all others are busy. */
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
    let looks = 0;
    for (const socket of this.sockets) {
      this.sockets.delete(socket);
      if (this.isExpendable(socket)) {
        socket.destroy();
        return true;
      }
      // A busy one is looked at again when all others were.
      this.sockets.add(socket);
      looks += 1;
      if (looks === MOST_LOOKS) return false;
    }
    return false;
  }
}
