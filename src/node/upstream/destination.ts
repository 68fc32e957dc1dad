import { isIP, type LookupFunction, type OnReadOpts, Socket } from 'node:net';
import type { IpcSocketConnectOpts, TcpSocketConnectOpts } from 'node:net';
import { type ConnectionOptions, connect as connectSecurely, createSecureContext } from 'node:tls';
import { type Address, Addresses } from './addresses.ts';
import type { UpstreamOptions } from './node-upstream.ts';
import { readOnceMore } from './read-once-more.ts';

/** Target of connections, computed once for all of them. */
export class Destination {
  readonly options: UpstreamOptions;
  readonly isSecure: boolean;
  readonly addresses: Addresses;
  /** The value of `Host` sent to V2. */
  readonly host: string;
  private readonly hostname: string;
  private readonly target: TcpSocketConnectOpts | IpcSocketConnectOpts;
  private secure: ConnectionOptions;
  /** The session that the next TLS handshake resumes (RFC 8446 §2.2). */
  private session: Buffer | undefined = undefined;

  constructor(options: UpstreamOptions) {
    const { protocol, host, hostname, port } = new URL(options.origin);
    const { lookup, tls, socketPath, sni } = options;
    this.options = options;
    this.isSecure = protocol === 'https:';
    this.addresses = new Addresses(lookup);
    this.host = options.host ?? host;
    this.hostname = hostname.replace(/^\[|\]$/g, '');
    const defaultPort = this.isSecure ? 443 : 80;
    this.target =
      socketPath === undefined
        ? { host: this.hostname, port: port === '' ? defaultPort : Number(port) }
        : { path: socketPath };
    const servername = sni ?? (isIP(this.hostname) === 0 ? this.hostname : undefined);
    this.secure = this.isSecure
      ? {
          secureContext: createSecureContext(tls),
          ALPNProtocols: ['http/1.1'],
          ...(servername !== undefined && { servername }),
        }
      : {};
  }

  /** Uses these certificates for new connections; no session of the old ones is resumed, because that checks none. */
  renew(tls: UpstreamOptions['tls']): void {
    if (!this.isSecure) return;
    this.secure = { ...this.secure, secureContext: createSecureContext(tls) };
    this.session = undefined;
  }

  /** Maximum milliseconds for one attempt: all addresses are tried within the connect timeout; 0 is no limit. */
  get attemptTimeout(): number {
    return this.options.connectTimeout / this.addresses.count;
  }

  /** Connects to the next address; `onAddress` is called with it, where a name is resolved. */
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
      if (this.secure === secure) this.session = fresh;
    });
    // Whatever the error was, the next handshake is a full one.
    socket.on('error', () => {
      this.session = undefined;
    });
    return socket;
  }
}
