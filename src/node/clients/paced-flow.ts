import type { Readable } from 'node:stream';
import type { Flow, PieceTurns } from './piece-turns.ts';

/**
 * The reading of one body, which stops while nobody wants more of it, and while bodies in tiny pieces have their turns. It stops at the
 * connection: a paused stream keeps the parts that a read still brings one by one.
 */
export class PacedFlow {
  private readonly source: Readable;
  private readonly flow: Flow;
  private readonly turns: PieceTurns;
  /** Parts and bytes of this turn of the event loop. */
  private pieces = 0;
  private bytes = 0;
  private isPaused = false;
  /** True while it waits for its turn, among bodies that are cut into tiny pieces. */
  private isHeld = false;

  constructor(source: Readable, turns: PieceTurns) {
    this.source = source;
    this.flow = flowOf(source);
    this.turns = turns;
  }

  /** True when its connection is gone. */
  get destroyed(): boolean {
    return this.flow.destroyed;
  }

  /** Takes over when the connection is read: Node reads it on whenever a part of the body is taken. */
  start(): void {
    if (this.flow === this.source) return;
    this.source._read = ignore;
    // Node may have stopped below the stream, which only a new beginning ends.
    this.flow.pause();
    this.flow.resume();
  }

  /** Counts a part. Tiny ones are not read on in this turn: the system would hand out thirty times what fits one read. */
  count(bytes: number): void {
    this.pieces += 1;
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

  /** It is its turn, among bodies that are cut into tiny pieces. */
  resume(): void {
    this.isHeld = false;
    if (!this.isPaused) this.flow.resume();
  }

  /** Nobody wants more for now. */
  pause(): void {
    if (this.isPaused) return;
    this.isPaused = true;
    this.flow.pause();
  }

  /** More is wanted again. */
  readOn(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    if (!this.isHeld) this.flow.resume();
  }
}

/** Node's request is paused at its connection; a stream of HTTP/2 has a window of its own, and other runtimes bodies of their own. */
function flowOf(source: Readable): Flow {
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

/** Whoever reads the connection brings the body. */
function ignore(): void {}
