import type { Records } from './recorder.ts';

interface Step {
  readonly next: Map<number, Step>;
  records: Records | undefined;
}

/** Maximum number of cached steps; requests of more shapes have their records created each time. */
const MAX_STEPS = 4096;

/** Caches the records for a list of step codes: old clients send few shapes, again and again. */
export class RecordCache {
  private readonly root: Step = { next: new Map(), records: undefined };
  private size = 0;
  private latest: readonly number[] = [];
  private latestRecords: Records | undefined;

  /** Returns the cached records for `codes`; keeps a reference to the list to compare the next one with it. */
  get(codes: readonly number[]): Records | undefined {
    if (this.latestRecords !== undefined && isSame(codes, this.latest)) return this.latestRecords;
    const records = this.find(codes);
    if (records === undefined) return undefined;
    this.latest = codes;
    this.latestRecords = records;
    return records;
  }

  private find(codes: readonly number[]): Records | undefined {
    let step: Step | undefined = this.root;
    for (let k = 0; k < codes.length && step !== undefined; k += 1) step = step.next.get(codes[k] ?? 0);
    return step?.records;
  }

  /** Caches `records` for `codes`, unless the cache is full. */
  set(codes: readonly number[], records: Records): void {
    if (this.size + codes.length > MAX_STEPS) return;
    let step = this.root;
    for (const code of codes) {
      let next = step.next.get(code);
      if (next === undefined) {
        next = { next: new Map(), records: undefined };
        step.next.set(code, next);
        this.size += 1;
      }
      step = next;
    }
    step.records = records;
  }
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let k = 0; k < a.length; k += 1) {
    if (a[k] !== b[k]) return false;
  }
  return true;
}
