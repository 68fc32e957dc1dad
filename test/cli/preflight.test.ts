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

test('a file is the same however its path is written', async () => {
  expect(await faultsOf({ GATEWAY_LOG_FILE: './config/../config/rules.yaml' })).toEqual([
    'GATEWAY_LOG_FILE (./config/../config/rules.yaml) and GATEWAY_RULES (config/rules.yaml) are the same file; give each a file of its own.',
  ]);
});
