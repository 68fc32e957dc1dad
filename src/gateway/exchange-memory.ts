import type { CollectorMemory } from '../http/byte-collector.ts';

/** The memory for the bodies of one exchange, given back together when nobody reads them any more. */
export class ExchangeMemory implements CollectorMemory {
  private readonly source: CollectorMemory;
  private taken: Uint8Array[] = [];

  constructor(source: CollectorMemory) {
    this.source = source;
  }

  take(bytes: number): Uint8Array {
    const buffer = this.source.take(bytes);
    this.taken.push(buffer);
    return buffer;
  }

  give(buffer: Uint8Array): void {
    this.taken = this.taken.filter((each) => each !== buffer);
    this.source.give(buffer);
  }

  adopt(part: Uint8Array): Uint8Array {
    const buffer = this.source.adopt(part);
    this.taken.push(buffer);
    return buffer;
  }

  /** Leaves everything to V8: work that was given up may still read it. */
  abandon(): void {
    this.taken = [];
  }

  /** Gives back everything. */
  giveAll(): void {
    for (const buffer of this.taken) this.source.give(buffer);
    this.taken = [];
  }
}
