import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commandRun } from '../../support/command-runs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const folder = temporaryFolder('response');
const response = join(folder, 'response.json');
writeFileSync(response, '{"data":{"id":1,"highlight_type":"slide"}}\n');

const ORDER = ['explain', '--operation', 'order_post_production', '--response', response];

test('a response is explained as the client gets it', async () => {
  const { code, out, err } = await commandRun(ORDER);
  expect([code, err]).toEqual([0, '']);
  expect(out).toContain(`Response 200  rewritten

Edits of the response
  change          rule    from                  to                     note
  highlight-type  rename  /data/highlight_type  /data/transition_type

What the client gets
  - {"data":{"id":1,"highlight_type":"slide"}}
  + {"data":{"id":1,"transition_type":"slide"}}
`);
});

test('the status decides which rules apply', async () => {
  const { out } = await commandRun([...ORDER, '--status', '422', '--json']);
  expect(JSON.parse(out)).toMatchObject({
    operation: 'order_post_production',
    response: {
      status: 422,
      verdict: 'unchanged',
      edits: [],
      body: '{"data":{"id":1,"highlight_type":"slide"}}\n',
    },
  });
});

test('a request that is refused has no response', async () => {
  const body = join(folder, 'refused.json');
  writeFileSync(body, '[');
  const { code, err } = await commandRun([...ORDER, body]);
  expect([code, err]).toEqual([
    2,
    'The request does not reach V2 (malformed-json), so there is no response from V2.\n',
  ]);
});

const MOVED = join(folder, 'moved.yaml');
writeFileSync(
  MOVED,
  `from: /v1
to: /v2
operations:
  list: { match: GET /bills, to: GET /invoices }
  make: { match: POST /bills, to: POST /invoices }
changes:
  - { id: c, summary: s, on: [make], request: [{ rename: a, to: b }] }
`,
);

test.each([
  ['GET', '', 'moved', 'list'],
  ['POST', '{"a":1}', 'rewritten, moved', 'make'],
])(
  'a request that V2 has at another place is not called unchanged: %s',
  async (method, body, words, operation) => {
    const sent = body === '' ? '' : ` -H 'Content-Type: application/json' -d '${body}'`;
    const command = `curl -X ${method} http://localhost/v1/bills${sent}`;
    const { out, err } = await commandRun(['explain', '--rules', MOVED, '--curl', command]);
    expect([err, ...out.split('\n', 1)]).toEqual(['', `${method} /v1/bills  ${words}  ${operation}`]);
  },
);

test('an edit of a header field says where V2 has it', async () => {
  const book = join(folder, 'fields.yaml');
  writeFileSync(
    book,
    `operations: { list: { match: GET /bills } }
changes:
  - id: c
    summary: s
    on: [list]
    headers: [{ rename: X-A, to: X-B }, { set: X-C, to: c }, { strip: X-D }, { query: key, to: X-E }]
`,
  );
  const command = "curl -H 'X-A: 1' -H 'X-D: 2' http://localhost/api/v1/bills?key=3";
  const { out, err } = await commandRun(['explain', '--rules', book, '--curl', command]);
  expect(err).toBe('');
  expect(out).toContain(`
  change  rule    from  to       note
  c       rename  X-A:  X-B:
  c       set     X-C:  X-C:
  c       strip   X-D:  dropped
  c       move    ?key  X-E:
`);
});
