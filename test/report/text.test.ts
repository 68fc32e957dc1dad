import { callName, NO_KEY } from '../../src/rewrite-log/entry.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CODE_POINT } from '../support/code-point.ts';
import { testRuleBook } from '../support/rule-book.ts';
import { censusTerminal, reportTerminal } from '../../src/cli/report/report.ts';
import { PLAIN } from '../../src/cli/terminal.ts';
import { guideHtml, guideMarkdown } from '../../src/report/guide/guide-text.ts';
import { Guide } from '../../src/report/guide/guide.ts';
import { censusMarkdown, reportCsv, reportMarkdown } from '../../src/report/report-text.ts';
import { makeReport } from '../../src/report/report.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import {
  countedClients,
  csvField,
  lengthWords,
  markdownBlock,
  markdownCode,
  markdownText,
  namedClients,
  percentWords,
  terminalLines,
  terminalText,
} from '../../src/report/text.ts';
import { listed } from '../../src/rules/words.ts';
import { sampleEntry } from '../support/sample-entries.ts';

/** A member name of an attacker: it clears the screen, forges a line, reverses the text direction, hides, links and computes. */
const EVIL =
  '\u001b[2J\r\n\u0007\u009b31m\u202eforged\u2066\u200b\ufeff\u2028 | a | `b` <script>alert(1)</script> [x](javascript:x) ![y](http://z) ``` http://e.com www.e.com me@e.com =1+1';
const STEERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

test.each<[operation: string | undefined, path: string | undefined, name: string]>([
  ['read_bill', '/api/v1/bills/7', 'read_bill'],
  [undefined, '/api/v1/bill/7', 'GET /bill/*'],
  [undefined, '/api/v1/bill/7?page=2', 'GET /bill/*'],
  [undefined, '/api/v1', 'GET /'],
  [undefined, '/api/v1x/bill', 'GET /api/*/bill'],
  [undefined, '/bill/7', 'GET /bill/*'],
  [undefined, '/v1/bill/7', 'GET /v1/bill/*'],
  [undefined, '/shop/api/v1/bill', 'GET /shop/api/v1/bill'],
  [undefined, undefined, '(other)'],
  [undefined, `/${'a'.repeat(3000)}`, '(other)'],
])('the call of %s, %s is called %s, with any prefix of V1', (operation, path, name) => {
  expect(callName(operation, 'GET', path)).toBe(name);
});

describe('untrusted text', () => {
  test('is one line of a terminal, and shows its hidden characters', () => {
    expect(terminalText('a\u001b[2J\r\nb\u202ec\u{e0041}')).toBe(
      String.raw`a\u001b[2J\u000d\u000ab\u202ec\udb40\udc41`,
    );
    expect(terminalText('Zoë 😀 日本')).toBe('Zoë 😀 日本');
    expect(terminalLines('a\n\tb\u0085')).toBe('a\n\tb\\u0085');
  });

  test('never steers a terminal, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: CODE_POINT }), (text) => {
        expect(STEERS.test(terminalText(text))).toBe(false);
        expect(STEERS.test(csvField(text))).toBe(false);
        expect(STEERS.test(markdownText(text))).toBe(false);
      }),
    );
  });

  test('has no markup, HTML or link in Markdown', () => {
    expect(markdownText('<b>*x*_y_</b> a_b')).toBe(String.raw`\<b\>\*x\*\_y\_\</b\> a_b`);
    expect(markdownText('http://e.com www.e.com')).toBe(String.raw`http\://e.com www\.e.com`);
    expect(markdownText('- x')).toBe(String.raw`\- x`);
    expect(markdownText('1. x')).toBe(String.raw`1\. x`);
  });

  test('cannot break out of code', () => {
    expect(markdownCode('/data/name')).toBe('`/data/name`');
    expect(markdownCode('a`b')).toBe('a\\`b');
    expect(markdownCode(String.raw`a\|b`)).toBe(String.raw`a\\\|b`);
    expect(markdownBlock('http', 'a\n````\nb')).toBe('`````http\na\n````\nb\n`````');
  });

  test.each([
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['  =1', "'  =1"],
    ['|calc', "'|calc"],
    ['｜calc', "'｜calc"],
    ['-', '-'],
    ['a,"b"', '"a,""b"""'],
    ['a\r\nb', String.raw`a\u000d\u000ab`],
  ])('is no formula in CSV: %s', (text, field) => {
    expect(csvField(text)).toBe(field);
  });
});

// Attack: names in a body, or a forged log, steer the terminal of the operator who prints a report, or the browser of the reader of a guide.
test('reports, censuses and guides print none of it raw', () => {
  const tally = new Tally();
  const guide = new Guide('3');
  for (let n = 0; n < 4; n += 1) {
    const entry = {
      ...sampleEntry(n, Date.UTC(2026, 10, 1)),
      client: `3${EVIL}`,
      route: 'migrate',
      operation: n === 0 ? undefined : EVIL,
      method: 'POST',
      path: `/api/v1/${EVIL}`,
      verdict: 'unchanged',
      status: n === 3 ? 201 : 422,
      edits: [{ change: EVIL, rule: 'strip', from: `/${EVIL}`, note: EVIL }],
      attributes: [`/${EVIL}`, '/plain'],
    } as const;
    tally.add(entry);
    guide.add(entry);
  }
  const report = makeReport(tally, { now: '2026-11-22T00:00:00.000Z', names: new Map([[`3${EVIL}`, EVIL]]) });
  const document = guide.document({ ...testRuleBook(), changes: [{ id: EVIL, summary: 'A change.' }] }, EVIL);
  const html = guideHtml(document);
  expect(html).not.toMatch(/<(?:script|img|a|svg|iframe)\b/i);
  const [call] = document.calls;
  if (call === undefined) throw new Error('The guide has no call.');
  const member = { change: 'a', count: 1, firstSeen: '', lastSeen: '', v1: '/a', v2: '/a' };
  const responses = [{ ...member, hasOtherValues: true as const, remark: '"a|<b>" for "c"' }];
  const read = { before: '{}', after: '{}' };
  const remarked = { ...document, calls: [{ ...call, responses, read, responsesUnknown: false }] };
  expect(guideMarkdown(remarked)).toContain(String.raw`today's: \"a\|\<b\>\" for`);
  expect(guideHtml(remarked)).toContain('&#34;a|&#60;b&#62;&#34; for');
  const plain = [reportTerminal(report, PLAIN), censusTerminal(report.census, PLAIN)];
  const markdown = [reportMarkdown(report), censusMarkdown(report.census), guideMarkdown(document)];
  for (const text of [...plain, ...markdown, html, reportCsv(report).replaceAll('\r\n', '\n')]) {
    expect(text.length).toBeGreaterThan(20);
    expect(text.replaceAll('\n', '')).not.toMatch(STEERS);
    expect(text).not.toMatch(/^.{0,3}forged/m);
  }
  for (const text of markdown) {
    const prose = text.replaceAll(/^(`{3,})[^`\n]*\n[\s\S]*?\n\1$/gm, '').replaceAll(/`[^`\n]*`/g, '');
    expect(prose).not.toMatch(/(?<!\\)<|(?<!\\)\[|https?:\/\//);
  }
});

test.each([
  [0, '0 %'],
  [0.0004, '< 0.1 %'],
  [0.125, '12.5 %'],
  [0.9996, '> 99.9 %'],
  [1, '100 %'],
])('a share of %f is %s', (share, words) => {
  expect(percentWords(share)).toBe(words);
});

test('the rest of a long list has separators', () => {
  const names = Array.from({ length: 1100 }, (_, at) => `n${at}`);
  expect(listed(names, 2)).toBe('n0, n1 and 1,098 more');
});

test('a list of names and the number before it count clients and requests without a key alike', () => {
  for (let keyed = 0; keyed < 9; keyed += 1)
    for (let at = 0; at <= keyed; at += 1)
      for (const isKeyless of [false, true]) {
        const hashes = Array.from({ length: keyed }, (_, one) => `c${one}`);
        if (isKeyless) hashes.splice(at, 0, NO_KEY);
        const words = namedClients(
          hashes.map((client) => ({ client })),
          3,
        );
        const [names = '', others = '0 others'] = words.split(' and ');
        const shown = names.split(', ').filter((name) => name !== '');
        expect(shown.length).toBe(Math.min(3, hashes.length));
        expect(shown.includes('requests without a key')).toBe(isKeyless);
        const clients = shown.length - Number(isKeyless) + Number.parseInt(others, 10);
        expect(clients).toBe(keyed);
        if (keyed > 0) expect(countedClients(hashes)).toMatch(new RegExp(`^${clients} clients?( and |$)`));
      }
});

test.each([
  [59_999, 'less than a minute'],
  [60_000, '1 minute'],
  [7_199_000, '2 hours'],
])('%d ms are %s, in every sentence', (milliseconds, words) => {
  expect(lengthWords(milliseconds)).toBe(words);
});
