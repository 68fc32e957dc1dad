/** A point in time: whole seconds since 1970, rounded down, and the digits of the rest, without zeros at their end. */
interface Instant {
  readonly seconds: number;
  readonly fraction: string;
}

/** How dates are written: one of the words, or a pattern such as `DD/MM/YYYY`. */
export interface DateForm {
  /**
   * `date` (RFC 3339 full-date), `datetime` (read as ISO 8601, written as RFC 3339), `epoch`, `epoch-ms`, or a pattern of YYYY, MM, DD,
   * HH, mm and ss.
   */
  readonly format: string;
  /** The time zone of a form that has none in its text: `UTC`, an offset such as `+10:00`, or a name such as `Australia/Sydney`. */
  readonly zone: string;
  /** The time of a date without one, in seconds of the day. */
  readonly at: number;
}

type Field = 'YYYY' | 'MM' | 'DD' | 'HH' | 'mm' | 'ss';

type Part = { readonly field: Field } | { readonly text: string };

const FIELDS: readonly Field[] = ['YYYY', 'MM', 'DD', 'HH', 'mm', 'ss'];

/** Longer texts are not dates. */
const MAX_CHARACTERS = 64;

const DAY = 86_400;

/** The first second of the year 1, and the last of 9999: other years have no four digits. */
const FIRST_SECOND = -62_135_596_800;
const LAST_SECOND = 253_402_300_799;

/**
 * A date and a time of ISO 8601, extended or basic, as services write them: a blank or a small letter for T, no seconds, a comma, an
 * offset in any of its forms or none, and a zone in brackets (RFC 9557) behind it.
 */
const DATETIME =
  /^(\d{4})(-?)(\d\d)\2(\d\d)[Tt ](\d\d)(?:(:?)(\d\d)(?:\6(\d\d)(?:[.,](\d{1,30}))?)?)?( ?[Zz]| UTC| GMT| ?[+\u2212-]\d\d(?::?\d\d)?)?((?:\[[!\w/:+=-]{1,40}\])*)$/;

const OFFSET = /^([+-])(\d\d):(\d\d)$/;

const EPOCH = /^(-?)(\d{1,18})(?:\.(\d{1,30}))?$/;

const TIME = /^(\d\d):(\d\d)(?::(\d\d))?$/;

/** Says what is wrong with a format and how to fix it; undefined for a valid one. */
export function formatFault(format: string): string | undefined {
  if (isWord(format)) return undefined;
  const parts = partsOf(format);
  const fields = parts.flatMap((part) => ('field' in part ? [part.field] : []));
  const letters = parts.find((part) => 'text' in part && /[A-SU-Za-z]/.test(part.text));
  const known = 'date, datetime, epoch, epoch-ms, or a pattern of YYYY, MM, DD, HH, mm and ss';
  if (letters !== undefined) return `is not a date format; write ${known}`;
  if (new Set(fields).size < fields.length) return 'names a part of the date twice; name it once';
  if (['YYYY', 'MM', 'DD'].some((field) => !fields.some((one) => one === field)))
    return `lacks the year, the month or the day; write ${known}`;
  if (fields.includes('ss') && !fields.includes('mm')) return 'has seconds without minutes; add mm';
  if (fields.includes('mm') && !fields.includes('HH')) return 'has minutes without hours; add HH';
  return undefined;
}

/** True for an offset, UTC, or a time zone that the runtime knows. */
export function isZone(zone: string): boolean {
  return zone === 'UTC' || OFFSET.test(zone) || zoneName(zone) !== undefined;
}

/** True for a name of the IANA database that the runtime knows: an offset has no daylight saving. */
export function isZoneName(zone: string): boolean {
  return isZone(zone) && !OFFSET.test(zone) && !/^[+-]/.test(zone);
}

/** The one spelling of a zone's name, so that a client's spellings of it do not each get a clock; undefined for an unknown name. */
function zoneName(zone: string): string | undefined {
  const key = zone.toLowerCase();
  const known = zoneNames.get(key) ?? nameInRuntime(zone);
  // To ask the runtime costs as much as a hundred dates: a list of them asks once.
  if (zoneNames.size < MAX_ZONES) zoneNames.set(key, known);
  return known === '' ? undefined : known;
}

const zoneNames = new Map<string, string>();

/** More than there are zones. */
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

/** True if every text of one form survives the way to the other form and back. */
export function isExactDate(from: string, to: string): boolean {
  // The offset that was written, and its zeros, are in no other form.
  if (from === 'datetime') return to === 'datetime';
  return precision(from) <= precision(to);
}

/** The parts that a format has: from a day (0) to parts of a second (4). */
function precision(format: string): number {
  if (format === 'epoch' || format === 'epoch-ms' || format === 'datetime') return 4;
  const fields = partsOf(patternOf(format)).flatMap((part) => ('field' in part ? [part.field] : []));
  return ['HH', 'mm', 'ss'].filter((field) => fields.some((one) => one === field)).length;
}

/** True for a format whose texts are JSON numbers. */
export function isNumeric(format: string): boolean {
  return format === 'epoch' || format === 'epoch-ms';
}

/** Writes the date `text`, which has the form `from`, in the form `to`; undefined if it is not a date. */
export function convertDate(text: string, from: DateForm, to: DateForm): string | undefined {
  if (text.length > MAX_CHARACTERS) return undefined;
  const instant = read(text, from);
  if (instant === undefined || instant.seconds < FIRST_SECOND || instant.seconds > LAST_SECOND)
    return undefined;
  return print(instant, to);
}

function isWord(format: string): boolean {
  return format === 'date' || format === 'datetime' || isNumeric(format);
}

function patternOf(format: string): string {
  return format === 'date' ? 'YYYY-MM-DD' : format;
}

function partsOf(pattern: string): readonly Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < pattern.length;) {
    const field = FIELDS.find((name) => pattern.startsWith(name, at));
    const text = pattern[at] ?? '';
    parts.push(field === undefined ? { text } : { field });
    at += (field ?? text).length;
  }
  return parts;
}

function read(text: string, { format, zone, at }: DateForm): Instant | undefined {
  if (isNumeric(format)) return readEpoch(text, format === 'epoch' ? 0 : 3);
  if (format === 'datetime') return readDatetime(text, zone);
  const fields = readPattern(text, partsOf(patternOf(format)));
  if (fields === undefined) return undefined;
  const day = dayOf(fields.get('YYYY') ?? 0, fields.get('MM') ?? 0, fields.get('DD') ?? 0);
  const hour = fields.get('HH');
  const time = hour === undefined ? at : timeOf(hour, fields.get('mm') ?? 0, fields.get('ss') ?? 0);
  if (day === undefined || time === undefined) return undefined;
  const seconds = instantOf(day * DAY + time, zone, hour === undefined);
  return seconds === undefined ? undefined : { seconds, fraction: '' };
}

function readPattern(text: string, parts: readonly Part[]): ReadonlyMap<Field, number> | undefined {
  const fields = new Map<Field, number>();
  let at = 0;
  for (const part of parts) {
    if ('text' in part) {
      if (!text.startsWith(part.text, at)) return undefined;
      at += part.text.length;
      continue;
    }
    const digits = text.slice(at, at + part.field.length);
    if (digits.length < part.field.length || !/^\d+$/.test(digits)) return undefined;
    fields.set(part.field, Number(digits));
    at += digits.length;
  }
  return at === text.length ? fields : undefined;
}

function readDatetime(text: string, zone: string): Instant | undefined {
  const found = DATETIME.exec(text);
  if (found === null) return undefined;
  const [, year, , month, date, hour, , minute = '0', second = '0', fraction = '', offset, tags = ''] = found;
  const day = dayOf(Number(year), Number(month), Number(date));
  // ISO 8601 calls midnight at the end of a day 24:00.
  const isEnd = hour === '24' && /^0*$/.test(minute + second + fraction);
  const time = isEnd ? DAY : timeOf(Number(hour), Number(minute), Number(second));
  const place = zoneOf(offset?.trim(), tags) ?? zone;
  if (day === undefined || time === undefined || place === '') return undefined;
  const seconds = instantOf(day * DAY + time, place, false);
  return seconds === undefined ? undefined : { seconds, fraction: withoutZeros(fraction) };
}

/** The zone that a text names: its offset, or else the name in brackets; undefined where it names none, and empty for an impossible one. */
function zoneOf(offset: string | undefined, tags: string): string | undefined {
  if (offset === undefined) {
    const [, name] = /^\[!?([^\]=]+)\]/.exec(tags) ?? [];
    return name === undefined ? undefined : (zoneName(name) ?? '');
  }
  const digits = offset.replaceAll(/\D/g, '');
  if (digits === '') return 'UTC';
  const hours = digits.slice(0, 2);
  const minutes = digits.slice(2) || '00';
  // No clock is a day ahead: such an offset is a mistake.
  if (timeOf(Number(hours), Number(minutes), 0) === undefined) return '';
  return `${offset.startsWith('+') ? '+' : '-'}${hours}:${minutes}`;
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

function print(instant: Instant, { format, zone }: DateForm): string | undefined {
  const { seconds, fraction } = instant;
  if (isNumeric(format)) return printEpoch(instant, format === 'epoch' ? 0 : 3);
  const offset = format === 'datetime' && offsetAt(seconds, zone) % 60 !== 0 ? 0 : offsetAt(seconds, zone);
  const local = seconds + offset;
  if (local < FIRST_SECOND || local > LAST_SECOND) return undefined;
  const pattern = format === 'datetime' ? 'YYYY-MM-DDTHH:mm:ss' : patternOf(format);
  const text = printPattern(local, partsOf(pattern));
  if (format !== 'datetime') return text;
  return `${text}${fraction === '' ? '' : `.${fraction}`}${printOffset(offset, zone)}`;
}

function printPattern(local: number, parts: readonly Part[]): string {
  const day = Math.floor(local / DAY);
  const time = local - day * DAY;
  const { year, month, date } = dateOf(day);
  const values: Readonly<Record<Field, number>> = {
    YYYY: year,
    MM: month,
    DD: date,
    HH: Math.floor(time / 3600),
    mm: Math.floor(time / 60) % 60,
    ss: time % 60,
  };
  return parts
    .map((part) => ('text' in part ? part.text : String(values[part.field]).padStart(part.field.length, '0')))
    .join('');
}

function printOffset(offset: number, zone: string): string {
  if (offset === 0 && !OFFSET.test(zone)) return 'Z';
  const minutes = Math.abs(offset) / 60;
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
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

/** Days since 1970 of a real calendar day; undefined for another. */
function dayOf(year: number, month: number, date: number): number | undefined {
  if (year < 1 || month < 1 || month > 12 || date < 1) return undefined;
  const time = new Date(0);
  time.setUTCFullYear(year, month - 1, date);
  return time.getUTCMonth() === month - 1 && time.getUTCDate() === date
    ? time.getTime() / 1000 / DAY
    : undefined;
}

function dateOf(day: number): { readonly year: number; readonly month: number; readonly date: number } {
  const time = new Date(day * DAY * 1000);
  return { year: time.getUTCFullYear(), month: time.getUTCMonth() + 1, date: time.getUTCDate() };
}

/** Seconds of the day; a leap second is in no other form. */
function timeOf(hour: number, minute: number, second: number): number | undefined {
  return hour > 23 || minute > 59 || second > 59 ? undefined : hour * 3600 + minute * 60 + second;
}

/**
 * The instant of a local time: the first of two, where clocks are set back. Where they are set forward, a local time that was skipped
 * is none, unless only its day was written.
 */
function instantOf(local: number, zone: string, isDay: boolean): number | undefined {
  const before = offsetAt(local - DAY, zone);
  const after = offsetAt(local + DAY, zone);
  for (const offset of [before, after]) if (offsetAt(local - offset, zone) === offset) return local - offset;
  return isDay ? local - before : undefined;
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

/** The clock on the wall of a zone, in numbers; throws a RangeError for a name that the runtime does not know. */
export function wallClock(zone: string): Intl.DateTimeFormat {
  // One for each zone: to create one costs a thousand times as much as to ask it.
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
