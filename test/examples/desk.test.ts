import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { loadRuleBook } from '../../src/node/rule-books.ts';
import { command } from '../support/command.ts';
import { commandRun } from '../support/command-runs.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { gatewayFor } from '../support/gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { createDesk } from './desk/service.ts';

// Another API than those that the gateway was made with: a ticket desk whose V1 is under /legacy with its key in the query, and whose V2
// tells its releases by a header field. Its rules are those that a rule book can express, and no code of the gateway knows it.
const FOLDER = 'test/examples/desk';
const DESCRIPTIONS = ['--v1', `${FOLDER}/v1.yaml`, '--v2', `${FOLDER}/v2.yaml`];

async function desk(): Promise<string> {
  const server = createDesk();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly query?: string;
  readonly body?: string;
}

const optional = (name: string, ...values: readonly unknown[]): fc.Arbitrary<Record<string, unknown>> =>
  fc.option(fc.constantFrom(...values), { nil: undefined }).map((value) => ({ [name]: value }));
const ticket = fc
  .tuple(
    optional('title', 'Broken', 'Ünïcode "x"', 7),
    optional('state', 'new', 'in_progress', 'done', 'odd'),
    optional('severity', 1, 2, 3, 4),
    optional('assigned_to', 'ann', 'bo'),
    optional('cost', '12.50', '0.05', '100000.00'),
    optional('opened', '2026-02-03', '2000-12-31'),
    optional('requester_name', 'Cy'),
    optional('requester_mail', 'cy@x.example'),
    optional(
      'watchers',
      [],
      [
        { user: 'di', since: '2026-01-01' },
        { user: 'ed', since: '2026-01-02' },
      ],
    ),
  )
  .map((parts) => JSON.stringify(Object.assign({}, ...parts)));
const no = fc.integer({ min: 1, max: 9 });
const sent: fc.Arbitrary<Sent> = fc.oneof(
  { weight: 4, arbitrary: ticket.map((body) => ({ method: 'POST', path: '/tickets', body })) },
  {
    weight: 3,
    arbitrary: fc.tuple(no, ticket).map(([one, body]) => ({ method: 'PUT', path: `/tickets/${one}`, body })),
  },
  { weight: 2, arbitrary: no.map((one) => ({ method: 'GET', path: `/tickets/${one}` })) },
  { weight: 1, arbitrary: no.map((one) => ({ method: 'DELETE', path: `/tickets/${one}` })) },
  { weight: 2, arbitrary: no.map((one) => ({ method: 'POST', path: `/tickets/${one}/close` })) },
  { weight: 2, arbitrary: no.map((one) => ({ method: 'GET', path: `/tickets/${one}/comments` })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(no, fc.constantFrom('{"text":"a"}', '{"by":"ann","text":"b"}', '{"by":"ann"}', '{"text":'))
      .map(([one, body]) => ({ method: 'POST', path: `/tickets/${one}/comments`, body })),
  },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom('', '&state=new', '&state=done&size=1', '&size=2')
      .map((query) => ({ method: 'GET', path: '/projects/p1/tickets', query })),
  },
);

async function answerOf(origin: string, { method, path, query = '', body }: Sent): Promise<unknown> {
  const response = await fetch(`${origin}/legacy${path}?key=k1${query}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body }),
  });
  const fields = ['content-type', 'location'].map((name) => response.headers.get(name));
  return [response.status, fields, await response.text()];
}

test(
  'a V1 client of an API that the design did not start from cannot tell the gateway from V1',
  { timeout: 300_000 },
  async () => {
    const loaded = await loadRuleBook(`${FOLDER}/rules.yaml`);
    if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
    const [v1, v2] = [await desk(), await desk()];
    const gateway = await gatewayFor(v2, { rules: loaded.rules });
    for (const one of fc.sample(sent, { numRuns: fuzzRuns(2000), seed: 7 })) {
      const before = await answerOf(v1, one);
      expect({ one, got: await answerOf(gateway.origin, one) }).toEqual({ one, got: before });
    }
    expect(gateway.surprises).toEqual([]);
  },
);

test('check finds what is open between its descriptions: nothing', async () => {
  const checked = command(['check', '--rules', `${FOLDER}/rules.yaml`, ...DESCRIPTIONS]);
  expect([await checked.exit, checked.stderr()]).toEqual([0, '']);
  expect(checked.stdout()).toContain('8 of 8 operations of V1 have a place in V2, and nothing is missing');
});

test('init drafts its prefixes, its release, its key, and what moved; another method is a question that --into goes on from', async () => {
  const folder = temporaryFolder('desk');
  const drafted = await commandRun(['init', ...DESCRIPTIONS, '--dir', folder]);
  expect([drafted.code, drafted.err]).toEqual([0, '']);
  const rules = join(folder, 'rules.yaml');
  const text = readFileSync(rules, 'utf8');
  for (const line of [
    'from: /legacy',
    'to: /api',
    'client: { query: key }',
    '# version: { header: Desk-Version, value: 2026-05-01 }',
    '    # to: "GET /cases?project={project}"',
    '  # - { query: key, to: Authorization, as: "Bearer {}" }'.replace('  # -', '  #     -'),
    '  #     - { rename: data, to: ticket }',
    '  #     - { map: { new: open, in_progress: working, done: closed }, of: status }',
    '  #     - { map: { 1: low, 2: normal, 3: high }, of: priority }',
    '  #     - { rename: state, to: status }',
    '    # to: "PATCH /cases/T-{no}"',
  ])
    expect(text.split('\n')).toContain(line);
  // The schema that editors find is there.
  expect(readFileSync(join(folder, 'rules.schema.json'), 'utf8')).toBe(
    readFileSync('config/rules.schema.json', 'utf8'),
  );
});
