import { Slots } from '../gateway/limits.ts';

/** A flow that can be paused and resumed. */
export interface Flow {
  /** True when it never resumes. */
  readonly destroyed: boolean;
  pause(): void;
  resume(): void;
}

/** Resumes in its turn. */
type WaitingFlow = Pick<Flow, 'destroyed' | 'resume'>;

/** A flow of which tiny pieces are read. */
export interface HeldFlow {
  /** Stops reading until the turn of the event loop is over. */
  hold(): void;
  release(): void;
}

/** Pieces of a body in one turn of the event loop that are read without delay. */
const FREE_PIECES = 256;
/** Minimum size in bytes of a piece that does not count as tiny. */
const SMALL_PIECE_BYTES = 128;
/** Tiny pieces of all bodies in one turn of the event loop: then all bodies wait for the next one. */
const PIECES_PER_TURN = 8192;
/** Milliseconds that all bodies wait for each piece that Node's parser reads: that takes a quarter of it, so others get the rest. */
const WAIT_PER_PIECE_MS = 0.004;

/**
 * Reads bodies that are cut into tiny pieces one after the other, with time for all others in between: a piece of one byte costs
 * as much as one of a thousand, and one read of the socket brings ten thousand of them. However many connections and clients send
 * this way, together they get a fixed share of the time, and of one turn of the event loop.
 */
export class PieceTurns {
  private readonly waiting: { readonly flow: WaitingFlow; readonly milliseconds: number }[] = [];
  private readonly flows = new Slots<HeldFlow>();
  /** Tiny pieces of all bodies in this turn of the event loop. */
  private pieces = 0;
  private end: NodeJS.Immediate | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;
  private readonly waitPerPieceMs: number;
  private readonly piecesPerTurn: number;

  /** `waitPerPieceMs` is a multiple of the time that reading a piece takes, in milliseconds. */
  constructor(waitPerPieceMs = WAIT_PER_PIECE_MS, piecesPerTurn = PIECES_PER_TURN) {
    this.waitPerPieceMs = waitPerPieceMs;
    this.piecesPerTurn = piecesPerTurn;
  }

  /** True when all bodies wait for the next turn of the event loop. */
  get isFull(): boolean {
    return this.pieces >= this.piecesPerTurn;
  }

  /** True when so many pieces and bytes in one turn of the event loop are too small to read on. */
  areTooSmall(pieces: number, bytes: number): boolean {
    return pieces > FREE_PIECES && bytes < pieces * SMALL_PIECE_BYTES;
  }

  /** A body is read from now on; returns its slot, for `close`. */
  begin(flow: HeldFlow): number {
    if (this.isFull) flow.hold();
    return this.flows.add(flow);
  }

  /** No more is read of the body in a slot. */
  close(slot: number): void {
    this.flows.remove(slot);
  }

  /** Counts pieces of any body in this turn of the event loop. */
  count(bytes: number, pieces = 1): void {
    if (bytes >= pieces * SMALL_PIECE_BYTES) return;
    this.end ??= setImmediate(endTurn, this);
    const wasFull = this.isFull;
    this.pieces += pieces;
    if (wasFull || !this.isFull) return;
    for (const flow of this.flows) flow.hold();
  }

  /** The turn of the event loop is over. */
  endTurn(): void {
    this.end = undefined;
    const wasFull = this.isFull;
    this.pieces = 0;
    if (wasFull) for (const flow of this.flows) flow.release();
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

function endTurn(turns: PieceTurns): void {
  turns.endTurn();
}

function next(turns: PieceTurns): void {
  turns.next();
}
