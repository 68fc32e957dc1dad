import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/architecture.md');
/** Both pages that name places. */
const pages = page + read('docs/decisions/where-things-are.md').replaceAll('](../../src/', '](../src/');

describe('docs/architecture.md', () => {
  const places = [...pages.matchAll(/\]\(\.\.\/(src\/[\w./-]+)\), `(\w+)`/g)].map(
    ([, file = '', name = '']) => ({
      file,
      name,
    }),
  );

  test('names functions, classes and constants', () => {
    expect(places.length).toBeGreaterThan(8);
  });

  test.each(places)('$name is in $file', ({ file, name }) => {
    expect(read(file)).toMatch(new RegExp(`(?:function|class|interface|const) ${name}\\b`));
  });

  test('has the table of imports that the linter enforces', () => {
    const rows = [...page.matchAll(/^\| `([\w-]+)\/` \|[^|]+\| ([\w, -]+) \|$/gm)];
    const table = new Map(rows.map(([, folder = '', imports = '']) => [folder, imports.trim()]));
    const messages = [
      ...read('config/oxlint.json').matchAll(
        /"([\w-]+)\/ (?:reads ([^"]+) and nothing else|stands alone)\."/g,
      ),
    ];
    const enforced = new Map(
      messages.map(([, folder = '', imports]) => [folder, imports?.replaceAll('/', '') ?? 'nothing']),
    );
    expect(enforced.size).toBeGreaterThan(10);
    for (const [folder, imports] of enforced) {
      if (folder !== 'node') expect([folder, table.get(folder)]).toEqual([folder, imports]);
    }
  });
});
