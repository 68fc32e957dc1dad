import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { applyStrips } from '../../../src/cli/report/report.ts';
import { loadRuleBook } from '../../../src/node/rule-books.ts';
import type { StripProposal } from '../../../src/report/census.ts';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import { commandRun, commandRuns } from '../../support/command-runs.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const SHIPPED = readFileSync('config/rules.yaml', 'utf8');
const LEGACY: StripProposal = {
  operation: 'create_client',
  member: 'legacy_flag',
  why: 'V1 called it deprecated 4×',
  clients: ['3fa94c1d0e5b7a21'],
};

let path = '';

beforeEach(() => {
  const folder = temporaryFolder('rules');
  path = join(folder, 'rules.yaml');
  writeFileSync(path, SHIPPED);
});

test('adds lines only, behind the last change and its comments, with the counts and the clients', async () => {
  chmodSync(path, 0o640);
  const outcome = await applyStrips(path, [LEGACY, { ...LEGACY, in: 'items.*', member: 'odd name' }]);
  expect(outcome).toEqual({ written: ['legacy_flag', 'items.*.odd name'] });
  const text = readFileSync(path, 'utf8');
  const at = text.indexOf('\n  - id: removed-from-create-client\n');
  const end = text.indexOf('\n\n# Policies decide');
  expect(text.slice(0, at) + text.slice(end + 1)).toBe(SHIPPED);
  expect(text.slice(at, end)).toBe(`
  - id: removed-from-create-client
    summary: Attributes that V2 does not take.
    on: [create_client]
    request:
        # legacy_flag: V1 called it deprecated 4×; of 3fa94c1d0e5b7a21
      - strip: [legacy_flag]
        # odd name: V1 called it deprecated 4×; of 3fa94c1d0e5b7a21
      - strip: ["odd name"]
        in: "items.*"`);
  expect(statSync(path).mode & 0o777).toBe(0o640);
  expect(readdirSync(join(path, '..'))).toEqual(['rules.yaml']);
  const book = await loadRuleBook(path);
  expect('faults' in book).toBe(false);
});

test('writes nothing twice, and gives a later change another id', async () => {
  await applyStrips(path, [LEGACY]);
  const once = readFileSync(path, 'utf8');
  expect(await applyStrips(path, [LEGACY])).toEqual({ written: [] });
  expect(readFileSync(path, 'utf8')).toBe(once);
  await applyStrips(path, [LEGACY, { ...LEGACY, member: 'agent_fax' }]);
  const twice = readFileSync(path, 'utf8');
  expect(twice).toContain('- id: removed-from-create-client-2');
  expect(twice.match(/legacy_flag\]/g)).toHaveLength(1);
});

test('does not change a rule book that it cannot read or would make invalid', async () => {
  writeFileSync(path, 'version: 2025-01-01\nchanges: []\noperations: {}\n');
  expect(await applyStrips(path, [LEGACY])).toMatchObject({ faults: [expect.any(String)] });
  expect(await applyStrips(join(path, 'none'), [LEGACY])).toMatchObject({ faults: [expect.any(String)] });
  writeFileSync(path, SHIPPED);
  const faults = await applyStrips(path, [{ ...LEGACY, operation: 'no_such_operation' }]);
  expect(faults).toMatchObject({ faults: [expect.stringContaining('no_such_operation')] });
  expect(readFileSync(path, 'utf8')).toBe(SHIPPED);
});

test('the guide of a client leaves out what V2 does not know by the requests of all', async () => {
  const log = join(temporaryFolder('unknown-member'), 'rewrite.log');
  const dryRun = (
    client: string,
    attributes: readonly string[],
    v2: 'valid' | 'invalid',
    n: number,
    ruleBook: string,
  ): string =>
    entryLine({
      ...sampleEntry(n, Date.UTC(2026, 10, 21)),
      ruleBook,
      client,
      operation: 'create_client',
      path: '/api/v1/clients',
      bytesIn: 40,
      mode: 'observe',
      verdict: 'passed',
      edits: [],
      attributes,
      origin: 'v1',
      status: 201,
      would: { verdict: 'unchanged', v2, ...(v2 === 'invalid' ? { at: '/reference' } : {}) },
    });
  const own = '3fa94c1d0e5b7a21';
  const book = await loadRuleBook(path);
  if ('faults' in book) throw new Error(book.faults.join());
  const guideOf = async (ruleBook: string): Promise<string> => {
    const lines = [1, 2, 3].map((n) => dryRun(own, ['/name', '/reference'], 'invalid', n, ruleBook));
    writeFileSync(log, [...lines, dryRun('aaaa4c1d0e5b7a21', ['/name'], 'valid', 4, ruleBook)].join(''));
    return (await commandRun(['report', log, '--guide', '--client', '3fa9', '--rules', path])).out;
  };
  // As on the page, the dry runs by these rules count.
  expect(await guideOf('0123456789abcdef')).not.toContain('would fail after the migration');
  const out = await guideOf(book.rules.ruleBook.hash);
  expect(out).toContain(
    '3 of 3 checked requests would fail after the migration. The reason: reference is not known',
  );
  expect(out).toContain(
    "`reference` is not known to V2: leave it out \\(all clients: sent 3×, V2's schema refused it 3×, V1 accepted it 3×, V2 or its schema accepted requests without it\\).",
  );
});

test('no statement is made about a log by the rule book of another API', async () => {
  const folder = temporaryFolder('foreign-log');
  const log = join(folder, 'rewrite.log');
  const { attributes: _, ...entry } = sampleEntry(0, Date.UTC(2026, 10, 21));
  const client = '3fa94c1d0e5b7a21';
  const foreign = { ...entry, client, operation: 'createShipment', path: '/api/v1/shipments', edits: [] };
  writeFileSync(log, entryLine({ ...foreign, ruleBook: '0123456789abcdef' }));
  const at = ['--rules', path];
  const description = join(temporaryFolder('description'), 'v2.json');
  writeFileSync(description, '{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{}}');
  const runs = await commandRuns([
    ['report', log, '--guide', '--client', '3fa9', ...at],
    ['report', log, '--digest', ...at],
    ['report', log, '--census', '--apply', ...at],
    ['report', log, '--openapi', description, ...at],
    ['plan', log, ...at],
    ['plan', 'rehearse', log, '--window', '2026-11-21T00:00/01:00', ...at],
    ['explain', '--log', log, ...at],
    ['replay', 'record', '--log', log, '--out', join(folder, 'fixture'), ...at],
    ['check', '--log', log, ...at],
  ]);
  const [said = ''] = runs.map(({ err }) => err);
  expect(said).toMatch(
    /^The requests of the log were handled by the rule book 0123456789abcdef, and this one \([0-9a-f]{16}\) has none of their operations: name the right one with --rules\.\n$/,
  );
  for (const run of runs) expect(run).toEqual({ code: 2, out: '', err: said });
  const report = await commandRun(['report', log, ...at]);
  expect(report.err).toBe(`note: operations that end before V1 are left out. ${said}`);
  expect(report.out).toContain(client);
  expect(readFileSync(path, 'utf8')).toBe(SHIPPED);
  expect(readdirSync(folder)).toEqual(['rewrite.log']);
});
