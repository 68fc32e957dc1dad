/** Work that waits. */
interface WaitingWork {
  readonly size: number;
  readonly work: () => void;
}

/**
 * Runs work, little of it in one turn of the event loop: very many connections may bring work at once, and each of them a lot. The
 * work of one group is done in its order, and groups, such as connections, take turns. Sizes are in any unit.
 */
export class TurnQueue<Group> {
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
  endTurn(): void {
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
    if (this.size > 0) this.end ??= setImmediate(endTurn, this).unref();
    if (this.waiting > 0) this.end?.ref();
    work();
  }
}

function endTurn<Group>(queue: TurnQueue<Group>): void {
  queue.endTurn();
}
