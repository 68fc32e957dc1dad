/** What reading costs in one turn of the event loop, of all connections together, in frames. */
const FRAMES_PER_TURN = 2048;
/** Requests that begin in one turn of the event loop: one read of a connection brings a hundred. */
const REQUESTS_PER_TURN = 24;
/** What a request costs that begins, in frames. */
export const REQUEST_COST = Math.ceil(FRAMES_PER_TURN / REQUESTS_PER_TURN);

/** A connection that has bytes to read. */
export interface ReadingConnection {
  /** Its turn has come. */
  readOn(): void;
}

/**
 * Bounds what all HTTP/2 connections together bring in one turn of the event loop: requests, and frames, of which one of a byte costs as
 * much as one of a thousand. Beyond it no connection is read until the next turn, when those that wait are read one after the other.
 */
export class H2Turns {
  private cost = 0;
  private end: NodeJS.Immediate | undefined = undefined;
  private waiting: ReadingConnection[] = [];

  /** True when nothing more is to be read in this turn. */
  get isFull(): boolean {
    return this.cost >= FRAMES_PER_TURN;
  }

  /** Counts what was read, in frames. */
  count(cost: number): void {
    this.cost += cost;
    this.end ??= setImmediate(endTurn, this).unref();
  }

  /** Queues a connection that was not read to its end, once. */
  wait(connection: ReadingConnection): void {
    this.waiting.push(connection);
    this.end ??= setImmediate(endTurn, this);
    this.end.ref();
  }

  /** The turn of the event loop is over. */
  endTurn(): void {
    this.end = undefined;
    this.cost = 0;
    const { waiting } = this;
    this.waiting = [];
    for (const [at, connection] of waiting.entries()) {
      if (this.isFull) {
        // Those that came in the meantime queue behind them.
        this.waiting = [...waiting.slice(at), ...this.waiting];
        this.end ??= setImmediate(endTurn, this);
        this.end.ref();
        return;
      }
      connection.readOn();
    }
  }
}

function endTurn(turns: H2Turns): void {
  turns.endTurn();
}
