import type { Observer } from '../rewrite-log/observer.ts';
import { SecondLimiter } from '../rewrite-log/second-limiter.ts';

/** Asks for the attribute names of so many exchanges a second, so that entries carry them as on Node; keeps nothing. */
export function structureRate(perSecond: number, time: () => number): Observer {
  const limiter = new SecondLimiter(perSecond, time);
  return {
    bodyLimit: 0,
    begin: () => (limiter.take() ? 'structure' : 'nothing'),
    observe() {},
  };
}
