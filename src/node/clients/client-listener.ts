import type { ListenAddress } from '../../settings/setting-kinds.ts';
import type { TlsTexts } from '../tls-files.ts';

/** Where clients connect: a server of this process, or processes that share the port. */
export interface ClientListener {
  /** True while no more requests are to be sent here: it stops, or none of its processes is up. */
  readonly draining: boolean;
  /** Listens, and resolves to the origin for clients. */
  listen(address: ListenAddress): Promise<string>;
  /** Goes on accepting for the drain delay, stops, lets what is in flight end, and cuts what is left after `milliseconds`. */
  drain(milliseconds: number): Promise<void>;
  /** Cuts every connection, whatever is on it. */
  cut(): void;
  /** Connections are made with these certificates from now on. */
  renew(tls: TlsTexts): void;
  /** Has whoever serves elsewhere read rule book and certificates, too. */
  reload?(): void;
}
