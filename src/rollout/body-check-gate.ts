import type { Modes } from '../rules/rollout.ts';
import type { BodyCheckCount } from './body-check-tally.ts';
import type { RolloutAim } from './rollout-state.ts';

/** Pairs of client and operation, and pointers of each, that a sentence names. */
const MAX_NAMED = 5;
const MAX_POINTERS = 3;

/**
 * Returns a sentence when V2's schema refuses more of the checked bodies that a command would send to V2 than the roll-back rule
 * allows: V1 accepted them. Undefined when it does not, or when no body was checked.
 */
export function bodyCheckFault(
  counts: readonly BodyCheckCount[],
  aim: RolloutAim,
  modes: Modes,
  nameOf: (client: string) => string | undefined,
): string | undefined {
  const concerned = counts.filter((count) => isConcerned(count, aim, modes));
  const invalid = sum(concerned, 'invalid');
  const checked = invalid + sum(concerned, 'valid') + sum(concerned, 'refusedByBoth');
  const { margin } = modes.rollback;
  if (invalid === 0 || (invalid / checked) * 100 <= margin) return undefined;
  const refused = concerned.filter((count) => count.invalid > 0);
  const named = refused.slice(0, MAX_NAMED).map((count) => pairWords(count, nameOf));
  const more = refused.length > MAX_NAMED ? `; and ${refused.length - MAX_NAMED} more` : '';
  return `V2's schema refuses ${invalid} of ${checked} checked bodies that a migration would send, and V1 accepted those: more than the ${margin} % that a roll-back allows. ${named.join('; ')}${more}. Change the rules or the clients, or insist with --force.`;
}

/** A command for everything leaves operations and clients with modes of their own as they are. */
function isConcerned(
  { operation, client }: BodyCheckCount,
  aim: RolloutAim,
  { operations, clients }: Modes,
): boolean {
  if (aim.client !== undefined) return client === aim.client;
  if (client !== undefined && Object.hasOwn(clients, client)) return false;
  if (aim.operation !== undefined) return operation === aim.operation;
  return operation === undefined || !Object.hasOwn(operations, operation);
}

function pairWords(
  { client, operation, invalid, pointers }: BodyCheckCount,
  nameOf: (client: string) => string | undefined,
): string {
  const name = client === undefined ? 'requests without a known key' : (nameOf(client) ?? client);
  const places = pointers
    .slice(0, MAX_POINTERS)
    .map(({ at, count }) => `${at === '' ? 'the body itself' : at} ${count}×`);
  const more = pointers.length > MAX_POINTERS ? ', …' : '';
  return `Client ${name}, ${operation ?? 'other operations'}: ${invalid}, at ${places.join(', ')}${more}`;
}

function sum(counts: readonly BodyCheckCount[], name: 'valid' | 'invalid' | 'refusedByBoth'): number {
  return counts.reduce((total, count) => total + count[name], 0);
}
