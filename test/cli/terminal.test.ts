import { styleText } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  addressWords,
  printColumns,
  ProgressBar,
  tellOfWaiting,
  widthOf,
  wrapLines,
  wrapText,
} from '../../src/cli/terminal.ts';

const word = fc.stringMatching(/^[a-z0-9/_.-]{1,24}$/);
const cell = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => words.join(' '));
const table = fc.integer({ min: 1, max: 6 }).chain((columns) =>
  fc.record({
    head: fc.array(word, { minLength: columns, maxLength: columns }),
    rows: fc.array(fc.array(cell, { minLength: columns, maxLength: columns }), {
      minLength: 1,
      maxLength: 6,
    }),
    columns: fc.constantFrom(40, 60, 80, 100),
  }),
);

test.each([
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['http://10.1.2.3:8080', 'http://10.1.2.3:8080'],
  ['http://[::1]:8080', 'http://[::1]:8080'],
  ['http://[::]:8080', 'http://127.0.0.1:8080, and every other address of this machine'],
  ['https://0.0.0.0:8443', 'https://127.0.0.1:8443, and every other address of this machine'],
])('%s is shown as an address that a browser opens', (origin, words) => {
  expect(addressWords(origin)).toBe(words);
});

test('a command says once that it waits for stdin, unless something has come or another file is read', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const said = (files: readonly string[], bytesRead: number, wait = 10_000): readonly string[] => {
    const texts: string[] = [];
    const end = tellOfWaiting(files, { bytesRead }, (text) => texts.push(text));
    vi.advanceTimersByTime(wait);
    end();
    vi.advanceTimersByTime(10_000);
    return texts;
  };
  expect(said(['-'], 0)).toEqual(['Waiting for a rewrite log on stdin; name a file to read that instead.\n']);
  expect([said(['-'], 1), said(['a.log'], 0), said(['-'], 0, 1000)]).toEqual([[], [], []]);
});

describe('a table', () => {
  test('has every word of its cells whole and in order, in lines that fit, for any content', () => {
    fc.assert(
      fc.property(table, ({ head, rows, columns }) => {
        const text = printColumns(head, rows, { columns });
        const printed = text.split(/\s+/);
        for (const part of rows.flat().flatMap((each) => each.split(' '))) expect(printed).toContain(part);
        for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
      }),
    );
  });

  test('has as many rows as a report has clients', () => {
    const rows = Array.from({ length: 200_000 }, (_, at) => [String(at), 'x']);
    expect(printColumns(['number', 'name'], rows).split('\n')).toHaveLength(200_001);
  });

  test('is as wide as its rows in a pipe, and on a terminal with room', () => {
    const [head, rows] = [
      ['name', 'count'],
      [
        ['a longer name', '7'],
        ['b', '12'],
      ],
    ] as const;
    const wide = 'name           count\na longer name      7\nb                 12';
    expect(printColumns(head, rows, { right: [1] })).toBe(wide);
    expect(printColumns(head, rows, { right: [1], columns: 60 })).toBe(wide);
  });

  test('keeps the lines of a cell, in a pipe and in blocks', () => {
    const [head, rows] = [['client', 'facts', 'n'], [['acme', 'one\nanother fact', '7']]] as const;
    expect(printColumns(head, rows)).toBe(
      'client  facts         n\nacme    one           7\n        another fact',
    );
    expect(printColumns(head, rows, { columns: 16 })).toBe('acme\n  facts: one\n    another fact\n  n: 7');
  });

  test('wraps the cells that have many words, and keeps the others beside them', () => {
    expect(
      printColumns(
        ['client', 'requests', 'why'],
        [['acme', '7', 'it sends the address of a property in the old place']],
        {
          right: [1],
          columns: 40,
        },
      ),
    ).toBe(
      [
        'client  requests  why',
        'acme           7  it sends the address',
        '                  of a property in the',
        '                  old place',
      ].join('\n'),
    );
  });

  test('becomes blocks where the longest words do not fit beside each other', () => {
    const row = ['order_post_production', '/data/property/street_address', '', 'seen by V1'];
    expect(printColumns(['operation', 'attribute', 'note', 'why'], [row], { columns: 40 })).toBe(
      [
        'order_post_production',
        '  attribute:',
        '    /data/property/street_address',
        '  why: seen by V1',
      ].join('\n'),
    );
  });

  test('colours every line of a cell that wraps, and nothing beside it', () => {
    const red = styleText('red', 'one two three four', { validateStream: false });
    const [, first = '', second = ''] = printColumns(['a', 'b'], [[red, 'five six seven eight nine']], {
      columns: 24,
    }).split('\n');
    const visible = (line: string): string => line.replaceAll(String.fromCodePoint(0x1b), '^');
    for (const line of [first, second]) expect(visible(line)).toMatch(/^\^\[31m[a-z ]+\^\[39m +[a-z]/);
  });
});

describe('a sentence', () => {
  test('breaks between words, and what follows is indented', () => {
    expect(wrapLines('  a sentence of some words that goes on', 24)).toBe(
      '  a sentence of some\n    words that goes on',
    );
    expect(wrapLines('as it is', undefined)).toBe('as it is');
    expect(wrapText('averyverylongword', 5)).toEqual(['averyverylongword']);
    expect(widthOf(styleText('bold', 'four', { validateStream: false }))).toBe(4);
  });
});

describe('a progress bar', () => {
  test('is drawn only on a terminal, at most ten times a second', () => {
    let now = 0;
    const texts: string[] = [];
    const output = { isTTY: true, columns: 80, write: (text: string) => texts.push(text) };
    const bar = new ProgressBar(output, 1000e6, () => now);
    for (now = 0; now <= 1000; now += 10) bar.show(now * 0.5e6);
    bar.clear();
    expect(texts.length).toBeLessThan(15);
    expect(texts.at(-2)).toMatch(/█+░+ +\d+ %  \d+ MB\/s  1 s left/);
    const silent: string[] = [];
    new ProgressBar({ write: (text) => silent.push(text) }, 10, () => now).show(5);
    expect(silent).toEqual([]);
  });
});
