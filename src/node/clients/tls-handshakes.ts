import type { Server, Socket } from 'node:net';
import { onCheckPhase } from '../fair-turns.ts';
import type { CountsByReason } from '../../rewrite-log/metric-families.ts';

/** Why a handshake failed, by the code of Node's error; `closed` is also what most clients do that do not trust the certificate. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNRESET: 'closed',
  EPIPE: 'closed',
  ERR_TLS_HANDSHAKE_TIMEOUT: 'timeout',
  ERR_SSL_HTTP_REQUEST: 'plain-http',
  ERR_SSL_WRONG_VERSION_NUMBER: 'not-tls',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'unsupported-version',
  ERR_SSL_NO_SHARED_CIPHER: 'no-shared-cipher',
  ERR_SSL_NO_APPLICATION_PROTOCOL: 'no-shared-protocol',
};

/** Alerts by which a client refuses the certificate (RFC 8446 §6.2). */
const CERTIFICATE_ALERT =
  /ALERT_(?:BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_(?:REVOKED|EXPIRED|UNKNOWN|REQUIRED)|UNKNOWN_CA)$/;

const ALL_REASONS: readonly string[] = [
  ...new Set([...Object.values(REASONS), 'certificate-rejected', 'other']),
];

/** How the first byte of a connection is read. */
interface FirstByteOptions {
  /** Maximum time in milliseconds to receive it; 0 is no limit. */
  readonly headersTimeout: number;
  /** The client speaks plain HTTP. */
  readonly onPlain: () => void;
  /** The client begins a handshake: none of its bytes is read. */
  readonly onHandshake: () => void;
}

/** Failed TLS handshakes, by reason. */
export class HandshakeFailures {
  /** Number of each reason, from 0. */
  readonly counts: CountsByReason = Object.fromEntries(ALL_REASONS.map((reason) => [reason, 0]));

  /** Counts those that a server of Node's meets. */
  watch(server: Server): void {
    server.on('tlsClientError', (error: Error) => this.add(reasonOf(error)));
  }

  /**
   * Waits for the first byte of a connection, and tells what it begins with: a letter is plain HTTP, and a handshake begins with 22
   * (RFC 8446 §5.1). By the time at which OpenSSL reports such bytes the socket is closed, and nobody learns why. A connection without a
   * byte, such as a load balancer's check of the port, is no handshake and is not counted.
   */
  readFirstByte(socket: Socket, { headersTimeout, onPlain, onHandshake }: FirstByteOptions): void {
    let isRead = false;
    const expire = (): void => {
      if (isRead) return;
      this.add('timeout');
      socket.destroy();
    };
    const timer = headersTimeout > 0 ? setTimeout(() => onCheckPhase(expire), headersTimeout) : undefined;
    const stop = (): void => clearTimeout(timer);
    const end = (): void => {
      // The client ends its side without a byte. A server that is half open would wait for its own end.
      if (!isRead) socket.destroy();
    };
    const take = (chunk: Buffer): void => {
      isRead = true;
      stop();
      socket.off('data', take).off('end', end).off('error', ignore).off('close', stop);
      socket.pause();
      if (isLetter(chunk[0])) {
        this.add('plain-http');
        onPlain();
        return;
      }
      // TLS takes over what is already read.
      socket.unshift(chunk);
      onHandshake();
    };
    socket.on('data', take).on('end', end).on('error', ignore).on('close', stop);
  }

  private add(reason: string): void {
    this.counts[reason] = (this.counts[reason] ?? 0) + 1;
  }
}

function reasonOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? (CERTIFICATE_ALERT.test(code) ? 'certificate-rejected' : 'other');
}

function isLetter(byte: number | undefined): boolean {
  const upper = (byte ?? 0) & ~0x20;
  return upper >= 0x41 && upper <= 0x5a;
}

/** An error closes the connection, and `close` is reported. */
function ignore(): void {}
