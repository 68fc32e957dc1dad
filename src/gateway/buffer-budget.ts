/** The bytes that all requests together may hold for rewriting. */
export class BufferBudget {
  /** Bytes held now. */
  held = 0;
  readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Takes `bytes` from the budget; false, and nothing taken, when they are not there. */
  take(bytes: number): boolean {
    if (this.held + bytes > this.limit) return false;
    this.held += bytes;
    return true;
  }

  /** Gives back what was taken. */
  release(bytes: number): void {
    this.held -= bytes;
  }
}
