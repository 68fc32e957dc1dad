import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { bookIn, faultsIn, withChanges } from './reading.ts';

const book = (text: string): string =>
  `${withChanges('  []')}\n${text}\n`.replace('changes:\n  []', 'changes: []');
const ACME = '4f1c0b6a2e9d7c35';
const clients = `clients: { acme: ${ACME}, globex: 0123456789abcdef }`;

describe('its meaning', () => {
  test('a book without a rollout has none, and its hash stays the same', async () => {
    const plain = await bookIn(book(''));
    expect(plain).not.toHaveProperty('rollout');
    const other = await bookIn(book('deprecation: 2026-12-01'));
    expect(other.hash).not.toBe(plain.hash);
  });

  test.each<[string, object]>([
    ['deprecation: 2026-12-01', { signals: { since: Date.UTC(2026, 11, 1), attributes: true, links: [] } }],
    [
      'deprecation: { since: "2026-12-01T10:00:00+10:00", attributes: false }\nsunset: 2027-01-01',
      { signals: { since: Date.UTC(2026, 11, 1), attributes: false, sunset: Date.UTC(2027, 0, 1) } },
    ],
    [
      `${clients}\nsunset: { at: 2027-01-01, after: gone, except: [acme] }`,
      { gone: { except: [ACME] }, signals: { sunset: Date.UTC(2027, 0, 1), attributes: false } },
    ],
    [
      'links: { successor-version: "https://x.test/api/v2", deprecation: "https://x.test/d" }',
      {
        signals: {
          links: [
            ['deprecation', 'https://x.test/d'],
            ['successor-version', 'https://x.test/api/v2'],
          ],
        },
      },
    ],
    [
      `${clients}\nbrownouts: [{ id: b, share: 25, status: 503, message: m, clients: [acme, fedcba9876543210], operations: [a] }]`,
      {
        clients: { [ACME]: 'acme' },
        brownouts: [
          {
            id: 'b',
            share: 25,
            status: 503,
            message: 'm',
            clients: [ACME, 'fedcba9876543210'],
            operations: ['a'],
          },
        ],
      },
    ],
    [
      `${clients}\nnewcomers: { from: 2027-01-01, except: [acme] }`,
      { newcomers: { from: Date.UTC(2027, 0, 1), answer: 'refuse', except: [ACME] } },
    ],
    [
      // Summer and winter time in one book; a time with an offset keeps it.
      'zone: Europe/Amsterdam\ndeprecation: 2026-07-01\nsunset: { at: 2027-03-03, after: gone }\nnewcomers: { from: 2026-12-01 }\nbrownouts: [{ id: b, from: 2027-02-01, until: 2027-02-01T12:00:00Z }]',
      {
        signals: {
          since: Date.UTC(2026, 5, 30, 22),
          attributes: true,
          sunset: Date.UTC(2027, 2, 2, 23),
          links: [],
        },
        newcomers: { from: Date.UTC(2026, 10, 30, 23), answer: 'refuse', except: [] },
        brownouts: [{ id: 'b', from: Date.UTC(2027, 0, 31, 23), until: Date.UTC(2027, 1, 1, 12) }],
      },
    ],
    [
      'newcomers: { from: 2027-01-01, answer: warn, guide: "https://x.test/" }',
      { newcomers: { answer: 'warn', except: [], guide: 'https://x.test/' } },
    ],
    [
      'modes: observe',
      {
        modes: {
          default: { mode: 'observe' },
          rollback: { window: 60_000, margin: 5, slower: 2, requests: 20, certainty: 99 },
        },
      },
    ],
    ['modes: { canary: 12.5 }', { modes: { default: { mode: 'canary', share: 12.5 } } }],
    [
      `${clients}\nmodes: { operations: { a: shadow }, clients: { acme: migrate }, rollback: { window: 5m } }`,
      {
        modes: {
          default: { mode: 'migrate' },
          operations: { a: { mode: 'shadow' } },
          clients: { [ACME]: { mode: 'migrate' } },
          rollback: { window: 300_000 },
        },
      },
    ],
    [
      'pins: [{ version: 2025-06-30, operations: [a, g] }]',
      { pins: [{ version: '2025-06-30', operations: ['a', 'g'] }] },
    ],
    ['shield: { requests: 60 }', { shield: { requests: 60, per: 60_000, wait: 5000, queue: 100 } }],
  ])('%s', async (text, rollout) => {
    expect(await bookIn(book(text))).toMatchObject({ rollout });
  });
});

describe('an end of its own', () => {
  const change = '{ id: c, summary: s, on: every, request: [{ strip: x }]';
  const withEnds = (operation: string, ofChange = '', more = ''): string =>
    `${more}operations: { a: { match: POST /a${operation} } }\nchanges: [${change}${ofChange} }]\n`;

  test('of an operation and of a change, by their ids; both are part of the hash', async () => {
    const text = withEnds(
      ', deprecation: 2026-12-01, sunset: { at: 2027-01-01, after: gone, except: [acme] }, links: { sunset: "https://x.test/" }',
      ', sunset: 2027-02-01',
      `${clients}\n`,
    );
    const read = await bookIn(text);
    expect(read.rollout?.ends).toEqual({
      operations: {
        a: {
          since: Date.UTC(2026, 11, 1),
          sunset: Date.UTC(2027, 0, 1),
          links: [['sunset', 'https://x.test/']],
          gone: { except: [ACME] },
        },
      },
      changes: { c: { sunset: Date.UTC(2027, 1, 1), links: [] } },
    });
    const hashes = [
      text,
      withEnds(''),
      withEnds('', ', sunset: 2027-02-01'),
      withEnds('', ', sunset: 2027-02-02'),
    ];
    const read4 = await Promise.all(hashes.map(bookIn));
    expect(new Set(read4.map(({ hash }) => hash)).size).toBe(4);
    expect(read4[1]).not.toHaveProperty('rollout');
  });

  test.each([
    [withEnds(', deprecation: 2027-01-02, sunset: 2027-01-01'), /^1:.* sunset is before deprecation/],
    [
      withEnds(', deprecation: 2027-02-01', '', 'deprecation: 2027-01-01\n'),
      /later than the deprecation of V1/,
    ],
    [withEnds(', sunset: 2027-02-01', '', 'sunset: 2027-01-01\n'), /later than the sunset of V1/],
    [withEnds('', ', sunset: 2027-02-01', 'sunset: 2027-01-01\n'), /^3:.*later than the sunset of V1/],
    [
      withEnds(', sunset: { at: 2027-02-01, after: gone, except: [acne] }', '', `${clients}\n`),
      /client "acne"/,
    ],
    [withEnds('', ', sunset: { at: 2027-02-01, after: gone }'), /changes\[0\]\.sunset must be a text/],
    [withEnds(', sunset: soon'), /a day or a time/],
  ])('%s', async (text, fault) => {
    expect((await faultsIn(text)).join('\n')).toMatch(fault);
  });
});

describe('faults: each names the thing, the value and the way out', () => {
  test.each([
    ['deprecation: tomorrow', /^4:14 deprecation .*a day or a time/],
    ['deprecation: 2026-02-30', /2026-02-30/],
    ['deprecation: 2027-01-01\nsunset: 2026-01-01', /^5:9 sunset is before deprecation/],
    ['links: { sunset: "javascript:alert(1)" }', /links\.sunset .*http or https/],
    ['links: { canonical: "https://x.test" }', /unknown key "canonical"/],
    ['brownouts: [{ id: b, from: 2026-01-02, until: 2026-01-01 }]', /brownout "b" ends before it begins/],
    ['brownouts: [{ id: b }, { id: b }]', /another brownout has the id "b"/],
    ['brownouts: [{ id: b, share: 0 }]', /brownouts\[0\]\.share/],
    ['brownouts: [{ id: b, status: 500 }]', /410 or 503/],
    [`${clients}\nbrownouts: [{ id: b, clients: [acne] }]`, /client "acne" .*did you mean "acme"/],
    ['brownouts: [{ id: b, operations: [aa] }]', /operation "aa" is not among/],
    [
      'deprecation: 2027-06-30T09:00:00',
      /"2027-06-30T09:00:00" has no time zone; add Z for UTC, or an offset/,
    ],
    [
      'modes: canarry',
      /modes must be migrate, observe, shadow, \{ canary: 10 \}, \{ verify: 5 \}, or a mapping with default/,
    ],
    ['modes: { operations: { nope: observe } }', /:24 operation "nope" is not among/],
    ['modes: { clients: { nope: observe } }', /:21 client "nope" is neither a name under clients/],
    ['modes: { rollback: { window: soon } }', /500ms, 30s, 5m or 1h/],
    ['pins: [{ version: 2025-06-30 }]', /a pin for every request is the version of the rule book/],
    ['pins: [{ version: 2024-06-30, operations: [a] }]', /not before 2025-01-01/],
    ['shield: { requests: 0 }', /shield\.requests/],
    ['newcomers: { answer: refuse }', /newcomers\.from/],
    [
      'sunset: 2027-01-01\nnewcomers: { from: 2027-01-01 }',
      /newcomers are refused from a day after the sunset/,
    ],
    ['newcomers: { from: 2027-01-01, except: [nope] }', /client "nope" is neither a name under clients/],
    ['newcomers: { from: 2027-01-01, guide: "javascript:1" }', /http or https/],
    ['clients: { a: XYZ }', /16 hex digits/],
    [`clients: { a: ${ACME}, b: ${ACME} }`, /client "b" has the hash of "a"/],
  ])('%s', async (text, fault) => {
    const faults = await faultsIn(book(text));
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(fault);
  });
});

test.each([
  ['{ deprecations: "*.list" }', /the list has exactly one place/],
  ['{ deprecations: "data.*.list" }', /the list has exactly one place/],
])('response rule %s is refused', async (rule, fault) => {
  const faults = await faultsIn(withChanges(`- { id: c, summary: s, on: [g], response: [ ${rule} ] }`));
  expect(faults).toEqual([expect.stringMatching(fault)]);
});

test('the commented-out parts of the shipped rule book are valid', async () => {
  const text = readFileSync(new URL('../../config/rules.yaml', import.meta.url), 'utf8');
  const at = text.indexOf('# The stages of a migration');
  const opened = text.slice(at).replaceAll(/^# ((?:\w[\w-]*:| {2})[^\n]*)$/gm, '$1');
  const { rollout } = await bookIn(text.slice(0, at) + opened);
  expect(rollout).toMatchObject({
    clients: { [ACME]: 'acme' },
    brownouts: [{ id: 'first-hour', except: [ACME] }],
    modes: { default: { mode: 'canary', share: 10 } },
    pins: [{}],
    shield: { requests: 60 },
  });
});
