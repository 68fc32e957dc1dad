import { isRewritten } from './rewritten-methods.ts';
import type { Change, Operation } from './rule-book.ts';

/** Requests that the same changes apply to: those of some operations, or all that only `every` applies to. */
export interface OperationContext<Declared> {
  /** Empty for requests that only `every` applies to. */
  readonly operations: readonly string[];
  /** In the order of the rule book. */
  readonly changes: readonly Declared[];
}

/** Groups requests by the changes that apply to them; `on: every` is POST and PATCH only. */
export function operationContexts<Declared extends { readonly change: Change }>(
  changes: readonly Declared[],
  operations: readonly Operation[],
): readonly OperationContext<Declared>[] {
  const every = changes.flatMap(({ change }, index) => (change.on === 'every' ? [index] : []));
  const byOperation = new Map<string, number[]>();
  for (const [index, { change }] of changes.entries()) {
    for (const id of change.on === 'every' ? [] : new Set(change.on)) {
      const indexes = byOperation.get(id) ?? [];
      byOperation.set(id, indexes);
      indexes.push(index);
    }
  }
  // Ten thousand operations with the same changes form one context, checked once.
  const byIndexes = new Map<string, { operations: string[]; indexes: readonly number[] }>();
  byIndexes.set('', { operations: [], indexes: every });
  for (const { id, method } of operations) {
    const specific = byOperation.get(id);
    if (specific === undefined) continue;
    const isWrite = isRewritten(method);
    const key = `${isWrite ? '*' : ''} ${specific.join(' ')}`;
    const context = byIndexes.get(key) ?? {
      operations: [],
      indexes: isWrite ? merged(every, specific) : specific,
    };
    byIndexes.set(key, context);
    context.operations.push(id);
  }
  return [...byIndexes.values()].map((context) => ({
    operations: context.operations,
    changes: context.indexes.flatMap((index) => changes[index] ?? []),
  }));
}

function merged(one: readonly number[], other: readonly number[]): readonly number[] {
  return [...one, ...other].sort((a, b) => a - b);
}
