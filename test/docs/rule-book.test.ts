import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createMigration } from '../../src/library/migration.ts';
import { bookIn, messagesIn } from '../rules/reading.ts';
import { fencedBlocks } from '../support/doc-pages.ts';

const page = readFileSync(new URL('../../docs/rule-book.md', import.meta.url), 'utf8');

/** The rows of the tables that show a rule: its V1 request, the V2 request, and what V1 clients read, if it has an inverse. */
const rules = [...page.matchAll(/^\| `([^|]+?)`[^|]* \| `(\{[^|]+)` \| `(\{[^|]+)` \| ([^|]+) \|$/gm)].map(
  ([, rule = '', v1 = '', v2 = '', read = '']) => ({ rule, v1, v2, read: /^`(.+)`$/.exec(read)?.[1] }),
);

const decoder = new TextDecoder();
const JSON_TYPE = { 'Content-Type': 'application/json' };

/** A rule book with one change that has the rule. */
function bookText(rule: string, response: string): string {
  return `operations: { create_thing: POST /things, read_thing: 'GET /things/{id}' }
changes:
  - id: change
    summary: A change.
    on: [create_thing]
    request:
      - ${rule}
    response: ${response}
`;
}

describe('the tables of rules', () => {
  test('have each kind of rule', () => {
    const kinds = new Set(rules.map(({ rule }) => /\w+/.exec(rule)?.[0]));
    expect([...kinds].join(' ')).toBe(
      'unwrap rename nest move map strip default scale prefix list only set copy quote unprefix date entries unlist join split',
    );
  });

  test.each(rules)('$rule: what V2 gets', async ({ rule, v1, v2 }) => {
    const migration = createMigration(await bookIn(bookText(rule, '[]')));
    const request = migration.request('POST', '/api/v1/things', JSON_TYPE, v1);
    expect(request.verdict).toBe('rewritten');
    if (request.verdict === 'rewritten') expect(decoder.decode(request.body ?? undefined)).toBe(v2);
  });

  test.each(rules)('$rule: what V1 clients read, or that it has no inverse', async ({ rule, v2, read }) => {
    const text = bookText(rule, 'inverse');
    if (read === undefined) {
      expect((await messagesIn(text)).join()).toContain('has no inverse');
      return;
    }
    const migration = createMigration(await bookIn(text));
    const request = migration.request('GET', '/api/v1/things/7', {});
    expect(request.verdict).toBe('unchanged');
    if (request.verdict !== 'unchanged') return;
    const { body } = migration.response(request, 200, JSON_TYPE, `{"data":${v2}}`);
    expect(decoder.decode(body ?? undefined)).toBe(`{"data":${read}}`);
  });
});

/** The YAML blocks of the page; one that shows alternatives of a key, a line each, is one block for each. */
const blocks = fencedBlocks(page)
  .filter(({ language }) => language === 'yaml')
  .flatMap(({ text }) => (/^version:.*\nversion:/m.test(text) ? text.trim().split('\n') : [text]));

/** The rule book that a block is a part of. */
function wholeBook(block: string): string {
  const indented = block.replaceAll(/^(?=.)/gm, '    ');
  const change = `changes:\n  - id: change\n    summary: A change.\n    on: every\n${indented}`;
  const book = block.startsWith('response:')
    ? change
    : block.startsWith('- id:')
      ? `changes:\n${indented}`
      : block;
  const named = [...book.matchAll(/\b(?:on: \[([\w, ]+)\]|as: (\w+_order) )/g)].flatMap(([, on, as]) =>
    (on ?? as ?? '').split(', '),
  );
  const operations = `operations: { ${named.map((id) => `${id}: GET /${id}`).join(', ')} }\n`;
  return `${/^operations:/m.test(book) ? '' : operations}${book}${/^changes:/m.test(book) ? '' : '\nchanges: []\n'}`;
}

test.each(blocks)('a part of a rule book has no fault: %s', async (block) => {
  expect(await messagesIn(wholeBook(block))).toEqual([]);
});
