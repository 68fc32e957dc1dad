import type { AddressInfo, Server } from 'node:net';
import type { ListenAddress } from '../gateway/setting-kinds.ts';

/** Binds a server, and resolves to its origin; rejects with the system's error when the address cannot be had. */
export function listen(
  server: Server,
  { host, port }: ListenAddress,
  scheme: 'http' | 'https',
): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off('error', reject);
      resolve(originOf(server.address(), scheme));
    });
  });
}

function originOf(bound: AddressInfo | string | null, scheme: string): string {
  if (bound === null || typeof bound === 'string') return '';
  return `${scheme}://${bound.address.includes(':') ? `[${bound.address}]` : bound.address}:${bound.port}`;
}
