import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Bytes in addition to the largest head that are kept, for the empty lines before a request (RFC 9112 §2.2). */
const SPARE_BYTES = 1024;

const PREFACE_LINE = /(?:^|\r\n)PRI \* HTTP\//;

interface RecentBytes {
  /** The last chunk, with the end of those before it unless that is known to be part of a body. */
  bytes: Buffer;
  /** Offset after the last request line that was found. */
  checked: number;
  latest: IncomingMessage | undefined;
}

/**
 * Checks the request lines on connections that Node's server reads: it also accepts several spaces between their parts, which RFC
 * 9112 §3 does not allow, and another reader may cut there.
 */
export class RequestLines {
  private readonly recent = new WeakMap<Duplex, RecentBytes>();
  private readonly keptBytes: number;

  /** `headerBytes` is the maximum size of a head. */
  constructor(headerBytes: number) {
    this.keptBytes = headerBytes + SPARE_BYTES;
  }

  /** Watches a connection that Node's server has just taken. */
  watch(socket: Socket): void {
    const recent: RecentBytes = { bytes: Buffer.alloc(0), checked: 0, latest: undefined };
    this.recent.set(socket, recent);
    // Before the listener of Node's parser. That there is another one makes Node read the connection through events.
    socket.prependListener('data', (chunk: Buffer) => this.add(recent, chunk));
  }

  /** Whether the line of a request is as RFC 9112 §3 has it; called in the order of the requests. */
  isValid(incoming: IncomingMessage): boolean {
    const recent = this.recent.get(incoming.socket);
    if (recent === undefined) return true;
    recent.latest = incoming;
    const { method, url, httpVersion } = incoming;
    // Other versions are refused for what they are.
    if (httpVersion !== '1.1' && httpVersion !== '1.0') return true;
    const line = Buffer.from(`${method} ${url} HTTP/${httpVersion}\r\n`, 'latin1');
    const at = recent.bytes.indexOf(line, recent.checked);
    if (at < 0) return false;
    recent.checked = at + line.length;
    // The preface of HTTP/2 (RFC 9113 §3.4) is no request.
    return method !== 'PRI';
  }

  /** Whether the parser stopped at the preface of HTTP/2, with whatever version. */
  stoppedAtPreface(error: Error, socket: Duplex): boolean {
    if (!('code' in error) || error.code !== 'HPE_INVALID_VERSION') return false;
    const recent = this.recent.get(socket);
    return recent !== undefined && PREFACE_LINE.test(recent.bytes.toString('latin1', recent.checked));
  }

  /** Whether the request that the parser rejected is a HEAD, whose response has no body (RFC 9110 §9.3.2). */
  isInHead(error: Error, socket: Duplex): boolean {
    const bytes = this.recent.get(socket)?.bytes;
    if (bytes === undefined) return false;
    const unread =
      'rawPacket' in error && error.rawPacket instanceof Uint8Array && 'bytesParsed' in error
        ? error.rawPacket.length - Number(error.bytesParsed)
        : 0;
    const read = bytes.toString('latin1', 0, bytes.length - unread);
    const head = read.slice(read.lastIndexOf('\r\n\r\n') + 1);
    return head.trimStart().startsWith('HEAD ');
  }

  private add(recent: RecentBytes, chunk: Buffer): void {
    const { bytes, checked, latest } = recent;
    const isInBody = latest?.complete === false;
    const rest = isInBody ? undefined : bytes.subarray(Math.max(checked, bytes.length - this.keptBytes));
    recent.bytes = rest === undefined || rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    recent.checked = 0;
  }
}
