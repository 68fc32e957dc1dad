/** Limits the bytes that all requests together may hold. */
export class BufferBudget {
  /** Bytes held now, counting every copy. */
  held = 0;
  readonly limit: number;
  private readonly copies: number;

  /** `copies` is the number of copies of each byte in memory. */
  constructor(limit: number, copies = 1) {
    this.limit = limit;
    this.copies = copies;
  }

  /** Reserves `bytes`, for all copies or for `copies`; returns false and reserves nothing when they do not fit. */
  take(bytes: number, copies = this.copies): boolean {
    const total = bytes * copies;
    if (this.held + total > this.limit) return false;
    this.held += total;
    return true;
  }

  /** True when `bytes` fit into a share of the limit, beside what is held. */
  fits(bytes: number, share: number): boolean {
    return this.held + bytes * this.copies <= this.limit * share;
  }

  /** Releases reserved bytes. */
  release(bytes: number, copies = this.copies): void {
    this.held -= bytes * copies;
  }
}
