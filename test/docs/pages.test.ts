import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CONFIG_VARIABLE } from '../../src/settings/read-settings.ts';
import { allSettings, environmentName } from '../../src/settings/settings.ts';
import { docPages } from '../support/doc-pages.ts';

const root = new URL('../../', import.meta.url);
const pages = docPages();
const headings = new Map(
  pages.map(({ file, text }) => [
    file,
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => anchor(title)),
  ]),
);

/** The anchor that GitHub makes of a heading. */
function anchor(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

test('the README fits on a few screens', () => {
  expect(pages[0]?.text.split('\n').length).toBeLessThanOrEqual(150);
});

test('the README leads to every page', () => {
  const [readme, ...others] = pages;
  expect(
    others.map(({ file }) => file).filter((file) => readme?.text.includes(`](${file})`) !== true),
  ).toEqual([]);
});

describe.each(pages)('$file', ({ file, text }) => {
  const page = new URL(file, root);

  test('every link leads somewhere', () => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
    const broken = links.filter((link) => {
      if (/^https?:/.test(link)) return false;
      const [path = '', fragment] = link.split('#');
      if (!existsSync(new URL(path === '' ? file.replace(/.*\//, '') : path, page))) return true;
      const target = path === '' ? file : new URL(path, page).pathname.slice(root.pathname.length);
      return fragment !== undefined && headings.get(target)?.includes(fragment) === false;
    });
    expect(broken).toEqual([]);
  });

  test('every file of the project that is named exists', () => {
    const named = [...text.matchAll(/`((?:src|test|bench|config|deploy|docs)\/[\w./-]+)`/g)].map(
      ([, path = '']) => path,
    );
    expect(named.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  });

  test('every setting that is named exists', () => {
    const known = new Set([
      CONFIG_VARIABLE,
      ...allSettings.flatMap((setting) => [environmentName(setting), `${environmentName(setting)}_FILE`]),
    ]);
    const named = new Set([...text.matchAll(/\bGATEWAY_[A-Z0-9_]+/g)].map(([name]) => name));
    expect([...named].filter((name) => !known.has(name))).toEqual([]);
  });

  test('every row of a table has as many cells as its head', () => {
    const tables = text.match(/(?:^\|.*\n)+/gm) ?? [];
    const ragged = tables.flatMap((table) => {
      const cells = table
        .trim()
        .split('\n')
        .map((row) => row.split(/(?<!\\)\|/).length);
      return cells.every((count) => count === cells[0]) ? [] : [table.split('\n')[0]];
    });
    expect(ragged).toEqual([]);
  });

  test('has one title', () => {
    const outside = text.replaceAll(/^```[^]*?^```$/gm, '');
    expect(outside.match(/^# /gm)).toHaveLength(1);
  });
});

test('every npm script that a page names is one of the package', () => {
  const named = pages.flatMap(({ file, text }) =>
    [...text.matchAll(/npm run (?:-s )?([a-z][\w:-]*)/g)].map(([, name = '']) => ({ file, name })),
  );
  expect(named.length).toBeGreaterThan(20);
  const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  expect(named.filter(({ name }) => scripts[name] === undefined)).toEqual([]);
});
