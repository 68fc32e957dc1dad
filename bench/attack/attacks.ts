import type { Attack } from './attack.ts';
import { http2Attacks } from './http2-attacks.ts';
import { keptAttacks } from './kept-attacks.ts';
import { operatorAttacks } from './operator-attacks.ts';
import { requestAttacks } from './request-attacks.ts';
import { responseAttacks } from './response-attacks.ts';
import { separatorAttacks } from './separator-attacks.ts';
import { uploadAttacks } from './upload-attacks.ts';

/** All attacks, in the order of the findings: letters first, then numbers. */
export const attacks: readonly Attack[] = [
  ...uploadAttacks,
  ...requestAttacks,
  ...responseAttacks,
  ...http2Attacks,
  ...operatorAttacks,
  ...keptAttacks,
  ...separatorAttacks,
].toSorted(
  ({ id: one }, { id: other }) =>
    Number(/^\d/.test(one)) - Number(/^\d/.test(other)) || one.localeCompare(other, 'en', { numeric: true }),
);
