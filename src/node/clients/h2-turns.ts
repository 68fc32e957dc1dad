import type { Http2Session } from 'node:http2';

/** Frames of bodies on one connection, in one turn of the event loop, that are read as they come. */
const FREE_FRAMES = 128;
/** Bytes that a frame has on average at the least, on a connection that is read on. */
const SMALL_FRAME_BYTES = 64;
/** Milliseconds for which connections with smaller ones wait for each frame: it takes a tenth of that to read, so others have the rest. */
const WAIT_PER_FRAME_MS = 0.1;

/**
 * Lets connections of HTTP/2 whose bodies come in tiny frames be read one after the other, with time for everybody else in between. A
 * frame of one byte costs as much as one of a thousand, and a read of the socket brings six thousand of them; a stream that is paused
 * still gets as many as its window has bytes, so it is the connection that waits.
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

  /** Has a connection that is stopped wait for its turn. */
  wait(turn: SessionTurn): void {
    this.waiting.push(turn);
    this.schedule();
  }

  /** Lets the next one read on. */
  next(): void {
    this.timer = undefined;
    this.waiting.shift()?.readOn();
    this.schedule();
  }

  private schedule(): void {
    const [first] = this.waiting;
    if (first === undefined || this.timer !== undefined) return;
    this.timer = setTimeout(next, Math.ceil(first.frames * WAIT_PER_FRAME_MS), this);
  }
}

/** One connection, and what it brought in this turn of the event loop. */
export class SessionTurn {
  /** Frames of bodies that it brought in the turn in which it was stopped. */
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

  /** Counts a frame of a body. */
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
    // What Node wrote meanwhile, such as an update of a window, had it read on.
    tellHandle(this.session, 'readStop');
    if (this.isWaiting) return;
    this.isWaiting = true;
    this.turns.wait(this);
  }

  readOn(): void {
    this.isStopped = false;
    this.isWaiting = false;
    this.frames = 0;
    this.bytes = 0;
    tellHandle(this.session, 'readStart');
  }
}

/** Node forbids to pause the socket of a connection of HTTP/2; the handle of the system below its TLS can be told. */
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
