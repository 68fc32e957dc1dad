import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** The rows of the table of states at the head of a source file: the name of each state, and the cells behind it. */
export type StateRow = readonly [name: string, held: string, ...cells: string[]];

/** Reads the table of `src/<path>`; tests that it has these states, and that each field that it names is one of the source. */
export function stateTable(path: string, names: readonly string[]): readonly StateRow[] {
  const source = readFileSync(new URL(`../../src/${path}`, import.meta.url), 'utf8');
  const rows = [...source.matchAll(/^ \* \| (.+) \|$/gm)]
    .map(([, row = '']) => row.split(' | '))
    .filter(([first = '']) => first !== 'state' && !first.startsWith('---'))
    .map(([state = '', held = '', ...cells]): StateRow => [state.split(':')[0] ?? '', held, ...cells]);

  test('the table names exactly the states that are played here', () => {
    expect(rows.map(([name]) => name)).toEqual(names);
  });

  test.each(rows.flatMap(([, held]) => [...held.matchAll(/`(\w+)`/g)].map(([, field = '']) => field)))(
    'a connection has the field %s that the table names',
    (field) => {
      expect(source).toMatch(new RegExp(`^  (?:private )?${field}\\b`, 'm'));
    },
  );
  return rows;
}
