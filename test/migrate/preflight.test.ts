import { expect, test } from 'vitest';
import { createMigration } from '../../src/library/capture-gateway.ts';
import { bookIn } from '../rules/reading.ts';

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

const ruleBook = await bookIn(BOOK);
const migration = createMigration(ruleBook);

/** A preflight through the gateway: what V2 is asked, and what the browser reads of V2's answer. */
function ask(question: string, allowed: Readonly<Record<string, string>>) {
  const [target = '', method, fields] = question.split(' ');
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

const INVOICE = 'OPTIONS /api/v2/invoices/inv_7';

test.each<
  [title: string, question: string, Readonly<Record<string, string>>, Partial<ReturnType<typeof ask>>]
>([
  [
    'the method that the operation has in V2',
    '/bills/7/close POST',
    { [METHODS]: 'GET, PATCH' },
    { line: INVOICE, method: 'PATCH', methods: 'GET, PATCH, POST' },
  ],
  [
    'the path of the operation that has the method, and not of another one',
    '/bills/7 DELETE',
    { [METHODS]: 'POST' },
    { line: `${INVOICE}/drop`, method: 'POST', methods: 'POST, DELETE' },
  ],
  [
    'a HEAD by the GET',
    '/bills/7 HEAD',
    { [METHODS]: 'GET' },
    { line: INVOICE, method: 'HEAD', methods: 'GET' },
  ],
  [
    'a field that V2 does not allow stays forbidden',
    '/bills/7 DELETE',
    { [METHODS]: 'GET' },
    { methods: 'GET' },
  ],
  ['all methods', '/bills/7 DELETE', { [METHODS]: '*' }, { methods: '*' }],
  [
    'a method that no operation has keeps its path',
    '/bills/7 PUT',
    { [METHODS]: 'PUT' },
    { line: 'OPTIONS /api/v2/bills/7', method: 'PUT', methods: 'PUT' },
  ],
  [
    'the names that fields have in V2',
    '/clients/7 GET content-type,x-account,x-legacy',
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
    '/clients/7 GET x-account',
    { [FIELDS]: 'Content-Type' },
    { fields: 'x-tenant-id', allowed: 'Content-Type, X-Legacy' },
  ],
  ['fields that V2 does not get', '/clients/7 GET x-legacy', {}, { fields: undefined }],
  [
    'names without a rule',
    '/clients/7 GET accept,x-b',
    { [METHODS]: 'GET' },
    { fields: 'accept,x-b', methods: 'GET' },
  ],
  [
    'an OPTIONS that is not a preflight',
    '/bills/7/close',
    { [METHODS]: 'PATCH' },
    { line: INVOICE, method: undefined, methods: 'PATCH' },
  ],
])('a preflight asks V2 about %s', (_, preflight, allowed, expected) => {
  expect(ask(preflight, allowed)).toMatchObject(expected);
});
