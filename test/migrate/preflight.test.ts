import { expect, test } from 'vitest';
import { createMigration } from '../../src/library/capture-gateway.ts';
import { readRuleBook } from '../../src/rules/read-rule-book.ts';

const BOOK = `
operations:
  close_bill: { match: 'POST /bills/{id}/close', to: 'PATCH /invoices/inv_{id}' }
  drop_bill: { match: 'DELETE /bills/{id}', to: 'POST /invoices/inv_{id}/drop' }
  read_bill: { match: 'GET /bills/{id}', to: 'GET /invoices/inv_{id}' }
  read_client: GET /clients/{id}
changes:
  - id: tenant
    summary: X-Account is X-Tenant-Id, and X-Legacy is gone.
    on: every
    headers: [{ rename: X-Account, to: X-Tenant-Id }, { strip: X-Legacy }, { set: Prefer, to: return=minimal }]
`;

const reading = await readRuleBook(BOOK, 'rules');
if (!reading.ok) throw new Error(reading.faults.map(({ message }) => message).join('\n'));
const migration = createMigration(reading.ruleBook);

interface Preflight {
  readonly target: string;
  readonly method?: string | undefined;
  readonly fields?: string | undefined;
}

/** A preflight through the gateway: what V2 is asked, and what the browser reads of V2's answer. */
function ask({ target, method, fields }: Preflight, allowed: Readonly<Record<string, string>>) {
  const asked = migration.request(
    'OPTIONS',
    `/api/v1${target}`,
    [
      ['Host', 'g'],
      ['Origin', 'https://page.example'],
      ...(method === undefined ? [] : [['Access-Control-Request-Method', method]]),
      ...(fields === undefined ? [] : [['Access-Control-Request-Headers', fields]]),
    ].flat(),
    undefined,
  );
  if (asked.verdict !== 'rewritten' && asked.verdict !== 'unchanged') throw new Error(asked.verdict);
  const sent = new Map(asked.headers.map(([name, value]) => [name.toLowerCase(), value]));
  const answer = migration.response(asked, 204, Object.entries(allowed).flat(), '');
  const got = new Map(answer.headers.map(([name, value]) => [name.toLowerCase(), value]));
  return {
    line: `${asked.method} ${asked.target}`,
    method: sent.get('access-control-request-method'),
    fields: sent.get('access-control-request-headers'),
    methods: got.get('access-control-allow-methods'),
    allowed: got.get('access-control-allow-headers'),
    rules: asked.edits.map(({ change, rule, header }) => `${change} ${rule} ${header}`),
  };
}

const METHODS = 'Access-Control-Allow-Methods';
const FIELDS = 'Access-Control-Allow-Headers';

test.each<[title: string, Preflight, Readonly<Record<string, string>>, Partial<ReturnType<typeof ask>>]>([
  [
    'the method that the operation has in V2',
    { target: '/bills/7/close', method: 'POST' },
    { [METHODS]: 'GET, PATCH' },
    { line: 'OPTIONS /api/v2/invoices/inv_7', method: 'PATCH', methods: 'GET, PATCH, POST' },
  ],
  [
    'the path of the operation that has the method, and not of another one',
    { target: '/bills/7', method: 'DELETE' },
    { [METHODS]: 'POST' },
    { line: 'OPTIONS /api/v2/invoices/inv_7/drop', method: 'POST', methods: 'POST, DELETE' },
  ],
  [
    'a HEAD by the GET',
    { target: '/bills/7', method: 'HEAD' },
    { [METHODS]: 'GET' },
    { line: 'OPTIONS /api/v2/invoices/inv_7', method: 'HEAD', methods: 'GET' },
  ],
  [
    'what V2 does not allow stays so',
    { target: '/bills/7', method: 'DELETE' },
    { [METHODS]: 'GET' },
    { methods: 'GET' },
  ],
  ['all methods', { target: '/bills/7', method: 'DELETE' }, { [METHODS]: '*' }, { methods: '*' }],
  [
    'a method that no operation has goes where it went',
    { target: '/bills/7', method: 'PUT' },
    { [METHODS]: 'PUT' },
    { line: 'OPTIONS /api/v2/bills/7', method: 'PUT', methods: 'PUT' },
  ],
  [
    'the names that fields have in V2',
    { target: '/clients/7', method: 'GET', fields: 'content-type,x-account,x-legacy' },
    { [FIELDS]: 'Content-Type, X-Tenant-Id' },
    {
      fields: 'content-type, x-tenant-id',
      allowed: 'Content-Type, X-Tenant-Id, X-Legacy, X-Account',
      rules: [
        'tenant set Prefer',
        'tenant rename access-control-request-headers',
        'tenant strip access-control-request-headers',
      ],
    },
  ],
  [
    'a name that V2 does not allow',
    { target: '/clients/7', method: 'GET', fields: 'x-account' },
    { [FIELDS]: 'Content-Type' },
    { fields: 'x-tenant-id', allowed: 'Content-Type, X-Legacy' },
  ],
  [
    'fields of which V2 gets none',
    { target: '/clients/7', method: 'GET', fields: 'x-legacy' },
    {},
    { fields: undefined },
  ],
  [
    'names of no rule',
    { target: '/clients/7', method: 'GET', fields: 'accept,x-b' },
    { [METHODS]: 'GET' },
    { fields: 'accept,x-b', methods: 'GET' },
  ],
  [
    'an OPTIONS of no browser',
    { target: '/bills/7/close' },
    { [METHODS]: 'PATCH' },
    { line: 'OPTIONS /api/v2/invoices/inv_7', method: undefined, methods: 'PATCH' },
  ],
])('a preflight asks V2 about %s', (_, preflight, allowed, expected) => {
  expect(ask(preflight, allowed)).toMatchObject(expected);
});
