import { setFlagsFromString } from 'node:v8';
import { IS_NODE } from './runtime.ts';

/**
 * Keeps V8 from allocating objects in its old generation because those of the same place in the code lived for some time. With hundreds
 * of requests in flight that holds for all that an exchange consists of: each object is then garbage until the whole heap is searched,
 * and keeps everything that it refers to. For the whole process, from now on.
 */
export function allocateYoung(): void {
  if (IS_NODE) setFlagsFromString('--no-allocation-site-pretenuring');
}
