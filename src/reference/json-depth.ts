/** True when a JSON value has more than `limit` levels of objects and arrays; not recursive, so that no depth can exhaust the stack. */
export function isDeeper(value: unknown, limit: number): boolean {
  let level = containersIn([value]);
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === limit) return true;
    level = level.flatMap((container) => containersIn(Object.values(container)));
  }
  return false;
}

function containersIn(values: readonly unknown[]): object[] {
  return values.filter((value) => typeof value === 'object' && value !== null);
}
