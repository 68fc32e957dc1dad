import type { Duplex } from 'node:stream';

/** Connections that linger at once; beyond it the oldest is cut. */
const MOST_LINGERING = 512;
/** Milliseconds for which a client that sends nothing more is waited for. */
const SILENCE_MS = 1000;
/** Milliseconds between two looks at a client that went on sending. */
const LOOK_MS = 5000;
/** Milliseconds for which a client may go on sending, as in nginx. */
const LINGER_MS = 30_000;
/** Bytes a second that it sends at the least. */
const SLOWEST_RATE_BYTES = 240;
/** Bytes that are read and dropped at the most. */
const DROPPED_BYTES = 256 * 1024 * 1024;

/**
 * Connections whose last response is written. Closing them with bytes of the client unread would be a reset, and the client would
 * lose its response (RFC 9112 §9.6); so what it still sends is read and dropped, at a fair rate and within bounds.
 */
export class LingeringConnections {
  private readonly all = new Map<Duplex, Lingering>();

  /** Ends the writing side, and closes the connection when the client does, or has had its time. */
  close(socket: Duplex): void {
    if (socket.destroyed || this.all.has(socket)) return;
    if (socket.writable) socket.end();
    if (this.all.size === MOST_LINGERING) this.cutOldest();
    const lingering = new Lingering(socket);
    this.all.set(socket, lingering);
    socket.once('close', () => {
      lingering.stop();
      this.all.delete(socket);
    });
  }

  private cutOldest(): void {
    const [oldest] = this.all.keys();
    if (oldest === undefined) return;
    this.all.delete(oldest);
    oldest.destroy();
  }
}

class Lingering {
  private readonly socket: Duplex;
  private readonly since = performance.now();
  private bytes = 0;
  private seenBytes = 0;
  private seenAt = this.since;
  private timer: NodeJS.Timeout;

  constructor(socket: Duplex) {
    this.socket = socket;
    this.timer = this.lookAfter(SILENCE_MS);
    socket.on('error', () => socket.destroy());
    // Whoever stopped the reading may have stopped it below the stream: only a new beginning reads on, and takes a turn.
    socket.pause();
    socket.resume();
    setImmediate(readAndDrop, this);
  }

  /** The parser of Node reads no more: behind the last request nothing is one. */
  readAndDrop(): void {
    this.socket.removeAllListeners('data');
    this.socket.on('data', (chunk: Uint8Array) => this.drop(chunk.length));
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** Goes on as long as the client sends at a fair rate. */
  look(): void {
    const now = performance.now();
    const least = ((now - this.seenAt) / 1000) * SLOWEST_RATE_BYTES;
    if (this.bytes - this.seenBytes < least || now - this.since > LINGER_MS) {
      this.socket.destroy();
      return;
    }
    this.seenBytes = this.bytes;
    this.seenAt = now;
    this.timer = this.lookAfter(LOOK_MS);
  }

  private drop(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes > DROPPED_BYTES) this.socket.destroy();
  }

  private lookAfter(milliseconds: number): NodeJS.Timeout {
    const timer = setTimeout(look, milliseconds, this);
    timer.unref();
    return timer;
  }
}

function readAndDrop(lingering: Lingering): void {
  lingering.readAndDrop();
}

function look(lingering: Lingering): void {
  lingering.look();
}
