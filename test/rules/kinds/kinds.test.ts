import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import type { NoInverse } from '../../../src/rules/kinds/kind.ts';
import { changesValue } from '../../../src/rules/kinds/kinds.ts';
import {
  CONVERSION_NAMES,
  doneWords,
  REQUEST_RULE_NAMES,
  RESPONSE_RULE_NAMES,
  ruleRemark,
} from '../../../src/rules/kinds/words.ts';
import { whyNoInverse } from '../../../src/rules/inverse.ts';
import type { RequestRule } from '../../../src/rules/rule.ts';
import type { NewKind, PlayedKind } from '../../support/new-kind.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const src = fileURLToPath(new URL('../../../src/', import.meta.url));

const NAMES = [...new Set([...REQUEST_RULE_NAMES, ...RESPONSE_RULE_NAMES])].join('|');

/** What writes rules, and so has to name them. */
const WRITERS: Readonly<Record<string, string>> = {
  'openapi/draft/': 'a draft proposes rules to a person, of few kinds, in a form of its own',
  'cli/draft/merge-rule-book.ts': 'it asks which proposals a book has already',
  'cli/report/report.ts': 'the census proposes strip',
  'cli/demo/tour.ts': 'the tour takes what the census proposes',
};

/** True for the text of a module that asks a rule for the name of its kind, or has a table of such names. */
function namesKinds(text: string): boolean {
  const name = `'(?:${NAMES})'`;
  const asked = String.raw`case ${name}:|\b(?:rule|word|conversion)\)? [!=]== ${name}|${name} [!=]== |(?:[rR]ule|RULE)\w*\.(?:has|get|includes)\(${name}`;
  // Three lines in a row that begin with names of kinds are a table: of keys, texts or types.
  const row = String.raw`\s*(?:\[|\| )?(?:${name}|(?:${NAMES}):)[^\n]*\n`;
  return new RegExp(`${asked}|^(?:${row}){3}`, 'm').test(text);
}

const MODULES = globSync('**/*.{ts,tsx}', { cwd: src })
  .filter((file) => !file.startsWith('rules/kinds/'))
  .map((file) => ({ file, names: namesKinds(readFileSync(src + file, 'utf8')) }));

test('only the modules of kinds and the code that writes rules know a kind by its name', () => {
  const writers = Object.keys(WRITERS);
  const others = MODULES.filter(({ file }) => !writers.some((writer) => file.startsWith(writer)));
  expect(others.flatMap(({ file, names }) => (names ? [file] : []))).toEqual([]);
});

test.each(Object.entries(WRITERS))('%s names kinds: %s', (writer) => {
  expect(MODULES.some(({ file, names }) => names && file.startsWith(writer))).toBe(true);
});

test.each([
  ["  if (rule.rule === 'unwrap') return [];", true],
  ["  if ('strip' !== found.rule) return [];", true],
  ["    case 'unlist':", true],
  ["  const isOwn = RULES.has('nest');", true],
  ["const REMARKS = new Map([\n  ['map', 'a'],\n  ['set', 'b'],\n  ['scale', 'c'],\n]);", true],
  ["const VERBS = {\n  strip: 'strips',\n  rename: 'renames',\n  nest: 'moves',\n};", true],
  ["type Word =\n  | 'scale'\n  | 'quote'\n  | 'date';", true],
  ["const DATES = {\n  date: 'a day',\n  time: 'a time',\n};", false],
  ["  if (field === 'date') return value;", false],
])('%s asks for a name of a kind: %s', (text, isNaming) => {
  expect(namesKinds(`${text}\n`)).toBe(isNaming);
});

test('a guide has a remark for each kind that changes a value', () => {
  const plain = ['only', 'unwrap', 'nest', 'rename', 'strip', 'move'];
  expect(REQUEST_RULE_NAMES.filter((name) => !ruleRemark(name)).toSorted()).toEqual(plain.toSorted());
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

test('with the module that the docs show for lowercase, and a row in each table, all other code knows it', async () => {
  const page = readFileSync(new URL('../../../docs/decisions/how-to-add.md', import.meta.url), 'utf8');
  const [, code = ''] = /`lowercase\.ts`:\n\n```ts\n(.*?)```/s.exec(page) ?? [];
  const module = `${temporaryFolder('kind')}/lowercase.ts`;
  const folder = `${pathToFileURL(src).href}rules/kinds/`;
  await writeFile(
    module,
    code.replaceAll(/from '(\.[^']+)'/g, (_, path: string) => `from '${new URL(path, folder).href}'`),
  );
  const state = { type: 'string', title: 'State', enum: ['nsw', 'vic'], pattern: '^[a-z]+$', maxLength: 3 };
  const body = { type: 'object', properties: { state, old: { ...state, nullable: true } } };
  const content = { 'application/json': { schema: body } };
  const workerData: NewKind = {
    name: 'lowercase',
    module,
    book: `version: 2025-01-01
operations: { make: POST /things }
changes:
  - id: c
    summary: s
    on: [make]
    request: [{ lowercase: state }, { lowercase: old }]
    query: [{ lowercase: state }]
    response: []
`,
    bodies: ['NSW', String.raw`\u00c4\n`, String.raw`\u006esw`, '']
      .map((text) => `{"state": "${text}"}`)
      .concat('{"state":7}', '{"state":null}'),
    query: '?state=NSW&other=A',
    description: {
      openapi: '3.0.3',
      info: { title: 't', version: '2' },
      paths: {
        '/api/v2/things': {
          post: {
            parameters: [{ name: 'state', in: 'query', schema: state }],
            requestBody: { content },
            responses: { 201: { description: 'd', content } },
          },
        },
      },
    },
  };
  const worker = new Worker(new URL('../../support/new-kind.ts', import.meta.url), { workerData });
  const [played]: PlayedKind[] = await once(worker, 'message');
  const { description, ...others } = played ?? {};
  const reason = 'nothing tells which letters were capitals';
  expect(others).toEqual({
    faults: [
      `9:15 change "c": inverse has nothing to undo: lowercase has no inverse, since ${reason}; remove it`,
    ],
    warnings: [
      `change "c": lowercase of "state" has no inverse: ${reason}`,
      `change "c": lowercase of "old" has no inverse: ${reason}`,
    ],
    bodies: [
      '{"state": "nsw"}',
      String.raw`{"state": "ä\n"}`,
      String.raw`{"state": "\u006esw"}`,
      '{"state": ""}',
      'unconvertible-value',
      '{"state":null}',
    ],
    query: '?state=nsw&other=A',
    words: ['write state in lower case', 'write old in lower case'],
    remark: 'now in lower case',
  });
  // V1's clients send capitals, which V2's schema has not; responses have what V2 sends.
  const sent = { title: 'State', type: 'string', 'x-change': ['c'] };
  expect(description).toMatchObject({
    paths: {
      '/api/v1/things': {
        post: {
          parameters: [{ name: 'state', schema: { type: 'string', title: 'State' } }],
          requestBody: {
            content: {
              'application/json': {
                schema: { properties: { state: sent, old: { ...sent, nullable: true } } },
              },
            },
          },
          responses: { 201: { content } },
        },
      },
    },
  });
  expect(JSON.stringify(description).match(/pattern/g)).toHaveLength(2);
});
