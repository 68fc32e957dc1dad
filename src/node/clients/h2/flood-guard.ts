/** Bytes that a connection may bring without content: much more than windows, settings and pings take in ordinary use. */
const FREE_BYTES = 4 * 1024 * 1024;
/** Bytes in frames for each byte of content: as nginx has it. A body in frames of one byte has ten. */
const FRAMING = 8;
/** Demands that a connection may make at once, and each second: resets of its streams, pings, settings; as nghttp2 has it for resets. */
const DEMANDS = 1000;
const DEMANDS_PER_SECOND = 33;

/**
 * Knows a connection that brings little but frames, or frames that make the gateway work for nothing (RFC 9113 §10.5): window updates,
 * priorities, unknown frames, empty or tiny bodies, requests that are reset at once. Each is legal, and costs more to read than to send.
 */
export class FloodGuard {
  private bytesIn = 0;
  private bytesOut = 0;
  private content = 0;
  private demands = DEMANDS;
  private countedAt = 0;

  /** True for a connection that is to be closed. */
  get isFlood(): boolean {
    return this.bytesIn > FREE_BYTES + this.content * FRAMING + this.bytesOut || this.demands < 0;
  }

  /** Counts bytes that were read. */
  read(bytes: number): void {
    this.bytesIn += bytes;
  }

  /** Counts bytes of a body that were sent: the client grants windows for them. */
  sent(bytes: number): void {
    this.bytesOut += bytes;
  }

  /** Counts bytes of content: of a header section, or of a body. */
  receive(bytes: number): void {
    this.content += bytes;
  }

  /** Counts a demand. */
  demand(): void {
    const now = performance.now();
    const earned = ((now - this.countedAt) / 1000) * DEMANDS_PER_SECOND;
    this.countedAt = now;
    this.demands = Math.min(DEMANDS, this.demands + earned) - 1;
  }
}
