import type { Change } from './rule-book.ts';

/** Finds the changes that apply to an operation. The cost grows with their number, not with the size of the rule book. */
export class ChangeIndex {
  private readonly changes: readonly Change[];
  /** Positions in the rule book, in order. */
  private readonly every: number[] = [];
  private readonly named = new Map<string, number[]>();

  constructor(changes: readonly Change[]) {
    this.changes = changes;
    for (const [index, { on }] of changes.entries()) {
      if (on === 'every') {
        this.every.push(index);
        continue;
      }
      for (const id of new Set(on)) {
        const indexes = this.named.get(id) ?? [];
        indexes.push(index);
        this.named.set(id, indexes);
      }
    }
  }

  /** Returns the changes of the operation with this id, in the order of the rule book; those `on: every` only if `isEvery`. */
  of(id: string | undefined, isEvery: boolean): readonly Change[] {
    const named = (id === undefined ? undefined : this.named.get(id)) ?? [];
    const indexes = isEvery ? [...named, ...this.every].sort((one, other) => one - other) : named;
    return indexes.flatMap((index) => this.changes[index] ?? []);
  }
}
