import type { Duplex } from 'node:stream';
import { afterReads } from './fair-turns.ts';

/** Maximum number of lingering connections; beyond it the oldest is closed. */
const MAX_LINGERING = 512;
/** Milliseconds to wait for a client that sends nothing more. */
const SILENCE_MS = 1000;
/** Milliseconds between two checks of a client that goes on sending. */
const CHECK_MS = 5000;
/** Milliseconds for which a client may go on sending, as in nginx. */
const LINGER_MS = 30_000;
/** Minimum bytes per second that it must send. */
const SLOWEST_RATE_BYTES = 240;
/** Maximum bytes that are read and dropped, where the protocol has no lower limit. */
const DROPPED_BYTES = 256 * 1024 * 1024;

/**
 * Connections whose last response is written. Closing one with unread bytes of the client would reset it, and the client would
 * lose its response (RFC 9112 §9.6); so further bytes are read and dropped, at a fair rate and within limits.
 */
export class LingeringConnections {
  private readonly all = new Map<Duplex, Lingering>();

  /** Ends the writing side, and closes the connection when the client does, or when its time is over or `maxBytes` have come. */
  close(socket: Duplex, maxBytes = DROPPED_BYTES): void {
    if (socket.destroyed || this.all.has(socket)) return;
    if (socket.writable) socket.end();
    if (this.all.size >= MAX_LINGERING) this.closeOldest();
    const lingering = new Lingering(socket, maxBytes);
    this.all.set(socket, lingering);
    socket.once('close', () => {
      lingering.stop();
      this.all.delete(socket);
    });
  }

  /** Closes the one that has lingered for longest; false where there is none. */
  closeOldest(): boolean {
    const [oldest] = this.all.keys();
    if (oldest === undefined) return false;
    this.all.delete(oldest);
    oldest.destroy();
    return true;
  }
}

class Lingering {
  private readonly socket: Duplex;
  private readonly maxBytes: number;
  private readonly since = performance.now();
  private bytes = 0;
  private checkedBytes = 0;
  private checkedAt = this.since;
  private timer: NodeJS.Timeout;

  constructor(socket: Duplex, maxBytes: number) {
    this.socket = socket;
    this.maxBytes = maxBytes;
    this.timer = this.checkAfter(SILENCE_MS);
    socket.on('error', () => socket.destroy());
    // Reading may have been paused below the stream: only pause and resume restarts it, and that takes a turn.
    socket.pause();
    socket.resume();
    setImmediate(readAndDrop, this);
  }

  /** Node's parser stops reading: the bytes after the last request are none. */
  readAndDrop(): void {
    this.socket.removeAllListeners('data');
    this.socket.on('data', (chunk: Uint8Array) => this.drop(chunk.length));
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** Goes on as long as the client sends at a fair rate. */
  check(): void {
    const now = performance.now();
    const least = ((now - this.checkedAt) / 1000) * SLOWEST_RATE_BYTES;
    if (this.bytes - this.checkedBytes < least || now - this.since > LINGER_MS) {
      this.socket.destroy();
      return;
    }
    this.checkedBytes = this.bytes;
    this.checkedAt = now;
    this.timer = this.checkAfter(CHECK_MS);
  }

  private drop(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > this.maxBytes) this.socket.destroy();
  }

  private checkAfter(milliseconds: number): NodeJS.Timeout {
    const timer = setTimeout(check, milliseconds, this);
    timer.unref();
    return timer;
  }
}

function readAndDrop(lingering: Lingering): void {
  lingering.readAndDrop();
}

function check(lingering: Lingering): void {
  // After the process stood still, what came in time is read first: to close before that would reset the connection.
  afterReads(() => lingering.check());
}
