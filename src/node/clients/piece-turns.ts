/** What can be stopped, and goes on. */
export interface Flow {
  /** True when it never goes on. */
  readonly destroyed: boolean;
  pause(): void;
  resume(): void;
}

/** What goes on when it is its turn. */
type WaitingFlow = Pick<Flow, 'destroyed' | 'resume'>;

/** Pieces of a body in one turn of the event loop that are read as they come. */
const FREE_PIECES = 256;
/** Bytes that a piece has at the least, to be no piece of a body that is cut small. */
const SMALL_PIECE_BYTES = 128;
/** Milliseconds for which all of them wait for each piece: it takes a quarter of that to read, so others have the rest. */
const WAIT_PER_PIECE_MS = 0.004;

/**
 * Lets bodies that are cut into tiny pieces be read one after the other, with time for everybody else in between: a piece of one byte
 * costs as much as one of a thousand, and a read of the socket brings ten thousand of them. However many connections and clients
 * send so, together they get a share of the time.
 */
export class PieceTurns {
  private readonly waiting: { readonly flow: WaitingFlow; readonly milliseconds: number }[] = [];
  private timer: NodeJS.Timeout | undefined = undefined;

  /** True when so many pieces and bytes in one turn of the event loop are too small to be read on. */
  areTooSmall(pieces: number, bytes: number): boolean {
    return pieces > FREE_PIECES && bytes < pieces * SMALL_PIECE_BYTES;
  }

  /** Has a flow that is paused wait for its turn, the longer the more pieces it had. */
  wait(flow: WaitingFlow, pieces: number): void {
    this.waiting.push({ flow, milliseconds: pieces * WAIT_PER_PIECE_MS });
    this.schedule();
  }

  /** Lets the next one read on. */
  next(): void {
    this.timer = undefined;
    let next = this.waiting.shift();
    while (next?.flow.destroyed === true) next = this.waiting.shift();
    next?.flow.resume();
    this.schedule();
  }

  private schedule(): void {
    const [first] = this.waiting;
    if (first === undefined || this.timer !== undefined) return;
    this.timer = setTimeout(next, Math.ceil(first.milliseconds), this);
  }
}

function next(turns: PieceTurns): void {
  turns.next();
}
