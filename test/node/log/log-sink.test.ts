import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLogSink } from '../../../src/node/log/log-sink.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const encoded = (...parts: readonly string[]): Uint8Array[] => parts.map((part) => Buffer.from(part));

function fileSink(limit = 1_000_000) {
  const path = join(temporaryFolder('log-sink'), 'log');
  const notices: string[] = [];
  const sink = openLogSink(path, { limit, onNotice: (trouble) => void notices.push(trouble) });
  return { sink, notices, text: () => readFileSync(path, 'utf8') };
}

test('texts and encoded lines are written in their order, however long they are', async () => {
  const { sink, text } = fileSink();
  const long = 'x'.repeat(300_000);
  sink.write('first \u00e9\n');
  sink.writeEncoded(encoded('sec', 'ond', '\n'));
  sink.writeEncoded(encoded(long, '\n'));
  sink.write('last\n');
  await sink.flush(5000);
  expect(text()).toBe(`first \u00e9\nsecond\n${long}\nlast\n`);
});

test.each([
  ['a cut line is ended', '{"time":"20', '{"time":"20\nnext\n'],
  ['a whole line stays as it is', 'whole\n', 'whole\nnext\n'],
  ['an empty file stays empty', '', 'next\n'],
])('before the first line of a restart, %s', async (_, before, after) => {
  const path = join(temporaryFolder('log-sink'), 'log');
  writeFileSync(path, before);
  const sink = openLogSink(path, { limit: 1000, onNotice: () => {} });
  sink.write('next\n');
  await sink.flush(5000);
  expect(readFileSync(path, 'utf8')).toBe(after);
});

test('parts are copied, because their memory may be used again', async () => {
  const { sink, text } = fileSink();
  const parts = encoded('line\n');
  sink.writeEncoded(parts);
  parts[0]?.fill(0x21);
  await sink.flush(5000);
  expect(text()).toBe('line\n');
});

test('lines beyond the limit are dropped, counted and reported once', async () => {
  const { sink, notices, text } = fileSink(10);
  const start = Date.now();
  sink.writeEncoded(encoded('12345678', '\n'));
  expect(sink.droppedAt).toBeUndefined();
  sink.writeEncoded(encoded('too much\n'));
  sink.write('too much\n');
  await sink.flush(5000);
  expect([text(), sink.dropped, notices.length]).toEqual(['12345678\n', 2, 1]);
  expect(sink.droppedAt).toBeGreaterThanOrEqual(start);
});

test('lines that no reader took by the end of a flush are lost, and counted', async () => {
  const path = join(temporaryFolder('log-sink'), 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const notices: string[] = [];
  const sink = openLogSink(openSync(path, 'w'), {
    limit: 1_000_000,
    onNotice: (trouble) => void notices.push(trouble),
  });
  for (let count = 0; count < 2000; count += 1) sink.write(`${'x'.repeat(199)}\n`);
  await sink.flush(200);
  const read = Buffer.alloc(200_000);
  const lines = Math.floor(readSync(reader, read) / 200);
  closeSync(reader);
  expect(lines).toBeGreaterThan(100);
  expect(sink.dropped).toBeGreaterThanOrEqual(2000 - lines);
  expect(sink.dropped).toBeLessThan(2000);
  expect(notices).toEqual(['the reader of the log is too slow; lines are dropped, and counted']);
});

/** Writes lines of 1,000 bytes into a file that has room for 4,096 at first, and 20 more when stdin says so; prints what is lost. */
const WRITER = `
import { openLogSink } from '${new URL('../../../src/node/log/log-sink.ts', import.meta.url).href}';
const sink = openLogSink(process.argv[1], { limit: 1e6, onNotice: () => {} });
const write = async (from, to) => {
  for (let line = from; line < to; line += 1) sink.write(String(line).padStart(999, '.') + '\\n');
  await sink.flush(5000);
  console.log(sink.dropped);
};
await write(0, 10);
process.stdin.once('data', () => void write(10, 30).then(() => process.exit()));
`;

test('a line of which a full disk took a part stands alone, and is counted with those behind it', async () => {
  const path = join(temporaryFolder('log-sink'), 'log');
  const script = 'ulimit -S -f 4; exec "$0" --input-type=module-typescript -e "$1" "$2"';
  const child = spawn('bash', ['-c', script, process.execPath, WRITER, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [dropped] = await once(child.stdout, 'data');
  expect(String(dropped)).toBe('6\n');
  execFileSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited']);
  child.stdin.write('go on');
  const [stillDropped] = await once(child.stdout, 'data');
  expect(String(stillDropped)).toBe('6\n');
  const lines = readFileSync(path, 'utf8').split('\n');
  expect(lines.map((line) => Number(line.replaceAll('.', '') || -1))).toEqual([
    0,
    1,
    2,
    3,
    -1,
    ...Array.from({ length: 20 }, (_, index) => 10 + index),
    -1,
  ]);
  expect(lines[4]).toBe('.'.repeat(96));
});
