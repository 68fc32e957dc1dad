import { expect, test } from 'vitest';
import { shownNames } from '../../src/inspector/shown-names.ts';

const seenAs = (...userAgents: readonly string[]): { userAgents: readonly string[]; addresses: [] } => ({
  userAgents,
  addresses: [],
});

test('a client without a name is called by its User-Agent, with digits of its hash if another has the same', () => {
  const names = new Map([['a', 'acme']]);
  const traces = new Map([
    ['a', seenAs('Importer/0.9 (Linux; x86)')],
    ['b', seenAs('Desk/2.1 (Linux; x86)', 'Desk/2.0')],
    ['c', seenAs('curl/8.5.0')],
    ['d', seenAs('curl/8.5.0')],
    ['e', seenAs()],
    ['f', seenAs('acme')],
  ]);
  expect(shownNames(names, traces)).toEqual(
    new Map([
      ['b', 'Desk/2.1'],
      ['c', 'curl/8.5.0 (c)'],
      ['d', 'curl/8.5.0 (d)'],
      ['f', 'acme (f)'],
      ['a', 'acme'],
    ]),
  );
});
