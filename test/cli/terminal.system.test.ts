/**
 * @module-tag bash
 * @module-tag script
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { describeCommand, everyCommand } from '../../src/cli/completion.ts';
import { createProgram } from '../../src/cli/program.ts';
import { twinText } from '../../src/cli/twin.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import type { TwinReport } from '../../src/twin/play.ts';
import { commandRuns } from '../support/command-runs.ts';
import { PROGRAM_ENVIRONMENT } from '../support/program-environment.ts';
import { PROGRAM } from '../support/product.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const ESCAPE = '\u001B[';
let folder = '';
let log = '';
let body = '';
let fixture = '';
let rules = '';

beforeAll(async () => {
  folder = temporaryFolder('terminal');
  log = join(folder, 'log');
  body = join(folder, 'body.json');
  const entries = Array.from({ length: 120 }, (_, n) =>
    sampleEntry(n, Date.UTC(2026, 10, 1) + n * 3_600_000),
  );
  writeFileSync(log, entries.map((entry) => entryLine(entry)).join(''));
  fixture = join(folder, 'fixture');
  rules = join(folder, 'rules.yaml');
  writeFileSync(
    rules,
    readFileSync('config/rules.yaml', 'utf8').replace('under: address', 'under: place_of_the_property'),
  );
  await commandRuns([['replay', 'record', '--log', log, '--out', fixture]]);
  writeFileSync(body, '{"data":{"transition_type":"slide","property":{"suburb":"Enmore"}},"sent_by":"crm"}');
});

/** Runs a command on a terminal of so many columns, or in a pipe. */
async function output(
  args: readonly string[],
  {
    columns,
    environment = {},
  }: { readonly columns?: number; readonly environment?: Readonly<Record<string, string>> },
): Promise<string> {
  const line = [process.execPath, PROGRAM, ...args.map((arg) => `'${arg}'`)].join(' ');
  const [shell, given] =
    columns === undefined
      ? (['bash', ['-c', line]] as const)
      : (['script', ['-qefc', `stty cols ${columns} rows 50; exec ${line}`, '/dev/null']] as const);
  const child = spawn(shell, given, {
    cwd: new URL('../../', import.meta.url).pathname,
    env: { ...PROGRAM_ENVIRONMENT, TERM: 'xterm-256color', ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(child, 'close');
  return text.replaceAll('\r', '');
}

const wordsOf = (text: string): readonly string[] => stripVTControlCharacters(text).split(/\s+/);

const commandsOf = (): Readonly<Record<string, readonly string[]>> => ({
  report: ['report', log, '--at', '2026-11-22'],
  census: ['report', log, '--census'],
  explain: ['explain', body, '--operation', 'order_post_production'],
  plan: ['plan', 'make', log, '--at', '2026-11-22'],
  tail: ['tail', log],
  check: ['check'],
  test: ['test', 'test/cases/requests.txt', '--rules', rules],
  replay: ['replay', 'check', fixture, '--rules', rules],
  help: ['serve', '--help'],
});

/**
 * Commands that print a document, one sentence, or are tried elsewhere: `twin` by its text below, `clients list`, `status` and `rollout` with
 * a gateway (json-output.test.ts).
 */
const OTHERS: ReadonlySet<string> = new Set([
  'draft',
  'openapi',
  'replay record',
  'plan rehearse',
  'clients hash',
  'clients name',
  'twin',
  'clients list',
  'status',
  ...['show', 'observe', 'shadow', 'migrate', 'canary', 'verify', 'clear'].map((mode) => `rollout ${mode}`),
]);

test('every command that reports is tried on a terminal', async () => {
  const all = everyCommand(describeCommand(await createProgram(() => true)));
  const reporting = all.filter(({ options }) => options.some(({ names }) => names.includes('--json')));
  const tried = Object.values(commandsOf()).map((args) => args.join(' '));
  const untried = reporting.filter(
    ({ path }) => !OTHERS.has(path) && !tried.some((line) => `${line} `.startsWith(`${path} `)),
  );
  expect(untried.map(({ path }) => path)).toEqual([]);
});

/** Commands that also print requests, bodies or rules to paste, which keep their lines. */
const VERBATIM: ReadonlySet<string> = new Set(['test', 'explain', 'census', 'plan']);

test.each([100, 80, 60])('at %d columns no word is cut, and no line is longer than that', async (columns) => {
  const names = Object.keys(commandsOf());
  const [pipes, terminals] = await Promise.all([
    commandRuns(Object.values(commandsOf())),
    commandRuns(Object.values(commandsOf()), { columns }),
  ]);
  for (const [at, name] of names.entries()) {
    const [pipe = '', text = ''] = [pipes[at]?.out, terminals[at]?.out];
    const known = new Set(wordsOf(pipe));
    // A bar is drawn to fit, and a block names its columns.
    // Of a long body, `test` shows what is around the difference.
    const isExcerpt = (word: string): boolean =>
      name === 'test' && word.includes('…') && pipe.includes(word.replaceAll('…', ''));
    const cut = wordsOf(text).filter(
      (word) =>
        !known.has(word) && !known.has(word.replace(/:$/, '')) && !/^▇*$/.test(word) && !isExcerpt(word),
    );
    expect([name, cut]).toEqual([name, []]);
    const lines = text.split('\n');
    expect(Math.max(...pipe.split('\n').map((line) => line.length))).toBeGreaterThan(60);
    const long = lines.filter((line) => line.length > columns && line.trim().includes(' '));
    if (!VERBATIM.has(name)) expect([name, long]).toEqual([name, []]);
  }
});

test.each([100, 80, 60])('the differences of twin at %d columns: no word is cut', (columns) => {
  const differences = [
    { where: '/data/property/street_address', kind: 'missing', v1: `"${'1 Main Street '.repeat(40)}"` },
    {
      where: 'content-type:',
      kind: 'value',
      v1: 'application/json',
      gateway: 'application/json; charset=utf-8',
    },
    { where: '', kind: 'spelling', v1: `{"a":${'1'.repeat(300)}}`, gateway: `{"a" :${'1'.repeat(300)}}` },
    ...Array.from({ length: 4 }, (_, n) => ({ where: `/data/${n}`, kind: 'extra' as const, gateway: '1' })),
  ] as const;
  const name = 'an order with a property that has an address of its own';
  const report = {
    played: 12_345,
    alike: 12_343,
    missing: 0,
    different: [{ script: 'own.txt', name, statuses: [200, 200], differences }],
    chosen: [],
    skipped: { 'a write may change data': 17 },
  } satisfies TwinReport;
  const [wide, fitted] = [twinText(report, { columns: undefined }), twinText(report, { columns })];
  const known = new Set(wordsOf(wide));
  const cut = wordsOf(fitted).filter((word) => !known.has(word) && !known.has(word.replace(/:$/, '')));
  expect(cut).toEqual([]);
  for (const word of ['street_address', '(…', '12,345', 'differences']) expect(fitted).toContain(word);
  const long = fitted.split('\n').filter((line) => line.length > columns && line.trim().includes(' '));
  expect(long).toEqual([]);
});

test.each([
  [
    'serve',
    ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'],
    /set\s+GATEWAY_CLIENT_SECRET\s+to\s+keep\s+them/,
  ],
  [
    'reference',
    ['--listen', '127.0.0.1:0', '--rate', '60'],
    /60\s+requests\s+a\s+minute\s+for\s+each\s+API\s+key/,
  ],
] as const)('what %s says at its start fits 60 columns', async (name, flags, said) => {
  const line = `stty cols 60 rows 50; exec ${process.execPath} ${PROGRAM} ${name} ${flags.join(' ')}`;
  const child = spawn('script', ['-qefc', line, '/dev/null'], {
    cwd: new URL('../../', import.meta.url).pathname,
    env: { ...PROGRAM_ENVIRONMENT, TERM: 'xterm-256color', NO_COLOR: '1' },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const closed = once(child, 'close');
  await until(() => text.includes('curl '));
  child.stdin.write('\u0003');
  await closed;
  const [facts = ''] = text.replaceAll('\r', '').split('\n\n');
  expect(facts).toMatch(said);
  // Lines of the process log, such as that of a slow start, begin with their time and are not wrapped.
  const lines = facts.split('\n').filter((each) => !/^\d{4}-\d\d-\d\d /.test(each));
  expect(lines.filter((each) => each.length > 60)).toEqual([]);
});

test('times have their date and their zone', async () => {
  expect(await output(['tail', log], {})).toMatch(/^2026-11-01 00:00:00\.\d{3}Z /m);
  const report = await output(['report', log, '--at', '2026-11-22'], {});
  expect(report).toMatch(/2026-11-01 to 2026-11-05 UTC/);
  expect(report).toMatch(/day \(UTC\)/);
  expect(report).toMatch(/ 2026-11-0\d \d\d:\d\dZ /);
  expect(report).not.toMatch(/\d\d:\d\d(?![\d:.]*Z|:\d\d)/);
});

describe('colour', () => {
  test.each<
    [where: string, columns: number | undefined, environment: Record<string, string>, expected: boolean]
  >([
    ['a terminal', 80, {}, true],
    ['a terminal with NO_COLOR', 80, { NO_COLOR: '1' }, false],
    ['a terminal with an empty NO_COLOR', 80, { NO_COLOR: '' }, true],
    ['a terminal with FORCE_COLOR=0', 80, { FORCE_COLOR: '0' }, false],
    ['a pipe', undefined, {}, false],
    ['a pipe with FORCE_COLOR', undefined, { FORCE_COLOR: '1' }, true],
    ['a pipe with both', undefined, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
  ])('%s', async (_, columns, environment, expected) => {
    // The rows of a log are ours; the headings of the help are commander's.
    for (const args of expected ? [['tail', log], ['--help']] : [['tail', log]]) {
      const text = await output(args, { ...(columns === undefined ? {} : { columns }), environment });
      expect([args[0], text.includes(ESCAPE)]).toEqual([args[0], expected]);
    }
  });
});

test.each([
  ['draft', '--v1', 'V1', '--v2', 'V2'],
  ['check', '--v1', 'V1', '--v2', 'V2'],
  ['openapi', 'V2'],
  ['openapi', 'V2', '--format', 'yaml'],
])('%s shows nothing of a description that a terminal would obey', async (...words) => {
  const hostile = (member: string): string =>
    JSON.stringify({
      openapi: '3.0.3',
      info: { title: 'a\u001b[31m\u202eb', version: '1' },
      paths: {
        '/a': {
          post: {
            operationId: 'x\u001b[1m\u202ey',
            summary: 's\u009b31m',
            requestBody: {
              content: {
                'application/json': {
                  schema: {
                    type: 'object',
                    properties: { [`${member}\u001b[2J\u202e`]: { type: 'string' } },
                  },
                },
              },
            },
            responses: { 200: { description: 'd\u2066' } },
          },
        },
      },
    });
  const folder = temporaryFolder('hostile');
  const [v1, v2] = [join(folder, 'v1.json'), join(folder, 'v2.json')];
  writeFileSync(v1, hostile('m'));
  writeFileSync(v2, hostile('n'));
  const shown = await output(
    words.map((word) => (word === 'V1' ? v1 : word === 'V2' ? v2 : word)),
    { columns: 80 },
  );
  expect(shown.length).toBeGreaterThan(100);
  // eslint-disable-next-line no-control-regex -- what a terminal obeys
  expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
});
