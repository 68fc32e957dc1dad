import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXIT_CODES, FAILURE, NOT_STARTED, SUCCESS } from '../../src/cli/exit-codes.ts';
import { type CommandRun, commandRuns } from '../support/command-runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'exit-'));
const JUNK = join(folder, 'junk');
const MISSING = join(folder, 'missing');
const NOBODY = 'http://127.0.0.1:1';

/** Every way in which a command reads a file, with the place of its name. */
const READS: readonly (readonly string[])[] = [
  ['report', '?'],
  ['report', '?', '--format', 'json'],
  ['report', '?', '--census'],
  ['tail', '?'],
  ['tail', '?', '--json'],
  ['explain', '--har', '?'],
  ['explain', '--postman', '?'],
  ['explain', '--log', '?'],
  ['replay', 'check', '?'],
  ['replay', 'record', '--out', join(folder, 'fixture'), '--har', '?'],
  ['replay', 'record', '--out', join(folder, 'fixture'), '--postman', '?'],
  ['replay', 'record', '--out', join(folder, 'fixture'), '--log', '?'],
  ['openapi', '?'],
  ['draft', '--v2', '?', '--v1', '?'],
  ['twin', '--script', '?'],
];

/** Commands that cannot start, whatever is in their files. */
const NOT_STARTING: readonly (readonly string[])[] = [
  ['check', '--rules', MISSING],
  ['check', '--rules', JUNK],
  ['explain', JUNK, '--operation', 'create_client', '--rules', JUNK],
  ['explain', JUNK],
  ['explain', MISSING, '--operation', 'create_client'],
  ['report', JUNK, '--names', MISSING],
  ['report', JUNK, '--openapi', MISSING],
  ['rollout', '--admin', NOBODY],
  ['rollout', 'migrate', '--admin', NOBODY],
  ['clients', '--admin', NOBODY],
  ['tail', '--admin', NOBODY],
  ['replay', 'record', '--out', join(folder, 'fixture'), '--admin', NOBODY],
  ['sreve'],
  ['serve', '--no-such-flag'],
  ['replay', 'check'],
  ['rollout', 'canary'],
  ['clients', 'name', '--no-such-flag'],
  ['completion', 'tcsh'],
  ['report', '--json', '--format', 'csv'],
];

const filled = (args: readonly string[], file: string): string[] =>
  args.map((arg) => (arg === '?' ? file : arg));
let runs: ReadonlyMap<string, CommandRun>;

beforeAll(async () => {
  writeFileSync(JUNK, 'hello\n');
  const all = [
    ...READS.flatMap((args) => [filled(args, MISSING), filled(args, JUNK)]),
    ...NOT_STARTING,
    [],
    ['--version'],
    ['serve', '--help'],
  ];
  const done = await commandRuns(all);
  runs = new Map(all.map((args, at) => [args.join(' '), done[at] ?? { code: -1, out: '', err: '' }]));
});

afterAll(() => rmSync(folder, { recursive: true }));

const runOf = (args: readonly string[]): CommandRun | undefined => runs.get(args.join(' '));

describe.each(READS.map((args) => [args.join(' '), args] as const))('%s', (_, args) => {
  test('a missing file is 2, junk is 1, each with a sentence', () => {
    const [missing, junk] = [runOf(filled(args, MISSING)), runOf(filled(args, JUNK))];
    expect([missing?.code, junk?.code]).toEqual([NOT_STARTED, FAILURE]);
    for (const run of [missing, junk]) expect(run?.err).toMatch(/^\S.*\.\n$/s);
  });
});

test.each(NOT_STARTING.map((args) => [args.join(' '), args] as const))('%s is 2', (_, args) => {
  const run = runOf(args);
  expect([run?.code, run?.err === '']).toEqual([NOT_STARTED, false]);
});

test('a gateway that cannot be reached is named, whichever command asks', () => {
  for (const args of NOT_STARTING.filter((each) => each.includes(NOBODY)))
    expect(runOf(args)?.err).toContain(NOBODY);
});

describe('help', () => {
  test('without a command the program says what it can do, and succeeds', () => {
    const run = runOf([]);
    expect([run?.code, run?.err]).toEqual([SUCCESS, '']);
    expect(run?.out).toMatch(/Run:\n {2}serve +run the gateway/);
  });

  test('ends with every exit code', () => {
    const text = runOf([])?.out.replaceAll(/\s+/g, ' ');
    for (const [code, meaning] of EXIT_CODES) expect(text).toContain(`${code} ${meaning}`);
  });
});
