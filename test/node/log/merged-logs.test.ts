import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { lineTime, readMergedLogs } from '../../../src/node/log/log-files.ts';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const folder = temporaryFolder('merged');
const START = Date.UTC(2026, 10, 20, 23, 50);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** Lines of replica `index` of `replicas`, which take turns every second. */
function linesOf(index: number, replicas: number, from: number, to: number): string {
  let text = '';
  for (let n = from; n < to; n += 1)
    if (n % replicas === index) text += entryLine(sampleEntry(n, START + n * 1000));
  return text;
}

async function merged(
  files: readonly string[],
): Promise<{ readonly text: string; readonly turns: readonly string[] }> {
  let text = '';
  const turns: string[] = [];
  let read = 0;
  await readMergedLogs(files, (bytes, from, so) => {
    text += decoder.decode(bytes);
    if (turns.at(-1) !== from) turns.push(from);
    expect(so).toBeGreaterThanOrEqual(read);
    read = so;
  });
  return { text, turns };
}

const numbersOf = (text: string): number[] =>
  [...text.matchAll(/8d3b-([0-9a-f]{12})/g)].map(([, digits = '']) => Number.parseInt(digits, 16));

test('logs of replicas that write in turns are one log in the order of time, packed or not, rotated or not', async () => {
  const files = [
    file('a.ndjson', linesOf(0, 3, 400, 900)),
    file('a.ndjson.1.gz', gzipSync(linesOf(0, 3, 0, 400))),
    file('b.ndjson', linesOf(1, 3, 0, 900)),
    file('c.ndjson.zst', zstdCompressSync(linesOf(2, 3, 0, 900))),
  ];
  const { text } = await merged(files);
  expect(numbersOf(text)).toEqual(Array.from({ length: 900 }, (_, n) => n));
  expect(await merged(files.toReversed())).toMatchObject({ text });
});

test('logs that follow each other are read one after the other, in whatever order they are named', async () => {
  const days = [2, 0, 1].map((day) => file(`day-${day}`, linesOf(0, 1, day * 5000, day * 5000 + 5000)));
  const { text, turns } = await merged(days);
  expect(numbersOf(text)).toEqual(Array.from({ length: 15_000 }, (_, n) => n));
  expect(turns).toEqual([days[1], days[2], days[0]]);
});

test('no line is lost: junk, process lines, a last line without its end, an empty log', async () => {
  const first = `hello\n\n${linesOf(0, 2, 0, 20)}{"level":"info","time":"2026-11-21T00:00:00.000Z","event":"stopped"}\nlast`;
  const { text } = await merged([file('x', first), file('empty', ''), file('y', linesOf(1, 2, 0, 40))]);
  expect(numbersOf(text).length).toBe(30);
  for (const line of ['hello\n\n', '"stopped"}\n']) expect(text).toContain(line);
  expect(text.match(/last/g)).toHaveLength(1);
});

test('an entry that ended late stays where it was written', async () => {
  const late = entryLine(sampleEntry(7000, START - 600_000));
  const { text } = await merged([
    file('m', `${linesOf(0, 2, 0, 10)}${late}${linesOf(0, 2, 10, 20)}`),
    file('n', linesOf(1, 2, 0, 20)),
  ]);
  const numbers = numbersOf(text);
  expect(numbers.filter((n) => n !== 7000)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect(numbers[9]).toBe(7000);
});

test('a log whose reading fails is named', async () => {
  const packed = gzipSync(linesOf(0, 1, 0, 4000));
  const broken = file('broken.gz', packed.subarray(0, packed.length - 200));
  await expect(merged([file('whole', linesOf(0, 1, 0, 3)), broken])).rejects.toThrow(broken);
});

test('memory stays bounded by logs that overlap: 300 files of two replicas open two at a time', async () => {
  const files = Array.from({ length: 300 }, (_, n) =>
    file(`r${n % 2}.${n}`, linesOf(n % 2, 2, Math.floor(n / 2) * 20, Math.floor(n / 2) * 20 + 20)),
  );
  let text = '';
  let most = 0;
  await readMergedLogs(files, (bytes) => {
    text += decoder.decode(bytes);
    if (text.length % 7 === 0) most = Math.max(most, openFiles());
  });
  expect(numbersOf(text)).toEqual(Array.from({ length: 3000 }, (_, n) => n));
  expect([most > 0, most < 5]).toEqual([true, true]);
});

/** Number of files of the test that this process has open. */
function openFiles(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
    } catch {
      return false;
    }
  }).length;
}

test.each([
  ['{"time":"2026-11-22T07:00:00.001Z","level":"info"}', '{"time":"2026-11-22T07:00:00.002Z"}'],
  ['{"time":"2026-11-30T23:59:59.999Z"}', '[pod/a/gateway] {"time":"2026-12-01T00:00:00.000Z"}'],
  ['{"time":"2026-12-31T23:59:59.999Z"}', '{"level":"info","time":"2027-01-01T00:00:00.000Z","event":"x"}'],
])('times are compared: %s is before %s', (one, other) => {
  const [before, after] = [one, other].map((line) => {
    const bytes = encoder.encode(line);
    return lineTime(bytes, 0, bytes.length);
  });
  expect(before).toBeLessThan(after ?? 0);
});

test.each([
  '',
  'hello',
  '{}',
  '{"a":1}',
  '{"time":"2026-11-22',
  '{"time":"yesterday, at about ten past"}',
  'no brace {',
])('a line without a time has none: %s', (line) => {
  const bytes = encoder.encode(`${line}\n{"time":"2026-11-22T07:00:00.001Z"}`);
  expect(lineTime(bytes, 0, line.length)).toBeUndefined();
});
