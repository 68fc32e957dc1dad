import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findLoggedEntry } from '../../../src/node/log/find-entry.ts';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('finds the newest entry of a request, wherever it is in the log, and nothing that only looks like it', async () => {
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
