import { connect, type Socket } from 'node:net';
import { NEVER_MS } from './until.ts';

/** The bytes that a raw client read. */
export interface RawResponseRead {
  /** Everything, as latin1. */
  readonly text: string;
  /** True when the other side closed the connection, in order or by a reset. */
  readonly closed: boolean;
  readonly reset: boolean;
}

/** One connection on which a test writes bytes as an attacker would. */
export interface RawClient {
  readonly socket: Socket;
  /** The bytes read so far, as latin1. */
  text(): string;
  write(bytes: string | Uint8Array): void;
  /** Waits until what was read matches, or the connection closes, or `milliseconds` pass. */
  until(pattern: RegExp, milliseconds?: number): Promise<RawResponseRead>;
  /** Waits until the connection closes, or `milliseconds` pass. */
  end(milliseconds?: number): Promise<RawResponseRead>;
}

/** Connects to a port of the loopback interface; half open, it does not end its side when the other one does. */
export function rawClient(port: number, allowHalfOpen = false): RawClient {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen });
  let text = '';
  let closed = false;
  let reset = false;
  /** Looks again, for each that waits. */
  const waiting = new Set<() => void>();
  // Behind the reads of the turn: what comes with the last byte, such as the end of the connection, is seen too.
  const changed = (): void => void setImmediate(() => waiting.forEach((look) => look()));
  for (const event of ['data', 'close', 'end']) socket.on(event, changed);
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', (error) => {
    reset ||= 'code' in error && error.code === 'ECONNRESET';
  });
  socket.on('close', () => {
    closed = true;
  });
  socket.on('end', () => {
    closed = true;
  });
  const isOver = (): boolean => closed;
  const settled = async (done: () => boolean, milliseconds: number): Promise<RawResponseRead> => {
    if (!done() && !isOver()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = (): void => {
        if (done() || isOver()) resolve();
      };
      const timer = setTimeout(resolve, milliseconds);
      waiting.add(look);
      await promise;
      waiting.delete(look);
      clearTimeout(timer);
    }
    return { text, closed, reset };
  };
  return {
    socket,
    text: () => text,
    write: (bytes) => void socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    until: (pattern, milliseconds = NEVER_MS) => settled(() => pattern.test(text), milliseconds),
    end: (milliseconds = NEVER_MS) => settled(() => false, milliseconds),
  };
}

/** Sends bytes on a connection of their own, and reads until a response seems whole or the connection closes. */
export async function exchange(
  port: number,
  bytes: string | Buffer,
  milliseconds = NEVER_MS,
): Promise<RawResponseRead> {
  const client = rawClient(port);
  client.write(bytes);
  const isHead = bytes.toString('latin1').startsWith('HEAD ');
  const response = await client.until(isHead ? wholeHead : wholeResponse, milliseconds);
  client.socket.destroy();
  return response;
}

/** Sends bytes on a connection of their own, and reads until it closes. */
export function ended(port: number, bytes: string | Uint8Array): Promise<RawResponseRead> {
  const client = rawClient(port);
  client.write(bytes);
  return client.end();
}

/** The response to HEAD has a length, and no body. */
const wholeHead = /^HTTP\/1\.1 [^1][^]*?\r\n\r\n/;

/** A response with a length, in chunks, or without a body, behind its interim responses. */
const wholeResponse = {
  test: (all: string): boolean => {
    const text = all.replace(/^(?:HTTP\/1\.1 1[^]*?\r\n\r\n)+(?=HTTP)/, '');
    const head = text.indexOf('\r\n\r\n');
    if (head === -1) return false;
    const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head + 2));
    if (length !== null) return text.length >= head + 4 + Number(length[1]);
    if (/\r\ntransfer-encoding: *chunked/i.test(text.slice(0, head + 2)))
      return /\r\n0\r\n(?:[^\r\n]+\r\n)*\r\n$/.test(text);
    return /^HTTP\/1.1 (?:204|304)/.test(text);
  },
} as RegExp;

/** The status of the first response in a text. */
export function statusOf({ text }: { readonly text: string }): number {
  return Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0);
}
