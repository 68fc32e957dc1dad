import type { Attack } from './attack.ts';
import { faultAttacks } from './fault-attacks.ts';
import { fuzzAttacks } from './fuzz-attacks.ts';
import { http2FieldAttacks } from './http2-field-attacks.ts';
import { http2FloodAttacks } from './http2-flood-attacks.ts';
import { http2StreamAttacks } from './http2-stream-attacks.ts';
import { inspectorAttacks } from './inspector-attacks.ts';
import { keptAttacks } from './kept-attacks.ts';
import { lingerAttacks } from './linger-attacks.ts';
import { loginAttacks } from './login-attacks.ts';
import { reportAttacks } from './report-attacks.ts';
import { responseAttacks } from './response-attacks.ts';
import { separatorAttacks } from './separator-attacks.ts';
import { structureAttacks } from './structure-attacks.ts';
import { uploadAttacks } from './upload-attacks.ts';

/** All attacks, in the order of the findings. */
export const attacks: readonly Attack[] = [
  ...structureAttacks,
  ...uploadAttacks,
  ...faultAttacks,
  ...lingerAttacks,
  ...responseAttacks,
  ...http2FieldAttacks,
  ...http2StreamAttacks,
  ...http2FloodAttacks,
  ...fuzzAttacks,
  ...inspectorAttacks,
  ...loginAttacks,
  ...reportAttacks,
  ...keptAttacks,
  ...separatorAttacks,
].toSorted(byId);

/** Letters first, then numbers. */
function byId({ id: one }: Attack, { id: other }: Attack): number {
  const ranks = [one, other].map((id) => (/^\d/.test(id) ? 1 : 0));
  return (ranks[0] ?? 0) - (ranks[1] ?? 0) || one.localeCompare(other, 'en', { numeric: true });
}
