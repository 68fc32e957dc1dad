import { glob, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { endPlans } from '../../../src/inspector/routes/stat-routes.ts';
import { SMALL_LOG } from '../../../src/inspector/operator-view.ts';
import { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import { testRuleBook } from '../../support/rule-book.ts';

test('a plan is made anew after a minute, for other choices, for other names, and under another rule book', async () => {
  let [now, book, made] = [0, 'one', 0];
  let names = new Map<string, string>();
  const plans = endPlans(
    {
      view: { traces: { all: new Map() } },
      time: () => now,
      names: () => names,
      rules: () => ({ current: new CompiledRuleBook(testRuleBook({ hash: book })), since: 0, text: '' }),
      planEnd: async () => {
        made += 1;
        const bytes = new TextEncoder().encode(JSON.stringify({ exchanges: SMALL_LOG }));
        return { status: 200, isJson: true, bytes };
      },
    },
    () => undefined,
  );
  const count = async (zone = 'UTC', avoid: readonly string[] = [], lead?: number): Promise<number> => {
    await plans({ zone, avoid, lead });
    return made;
  };
  expect([await count(), await count()]).toEqual([1, 1]);
  expect([
    await count('Europe/Berlin'),
    await count('UTC', ['2026-12-24']),
    await count('UTC', [], 30),
  ]).toEqual([2, 3, 4]);
  book = 'two';
  expect([await count(), await count()]).toEqual([5, 5]);
  names = new Map([['a'.repeat(16), 'acme']]);
  expect([await count(), await count()]).toEqual([6, 6]);
  now = 60_000;
  expect(await count()).toBe(7);
});

test('the table of the JSON interface has every route', async () => {
  const table = await readFile('src/inspector/api.ts', 'utf8');
  const cells = table
    .split('\n')
    .flatMap((line) => (line.startsWith(' * | `') ? (line.split('|')[1] ?? '') : []));
  const listed = new Set(
    cells.flatMap((cell) => {
      const methods = cell.match(/GET|POST/g) ?? [];
      const paths = cell.match(/\/[^`, ]*/g) ?? [];
      return methods.flatMap((method) => paths.map((path) => `${method} ${path}`));
    }),
  );
  const served: string[] = [];
  for await (const file of glob('src/{inspector,node/admin}/**/*.ts')) {
    const source = await readFile(file, 'utf8');
    for (const [, method = '', path = ''] of source.matchAll(/app\.(get|post)\('([^']+)'/g))
      served.push(`${method.toUpperCase()} ${path.replaceAll(/\{[^}]*\}/g, '')}`);
  }
  // The table names the two formats.
  const wanted = served.flatMap((route) =>
    route.endsWith('/:format') ? ['GET /entries/:seq/har', 'GET /case'] : [route],
  );
  expect(wanted.filter((route) => !listed.has(route))).toEqual([]);
  expect(served.length).toBeGreaterThan(30);
});
