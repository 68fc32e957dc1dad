import type { CollectorMemory } from '../http/byte-collector.ts';
import type { WorkMemory } from '../json/tape.ts';
import type { GatewayContext } from './gateway-context.ts';
import type { OpenExchange } from './slow-clients.ts';

/** The share of the memory from which on slow clients are detected. */
const WATCHED_SHARE = 3 / 4;
/** The share of the memory that responses to slow readers may use while connections are scarce. */
const AHEAD_SHARE = 1 / 2;

/** The exchange whose memory it is. */
export interface MemoryOwner extends OpenExchange {
  /** True once the exchange is over: no callback runs after work that ends later. */
  readonly isFinished: boolean;
  /** Runs the callback of a piece of work. */
  guarded(next: () => void): void;
}

/** The memory that all exchanges share. */
type SharedMemory = Pick<GatewayContext, 'budget' | 'bodyMemory' | 'slowClients'>;

/**
 * The memory of one exchange: the bytes that it has reserved in the gateway's budget, the buffers of its bodies, and the work on them in
 * other threads. The gateway gives back the reservation when the exchange ends, and the buffers when it is logged; while a thread works
 * on a body, both wait.
 */
export class ExchangeMemory implements CollectorMemory {
  /** True once the exchange needed more than the whole budget. */
  needsTooMuch = false;
  private readonly owner: MemoryOwner;
  private readonly shared: SharedMemory;
  private acquired: Uint8Array[] = [];
  /** Bytes reserved for buffering. */
  private buffered = 0;
  /** Bytes reserved for a response that its client reads slowly, and how many of them are left. */
  private ahead = 0;
  private aheadLeft = 0;
  private workInProgress = 0;

  constructor(owner: MemoryOwner, shared: SharedMemory) {
    this.owner = owner;
    this.shared = shared;
  }

  /** Bytes reserved for buffering. */
  get reserved(): number {
    return this.buffered;
  }

  /** Bytes that the budget would get back if the exchange ended now. */
  get freeable(): number {
    return this.workInProgress > 0 ? 0 : this.buffered + this.ahead;
  }

  /** True once the gateway has read some of a response before its client could take it. */
  get isAhead(): boolean {
    return this.ahead > 0;
  }

  /** Reserves bytes for buffering, until the exchange is over; false when they do not fit. */
  reserve(bytes: number): boolean {
    const { budget, slowClients } = this.shared;
    if (budget.exceeds(this.buffered + bytes)) {
      this.needsTooMuch = true;
      return false;
    }
    if (!budget.acquire(bytes) && !(slowClients.makeMemory(this.owner, bytes) && budget.acquire(bytes)))
      return false;
    this.buffered += bytes;
    if (budget.held > budget.limit * WATCHED_SHARE) slowClients.watch();
    return true;
  }

  /** Returns all but so many of the bytes that are reserved for buffering. */
  giveBackTo(bytes: number): void {
    this.shared.budget.release(this.buffered - bytes);
    this.buffered = bytes;
  }

  /** Reserves bytes for the rest of a response whose client reads slowly; false when they do not fit. */
  reserveAhead(bytes: number): boolean {
    const { budget } = this.shared;
    if (!budget.fits(bytes, AHEAD_SHARE, 1) || !budget.acquire(bytes, 1)) return false;
    this.ahead += bytes;
    this.aheadLeft += bytes;
    return true;
  }

  /** Takes bytes from those that `reserveAhead` reserved; false when too few are left. */
  takeAhead(bytes: number): boolean {
    if (this.ahead === 0 || this.aheadLeft < bytes) return false;
    this.aheadLeft -= bytes;
    return true;
  }

  /**
   * Runs work, possibly in another thread. All reservations last until it calls `finish`, even if the client disconnects; its callback is
   * skipped if the exchange is over by then. The memory for the work is reserved like buffered bytes, or, with `copies`, that many times
   * and only for the time of the work.
   */
  work(start: (memory: WorkMemory, finish: (next: () => void) => void) => void, copies?: 1): void {
    const { budget } = this.shared;
    let taken = 0;
    const memory: WorkMemory = {
      take: (bytes) => {
        if (copies === undefined) return this.reserve(bytes);
        if (budget.acquire(bytes, copies)) {
          taken += bytes;
          return true;
        }
        this.needsTooMuch ||= budget.exceeds(this.buffered, taken + bytes);
        return false;
      },
    };
    this.workInProgress += 1;
    start(memory, (next) => {
      this.workInProgress -= 1;
      budget.release(taken, copies);
      if (this.owner.isFinished) this.end();
      else this.owner.guarded(next);
    });
  }

  /** Runs work on one text of a stream; its memory is reserved only for the time of the work. */
  during<Result>(work: (memory: WorkMemory) => Result): Result {
    const { budget } = this.shared;
    let taken = 0;
    const take = (bytes: number): boolean => {
      if (!budget.acquire(bytes, 1)) return false;
      taken += bytes;
      return true;
    };
    try {
      return work({ take });
    } finally {
      budget.release(taken, 1);
    }
  }

  /** Returns the reservation to the budget when the exchange is over, or when a thread that works on a body ends its work. */
  end(): void {
    if (this.workInProgress > 0) return;
    const { budget } = this.shared;
    budget.release(this.buffered);
    budget.release(this.ahead, 1);
    this.buffered = this.ahead = this.aheadLeft = 0;
  }

  acquire(bytes: number): Uint8Array {
    const buffer = this.shared.bodyMemory.acquire(bytes);
    this.acquired.push(buffer);
    return buffer;
  }

  release(buffer: Uint8Array): void {
    this.acquired = this.acquired.filter((each) => each !== buffer);
    this.shared.bodyMemory.release(buffer);
  }

  own(part: Uint8Array): Uint8Array {
    const buffer = this.shared.bodyMemory.own(part);
    this.acquired.push(buffer);
    return buffer;
  }

  /** Leaves all buffers to the garbage collector: abandoned work may still read them. */
  abandon(): void {
    this.acquired = [];
  }

  /** Releases all buffers, once no code reads the bodies any more, except while a thread works on them. */
  releaseAll(): void {
    if (this.workInProgress > 0) return;
    for (const buffer of this.acquired) this.shared.bodyMemory.release(buffer);
    this.acquired = [];
  }
}
