import type { AddressInfo, Server } from 'node:net';
import type { ListenAddress } from '../settings/setting-kinds.ts';

/** Connections that the system queues until the server accepts them. */
export const LISTEN_BACKLOG = 1024;

/**
 * Binds a server, and resolves to its origin; rejects with the system's error when the address is not available. With `reusePort`
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
