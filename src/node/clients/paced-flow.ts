import { IS_NODE } from '../runtime.ts';
import type { Flow, HeldFlow, PieceTurns } from '../piece-turns.ts';

/** A source of a body; `_read` is that of a stream of Node. */
interface PacedSource extends Flow {
  _read?(size: number): void;
}

/**
 * Reads one body, and pauses while its consumer wants no more, and while bodies in tiny pieces take turns. It pauses the
 * connection: a paused stream would still buffer, one by one, the parts that a read brings.
 */
export class PacedFlow implements HeldFlow {
  private readonly source: PacedSource;
  private readonly flow: Flow;
  private readonly turns: PieceTurns;
  private readonly onTurnChange: () => void;
  /** Its slot among the flows of bodies that are read. */
  private slot: number | undefined = undefined;
  /** Parts and bytes of this turn of the event loop. */
  private pieces = 0;
  private bytes = 0;
  private isPaused = false;
  /** True while it waits for its turn among bodies that are cut into tiny pieces. */
  private isWaiting = false;
  /** True while all bodies wait for the next turn of the event loop. */
  private isHeld = false;

  /** `onTurnChange` is called when it begins or ends to wait for its turn. */
  constructor(source: PacedSource, turns: PieceTurns, onTurnChange: () => void) {
    this.source = source;
    this.flow = flowOf(source);
    this.turns = turns;
    this.onTurnChange = onTurnChange;
  }

  /** True while it is not read, because there are many tiny pieces and others come first. */
  get waitsForTurn(): boolean {
    return this.isWaiting || this.isHeld;
  }

  /** True when its connection is closed. */
  get destroyed(): boolean {
    return this.flow.destroyed;
  }

  /** Takes control of reading: Node resumes the connection whenever a part of the body is consumed. */
  start(): void {
    if (this.flow !== this.source) {
      this.source._read = ignore;
      // Node may have paused below the stream; only pause and resume ends that.
      this.flow.pause();
      this.flow.resume();
    }
    this.slot = this.turns.begin(this);
  }

  /**
   * Counts a part of so many pieces. Tiny ones end the reading for this turn: the system would deliver thirty times as many as fit
   * one read.
   */
  count(bytes: number, pieces = 1): void {
    this.pieces += pieces;
    this.bytes += bytes;
    this.turns.count(bytes, pieces);
    if (this.isWaiting || !this.turns.areTooSmall(this.pieces, this.bytes)) return;
    this.isWaiting = true;
    this.flow.pause();
    this.onTurnChange();
  }

  /** The body is complete, or nobody reads it any more. */
  end(): void {
    if (this.slot !== undefined) this.turns.close(this.slot);
    this.slot = undefined;
    if (this.isHeld) this.release();
  }

  /** Stops reading until all bodies have waited for the next turn of the event loop. */
  hold(): void {
    this.isHeld = true;
    this.flow.pause();
    this.onTurnChange();
  }

  release(): void {
    this.isHeld = false;
    this.goOn();
    this.onTurnChange();
  }

  /** The turn of the event loop is over. */
  endTurn(): void {
    if (this.isWaiting && this.pieces > 0) this.turns.wait(this, this.pieces);
    this.pieces = 0;
    this.bytes = 0;
  }

  /** Resumes in its turn, among bodies that are cut into tiny pieces. */
  resume(): void {
    this.isWaiting = false;
    this.goOn();
    this.onTurnChange();
  }

  /** Pauses: the consumer wants no more for now. */
  pause(): void {
    if (this.isPaused) return;
    this.isPaused = true;
    this.flow.pause();
  }

  /** Resumes: the consumer wants more. */
  readMore(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.goOn();
  }

  private goOn(): void {
    if (!this.isPaused && !this.isWaiting && !this.isHeld) this.flow.resume();
  }
}

/**
 * Node's request is paused at its connection; what the gateway reads itself pauses by itself, and other runtimes have their own bodies.
 */
function flowOf(source: Flow): Flow {
  if (!IS_NODE) return source;
  return 'socket' in source && isFlow(source.socket) ? source.socket : source;
}

function isFlow(value: unknown): value is Flow {
  return (
    typeof value === 'object' &&
    value !== null &&
    'pause' in value &&
    'resume' in value &&
    'destroyed' in value
  );
}

/** The connection delivers the body once it is read. */
function ignore(): void {}
