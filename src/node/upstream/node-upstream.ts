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
  readonly connectTimeout: number;
  /** Until the first byte of the response, the wait for a connection included. */
  readonly headersTimeout: number;
  /** Between two parts of the response. */
  readonly bodyTimeout: number;
  /** Bytes of the response's header section. */
  readonly headerBytes: number;
  /** Fields of the response's header section. */
  readonly headerCount: number;
  readonly tls: Pick<ConnectionOptions, 'ca' | 'cert' | 'key'> | undefined;
  /** Resolves the origin's name, for every connection anew; the system's resolver by default. */
  readonly lookup?: LookupFunction | undefined;
}
