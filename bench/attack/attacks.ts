import type { Attack } from './attack.ts';
import { faultAttacks } from './fault-attacks.ts';
import { fuzzAttacks } from './fuzz-attacks.ts';
import { http2Attacks } from './http2-attacks.ts';
import { keptAttacks } from './kept-attacks.ts';
import { operatorAttacks } from './operator-attacks.ts';
import { responseAttacks } from './response-attacks.ts';
import { structureAttacks } from './structure-attacks.ts';
import { uploadAttacks } from './upload-attacks.ts';

/** All attacks, in the order of the findings. */
export const attacks: readonly Attack[] = [
  ...structureAttacks,
  ...uploadAttacks,
  ...faultAttacks,
  ...responseAttacks,
  ...http2Attacks,
  ...fuzzAttacks,
  ...operatorAttacks,
  ...keptAttacks,
].toSorted(byId);

/** Letters first, then numbers. */
function byId({ id: one }: Attack, { id: other }: Attack): number {
  const ranks = [one, other].map((id) => (/^\d/.test(id) ? 1 : 0));
  return (ranks[0] ?? 0) - (ranks[1] ?? 0) || one.localeCompare(other, 'en', { numeric: true });
}
