import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

/** Collects garbage, and returns the bytes of the heap that are left. */
export function collectGarbage(): number {
  gc();
  return process.memoryUsage().heapUsed;
}
