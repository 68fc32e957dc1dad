import { CaptureRate } from '../rewrite-log/capture/capture-rate.ts';
import type { Observer } from '../rewrite-log/attributes/observer.ts';

/**
 * Requests the attribute names of at most `perSecond` exchanges a second, so that entries carry them as on Node; stores nothing.
 */
export function structureObserver(perSecond: number, now: () => number): Observer {
  const rate = new CaptureRate(perSecond, now);
  return { bodyLimit: 0, begin: () => rate.next(), observe() {} };
}
