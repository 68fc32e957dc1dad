import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Limits, USUAL_LIMITS } from '../../bench/attack/attack.ts';
import { attacks } from '../../bench/attack/attacks.ts';
import { runAttack } from '../../bench/attack/run-attack.ts';
import { startV2, type V2 } from '../../bench/attack/v2.ts';
import { NEVER_MS } from '../support/until.ts';

/**
 * Those of `npm run attack` but for what a clock shows: other tests run beside this one. A long turn shows in processor time, and who waits
 * for ever fails.
 */
const LIMITS: Limits = { ...USUAL_LIMITS, worst: Infinity, median: Infinity, loop: Infinity, turn: 500 };

/** Makes a test of each attack of `npm run attack` by its id, carried out in part: `scale` is the share of it. */
export function smallAttacks(ids: Readonly<Record<string, number>>): void {
  let v2: V2;
  beforeAll(async () => {
    v2 = await startV2();
  });
  afterAll(() => v2.stop());
  test.each(Object.entries(ids).map(([id, scale]) => ({ ...attackOf(id), scale })))(
    '$id: $sentence',
    async ({ scale, ...attack }) => {
      // Times are a matter of the whole attack on a calm machine, its own limits of them too.
      const { median: _median, turn: _turn, worst: _worst, loop: _loop, ...limits } = attack.limits ?? {};
      const outcome = await runAttack({ ...attack, limits }, v2, {
        scale,
        limits: LIMITS,
        patience: NEVER_MS,
      });
      expect(outcome.faults).toEqual([]);
    },
  );
}

function attackOf(id: string): (typeof attacks)[number] {
  const attack = attacks.find((one) => one.id === id);
  if (attack === undefined) throw new Error(`there is no attack ${id}`);
  return attack;
}
