import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { EXIT_CODES, FAILURE, NOT_STARTED, SUCCESS } from '../../src/cli/command-fault.ts';
import { describeCommand, everyCommand } from '../../src/cli/completion.ts';
import { configOption } from '../../src/cli/setting-options.ts';
import { createProgram } from '../../src/cli/program.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import { type CommandRun, commandRuns } from '../support/command-runs.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder('exit');
const JUNK = join(folder, 'junk');
const MISSING = join(folder, 'missing');
const LOG = join(folder, 'log');
const V2 = join(folder, 'v2.json');
const FIXTURE = join(folder, 'fixture');
const LATIN_1 = join(folder, 'latin-1');
const NOBODY = 'http://127.0.0.1:1';

type Codes = readonly [missing: number, junk: number];
const INPUT: Codes = [NOT_STARTED, FAILURE];
/** Settings and rule books, without which nothing starts. */
const SETTING: Codes = [NOT_STARTED, NOT_STARTED];
/** Files that are made when they are not there. */
const MADE: Codes = [SUCCESS, NOT_STARTED];

const HASH = '3fa94c1d0e5b7a21';
const TWINS = ['twin', '--v1', NOBODY, '--v2', NOBODY];
const V2_TLS = ['check', '--upstream', 'https://127.0.0.1:1'];

/** Every way in which a command reads a file, with the place of its name, and the exit codes for a missing one and for junk. */
const READS: readonly (readonly [args: readonly string[], codes: Codes])[] = [
  [['report', '?'], INPUT],
  [['report', '?', '--format', 'json'], INPUT],
  [['report', '?', '--census'], INPUT],
  [['report', LOG, '--names', '?'], INPUT],
  [['report', LOG, '--openapi', '?'], INPUT],
  [['report', LOG, '--census', '--apply', '--rules', '?'], SETTING],
  [['tail', '?'], INPUT],
  [['tail', '?', '--json'], INPUT],
  [['explain', '?', '--operation', 'create_client'], INPUT],
  [['explain', '--har', '?'], INPUT],
  [['explain', '--postman', '?'], INPUT],
  [['explain', '--postman', LOG, '--postman-env', '?'], INPUT],
  [['explain', '--log', '?'], INPUT],
  [
    ['explain', '--operation', 'create_client', '--response', '?'],
    [NOT_STARTED, SUCCESS],
  ],
  [['explain', LOG, '--operation', 'create_client', '--rules', '?'], SETTING],
  [['test', '?'], INPUT],
  [['test', 'test/cases/requests.txt', '--rules', '?'], SETTING],
  [['replay', 'check', '?'], INPUT],
  [['replay', 'check', LOG, '--rules', '?'], SETTING],
  [['replay', 'record', '--out', FIXTURE, '--har', '?'], INPUT],
  [['replay', 'record', '--out', FIXTURE, '--postman', '?'], INPUT],
  [['replay', 'record', '--out', FIXTURE, '--postman', LOG, '--postman-env', '?'], INPUT],
  [['replay', 'record', '--out', FIXTURE, '--log', '?'], INPUT],
  [['replay', 'record', '--out', FIXTURE, '--log', LOG, '--rules', '?'], SETTING],
  [['openapi', '?'], INPUT],
  [['openapi', '--rules', '?'], SETTING],
  [['draft', '--v2', '?', '--v1', V2], INPUT],
  [['init', '--v2', '?', '--v1', V2], INPUT],
  [['init', '--v2', V2, '--v1', '?'], INPUT],
  [['init', '--v2', V2, '--v1', V2, '--har', '?'], INPUT],
  [['try', '--v2', '?', '--v1', V2], INPUT],
  [['try', '--v2', V2, '--v1', '?'], INPUT],
  [['check', '--v2', '?', '--v1', V2], INPUT],
  [['check', '--v2', V2, '--v1', '?'], INPUT],
  [['draft', '--v2', V2, '--v1', '?'], INPUT],
  [['draft', '--v2', V2, '--v1', V2, '--into', '?'], INPUT],
  [['draft', '--v2', V2, '--har', '?'], INPUT],
  [['draft', '--v2', V2, '--postman', '?'], INPUT],
  [['draft', '--v2', V2, '--postman', LOG, '--postman-env', '?'], INPUT],
  [['draft', '--v2', V2, '--log', '?'], INPUT],
  [['check', '--log', '?'], INPUT],
  [['plan', 'make', '?'], INPUT],
  [['plan', 'make', LOG, '--names', '?'], INPUT],
  [['plan', 'make', LOG, '--holidays', '?'], INPUT],
  [['plan', 'make', LOG, '--rules', '?'], SETTING],
  [['plan', 'make', LOG, '--into', '?'], SETTING],
  [['plan', 'rehearse', '?', '--window', '2026-11-01T00:00/01:00'], INPUT],
  [['plan', 'rehearse', LOG, '--names', '?'], INPUT],
  [['plan', 'rehearse', LOG, '--rules', '?'], SETTING],
  [['twin', '--script', '?'], INPUT],
  [['twin', '--rules', '?'], SETTING],
  [[...TWINS, '--key-file', '?'], INPUT],
  [
    ['clients', 'name', HASH, 'Acme', '--names', '?'],
    [SUCCESS, FAILURE],
  ],
  [['reference', '--listen', 'nowhere', '--db', '?'], SETTING],
  [['check', '--rules', '?'], SETTING],
  [['check', '--v1-upstream', NOBODY, '--v2-openapi', '?'], SETTING],
  [['check', '--store', 'rediss://127.0.0.1:1?ca=?'], SETTING],
  [[...V2_TLS, '--upstream-ca', '?'], SETTING],
  [[...V2_TLS, '--upstream-cert', '?', '--upstream-key', '?'], SETTING],
  [['check', '--tls-cert', '?', '--tls-key', '?'], SETTING],
  [['check', '--store', 'file:?'], MADE],
  [['check', '--config', '?'], SETTING],
  [['explain', LOG, '--operation', 'create_client', '--config', '?'], SETTING],
  [['tail', '--admin', NOBODY, '--config', '?'], SETTING],
  [['tail', LOG, '--names', '?'], INPUT],
  [['tail', LOG, '--rules', '?'], SETTING],
  [['check', '--client-names', '?'], MADE],
];

/** Inputs whose bytes are no text of their own: logs, bodies, certificates, databases, and stores. */
const BYTES =
  /^(?:report|tail|explain|plan make|plan rehearse) \?|--(?:log|response|db|store|upstream-ca|upstream-cert|tls-cert) \S*\?/;
const TEXTS = READS.map(([args]) => args).filter((args) => !BYTES.test(args.join(' ')));

/** Options that name a file to write. */
const WRITES: readonly (readonly string[])[] = [
  ['replay', 'record', '--log', LOG, '--out'],
  ['draft', '--v2', V2, '--v1', V2, '--out'],
  ['check', '--log-file'],
];

/** Options and arguments that would have no effect, or not the intended one, with the sentence about them. */
const REFUSED: readonly (readonly [args: readonly string[], said: string])[] = [
  [['tail', LOG, '--admin', 'http://127.0.0.1:2'], 'Name a log file, or use --admin, not both.'],
  [['tail', LOG, '--filter', '"unclosed'], 'A double quote of the filter is not closed.'],
  [
    ['replay', 'record', '--log', LOG, '--har', JUNK, '--out', FIXTURE],
    'Give one of --har, --postman, --log and --admin.',
  ],
  [['twin', '--rate', '5'], '--rate is for running services: it requires --v1 and --v2.'],
  [['twin', '--writes'], '--writes is for running services: it requires --v1 and --v2.'],
  [['twin', '--key-file', LOG], '--key-file is for running services: it requires --v1 and --v2.'],
  [
    ['explain', '--curl', 'wget http://localhost/api/v1/clients'],
    'The command is not curl: it begins with wget. Copy it as cURL for bash (browsers: Network, Copy, Copy as cURL (bash) or (POSIX)), or give --method, --target and the body.',
  ],
  [
    ['explain', '--operation', 'create_client', '--status', '404'],
    '--status belongs to a response: give its body with --response.',
  ],
  [['explain', '--method', 'PO ST', '--target', '/api/v1/clients'], '"PO ST" is not an HTTP method.'],
];

/** Commands that cannot start, with any content of their files. */
const NOT_STARTING: readonly (readonly string[])[] = [
  ...WRITES.map((args) => [...args, join(MISSING, 'file')]),
  ['explain', JUNK, '--operation', 'create_client', '--rules', JUNK],
  ['explain', JUNK],
  ['rollout', '--admin', NOBODY],
  ['status', '--admin', NOBODY],
  ['rollout', 'migrate', '--admin', NOBODY],
  ['clients', '--admin', NOBODY],
  ['clients', 'name', HASH, 'Acme', '--admin', NOBODY],
  ['tail', '--admin', NOBODY],
  ['replay', 'record', '--out', FIXTURE, '--admin', NOBODY],
  ['sreve'],
  ['serve', '--no-such-flag'],
  ['replay', 'check'],
  ['rollout', 'canary'],
  ['clients', 'name', '--no-such-flag'],
  ['completion', 'tcsh'],
  ['report', '--json', '--format', 'csv'],
  ...REFUSED.map(([args]) => args),
];

const filled = (args: readonly string[], file: string): string[] =>
  args.map((arg) => (arg.endsWith('?') ? `${arg.slice(0, -1)}${file}` : arg));
let runs: ReadonlyMap<string, CommandRun>;

beforeAll(async () => {
  writeFileSync(JUNK, 'hello you\n');
  writeFileSync(LATIN_1, Buffer.from('# caf\xe9\n', 'latin1'));
  writeFileSync(LOG, entryLine(sampleEntry(0, Date.UTC(2026, 10, 1))));
  writeFileSync(V2, '{"openapi":"3.0.3","info":{"title":"V2","version":"1"},"paths":{}}');
  const all = [
    // A file that one of them makes is missing no more.
    ...READS.flatMap(([args]) => [
      filled(args, `${MISSING}-${READS.findIndex(([each]) => each === args)}`),
      filled(args, JUNK),
    ]),
    ...TEXTS.map((args) => filled(args, LATIN_1)),
    ...NOT_STARTING,
    [],
    ['--version'],
    ['serve', '--help'],
  ];
  const done = await commandRuns(all);
  runs = new Map(all.map((args, at) => [args.join(' '), done[at] ?? { code: -1, out: '', err: '' }]));
});

const runOf = (args: readonly string[]): CommandRun | undefined => runs.get(args.join(' '));

describe.each(READS.map(([args, codes], at) => [args.join(' '), args, codes, at] as const))(
  '%s',
  (_, args, codes, at) => {
    test(`exits with ${codes[0]} for a missing file and with ${codes[1]} for junk, each with a sentence`, () => {
      const played = [runOf(filled(args, `${MISSING}-${at}`)), runOf(filled(args, JUNK))];
      expect(played.map((run) => run?.code)).toEqual(codes);
      for (const run of played) {
        // A body that is no JSON is explained, as the refusal that a client gets.
        const isExplained = run?.out.includes('malformed-json') === true;
        if (run?.code !== SUCCESS && !isExplained) expect(run?.err).toMatch(/^\S.*\S\n$/s);
        expect(run?.err).not.toMatch(/^ +at /m);
        // Node's words for a system call, which repeat the path.
        expect(run?.err).not.toMatch(/, (?:open|stat|lstat|scandir|read) '|: E[A-Z]+: /);
      }
    });
  },
);

// A decoder that replaces what it cannot read changes the text without a word.
test.each(TEXTS.map((args) => [args.join(' '), args] as const))(
  '%s refuses what is not UTF-8 by name',
  (_, args) => {
    const run = runOf(filled(args, LATIN_1));
    expect([run?.code === SUCCESS, run?.err]).toEqual([
      false,
      expect.stringContaining('it is not UTF-8 (byte 0xE9'),
    ]);
  },
);

test('every argument and option that names a file is tried', async () => {
  const tried = new Set(
    [...READS.map(([args]) => args), ...WRITES.map((args) => [...args, '?'])].flatMap(triedBy),
  );
  const all = everyCommand(describeCommand(await createProgram(() => true)));
  const settings = all.find(({ path }) => path === 'check')?.options.map(({ flags }) => flags);
  const untried = all
    .flatMap(({ path, arguments: operands, options }) => [
      ...operands.filter(({ isFile }) => isFile).map(() => `${path} ?`),
      ...options
        // `serve` reads the settings as `check` does.
        .filter(
          ({ value, flags }) =>
            value?.isFile === true &&
            (flags !== configOption().flags || CONFIGURED.has(path)) &&
            (path === 'check' || settings?.includes(flags) !== true || !STARTING.has(path)),
        )
        .map(({ names }) => `${path} ${names.at(-1) ?? ''}`),
    ])
    .filter((each) => !tried.has(each));
  expect(untried).toEqual([]);
});

/** One command of each kind that reads the settings file: with settings, with a rule book, with a token. */
const CONFIGURED: ReadonlySet<string> = new Set(['check', 'explain', 'tail']);

/** Commands that begin with what `check` does. */
const STARTING: ReadonlySet<string> = new Set(['serve', 'demo requests']);

/** The places of `?`, such as `replay check ?` and `explain --har`. */
function triedBy(args: readonly string[]): readonly string[] {
  const path = ['replay', 'clients', 'plan'].includes(args[0] ?? '') ? args.slice(0, 2) : args.slice(0, 1);
  return args.flatMap((arg, at) => {
    const before = args[at - 1] ?? '';
    return arg.endsWith('?') ? [`${path.join(' ')} ${before.startsWith('--') ? before : '?'}`] : [];
  });
}

test.each(NOT_STARTING.map((args) => [args.join(' '), args] as const))('%s exits with 2', (_, args) => {
  const run = runOf(args);
  expect([run?.code, run?.err === '']).toEqual([NOT_STARTED, false]);
});

test.each(REFUSED)('%j is refused with a sentence', (args, said) => {
  expect(runOf(args)).toMatchObject({ code: NOT_STARTED, out: '', err: `${said}\n` });
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
