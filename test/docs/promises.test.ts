import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROW = /^\| .* \| (.*) \|$/gm;
const NAMED = /`([\w/.-]+\.ts)`(?:: ([^;`]*))?/g;
const page = readFileSync('test/PROMISES.md', 'utf8');

const promises = [...page.matchAll(ROW)].flatMap(([, tests = '']) =>
  [...tests.matchAll(NAMED)].flatMap(([, file = '', words = '']) =>
    words.split(', ').map((part) => [file, part.trim()] as const),
  ),
);

/** The texts of a file of tests, the titles and rows of tables among them; a comment shows nothing. */
function titlesIn(path: string): readonly string[] {
  const code = readFileSync(path, 'utf8').replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  if (path.endsWith('.txt')) return [code];
  return [...code.matchAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g)].map(([text]) =>
    text.replaceAll("\\'", "'"),
  );
}

test('every promise names a test that exists, in words of its title', () => {
  expect(promises.length).toBeGreaterThan(90);
  const broken = promises.filter(([file, words]) => {
    const path = file.startsWith('bench/') ? file : `test/${file}`;
    return !existsSync(path) || (words !== '' && !titlesIn(path).some((title) => title.includes(words)));
  });
  expect(broken).toEqual([]);
});

test('every suite that decides about a subject exists', () => {
  const named = [...readFileSync('test/README.md', 'utf8').matchAll(/`([\w/.-]+\.ts)`/g)].map(
    ([, file = '']) => file,
  );
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((file) => !existsSync(`test/${file}`))).toEqual([]);
});
