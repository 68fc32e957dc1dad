import type { BodyMemory } from '../../body-memory.ts';

interface Part {
  readonly memory: Buffer;
  from: number;
  readonly to: number;
}

/** Copies of what a client does not take yet of a response, in memory that is used again. */
export class WaitingParts {
  /** Bytes that wait. */
  bytes = 0;
  private readonly memory: BodyMemory;
  private parts: Part[] = [];

  constructor(memory: BodyMemory) {
    this.memory = memory;
  }

  /** Keeps a copy of a part. */
  add(bytes: Uint8Array): void {
    const memory = this.memory.take(bytes.length);
    memory.set(bytes);
    this.parts.push({ memory, from: 0, to: bytes.length });
    this.bytes += bytes.length;
  }

  /** The next bytes, at most so many; valid until they are taken. */
  next(limit: number): Uint8Array {
    const [part] = this.parts;
    return part === undefined
      ? new Uint8Array(0)
      : part.memory.subarray(part.from, Math.min(part.to, part.from + limit));
  }

  /** The client has taken so many of the next bytes. */
  take(bytes: number): void {
    const [part] = this.parts;
    if (part === undefined) return;
    part.from += bytes;
    this.bytes -= bytes;
    if (part.from < part.to) return;
    this.parts.shift();
    this.memory.give(part.memory);
  }

  /** Nobody takes them any more. */
  clear(): void {
    for (const { memory } of this.parts) this.memory.give(memory);
    this.parts = [];
    this.bytes = 0;
  }
}
