import { expect, test } from 'vitest';
import type { BodyChecks } from '../../src/report/client-report.ts';
import { bodyCheckLines } from '../../src/report/outcome-words.ts';

function checksOf(operation: string, counts: Partial<BodyChecks>): BodyChecks {
  return { operation, valid: 0, invalid: 0, refusedByBoth: 0, unknown: 0, pointers: [], ...counts };
}

test('operations whose bodies the schema accepts share a line, each other has its own', () => {
  const accepted = [checksOf('create_client', { valid: 1 }), checksOf('create_contact', { valid: 2 })];
  expect(bodyCheckLines(accepted)).toEqual(['create_client, create_contact: none of 3 refused']);
  expect(
    bodyCheckLines([
      ...accepted,
      checksOf('create_booking', { valid: 1, unknown: 1 }),
      checksOf('order_floor_plan', { valid: 1, refusedByBoth: 2 }),
      checksOf('update_property', { unknown: 3 }),
    ]),
  ).toEqual([
    'create_booking: none of 1 refused, 1 not known',
    'order_floor_plan: 0 of 3 refused that V1 accepted, 2 refused by both',
    'update_property: 3 not known',
    'create_client, create_contact: none of 3 refused',
  ]);
  expect(bodyCheckLines([])).toEqual([]);
});
