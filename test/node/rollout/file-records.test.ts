import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FileRecords } from '../../../src/node/rollout/file-store.ts';
import { recordContract } from '../../rollout/record-contract.ts';

recordContract(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'records-'));
  const path = join(folder, 'records');
  const all: FileRecords[] = [];
  const closeAll = (): void => {
    for (const records of all) records.close();
  };
  return {
    open: async () => {
      const records = new FileRecords(path);
      all.push(records);
      return records;
    },
    lose: async () => {
      closeAll();
      for (const end of ['', '-journal']) rmSync(`${path}${end}`, { force: true });
    },
    close: async () => {
      closeAll();
      rmSync(folder, { recursive: true });
    },
  };
});

test('nobody else on the machine can read the file, and one of another kind is told', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'records-'));
  const path = join(folder, 'records');
  const records = new FileRecords(path);
  await records.replace('', [{ key: 'a', text: '1', revision: 0 }]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  records.close();
  const other = join(folder, 'other');
  writeFileSync(other, 'no database, but text that somebody wrote');
  await expect(new FileRecords(other).changes(0, 1)).rejects.toThrow('not a database');
  rmSync(folder, { recursive: true });
});
