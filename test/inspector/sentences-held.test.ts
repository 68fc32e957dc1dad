import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, test } from 'vitest';

const SOURCES = new URL('../../src/inspector/', import.meta.url).pathname;
const TESTS = new URL('../', import.meta.url).pathname;

/** Their sentences are held by rule: each explanation of a header field by the section that defines it, in header-meanings.test.ts. */
const HELD_BY_RULE: ReadonlySet<string> = new Set(['entries/header-meanings.ts']);

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
}

/** A text that ends as a sentence does and has several words; the end of a template counts, its beginning is part of the same. */
function isSentence(text: string): boolean {
  return /[A-Za-z’']+ [A-Za-z]+.*[.?!]$/s.test(text.trim());
}

function sentencesOf(path: string): readonly string[] {
  const found: string[] = [];
  const take = (text: string | null): void => {
    if (text !== null && isSentence(text)) found.push(text.trim());
  };
  const { program } = parseSync(path, readFileSync(path, 'utf8'));
  new Visitor({
    Literal: ({ value }) => take(typeof value === 'string' ? value : null),
    TemplateElement: ({ value }) => take(value.cooked ?? null),
  }).visit(program);
  return found;
}

// A sentence that changes makes the test fail that holds it against its state; one that no test names could say anything.
test('a test names each sentence of the page and of its routes', () => {
  const tests = filesIn(TESTS)
    .filter((file) => !file.endsWith('sentences-held.test.ts'))
    .map((file) => readFileSync(join(TESTS, file), 'utf8').replaceAll("\\'", "'"))
    .join('\n');
  const unnamed = filesIn(SOURCES)
    .filter((file) => !HELD_BY_RULE.has(file))
    .flatMap((file) => sentencesOf(join(SOURCES, file)))
    .filter((sentence) => !tests.includes(sentence));
  expect(unnamed).toEqual([]);
});

test('a sentence is told from a label, a class and a path', () => {
  expect(['Nothing was sent.', ' of them: none is kept.', 'A question of two?'].map(isSentence)).toEqual([
    true,
    true,
    true,
  ]);
  expect(['Last hour', 'button primary', './x y', 'entries.', 'a.b'].map(isSentence)).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
});
