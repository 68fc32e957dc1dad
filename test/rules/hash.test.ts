import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { fuzzRuns } from '../support/fuzz.ts';
import { sources } from './arbitrary-source.ts';
import { rulesHash } from '../../src/rules/hash.ts';
import { bookIn } from './reading.ts';

const TEXT = `version: 2025-01-01
operations:
  a: POST /a
  b: { match: "PATCH /b/{id}" }
changes:
  - id: one
    summary: The first.
    on: [a, b]
    request:
      - unwrap: data
      - { nest: [x, y], in: p, under: q }
      - { rename: r, to: s }
      - { strip: [t, p.u] }
      - { only: [v, w], in: z }
    response:
      - { alias: d.a, as: b }
      - { flatten: d.c, members: [m] }
      - { deprecations: d.d }
      - errors: true
  - id: two
    summary: The second.
    on: every
    request:
      - strip: k
`;

const RESPONSE_RULES = [
  '{ list: d.a }',
  '{ list: d.b }',
  '{ list: d.a, to: b }',
  '{ list: d.a, status: 201 }',
  "{ list: d.a, with: ',' }",
  "{ list: d.a, with: ';' }",
  "{ unlist: d.a, with: ',' }",
  '{ list: d.a, of: v }',
  '{ list: d.a, of: w }',
  '{ unlist: d.a, of: v }',
  '{ entries: d.a, name: k, value: v }',
  '{ entries: d.a, name: v, value: k }',
  '{ unlist: d.a, name: k, value: v }',
  '{ first: d.a }',
  '{ first: d.a, to: b }',
  '{ copy: a, to: b }',
  '{ copy: a, to: c }',
  '{ copy: b, to: c }',
  '{ copy: a.b, to: c }',
  "{ join: [a, b], to: c, with: ' ' }",
  "{ join: [a, b], to: c, with: '-' }",
  "{ join: [b, a], to: c, with: ' ' }",
  "{ join: [a, b], to: d, with: ' ' }",
  "{ join: [a, b], in: d, to: c, with: ' ' }",
  "{ join: [a, b], to: c, with: ' ', at: first }",
  "{ join: [a, b], to: c, with: ' ', status: 201 }",
  "{ split: d.a, to: [b, c], with: ' ' }",
  "{ split: d.b, to: [b, c], with: ' ' }",
  "{ split: d.a, to: [c, b], with: ' ' }",
  "{ split: d.a, to: [b, c], with: '-' }",
  "{ split: d.a, to: [b, c], with: ' ', at: first }",
  "{ split: d.a, to: [b, c], with: ' ', status: 201 }",
];

const plain = await hashOf(TEXT);

test('is 16 hex digits, the same on every machine and in every version', () => {
  expect(plain).toBe('e4e4c2c02a36705a');
});

describe('stays with the meaning', () => {
  test.each<[title: string, from: string, to: string]>([
    ['comments', 'changes:', '# A comment\nchanges: # another'],
    ['summaries', 'The first.', 'Something else.'],
    ['assumptions on operations', '{ match: "PATCH /b/{id}" }', '{ match: "PATCH /b/{id}", assumed: true }'],
    ['assumptions on changes', '    on: every', '    on: every\n    assumed: true'],
    ['the long form', 'a: POST /a', 'a: { match: POST /a }'],
    [
      'the order of operations',
      '  a: POST /a\n  b: { match: "PATCH /b/{id}" }',
      '  b: "PATCH /b/{id}"\n  a: POST /a',
    ],
    ['the order of a list of operations', 'on: [a, b]', 'on: [b, a]'],
    ['names of parameters', '/b/{id}', '/b/{number}'],
    ['spelling of templates', 'POST /a', 'POST /%61'],
    ['the order of keys', '{ rename: r, to: s }', '{ to: s, rename: r }'],
    ['quotes', 'unwrap: data', '"unwrap": \'data\''],
    ['a list of one', 'strip: k', 'strip: [k]'],
    ['a path in two parts', 'strip: [t, p.u]', 'strip: t }\n      - { strip: u, in: p'],
    [
      'defaults written out',
      'changes:',
      'format: 1\nfrom: /api/v1\nto: /api/v2\nother: refuse\noverride: follow\npolicies: { flat: migrate, malformed: refuse }\nlimits: { depth: 512, body: 10485760 }\nchanges:',
    ],
    ['statuses written out', 'as: b }', 'as: b, status: 2xx }'],
    [
      'a policy of a change that says the same',
      '    request:\n      - unwrap',
      '    policies: { flat: migrate }\n    request:\n      - unwrap',
    ],
    ['the zone of plans', 'version:', 'zone: Australia/Sydney\nversion:'],
    ['the schema', 'version:', '$schema: ./rules.schema.json\nversion:'],
  ])('%s', async (_, from, to) => {
    expect(TEXT).toContain(from);
    expect(await hashOf(TEXT.replace(from, () => to))).toBe(plain);
  });
});

describe('changes with the meaning', () => {
  test.each<[from: string, to: string]>([
    ['2025-01-01', '2025-01-02'],
    ['version: 2025-01-01\n', ''],
    ['version: 2025-01-01', 'version: { header: X-Rev, value: 2025-01-01 }'],
    ['version: 2025-01-01', 'version: { value: 2025-01-01, form: text }'],
    ['a: POST /a', 'a: PATCH /a'],
    ['    request:\n      - unwrap', '    headers: [{ strip: X-A }]\n    request:\n      - unwrap'],
    ['      - errors: true\n', '      - errors: true\n      - headers: [{ strip: X-A }]\n'],
    ['a: POST /a', 'a: POST /aa'],
    ['a: POST /a', 'a: { match: POST /a, resource: items }'],
    ['a: POST /a', "a: { match: POST /a, resource: '' }"],
    ['operations:', "resource: ''\noperations:"],
    ['operations:', 'errors: problem\noperations:'],
    ['operations:', 'client: { header: X-Api-Key }\noperations:'],
    ['operations:', 'cors: { origins: ["*"] }\noperations:'],
    ['operations:', 'refusals: problem\noperations:'],
    ['operations:', 'refusals: { body: "{detail}" }\noperations:'],
    ['operations:', 'resource: a.b\noperations:'],
    ['operations:', 'from: /v1\noperations:'],
    ['operations:', 'to: /v2\noperations:'],
    ['operations:', 'other: pass\noperations:'],
    ['operations:', 'override: drop\noperations:'],
    ['operations:', 'body-links: leave\noperations:'],
    ['operations:', 'link-fields: [X-Poll-Url]\noperations:'],
    ['a: POST /a', 'a: { match: POST /a, to: POST /aa }'],
    ['a: POST /a', 'a: { match: POST /a, status: { 204: 200 } }'],
    ['match: "PATCH /b/{id}"', 'match: "PATCH /b/{id}", to: "PATCH /b?x={id}"'],
    ['/b/{id}', '/b/id'],
    ['  a: POST /a\n', '  a: POST /a\n  c: POST /c\n'],
    ['id: one', 'id: other'],
    ['on: [a, b]', 'on: [a]'],
    ['on: [a, b]', 'on: every'],
    ['unwrap: data', 'unwrap: date'],
    ['nest: [x, y]', 'nest: [x]'],
    ['nest: [x, y]', 'nest: [y, x]'],
    ['in: p, under', 'in: p.*, under'],
    ['in: p, under', 'under'],
    ['under: q', 'under: qq'],
    ['rename: r', 'rename: rr'],
    ['rename: r', 'rename: p.r'],
    ['to: s', 'to: ss'],
    ['[t, p.u]', '[t]'],
    ['[t, p.u]', '[t, "p\\\\.u"]'],
    ['[t, p.u]', '[t, o.u]'],
    ['[v, w]', '[v]'],
    ['in: z', 'in: zz'],
    ['      - { rename: r, to: s }\n', ''],
    [
      '      - { rename: r, to: s }\n      - { strip: [t, p.u] }',
      '      - { strip: [t, p.u] }\n      - { rename: r, to: s }',
    ],
    ['alias: d.a', 'alias: d.aa'],
    ['as: b', 'as: c'],
    ['as: b }', 'as: b, status: [2xx, 404] }'],
    ['flatten: d.c', 'flatten: d.e'],
    ['members: [m]', 'members: [m, n]'],
    [', members: [m]', ''],
    ['deprecations: d.d', 'deprecations: d.e'],
    ['- errors: true', '- { errors: true, status: 422 }'],
    ['      - errors: true\n', ''],
    ['    request:\n      - unwrap', '    policies: { siblings: refuse }\n    request:\n      - unwrap'],
    ...['flat', 'siblings', 'conflict', 'duplicate', 'wrapper', 'malformed', 'unsupported'].map(
      (policy): [string, string] => ['changes:', `policies: { ${policy}: forward }\nchanges:`],
    ),
    ...['forms: forward', 'media: sniff', 'half-close: answer', 'signed: refuse', 'future: replace'].map(
      (policy): [string, string] => ['changes:', `policies: { ${policy} }\nchanges:`],
    ),
    ['changes:', 'limits: { transform: 99 }\nchanges:'],
    ...RESPONSE_RULES.map((rule): [string, string] => ['- errors: true', `- ${rule}\n      - errors: true`]),
    ...['depth', 'body', 'response'].map((limit): [string, string] => [
      'changes:',
      `limits: { ${limit}: 99 }\nchanges:`,
    ]),
  ])('%j becomes %j', async (from, to) => {
    expect(TEXT).toContain(from);
    expect(await hashOf(TEXT.replace(from, () => to))).not.toBe(plain);
  });

  test('each response rule, and each part of it', async () => {
    const hashes = await Promise.all(
      RESPONSE_RULES.map((rule) => hashOf(TEXT.replace('- errors: true', `- ${rule}`))),
    );
    expect(new Set(hashes).size).toBe(RESPONSE_RULES.length);
  });

  test('each part of a webhook, and not how it is written', async () => {
    const hook = `${TEXT}webhooks: { h: { to: 'https://x.test/', as: a, sign: { scheme: standard-webhooks, verify: A, with: B } } }\n`;
    const written = hook.replace('verify: A, with: B', 'with: [B], verify: [A]');
    expect(await hashOf(written)).toBe(await hashOf(hook));
    const others = [
      ['{ h:', '{ i:'],
      ['x.test', 'y.test'],
      [' as: a,', ''],
      ['as: a', 'as: b'],
      ['verify: A', 'verify: [A, B]'],
      ['with: B', 'with: [B, A]'],
      ['as: a', "as: a, gateway: 'https://g.test'"],
    ].map(([from = '', to = '']) => hook.replace(from, to));
    const hashes = await Promise.all([TEXT, hook, ...others].map(hashOf));
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test('the order of changes', async () => {
    const at = TEXT.indexOf('  - id: one');
    const middle = TEXT.indexOf('  - id: two');
    expect(await hashOf(TEXT.slice(0, at) + TEXT.slice(middle) + TEXT.slice(at, middle))).not.toBe(plain);
  });
});

test('any book has one hash, in any printed form and order of keys', async () => {
  await fc.assert(
    fc.asyncProperty(sources, async (source) => {
      const hash = await hashOf(JSON.stringify(source));
      expect(hash).toMatch(/^[0-9a-f]{16}$/);
      expect(await hashOf(stringify(turned(source)))).toBe(hash);
    }),
    { numRuns: fuzzRuns(300) },
  );
});

/** The value with the keys of every mapping in the opposite order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, inner]) => [key, turned(inner)]),
  );
}

async function hashOf(source: string): Promise<string> {
  return (await bookIn(source)).hash;
}

const DATES = "deprecation: '2026-12-01', sunset: { at: '2027-06-30', after: gone }";
const RULES = '{ id: n, summary: N., on: [a], request: [{ rename: r, to: s }] }';

test.each<[what: string, one: string, other: string, isSame: boolean]>([
  ['dates that are declared', '', DATES, true],
  ['dates that move', DATES, DATES.replace('2027', '2028'), true],
  [
    'a brownout',
    DATES,
    `${DATES}, brownouts: [{ id: x, from: '2027-01-05T10:00:00Z', until: '2027-01-05T11:00:00Z' }]`,
    true,
  ],
  ['a mode', '', 'modes: { default: { canary: 5 } }', true],
  ['a release', '', 'version: 2025-01-01', false],
  ['a policy', DATES, `${DATES}, policies: { malformed: forward }`, false],
])('%s: whether the rules keep their part of the hash', async (_, one, other, isSame) => {
  const [before, after] = await Promise.all(
    [one, other].map((more) =>
      bookIn(`{ operations: { a: POST /a }, changes: [${RULES}]${more === '' ? '' : `, ${more}`} }`),
    ),
  );
  if (before === undefined || after === undefined) throw new Error('there are two books');
  expect(after.hash).not.toBe(before.hash);
  expect(rulesHash(after.hash) === rulesHash(before.hash)).toBe(isSame);
  expect([before.hash, after.hash].every((hash) => /^[0-9a-f]{16}$/.test(hash))).toBe(true);
});
