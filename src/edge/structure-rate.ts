import type { Observer, CaptureLevel } from '../rewrite-log/observer.ts';

/** Asks for the attribute names of so many exchanges a second, so that entries carry them as on Node; keeps nothing. */
export function structureRate(perSecond: number, time: () => number): Observer {
  let second = 0;
  let asked = 0;
  return {
    bodyLimit: 0,
    begin(): CaptureLevel {
      const now = Math.floor(time() / 1000);
      if (now !== second) {
        second = now;
        asked = 0;
      }
      asked += 1;
      return asked <= perSecond ? 'structure' : 'nothing';
    },
    observe() {},
  };
}
