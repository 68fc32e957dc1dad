/**
 * Memory limit of this process in bytes, from its container (cgroup v1 or v2); undefined where there is none, or the runtime does
 * not report it.
 */
export function memoryLimit(): number | undefined {
  // Bun and Deno added it recently, and each reports "no limit" differently: as 0, or as more than any machine has.
  const limit: number | undefined = process.constrainedMemory?.();
  return limit === undefined || limit === 0 || limit > 2 ** 50 ? undefined : limit;
}
