import { CaptureRate } from '../rewrite-log/capture-rate.ts';
import type { Observer } from '../rewrite-log/observer.ts';

/** Asks for the attribute names of so many exchanges a second, so that entries carry them as on Node; keeps nothing. */
export function structureObserver(perSecond: number, now: () => number): Observer {
  const rate = new CaptureRate(perSecond, now);
  return { bodyLimit: 0, begin: () => rate.next(), observe() {} };
}
