import { symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { findLoggedEntry, rotatedLogs } from '../../../src/node/log/find-entry.ts';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('finds the newest entry of a request at any place in the log, and no line that only looks like it', async () => {
  const path = join(temporaryFolder('find-logged-entry'), 'rewrite.log');
  const lines = Array.from({ length: 4000 }, (_, n) => entryLine(sampleEntry(n, n)));
  const forged = entryLine({ ...sampleEntry(1, 1), requestId: 'other', path: '/x"requestId":"é"' });
  const twice = [1, 2].map((at) => entryLine({ ...sampleEntry(1, at), requestId: 'é"\\', status: 200 + at }));
  writeFileSync(path, ['no entry\n', ...twice, ...lines, forged, '{"requestId":"cut'].join(''));
  for (const n of [0, 1, 1234, 1999, 3998, 3999])
    expect((await findLoggedEntry(path, sampleEntry(n, n).requestId))?.time).toBe(new Date(n).toISOString());
  expect((await findLoggedEntry(path, 'é"\\'))?.status).toBe(202);
  expect(await findLoggedEntry(path, 'é')).toBeUndefined();
  expect(await findLoggedEntry(path, 'cut')).toBeUndefined();
  expect(await findLoggedEntry(`${path}.none`, 'é')).toBeUndefined();
});

const lines = (...numbers: readonly number[]): string =>
  numbers.map((n) => entryLine(sampleEntry(n, n))).join('');
const find = async (path: string, n: number): Promise<string | undefined> =>
  (await findLoggedEntry(path, sampleEntry(n, n).requestId))?.time;
const timeOf = (n: number): string => new Date(n).toISOString();

test('an entry is found in a rotated file, compressed or not, and in the newest one that has it', async () => {
  const path = join(temporaryFolder('rotated-logs'), 'rewrite.log');
  const files: readonly (readonly [name: string, content: string | Buffer])[] = [
    ['', lines(1)],
    ['.1', lines(2)],
    ['.2.gz', gzipSync(lines(3, 4))],
    ['-20261119.gz', Buffer.concat([gzipSync(lines(5)), gzipSync(lines(6))])],
  ];
  for (const [at, [name, content]] of files.entries()) {
    writeFileSync(`${path}${name}`, content);
    utimesSync(`${path}${name}`, 1e9 - at, 1e9 - at);
  }
  for (const n of [1, 2, 3, 4, 5, 6]) expect(await find(path, n)).toBe(timeOf(n));
  expect(await find(path, 7)).toBeUndefined();
  const again = entryLine({ ...sampleEntry(5, 9), requestId: sampleEntry(5, 5).requestId });
  writeFileSync(`${path}.3.gz`, gzipSync(lines(8) + again));
  expect(await find(path, 5)).toBe(timeOf(9));
});

test('other files beside the log and links are not read; a damaged file is read up to the damage', async () => {
  const path = join(temporaryFolder('rotated-logs'), 'rewrite.log');
  for (const name of ['.bak', '.1.bak', 's.1', '.gz', '.1.gz.tmp']) writeFileSync(`${path}${name}`, lines(1));
  symlinkSync(`${path}.bak`, `${path}.1`);
  expect(await rotatedLogs(path)).toEqual([]);
  expect(await find(path, 1)).toBeUndefined();
  writeFileSync(`${path}.2.gz`, 'no gzip');
  const many = gzipSync(lines(...Array.from({ length: 5000 }, (_, n) => n)));
  writeFileSync(`${path}.3.gz`, many.subarray(0, many.length - 100));
  expect(await find(path, 10)).toBe(timeOf(10));
  expect(await rotatedLogs(join(path, 'none'))).toEqual([]);
});

test('an entry is found within the record of a collector', async () => {
  const folder = temporaryFolder('find-collected');
  const line = lines(1).trim();
  const collected: readonly string[] = [
    `gateway-1  | ${line}`,
    JSON.stringify({ log: `${line}\n`, stream: 'stdout', time: timeOf(1) }),
    `2026-11-22T07:00:00.1Z stdout F ${line}`,
    JSON.stringify({ MESSAGE: line, _PID: '12' }),
  ];
  for (const [at, text] of collected.entries()) {
    const path = join(folder, `${at}.log`);
    writeFileSync(path, `${text}\n${lines(2)}`);
    expect(await find(path, 1)).toBe(timeOf(1));
    writeFileSync(path, '');
    writeFileSync(`${path}.1.zst`, zstdCompressSync(`${text}\n${lines(2)}`));
    expect(await find(path, 1)).toBe(timeOf(1));
  }
});
