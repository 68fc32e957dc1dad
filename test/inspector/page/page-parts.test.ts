import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Diff, DiffMark } from '../../../src/inspector/api.ts';
import {
  foldLines,
  markedLines,
  type MarkedSpan,
  pairsOf,
} from '../../../src/inspector/page/entry/marked-lines.ts';
import { withoutSameTimes } from '../../../src/report/clock.ts';
import { searchedWords } from '../../../src/inspector/page/format.ts';
import { PERSPECTIVES, placeAddress, readPlace, VIEWS } from '../../../src/inspector/page/page-state.ts';
import { FailuresFirst, Sampler } from '../../../src/inspector/page/traffic/live-entries.ts';
import { loadInspectorPage } from '../../../src/cli/serve/serving-files.ts';
import { CODE_POINT } from '../../support/code-point.ts';

test.each([
  ['from 2026-11-29T08:04:41.000Z until 2026-11-29T08:04:52.000Z', 'at 2026-11-29T08:04:41.000Z'],
  [
    'from 2026-11-29T08:04:41.000Z until 2026-11-29T08:06:01.000Z',
    'from 2026-11-29T08:04:41.000Z until 2026-11-29T08:06:01.000Z',
  ],
])('a period is one time if both ends are in one minute: %s', (period, shown) => {
  expect(withoutSameTimes(`V2 failed, ${period}.`)).toBe(`V2 failed, ${shown}.`);
});

describe('a place', () => {
  test('comes back from its address', () => {
    const places = fc.record({
      view: fc.constantFrom(...VIEWS),
      part: fc.constant(undefined),
      filter: fc.string({ unit: CODE_POINT }).filter((text) => text.isWellFormed()),
      entry: fc.option(
        fc.record({
          id: fc.string({ unit: CODE_POINT, minLength: 1 }).filter((text) => text.isWellFormed()),
          seq: fc.option(
            fc.nat().map((seq) => seq + 1),
            { nil: undefined },
          ),
        }),
        { nil: undefined },
      ),
      perspective: fc.constantFrom(...PERSPECTIVES),
    });
    fc.assert(
      fc.property(places, (place) => {
        const { search } = new URL(placeAddress(place), 'http://gateway/');
        const perspective = place.entry === undefined ? 'diff' : place.perspective;
        // Only the traffic shows a filter.
        const filter = place.view === 'traffic' ? place.filter : '';
        expect(readPlace(search)).toEqual({ ...place, filter, perspective });
      }),
    );
  });

  test('of the problems is a part of the traffic', () => {
    const place = {
      view: 'traffic',
      part: 'problems',
      filter: '',
      entry: undefined,
      perspective: 'diff',
    } as const;
    expect(placeAddress(place)).toBe('./?view=traffic&part=problems');
    expect(readPlace('?view=traffic&part=problems')).toEqual(place);
    expect(readPlace('?view=rules&part=problems').part).toBeUndefined();
  });

  test.each([
    ['hour', 'overview', undefined],
    ['errors', 'traffic', 'problems'],
    ['retirement', 'clients', undefined],
    ['end', 'clients', undefined],
    ['explain', 'rules', undefined],
  ])('of before, %s, leads to its successor', (before, view, part) => {
    expect(readPlace(`?view=${before}`)).toMatchObject({ view, part, entry: undefined });
    expect(readPlace(`?view=${before}&entry=id&n=7`)).toMatchObject({
      view,
      part,
      entry: { id: 'id', seq: 7 },
    });
  });
});

describe('marked lines', () => {
  const span = (start: number, end: number, mark = 0): MarkedSpan => ({
    start,
    end,
    mark,
    part: 0,
    isNumbered: true,
  });

  test('hold every character of the text, for any spans', () => {
    const texts = fc.string({ unit: fc.constantFrom('{', '"', 'a', ':', '1', '\n', ' ', '‹', '\\') });
    const spans = fc.array(
      fc.tuple(fc.nat(20), fc.nat(20)).map(([from, length]) => span(from, from + length)),
    );
    fc.assert(
      fc.property(texts, spans, (text, marked) => {
        const lines = markedLines(text, marked);
        expect(lines.map(({ pieces }) => pieces.map((piece) => piece.text).join('')).join('\n')).toBe(text);
      }),
    );
  });

  test('give a character to the innermost span, and its number to the first piece of it', () => {
    const [line] = markedLines('"a": "bc"', [span(0, 9, 0), span(5, 9, 1)]);
    expect(line?.pieces.map(({ text, span: of, opens, kind }) => [text, of?.mark, opens, kind])).toEqual([
      ['"a"', 0, true, 'key'],
      [': ', 0, false, undefined],
      ['"bc"', 1, true, 'string'],
    ]);
  });

  test('fold lines without a mark nearby', () => {
    const text = Array.from({ length: 100 }, (_, line) => `"line${line}"`).join('\n');
    const at = text.indexOf('"line50"');
    const folded = foldLines(markedLines(text, [span(at, at + 8)]), 4);
    expect(folded.map((line) => ('folded' in line ? -line.folded : line.number))).toEqual([
      -46, 47, 48, 49, 50, 51, 52, 53, 54, 55, -45,
    ]);
  });
});

describe('pairs of spans', () => {
  const pairs = (before: readonly string[], after: readonly string[]): unknown => {
    const text = (parts: readonly string[]): string => parts.join('|');
    const spans = (parts: readonly string[]): { start: number; end: number }[] =>
      parts.map((part, index) => {
        const start = text(parts.slice(0, index)).length + (index === 0 ? 0 : 1);
        return { start, end: start + part.length };
      });
    const mark: DiffMark = {
      index: 0,
      change: 'c',
      rule: 'nest',
      reason: '',
      before: spans(before),
      after: spans(after),
    };
    const diff: Diff = { before: text(before), after: text(after), marks: [mark] };
    return pairsOf(diff, mark);
  };

  test('join a member with itself, not with the object that was made around it', () => {
    expect(pairs(['"suburb": 1'], ['"address": {', '"suburb":   1', '}'])).toEqual([{ before: 0, after: 1 }]);
  });

  test('end in the gutter where the other side has nothing', () => {
    expect(pairs(['"data": {', '}'], [])).toEqual([
      { before: 0, after: undefined },
      { before: 1, after: undefined },
    ]);
  });
});

describe('the sampler', () => {
  test('draws everything up to its rate, and a fair share beyond', () => {
    const sampler = new Sampler(80);
    const burst = (size: number): number[] => Array.from({ length: size }, (_, index) => index);
    let now = 0;
    const draw = (size: number): number => sampler.take(burst(size), (now += 250)).length;
    expect([draw(20), draw(20), draw(20), draw(20), draw(20)]).toEqual([20, 20, 20, 20, 20]);
    expect(sampler.stride).toBe(1);
    for (let tick = 0; tick < 8; tick += 1) draw(250);
    expect(sampler.stride).toBe(13);
    const drawn = Array.from({ length: 40 }, () => draw(250)).reduce((sum, count) => sum + count, 0);
    expect(drawn).toBe(Math.floor((40 * 250) / 13));
    for (let tick = 0; tick < 8; tick += 1) draw(5);
    expect(sampler.stride).toBe(1);
  });

  test('draws every failure among many other exchanges, at any rate', () => {
    const sampler = new FailuresFirst();
    const ordinary = JSON.stringify({
      path: '/"status":500,',
      verdict: 'rewritten',
      status: 201,
      totalMs: 1,
    });
    const failures = [
      { verdict: 'rewritten', status: 422, totalMs: 1 },
      { verdict: 'rewritten', status: 0, totalMs: 1 },
      { verdict: 'refused', status: 400, totalMs: 1 },
      { verdict: 'passed', would: { verdict: 'refused' }, status: 201, totalMs: 1 },
      { verdict: 'passed', comparison: { verdict: 'different' }, status: 200, totalMs: 1 },
      { verdict: 'rewritten', failure: 'upstream-broken', status: 200, totalMs: 1 },
      { verdict: 'rewritten', status: 200, incomplete: true, totalMs: 1 },
      { verdict: 'passed', would: { verdict: 'rewritten', v2: 'invalid' }, status: 200, totalMs: 1 },
    ].map((entry) => JSON.stringify(entry));
    let drawn: readonly string[] = [];
    for (let tick = 1; tick <= 12; tick += 1) {
      const many = Array.from({ length: 250 }, (_, at) => `${ordinary.slice(0, -1)},"seq":${tick}${at}}`);
      drawn = sampler.take([...many.slice(0, 100), ...failures, ...many.slice(100)], tick * 250);
    }
    expect(sampler.strides).toEqual({ failures: 1, others: 13 });
    expect(drawn.filter((text) => failures.includes(text))).toEqual(failures);
    expect(drawn.length).toBeLessThan(30);
  });

  test('counts the entries that the stream had to leave out', () => {
    const sampler = new Sampler(80);
    sampler.take([1], 250, 799);
    expect(sampler.stride).toBe(10);
  });
});

test.each<[filter: string, entries: number, mode: 'bodies' | 'off', isTold: boolean]>([
  ['FP-1003', 57, 'bodies', true],
  ['has:FP-1003 status:201', 57, 'bodies', true],
  // All are searched, no value is asked for, or none is kept.
  ['FP-1003', 160, 'bodies', false],
  ['status:4xx', 57, 'bodies', false],
  ['', 57, 'bodies', false],
  ['FP-1003', 57, 'off', false],
])(
  'a search for a value says in how many exchanges it searched: %j, %d, %s',
  (filter, entries, mode, isTold) => {
    const capture = { mode, entries, masks: [], maxEntries: 1000, maxBytes: 1, bytes: 1 };
    expect(searchedWords({ capture, latest: 160, structurePerSecond: 50 }, filter)).toBe(
      isTold
        ? 'Values are searched for in 57 exchanges of 160: the gateway keeps the bodies of failures, and of 50 others a second.'
        : undefined,
    );
  },
);

describe('the files of the page', () => {
  test('are a document, a script and a style, the latter two cached by their hash', () => {
    const files = loadInspectorPage();
    const document = new TextDecoder().decode(files.get('/')?.body as Uint8Array);
    const named = [...document.matchAll(/(?:src|href)="(page\/[^"]+)"/g)].map(([, path]) => `/${path}`);
    expect([...files.keys()].sort()).toEqual(['/', ...named].sort());
    for (const [path, { mediaType, body, gzip, isHashed }] of files) {
      expect([path, isHashed]).toEqual([path, path !== '/']);
      expect(gunzipSync(gzip ?? '')).toEqual(Buffer.from(body));
      expect(path).toMatch(/^\/$|^\/page\/inspector(?:-style)?-[A-Z0-9]{8}\.(?:js|css)$/);
      expect(mediaType).toMatch(/^text\/(?:html|javascript|css); charset=utf-8$/);
    }
  });
});
