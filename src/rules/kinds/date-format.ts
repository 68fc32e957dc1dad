import {
  type ClockTime,
  fullYear,
  hasZone,
  isZoneWord,
  MAIL_DATE,
  MONTHS,
  patternFault,
  precisionOf,
  readerOf,
  type DatePart,
  partsOf,
  writeParts,
} from './date-pattern.ts';

/** A point in time: whole seconds since 1970, rounded down, and the digits of the fraction without trailing zeros. */
interface Instant {
  readonly seconds: number;
  readonly fraction: string;
}

/** The form of a date: one of the words, or a pattern such as `dd/MM/yyyy`. */
export interface DateForm {
  /**
   * `date` (RFC 3339 full-date), `datetime` (read as ISO 8601, written as RFC 3339), `rfc-1123` (as in the field Date), `epoch`,
   * `epoch-ms`, or a pattern with Unicode's date letters, such as `d MMM yyyy`.
   */
  readonly format: string;
  /** The time zone for a form whose texts have none: `UTC`, an offset such as `+10:00`, or a name such as `Australia/Sydney`. */
  readonly zone: string;
  /** The time of a date without one, in seconds of the day. */
  readonly at: number;
  readonly reads: RegExp;
  readonly writes: readonly DatePart[];
}

/** Maximum length of a date. */
const MAX_CHARACTERS = 128;

const DAY = 86_400;

/** The first second of the year 1, and the last of 9999: the years with four digits. */
const FIRST_SECOND = -62_135_596_800;
const LAST_SECOND = 253_402_300_799;

/**
 * A date and a time in ISO 8601, extended or basic, as services write them: with a blank or a small letter for T, no seconds, a comma,
 * any form of offset or none, or a zone in brackets (RFC 9557).
 */
const DATETIME =
  /^(?<y>\d{4})(-?)(?<M>\d\d)\2(?<d>\d\d)[Tt ](?<H>\d\d)(?:(:?)(?<m>\d\d)(?:\6(?<s>\d\d)(?:[.,](?<S>\d{1,30}))?)?)?(?<z> ?Z| UTC| GMT| ?[+\u2212-]\d\d(?::?\d\d)?)?(?<tags>(?:\[[!\w/:+=-]{1,40}\])*)$/i;

/** The names of patterns. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['date', 'yyyy-MM-dd'],
  ['datetime', 'yyyy-MM-ddTHH:mm:ssFXXX'],
  ['rfc-1123', "EEE, dd MMM yyyy HH:mm:ss 'GMT'"],
]);

/** An offset of less than a day: a longer one is a mistake. */
const OFFSET = /^([+-])([01]\d|2[0-3]):([0-5]\d)$/;

const EPOCH = /^(-?)(\d{1,18})(?:\.(\d{1,30}))?$/;

const TIME = /^(\d\d):(\d\d)(?::(\d\d))?$/;

/** Says what is wrong with a format and how to fix it; undefined for a valid one. */
export function formatFault(format: string): string | undefined {
  return WORDS.has(format) || isNumeric(format) ? undefined : patternFault(format);
}

/** True for an offset, UTC, or a time zone that the runtime knows. */
export function isZone(zone: string): boolean {
  return zone === 'UTC' || OFFSET.test(zone) || zoneName(zone) !== undefined;
}

/** The canonical spelling of a zone's name, so that several spellings share a clock; undefined for an unknown name. */
function zoneName(zone: string): string | undefined {
  const key = zone.toLowerCase();
  const known = zoneNames.get(key) ?? nameInRuntime(zone);
  // Asking the runtime takes as long as converting a hundred dates, so the result is cached.
  if (zoneNames.size < MAX_ZONES) zoneNames.set(key, known);
  return known === '' ? undefined : known;
}

const zoneNames = new Map<string, string>();

/** More than the number of time zones. */
const MAX_ZONES = 1000;

/** Empty for an unknown name. */
function nameInRuntime(zone: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return '';
  }
}

/** The second of the day that a text such as `09:30` or `09:30:00` names; undefined for any other text. */
export function secondsOfDay(text: string): number | undefined {
  const [, hour = '', minute = '', second = '0'] = TIME.exec(text) ?? [];
  return hour === '' ? undefined : timeOf(Number(hour), Number(minute), Number(second));
}

/** What a date loses on the way to another form and back; undefined if nothing. */
export function dateLoss(from: string, to: string): 'zone' | 'time' | undefined {
  if (precision(from) > precision(to)) return 'time';
  // No other form keeps the offset as written, and its zeros.
  return from !== to && (from === 'rfc-1123' || hasZone(partsOf(patternOf(from)))) ? 'zone' : undefined;
}

function precision(format: string): number {
  return isNumeric(format) || format === 'datetime' ? Infinity : precisionOf(patternOf(format));
}

/** A regular expression of JSON Schema for the dates in a text form. */
export function dateSchemaPattern({ reads }: CompiledDate): string {
  return reads.replaceAll(/\?<\w+>/g, '?:');
}

/** True for a format whose texts are JSON numbers. */
export function isNumeric(format: string): boolean {
  return format === 'epoch' || format === 'epoch-ms';
}

/** Converts the date `text` from one form to another; undefined if it is not a date. */
export function convertDate(text: string, from: DateForm, to: DateForm): string | undefined {
  if (text.length > MAX_CHARACTERS) return undefined;
  const instant = read(text, from);
  if (instant === undefined || instant.seconds < FIRST_SECOND || instant.seconds > LAST_SECOND)
    return undefined;
  return print(instant, to);
}

function patternOf(format: string): string {
  return WORDS.get(format) ?? format;
}

/**
 * The compiled form of a date, as plain data: it is made when a rule book is read, so that bundles that only run one do not need the
 * compiler.
 */
export interface CompiledDate {
  /** A case-insensitive regular expression; empty for a numeric form. */
  readonly reads: string;
  readonly writes: readonly DatePart[];
}

/** Compiles a form without faults. */
export function compiledDate(format: string): CompiledDate {
  if (isNumeric(format)) return { reads: '', writes: [] };
  const pattern = patternOf(format);
  return { reads: READERS.get(format)?.source ?? readerOf(pattern), writes: partsOf(pattern) };
}

const READERS: ReadonlyMap<string, RegExp> = new Map([
  ['datetime', DATETIME],
  ['rfc-1123', MAIL_DATE],
]);

function read(text: string, { format, zone, at, reads }: DateForm): Instant | undefined {
  if (isNumeric(format)) return readEpoch(text, format === 'epoch' ? 0 : 3);
  const groups = reads.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { y = '', M = '', d, H, h, m = '0', s = '0', S: fraction = '', a = '', z, tags = '' } = groups;
  const year = y.length === 2 ? fullYear(Number(y)) : Number(y);
  const month = Number(M) || MONTHS.findIndex((name) => name.toLowerCase().startsWith(M.toLowerCase())) + 1;
  const day = dayOf(year, month, Number(d));
  const hour = h === undefined ? H : hourOf(Number(h), a);
  // ISO 8601 allows 24:00 for midnight at the end of a day.
  const isEnd = hour === '24' && /^0*$/.test(m + s + fraction);
  const time = hour === undefined ? at : isEnd ? DAY : timeOf(Number(hour), Number(m), Number(s));
  const place = zoneOf(z, tags) ?? zone;
  if (day === undefined || time === undefined || place === '') return undefined;
  const seconds = instantOf(day * DAY + time, place, hour === undefined);
  return seconds === undefined ? undefined : { seconds, fraction: withoutZeros(fraction) };
}

/** The hour of the day for one of a 12-hour clock, as digits; invalid for an invalid one. */
function hourOf(hour: number, half: string): string {
  return String(hour < 1 || hour > 12 ? 99 : (hour % 12) + (/^p/i.test(half) ? 12 : 0));
}

/** The zone in a text: its offset, or else the name in brackets; undefined if there is none, empty if it is impossible. */
function zoneOf(text: string | undefined, tags: string): string | undefined {
  if (text === undefined) {
    const [, name] = /^\[!?([^\]=]+)\]/.exec(tags) ?? [];
    return name === undefined ? undefined : (zoneName(name) ?? '');
  }
  const [, place = '', half = ''] = /([ECMP])([SD])T$/i.exec(text) ?? [];
  if (place !== '') return `-0${'ECMP'.indexOf(place.toUpperCase()) + (/s/i.test(half) ? 5 : 4)}:00`;
  const [, sign, hours = '', minutes = '00'] = /([+\u2212-])(\d\d?):?(\d\d)?$/.exec(text) ?? [];
  if (hours === '') return 'UTC';
  const zone = `${sign === '+' ? '+' : '-'}${hours.padStart(2, '0')}:${minutes}`;
  return OFFSET.test(zone) ? zone : '';
}

/** `shift` is the number of digits by which the unit is smaller than a second. */
function readEpoch(text: string, shift: number): Instant | undefined {
  const found = EPOCH.exec(text);
  if (found === null) return undefined;
  const [, sign = '', whole = '', rest = ''] = found;
  const unit = 10n ** BigInt(rest.length + shift);
  const total = BigInt(`${sign}${whole}${rest}`);
  const remainder = ((total % unit) + unit) % unit;
  const fraction = remainder.toString().padStart(rest.length + shift, '0');
  return { seconds: Number((total - remainder) / unit), fraction: withoutZeros(fraction) };
}

function print(instant: Instant, { format, zone, writes }: DateForm): string | undefined {
  const { seconds, fraction } = instant;
  if (isNumeric(format)) return printEpoch(instant, format === 'epoch' ? 0 : 3);
  const place = format === 'rfc-1123' ? 'UTC' : zone;
  const clock = offsetAt(seconds, place);
  // Clocks with local solar time were ahead by seconds, which no zone text expresses.
  const offset = clock % 60 !== 0 && hasZone(writes) ? 0 : clock;
  const local = seconds + offset;
  if (local < FIRST_SECOND || local > LAST_SECOND) return undefined;
  const day = Math.floor(local / DAY);
  return writeParts(writes, {
    ...dateOf(day),
    time: local - day * DAY,
    fraction,
    offset,
    zoneName: () => shortName(seconds, place),
  });
}

/** A zone's short name, if that can be read; undefined otherwise. */
function shortName(seconds: number, zone: string): string | undefined {
  if (zone === 'UTC') return zone;
  if (OFFSET.test(zone)) return undefined;
  const name =
    wallClock(zone)
      .formatToParts(seconds * 1000)
      .find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return isZoneWord(name) ? name : undefined;
}

function printEpoch({ seconds, fraction }: Instant, shift: number): string {
  const places = Math.max(fraction.length, shift);
  const total = BigInt(seconds) * 10n ** BigInt(places) + BigInt(fraction.padEnd(places, '0') || '0');
  const sign = total < 0n ? '-' : '';
  const digits = (total < 0n ? -total : total).toString().padStart(places - shift + 1, '0');
  const end = digits.length - (places - shift);
  const rest = withoutZeros(digits.slice(end));
  return `${sign}${digits.slice(0, end)}${rest === '' ? '' : `.${rest}`}`;
}

function withoutZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

/** Days since 1970 for a valid calendar day; undefined for any other. */
function dayOf(year: number, month: number, date: number): number | undefined {
  if (year < 1 || month < 1 || month > 12 || date < 1) return undefined;
  const time = new Date(0);
  time.setUTCFullYear(year, month - 1, date);
  return time.getUTCMonth() === month - 1 && time.getUTCDate() === date
    ? time.getTime() / 1000 / DAY
    : undefined;
}

function dateOf(day: number): Pick<ClockTime, 'year' | 'month' | 'date' | 'weekday'> {
  const time = new Date(day * DAY * 1000);
  return {
    year: time.getUTCFullYear(),
    month: time.getUTCMonth() + 1,
    date: time.getUTCDate(),
    weekday: time.getUTCDay(),
  };
}

/** Seconds of the day; no other form has a leap second. */
function timeOf(hour: number, minute: number, second: number): number | undefined {
  return hour > 23 || minute > 59 || second > 59 ? undefined : hour * 3600 + minute * 60 + second;
}

/**
 * The instant of a local time: the first of two when clocks are set back. A time that was skipped when they are set forward is invalid,
 * unless only the day was written.
 */
function instantOf(local: number, zone: string, isDay: boolean): number | undefined {
  const before = offsetAt(local - DAY, zone);
  const after = offsetAt(local + DAY, zone);
  for (const offset of [before, after]) if (offsetAt(local - offset, zone) === offset) return local - offset;
  return isDay ? local - before : undefined;
}

/** The beginning in a zone of the day whose beginning in UTC is given; both in milliseconds since 1970. */
export function midnightIn(zone: string, day: number): number {
  return (instantOf(day / 1000, zone, true) ?? 0) * 1000;
}

/** Seconds by which the local time is ahead of UTC. */
function offsetAt(seconds: number, zone: string): number {
  if (zone === 'UTC') return 0;
  const found = OFFSET.exec(zone);
  if (found === null) return namedOffset(seconds, zone);
  const [, sign, hours, minutes] = found;
  const offset = Number(hours) * 3600 + Number(minutes) * 60;
  return sign === '-' ? -offset : offset;
}

const clocks = new Map<string, Intl.DateTimeFormat>();

/** The wall clock of a zone, in numbers; throws a RangeError for a name that the runtime does not know. */
export function wallClock(zone: string): Intl.DateTimeFormat {
  // One for each zone: creating one takes a thousand times as long as using it.
  const clock =
    clocks.get(zone) ??
    new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      timeZoneName: 'short',
    });
  clocks.set(zone, clock);
  return clock;
}

function namedOffset(seconds: number, zone: string): number {
  const clock = wallClock(zone);
  const within = Math.min(Math.max(seconds, FIRST_SECOND + 2 * DAY), LAST_SECOND);
  const values = new Map(clock.formatToParts(within * 1000).map(({ type, value }) => [type, Number(value)]));
  const day = dayOf(values.get('year') ?? 0, values.get('month') ?? 0, values.get('day') ?? 0) ?? 0;
  const time = timeOf(values.get('hour') ?? 0, values.get('minute') ?? 0, values.get('second') ?? 0) ?? 0;
  return day * DAY + time - within;
}
