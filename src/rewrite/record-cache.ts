import type { EditRecord, PatchOperation } from './rewrite.ts';

/** What the rules did to a body: for people, and as a patch. */
export interface Records {
  readonly records: readonly EditRecord[];
  readonly patch: readonly PatchOperation[];
}

interface Step {
  readonly next: Map<number, Step>;
  records: Records | undefined;
}

/** Most steps that are kept; requests of more shapes than that have their records written anew each time. */
const CAPACITY = 4096;

/** Remembers the records that belong to a list of step codes: old clients send few shapes, again and again. */
export class RecordCache {
  readonly #root: Step = { next: new Map(), records: undefined };
  #size = 0;

  /** Returns the records kept for `codes`. */
  get(codes: readonly number[]): Records | undefined {
    let step: Step | undefined = this.#root;
    for (let k = 0; k < codes.length && step !== undefined; k += 1) step = step.next.get(codes[k] ?? 0);
    return step?.records;
  }

  /** Keeps `records` for `codes`, unless the cache is full. */
  set(codes: readonly number[], records: Records): void {
    if (this.#size + codes.length > CAPACITY) return;
    let step = this.#root;
    for (const code of codes) {
      let next = step.next.get(code);
      if (next === undefined) {
        next = { next: new Map(), records: undefined };
        step.next.set(code, next);
        this.#size += 1;
      }
      step = next;
    }
    step.records = records;
  }
}
