import { expect, test } from 'vitest';
import { pumps } from '../../config/regex-pumps.ts';
import { regexFaults, sourceRegexFaults } from '../../config/regexes.ts';

test('no regular expression of the source reads its input more than once', () => {
  expect(sourceRegexFaults(new URL('../../', import.meta.url))).toEqual([]);
});

// Each was in the source once, or is a textbook's.
test.each([
  ['two ways to read white space between semicolons', /^a\/b(?:[ \t]*;[ \t]*(?:\w+=\w+)?)*[ \t]*$/],
  ['encoded slashes as parameters or as slashes', /^\/api(?:;[^/]*)?(?:\/|%2f)+v[12](?=\/|$)/i],
  ['an open quote, looked for again from each escaped one', /"(?:[^"\\]|\\.)*"|<([^<>]*)>/g],
  ['a name without a value, from each question mark in it', /([?&])([^=&]*)=([^&]*)/g],
  ['a word of two letters, divided between two stars', /^(?:ab)*(?:ab)*$/],
  ['one star inside two others', /^(?:a+)+$/],
  ['nested ones of several letters', /^(?:(?:ab)+c?)+$/],
  ['an alternative that is a part of the other', /^(?:a|ab|b)*$/],
  ['white space before an end', /\s+$/],
  ['white space in the middle', /^\s*(\w*)\s*(\w*)\s*,$/],
  ['a look-ahead that reads to the end from each place', /,(?=[^;]*;)/g],
  ['copies that are counted', /^(?:[a-z]{2})+[a-z]*\d$/],
  ['a class of two in any case', /^[K]*\u212A*x$/iu],
])('%s: %s', (_, { source, flags }) => {
  expect(pumps(source, flags)).not.toEqual([]);
});

test.each([
  /^(?:\/|%2f)+api(?:(?:\/|%2f)+|(?:;|%3b)[^/]*(?:\/(?:\/|%2f)*|%2f))v[12](?=\/|%2f|;|%3b|$)/i,
  /^(?:gzip|deflate|br|identity)(?:;q=[0-9.]+)?(?:, ?(?:gzip|deflate|br|identity)(?:;q=[0-9.]+)?)*$/,
  /(?<!\/)\/+$/,
  /"((?:[^"\\]|\\.)*)("?)|<([^<>]*)>/g,
  /\s+/g,
  /^.*$/,
  /^[a-z][\w-]*(?:[ \t]*,[ \t]*[a-z][\w-]*)*$/i,
  /^\d{4}-\d{2}-\d{2}$/,
  /^(?!\*$)(?:[^.\\]|\\[.\\])+$/,
])('%s is read once', ({ source, flags }) => {
  expect(pumps(source, flags)).toEqual([]);
});

test('expressions that are built from constants are checked, and others need a reason', () => {
  const built = 'const word = String.raw`\\w+`; const both = `${word} +${word}`;\n';
  expect(regexFaults('a.ts', `${built}new RegExp(\`^(?:\${both})$\`, 'i');`)).toEqual([]);
  expect(regexFaults('a.ts', `${built}export const pattern = new RegExp(\`^(?:\${both})+$\`);`)).toEqual([
    expect.stringContaining('a.ts:2: new RegExp(`^(?:${both})+$`) reads a run of'),
  ]);
  expect(regexFaults('a.ts', `${built}RegExp(both + word, 'g');`)).toEqual([
    "a.ts:2: RegExp(both + word, 'g') is built from what is no constant of this file.",
  ]);
  expect(regexFaults('a.ts', '// Not proven linear: nobody sends it.\nf(/(a|a)+$/);')).toEqual([]);
  expect(regexFaults('a.ts', '// Not proven linear: nobody sends it.\nf(/a+/);')).toEqual([
    'a.ts:1: the comment "Not proven linear:" excuses nothing.',
  ]);
});
