import type { LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { Upstream } from '../../gateway/upstream.ts';

/** An upstream that keeps connections. */
export interface NodeUpstream extends Upstream {
  /** Closes the connections, whatever is on them. */
  close(): Promise<void>;
}

/** How V2 is reached. Times are milliseconds. */
export interface UpstreamOptions {
  /** Scheme, host and port: the only host that is ever contacted. */
  readonly origin: string;
  /** At most so many at once, whatever is on them; a request for which there is none waits. */
  readonly connections: number;
  /** For connecting, all attempts together: a request waits for no longer until V2 can be reached. */
  readonly connectTimeout: number;
  /** Until the first byte of the response, the wait for a connection included. */
  readonly headersTimeout: number;
  /** Between two parts of the response. */
  readonly bodyTimeout: number;
  /** Bytes of the response's header section. */
  readonly headerBytes: number;
  /** Fields of the response's header section. */
  readonly headerCount: number;
  /** An idle connection is kept so long, or as long as V2 says that it keeps it. */
  readonly idleTimeout: number;
  /** From this age on a connection takes no request; 0 for any age. The name is resolved anew for the one that replaces it. */
  readonly maxAge: number;
  /** Requests that a connection takes; 0 for any number. */
  readonly maxRequests: number;
  /** Requests that wait while V2 cannot be reached, and their bytes; those beyond fail at once. */
  readonly waiting: { readonly count: number; readonly bytes: number };
  /** A Unix socket to connect to, instead of the host and port of `origin`. */
  readonly socketPath?: string | undefined;
  /** What stands in `Host`, instead of the host and port of `origin`. */
  readonly host?: string | undefined;
  /** The name that TLS asks for and checks in the certificate, instead of the host of `origin`. */
  readonly sni?: string | undefined;
  readonly tls: Pick<ConnectionOptions, 'ca' | 'cert' | 'key'> | undefined;
  /** Resolves the origin's name, for every connection anew; the system's resolver by default. */
  readonly lookup?: LookupFunction | undefined;
}
