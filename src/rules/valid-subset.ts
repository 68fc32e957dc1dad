import type * as z from 'zod';

/** The parts of a source that match the schema, so that they can be checked even if other parts do not. */
export interface ValidSubset {
  readonly source: unknown;
  /** The positions of the remaining changes in the whole source. */
  readonly indexes: readonly number[];
  readonly hasAllChanges: boolean;
  /** The ids of all operations, including those left out. */
  readonly ids: ReadonlySet<string>;
}

/** Leaves out the operations, changes and other parts that `issues` refer to; undefined when nothing is left. */
export function validSubset(value: unknown, issues: readonly z.core.$ZodIssue[]): ValidSubset | undefined {
  if (!isMapping(value)) return undefined;
  const source = { ...value };
  const operations = isMapping(source['operations']) ? { ...source['operations'] } : {};
  const ids = new Set(Object.keys(operations));
  const changes: readonly unknown[] = Array.isArray(source['changes']) ? source['changes'] : [];
  const invalidChanges = new Set<unknown>();
  for (const { path, ...issue } of issues) {
    const [part, entry] = path;
    if (part === 'operations' && typeof entry === 'string') delete operations[entry];
    else if (part === 'changes') invalidChanges.add(entry);
    else if (typeof part === 'string') delete source[part];
    if (part === undefined && issue.code === 'unrecognized_keys')
      for (const key of issue.keys) delete source[key];
  }
  const indexes = [...changes.keys()].filter((index) => !invalidChanges.has(index));
  return {
    source: { version: '2025-01-01', ...source, operations, changes: indexes.map((index) => changes[index]) },
    indexes,
    hasAllChanges: invalidChanges.size === 0,
    ids,
  };
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
