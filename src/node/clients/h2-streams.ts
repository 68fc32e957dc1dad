import type { Http2Session } from 'node:http2';
import { Slots } from '../../gateway/slots.ts';
import { TurnQueue } from './turn-queue.ts';

/** An exchange on a stream. */
export interface StreamOfSession {
  /** The connection is closed, and the stream with it, whether or not Node reports that. */
  sessionClosed(): void;
}

/** Exchanges that end in one turn of the event loop: more than begin, so that their places are soon free. */
const ENDS_PER_TURN = 40;

/**
 * Knows the streams of each HTTP/2 connection. When the socket of one is closed, Node resets its streams, and waits for a `close`
 * of each that may never come. That ends a hundred exchanges at once, so exchanges have turns to end.
 */
export class H2Streams {
  /** Exchanges that have begun and not ended. */
  open = 0;
  private readonly closedSessions = new WeakSet<Http2Session>();
  private readonly sessions = new WeakMap<Http2Session, Slots<StreamOfSession>>();
  private readonly ends = new TurnQueue<Http2Session>(ENDS_PER_TURN);

  /** Adds a stream; returns its slot, for `end`, unless the connection is closed: Node may report a stream after that. */
  begin(session: Http2Session, stream: StreamOfSession): number | undefined {
    this.open += 1;
    if (this.closedSessions.has(session)) {
      stream.sessionClosed();
      return undefined;
    }
    let streams = this.sessions.get(session);
    if (streams === undefined) {
      streams = new Slots();
      this.sessions.set(session, streams);
    }
    return streams.add(stream);
  }

  /** Empties the slot of a stream, and ends its exchange: at once, or in a later turn of the event loop. Called once. */
  end(session: Http2Session, slot: number | undefined, end: () => void): void {
    this.ends.add(session, 1, () => {
      this.open -= 1;
      if (slot !== undefined) this.sessions.get(session)?.remove(slot);
      end();
    });
  }

  /** Streams of a connection that is open. */
  count(session: Http2Session): number {
    return this.sessions.get(session)?.size ?? 0;
  }

  /** The connection of `session` is closed; called by its socket and by Node's session, whose `close` may never come either. */
  closed(session: Http2Session): void {
    this.closedSessions.add(session);
    for (const stream of this.sessions.get(session) ?? []) stream.sessionClosed();
    this.sessions.delete(session);
  }
}
