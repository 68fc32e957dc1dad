import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, test } from 'vitest';

const SOURCES = new URL('../../src/inspector/', import.meta.url).pathname;
const TESTS = new URL('../', import.meta.url).pathname;

/** Their sentences are held by rule: each explanation of a header field by the section that defines it, in header-meanings.test.ts. */
const HELD_BY_RULE: ReadonlySet<string> = new Set(['header-meanings.ts']);

/** Sentences that no test names yet. One that is named has no place here any more, and none is ever added. */
const NOT_YET: ReadonlySet<string> = new Set([
  ', as it was kept, by the rule book that is in force now.',
  ', not listed.',
  ', stays in force until the file is corrected.',
  'An exchange must match every term; spaces separate terms.',
  'Copied: the patch.',
  'Copied: the proposed rules.',
  'Enter the token of the admin listener.',
  'Its body was not kept: what is explained below has none.',
  'Its values were not kept; types stand in their place, which changes nothing for the rules.',
  'No headers.',
  'None was seen yet under this rule book.',
  'Nothing would be sent to V2.',
  'Only a sample is shown at this rate. Pause or filter to see every exchange.',
  'The body of this exchange was not captured, so there is nothing to compare.',
  'The browser did not allow copying.',
  'The gateway does not respond.',
  'The gateway keeps failures for longer than other exchanges.',
  'The rollout was changed meanwhile, so this is no longer what would happen. Cancel, and check again.',
  'There is nothing to compare.',
  'beyond the bound, counted but not listed.',
  'could not be tried: the body is not kept, or the time was used up.',
  'for the store.',
  'has no name now.',
  'holds, and the counts are of this replica.',
  'of client and operation, not listed.',
  'of further clients, not listed.',
  'of further kinds, not listed.',
  'on V1. It stays until you choose a mode, here or with the command rollout.',
  'was not kept; only its entry is known.',
]);

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
  expect(unnamed.filter((sentence) => !NOT_YET.has(sentence))).toEqual([]);
  expect([...NOT_YET].filter((sentence) => !unnamed.includes(sentence))).toEqual([]);
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
