import type { Entry } from './entry.ts';
import {
  FILTER_FIELDS,
  type FilterField,
  type FilterTest,
  fieldTest,
  isFilterField,
  pathTest,
  type ValueFault,
} from './filter-field.ts';

/** A filter over entries, read from text. */
export interface Filter {
  /** In one spelling: what goes into addresses. */
  readonly text: string;
  readonly accepts: (entry: Entry) => boolean;
}

/** What is wrong with the text of a filter: a sentence, and where, in UTF-16 code units. */
export interface FilterFault {
  readonly message: string;
  readonly start: number;
  readonly end: number;
}

/** One term of a filter as it was written. */
export interface FilterTerm {
  readonly negated: boolean;
  /** Undefined for free text, which is looked for in the path. */
  readonly field: FilterField | undefined;
  /** One of these must hold. */
  readonly values: readonly string[];
  readonly start: number;
  readonly end: number;
}

/**
 * Reads a filter: terms between spaces, all of which must hold. `-` before a term turns it round, commas give a choice, double
 * quotes hold spaces; a word without a field is looked for in the path. An empty text accepts everything.
 */
export function parseFilter(text: string): Filter | FilterFault {
  const terms: FilterTerm[] = [];
  const tests: FilterTest[] = [];
  for (const word of words(text)) {
    const term = readTerm(word);
    if ('message' in term) return term;
    // A comma alone asks for nothing.
    if (term.field === undefined && term.values.length === 0) continue;
    const test = testOf(term);
    if (typeof test !== 'function') return { message: test.message, start: term.start, end: term.end };
    terms.push(term);
    tests.push(term.negated ? (entry) => !test(entry) : test);
  }
  return { text: printFilter(terms), accepts: (entry) => tests.every((test) => test(entry)) };
}

/** Tells a fault from a filter. */
export function isFilterFault(result: Filter | FilterFault): result is FilterFault {
  return 'message' in result;
}

/** Prints terms so that reading them again gives the same filter. */
export function printFilter(terms: readonly Pick<FilterTerm, 'negated' | 'field' | 'values'>[]): string {
  return terms
    .map(({ negated, field, values }) => {
      const choice = values.map((value) => quoted(value, field === undefined)).join(',');
      return `${negated ? '-' : ''}${field === undefined ? '' : `${field}:`}${choice}`;
    })
    .join(' ');
}

/** A word of a filter with its place. */
export interface FilterWord {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Cuts a text into words; double quotes hold spaces together, and a backslash in them holds the next character. */
export function words(text: string): readonly FilterWord[] {
  return [...text.matchAll(/(?:"(?:[^"\\]|\\.)*"?|[^\s"])+/gs)].map((match) => ({
    text: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }));
}

function readTerm({ text, start, end }: FilterWord): FilterTerm | FilterFault {
  const negated = text.startsWith('-') && text.length > 1;
  const rest = negated ? text.slice(1) : text;
  const colon = /^[a-z]+:/i.exec(rest);
  if (colon === null) return { negated, field: undefined, values: choices(rest), start, end };
  const name = colon[0].slice(0, -1).toLowerCase();
  if (!isFilterField(name)) {
    const known = Object.keys(FILTER_FIELDS).join(', ');
    return { message: `There is no field ${name}; there are ${known}.`, start, end };
  }
  return { negated, field: name, values: choices(rest.slice(colon[0].length)), start, end };
}

/** Splits at commas outside quotes, and takes the quotes off. */
function choices(text: string): readonly string[] {
  return [...text.matchAll(/((?:"(?:[^"\\]|\\.)*"?|[^,"])*)(?:,|$)/gs)]
    .map((match) => unquoted(match[1] ?? ''))
    .filter((value) => value !== '');
}

function unquoted(text: string): string {
  return text.replaceAll(/"((?:[^"\\]|\\.)*)"?/gs, (_, inside: string) => inside.replaceAll(/\\(.)/gs, '$1'));
}

function quoted(value: string, isFree: boolean): string {
  const isPlain = !/[\s",]/.test(value) && !(isFree && /^-|^[a-z]+:/i.test(value));
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
  return tests.length === 1 && only !== undefined ? only : (entry) => tests.some((test) => test(entry));
}
