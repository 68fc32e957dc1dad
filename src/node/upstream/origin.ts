import { lookup as systemLookup } from 'node:dns';
import {
  type IpcSocketConnectOpts,
  isIP,
  type LookupFunction,
  type OnReadOpts,
  Socket,
  type TcpSocketConnectOpts,
} from 'node:net';
import { connect as connectSecurely, type ConnectionOptions, createSecureContext } from 'node:tls';
import type { Upstream } from '../../gateway/upstream.ts';
import { readOnceMore } from '../node-internals.ts';

/** The target of connections, computed once. */
export class Origin {
  readonly options: UpstreamOptions;
  readonly isSecure: boolean;
  readonly addresses: Addresses;
  /** The value of `Host` sent to V2. */
  readonly host: string;
  private readonly hostname: string;
  private readonly target: TcpSocketConnectOpts | IpcSocketConnectOpts;
  private secure: ConnectionOptions;
  /** The TLS session that the next handshake resumes (RFC 8446 §2.2). */
  private session: Buffer | undefined = undefined;

  constructor(options: UpstreamOptions) {
    const { protocol, host, hostname, port } = new URL(options.origin);
    const { lookup, tls, socketPath, sni } = options;
    this.options = options;
    this.isSecure = protocol === 'https:';
    this.addresses = new Addresses(lookup);
    this.host = options.host ?? host;
    // `URL` keeps an IPv6 address's brackets (RFC 3986 §3.2.2), which resolvers reject.
    this.hostname = hostname.replace(/^\[|\]$/g, '');
    const defaultPort = this.isSecure ? 443 : 80;
    this.target =
      socketPath === undefined
        ? { host: this.hostname, port: port === '' ? defaultPort : Number(port) }
        : { path: socketPath };
    // An IP address is not a server name (RFC 6066 §3).
    const servername = sni ?? (isIP(this.hostname) === 0 ? this.hostname : undefined);
    this.secure = this.isSecure
      ? {
          secureContext: createSecureContext(tls),
          // So that a server with HTTP/2 does not have to guess the protocol (RFC 7301 §3.1).
          ALPNProtocols: ['http/1.1'],
          ...(servername !== undefined && { servername }),
        }
      : {};
  }

  /** Uses these certificates for new connections. Drops the session, because resuming it would check no certificate. */
  renew(tls: UpstreamOptions['tls']): void {
    if (!this.isSecure) return;
    this.secure = { ...this.secure, secureContext: createSecureContext(tls) };
    this.session = undefined;
  }

  /** Maximum milliseconds for one attempt, so that all addresses fit into the connect timeout; 0 is no limit. */
  get attemptTimeout(): number {
    return this.options.connectTimeout / this.addresses.count;
  }

  /** Connects to the next address; calls `onAddress` with it if a name is resolved. */
  connect(onread?: OnReadOpts, onAddress?: (address: Address) => void): Socket {
    let taken: Address | undefined;
    const lookup: LookupFunction = (hostname, { all }, done) => {
      this.addresses.next(hostname, (error, address) => {
        if (error !== null || address === undefined) {
          done(error ?? new Error('no address'), []);
          return;
        }
        taken = address;
        onAddress?.(address);
        const { host, family } = address;
        if (all === true) done(null, [{ address: host, family }]);
        else done(null, host, family);
      });
    };
    const target = { ...this.target, lookup, ...(onread && { onread }) };
    const failed = (): void => this.addresses.failed(taken, performance.now());
    // An address counts as failed as soon as any attempt fails. After connecting, an error says nothing about the address.
    if (!this.isSecure) {
      const plain = readOnceMore(new Socket(onread && { onread })).connect({ ...this.target, lookup });
      plain.on('error', failed).on('connect', () => plain.off('error', failed));
      return plain;
    }
    const { secure } = this;
    const socket = readOnceMore(
      connectSecurely({
        ...target,
        ...secure,
        ...(this.session && { session: this.session }),
      }),
    );
    socket.on('error', failed).on('secureConnect', () => socket.off('error', failed));
    socket.on('session', (fresh) => {
      // A session from before `renew` would resume without checking the new certificates.
      if (this.secure === secure) this.session = fresh;
    });
    // After any error, the next handshake is a full one.
    socket.on('error', () => {
      this.session = undefined;
    });
    return socket;
  }
}

/** One address of V2. */
export interface Address {
  readonly host: string;
  readonly family: number;
  /** Time until which other addresses are preferred, on the pool's clock; 0 for an address without failures. */
  failedUntil: number;
  /** Grows with every connection and request; the address with the lowest is next. */
  turn: number;
}

/** Milliseconds for which a resolved name is reused, so that connections opened together resolve it once. */
const RESOLVED_MS = 1000;
/** Milliseconds for which a failed address is avoided while another one works. */
const FAILED_MS = 10_000;

type Waiter = (error: NodeJS.ErrnoException | null, address?: Address) => void;

/** The addresses of V2's name: resolved again for new connections, used in turn, failed ones last. */
export class Addresses {
  private readonly lookup: LookupFunction;
  private list: readonly Address[] = [];
  private resolvedAt = Number.NEGATIVE_INFINITY;
  private waiters: Waiter[] | undefined = undefined;
  private turns = 0;

  constructor(lookup: LookupFunction | undefined) {
    this.lookup = lookup ?? systemLookup;
  }

  /** Number of addresses; 1 for an IP address, a Unix socket, and a name that is not resolved yet. */
  get count(): number {
    return Math.max(1, this.list.length);
  }

  /** Number of addresses not known to fail. */
  aliveCount(now: number): number {
    return this.list.filter(({ failedUntil }) => failedUntil <= now).length;
  }

  /** True while some address is not known to fail. */
  hasUsableAddress(now: number): boolean {
    return this.list.some(({ failedUntil }) => failedUntil <= now);
  }

  /** The address for the next connection. */
  next(hostname: string, done: Waiter): void {
    // One resolution for all connections of a burst. A longer time would miss a deployment that moves V2's name.
    if (performance.now() - this.resolvedAt < RESOLVED_MS) {
      done(null, this.pick());
      return;
    }
    if (this.waiters !== undefined) {
      this.waiters.push(done);
      return;
    }
    const waiters = (this.waiters = [done]);
    this.lookup(hostname, { all: true }, (error, found) => {
      this.waiters = undefined;
      if (error === null) this.replace(found);
      // If resolving fails, the previous addresses stay.
      const fault = this.list.length === 0 ? error : null;
      for (const waiter of waiters) waiter(fault, this.pick());
    });
  }

  /** Notes that connecting to the address failed. */
  failed(address: Address | undefined, now: number): void {
    if (address !== undefined) address.failedUntil = now + FAILED_MS;
    // V2 may have a new address, as when a container is replaced.
    this.resolvedAt = Number.NEGATIVE_INFINITY;
  }

  /** Counts a connection or request to the address. */
  took(address: Address): void {
    this.turns += 1;
    address.turn = this.turns;
  }

  /** The next of the addresses without failures, or of all if all have failed. */
  private pick(): Address | undefined {
    const now = performance.now();
    let best: Address | undefined;
    for (const address of this.list) {
      if (best !== undefined && !comesBefore(address, best, now)) continue;
      best = address;
    }
    if (best !== undefined) this.took(best);
    return best;
  }

  private replace(found: string | readonly { address: string; family: number }[]): void {
    const known = new Map(this.list.map((address) => [address.host, address]));
    const entries = typeof found === 'string' ? [{ address: found, family: 0 }] : found;
    this.list = entries.map(
      ({ address: host, family }) => known.get(host) ?? { host, family, failedUntil: 0, turn: 0 },
    );
    this.resolvedAt = performance.now();
  }
}

function comesBefore(one: Address, other: Address, now: number): boolean {
  const [isOneDown, isOtherDown] = [one.failedUntil > now, other.failedUntil > now];
  return isOneDown === isOtherDown ? one.turn < other.turn : isOtherDown;
}

/** An upstream that keeps connections alive. */
export interface NodeUpstream extends Upstream {
  /** Uses these certificates for new connections; no effect without TLS. */
  renew(tls: UpstreamOptions['tls']): void;
  /** Closes the connections, even ones with a request in flight. */
  close(): Promise<void>;
}

/** How to reach V2. Times are milliseconds. */
export interface UpstreamOptions {
  /** Scheme, host and port: the only host that is ever contacted. */
  readonly origin: string;
  /** Maximum number of connections, busy or idle; a request without one waits. */
  readonly connections: number;
  /** Maximum time for all attempts to connect, and for a request to wait until V2 is reachable. */
  readonly connectTimeout: number;
  /** Maximum time to the first byte of the response, including the wait for a connection. */
  readonly headersTimeout: number;
  /** Maximum time between two parts of the response. */
  readonly bodyTimeout: number;
  /** Maximum size of the response's header section in bytes. */
  readonly headerBytes: number;
  /** Maximum number of fields in the response's header section. */
  readonly headerCount: number;
  /** True for V1, which is no longer maintained: its malformed responses are read as nginx and HAProxy do; false by default. */
  readonly isLenient?: boolean;
  /** True if a response that only the end of TLS ends is broken without `close_notify`; false by default. */
  readonly needsCloseNotify?: boolean;
  /** Maximum idle time of a connection, unless V2 announces a shorter one. */
  readonly idleTimeout: number;
  /**
   * Age from which a connection takes no more requests; 0 for no limit. Its successor resolves the name again.
   */
  readonly maxAge: number;
  /** Maximum number of requests queued while V2 is unreachable, and their bytes; requests beyond either fail at once. */
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
