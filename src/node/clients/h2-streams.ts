import type { Http2Session } from 'node:http2';

/** An exchange on a stream. */
export interface StreamOfSession {
  /** The connection is closed, and the stream with it, whether or not Node reports that. */
  sessionClosed(): void;
}

/**
 * Knows the streams of each HTTP/2 connection. When the socket of one is closed, Node resets its streams, and waits for a `close`
 * of each that may never come.
 */
export class H2Streams {
  private readonly closedSessions = new WeakSet<Http2Session>();
  private readonly sessions = new WeakMap<Http2Session, Set<StreamOfSession>>();

  /** Adds a stream; Node may report one after its connection is closed. */
  begin(session: Http2Session, stream: StreamOfSession): void {
    if (this.closedSessions.has(session)) {
      stream.sessionClosed();
      return;
    }
    const streams = this.sessions.get(session);
    if (streams === undefined) this.sessions.set(session, new Set([stream]));
    else streams.add(stream);
  }

  end(session: Http2Session, stream: StreamOfSession): void {
    this.sessions.get(session)?.delete(stream);
  }

  /** The connection of `session` is closed; called by its socket and by Node's session, whose `close` may never come either. */
  closed(session: Http2Session): void {
    this.closedSessions.add(session);
    for (const stream of this.sessions.get(session) ?? []) stream.sessionClosed();
    this.sessions.delete(session);
  }
}
