import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readLogFile } from '../../../src/node/log/log-files.ts';
import type { TallyEntry } from '../../../src/report/tally/tally-entry.ts';
import { LineTally } from '../../../src/report/tally/tally-lines.ts';

const FOLDER = join(import.meta.dirname, 'captures');

/** The form that nothing can read, because it leaves out the day. */
const UNDATED = ['pino-pretty', 'pino-pretty-single'];
/** journald left the first of two entries out. */
const LEFT_OUT = 'journalctl-json-long-null';

const captures = readdirSync(FOLDER).filter((name) => name !== 'README.md');
const readable = captures.filter((name) => !UNDATED.includes(name) && name !== LEFT_OUT);

async function tallied(name: string): Promise<{ entries: readonly TallyEntry[]; lines: LineTally }> {
  const entries: TallyEntry[] = [];
  const lines = new LineTally({ add: (entry) => void entries.push({ ...entry }) });
  lines.begin(name);
  for await (const { bytes } of readLogFile(join(FOLDER, name), 4096)) lines.add(bytes, name);
  return { entries, lines };
}

test('captures of forty tools and forms are here', () => {
  expect(readable.length).toBeGreaterThanOrEqual(40);
});

test.each(readable)(
  '%s: each entry is read once, and lines of other programs do not count as lost',
  async (name) => {
    const { entries, lines } = await tallied(name);
    const isLong = name.includes('-long');
    expect(entries).toMatchObject([
      { time: '2026-11-22T07:00:00.001Z', operation: 'create_contact', verdict: 'unchanged', status: 201 },
      {
        time: '2026-11-22T07:00:00.002Z',
        operation: isLong ? 'create_contact' : 'create_client',
        verdict: isLong ? 'unchanged' : 'rewritten',
        status: 201,
      },
    ]);
    expect(lines.unreadable).toBe(0);
  },
);

test.each([...UNDATED, LEFT_OUT])('%s: lines that cannot be read are counted', async (name) => {
  const { lines } = await tallied(name);
  expect(lines.unreadable).toBeGreaterThan(0);
});
