import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonWalker } from '../../src/json/document.ts';
import { generalPointer, pointerOf } from '../../src/json/pointer.ts';
import { AttributeNames, ObservationBudget } from '../../src/rewrite-log/attributes.ts';
import { anyDocument } from '../rewrite/documents.ts';
import { bytesOf } from '../rewrite/notation.ts';
import { fuzzRuns } from '../support/fuzz.ts';

/** Names with a budget that never ends: each look at the clock is a second later. */
function endless(): AttributeNames {
  let now = 0;
  return new AttributeNames(() => {
    now += 1000;
    return now;
  });
}

const namesOf = (text: string): readonly string[] | undefined => endless().of(bytesOf(text));

describe('the names in a body', () => {
  test('are its members, elements as *, each once and in order', () => {
    expect(namesOf('\ufeff{"b":{"c~/":[{"d":1},{"d":2,"e":3}]},"a":[[{"f":1}]],"\\u0062":0,"":1}')).toEqual([
      '/b',
      '/b/c~0~1',
      '/b/c~0~1/*/d',
      '/b/c~0~1/*/e',
      '/a',
      '/a/*/*/f',
      '/',
    ]);
  });

  test('are none if it is not JSON', () => {
    expect(['', ' ', 'name=Joan', '{name:1}', '{"a" 1}', '"text"', '[1 2]'].map(namesOf)).toEqual(
      Array.from({ length: 7 }, () => []),
    );
  });

  test('are those that a walk through the whole body finds, after any other bodies', () => {
    const names = endless();
    fc.assert(
      fc.property(anyDocument, (text) => {
        expect(names.of(bytesOf(text))).toEqual(walked(text));
      }),
      { numRuns: fuzzRuns(2000) },
    );
  });

  test('are one list for all bodies of the same shape', () => {
    const names = endless();
    const first = names.of(bytesOf('{"data":{"name":"Jane","list":[{"id":1}]}}'));
    expect(names.of(bytesOf('{ "d\\u0061ta" : {"name":null,"list":[{"id":2},{"id":3}]}}'))).toBe(first);
  });

  test('are looked for only while the budget of the second lasts, and longer where an exchange failed', () => {
    let now = 0;
    const names = new AttributeNames(() => now);
    const body = bytesOf(`{"a":"${'x'.repeat(40_000)}"}`);
    const seen = (isFailure: boolean): number => {
      let count = 0;
      while (names.of(body, isFailure) !== undefined) count += 1;
      return count;
    };
    expect([seen(false), seen(true), seen(true)]).toEqual([128, 128, 0]);
    now = 1000;
    expect(names.of(body)).toEqual(['/a']);
  });
});

/** The names as a walk through every value finds them. */
function walked(text: string): readonly string[] {
  const names = new Set<string>();
  new JsonWalker().walk(bytesOf(text), {
    enter: ({ path }) => {
      const general = pointerOf(path.map((step) => (typeof step === 'number' ? '*' : step)));
      if (typeof path.at(-1) === 'string' && general.length <= 120) names.add(general);
    },
  });
  return [...names].slice(0, 64);
}

/** Bytes that count how often one of them is read. */
function counted(text: string): { readonly bytes: Uint8Array; readonly reads: () => number } {
  const real = bytesOf(text);
  let reads = 0;
  const bytes = new Proxy(real, {
    get: (target, key) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads += 1;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { bytes, reads: () => reads };
}

const SHAPES: readonly (readonly [string, (size: number) => string])[] = [
  ['deep', (size) => `${'{"a":'.repeat(size / 6)}1${'}'.repeat(size / 6)}`],
  ['deep again and again', (size) => `[${many(size / 1501, `${'{"a":'.repeat(250)}1${'}'.repeat(250)}`)}]`],
  ['wide', (size) => `{${Array.from({ length: size / 10 }, (_, k) => `"m${k}":1`).join(',')}}`],
  ['of tiny members', (size) => `[${many(size / 8, '{"a":1}')}]`],
  ['of escapes', (size) => `[${many(size / 25, '{"\\u0061\\u0062":"\\\\"}')}]`],
  ['of long keys', (size) => `[${many(size / 1007, `{"${'k'.repeat(1000)}":1}`)}]`],
  ['of keys that differ by their ends', (size) => distinct(size / 110)],
  ['of brackets', (size) => `[${many(size / 3, '[]')}]`],
];

function many(count: number, text: string): string {
  return Array.from({ length: Math.max(1, count) }, () => text).join(',');
}

function distinct(count: number): string {
  return `[${Array.from({ length: count }, (_, k) => `{"${'k'.repeat(100)}${k}":1}`).join(',')}]`;
}

// Attack: 31 KB of gzip, 10 MiB of objects nested 250 deep, stopped the process for 34 s while their names were listed.
test.each(SHAPES)('a body %s is read once at the most, and no further than the bound', (_, shape) => {
  const names = endless();
  for (const size of [1000, 30_000, 1_000_000]) {
    const { bytes, reads } = counted(shape(size));
    const found = names.of(bytes) ?? [];
    // A byte is read, and read again where it decides the next step.
    expect(reads()).toBeLessThan(4 * Math.min(bytes.length, 32 * 1024) + 100);
    expect(found.length).toBeLessThanOrEqual(64);
    for (const pointer of found) expect(pointer.length).toBeLessThanOrEqual(120);
  }
});

// Attack: ever new names, so that the table of names grows without end.
test('names that never come again are forgotten', () => {
  const names = endless();
  for (let k = 0; k < 200; k += 1) {
    const members = Array.from({ length: 64 }, (_, n) => `"${k}-${n}":1`).join(',');
    expect(names.of(bytesOf(`{${members}}`))).toHaveLength(64);
  }
  expect(generalPointer(names.of(bytesOf('{"a":[{"b":1}]}'))?.at(-1) ?? '')).toBe('/a/*/b');
});

/** A budget on a machine where each piece of work takes `workMs` milliseconds of the clock. */
function budgetWhereWorkTakes(workMs: number) {
  let clock = 0;
  const budget = new ObservationBudget(() => clock);
  return {
    observe: (bytes: number, isFailure = false): boolean =>
      budget.run(bytes, isFailure, () => {
        clock += workMs;
        return true;
      }) ?? false,
    nextSecond: () => {
      clock = (Math.floor(clock / 1000) + 1) * 1000;
    },
  };
}

const SMALL = 1024;
const LARGE = 64 * 1024;

describe('the observation budget', () => {
  test('observes ten small bodies a second, even if the time of the second is used up', () => {
    const { observe, nextSecond } = budgetWhereWorkTakes(30);
    expect(Array.from({ length: 12 }, () => observe(SMALL))).toEqual([
      ...Array.from({ length: 10 }, () => true),
      false,
      false,
    ]);
    nextSecond();
    expect(observe(SMALL)).toBe(true);
  });

  test('observes no large body once the time of the second is used up', () => {
    const { observe, nextSecond } = budgetWhereWorkTakes(30);
    expect(observe(LARGE)).toBe(true);
    expect(observe(LARGE, true)).toBe(false);
    nextSecond();
    expect(observe(LARGE)).toBe(true);
  });

  test('keeps half of the time and of the bytes for failures', () => {
    const slow = budgetWhereWorkTakes(12);
    expect(slow.observe(LARGE)).toBe(true);
    expect(slow.observe(LARGE)).toBe(false);
    expect(slow.observe(LARGE, true)).toBe(true);
    const wide = budgetWhereWorkTakes(0);
    expect(wide.observe(5 * 1024 * 1024)).toBe(false);
    expect(wide.observe(5 * 1024 * 1024, true)).toBe(true);
  });
});
