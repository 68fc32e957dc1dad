import type { Http2Session } from 'node:http2';
import { callHandle, handleBelowTls } from './system-handle.ts';
import { TurnQueue } from './turn-queue.ts';

/** Body frames on one connection, in one turn of the event loop, that are read without delay. */
const FREE_FRAMES = 128;
/** Minimum average size of a frame in bytes, on a connection that is not slowed down. */
const SMALL_FRAME_BYTES = 64;
/** Smaller frames of all connections in one turn of the event loop: then every connection waits for the next one. */
const FRAMES_PER_TURN = 4096;
/** Small frames that take as long to read as Node takes to end a stream whose connection is closed. */
const FRAMES_PER_STREAM = 64;
/** Requests that begin in one turn of the event loop: one read of a connection brings a hundred. */
const STARTS_PER_TURN = 24;
/** Requests that have arrived and wait for their turn: then every connection waits too. */
const WAITING_STARTS = 64;
/**
 * Milliseconds that connections with smaller frames wait for each frame: reading it takes a tenth of that, so others get the
 * rest.
 */
const WAIT_PER_FRAME_MS = 0.01;

/**
 * Bounds what all HTTP/2 connections together bring in one turn of the event loop: requests, tiny frames, and the ends of streams
 * whose connection is closed. Beyond it no connection is read until the next turn, or until the requests that wait have begun.
 *
 * Connections whose bodies arrive in tiny frames are read one after the other, with time for all others in between. A frame of one
 * byte costs as much as one of a thousand, and one read of the socket brings sixteen hundred of them; a paused stream still receives
 * as many as its window has bytes, so the connection itself is paused. A connection is known for such frames once they are read:
 * however many send their first at once, only the first few are read in one turn.
 */
export class H2Turns {
  private readonly sessions = new Map<Http2Session, SessionTurn>();
  private readonly waiting: SessionTurn[] = [];
  private timer: NodeJS.Timeout | undefined = undefined;
  /** Connections that brought frames in this turn of the event loop. */
  private readonly active = new Set<SessionTurn>();
  /** Small frames of all connections in this turn of the event loop. */
  private frames = 0;
  private readonly starts = new TurnQueue<Http2Session | undefined>(STARTS_PER_TURN);
  private end: NodeJS.Immediate | undefined = undefined;

  /** Requests that wait for their turn to begin. */
  get waitingStarts(): number {
    return this.starts.waiting;
  }

  /** A connection is open. */
  begin(session: Http2Session): void {
    const turn = new SessionTurn(session, this);
    this.sessions.set(session, turn);
    if (this.isFull) turn.stop();
  }

  /** The turns of an open connection; undefined once it is closed. */
  of(session: Http2Session): SessionTurn | undefined {
    return this.sessions.get(session);
  }

  /** The connection is closed. */
  close(session: Http2Session): void {
    this.sessions.delete(session);
  }

  /** Counts a body frame of a connection in this turn of the event loop. */
  count(turn: SessionTurn, bytes: number): void {
    this.end ??= setImmediate(endTurn, this);
    this.active.add(turn);
    if (bytes < SMALL_FRAME_BYTES) this.add(1);
  }

  /** Calls `begin` for a request that has arrived: at once, or in a later turn of the event loop. */
  start(session: Http2Session | undefined, begin: () => void): void {
    this.starts.add(session, 1, begin);
    if (this.starts.waiting < WAITING_STARTS) return;
    // A write by Node may have resumed reading.
    if (this.isFull && session !== undefined) this.sessions.get(session)?.stop();
    this.add(FRAMES_PER_TURN);
  }

  /** Counts the streams of a connection that its client has closed: in this turn of the event loop Node ends them. */
  countStreams(count: number): void {
    this.add(count * FRAMES_PER_STREAM);
  }

  /** The turn of the event loop is over. */
  endTurn(): void {
    this.end = undefined;
    if (this.starts.waiting >= WAITING_STARTS) {
      this.end = setImmediate(endTurn, this);
      return;
    }
    const all = this.isFull ? this.sessions.values() : this.active;
    this.frames = 0;
    for (const turn of all) turn.endTurn();
    this.active.clear();
  }

  /** Queues a paused connection for its turn. */
  wait(turn: SessionTurn): void {
    this.waiting.push(turn);
    this.schedule();
  }

  /** Resumes the next connection. */
  next(): void {
    this.timer = undefined;
    let next = this.waiting.shift();
    while (next?.isClosed === true) next = this.waiting.shift();
    next?.readMore();
    this.schedule();
  }

  /** True when no connection is read any more in this turn of the event loop. */
  private get isFull(): boolean {
    return this.frames >= FRAMES_PER_TURN;
  }

  private add(frames: number): void {
    this.end ??= setImmediate(endTurn, this);
    const wasFull = this.isFull;
    this.frames += frames;
    if (wasFull || !this.isFull) return;
    for (const turn of this.sessions.values()) turn.stop();
  }

  private schedule(): void {
    const [first] = this.waiting;
    if (first === undefined || this.timer !== undefined) return;
    this.timer = setTimeout(next, Math.ceil(first.frames * WAIT_PER_FRAME_MS), this);
  }
}

/** One connection, and the frames that it brought in this turn of the event loop. */
export class SessionTurn {
  /** Body frames that it brought in this turn, or in the one in which it was paused. */
  frames = 0;
  private readonly session: Http2Session;
  private readonly turns: H2Turns;
  private bytes = 0;
  private isStopped = false;
  private isWaiting = false;

  constructor(session: Http2Session, turns: H2Turns) {
    this.session = session;
    this.turns = turns;
  }

  get isClosed(): boolean {
    return this.session.destroyed;
  }

  /** Counts a body frame. */
  count(bytes: number): void {
    this.frames += 1;
    this.bytes += bytes;
    this.turns.count(this, bytes);
    if (!this.isStopped && this.areTooSmall) this.stop();
  }

  /** Reads no more in this turn. */
  stop(): void {
    this.isStopped = true;
    tellHandle(this.session, 'readStop');
  }

  endTurn(): void {
    if (this.isWaiting || this.areTooSmall) {
      // Any write by Node in the meantime, such as a window update, resumed reading.
      tellHandle(this.session, 'readStop');
      if (!this.isWaiting) this.turns.wait(this);
      this.isWaiting = true;
    } else {
      this.readMore();
    }
  }

  readMore(): void {
    if (this.isStopped) tellHandle(this.session, 'readStart');
    this.isStopped = false;
    this.isWaiting = false;
    this.frames = 0;
    this.bytes = 0;
  }

  private get areTooSmall(): boolean {
    return this.frames >= FREE_FRAMES && this.bytes < this.frames * SMALL_FRAME_BYTES;
  }
}

/** Node forbids pausing the socket of an HTTP/2 connection; the system handle below its TLS can be paused. */
function tellHandle({ destroyed, socket }: Http2Session, call: 'readStart' | 'readStop'): void {
  if (!destroyed) callHandle(handleBelowTls(socket), call);
}

function endTurn(turns: H2Turns): void {
  turns.endTurn();
}

function next(turns: H2Turns): void {
  turns.next();
}
