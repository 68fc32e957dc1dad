import type { Modes } from '../rules/rollout.ts';
import type { BodyCheckCount } from './body-check-tally.ts';
import type { RolloutTarget } from './rollout-state.ts';

/** Pairs of client and operation, and pointers of each, that a sentence names. */
const MAX_NAMED = 5;
const MAX_POINTERS = 3;

/**
 * Returns a sentence when V2's schema, or the gateway itself, refuses more of the bodies that a command would migrate than the
 * roll-back rule allows: V1 accepted them. Undefined when neither does.
 */
export function bodyCheckFault(
  counts: readonly BodyCheckCount[],
  target: RolloutTarget,
  modes: Modes,
  nameOf: (client: string) => string | undefined,
): string | undefined {
  const concerned = counts.filter((count) => isConcerned(count, target, modes));
  const { margin } = modes.rollback;
  const invalid = sum(concerned, 'invalid');
  const checked = invalid + sum(concerned, 'valid') + sum(concerned, 'refusedByBoth');
  const faults: string[] = [];
  if (invalid > 0 && (invalid / checked) * 100 > margin) {
    const named = namedPairs(concerned, 'invalid', (count) => pairWords(count, nameOf));
    faults.push(
      `V2's schema refuses ${invalid} of ${checked} checked ${noun(checked)} that a migration would send, ${tooMany(invalid, margin)} ${named}.`,
    );
  }
  const refused = sum(concerned, 'refused');
  const bodies = sum(concerned, 'bodies');
  if (refused > 0 && (refused / bodies) * 100 > margin) {
    const named = namedPairs(concerned, 'refused', (count) => refusalWords(count, nameOf));
    faults.push(
      `The gateway would refuse ${refused} of ${bodies} ${noun(bodies)}, ${tooMany(refused, margin)} ${named}.`,
    );
  }
  if (faults.length === 0) return undefined;
  return `${faults.join(' ')} Change the rules or the clients, or insist with --force.`;
}

function noun(bodies: number): string {
  return bodies === 1 ? 'body' : 'bodies';
}

function tooMany(bodies: number, margin: number): string {
  const those = bodies === 1 ? 'it' : 'those';
  return `and V1 accepted ${those}: more than the ${margin} % that a roll-back allows.`;
}

function namedPairs(
  counts: readonly BodyCheckCount[],
  counter: 'invalid' | 'refused',
  words: (count: BodyCheckCount) => string,
): string {
  const pairs = counts
    .filter((count) => count[counter] > 0)
    .toSorted((one, other) => other[counter] - one[counter]);
  const more = pairs.length > MAX_NAMED ? `; and ${pairs.length - MAX_NAMED} more` : '';
  return pairs.slice(0, MAX_NAMED).map(words).join('; ') + more;
}

/** A command for everything leaves operations and clients with modes of their own as they are. */
function isConcerned(
  { operation, client }: BodyCheckCount,
  target: RolloutTarget,
  { operations, clients }: Modes,
): boolean {
  if (target.client !== undefined) return client === target.client;
  if (client !== undefined && Object.hasOwn(clients, client)) return false;
  if (target.operation !== undefined) return operation === target.operation;
  return operation === undefined || !Object.hasOwn(operations, operation);
}

function pairWords(count: BodyCheckCount, nameOf: (client: string) => string | undefined): string {
  const { invalid, pointers } = count;
  const places = pointers
    .slice(0, MAX_POINTERS)
    .map(({ at, count: times }) => `${at === '' ? 'the body itself' : at} ${times}×`);
  const more = pointers.length > MAX_POINTERS ? ', …' : '';
  return `${pairName(count, nameOf)}: ${invalid}, at ${places.join(', ')}${more}`;
}

function refusalWords(count: BodyCheckCount, nameOf: (client: string) => string | undefined): string {
  const { refused, refusals } = count;
  const reasons = refusals.slice(0, MAX_POINTERS).map(({ reason, count: times }) => `${reason} ${times}×`);
  const more = refusals.length > MAX_POINTERS ? ', …' : '';
  return `${pairName(count, nameOf)}: ${refused}, ${reasons.join(', ')}${more}`;
}

function pairName(
  { client, operation }: BodyCheckCount,
  nameOf: (client: string) => string | undefined,
): string {
  const name = client === undefined ? 'requests without a known key' : (nameOf(client) ?? client);
  return `Client ${name}, ${operation ?? 'other operations'}`;
}

function sum(
  counts: readonly BodyCheckCount[],
  name: 'valid' | 'invalid' | 'refusedByBoth' | 'refused' | 'bodies',
): number {
  return counts.reduce((total, count) => total + count[name], 0);
}
