import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const ATTEMPTS = 4;

/**
 * The heap that is held after `work`, in bytes, where it is out of bounds. What earlier files of this process left may be freed or compiled
 * meanwhile: such a measure is taken again, and what `work` keeps is in each of them.
 */
export function heldBeyond(
  work: () => unknown,
  {
    least = Number.NEGATIVE_INFINITY,
    most = Number.POSITIVE_INFINITY,
  }: { readonly least?: number; readonly most?: number },
): number | undefined {
  let held = Number.NaN;
  for (let count = 0; count < ATTEMPTS; count += 1) {
    collect();
    const before = process.memoryUsage().heapUsed;
    const kept = work();
    collect();
    held = process.memoryUsage().heapUsed - before;
    if (kept === undefined) throw new Error('what the work keeps is its result');
    if (held > least && held < most) return undefined;
  }
  return held;
}
