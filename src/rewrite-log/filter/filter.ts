import { didYouMean } from '../../rules/did-you-mean.ts';
import {
  FILTER_FIELDS,
  type FilterField,
  type FilterTest,
  fieldTest,
  isFilterField,
  pathTest,
  type ValueFault,
} from './filter-field.ts';

/** A filter over entries, parsed from text. */
export interface Filter {
  /** Normalised text, for use in URLs. */
  readonly text: string;
  readonly accepts: FilterTest;
  readonly terms: readonly FilterTerm[];
}

/** A fault in the text of a filter: a sentence, and its place in UTF-16 code units. */
export interface FilterFault {
  readonly message: string;
  readonly start: number;
  readonly end: number;
}

/** One term of a filter, as written. */
export interface FilterTerm {
  readonly negated: boolean;
  /** Undefined for free text, which is searched for in the path. */
  readonly field: FilterField | undefined;
  /** At least one of these must match. */
  readonly values: readonly string[];
  readonly start: number;
  readonly end: number;
}

/**
 * Parses a filter: terms between spaces, all of which must match. `-` before a term negates it, commas separate alternatives,
 * double quotes enclose spaces; a word without a field is searched for in the path. An empty text accepts everything.
 */
export function parseFilter(text: string): Filter | FilterFault {
  const terms: FilterTerm[] = [];
  const tests: FilterTest[] = [];
  for (const word of words(text)) {
    const term = readTerm(word);
    if ('message' in term) return term;
    // A comma alone has no effect.
    if (term.field === undefined && term.values.length === 0) continue;
    const test = testOf(term);
    if (typeof test !== 'function') return { message: test.message, start: term.start, end: term.end };
    terms.push(term);
    tests.push(term.negated ? (entry, content) => !test(entry, content) : test);
  }
  return {
    text: printFilter(terms),
    terms,
    accepts: (entry, content) => tests.every((test) => test(entry, content)),
  };
}

/** Tells a fault from a filter. */
export function isFilterFault(result: Filter | FilterFault): result is FilterFault {
  return 'message' in result;
}

/** Prints terms so that parsing them again gives the same filter. */
export function printFilter(terms: readonly Pick<FilterTerm, 'negated' | 'field' | 'values'>[]): string {
  return terms
    .map(({ negated, field, values }) => {
      const choice = values.map((value) => quoted(value, field === undefined)).join(',');
      return `${negated ? '-' : ''}${field === undefined ? '' : `${field}:`}${choice}`;
    })
    .join(' ');
}

/** A word of a filter with its position. */
export interface FilterWord {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Splits a text into words; double quotes group words with spaces, and a backslash inside them escapes the next character. */
export function words(text: string): readonly FilterWord[] {
  return [...text.matchAll(/(?:"(?:[^"\\]|\\.)*"?|[^\s"])+/gs)].map((match) => ({
    text: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }));
}

/** Tells whether a text ends inside double quotes, as one that is still being typed may. */
export function hasOpenQuote(text: string): boolean {
  return [...text.matchAll(/"(?:[^"\\]|\\.)*("?)/gs)].some(([, end]) => end === '');
}

function readTerm({ text, start, end }: FilterWord): FilterTerm | FilterFault {
  const negated = text.startsWith('-') && text.length > 1;
  const rest = negated ? text.slice(1) : text;
  const colon = /^[a-z][\w-]*:/i.exec(rest);
  if (colon === null) return { negated, field: undefined, values: choices(rest), start, end };
  const name = colon[0].slice(0, -1).toLowerCase();
  if (!isFilterField(name)) {
    const known = Object.keys(FILTER_FIELDS);
    const hint = didYouMean(name, known) || `; there are ${known.join(', ')}.`;
    return { message: `There is no field ${name}${hint}`, start, end };
  }
  return { negated, field: name, values: choices(rest.slice(colon[0].length)), start, end };
}

/** Splits at commas outside quotes, and removes the quotes. */
function choices(text: string): readonly string[] {
  const values = [''];
  for (const [piece] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[^,"]+|,/gs)) {
    if (piece === ',') values.push('');
    else values.push((values.pop() ?? '') + piece);
  }
  return values.map(unquoted).filter((value) => value !== '');
}

function unquoted(text: string): string {
  return text.replaceAll(/"((?:[^"\\]|\\.)*)"?/gs, (_, inside: string) => inside.replaceAll(/\\(.)/gs, '$1'));
}

function quoted(value: string, isFree: boolean): string {
  const isPlain = !/[\s",]/.test(value) && !(isFree && /^-|^[a-z][\w-]*:/i.test(value));
  return isPlain ? value : `"${value.replaceAll(/["\\]/g, '\\$&')}"`;
}

function testOf({ field, values }: FilterTerm): FilterTest | ValueFault {
  if (field !== undefined && values.length === 0)
    return { message: `${field}: wants a value: ${FILTER_FIELDS[field]}.` };
  const tests: FilterTest[] = [];
  for (const value of values) {
    const test = field === undefined ? pathTest(value) : fieldTest(field, value.toLowerCase());
    if (typeof test !== 'function') return test;
    tests.push(test);
  }
  const [only] = tests;
  return tests.length === 1 && only !== undefined
    ? only
    : (entry, content) => tests.some((test) => test(entry, content));
}
