/**
 * How often a body is in memory while it is rewritten: as it came, and as it will be written. Both are taken at once, so that no body
 * is taken in whose rewritten form finds no room.
 */
export const REWRITING_COPIES = 2;

/** The bytes that all requests together may hold. */
export class BufferBudget {
  /** Bytes held now, every copy counted. */
  held = 0;
  readonly limit: number;
  private readonly copies: number;

  /** `copies` is how often each byte that is taken is in memory. */
  constructor(limit: number, copies = 1) {
    this.limit = limit;
    this.copies = copies;
  }

  /** Takes `bytes` from the budget; false, and nothing taken, when they are not there. */
  take(bytes: number): boolean {
    const all = bytes * this.copies;
    if (this.held + all > this.limit) return false;
    this.held += all;
    return true;
  }

  /** Gives back what was taken. */
  release(bytes: number): void {
    this.held -= bytes * this.copies;
  }
}
