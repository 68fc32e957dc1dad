import type { ResponseRecord } from '../rewrite/response-rules.ts';
import { didYouMean } from '../rules/rule-book-fault.ts';
import { RULE_NAMES } from '../rules/kinds/names.ts';
import { editCount, errorName, errorsOf, errorValue, modeOf, sentTo, type Entry } from './entry.ts';

/** A filter over entries, parsed from text. */
export interface Filter {
  /** Normalised text, for use in URLs. */
  readonly text: string;
  readonly accepts: FilterTest;
  readonly terms: readonly FilterTerm[];
}

/** A fault in a filter's text: a sentence, and its place in UTF-16 code units. */
interface FilterFault {
  readonly message: string;
  readonly start: number;
  readonly end: number;
}

/** One term of a filter, as written. */
export interface FilterTerm {
  readonly negated: boolean;
  /** Undefined for free text. */
  readonly field: FilterField | undefined;
  /** At least one of these must match. */
  readonly values: readonly string[];
  readonly start: number;
  readonly end: number;
}

/** Maximum values in all terms: each is compared with each entry, and `has:` searches all of an entry's text for each. */
const MAX_VALUES = 200;

/** The fixed values of some fields; any other is a fault. */
const FIXED_VALUES: Readonly<Partial<Record<FilterField, readonly string[]>>> = {
  rule: RULE_NAMES,
  verdict: ['rewritten', 'unchanged', 'refused', 'passed', 'served'],
  mode: ['migrate', 'observe', 'shadow', 'canary', 'verify', '-'],
  origin: ['v1', 'v2', 'none'],
  would: ['rewritten', 'unchanged', 'refused', '*', '-'],
  v2: ['valid', 'invalid', 'unknown', '*', '-'],
  route: ['migrate', 'pass', 'other', 'webhook', 'none', 'v1', 'v2'],
};

const ROUTE_ALIASES: Readonly<Record<string, string>> = { migrate: 'v1', pass: 'v2' };

/** A time of any day. */
const CLOCK = /^\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?z?$/;

const TIME = /^\d{4}(?:-\d\d(?:-\d\d(?:t(?:\d\d(?::\d\d(?::\d\d(?:\.\d{1,3})?)?)?)?)?)?)?z?$/;

/** Values that never change. */
const FIXED: KnownValues = {
  ...FIXED_VALUES,
  status: ['2xx', '3xx', '4xx', '5xx', '422', '429', 'incomplete'],
  route: ['v1', 'v2', 'other', 'webhook', 'none'],
  failure: ['*', '-'],
  cause: ['*', '-'],
  method: ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'],
  version: ['absent', 'invalid', 'future', 'client', 'pin'],
  note: ['already-flat', 'conflict', 'sibling', 'duplicate'],
  ms: ['>100', '>1000'],
  edits: ['0', '>0'],
};

/**
 * Parses a filter: terms between spaces, all of which must match. `-` before a term negates it, commas separate alternatives,
 * double quotes enclose spaces; a word without a field is searched for in the path, the operation, the errors, the request id, the
 * client's name and the kept header fields and bodies of request and response. An empty text accepts everything. `names` are the clients' display names.
 */
export function parseFilter(text: string, names: ClientNames = NO_NAMES): Filter | FilterFault {
  const terms: FilterTerm[] = [];
  const tests: ValueTest[] = [];
  let count = 0;
  for (const word of words(text)) {
    const term = readTerm(word);
    if ('message' in term) return term;
    count += term.values.length;
    if (count > MAX_VALUES)
      return {
        message: `A filter has at most ${MAX_VALUES} values; filter in several steps.`,
        start: term.start,
        end: term.end,
      };
    // A comma alone has no effect.
    if (term.field === undefined && term.values.length === 0) continue;
    const test = testOf(term, names);
    if (typeof test !== 'function') return { message: test.message, start: term.start, end: term.end };
    terms.push(term);
    tests.push(term.negated ? (entry, texts) => !test(entry, texts) : test);
  }
  return {
    text: printFilter(terms),
    terms,
    accepts: (entry, content) => {
      // Printed once for all values, and only if one of them needs it.
      let [all, kept]: (string | undefined)[] = [];
      const keptText = (): string => (kept ??= (content?.() ?? '').toLowerCase());
      const allText = (): string => (all ??= `${JSON.stringify(entry).toLowerCase()}\n${keptText()}`);
      return tests.every((test) => test(entry, { all: allText, kept: keptText }));
    },
  };
}

/** True for a fault instead of a filter. */
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

interface FilterWord {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Splits a text into words; double quotes group words with spaces, and a backslash inside them escapes the next character. */
function words(text: string): readonly FilterWord[] {
  return [...text.matchAll(/(?:"(?:[^"\\]|\\.)*"?|[^\s"])+/gs)].map((match) => ({
    text: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }));
}

/** Returns whether a text ends inside double quotes, for example while it is being typed. */
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
    const meant = MEANT.get(name);
    const hint =
      meant === undefined
        ? didYouMean(name, known) || `; there are ${known.join(', ')}.`
        : `; did you mean "${meant}"?`;
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

function testOf({ field, values }: FilterTerm, names: ClientNames): ValueTest | ValueFault {
  if (field !== undefined && values.length === 0)
    return { message: `${field}: needs a value: ${FILTER_FIELDS[field]}.` };
  const tests: ValueTest[] = [];
  for (const value of values) {
    const test =
      field === undefined
        ? freeTest(value.toLowerCase(), names)
        : fieldTest(field, value.toLowerCase(), names);
    if (typeof test !== 'function') return test;
    tests.push(test);
  }
  const [only] = tests;
  return tests.length === 1 && only !== undefined
    ? only
    : (entry, texts) => tests.some((test) => test(entry, texts));
}

/**
 * The fields of the filter language, with a short description. `client:3fa9 op:order_floor_plan change:property-address
 * status:4xx verdict:refused`
 */
export const FILTER_FIELDS = {
  client: 'first digits of the client hash, or part of its name or User-Agent; - for none, * for any',
  op: 'operation; a trailing * matches any ending; - for none',
  change: 'id of a change that made an edit, of the request or of the response',
  rule: 'kind of rule that made an edit, such as rename or map',
  status:
    '404, 4xx, 400-451 or >=500; 0: no response; incomplete: the client did not get the end of its response',
  verdict: 'rewritten, unchanged, refused, passed or served',
  mode: 'migrate, observe, shadow, canary or verify; - for V2 traffic',
  origin: 'service that got the request: v1, v2 or none',
  would: 'outcome of a dry run: rewritten, unchanged or refused; * for any, - for none',
  v2: "verdict of V2's schema on the body of a dry run: valid, invalid or unknown; * for any, - for none",
  route: 'migrate (or v1), pass (or v2), other (under neither prefix), webhook or none',
  method: 'HTTP method of the request',
  path: 'part of the V1 or V2 path',
  failure: 'code of the failure, also of a dry run; * for any, - for none',
  error:
    'error as the view Problems groups them, such as "v2-422 /name", "v2-422 -" without a place, v2-422 or 422; a trailing * matches any ending, * any, - none',
  cause: 'part of the cause of a failure, such as ECONNREFUSED or "no response head"; * for any, - for none',
  note: 'part of a note of the entry, of its response or of an edit; incomplete: the client did not get the end of its response',
  version: 'the x-api-version sent, or why: absent, invalid, future, client, pin',
  id: 'first characters of the request id or trace id',
  ms: 'total duration: >250, 10-20',
  edits: 'number of edits, listed or not: 0, >3',
  sent: 'part of the name of a member or parameter of the request, not of the response: note, /data/note',
  has: 'text in the entry, or in its kept header fields and bodies, such as the name of a member',
  time: 'UTC time, cut as you like: 2026-11-22T04, >=2026-11-22T04:30, 2026-11-22T04:30..2026-11-22T05; or of any day: 12:35, 12:30..12:40',
} as const;

/** The fields that people mean by other names; the spelling of some suggests a different field. */
const MEANT: ReadonlyMap<string, FilterField> = new Map([
  ['edit', 'change'],
  ['member', 'has'],
  ['field', 'has'],
  ['body', 'has'],
  ['text', 'has'],
  ['agent', 'client'],
  ['user-agent', 'client'],
  ['name', 'client'],
  ['key', 'client'],
  ['operation', 'op'],
  ['code', 'error'],
  ['url', 'path'],
  ['service', 'origin'],
  ['to', 'origin'],
  ['duration', 'ms'],
]);

/** Name of a filter field. */
type FilterField = keyof typeof FILTER_FIELDS;

/** Returns whether an entry matches; `content` returns the text of the kept parts of its messages. */
export type FilterTest = (entry: Entry, content?: () => string) => boolean;

/** The text to search, in lower case, printed when it is first needed. */
interface SearchedText {
  /** All text of the entry and of the kept parts of its messages. */
  readonly all: () => string;
  /** The kept parts of its messages. */
  readonly kept: () => string;
}

type ValueTest = (entry: Entry, text: SearchedText) => boolean;

/** Display names of clients, by hash; a gateway adds their latest `User-Agent` fields. */
export type ClientNames = Pick<ReadonlyMap<string, string>, 'get'>;

const NO_NAMES: ClientNames = new Map();

/** An invalid value of a field, explained in a sentence. */
interface ValueFault {
  readonly message: string;
}

/** True for the lower-case name of a filter field. */
function isFilterField(name: string): name is FilterField {
  return Object.hasOwn(FILTER_FIELDS, name);
}

/** Makes the test of one value of a field. `value` is in lower case. */
function fieldTest(field: FilterField, value: string, names: ClientNames): ValueTest | ValueFault {
  const fixed = FIXED_VALUES[field];
  if (fixed !== undefined && !fixed.includes(value) && !isStartOfOne(value, fixed)) {
    const hint = didYouMean(value, fixed) || `; there are ${fixed.join(', ')}`;
    return { message: `${field}: has no value ${value}${hint}${hint.endsWith('?') ? '' : '.'}` };
  }
  switch (field) {
    case 'client':
      if (value === '-' || value === '*') return (entry) => isPresent(entry.client, value);
      return (entry) => entry.client?.startsWith(value) === true || contains(nameOf(entry, names), value);
    case 'op':
      return value === '-'
        ? (entry) => entry.operation === undefined
        : (entry) => isLike(entry.operation, value);
    case 'change':
      return (entry) => allEdits(entry).some((edit) => isLike(edit.change, value));
    case 'rule':
      return (entry) => allEdits(entry).some((edit) => isLike(edit.rule, value));
    case 'verdict':
      return (entry) => isLike(entry.verdict, value);
    case 'mode':
      return (entry) => isPresent(modeOf(entry), value);
    case 'origin':
      return (entry) => isLike(sentTo(entry) ?? 'none', value);
    case 'would':
      return (entry) => isPresent(entry.would?.verdict, value);
    case 'v2':
      return (entry) => isPresent(entry.would?.v2, value);
    case 'route':
      return ({ route }) => isLike(route, value) || isLike(ROUTE_ALIASES[route], value);
    case 'method':
      return (entry) => entry.method.toLowerCase() === value;
    case 'path':
      return pathTest(value);
    case 'failure':
      return ({ failure, would }) => isPresent(failure ?? would?.failure, value);
    case 'error':
      return (entry) => {
        const errors = errorsOf(entry);
        if (value === '-') return errors.length === 0;
        // With its place, without it, or by its code alone.
        return errors.some((error) =>
          [errorValue(error), `${error.by}-${error.code}`, error.code].some((name) => isLike(name, value)),
        );
      };
    case 'cause':
      return ({ cause }) =>
        value === '-' || value === '*' ? isPresent(cause, value) : contains(cause, value);
    case 'note':
      return (entry) =>
        contains(entry.note, value) ||
        contains(entry.responseNote, value) ||
        (entry.incomplete === true && contains('incomplete', value)) ||
        allEdits(entry).some((edit) => contains(edit.note, value));
    case 'version':
      return ({ apiVersion }) => apiVersion?.why === value || apiVersion?.sent.startsWith(value) === true;
    case 'id':
      return (entry) =>
        entry.requestId.toLowerCase().startsWith(value) || entry.traceId?.startsWith(value) === true;
    case 'status':
      if (value === 'incomplete') return (entry) => entry.incomplete === true;
      return /^[1-5]xx$/.test(value)
        ? (entry) => Math.floor(entry.status / 100) === Number(value[0])
        : amount(field, value, (entry) => entry.status);
    case 'ms':
      return amount(field, value, (entry) => entry.totalMs);
    case 'edits':
      return amount(field, value, editCount);
    case 'sent':
      return (entry) => hasSent(entry, value);
    case 'has':
      return (_, { all }) => all().includes(value);
    case 'time':
      return timeTest(value);
  }
}

/** The edits of the request, then those of the response. */
function allEdits({
  edits,
  responseEdits = [],
}: Entry): readonly (Entry['edits'][number] | ResponseRecord)[] {
  return responseEdits.length === 0 ? edits : [...edits, ...responseEdits];
}

/** `-` is absence, `*` presence, and anything else as in `isLike`. */
function isPresent(text: string | undefined, value: string): boolean {
  return value === '-' ? text === undefined : isLike(text, value);
}

function isStartOfOne(value: string, fixed: readonly string[]): boolean {
  return value.endsWith('*') && fixed.some((one) => one.startsWith(value.slice(0, -1)));
}

function isLike(text: string | undefined, value: string): boolean {
  if (text === undefined) return false;
  const lower = text.toLowerCase();
  return value.endsWith('*') ? lower.startsWith(value.slice(0, -1)) : lower === value;
}

function contains(text: string | undefined, value: string): boolean {
  return text?.toLowerCase().includes(value) === true;
}

/** Matches a part of the V1 or V2 path. */
function pathTest(value: string): ValueTest {
  return (entry) => contains(entry.path, value) || contains(entry.upstreamPath, value);
}

/** Whether a request has a member or a parameter of this name; `/data/note` is the pointer of a member. */
function hasSent({ attributes = [], edits, path }: Entry, value: string): boolean {
  const [, query = ''] = path.split('?', 2);
  const members = [...attributes, ...edits.map(({ from }) => from)];
  return (
    members.some((member) => contains(value.startsWith('/') ? member : lastName(member), value)) ||
    query.split('&').some((part) => contains(part.split('=', 1)[0], value))
  );
}

function lastName(place: string | undefined): string | undefined {
  return place?.slice(place.lastIndexOf('/') + 1);
}

/** Matches the words that people type first: those in a row of the list, or a part of a value. */
function freeTest(value: string, names: ClientNames): ValueTest {
  const ofPath = pathTest(value);
  return (entry, texts) =>
    ofPath(entry, texts) ||
    contains(entry.operation, value) ||
    entry.method.toLowerCase() === value ||
    errorsOf(entry).some((error) => contains(errorName(error), value)) ||
    entry.requestId.toLowerCase().startsWith(value) ||
    contains(nameOf(entry, names), value) ||
    texts.kept().includes(value);
}

function nameOf({ client }: Entry, names: ClientNames): string | undefined {
  return client === undefined ? undefined : names.get(client);
}

function amount(field: FilterField, value: string, of: (entry: Entry) => number): ValueTest | ValueFault {
  const match =
    /^(?:(?<sign>[<>]=?)(?<bound>\d+(?:\.\d+)?)|(?<low>\d+(?:\.\d+)?)(?:-(?<high>\d+(?:\.\d+)?))?)$/.exec(
      value,
    );
  if (match?.groups === undefined)
    return { message: `${field}: needs ${FILTER_FIELDS[field]}, not ${value}.` };
  const { sign, bound, low, high } = match.groups;
  const limit = Number(bound);
  if (sign === '>') return (entry) => of(entry) > limit;
  if (sign === '>=') return (entry) => of(entry) >= limit;
  if (sign === '<') return (entry) => of(entry) < limit;
  if (sign === '<=') return (entry) => of(entry) <= limit;
  return (entry) => of(entry) >= Number(low) && of(entry) <= Number(high ?? low);
}

/** A value of `time:` in its parts; `low` and `high` are the same without `..`. */
export interface TimeValue {
  readonly sign: '' | '<' | '<=' | '>' | '>=';
  readonly low: string;
  readonly high: string;
  /** True for a time of any day, such as `12:35`. */
  readonly isOfAnyDay: boolean;
}

/** Reads a value of `time:`; undefined for an invalid one. */
export function timeValue(value: string): TimeValue | undefined {
  const sign = (['<=', '>=', '<', '>', ''] as const).find((one) => value.startsWith(one)) ?? '';
  const [low = '', high = low, ...others] = value.slice(sign.length).toLowerCase().split('..');
  if (others.length > 0 || (sign !== '' && value.includes('..'))) return undefined;
  const form = [TIME, CLOCK].find((one) => one.test(low) && one.test(high));
  return form === undefined ? undefined : { sign, low, high, isOfAnyDay: form === CLOCK };
}

/** Compares as text, by as many characters as the value has: RFC 3339 in UTC sorts by time. */
function timeTest(value: string): ValueTest | ValueFault {
  const read = timeValue(value);
  if (read === undefined) return { message: `time: needs ${FILTER_FIELDS.time}, not ${value}.` };
  const { sign } = read;
  const [from, to] = [timePrefix(read.low), timePrefix(read.high)];
  const skipped = read.isOfAnyDay ? DAY_LENGTH : 0;
  const compared = ({ time }: Entry, text: string): number => {
    const start = time.slice(skipped, skipped + text.length);
    return start < text ? -1 : start > text ? 1 : 0;
  };
  if (sign === '>') return (entry) => compared(entry, from) > 0;
  if (sign === '>=') return (entry) => compared(entry, from) >= 0;
  if (sign === '<') return (entry) => compared(entry, from) < 0;
  if (sign === '<=') return (entry) => compared(entry, from) <= 0;
  // A range of clock times that passes midnight, such as 23:30..00:30.
  if (read.isOfAnyDay && from > to && !from.startsWith(to))
    return (entry) => compared(entry, from) >= 0 || compared(entry, to) <= 0;
  return (entry) => compared(entry, from) >= 0 && compared(entry, to) <= 0;
}

/** The characters of an RFC 3339 time before its clock time. */
const DAY_LENGTH = '2026-11-22T'.length;

function timePrefix(text: string): string {
  return text.toUpperCase().replace(/[TZ]$/, '');
}

/** Current values for completion: operations, changes, recent clients, and so on. */
export type KnownValues = Readonly<Partial<Record<FilterField, readonly string[]>>>;

/** One completion: `insert` replaces the text from `start` to `end`. */
export interface Completion {
  readonly insert: string;
  readonly start: number;
  readonly end: number;
  /** Short description for users. */
  readonly help: string;
}

/** Proposes completions of the word at `cursor`: fields first, then values of the field. */
export function completeFilter(text: string, cursor: number, known: KnownValues): readonly Completion[] {
  const word = words(text).find(({ start, end }) => start <= cursor && cursor <= end) ?? {
    text: '',
    start: cursor,
    end: cursor,
  };
  const sign = word.text.startsWith('-') ? '-' : '';
  const typed = word.text.slice(sign.length, Math.max(sign.length, cursor - word.start)).toLowerCase();
  const propose = (insert: string, help: string): Completion => ({
    insert: sign + insert,
    start: word.start,
    end: word.end,
    help,
  });
  const colon = typed.indexOf(':');
  if (colon === -1) {
    return Object.entries(FILTER_FIELDS)
      .filter(([field]) => field.startsWith(typed))
      .map(([field, help]) => propose(`${field}:`, help));
  }
  const field = typed.slice(0, colon);
  if (!isFilterField(field)) return [];
  const before = typed.slice(colon + 1, typed.lastIndexOf(',') + 1);
  const prefix = typed.slice(colon + 1 + before.length);
  return [...new Set([...(known[field] ?? []), ...(FIXED[field] ?? [])])]
    .filter((value) => value.toLowerCase().startsWith(prefix))
    .map((value) => propose(`${field}:${before}${quoted(value, false)} `, FILTER_FIELDS[field]));
}
