import { describe, expect, test } from 'vitest';
import { layOutJson, layOutText, NO_LIMITS, SHOWN_LIMITS } from '../../../src/inspector/diff/json-layout.ts';
import { bytesOf } from '../../rewrite/notation.ts';

const laidOut = (text: string): string | undefined => layOutJson(bytesOf(text))?.text;

/** The text between the places of a pointer, its key included. */
function at(text: string, pointer: string): string | undefined {
  const layout = layOutJson(bytesOf(text));
  const place = layout?.places.get(pointer)?.[0];
  return place && layout.text.slice(place.key.start, place.value.end);
}

describe('a layout', () => {
  test('changes white space only, and knows the place of every value', () => {
    expect(laidOut('{"a":[1.0,{}],"b~/":{"c":"\\u00e9"}}')).toBe(
      '{\n  "a": [\n    1.0,\n    {}\n  ],\n  "b~/": {\n    "c": "\\u00e9"\n  }\n}',
    );
    expect(at('{"a":[1,{"b":2}]}', '/a/1/b')).toBe('"b": 2');
    expect(at('{"b~/":{"c":1}}', '/b~0~1/c')).toBe('"c": 1');
  });

  test('folds deep nesting, and says how much it hides', () => {
    const deep = `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`;
    const layout = layOutJson(bytesOf(deep));
    expect(layout?.text).toMatch(/"a": \{ … 49 bytes … \}/);
    expect(layout?.isFolded).toBe(true);
    expect(layOutJson(bytesOf(deep), NO_LIMITS)?.text.split('\n')).toHaveLength(81);
    expect(laidOut(`${'['.repeat(40)}${']'.repeat(40)}`)).toContain('[ … 16 bytes … ]');
    expect(laidOut(`${'['.repeat(33)}${']'.repeat(33)}`)).not.toContain('…');
  });

  test('stops after too many values or characters, and closes open brackets', () => {
    const wide = layOutJson(bytesOf(`{"list":[${'1,'.repeat(10_000)}1],"z":2}`));
    expect(wide?.text.split('\n')).toHaveLength(SHOWN_LIMITS.values + 3);
    expect(wide?.text).toMatch(/,\n {4}…\n {2}\]\n\}$/);
    const long = layOutJson(bytesOf(`{"a":"${'x'.repeat(300_000)}","b":1}`));
    expect(long?.text.length).toBeLessThan(2000);
    expect(long?.text).toContain('… 300002 bytes …,\n  "b": 1\n}');
    const keys = layOutJson(
      bytesOf(`{${Array.from({ length: 300 }, (_, k) => `"${'k'.repeat(2000)}${k}":1`).join(',')}}`),
    );
    expect(keys?.text.length).toBeLessThan(SHOWN_LIMITS.characters + 3000);
    expect([...(keys?.places.keys() ?? [])]).toEqual(['']);
  });

  // Attack: 260 KB nested 250 and 500 deep, again and again, which became 136 to 267 MB.
  test.each([
    ['deep', `[${Array.from({ length: 90 }, () => `${'{"a":'.repeat(480)}1${'}'.repeat(480)}`).join(',')}]`],
    ['tiny members', `[${Array.from({ length: 33_000 }, () => '{"a":1}').join(',')}]`],
    ['long keys', `[${Array.from({ length: 260 }, () => `{"${'k'.repeat(1000)}":[]}`).join(',')}]`],
    ['escapes', `["${String.raw`\u0000`.repeat(43_000)}"]`],
  ])('is no larger than its bound for a body of 260 KB: %s', (_, text) => {
    const layout = layOutJson(bytesOf(text));
    expect(layout?.text.length).toBeLessThan(SHOWN_LIMITS.characters * 1.1);
    const characters = [...(layout?.places.keys() ?? [])].reduce((sum, pointer) => sum + pointer.length, 0);
    expect(characters).toBeLessThan(SHOWN_LIMITS.values * SHOWN_LIMITS.pointer);
  });

  test('of a text that is not JSON is its beginning', () => {
    expect(laidOut('name=Joan')).toBeUndefined();
    expect(layOutText(bytesOf('name=Joan'))).toBe('name=Joan');
    expect(layOutText(bytesOf('x'.repeat(300_000)))).toMatch(/^x{1024}… 300000 bytes …$/);
  });
});
