import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { apiNames, apiPages } from '../../config/api-pages.ts';

const root = new URL('../../', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, root), 'utf8');
const pages = apiPages();

describe.each(pages)('%s', (file, text) => {
  test('is current (npm run generate)', () => {
    expect(existsSync(new URL(file, root)) && read(file)).toBe(text);
  });

  test('says something about everything, and each link leads somewhere', () => {
    const sections = text.split(/^## /m).slice(1);
    expect(sections.length).toBeGreaterThan(0);
    const silent = sections.filter((section) => !/^\w+\n\n[A-Z`][^]*?\.\n\n```ts\n/.test(section));
    expect(silent).toEqual([]);
    const broken = [...text.matchAll(/\]\((?:([\w-]+)\.md)?#(\w+)\)/g)].filter(([, page, anchor]) => {
      const target = page === undefined ? text : pages.find(([path]) => path === `docs/api/${page}.md`)?.[1];
      return !new RegExp(`^## ${anchor}$`, 'im').test(target ?? '');
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });
});

test('private members and constructors are not shown', () => {
  const text = pages.map(([, page]) => page).join('\n');
  expect(text).toContain('class Migration {');
  expect(text).not.toMatch(/\bprivate\b|\bconstructor\(/);
});

test('the parts of a rule book are public names without a section', () => {
  const types = pages.find(([file]) => file === 'docs/api/types.md')?.[1] ?? '';
  expect(types).toMatch(/^## RuleBook$/m);
  expect(types).not.toMatch(/^## (?:Change|RenameRule)$/m);
  expect(apiNames()).toEqual(expect.arrayContaining(['types RuleBook', 'types Change', 'types RenameRule']));
});

test('docs/library.md lists the entries that the package exports', () => {
  const { exports } = JSON.parse(read('package.json')) as {
    readonly exports: Readonly<Record<string, unknown>>;
  };
  const entries = Object.keys(exports).filter((path) => !path.includes('*') && path !== './package.json');
  const table = [...read('docs/library.md').matchAll(/^\| `(capture-gateway[\w/.-]*)` \|/gm)].map(
    ([, name]) => name,
  );
  expect(new Set(table)).toEqual(new Set(entries.map((path) => `capture-gateway${path.slice(1)}`)));
});
