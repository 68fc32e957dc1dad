import { IndexPool } from '../gateway/limits.ts';

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
export interface ThrottledFlow {
  /** Stops reading until the turn of the event loop is over. */
  pauseForTick(): void;
  resumeAfterTick(): void;
}

/** Pieces of a body in one turn of the event loop that are read without delay. */
const FREE_PIECES = 256;
/** Minimum size in bytes of a piece that does not count as tiny. */
const SMALL_PIECE_BYTES = 128;
/** Tiny pieces of all bodies in one turn of the event loop: then all bodies wait for the next one. */
const PIECES_PER_TURN = 8192;
/** Bytes of all bodies in one turn of the event loop; each may have its share, and one read: one that fills its buffer is followed by up to 31 more. */
const BYTES_PER_TURN = 8 * 1024 * 1024;
/** Milliseconds that all bodies wait for each piece that Node's parser reads: that takes a quarter of it, so others get the rest. */
const WAIT_PER_PIECE_MS = 0.004;

/**
 * Reads bodies that are cut into tiny pieces one after the other, with time for all others in between: a piece of one byte costs
 * as much as one of a thousand, and one read of the socket brings ten thousand of them. However many connections and clients send
 * this way, together they get a fixed share of the time, and of one turn of the event loop.
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

  /** True when so many pieces and bytes in one turn of the event loop are too small to read on. */
  areTooSmall(pieces: number, bytes: number): boolean {
    return pieces > FREE_PIECES && bytes < pieces * SMALL_PIECE_BYTES;
  }

  /** True when a body that has brought so many bytes in this turn of the event loop waits for the next one. */
  isShareUsed(bytes: number): boolean {
    return this.bytes >= BYTES_PER_TURN || bytes >= BYTES_PER_TURN / this.flows.size;
  }

  /** A body is read from now on; returns its slot, for `close`. */
  begin(flow: ThrottledFlow): number {
    if (this.isFull) flow.pauseForTick();
    return this.flows.add(flow);
  }

  /** No more is read of the body in a slot. */
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

  /** The turn of the event loop is over. */
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

  /** Resumes the next flow. */
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

/** Work that waits. */
interface WaitingWork {
  readonly size: number;
  readonly work: () => void;
}

/**
 * Runs work, little of it in one turn of the event loop: very many connections may bring work at once, and each of them a lot. The
 * work of one group is done in its order, and groups, such as connections, take turns. Sizes are in any unit.
 */
export class FairQueue<Group> {
  /** Pieces of work that wait. */
  waiting = 0;
  private readonly limit: number;
  private readonly groups = new Map<Group, WaitingWork[]>();
  private size = 0;
  private end: NodeJS.Immediate | undefined = undefined;

  /** `limit` is the size of the work in one turn, besides the last one that begins in it. */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** Does work of that size: at once, or in a later turn of the event loop. */
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

  /** The turn of the event loop is over. */
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
    // Before the work: should it throw, the rest still has its turn. Where nothing waits, this makes no turn of its own.
    if (this.size > 0) this.end ??= setImmediate(FairQueue.endQueueTurn, this).unref();
    if (this.waiting > 0) this.end?.ref();
    work();
  }

  private static endQueueTurn<Group>(this: void, queue: FairQueue<Group>): void {
    queue.endTurn();
  }
}

/**
 * Reads one body, and pauses while its consumer wants no more, and while bodies in tiny pieces take turns. It pauses the
 * connection: a paused stream would still buffer, one by one, the parts that a read brings.
 */
export class ReadThrottle implements ThrottledFlow {
  private readonly flow: Flow;
  private readonly turns: TickBudget;
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
  private isTickFull = false;
  /** True while it waits for that alone, because it has read its share. */
  private hasReadShare = false;

  /** `onTurnChange` is called when it begins or ends to wait for its turn. */
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

  /** Takes control of reading. */
  start(): void {
    this.slot = this.turns.begin(this);
  }

  /** Counts a part of so many pieces. Tiny ones end the reading for this turn: the kernel would deliver thirty times as many as fit one read. */
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

  /** The body is complete, or nobody reads it any more. */
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

  /** Resumes in its turn, among bodies that are cut into tiny pieces. */
  resume(): void {
    this.isWaiting = false;
    this.maybeResume();
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
    this.maybeResume();
  }

  private maybeResume(): void {
    if (!this.isPaused && !this.isWaiting && !this.isTickFull && !this.hasReadShare) this.flow.resume();
  }
}

/** A body that is forwarded while it arrives, on a connection to V2 that no other request can use meanwhile. */
export interface StreamedBody {
  /** Bytes so far. */
  readonly bytes: number;
  /** True while the exchange waits for the client, not for V2. */
  readonly isWaitingForClient: boolean;
  /** Ends the body: its client is too slow. */
  tooSlow(): void;
}

/** Milliseconds over which the rate of a body is measured. */
const CHECK_MS = 2500;
/** Minimum bytes per second of a body while there are too many of them. */
const FAIR_RATE_BYTES = 16 * 1024;

/**
 * Keeps connections to V2 for requests that make use of them. While streamed bodies hold more than a share of the connections,
 * the slowest of those below 16 KiB per second are ended: 128 clients that send a byte now and then would block all other
 * requests.
 */
export class StreamedBodies {
  private readonly limit: number;
  private readonly all = new IndexPool<{ readonly body: StreamedBody; bytes: number; at: number }>();
  private timer: NodeJS.Timeout | undefined = undefined;

  /** `limit` is the number of bodies that may always stream. */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** Adds a body; returns its slot, for `remove`. */
  add(body: StreamedBody): number {
    const slot = this.all.add({ body, bytes: body.bytes, at: performance.now() });
    if (this.all.size > this.limit) this.timer ??= setInterval(StreamedBodies.endSlowest, CHECK_MS, this);
    return slot;
  }

  /** Removes the body in a slot. */
  remove(slot: number): void {
    this.all.remove(slot);
    if (this.all.size > this.limit) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Ends the slowest bodies until no more than the limit are left. */
  private endSlowest(): void {
    const now = performance.now();
    const slow: { readonly body: StreamedBody; readonly rate: number }[] = [];
    for (const since of this.all) {
      const { body } = since;
      const seconds = (now - since.at) / 1000;
      if (seconds * 1000 < CHECK_MS - 100) continue;
      const rate = (body.bytes - since.bytes) / seconds;
      if (body.isWaitingForClient && rate < FAIR_RATE_BYTES) slow.push({ body, rate });
      since.bytes = body.bytes;
      since.at = now;
    }
    slow.sort((left, right) => left.rate - right.rate);
    for (const { body } of slow.slice(0, Math.max(0, this.all.size - this.limit))) body.tooSlow();
  }

  private static endSlowest(this: void, bodies: StreamedBodies): void {
    // After the process stood still, what came in time is read first.
    onCheckPhase(() => bodies.endSlowest());
  }
}

let waiting: (() => void)[] = [];

/** Runs a function once all sockets that can be read in this turn of the event loop have been; one that is added meanwhile runs right after. */
export function onCheckPhase(run: () => void): void {
  if (waiting.length === 0) setImmediate(runAll);
  waiting.push(run);
}

function runAll(): void {
  // Those that are added meanwhile are part of it.
  for (const run of waiting) {
    try {
      run();
    } catch (error) {
      throwLater(error);
    }
  }
  waiting = [];
}

/** Throws an error in a turn of its own, so that it keeps nothing else from running. */
export function throwLater(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
