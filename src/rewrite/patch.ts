import type { PatchOperation } from './rewrite.ts';

/**
 * Returns the patch without the values that tell something of the V1 body, the same list if there are none. Similar requests share
 * their patches, and so do the results.
 */
export function withoutValues(patch: readonly PatchOperation[]): readonly PatchOperation[] {
  return patch.some(({ op }) => op === 'replace')
    ? patch.map((operation) =>
        operation.op === 'replace' ? { op: 'replace', path: operation.path } : operation,
      )
    : patch;
}
