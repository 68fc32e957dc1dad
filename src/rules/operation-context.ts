import type { DeclaredChange } from './declared-change.ts';
import { isRewritten } from './rewritten-methods.ts';
import type { Operation } from './rule-book.ts';

/** Requests to which the same changes apply: those of some operations, or all that only `every` concerns. */
export interface OperationContext {
  /** Empty for the requests that only `every` concerns. */
  readonly operations: readonly string[];
  /** In the order of the rule book. */
  readonly changes: readonly DeclaredChange[];
}

/** Sorts requests by the changes that apply to them; `on: every` is POST and PATCH only. */
export function operationContexts(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
): readonly OperationContext[] {
  const general = changes.flatMap(({ change }, index) => (change.on === 'every' ? [index] : []));
  const special = new Map<string, number[]>();
  for (const [index, { change }] of changes.entries()) {
    for (const id of change.on === 'every' ? [] : new Set(change.on)) {
      const indexes = special.get(id) ?? [];
      special.set(id, indexes);
      indexes.push(index);
    }
  }
  // Ten thousand operations with the same changes are one situation, looked at once.
  const byIndexes = new Map<string, { operations: string[]; indexes: readonly number[] }>();
  byIndexes.set('', { operations: [], indexes: general });
  for (const { id, method } of operations) {
    const own = special.get(id);
    if (own === undefined) continue;
    const isWrite = isRewritten(method);
    const key = `${isWrite ? '*' : ''} ${own.join(' ')}`;
    const situation = byIndexes.get(key) ?? { operations: [], indexes: isWrite ? merged(general, own) : own };
    byIndexes.set(key, situation);
    situation.operations.push(id);
  }
  return [...byIndexes.values()].map((situation) => ({
    operations: situation.operations,
    changes: situation.indexes.flatMap((index) => changes[index] ?? []),
  }));
}

function merged(one: readonly number[], other: readonly number[]): readonly number[] {
  return [...one, ...other].sort((a, b) => a - b);
}
