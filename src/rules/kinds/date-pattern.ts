/** A wall clock's time, as a pattern writes it. */
export interface ClockTime {
  readonly year: number;
  readonly month: number;
  readonly date: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  /** Seconds of the day. */
  readonly time: number;
  /** The digits of the fraction of a second, without trailing zeros. */
  readonly fraction: string;
  /** Seconds by which the clock is ahead of UTC. */
  readonly offset: number;
  /** The short name of its zone, such as EST or GMT+1; undefined for a zone that is only an offset. */
  readonly zoneName: () => string | undefined;
}

/** A run of one letter, such as `MMM`, or text. */
export type DatePart = { readonly letter: string; readonly count: number } | { readonly text: string };

/** The months in English, the language of names in dates. */
export const MONTHS: readonly string[] =
  'January February March April May June July August September October November December'.split(' ');

/** The days of the week in English, from Sunday. */
export const WEEKDAYS: readonly string[] = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(
  ' ',
);

/**
 * A zone in a text: an offset, UTC, or a name of RFC 822 (EST is always five hours behind), in every spelling for each letter, because
 * services write `+0100` although their pattern says `XXX`.
 */
const ZONE = String.raw`(?:UTC?|GMT)?[+\u2212-]\d\d?(?::?\d\d)?|UTC?|GMT|Z|[ECMP][SD]T`;

/** True for a zone's short name that can be read. */
export function isZoneWord(name: string): boolean {
  return ZONE_NAME.test(name);
}

const ZONE_NAME = new RegExp(`^(?:${ZONE})$`);

/** RFC 1123 §5.2.14 and RFC 5322 §3.3: the day of the week, the seconds and the zone may be absent. */
export const MAIL_DATE = /* @__PURE__ */ mailDate();

function mailDate(): RegExp {
  return new RegExp(
    String.raw`^(?:[A-Za-z]{3}, )?(?<d>\d\d?) (?<M>[A-Za-z]{3}) (?<y>\d{4}) (?<H>\d\d):(?<m>\d\d)(?::(?<s>\d\d))?(?: (?<z>${ZONE}))?$`,
    'i',
  );
}

/** A month or a day of the week, shortened or in full. */
const NAME = '[A-Za-z]{3,9}';

/** A blank, or one of those that do not break a line: runtimes write them before AM. */
const BLANK = '[ \\u00a0\\u202f]';

/**
 * The letters of LDML (Unicode TR 35) that are read and written, with their longest run; F is a fraction of any length, only for
 * `datetime`. `YYYY` and `DD` are read as `yyyy` and `dd`: no service means the week-based year and the day of the year, as in LDML.
 */
const LONGEST: readonly (readonly [letters: string, longest: number])[] = [
  ['yME', 4],
  ['zZXx', 3],
  ['dHhms', 2],
  ['a', 1],
  ['S', 9],
];

/** Maximum length of a pattern: texts are limited as well. */
const MAX_PATTERN = 64;

const KNOWN =
  'date, datetime, rfc-1123, epoch, epoch-ms, or a pattern such as dd/MM/yyyy, of y, M, d, E, H, h, m, s, S, a, z, Z, X and x';

/** Says what is wrong with a pattern and how to fix it; undefined for a valid one. */
export function patternFault(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN) return `is longer than ${MAX_PATTERN} characters`;
  const parts = partsOf(pattern);
  const runs = parts.flatMap((part) => ('letter' in part ? [part] : []));
  if ((pattern.split("'").length & 1) === 0) return 'has a quote mark that is not closed; close it';
  for (const { letter, count } of runs) {
    const [, longest] = LONGEST.find(([letters]) => letters.includes(letter)) ?? [];
    const run = letter.repeat(count);
    if (longest === undefined)
      return `has ${run}, which is not a supported part of a date; write ${KNOWN}, and text between quote marks`;
    const lengths = letter === 'y' ? [1, 2, 4] : [];
    if (count > longest || (lengths.length > 0 && !lengths.includes(count)))
      return `has ${run}, which is not supported; write ${letter === 'y' ? 'yyyy' : letter.repeat(longest)}`;
  }
  const has = (letters: string): boolean => runs.some(({ letter }) => letters.includes(letter));
  for (const same of ['y', 'M', 'd', 'E', 'Hh', 'm', 's', 'S', 'a', 'zZXx'])
    if (runs.filter(({ letter }) => same.includes(letter)).length > 1)
      return 'names a part of the date twice; remove one of them';
  if (!has('y') || !has('M') || !has('d')) return `lacks the year, the month or the day; write ${KNOWN}`;
  if (has('h') && !has('a')) return 'has hours up to 12 without AM and PM; write HH, or add the letter a';
  if (has('a') && !has('h')) return 'has AM and PM without hours up to 12; write h, or remove the letter a';
  if (has('S') && !has('s')) return 'has parts of a second without seconds; add ss';
  if (has('s') && !has('m')) return 'has seconds without minutes; add mm';
  if (has('m') && !has('Hh')) return 'has minutes without hours; add HH';
  if (parts.some((part, at) => isJoined(part, parts[at + 1])))
    return 'has a part of varying length directly before the next part; write it with two digits, or put text between them';
  return undefined;
}

/** True if a part of varying length is followed by one that could continue it: of one or two digits, a name, or a zone. */
function isJoined(part: DatePart, next: DatePart | undefined): boolean {
  if ('text' in part || next === undefined) return false;
  const isZone = 'zZXx'.includes(part.letter);
  const isName = 'ME'.includes(part.letter) && (part.letter === 'E' || part.count > 2);
  const isNumber = part.count === 1 && 'MdHhms'.includes(part.letter);
  const start = 'text' in next ? next.text : written(next, SAMPLE);
  return (
    ((isZone || isNumber) && /^\d/.test(start ?? '')) || ((isZone || isName) && /^[a-z]/i.test(start ?? ''))
  );
}

/** Any time, to test whether a part begins with a digit or a letter. */
const SAMPLE: ClockTime = {
  year: 2000,
  month: 1,
  date: 1,
  weekday: 6,
  time: 0,
  fraction: '',
  offset: 0,
  zoneName: () => undefined,
};

/** The precision of a pattern: 0 for a day, 3 for seconds, and one more for each digit of a second. */
export function precisionOf(pattern: string): number {
  let precision = 0;
  for (const part of partsOf(pattern)) {
    if ('text' in part) continue;
    // Every other form can express a two-digit year, but not the other way round.
    if (part.letter === 'y' && part.count === 2) return -1;
    precision += 'Hhms'.includes(part.letter) ? 1 : part.letter === 'S' ? part.count : 0;
  }
  return precision;
}

/** True for parts that tell the zone. */
export function hasZone(parts: readonly DatePart[]): boolean {
  return parts.some((part) => 'letter' in part && 'zZXx'.includes(part.letter));
}

/** The parts of a pattern. */
export function partsOf(pattern: string): readonly DatePart[] {
  const parts: DatePart[] = [];
  let quoteEnd = -1;
  for (const { 0: run, 1: quoted, 2: letter, index } of pattern.matchAll(/'([^']*)'|([A-SU-Za-z])\2*|[^]/g)) {
    // Two quote marks in a row are a literal one, even inside quoted text.
    if (letter === undefined)
      parts.push({
        text: quoted === undefined ? run : index === quoteEnd ? `'${quoted}` : quoted || "'",
      });
    else
      parts.push({
        letter: run === 'YYYY' || run === 'DD' ? letter.toLowerCase() : letter,
        count: run.length,
      });
    if (quoted !== undefined) quoteEnd = index + run.length;
  }
  return parts;
}

function sourceOf({ letter, count }: { readonly letter: string; readonly count: number }): string {
  if ('zZXx'.includes(letter)) return `(?<z>${ZONE})?`;
  if (letter === 'a') return String.raw`(?<a>[AaPp]\.?[Mm]\.?)`;
  // Names distinguish dates only when written: a day of the week adds nothing to the date.
  if (letter === 'E') return NAME;
  if (letter === 'M' && count > 2) return `(?<M>${NAME})`;
  const isOpen = count === 1 && letter !== 'S' && letter !== 'y';
  return `(?<${letter}>\\d${isOpen ? '\\d?' : `{${letter === 'y' && count === 1 ? 4 : count}}`})`;
}

/** A case-insensitive regular expression for the texts of a pattern: each group has the name of its letter, that of the zone is z. */
export function readerOf(pattern: string): string {
  const source = partsOf(pattern).map((part) => ('text' in part ? literal(part.text) : sourceOf(part)));
  // A zone may be absent, with the blank before it: the rule's zone then applies.
  return `^${source.join('').replace(`${BLANK}(?<z>`, `${BLANK}?(?<z>`)}$`;
}

function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`).replaceAll(' ', BLANK);
}

/** Writes a time; undefined if a two-digit year would be read as another one. */
export function writeParts(writes: readonly DatePart[], time: ClockTime): string | undefined {
  const parts = writes.map((part) => ('text' in part ? part.text : written(part, time)));
  return parts.includes(undefined) ? undefined : parts.join('');
}

function written(
  { letter, count }: { readonly letter: string; readonly count: number },
  { year, month, date, weekday, time, fraction, offset, zoneName }: ClockTime,
): string | undefined {
  const hour = Math.floor(time / 3600);
  switch (letter) {
    case 'y':
      if (count === 2) return fullYear(year % 100) === year ? digits(year % 100, 2) : undefined;
      return digits(year, 4);
    case 'M':
      return count < 3 ? digits(month, count) : named(MONTHS[month - 1], count);
    case 'E':
      return named(WEEKDAYS[weekday], count);
    case 'a':
      return hour < 12 ? 'AM' : 'PM';
    case 'S':
      return fraction.padEnd(count, '0').slice(0, count);
    case 'F':
      return fraction === '' ? '' : `.${fraction}`;
    case 'z':
      return zoneName() ?? (offset === 0 ? 'UTC' : `GMT${writtenOffset(offset, 3)}`);
    case 'Z':
      return writtenOffset(offset, 2);
    case 'X':
    case 'x':
      return letter === 'X' && offset === 0 ? 'Z' : writtenOffset(offset, count);
    default:
      return digits(
        { d: date, H: hour, h: hour % 12 || 12, m: Math.floor(time / 60) % 60 }[letter] ?? time % 60,
        count,
      );
  }
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, '0');
}

function named(name = '', count: number): string {
  return count < 4 ? name.slice(0, 3) : name;
}

/** `+01` or `+0130` (1), `+0100` (2) or `+01:00` (3). */
function writtenOffset(offset: number, count: number): string {
  const minutes = Math.abs(offset) / 60;
  const rest = minutes % 60;
  const end = count === 1 && rest === 0 ? '' : `${count === 3 ? ':' : ''}${digits(rest, 2)}`;
  return `${offset < 0 ? '-' : '+'}${digits(Math.floor(minutes / 60), 2)}${end}`;
}

/** The year of two digits: from 1969 to 2068, as in POSIX. */
export function fullYear(year: number): number {
  return year + (year < 69 ? 2000 : 1900);
}
