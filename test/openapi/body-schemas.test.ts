import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BodySchemas } from '../../src/openapi/body-schemas.ts';
import { referenceDescription } from '../../src/cli/draft/description-file.ts';
import { fuzzRuns } from '../support/fuzz.ts';

/* oxlint-disable typescript/no-explicit-any -- a description is a tree of anything */

test('it refuses exactly the bodies that another validator refuses', async () => {
  const v2 = (await referenceDescription('v2')) as any;
  const schemas = new BodySchemas(v2);
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'api', components: v2.components });
  const names = [
    'name',
    'email',
    'property',
    'property_id',
    'address',
    'suburb',
    'latitude',
    'id',
    'client',
    'other',
  ];
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small' },
      fc.integer({ min: -1, max: 3 }),
      fc.constantFrom(null, 'x', true, 1.5),
      tie('object'),
    ),
    object: fc.dictionary(fc.constantFrom(...names), tie('any'), { maxKeys: 4 }),
  })).object;
  let refused = 0;
  fc.assert(
    fc.property(value, fc.constantFrom('/clients', '/orders/floor_plans', '/virtual_tours'), (body, path) => {
      const { schema } = v2.paths[`/api/v2${path}`].post.requestBody.content['application/json'];
      const located = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/'));
      const isValid = ajv.validate(located, body);
      if (!isValid) refused += 1;
      expect([body, schemas.faultsOf('POST', path, body)?.length === 0]).toEqual([body, isValid]);
    }),
    { numRuns: fuzzRuns(300) },
  );
  expect(refused).toBeGreaterThan(fuzzRuns(50));
});

test('what is not described is not judged', async () => {
  const schemas = new BodySchemas(await referenceDescription('v2'));
  expect(schemas.faultsOf('POST', '/nothing', {})).toBeUndefined();
  expect(schemas.faultsOf('GET', '/clients', {})).toBeUndefined();
});

test('a value that was not recorded is no fault, also within an object that may be null', async () => {
  const schemas = new BodySchemas(await referenceDescription('v2'));
  const path = '/orders/floor_plans';
  expect(schemas.faultsOf('POST', path, { property: { address: { latitude: '…' } } })).toEqual([]);
  expect(
    schemas.faultsOf('POST', path, { property: { address: { latitude: '…', other: '…' } } }),
  ).toMatchObject([{ at: '/property/address/other' }]);
});
