import type { ListenAddress } from '../../settings/setting-kinds.ts';
import type { EarlyEnds } from '../../rewrite-log/metric-families.ts';
import type { TlsTexts } from '../tls-files.ts';

/** A file that every process reads again itself. */
export type ReloadedFile = 'rule-book' | 'v2-openapi';

/** Where clients connect: a server of this process, or processes that share the port. */
export interface ClientListener {
  /** True while no more requests should be sent here: it stops, or none of its processes is up. */
  readonly draining: boolean;
  /** Listens, and resolves to the origin for clients. */
  listen(address: ListenAddress): Promise<string>;
  /** Goes on accepting for the drain delay, stops, lets requests in flight finish, and closes the rest after `milliseconds`. */
  drain(milliseconds: number): Promise<void>;
  /** Closes every connection, even one with an exchange in flight. */
  cut(): void;
  /** Number of exchanges that were in flight when their connections were closed for the end of the drain time; unknown of other processes. */
  readonly unfinished?: number;
  /** Connections that ended before they had sent a request; unknown of other processes. */
  readonly earlyEnds?: EarlyEnds;
  /** Uses these certificates for new connections. */
  renew(tls: TlsTexts): void;
  /** Makes the other processes use these certificates for new connections to V2. */
  renewUpstream?(tls: TlsTexts): void;
  /** Makes the other processes name clients by this key. */
  renewClientSecret?(secret: string): void;
  /** Makes the other processes read a file again. */
  reload?(what: ReloadedFile): void;
}
