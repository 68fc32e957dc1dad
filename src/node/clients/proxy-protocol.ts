import { isIP } from 'node:net';
import { type AddressRange, isWithin } from '../../http/forwarding.ts';
import type { ClientConnection } from './connections.ts';

/** Why a connection has no PROXY header. */
type ProxyHeaderFault = 'malformed' | 'timeout' | 'closed';

/** How PROXY protocol headers are read. */
interface ProxiedOptions {
  /** Peers whose connections must begin with a header; others' never do. */
  readonly trustedProxies: readonly AddressRange[];
  /** Called when a connection closes because it does not begin with a header, except one without a byte, which only checked the port. */
  readonly onFault: (reason: ProxyHeaderFault) => void;
}

/**
 * Reads the PROXY protocol header that a TCP load balancer sends before the client's bytes, and calls `serve` with only the bytes after
 * it on the socket. Only a trusted peer may name its client, and it must: the gateway never guesses whether a header is present.
 */
export function readProxied(connection: ClientConnection, options: ProxiedOptions, serve: () => void): void {
  const { trustedProxies, onFault } = options;
  if (!isWithin(connection.remote, trustedProxies)) {
    serve();
    return;
  }
  const socket = connection.accepted;
  let isRead = false;
  connection.onLate = () => {
    isRead = true;
    onFault('timeout');
  };
  let received: Buffer | undefined;
  const close = (): void => {
    if (!isRead && received !== undefined) onFault('closed');
  };
  const malformed = (): void => {
    isRead = true;
    onFault('malformed');
    socket.on('error', ignore);
    socket.destroy();
  };
  // The server allows half-open connections, so this one has to be closed explicitly.
  const end = (): void => {
    if (received === undefined) socket.destroy();
    else malformed();
  };
  const take = (chunk: Buffer): void => {
    received = received === undefined ? chunk : Buffer.concat([received, chunk]);
    const header = readProxyHeader(received);
    if (header === 'partial') return;
    isRead = true;
    connection.onLate = undefined;
    socket.off('data', take);
    socket.off('end', end);
    socket.off('error', ignore);
    socket.off('close', close);
    if (header === 'malformed') {
      malformed();
      return;
    }
    connection.remote = header.address ?? connection.remote;
    socket.pause();
    if (received.length > header.end) socket.unshift(received.subarray(header.end));
    serve();
    // Code that reads the socket directly needs this; TLS reads below it.
    if (socket.listenerCount('data') > 0) socket.resume();
  };
  socket.on('data', take);
  socket.on('end', end);
  socket.on('error', ignore);
  socket.on('close', close);
}

/** The socket emits `close` after each error. */
function ignore(): void {}

/** A load balancer's description of a connection, before the first byte of its client (PROXY protocol, versions 1 and 2). */
type ProxyHeader =
  | 'partial'
  | 'malformed'
  | {
      /**
       * The client's address; undefined if the load balancer connects on its own behalf, or the address is not an IP address.
       */
      readonly address: string | undefined;
      /** Offset of the client's first byte. */
      readonly end: number;
    };

/** The first bytes of version 2. */
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Maximum length in bytes of a version 1 line, with its CRLF. */
const LINE_BYTES = 107;
/** Maximum bytes that version 2 may add after its addresses. */
const ADDED_BYTES = 4096;
const LINE = /^PROXY (?:UNKNOWN(?: [^\r\n]*)?|(TCP4|TCP6) (\S+) (\S+) (\d{1,5}) (\d{1,5}))$/;

/** Reads the header that `bytes` begin with. */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  const known = Math.min(bytes.length, SIGNATURE.length);
  if (bytes.subarray(0, known).equals(SIGNATURE.subarray(0, known)))
    return known < SIGNATURE.length ? 'partial' : readBinary(bytes);
  return readLine(bytes);
}

function readLine(bytes: Buffer): ProxyHeader {
  const text = bytes.toString('latin1', 0, LINE_BYTES);
  const end = text.indexOf('\r\n');
  if (end < 0) {
    const isBegun = text.startsWith('PROXY '.slice(0, text.length));
    return isBegun && bytes.length < LINE_BYTES && !text.includes('\n') ? 'partial' : 'malformed';
  }
  const line = LINE.exec(text.slice(0, end));
  if (line === null) return 'malformed';
  const [, family, source = '', destination = '', ...ports] = line;
  if (family === undefined) return { address: undefined, end: end + 2 };
  const version = family === 'TCP4' ? 4 : 6;
  const isSound =
    isIP(source) === version && isIP(destination) === version && ports.every((port) => Number(port) < 65_536);
  return isSound ? { address: source, end: end + 2 } : 'malformed';
}

/** The fields after the signature: version and command, family and protocol, length (section 2.2 of the protocol). */
function readBinary(bytes: Buffer): ProxyHeader {
  if (bytes.length < 16) return 'partial';
  const version = bytes.readUInt8(12) >> 4;
  const command = bytes.readUInt8(12) & 0x0f;
  const family = bytes.readUInt8(13) >> 4;
  const protocol = bytes.readUInt8(13) & 0x0f;
  const length = bytes.readUInt16BE(14);
  if (version !== 2 || command > 1 || family > 3 || protocol > 2 || length > ADDED_BYTES) return 'malformed';
  const isOfAddresses = command === 1 && protocol === 1 && (family === 1 || family === 2);
  if (isOfAddresses && length < (family === 1 ? 12 : 36)) return 'malformed';
  const end = 16 + length;
  if (bytes.length < end) return 'partial';
  if (!isOfAddresses) return { address: undefined, end };
  return { address: family === 1 ? fourBytes(bytes) : sixteenBytes(bytes), end };
}

function fourBytes(bytes: Buffer): string {
  return bytes.subarray(16, 20).join('.');
}

function sixteenBytes(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(16 + 2 * at).toString(16));
  return groups.join(':');
}
