import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { logSources, readLogFile, readMergedLogs } from '../../../src/node/log/log-files.ts';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const folder = temporaryFolder('sources');
mkdirSync(join(folder, 'pod-a/old'), { recursive: true });
mkdirSync(join(folder, 'bare'));
const at = (name: string): string => join(folder, name);
const NAMES = [
  'pod-a/rewrite.ndjson',
  'pod-a/old/rewrite.ndjson-20261120.gz',
  'b.log',
  'b.log.1',
  'c.jsonl.zst',
  'notes.md',
];
for (const name of NAMES) writeFileSync(at(name), '');
writeFileSync(at('bare/x.txt'), '');
symlinkSync('b.log', at('link.log'));

test('a folder stands for every log below it, by name, and for no other files', async () => {
  expect(await logSources([folder])).toEqual({
    files: [
      'b.log',
      'b.log.1',
      'c.jsonl.zst',
      'pod-a/old/rewrite.ndjson-20261120.gz',
      'pod-a/rewrite.ndjson',
    ].map(at),
  });
});

test('a pattern stands for every file that matches it, and a file for itself, with any name', async () => {
  expect(await logSources([at('b.log*'), '-', at('notes.md')])).toEqual({
    files: [at('b.log'), at('b.log.1'), '-', at('notes.md')],
  });
  expect(await logSources([at('**/*.ndjson*')])).toMatchObject({ files: { length: 2 } });
});

test('without a file, stdin is the log, but a terminal is not waited for', async () => {
  expect(await logSources([], false)).toEqual({ files: ['-'] });
  expect(await logSources([], true)).toEqual({ fault: expect.stringContaining('Name a log file') });
  expect(await logSources(['-'], true)).toEqual({ files: ['-'] });
});

test('a file that is named twice, also by a pattern or a link, is read once', async () => {
  const sources = await logSources([at('b.log'), at('*.log'), folder, '-', '-']);
  expect(sources).toMatchObject({ files: { length: 6 } });
});

test.each([
  ['missing.log', /there is no file .*missing.log/],
  ['*.missing', /No file matches/],
  ['bare', /has no log/],
])('an argument that names no log is reported: %s', async (name, fault) => {
  expect(await logSources([at(name)])).toEqual({ fault: expect.stringMatching(fault) });
});

const lines = Array.from({ length: 5 }, (_, number) =>
  entryLine(sampleEntry(number, Date.UTC(2026, 10, 1) + number)).trim(),
);
const process =
  '{"level":"info","time":"2026-11-01T00:00:00.000Z","event":"rollout-changed","msg":"rollout: Revision 1 is in force."}';
const entries = lines.map((line) => JSON.parse(line) as object);

/** An event of a tail: what one invocation printed. */
const tailEvent = (printed: readonly string[]): object => ({
  outcome: 'ok',
  scriptName: 'capture-gateway-production',
  eventTimestamp: 1_793_491_200_000,
  event: { request: { url: 'https://gateway.example.com/api/v1/clients', method: 'POST', headers: {} } },
  logs: printed.map((line) => ({ message: [line], level: 'log', timestamp: 1_793_491_200_000 })),
  exceptions: [],
});
const tailEvents = [tailEvent(lines.slice(0, 2)), tailEvent([]), tailEvent([...lines.slice(2), process])];
const each = (values: readonly object[], space?: number): string =>
  values.map((value) => `${JSON.stringify(value, undefined, space)}\n`).join('');

async function read(content: string | Uint8Array, chunkBytes?: number): Promise<readonly string[]> {
  const path = join(temporaryFolder('wrapped'), 'a.ndjson');
  writeFileSync(path, content);
  let text = '';
  for await (const { bytes } of readLogFile(path, chunkBytes)) text += bytes.toString();
  return text.split('\n').filter((line) => line !== '');
}

test.each([
  ['`wrangler tail --format json`, as it prints them', each(tailEvents, 2)],
  ['the same, one a line', each(tailEvents)],
  [
    'Logpush',
    each(
      [lines, [process]].map((printed) => ({
        EventTimestampMs: 1_793_491_200_000,
        ScriptName: 'capture-gateway-production',
        Logs: printed.map((line) => ({ Level: 'log', Message: [line], TimestampMs: 1_793_491_200_000 })),
      })),
    ),
  ],
  [
    'a query of Workers Logs, which reads lines of JSON as objects',
    each(
      [
        {
          success: true,
          result: {
            events: {
              events: [...entries, JSON.parse(process) as object].map((source) => ({
                source,
                $workers: { scriptName: 'capture-gateway-production', event: { request: {} } },
                $metadata: { id: '01', level: 'log' },
              })),
            },
          },
        },
      ],
      1,
    ),
  ],
  [
    'messages pulled from a queue',
    each([
      {
        success: true,
        result: {
          messages: [...lines, process].map((line, number) => ({
            id: String(number),
            body: number % 2 === 0 ? line : Buffer.from(line).toString('base64'),
            metadata: { 'CF-Content-Type': 'json' },
          })),
        },
      },
    ]),
  ],
])('the lines are found in %s', async (_, text) => {
  expect(await read(text)).toEqual([...lines, process]);
  expect(await read(text, 700)).toEqual([...lines, process]);
  expect(await read(gzipSync(text))).toEqual([...lines, process]);
  // As PowerShell writes what a command prints.
  const wide = Buffer.from(`\uFEFF${text}`, 'utf16le');
  for (const bytes of [wide, Buffer.from(wide).swap16()])
    expect(await read(bytes)).toEqual([...lines, process]);
});

test.each([
  ['entries', `${lines.join('\n')}\n`],
  ['both logs of a container', `${process}\n${lines.join('\n')}\n`],
  ['lines with the name of a replica', `gateway-1  | ${lines[0]}\n`],
  [
    'an entry that names a record in a value',
    `${JSON.stringify({ ...entries[0], note: '{"logs":[]}' })}\n${process}`,
  ],
  ['other JSON', '{"a":1}\n[]\n'],
])('%s are passed on as they are', async (_, text) => {
  expect(await read(text)).toEqual(text.split('\n').filter((line) => line !== ''));
});

test('a record that is cut off is passed on, so that it counts as unreadable', async () => {
  const cut = each(tailEvents, 2).slice(0, -30);
  const found = await read(cut);
  expect(found.slice(0, 2)).toEqual(lines.slice(0, 2));
  expect(found.length).toBeGreaterThan(2);
  expect(found.slice(2).join('\n')).toBe(cut.slice(cut.lastIndexOf('\n{\n') + 1).trimEnd());
});

test.each([
  ['plain', (text: string) => text],
  ['packed', (text: string) => gzipSync(text)],
])('a pipe is read once, though it has no positions: %s', async (_how, packed) => {
  const folder = temporaryFolder('pipes');
  const [pipe, source] = [join(folder, 'pipe'), join(folder, 'source')];
  writeFileSync(source, packed(lines.map((line) => `${line}\n`).join('')));
  execFileSync('mkfifo', [pipe]);
  const writer = spawn('sh', ['-c', 'exec cat "$0" > "$1"', source, pipe]);
  onTestFinished(() => void writer.kill());
  const read: string[] = [];
  await readMergedLogs([pipe, at('b.log')], (piece) => {
    read.push(...Buffer.from(piece).toString().trim().split('\n'));
  });
  expect(read).toEqual(lines);
});

test('a file without its own path, such as a shell’s <(…), is a log', async () => {
  const path = join(temporaryFolder('nameless'), 'a.log');
  writeFileSync(path, '');
  const descriptor = openSync(path, 'r');
  onTestFinished(() => closeSync(descriptor));
  unlinkSync(path);
  expect(await logSources([`/proc/self/fd/${descriptor}`])).toEqual({
    files: [`/proc/self/fd/${descriptor}`],
  });
});
