import { expect, test } from 'vitest';
import { referenceDescription } from '../../../src/cli/draft/description-file.ts';
import { BodyChecks } from '../../../src/gateway/v1/checks.ts';
import { BodySchemas } from '../../../src/openapi/body-schemas.ts';

async function schemasOfV2(): Promise<BodySchemas> {
  return new BodySchemas(await referenceDescription('v2'));
}

/** Of a request that no rule book names. */
const NO_BOOK = { operations: [], operation: undefined, mediaType: undefined };

test('beyond the budget of a second the verdict is unknown, and failures have their own half', async () => {
  const schemas = await schemasOfV2();
  let clock = 0;
  const checks = new BodyChecks(
    () => (clock += 3),
    () => schemas,
  );
  const body = new TextEncoder().encode('{"name":"x"}');
  const check = (isFailure: boolean): unknown => checks.check('POST', '/clients', body, isFailure, NO_BOOK);
  const whys = Array.from({ length: 12 }, () => check(false));
  expect(whys[0]).toEqual({ v2: 'valid' });
  expect(whys.at(-1)).toEqual({ v2: 'unknown', why: 'budget' });
  expect(check(true)).toEqual({ v2: 'valid' });
  clock = 2000;
  expect(check(false)).toEqual({ v2: 'valid' });
});

// Attack: a name of a client is as long as its body, and would be written to the log with each entry.
test('a pointer in the log is short, for any names that a client invents', async () => {
  const schemas = await schemasOfV2();
  const checks = new BodyChecks(
    () => 0,
    () => schemas,
  );
  const body = new TextEncoder().encode(JSON.stringify({ property: { ['x'.repeat(9000)]: 1 } }));
  expect(checks.check('POST', '/orders/floor_plans', body, false, NO_BOOK)).toEqual({
    v2: 'invalid',
    at: '/property',
  });
});
