/** A flow that can be paused and resumed. */
export interface Flow {
  /** True when it never resumes. */
  readonly destroyed: boolean;
  pause(): void;
  resume(): void;
}

/** Resumes in its turn. */
type WaitingFlow = Pick<Flow, 'destroyed' | 'resume'>;

/** Pieces of a body in one turn of the event loop that are read without delay. */
const FREE_PIECES = 256;
/** Minimum size in bytes of a piece that does not count as tiny. */
const SMALL_PIECE_BYTES = 128;
/** Milliseconds that all bodies wait for each piece that Node's parser reads: that takes a quarter of it, so others get the rest. */
const WAIT_PER_PIECE_MS = 0.004;

/**
 * Reads bodies that are cut into tiny pieces one after the other, with time for all others in between: a piece of one byte costs
 * as much as one of a thousand, and one read of the socket brings ten thousand of them. However many connections and clients send
 * this way, together they get a fixed share of the time.
 */
export class PieceTurns {
  private readonly waiting: { readonly flow: WaitingFlow; readonly milliseconds: number }[] = [];
  private timer: NodeJS.Timeout | undefined = undefined;
  private readonly waitPerPieceMs: number;

  /** `waitPerPieceMs` is some times what reading a piece takes, in milliseconds. */
  constructor(waitPerPieceMs = WAIT_PER_PIECE_MS) {
    this.waitPerPieceMs = waitPerPieceMs;
  }

  /** True when so many pieces and bytes in one turn of the event loop are too small to read on. */
  areTooSmall(pieces: number, bytes: number): boolean {
    return pieces > FREE_PIECES && bytes < pieces * SMALL_PIECE_BYTES;
  }

  /** Queues a paused flow for its turn; the more pieces it had, the longer it waits. */
  wait(flow: WaitingFlow, pieces: number): void {
    this.waiting.push({ flow, milliseconds: pieces * this.waitPerPieceMs });
    this.schedule();
  }

  /** Resumes the next flow. */
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
