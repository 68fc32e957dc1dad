import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { logSources } from '../../../src/cli/logs/log-files.ts';
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

test('a folder is every log below it, by name; other files are not', async () => {
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

test('a pattern is every file that matches it, and a file is itself, whatever its name is', async () => {
  expect(await logSources([at('b.log*'), '-', at('notes.md')])).toEqual({
    files: [at('b.log'), at('b.log.1'), '-', at('notes.md')],
  });
  expect(await logSources([at('**/*.ndjson*')])).toMatchObject({ files: { length: 2 } });
});

test('a file that is named twice, by a pattern or by a link, is read once', async () => {
  const sources = await logSources([at('b.log'), at('*.log'), folder, '-', '-']);
  expect(sources).toMatchObject({ files: { length: 6 } });
});

test.each([
  ['missing.log', /there is no file .*missing.log/],
  ['*.missing', /No file matches/],
  ['bare', /has no log/],
])('what names no log is said: %s', async (name, fault) => {
  expect(await logSources([at(name)])).toEqual({ fault: expect.stringMatching(fault) });
});
