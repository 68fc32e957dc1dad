/**
 * Runs work in its order, little of it in one turn of the event loop: very many connections may bring work at once, each of them
 * only a little. Sizes are in any unit.
 */
export class TurnQueue {
  private readonly limit: number;
  private readonly waiting: { readonly size: number; readonly work: () => void }[] = [];
  private size = 0;
  private end: NodeJS.Immediate | undefined = undefined;

  /** `limit` is the size of the work in one turn, besides the last one that begins in it. */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** Does work of that size: at once, or in a later turn of the event loop. */
  add(size: number, work: () => void): void {
    this.waiting.push({ size, work });
    if (this.waiting.length === 1) this.next();
  }

  /** The turn of the event loop is over. */
  endTurn(): void {
    this.end = undefined;
    this.size = 0;
    this.next();
  }

  private next(): void {
    while (this.size < this.limit) {
      const next = this.waiting.shift();
      if (next === undefined) break;
      this.size += next.size;
      // Before the work: should it throw, the rest still has its turn.
      if (this.size > 0) this.end ??= setImmediate(endTurn, this);
      next.work();
    }
  }
}

function endTurn(queue: TurnQueue): void {
  queue.endTurn();
}
