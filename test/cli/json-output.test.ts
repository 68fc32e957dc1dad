import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeCommand, everyCommand } from '../../src/cli/completion.ts';
import { createProgram } from '../../src/cli/program.ts';
import { createClientHash } from '../../src/node/runtime.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import { command } from '../support/command.ts';
import { commandRuns } from '../support/command-runs.ts';
import { watchedServices } from '../support/watched-services.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder('json');
const LOG = join(folder, 'log');
const FIXTURE = join(folder, 'fixture');
const RULES = join(folder, 'rules.yaml');
const V2 = join(folder, 'v2.json');
const ORDERS = 200;

writeFileSync(
  LOG,
  Array.from({ length: ORDERS }, (_, n) => entryLine(sampleEntry(n, Date.UTC(2026, 10, 1) + n))).join(''),
);
writeFileSync(RULES, readFileSync('config/rules.yaml', 'utf8').replace('under: address', 'under: place'));
writeFileSync(
  V2,
  JSON.stringify({
    openapi: '3.0.3',
    info: { title: 'Clients', version: '2025-01-01' },
    paths: {
      '/api/v2/clients': {
        post: {
          operationId: 'create_client',
          requestBody: {
            content: {
              'application/json': { schema: { type: 'object', properties: { name: { type: 'string' } } } },
            },
          },
          responses: {},
        },
      },
    },
  }),
);

/** Runs a command as text and as JSON. */
async function both(
  ...args: string[]
): Promise<{ readonly text: string; readonly json: unknown; readonly codes: readonly number[] }> {
  const [text, json] = await commandRuns([args, [...args, '--json']]);
  return {
    text: text?.out ?? '',
    json: JSON.parse(json?.out ?? ''),
    codes: [text?.code ?? -1, json?.code ?? -1],
  };
}

test('replay prints the counts that it prints for people, with the same exit codes', async () => {
  const recorded = await both('replay', 'record', '--log', LOG, '--out', FIXTURE);
  const [, requests, distinct] = /^Recorded (\d+) requests, (\d+) distinct/.exec(recorded.text) ?? [];
  expect(recorded.json).toEqual({ requests: Number(requests), different: Number(distinct), out: FIXTURE });
  const checked = await both('replay', 'check', FIXTURE, '--rules', RULES);
  const [, changed] = /^(\d+) of \d+ requests change/.exec(checked.text) ?? [];
  expect(checked.json).toMatchObject({ requests: Number(requests), changed: Number(changed) });
  expect(JSON.stringify(checked.json)).toContain('"place":"/property/place"');
  expect(checked.codes).toEqual([1, 1]);
});

test('draft prints rule book, faults and the requests that V2 would refuse', async () => {
  const drafted = await both('draft', '--v2', V2, '--log', LOG);
  expect(drafted.json).toMatchObject({
    ruleBook: drafted.text,
    faults: [],
    trial: { requests: expect.any(Number) as number },
  });
});

test('clients and rollout print what the gateway says, and fit their tables', async () => {
  const { gateway } = await watchedServices({ default: { mode: 'observe' } });
  const admin = ['--admin', gateway.adminOrigin];
  await fetch(`${gateway.origin}/api/v1/clients`, {
    headers: { authorization: 'Bearer k', 'user-agent': 'an integration of some years/1.0' },
  });
  const clients = await both('clients', 'list', ...admin);
  expect(clients.json).toMatchObject({ clients: [{ userAgents: ['an integration of some years/1.0'] }] });
  const rollout = await both('rollout', ...admin);
  expect(rollout.json).toMatchObject({ default: { mode: 'observe' } });
  expect(rollout.text).toContain('default     observe');
  const status = await both('status', ...admin);
  expect(status.json).toMatchObject({ verdict: { level: 'good', label: 'All well' } });
  for (const columns of [100, 80, 60]) {
    const fitted = await commandRuns(
      [
        ['clients', 'list', ...admin],
        ['rollout', ...admin],
        ['status', ...admin],
      ],
      { columns },
    );
    for (const [at, { out }] of fitted.entries()) {
      const words = ([clients, rollout, status][at]?.text ?? '').split(/\s+/);
      expect(out.split('\n').filter((line) => line.length > columns)).toEqual([]);
      expect(out.split(/\s+/).toSorted()).toEqual(words.toSorted());
    }
  }
});

test('clients hash prints the hash as a member', async () => {
  const secret = 'a secret of sixteen or more';
  const run = command(['clients', 'hash', '--json'], { GATEWAY_CLIENT_SECRET: secret }, 'the key\n');
  expect(await run.exit).toBe(0);
  expect(JSON.parse(run.stdout())).toEqual({ client: createClientHash(secret)('the key') });
});

/** What each command that reports is given, without its `--json`; `hash` and `twin` have tests of their own. */
const REPORTING: Readonly<Record<string, readonly string[]>> = {
  check: [],
  explain: ['--log', LOG],
  test: ['test/cases/requests.txt'],
  'replay record': ['--log', LOG, '--out', join(folder, 'again')],
  'replay check': [FIXTURE],
  draft: ['--v2', V2, '--log', LOG],
  openapi: [],
  'plan make': [LOG],
  'plan rehearse': [LOG, '--window', '2026-11-01T00:00/2026-12-01T00:00'],
  report: [LOG],
  'clients list': [],
  'clients name': ['3fa94c1d0e5b7a21', 'Acme'],
  tail: [LOG],
  'rollout show': [],
  'rollout observe': [],
  'rollout shadow': ['--operation', 'create_client'],
  'rollout migrate': ['--force'],
  'rollout canary': ['5', '--force'],
  'rollout verify': ['5'],
  'rollout clear': [],
  status: [],
};

test('every command that has --json prints JSON and nothing else', async () => {
  const { gateway } = await watchedServices(
    { default: { mode: 'observe' } },
    {},
    { flags: { 'client-names': join(folder, 'names.yaml') } },
  );
  await commandRuns([['replay', 'record', '--log', LOG, '--out', FIXTURE]]);
  const paths = Object.keys(REPORTING);
  const runs = await commandRuns(
    Object.entries(REPORTING).map(([path, args]) => [
      ...path.split(' '),
      ...args,
      ...(/^(?:clients|rollout|status)/.test(path) ? ['--admin', gateway.adminOrigin] : []),
      '--json',
    ]),
  );
  for (const [at, path] of paths.entries()) {
    const { code, out = '', err } = runs[at] ?? {};
    expect([path, code, path === 'openapi' || path === 'draft' ? '' : withoutNotes(err)]).toEqual([
      path,
      0,
      '',
    ]);
    // A log has a line for each entry.
    for (const text of path === 'tail' ? out.trimEnd().split('\n') : [out])
      expect([path, typeof JSON.parse(text)]).toEqual([path, 'object']);
  }
  const reporting = everyCommand(describeCommand(await createProgram(() => true))).filter(
    ({ commands, options }) => commands.length === 0 && options.some(({ names }) => names.includes('--json')),
  );
  expect(reporting.map(({ path }) => path).toSorted()).toEqual([...paths, 'clients hash', 'twin'].toSorted());
});

/** Notes say on stderr what was left out; stdout stays JSON. */
function withoutNotes(err = ''): string {
  return err.replaceAll(/^note: .*\n/gm, '');
}
