import { describe, expect, test } from 'vitest';
import { bookDifference } from '../../src/inspector/book-difference.ts';
import { marksUntil } from '../../src/inspector/marks.ts';
import { readRuleBook } from '../../src/rules/read-rule-book.ts';
import type { RuleBook } from '../../src/rules/rule-book.ts';

const at = (time: string): string => `2026-11-30T${time}.000Z`;
const ms = (time: string): number => Date.parse(at(time));

describe('marks of charts', () => {
  const rollout = {
    changes: [
      { at: at('12:07:52'), kind: 'rule-book', what: 'Rule book changed: brownouts' },
      { at: at('12:00:53'), kind: 'roll-back', what: 'Roll back', why: '14 of 26 failed' },
    ],
    deprecation: at('00:00:00'),
    sunset: at('12:09:23'),
    gone: {},
    brownouts: [
      {
        id: 'first',
        state: 'over',
        from: at('12:08:02'),
        until: at('12:08:47'),
        share: 100,
        status: 503,
      },
    ],
  } as const;
  const outage = {
    service: 'v2',
    requests: 504,
    kept: 400,
    since: ms('12:04:21'),
    last: ms('12:05:21'),
  } as const;

  test('are changes, brownouts, the end of V1, and a service that stopped responding, oldest first', () => {
    const faults = [{ at: at('12:06:00'), kind: 'event', what: 'pay_fine began to fail' }] as const;
    const outages = [{ ...outage, responded: 40 }];
    const marks = marksUntil({ now: ms('13:00:00'), rollout, outages, faults });
    expect(marks.map((mark) => `${mark.at.slice(11, 19)} ${mark.what}`)).toEqual([
      '00:00:00 V1 is deprecated, as its responses announce',
      '12:00:53 Roll back',
      '12:04:21 V2 stopped responding: 504 requests failed',
      '12:05:21 V2 responded again',
      '12:06:00 pay_fine began to fail',
      '12:07:52 Rule book changed: brownouts',
      '12:08:02 Brownout first began: 100 % of V1 requests get 503',
      '12:08:47 Brownout first ended',
      '12:09:23 V1 ended: V1 requests get 410, on purpose',
    ]);
    expect(marks[1]?.why).toBe('14 of 26 failed');
  });

  test('do not lie in the future, and a service that is still away has not responded again', () => {
    const outages = [{ ...outage, responded: 0 }];
    const marks = marksUntil({ now: ms('12:08:10'), rollout, outages, faults: [] });
    expect(marks.map(({ what }) => what).slice(-3)).toEqual([
      'V2 stopped responding: 504 requests failed',
      'Rule book changed: brownouts',
      'Brownout first began: 100 % of V1 requests get 503',
    ]);
  });
});

const BOOK = `format: 1
operations:
  list: { match: GET /loans }
  get: { match: 'GET /loans/{id}' }
changes:
  - { id: a, summary: A., on: [list], response: [{ rename: old, to: new }] }
`;

async function book(text: string): Promise<RuleBook> {
  const reading = await readRuleBook(text, 'rules.yaml');
  if (!reading.ok) throw new Error(JSON.stringify(reading.faults));
  return reading.ruleBook;
}

describe('what a rule book changed', () => {
  const cases: readonly (readonly [after: string, difference: readonly string[]])[] = [
    [`# a comment\n${BOOK}`, []],
    [`${BOOK}modes: { default: observe }\n`, []],
    [
      `${BOOK}brownouts: [{ id: first, from: 2026-12-01T12:00:00Z, until: 2026-12-01T12:15:00Z }]\n`,
      ['brownouts'],
    ],
    [`${BOOK}deprecation: 2026-11-30\nsunset: { at: 2027-03-01, after: gone }\n`, ["dates of V1's end"]],
    [BOOK.replace("  get: { match: 'GET /loans/{id}' }\n", ''), ['operation get removed']],
    [BOOK.replace('changes:', '  pay: { match: POST /fines }\nchanges:'), ['operation pay added']],
    [BOOK.replace('to: new', 'to: newer'), ['change a edited']],
    [BOOK.replace('format: 1', 'format: 1\nresource: items'), ['settings']],
  ];
  test.each(cases)('%j: %j', async (after, difference) => {
    expect(bookDifference(await book(BOOK), await book(after))).toEqual(difference);
  });

  test('names at most three of a kind', async () => {
    const more = ['a', 'b', 'c', 'd'].map((id) => `  ${id}: { match: GET /${id} }\n`).join('');
    expect(bookDifference(await book(BOOK), await book(BOOK.replace('changes:', `${more}changes:`)))).toEqual(
      ['4 operations added'],
    );
  });
});
