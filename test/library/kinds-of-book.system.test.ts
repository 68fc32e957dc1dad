import { describe, expect, test } from 'vitest';
import { bundleModules } from '../../config/bundle-modules.ts';
import { kindsOf } from '../../config/kinds-of-book.ts';
import { createMigration, type Migration, readRuleBook } from '../../src/library/capture-gateway.ts';
import type { RuleBook } from '../../src/rules/rule-book.ts';

const MIGRATION = `export { createMigration } from './library/migration.ts';`;

async function bookWith(change: string, more = ''): Promise<RuleBook> {
  const text = `version: 2025-01-01
${more}
operations: { make: POST /things, read: 'GET /things/{id}', list: GET /things }
changes: [{ id: one, summary: One change., on: [make, read, list], ${change} }]`;
  const reading = await readRuleBook(text);
  if (!reading.ok) throw new Error(reading.faults.map(({ message }) => message).join('\n'));
  return reading.ruleBook;
}

/** The migration in a bundle that has the kinds of this rule book alone, and its size. */
async function bundledMigration(
  book: RuleBook,
): Promise<{ readonly migration: Migration; readonly bytes: number }> {
  const [made] = await bundleModules(MIGRATION, {
    plugins: [await kindsOf(book)],
  });
  const code = Buffer.from(made?.contents ?? []);
  const module = (await import(`data:text/javascript;base64,${code.toString('base64')}`)) as {
    createMigration: typeof createMigration;
  };
  return { migration: module.createMigration(book), bytes: code.length };
}

/** All that becomes of requests and responses with these members. */
function played(migration: Migration, members: string, query: string): unknown {
  const type = { 'content-type': 'application/json', 'x-tenant': '7', host: 'a' };
  const form = { ...type, 'content-type': 'application/x-www-form-urlencoded' };
  const parts = { ...type, 'content-type': 'multipart/form-data; boundary=B' };
  const part = '--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--B--\r\n';
  const fields = new URLSearchParams(
    Object.entries(JSON.parse(members)).map(([name, value]) => [name, String(value)]),
  );
  const requests = [
    migration.request('POST', `/api/v1/things${query}`, type, members),
    migration.request('POST', `/api/v1/things${query}`, form, fields.toString()),
    migration.request('POST', `/api/v1/things${query}`, parts, part),
    migration.request('GET', '/api/v1/things/1', { host: 'a' }),
    migration.request('GET', `/api/v1/things${query}`, { host: 'a' }),
  ];
  const responses = requests.flatMap((request) =>
    'target' in request
      ? [
          '{"data":{}}',
          `{"data":${members}}`,
          `{"data":[${members}]}`,
          '{"errors":[{"source":{"pointer":"/to"}}]}',
        ].map((body) => migration.response(request, body.includes('errors') ? 422 : 200, type, body))
      : [],
  );
  return [...requests, ...responses].map((verdict) =>
    'body' in verdict ? { ...verdict, body: new TextDecoder().decode(verdict.body ?? undefined) } : verdict,
  );
}

/** A bundle with all kinds. */
const withAll = bundleModules(MIGRATION, {}).then(([made]) => made?.contents ?? []);

const body = (rule: string): string => `request: [${rule}], response: inverse`;

describe('a worker with only the kinds of its rule book gives the same result as one with all kinds', () => {
  test.each<[change: string, members: string, query?: string]>([
    [body('{ unwrap: data }, { rename: a, to: b }'), '{"data":{"a":1},"b":2}'],
    [body('{ nest: [a, b], under: to }'), '{"a":1,"to":{"b":2}}'],
    [body('{ move: a, to: to.b }'), '{"a":1,"to":{"b":2}}'],
    [body('{ copy: a.id, to: to }'), '{"a":{"id":1},"to":1}'],
    [body('{ map: { day: light }, of: a }'), '{"a":"day"}'],
    ['request: [{ strip: [a] }]', '{"a":1,"b":2}'],
    ['request: [{ only: [a] }]', '{"a":1,"b":2}'],
    [body('{ set: { a: 1 } }'), '{"b":2}'],
    [body('{ default: { a: 1 } }'), '{"a":1}'],
    [body('{ scale: a, by: 100, digits: 2 }'), '{"a":1050}'],
    [body('{ quote: a }'), '{"a":7}'],
    [body('{ unquote: a }'), '{"a":"7"}'],
    [body('{ prefix: a, with: inv_ }'), '{"a":"inv_7"}'],
    [body('{ unprefix: a, with: inv_ }'), '{"a":"inv_7"}'],
    [body('{ date: a, from: date, to: epoch }'), '{"a":"2025-01-31"}'],
    [body('{ list: a, to: to }'), '{"a":1,"to":[2,3]}'],
    [body("{ list: a, with: ',' }"), '{"a":"1,2"}'],
    [body('{ list: a, of: value }'), '{"a":[{"value":1}]}'],
    [body('{ entries: a, name: key, value: value }'), '{"a":{"b":1}}'],
    [body("{ unlist: a, with: ',' }"), '{"a":["b","c"]}'],
    [body("{ join: [a, b], to: to, with: ' ' }"), '{"a":"1","b":"2","to":"3 4"}'],
    [body("{ split: a, to: [b, to], with: ' ' }"), '{"a":"1 2","b":"3","to":"4"}'],
    [body("{ rename: a, to: b, in: '**' }"), '{"a":[{"a":1}],"b":2}'],
    ['request: [{ rename: a, to: b }], response: [{ alias: data.b, as: a }]', '{"a":1,"b":2}'],
    ['request: [{ rename: a, to: b }], response: [{ flatten: data.to }]', '{"a":1,"to":{"c":2}}'],
    ['request: [{ rename: a, to: b }], response: [{ errors: true }]', '{"a":1}'],
    [
      'query: [{ rename: a, to: b }, { map: { x: y }, of: c }, strip: [d], set: { e: 1 }]',
      '{}',
      '?a=1&c=x&d=1',
    ],
    ['query: [{ scale: a, by: 100 }]', '{}', '?a=1.5'],
    ['headers: [{ rename: X-Tenant, to: X-Account }, { set: X-One, to: a }], response: inverse', '{}'],
  ])('%s', async (change, members, query = '') => {
    const book = await bookWith(change);
    const { migration, bytes } = await bundledMigration(book);
    expect(played(migration, members, query)).toEqual(played(createMigration(book), members, query));
    expect(bytes).toBeLessThan((await withAll).length);
  });
});

test('rules for forms that no rule book names are included', async () => {
  const book = await bookWith(body('{ rename: a, to: b }'), 'override: drop');
  const { migration } = await bundledMigration(book);
  const members = '{"a":1,"_method":"PUT"}';
  expect(played(migration, members, '')).toEqual(played(createMigration(book), members, ''));
});

test('a parameter whose value a moved operation converts needs the conversion and its inverse', async () => {
  const text = `version: 2025-01-01
operations: { read: { match: 'GET /bills/{id}', to: 'GET /invoices/{id}', parameters: [{ prefix: id, with: inv_ }] } }
changes: []`;
  const reading = await readRuleBook(text);
  if (!reading.ok) throw new Error(reading.faults.map(({ message }) => message).join('\n'));
  const { migration } = await bundledMigration(reading.ruleBook);
  const request = migration.request('GET', '/api/v1/bills/7', { host: 'a' });
  expect(request).toMatchObject({ target: '/api/v2/invoices/inv_7' });
  if (!('target' in request)) return;
  const { headers } = migration.response(request, 200, { location: '/api/v2/invoices/inv_8' });
  expect(headers).toContainEqual(['location', '/api/v1/bills/8']);
});
