import { expect, test } from 'vitest';
import { preflight } from '../../src/cli/preflight.ts';

/** The faults of an environment, sorted. */
async function faultsOf(environment: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const outcome = await preflight({}, environment);
  return 'faults' in outcome ? outcome.faults.toSorted() : [];
}

test('an empty variable for the rule book is not set', async () => {
  expect(await faultsOf({ GATEWAY_RULES: '' })).toEqual([]);
});
