import { expect, test } from 'vitest';
import type { EntriesPage, NumberedEntry, RulesView } from '../../../src/inspector/api.ts';
import { entryRow } from '../../../src/cli/entry-row.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import { accountOf, editsTitle, entrySentence } from '../../../src/inspector/entries/entry-words.ts';
import { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import { entrySchema } from '../../../src/rewrite-log/entry-schema.ts';
import { bookIn } from '../../rules/reading.ts';
import { inspected, type Inspected } from '../../support/inspected.ts';
import { exchange } from '../../support/raw-client.ts';

const RULES = `
version: 2025-01-01
operations: { create_bill: POST /bills, read_bill: 'GET /bills/{id}' }
changes:
  - id: due-date
    summary: due is called due_date.
    on: [create_bill]
    request: [{ rename: due, to: due_date }]
    response: inverse
`;

const READ = 'GET /api/v1/bills/1 HTTP/1.1\r\nHost: g\r\n\r\n';

async function serving(body: string, rules = RULES): Promise<Inspected> {
  return inspected({}, body, undefined, new CompiledRuleBook(await bookIn(rules)), 200);
}

test('an exchange whose response was rewritten is rewritten in every list and count, and its request is described as it was', async () => {
  const gateway = await serving('{"data":{"id":1,"due_date":"2026-12-01"}}');
  const { text } = await exchange(gateway.port, READ);
  expect(text).toContain('{"data":{"id":1,"due":"2026-12-01"}}');
  const entry = await gateway.entry();
  expect(entry).toMatchObject({ verdict: 'rewritten', edits: [] });
  const row = entryRow(entry, PLAIN);
  expect(row).toMatch(/ rewritten .*response: due-date/);
  expect(accountOf(entry).join(' ')).toMatch(
    /^Sent to V2 without a body\. .*Its response was rewritten for the V1 client with 1 edit\.$/,
  );
  expect(editsTitle(entry)).toBe('No edits of the request: there is no body; 1 edit of the response');
  expect(entrySentence(entry)).toContain('rewritten, 0 edits, 1 edit of the response, status 200');
  const found = async (filter: string): Promise<readonly NumberedEntry[]> =>
    (await gateway.readJson<EntriesPage>(`/entries?filter=${filter}`)).entries;
  expect(await found('verdict:rewritten')).toHaveLength(1);
  expect(await found('verdict:unchanged')).toHaveLength(0);
  const metrics = await fetch(`${gateway.adminOrigin}/metrics`);
  expect(await metrics.text()).toContain(
    'gateway_exchanges_total{route="migrate",operation="read_bill",verdict="rewritten",status_class="2xx",status="200"} 1',
  );
});

test('a response in which no rule finds its member leaves the exchange unchanged', async () => {
  const gateway = await serving('{"data":{"id":1}}');
  await exchange(gateway.port, READ);
  const entry = await gateway.entry();
  expect(entry).toMatchObject({ verdict: 'unchanged', edits: [] });
  expect(entry.responseNote).toBeUndefined();
});

test.each(['{"id":1,"due_date":"2026-12-01"}', '[{"due_date":"2026-12-01"}]', '{}'])(
  'an inverse that can find no member of %s adds a note, each time',
  async (body) => {
    const gateway = await serving(body);
    for (const count of [1, 2]) {
      const { text } = await exchange(gateway.port, READ);
      expect(text.endsWith(`\r\n\r\n${body}`)).toBe(true);
      const entry = await gateway.entry(count);
      expect(entry).toMatchObject({ verdict: 'unchanged', responseNote: 'response-no-resource' });
      entrySchema.parse(entry);
      expect(accountOf(entry).at(-1)).toBe(
        'The response has no resource at the place that the rule book gives for inverse: the client got it as V2 sent it.',
      );
    }
  },
);

test('a list without an envelope has the names of V1 in every element, where the rule book says so', async () => {
  const gateway = await serving('[{"due_date":"2026-12-01"} ,7]', `${RULES}\nresource: ''\n`);
  const { text } = await exchange(gateway.port, READ);
  expect(text.endsWith('\r\n\r\n[{"due":"2026-12-01"} ,7]')).toBe(true);
  const entry = await gateway.entry();
  expect(entry).toMatchObject({
    verdict: 'rewritten',
    responseEdits: [{ change: 'due-date', rule: 'rename', from: '/0/due_date', path: '/0/due' }],
  });
  expect(entry.responseNote).toBeUndefined();
});

test('an exchange of an operation without an inverse gets no note', async () => {
  const gateway = await serving('{"id":1}');
  await exchange(gateway.port, READ.replace('/bills/1', '/others/1'));
  expect((await gateway.entry()).responseNote).toBeUndefined();
});

test('the rule book shows the changes of operations of which only responses are rewritten', async () => {
  const gateway = await serving('{}');
  const { operations } = await gateway.readJson<RulesView>('/rules');
  expect(operations.map(({ id, changes }) => [id, changes])).toEqual([
    ['create_bill', ['due-date']],
    ['read_bill', ['due-date']],
    ['(other)', []],
  ]);
});
