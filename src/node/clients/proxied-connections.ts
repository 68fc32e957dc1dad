import type { Server, Socket } from 'node:net';
import { type AddressRange, isWithin } from '../../http/forwarding.ts';
import { afterReads } from '../after-reads.ts';
import { type Peer, peerName } from './busy-peers.ts';
import { readProxyHeader } from './proxy-header.ts';

/** Why a connection has no PROXY header. */
export type ProxyHeaderFault = 'malformed' | 'timeout' | 'closed';

/** How PROXY protocol headers are read. */
export interface ProxiedConnectionsOptions {
  /** Peers whose connections begin with a header; those of others never do. */
  readonly trustedProxies: readonly AddressRange[];
  /** Maximum time in milliseconds to receive the header; 0 is no limit. */
  readonly headersTimeout: number;
  /** Called when a connection is closed because it does not begin with a header; one that ends without a byte was only a check of the port. */
  readonly onFault: (reason: ProxyHeaderFault) => void;
}

/**
 * Reads the PROXY protocol header before the client's bytes, where a load balancer works at the level of TCP. Only a trusted peer
 * may name its client, and it must: the gateway never guesses whether a header is present.
 */
export class ProxiedConnections {
  private readonly options: ProxiedConnectionsOptions;
  /** The addresses of clients, by the names of the load balancers' connections. */
  private readonly addresses = new Map<string, { readonly address: string }>();

  constructor(options: ProxiedConnectionsOptions) {
    this.options = options;
  }

  /** Emits a server's connections only once their headers are read, and with only the bytes after the header. */
  readBefore(server: Server): void {
    const served = server.listeners('connection');
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      const serve = (): void => {
        for (const listener of served) listener.call(server, socket);
      };
      if (isWithin(socket.remoteAddress ?? '', this.options.trustedProxies)) this.read(socket, serve);
      else serve();
    });
  }

  /** The address of the client on a connection: the one that a load balancer supplied, or the peer's own. */
  addressOf(peer: Peer): string {
    return this.addresses.get(peerName(peer))?.address ?? peer.remoteAddress ?? '';
  }

  private read(socket: Socket, serve: () => void): void {
    const { headersTimeout, onFault } = this.options;
    let isRead = false;
    const expire = (): void => {
      if (isRead) return;
      isRead = true;
      onFault('timeout');
      socket.destroy();
    };
    // After the process stood still, what came in time is read first.
    const timer = headersTimeout > 0 ? setTimeout(() => afterReads(expire), headersTimeout) : undefined;
    let received: Buffer | undefined;
    const close = (): void => {
      clearTimeout(timer);
      if (!isRead && received !== undefined) onFault('closed');
    };
    const malformed = (): void => {
      isRead = true;
      onFault('malformed');
      socket.on('error', ignore);
      socket.destroy();
    };
    // The server keeps a connection whose client has closed its side: nobody else would close it.
    const end = (): void => {
      if (received === undefined) socket.destroy();
      else malformed();
    };
    const take = (chunk: Buffer): void => {
      received = received === undefined ? chunk : Buffer.concat([received, chunk]);
      const header = readProxyHeader(received);
      if (header === 'partial') return;
      isRead = true;
      clearTimeout(timer);
      socket.off('data', take);
      socket.off('end', end);
      socket.off('error', ignore);
      if (header === 'malformed') {
        malformed();
        return;
      }
      if (header.address !== undefined) this.remember(socket, header.address);
      socket.pause();
      if (received.length > header.end) socket.unshift(received.subarray(header.end));
      serve();
      // A reader of the socket itself waits for this; TLS reads below it.
      if (socket.listenerCount('data') > 0) socket.resume();
    };
    socket.on('data', take);
    socket.on('end', end);
    socket.on('error', ignore);
    socket.on('close', close);
  }

  private remember(socket: Socket, address: string): void {
    const name = peerName(socket);
    const client = { address };
    this.addresses.set(name, client);
    // The next connection may come from the same port, before this one reports its end.
    socket.on('close', () => this.addresses.get(name) === client && this.addresses.delete(name));
  }
}

/** An error closes the connection, and `close` is reported. */
function ignore(): void {}
