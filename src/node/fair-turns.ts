import { IndexPool } from '../gateway/limits.ts';

/** A flow that can be paused and resumed. */
export interface Flow {
  /** True when it never resumes. */
  readonly destroyed: boolean;
  pause(): void;
  resume(): void;
}

/** A paused flow that waits for its turn. */
type WaitingFlow = Pick<Flow, 'destroyed' | 'resume'>;

/** A flow that may consist of tiny pieces. */
export interface ThrottledFlow {
  /** Stops reading until the turn of the event loop is over. */
  pauseForTick(): void;
  resumeAfterTick(): void;
}

/** Pieces of a body in one turn of the event loop that are read without delay. */
const FREE_PIECES = 256;
/** Minimum size in bytes of a piece that does not count as tiny. */
const SMALL_PIECE_BYTES = 128;
/** Tiny pieces of all bodies in one turn of the event loop; after that, all bodies wait for the next turn. */
const PIECES_PER_TURN = 8192;
/**
 * Bytes of all bodies in one turn of the event loop. Each body may exceed its share by one read: after a read that fills its buffer, Node
 * reads up to 31 times more.
 */
const BYTES_PER_TURN = 8 * 1024 * 1024;
/** Milliseconds that all bodies wait for each tiny piece: reading one takes a quarter of that, so others get the rest. */
const WAIT_PER_PIECE_MS = 0.004;

/**
 * Reads bodies that arrive in tiny pieces one at a time, with time for other work in between: a piece of one byte takes as long as one of
 * a thousand, and one read of a socket may contain ten thousand. All clients that send this way share a fixed part of the time and of
 * each turn of the event loop.
 */
export class TickBudget {
  private readonly waiting: { readonly flow: WaitingFlow; readonly milliseconds: number }[] = [];
  private readonly flows = new IndexPool<ThrottledFlow>();
  /** Tiny pieces of all bodies in this turn of the event loop. */
  private pieces = 0;
  /** Bytes of all bodies in this turn of the event loop. */
  private bytes = 0;
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

  /** True when the pieces of one turn of the event loop are too small on average to keep reading. */
  areTooSmall(pieces: number, bytes: number): boolean {
    return pieces > FREE_PIECES && bytes < pieces * SMALL_PIECE_BYTES;
  }

  /** True when a body with so many bytes in this turn of the event loop must wait for the next one. */
  isShareUsed(bytes: number): boolean {
    return this.bytes >= BYTES_PER_TURN || bytes >= BYTES_PER_TURN / this.flows.size;
  }

  /** Starts counting a body; returns its slot, for `close`. */
  begin(flow: ThrottledFlow): number {
    if (this.isFull) flow.pauseForTick();
    return this.flows.add(flow);
  }

  /** Stops counting the body in a slot. */
  close(slot: number): void {
    this.flows.remove(slot);
  }

  /** Counts pieces of any body in this turn of the event loop. */
  count(bytes: number, pieces = 1): void {
    this.end ??= setImmediate(TickBudget.endTurn, this);
    this.bytes += bytes;
    if (bytes >= pieces * SMALL_PIECE_BYTES) return;
    const wasFull = this.isFull;
    this.pieces += pieces;
    if (wasFull || !this.isFull) return;
    for (const flow of this.flows) flow.pauseForTick();
  }

  private endTurn(): void {
    this.end = undefined;
    const wasFull = this.isFull;
    this.pieces = 0;
    this.bytes = 0;
    if (wasFull) for (const flow of this.flows) flow.resumeAfterTick();
  }

  /** Queues a paused flow for its turn; the more pieces it had, the longer it waits. */
  wait(flow: WaitingFlow, pieces: number): void {
    this.waiting.push({ flow, milliseconds: pieces * this.waitPerPieceMs });
    this.schedule();
  }

  private next(): void {
    this.timer = undefined;
    let next = this.waiting.shift();
    while (next?.flow.destroyed === true) next = this.waiting.shift();
    next?.flow.resume();
    this.schedule();
  }

  private schedule(): void {
    const [first] = this.waiting;
    if (first === undefined || this.timer !== undefined) return;
    this.timer = setTimeout(TickBudget.next, Math.ceil(first.milliseconds), this);
  }

  private static endTurn(this: void, turns: TickBudget): void {
    turns.endTurn();
  }

  private static next(this: void, turns: TickBudget): void {
    turns.next();
  }
}

interface WaitingWork {
  readonly size: number;
  readonly work: () => void;
}

/**
 * Spreads work over turns of the event loop, for example when thousands of connections bring much of it at once. Groups, such as
 * connections, take turns; the work of one group runs in order. Sizes are in any unit.
 */
export class FairQueue<Group> {
  /** Number of waiting pieces of work. */
  waiting = 0;
  private readonly limit: number;
  private readonly groups = new Map<Group, WaitingWork[]>();
  private size = 0;
  private end: NodeJS.Immediate | undefined = undefined;

  /** `limit` is the size of the work in one turn; the last piece may exceed it. */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** Runs work now or in a later turn of the event loop. */
  add(group: Group, size: number, work: () => void): void {
    if (this.waiting === 0 && this.size < this.limit) {
      this.run(size, work);
      return;
    }
    this.waiting += 1;
    const waiting = this.groups.get(group);
    if (waiting === undefined) this.groups.set(group, [{ size, work }]);
    else waiting.push({ size, work });
    this.end?.ref();
  }

  private endTurn(): void {
    this.end = undefined;
    this.size = 0;
    while (this.size < this.limit) {
      const next = this.next();
      if (next === undefined) return;
      this.run(next.size, next.work);
    }
  }

  /** Takes the first work of the next group, which then queues behind the others. */
  private next(): WaitingWork | undefined {
    for (const [group, waiting] of this.groups) {
      const next = waiting.shift();
      this.groups.delete(group);
      if (waiting.length > 0) this.groups.set(group, waiting);
      this.waiting -= 1;
      return next;
    }
    return undefined;
  }

  private run(size: number, work: () => void): void {
    this.size += size;
    // Before the work, so that the rest still has its turn if it throws. Unreferenced while nothing waits.
    if (this.size > 0) this.end ??= setImmediate(FairQueue.endQueueTurn, this).unref();
    if (this.waiting > 0) this.end?.ref();
    work();
  }

  private static endQueueTurn<Group>(this: void, queue: FairQueue<Group>): void {
    queue.endTurn();
  }
}

/**
 * Reads one body, and pauses while its consumer is busy or bodies in tiny pieces take turns. It pauses the connection: a paused
 * stream would still buffer the parts of a read one by one.
 */
export class ReadThrottle implements ThrottledFlow {
  private readonly flow: Flow;
  private readonly turns: TickBudget;
  private readonly onTurnChange: () => void;
  /** Its slot in `turns`. */
  private slot: number | undefined = undefined;
  /** Pieces and bytes in this turn of the event loop. */
  private pieces = 0;
  private bytes = 0;
  private isPaused = false;
  /** True while it waits for its turn among bodies that are cut into tiny pieces. */
  private isWaiting = false;
  /** True while all bodies wait for the next turn of the event loop. */
  private isTickFull = false;
  /** True while only this body waits for it, because it has read its share. */
  private hasReadShare = false;

  /** `onTurnChange` is called when it starts or stops waiting for its turn. */
  constructor(flow: Flow, turns: TickBudget, onTurnChange: () => void) {
    this.flow = flow;
    this.turns = turns;
    this.onTurnChange = onTurnChange;
  }

  /** True while it is not read, because there are many tiny pieces and others come first. */
  get waitsForTurn(): boolean {
    return this.isWaiting || this.isTickFull;
  }

  /** True when its connection is closed. */
  get destroyed(): boolean {
    return this.flow.destroyed;
  }

  start(): void {
    this.slot = this.turns.begin(this);
  }

  /**
   * Counts a part of so many pieces. After tiny ones, reading stops for this turn: the kernel would otherwise deliver thirty times as
   * many as fit into one read.
   */
  count(bytes: number, pieces = 1): void {
    this.pieces += pieces;
    this.bytes += bytes;
    this.turns.count(bytes, pieces);
    if (!this.hasReadShare && this.turns.isShareUsed(this.bytes)) {
      this.hasReadShare = true;
      this.flow.pause();
    }
    if (this.isWaiting || !this.turns.areTooSmall(this.pieces, this.bytes)) return;
    this.isWaiting = true;
    this.flow.pause();
    this.onTurnChange();
  }

  /** Call it when the body is complete, or no longer read. */
  end(): void {
    if (this.slot !== undefined) this.turns.close(this.slot);
    this.slot = undefined;
    if (this.isTickFull) this.resumeAfterTick();
  }

  /** Stops reading until all bodies have waited for the next turn of the event loop. */
  pauseForTick(): void {
    this.isTickFull = true;
    this.flow.pause();
    this.onTurnChange();
  }

  resumeAfterTick(): void {
    this.isTickFull = false;
    this.maybeResume();
    this.onTurnChange();
  }

  /** The turn of the event loop is over. */
  endTurn(): void {
    if (this.isWaiting && this.pieces > 0) this.turns.wait(this, this.pieces);
    this.pieces = 0;
    this.bytes = 0;
    if (!this.hasReadShare) return;
    this.hasReadShare = false;
    this.maybeResume();
  }

  /** Resumes when its turn among bodies in tiny pieces has come. */
  resume(): void {
    this.isWaiting = false;
    this.maybeResume();
    this.onTurnChange();
  }

  /** Pauses because the consumer is busy. */
  pause(): void {
    if (this.isPaused) return;
    this.isPaused = true;
    this.flow.pause();
  }

  /** Resumes because the consumer is ready. */
  readMore(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.maybeResume();
  }

  private maybeResume(): void {
    if (!this.isPaused && !this.isWaiting && !this.isTickFull && !this.hasReadShare) this.flow.resume();
  }
}

let waiting: (() => void)[] = [];

/** Runs a function once all readable sockets of this turn of the event loop have been read; one that is added meanwhile runs right after. */
export function onCheckPhase(run: () => void): void {
  if (waiting.length === 0) setImmediate(runAll);
  waiting.push(run);
}

function runAll(): void {
  // The loop also visits those that are added meanwhile.
  for (const run of waiting) {
    try {
      run();
    } catch (error) {
      throwLater(error);
    }
  }
  waiting = [];
}

/** Throws an error in a separate turn, so that it interrupts no other code. */
export function throwLater(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
