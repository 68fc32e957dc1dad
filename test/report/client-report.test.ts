import { expect, test } from 'vitest';
import { bodyCheckLines, type BodyChecks, outcomesOf, outcomeWords } from '../../src/report/client-report.ts';
import { Outcomes } from '../../src/report/tally/outcomes.ts';
import { sampleEntry } from '../support/sample-entries.ts';

function checksOf(operation: string, counts: Partial<BodyChecks>): BodyChecks {
  return { operation, valid: 0, invalid: 0, refusedByBoth: 0, unknown: 0, pointers: [], ...counts };
}

test('a client that disconnected and a response that broke off are not responses of another', () => {
  const outcomes = new Outcomes();
  outcomes.add({ ...sampleEntry(0, 0), origin: 'v1', status: 0 });
  outcomes.add({ ...sampleEntry(0, 0), origin: 'v1', status: 200, failure: 'upstream-broken' });
  outcomes.add({ ...sampleEntry(0, 0), origin: 'v1', status: 502, failure: 'upstream-closed' });
  expect(outcomeWords(outcomesOf(outcomes))).toBe(
    'client disconnected (V1) 1×, V1 200 upstream-broken 1×, gateway 502 upstream-closed 1×',
  );
});

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
