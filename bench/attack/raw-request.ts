import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A request as latin1, with a body where there is one; further header lines end in CRLF each. */
export function rawRequest(line: string, body?: string, lines = ''): string {
  const framing =
    body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  return `${line} HTTP/1.1\r\nHost: gateway\r\n${lines}${framing}\r\n${body ?? ''}`;
}

/** The head of a request whose body comes in chunks. */
export function chunkedHead(line: string, lines = ''): string {
  return `${line} HTTP/1.1\r\nHost: gateway\r\n${lines}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
}

/** Writes the pieces as fast as the other side takes them, until there are none, the connection closes, or time is over. */
export async function pour(
  socket: Socket,
  pieces: Iterable<Uint8Array>,
  signal: AbortSignal,
): Promise<number> {
  let sent = 0;
  for (const piece of pieces) {
    if (signal.aborted || socket.destroyed || !socket.writable) break;
    sent += piece.length;
    if (socket.write(piece)) continue;
    await writable(socket, signal);
  }
  return sent;
}

/** Waits, or less long when the time of the attack is over. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal }).catch(() => undefined);
}

function writable(socket: Socket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      for (const name of ['drain', 'close', 'error']) socket.off(name, over);
      signal.removeEventListener('abort', over);
      resolve();
    };
    for (const name of ['drain', 'close', 'error']) socket.on(name, over);
    signal.addEventListener('abort', over);
  });
}
