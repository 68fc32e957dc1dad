import type { Flow, PieceTurns } from '../piece-turns.ts';

/** A source of a body; `_read` is that of a stream of Node. */
interface PacedSource extends Flow {
  _read?(size: number): void;
}

/**
 * Reads one body, and pauses while its consumer wants no more, and while bodies in tiny pieces take turns. It pauses the
 * connection: a paused stream would still buffer, one by one, the parts that a read brings.
 */
export class PacedFlow {
  private readonly source: PacedSource;
  private readonly flow: Flow;
  private readonly turns: PieceTurns;
  /** Parts and bytes of this turn of the event loop. */
  private pieces = 0;
  private bytes = 0;
  private isPaused = false;
  /** True while it waits for its turn among bodies that are cut into tiny pieces. */
  private isHeld = false;

  constructor(source: PacedSource, turns: PieceTurns) {
    this.source = source;
    this.flow = flowOf(source);
    this.turns = turns;
  }

  /** True when its connection is closed. */
  get destroyed(): boolean {
    return this.flow.destroyed;
  }

  /** Takes control of reading: Node resumes the connection whenever a part of the body is consumed. */
  start(): void {
    if (this.flow === this.source) return;
    this.source._read = ignore;
    // Node may have paused below the stream; only pause and resume ends that.
    this.flow.pause();
    this.flow.resume();
  }

  /**
   * Counts a part of so many pieces. Tiny ones end the reading for this turn: the system would deliver thirty times as many as fit
   * one read.
   */
  count(bytes: number, pieces = 1): void {
    this.pieces += pieces;
    this.bytes += bytes;
    if (this.isHeld || !this.turns.areTooSmall(this.pieces, this.bytes)) return;
    this.isHeld = true;
    this.flow.pause();
  }

  /** The turn of the event loop is over. */
  endTurn(): void {
    if (this.isHeld && this.pieces > 0) this.turns.wait(this, this.pieces);
    this.pieces = 0;
    this.bytes = 0;
  }

  /** Resumes in its turn, among bodies that are cut into tiny pieces. */
  resume(): void {
    this.isHeld = false;
    if (!this.isPaused) this.flow.resume();
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
    if (!this.isHeld) this.flow.resume();
  }
}

/**
 * Node's request is paused at its connection; an HTTP/2 stream has a window of its own, and other runtimes have their own bodies.
 */
function flowOf(source: Flow): Flow {
  if ('bun' in process.versions || 'deno' in process.versions) return source;
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
