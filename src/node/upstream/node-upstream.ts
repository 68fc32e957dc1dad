import type { LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { Upstream } from '../../gateway/upstream.ts';

/** An upstream that keeps connections alive. */
export interface NodeUpstream extends Upstream {
  /** Uses these certificates for new connections; without effect where the origin is reached without TLS. */
  renew(tls: UpstreamOptions['tls']): void;
  /** Closes the connections, even ones with a request in flight. */
  close(): Promise<void>;
}

/** How V2 is reached. Times are milliseconds. */
export interface UpstreamOptions {
  /** Scheme, host and port: the only host that is ever contacted. */
  readonly origin: string;
  /** Maximum number of connections, busy or idle; a request without one waits. */
  readonly connections: number;
  /** Maximum time to connect, all attempts together, and maximum wait of a request until V2 can be reached. */
  readonly connectTimeout: number;
  /** Maximum time to the first byte of the response, including the wait for a connection. */
  readonly headersTimeout: number;
  /** Maximum time between two parts of the response. */
  readonly bodyTimeout: number;
  /** Maximum size of the response's header section in bytes. */
  readonly headerBytes: number;
  /** Maximum number of fields in the response's header section. */
  readonly headerCount: number;
  /** Maximum idle time of a connection, unless V2 announces a shorter one. */
  readonly idleTimeout: number;
  /**
   * Age from which a connection takes no more requests; 0 for no limit. The name is resolved again for the connection that
   * replaces it.
   */
  readonly maxAge: number;
  /** Maximum number of requests on a connection; 0 for no limit. */
  readonly maxRequests: number;
  /** Maximum number of requests queued while V2 cannot be reached, and their bytes; those beyond fail at once. */
  readonly waiting: { readonly count: number; readonly bytes: number };
  /** A Unix socket to connect to, instead of the host and port of `origin`. */
  readonly socketPath?: string | undefined;
  /** The value of `Host`, instead of the host and port of `origin`. */
  readonly host?: string | undefined;
  /** The server name that TLS sends and checks in the certificate, instead of the host of `origin`. */
  readonly sni?: string | undefined;
  readonly tls: Pick<ConnectionOptions, 'ca' | 'cert' | 'key'> | undefined;
  /** Resolves the origin's name, again for every connection; the system's resolver by default. */
  readonly lookup?: LookupFunction | undefined;
}
