import { expect, test } from 'vitest';
import { exampleRequest } from '../../../src/cli/serve/serving.ts';
import { bookIn } from '../../rules/reading.ts';

const KEY = "-H 'Authorization: Bearer any-key'";

test.each([
  ['a list', "{ one: 'GET /bills/{id}', list: GET /bills }", '', `'http://g/api/v1/bills' ${KEY}`],
  [
    'an operation that is named by a parameter',
    "{ one: 'GET /bills/{id}' }",
    '',
    `'http://g/api/v1/bills/1' ${KEY}`,
  ],
  [
    'a query that the operation is known by',
    "{ runs: 'GET /runs?project={id}' }",
    '',
    `'http://g/api/v1/runs?project=1' ${KEY}`,
  ],
  ['V1 at the root', '{ list: GET /bills }', 'from: /\n', `'http://g/bills' ${KEY}`],
  [
    'a key in another field',
    '{ list: GET /bills }',
    'client: { header: X-Key }\n',
    "'http://g/api/v1/bills' -H 'X-Key: any-key'",
  ],
  [
    'a key in the query',
    '{ list: GET /bills }',
    'client: { query: key }\n',
    "'http://g/api/v1/bills?key=any-key'",
  ],
  [
    'none that is gone',
    '{ old: { match: GET /old, gone: No. }, list: GET /bills }',
    '',
    `'http://g/api/v1/bills' ${KEY}`,
  ],
  ['nothing to read', '{ write: POST /bills }', '', undefined],
])('the request to paste reads %s', async (_, operations, head, curl) => {
  const book = await bookIn(`${head}operations: ${operations}\nchanges: []\n`);
  const [, line] = exampleRequest('http://g', book);
  expect(line).toBe(curl === undefined ? undefined : `  curl -i ${curl}`);
});

test('the example request of the property-capture API is an order', async () => {
  const book = await bookIn('operations: { order: POST /orders/floor_plans }\nchanges: []\n');
  expect(exampleRequest('http://g', book)).toHaveLength(3);
});
