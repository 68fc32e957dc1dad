import type { Http2Session } from 'node:http2';

/** Bytes that a connection may bring without content: much more than windows, settings and pings take in ordinary use. */
const FREE_BYTES = 4 * 1024 * 1024;
/** Bytes in frames for each byte of content: as nginx has it. A body in frames of one byte has ten. */
const FRAMING = 8;
/** Milliseconds between two looks at the connections. */
const LOOK_MS = 100;
/** ENHANCE_YOUR_CALM of RFC 9113 §7. */
const ENHANCE_YOUR_CALM = 11;

/**
 * Closes HTTP/2 connections that bring little but frames: window updates, priorities, unknown frames, empty or tiny bodies (RFC 9113
 * §10.5). Node takes them without a word, and each costs more to read than to send. Bytes sent to a client count as content,
 * because it grants windows for them; pings and settings are responded to, and nghttp2 limits those.
 */
export class H2Floods {
  /** Bytes of content that each connection brought. */
  private readonly content = new Map<Http2Session, number>();
  private timer: NodeJS.Timeout | undefined = undefined;

  /** Watches a connection from now on. */
  begin(session: Http2Session): void {
    this.content.set(session, 0);
    this.timer ??= setInterval(look, LOOK_MS, this).unref();
  }

  /** Counts bytes of content: of a header section, or of a body. */
  count(session: Http2Session, bytes: number): void {
    const before = this.content.get(session);
    if (before !== undefined) this.content.set(session, before + bytes);
  }

  /** The connection is closed. */
  end(session: Http2Session): void {
    this.content.delete(session);
    if (this.content.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Closes the connections that have brought too many frames. */
  look(): void {
    for (const [session, bytes] of this.content) {
      if (session.destroyed) continue;
      const { bytesRead, bytesWritten } = session.socket;
      if (bytesRead <= FREE_BYTES + bytes * FRAMING + bytesWritten) continue;
      session.destroy(new Error('too many frames'), ENHANCE_YOUR_CALM);
    }
  }
}

function look(floods: H2Floods): void {
  floods.look();
}
