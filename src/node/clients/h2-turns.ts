import type { Http2Session } from 'node:http2';

/** Body frames on one connection, in one turn of the event loop, that are read without delay. */
const FREE_FRAMES = 128;
/** Minimum average size of a frame in bytes, on a connection that is not slowed down. */
const SMALL_FRAME_BYTES = 64;
/**
 * Milliseconds that connections with smaller frames wait for each frame: reading it takes a tenth of that, so others get the
 * rest.
 */
const WAIT_PER_FRAME_MS = 0.1;

/**
 * Reads HTTP/2 connections whose bodies arrive in tiny frames one after the other, with time for all others in between. A frame
 * of one byte costs as much as one of a thousand, and one read of the socket brings six thousand of them; a paused stream still
 * receives as many as its window has bytes, so the connection itself is paused.
 */
export class H2Turns {
  private readonly sessions = new WeakMap<Http2Session, SessionTurn>();
  private readonly waiting: SessionTurn[] = [];
  private timer: NodeJS.Timeout | undefined = undefined;

  /** The turns of a connection. */
  of(session: Http2Session): SessionTurn {
    const known = this.sessions.get(session);
    if (known !== undefined) return known;
    const turn = new SessionTurn(session, this);
    this.sessions.set(session, turn);
    return turn;
  }

  /** Queues a paused connection for its turn. */
  wait(turn: SessionTurn): void {
    this.waiting.push(turn);
    this.schedule();
  }

  /** Resumes the next connection. */
  next(): void {
    this.timer = undefined;
    this.waiting.shift()?.readMore();
    this.schedule();
  }

  private schedule(): void {
    const [first] = this.waiting;
    if (first === undefined || this.timer !== undefined) return;
    this.timer = setTimeout(next, Math.ceil(first.frames * WAIT_PER_FRAME_MS), this);
  }
}

/** One connection, and the frames that it brought in this turn of the event loop. */
export class SessionTurn {
  /** Body frames that it brought in the turn in which it was paused. */
  frames = 0;
  private readonly session: Http2Session;
  private readonly turns: H2Turns;
  private bytes = 0;
  private isStopped = false;
  private isWaiting = false;
  private end: NodeJS.Immediate | undefined = undefined;

  constructor(session: Http2Session, turns: H2Turns) {
    this.session = session;
    this.turns = turns;
  }

  /** Counts a body frame. */
  count(bytes: number): void {
    this.frames += 1;
    this.bytes += bytes;
    this.end ??= setImmediate(endTurn, this);
    if (this.isStopped || this.frames < FREE_FRAMES || this.bytes >= this.frames * SMALL_FRAME_BYTES) return;
    this.isStopped = true;
    tellHandle(this.session, 'readStop');
  }

  endTurn(): void {
    this.end = undefined;
    if (!this.isStopped) {
      this.frames = 0;
      this.bytes = 0;
      return;
    }
    // Any write by Node in the meantime, such as a window update, resumed reading.
    tellHandle(this.session, 'readStop');
    if (this.isWaiting) return;
    this.isWaiting = true;
    this.turns.wait(this);
  }

  readMore(): void {
    this.isStopped = false;
    this.isWaiting = false;
    this.frames = 0;
    this.bytes = 0;
    tellHandle(this.session, 'readStart');
  }
}

/** Node forbids pausing the socket of an HTTP/2 connection; the system handle below its TLS can be paused. */
function tellHandle(session: Http2Session, call: 'readStart' | 'readStop'): void {
  if (session.destroyed) return;
  const tls: unknown = Reflect.get(session.socket, '_handle');
  const handle: unknown = typeof tls === 'object' && tls !== null ? Reflect.get(tls, '_parent') : undefined;
  if (typeof handle !== 'object' || handle === null) return;
  const method: unknown = Reflect.get(handle, call);
  if (typeof method === 'function') Reflect.apply(method, handle, []);
}

function endTurn(turn: SessionTurn): void {
  turn.endTurn();
}

function next(turns: H2Turns): void {
  turns.next();
}
