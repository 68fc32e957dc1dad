import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addSettings, settingsExample, settingsLists } from '../../src/cli/setting-options.ts';
import { allSettings } from '../../src/settings/settings.ts';

test('list and example name the values of every choice', () => {
  for (const text of [settingsLists().replaceAll('`', ''), settingsExample()]) {
    expect(text).toContain('Values: off, x-forwarded, rfc7239.');
    expect(text).toContain('Values: on, off.');
    expect(text).not.toMatch(/Values: (?:n|file),/);
  }
});

test('a default has one unit', () => {
  const help = addSettings(new Command(), allSettings).helpInformation().replaceAll(/\s+/g, ' ');
  expect(help).toContain('(16KiB)');
  expect(help).toContain('(240 bytes)');
  expect(help).not.toMatch(/iB bytes/);
});
