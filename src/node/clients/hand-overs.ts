/** Bytes of connections that Node's server takes over in one turn of the event loop, besides the last of them. */
const BYTES_PER_TURN = 64 * 1024;

/**
 * Lets Node's server read the first bytes of connections that are handed over to it, few in one turn of the event loop: they may be
 * ten thousand chunks of one byte, and many connections may bring them at once.
 */
export class HandOvers {
  private readonly waiting: { readonly bytes: number; readonly read: () => void }[] = [];
  private bytes = 0;
  private end: NodeJS.Immediate | undefined = undefined;

  /** Calls `read`, which reads that many bytes: at once, or in a later turn of the event loop. */
  add(bytes: number, read: () => void): void {
    this.waiting.push({ bytes, read });
    if (this.waiting.length === 1) this.readNext();
  }

  /** The turn of the event loop is over. */
  endTurn(): void {
    this.end = undefined;
    this.bytes = 0;
    this.readNext();
  }

  private readNext(): void {
    while (this.bytes < BYTES_PER_TURN) {
      const next = this.waiting.shift();
      if (next === undefined) break;
      this.bytes += next.bytes;
      next.read();
    }
    if (this.bytes > 0) this.end ??= setImmediate(endTurn, this);
  }
}

function endTurn(handOvers: HandOvers): void {
  handOvers.endTurn();
}
