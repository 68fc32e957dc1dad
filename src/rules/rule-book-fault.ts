import type { SourcePath } from './kinds/book.ts';

export type { SourcePath } from './kinds/book.ts';

/** A fault located by its path in the source. */
export interface SourceFault {
  readonly path: SourcePath;
  /** `key` if the key at `path` is wrong instead of its value. */
  readonly blame?: 'key' | undefined;
  readonly message: string;
}

/** A fault of a rule book. The message says which part is wrong, its value and how to fix it. */
export interface RuleBookFault {
  readonly file: string;
  /** Line, from 1. */
  readonly line: number;
  /** Column, from 1, in UTF-16 units, as editors count. */
  readonly column: number;
  readonly message: string;
}

/** Lists the open questions of a rule book: comments that begin with TODO, as `draft` and `init` write them. */
export function openQuestions(text: string, file: string): readonly RuleBookFault[] {
  return text.split('\n').flatMap((content, index): readonly RuleBookFault[] => {
    const comment = content.trimStart();
    const question = comment.startsWith('#') ? comment.slice(1).trim() : '';
    if (!/^TODO\b/.test(question)) return [];
    return [{ file, line: index + 1, column: content.length - comment.length + 1, message: question }];
  });
}

/** Prints a fault as `file:line:column message`, which terminals and editors turn into a link. */
export function printFault(fault: RuleBookFault): string {
  return `${fault.file}:${fault.line}:${fault.column} ${fault.message}`;
}

/** The remedy for a name that is not among the operations. */
export function unknownOperation(id: string, ids: ReadonlySet<string>, otherwise = 'remove it'): string {
  return `is not among the operations${didYouMean(id, ids) || `; declare it there, or ${otherwise}`}`;
}

/** Returns `; did you mean "…"?` when one of the known words is close to `written`, and an empty string otherwise. */
export function didYouMean(written: string, known: Iterable<string>): string {
  // A longer word is not a typing error, and comparing takes time proportional to the product of the lengths.
  if (written.length > 64) return '';
  let best: string | undefined;
  let shortest = Math.max(2, Math.floor(written.length / 3)) + 1;
  for (const word of known) {
    if (Math.abs(word.length - written.length) >= shortest) continue;
    const distance = editDistance(written.toLowerCase(), word.toLowerCase());
    if (distance >= shortest || distance >= word.length) continue;
    shortest = distance;
    best = word;
  }
  return best === undefined ? '' : `; did you mean "${best}"?`;
}

/** Names that a message can list. */
const MAX_NAMED = 8;

/**
 * The end of a sentence about a name that is not known: the name that was meant, or else those that contain what was written, or else all
 * names if they are few; else their number and `where` they are listed.
 */
export function nearNames(written: string, known: readonly string[], where: string): string {
  const meant = didYouMean(written, known);
  if (meant !== '') return meant;
  const near = known.filter((name) => name.toLowerCase().includes(written.toLowerCase()));
  const named = near.length > 0 && near.length <= MAX_NAMED ? near : known;
  return named.length <= MAX_NAMED
    ? `; there ${named.length === 1 ? 'is' : 'are'} ${named.join(', ')}${named === known ? '' : ' among others'}.`
    : `; ${where} lists all ${known.length}.`;
}

/** The number of insertions, removals, replacements and swaps of adjacent characters. */
function editDistance(a: string, b: string): number {
  let previousRow: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1));
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] && i > 1 && j > 1) {
        cost = Math.min(cost, (previousRow[j - 2] ?? 0) + 1);
      }
      next.push(cost);
    }
    previousRow = row;
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Begins with a consonant's sound but a vowel's letter: `a user`, `a URL`, `a one-off`. */
const SPOKEN_CONSONANT =
  /^(?:eu|ewe|one(?![a-z])|once|uni(?![dmn])|us[aeu]|ur[il]|uuid|utili|(?:ui|us|utc|utm)$)/;
/** Begins with a vowel's sound but a consonant's letter. */
const SPOKEN_VOWEL = /^(?:[aeiou]|8|hour|honou?r|honest|heir)/;
/** An abbreviation that is pronounced letter by letter, because it has no vowel: `an SMS`, `an XML body`. */
const SPELLED = /^[B-DF-HJ-NP-TV-Z]{2,}$/;

/** A noun with its article, by pronunciation: `an object`, `a user`, `an hour`, `an XML body`. */
export function withArticle(noun: string): string {
  const [word = ''] = /[A-Za-z\d]+/.exec(noun) ?? [];
  const lower = word.toLowerCase();
  const isVowel = SPELLED.test(word)
    ? /^[FHLMNRSX]/.test(word)
    : SPOKEN_VOWEL.test(lower) && !SPOKEN_CONSONANT.test(lower);
  return `${isVowel ? 'an' : 'a'} ${noun}`;
}

/** Says what a value is, for people: `nothing`, `null`, `a list`, `an object`, `a string`. */
export function valueWords(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  // Without `withArticle`, which the library's bundles do not need.
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
