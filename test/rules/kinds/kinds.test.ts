import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { NoInverse } from '../../../src/rules/kinds/kind.ts';
import { changesValue } from '../../../src/rules/kinds/kinds.ts';
import {
  CONVERSION_NAMES,
  doneWords,
  REQUEST_RULE_NAMES,
  RESPONSE_RULE_NAMES,
} from '../../../src/rules/kinds/words.ts';
import { whyNoInverse } from '../../../src/rules/inverse.ts';
import type { RequestRule } from '../../../src/rules/rule.ts';

const src = fileURLToPath(new URL('../../../src/', import.meta.url));

const FOLDERS = ['edits', 'rules', 'rewrite', 'migrate', 'gateway', 'inspector', 'report', 'openapi/derive'];

test('only the modules of kinds know a kind by its name', () => {
  const names = [...new Set([...REQUEST_RULE_NAMES, ...RESPONSE_RULE_NAMES])].join('|');
  const asked = new RegExp(String.raw`case '(?:${names})':|\brule [!=]== '(?:${names})'`);
  const found = FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: src }))
    .filter((file) => !file.startsWith('rules/kinds/'))
    .filter((file) => asked.test(readFileSync(src + file, 'utf8')));
  expect(found).toEqual([]);
});

test('the names of rules are those of the tables', () => {
  expect(REQUEST_RULE_NAMES).toEqual(expect.arrayContaining(['unwrap', 'only', 'default', 'date']));
  expect(REQUEST_RULE_NAMES).not.toContain('first');
  expect(RESPONSE_RULE_NAMES).toEqual(expect.arrayContaining(['unnest', 'errors', 'first', 'date']));
  expect(RESPONSE_RULE_NAMES).not.toContain('nest');
});

test.each<readonly [string, boolean]>([
  ['rename', false],
  ['strip', false],
  ['unnest', false],
  ['errors', false],
  ['map', true],
  ['default', true],
  ['first', true],
  ['split', true],
  ...CONVERSION_NAMES.map((name) => [name, true] as const),
  ['transform', false],
])('%s gives a member another value: %s', (name, isChange) => {
  expect(changesValue(name)).toBe(isChange);
});

const value = { isString: true, text: 'x' };

test.each<[RequestRule, NoInverse | undefined]>([
  [{ rule: 'unwrap', member: 'p' }, 'wrapped'],
  [{ rule: 'strip', members: ['a'], in: [] }, 'lost'],
  [{ rule: 'only', members: ['a'], in: [] }, 'lost'],
  [{ rule: 'set', member: 'a', in: [], json: '{}', value: {} }, undefined],
  [{ rule: 'default', member: 'a', in: [], json: '{}', value: {} }, 'compound'],
  [{ rule: 'default', member: 'a', in: [], json: '"x"', value: 'x' }, undefined],
  [
    {
      rule: 'map',
      member: 'a',
      in: [],
      values: [
        { from: { isString: true, text: 'a' }, to: value },
        { from: { isString: true, text: 'b' }, to: value },
      ],
    },
    'shared',
  ],
  [{ rule: 'rename', member: 'a', in: [], to: 'b' }, undefined],
])('%j has no inverse: %s', (rule, reason) => {
  expect(whyNoInverse(rule)).toBe(reason);
});

test('every kind of request rule says what an edit did', () => {
  const places = { name: 'a', to: 'b', around: 'o', place: 'o.b', isAdded: false };
  for (const name of REQUEST_RULE_NAMES) expect(doneWords(name, places)).toMatch(/^.*\b[abo]\b.*\.$/);
});
