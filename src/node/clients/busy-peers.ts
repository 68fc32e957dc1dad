import type { EventEmitter } from 'node:events';

/** The remote end of a connection, on the socket and on the TLS that runs over it. */
export interface Peer {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

/** Counts the exchanges on connections that Node reads: over TLS, its requests do not expose the accepted socket. */
export class BusyPeers {
  private readonly counts = new Map<string, number>();

  /** Counts an exchange until its response or its stream closes. */
  begin(peer: Peer, end: EventEmitter): void {
    const name = peerName(peer);
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    end.once('close', () => {
      const left = (this.counts.get(name) ?? 0) - 1;
      if (left > 0) this.counts.set(name, left);
      else this.counts.delete(name);
    });
  }

  /** True while an exchange is in flight. */
  has(peer: Peer): boolean {
    return this.counts.has(peerName(peer));
  }
}

/** The name of a connection, unique while it is open. */
export function peerName({ remoteAddress, remotePort }: Peer): string {
  return `${remoteAddress} ${remotePort}`;
}
