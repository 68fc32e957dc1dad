import { expect, test } from 'vitest';
import { entryHead, entryRow } from '../../src/cli/entry-row.ts';
import { nameIn } from '../../src/report/text.ts';
import { PLAIN } from '../../src/cli/terminal.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const HASH = '3fa9c1d2e4b50617';

test.each([
  [[], undefined, '-     '],
  [[], HASH, '3fa9c1'],
  [[[HASH, 'Acme Media']], HASH, 'Acme Media        '],
  [[[HASH, 'Acme Media']], undefined, '-                 '],
  [[[HASH, 'Acme Media']], '0123456789abcdef', '012345            '],
  [[[HASH, 'Acme Media and Sons']], HASH, 'Acme Media and So…'],
  [[[HASH, '\u001b[31mA']], HASH, undefined],
] as const)('with the names %j, the client %s is shown as %j', (names, client, shown) => {
  const known = new Map<string, string>(names);
  const row = entryRow({ ...sampleEntry(1, 0), client }, PLAIN, known);
  if (shown === undefined) expect(row).not.toContain('\u001b');
  else expect(row).toContain(`  ${shown}  `);
  expect(entryHead(PLAIN, known)).toContain(
    names.length > 0 ? `client${' '.repeat(12)}  mode` : 'client  mode',
  );
});

test('clients are named, those without a key in words, and others by their hash', () => {
  const names = new Map([[HASH, 'Acme Media']]);
  expect([HASH, '-', 'ffffffffffffffff'].map((client) => nameIn(names, client))).toEqual([
    'Acme Media',
    'requests without a key',
    'ffffffffffffffff',
  ]);
});
