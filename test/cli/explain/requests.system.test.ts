import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { commandRuns } from '../../support/command-runs.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const root = new URL('../../../', import.meta.url).pathname;

test('tools on logs say which entries they leave out and why, and that the log is of another rule book', async () => {
  const folder = temporaryFolder('log-requests');
  const log = join(folder, 'rewrite.log');
  const { hash } = (await compiledShippedRuleBook()).ruleBook;
  const entry = (over: Partial<Entry>): string =>
    entryLine({ ...sampleEntry(0, Date.UTC(2026, 10, 1)), ruleBook: hash, ...over });
  const map = { change: 'c', rule: 'map', from: '/data/a', path: '/a' } as const;
  writeFileSync(
    log,
    [
      entry({}),
      entry({ ruleBook: '00000000deadbeef' }),
      entry({ edits: [map] }),
      entry({ verdict: 'refused', failure: 'malformed-json', status: 400 }),
      'no entry\n',
    ].join(''),
  );
  const out = join(folder, 'fixture');
  const [recorded, explained] = await commandRuns([
    ['replay', 'record', '--log', log, '--out', out],
    ['explain', '--log', log, '--fail-on', 'never'],
  ]);
  expect(recorded?.code).toBe(0);
  expect(recorded?.out).toContain('Recorded 2 requests');
  for (const run of [recorded, explained]) {
    expect(run?.err).toContain(
      'note: 2 of 4 entries are left out: 1 with a value that a rule replaced, which the log does not have; 1 refused, and the log contains nothing of the body.\n',
    );
    expect(run?.err).toContain(
      `note: 1 request of the log was handled by another rule book (00000000deadbeef); the outcome shown is that of ${hash}.\n`,
    );
  }
});

test('without a rule book in the folder, commands say that they use the one that ships', () => {
  const folder = join(temporaryFolder('no-rule-book'), 'empty');
  mkdirSync(folder);
  const run = (...args: readonly string[]): { readonly out: string; readonly err: string } => {
    const { stdout, stderr } = spawnSync(process.execPath, [join(root, 'src/cli/main.ts'), ...args], {
      cwd: folder,
      encoding: 'utf8',
      input: '{"data":{}}',
      env: { PATH: process.env['PATH'] ?? '' },
    });
    return { out: stdout, err: stderr };
  };
  const shipped = join(root, 'config/rules.yaml');
  expect(run('check').out.replaceAll(/\s+/g, ' ')).toContain(
    `There is no config/rules.yaml here, so capture-gateway uses the rule book that it ships, for the property-capture API (${shipped}). Name your own with --rules (GATEWAY_RULES). It is sound.`,
  );
  expect(JSON.parse(run('check', '--json').out)).toMatchObject({ rules: shipped });
  const { err } = run('explain', '-', '--operation', 'create_client');
  expect(err).toContain(
    `note: There is no config/rules.yaml here, so capture-gateway uses the rule book that it ships`,
  );
});
