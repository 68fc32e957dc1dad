import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { type H2Frame, openH2, type RawH2 } from '../../test/support/h2-wire.ts';

/** Milliseconds to wait for what comes at once on a calm machine: an end that never comes is told from one that is late. */
export const PATIENCE_MS = 30_000;

/** A fault in one sentence, where there is one. */
export function faultIf(isFault: boolean, sentence: string): readonly string[] {
  return isFault ? [sentence] : [];
}

/** Plays all items, some at a time, and says of how many something is wrong, and what. */
export async function playEach<Item>(
  sentence: string,
  items: readonly Item[],
  faultOf: (item: Item) => Promise<string | undefined>,
  atATime = 1,
): Promise<readonly string[]> {
  const faults: string[] = [];
  const rest = items.values();
  await fromSeats(atATime, async () => {
    for (const item of rest) {
      const fault = await faultOf(item);
      if (fault !== undefined) faults.push(fault);
    }
  });
  const kinds = [...new Set(faults)].slice(0, 20).join('\n    ');
  return faultIf(faults.length > 0, `${faults.length} of ${items.length} ${sentence}:\n    ${kinds}`);
}

/** Does the same from so many seats at once. */
export async function fromSeats(seats: number, action: (seat: number) => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: seats }, (_, seat) => action(seat)));
}

/** True for so many milliseconds, or until the time of the attack is over. */
export function lasting(milliseconds: number, signal: AbortSignal): () => boolean {
  const end = performance.now() + milliseconds;
  return () => performance.now() < end && !signal.aborted;
}

/** Waits, or less long when the time of the attack is over. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal }).catch(() => undefined);
}

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
    if (!socket.write(piece)) await writable(socket, signal);
  }
  return sent;
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

/** Connects to speak HTTP/2 by hand, with settings such as `[4, 0]` for a window of 0. */
export function attackH2(
  port: number,
  settings: readonly (readonly [number, number])[] = [],
): Promise<RawH2> {
  const options = { port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] };
  return openH2(connect(options), settings);
}

/** Waits for a frame that fits, the end of the connection, or until `milliseconds` have passed. */
export async function frameOf(
  { socket, frames }: RawH2,
  fits: (frame: H2Frame) => boolean,
  milliseconds: number,
): Promise<H2Frame | undefined> {
  const end = performance.now() + milliseconds;
  for (;;) {
    const found = frames.find((one) => fits(one));
    if (found !== undefined || socket.destroyed || performance.now() > end) return found;
    await delay(5);
  }
}
