import { gunzipSync } from 'node:zlib';
import { parse, type Tags } from 'yaml';
import { memberOf } from '../../json/values.ts';
import { parsedJson } from '../../rewrite-log/attributes.ts';

/** Maximum nesting at which lines are found; a queue's messages are at level seven, and a text counts as two levels. */
const MAX_DEPTH = 20;

/** Maximum characters of a text to search for objects; entries are shorter. */
const MAX_TEXT = 1024 * 1024;

/** Maximum objects that are tried in one text: a cut entry has one for each of its edits. */
const MAX_TRIES = 256;

/** Maximum bytes that a record unpacks to; a batch of CloudWatch has 6 MiB at most. */
const MAX_UNPACKED = 64 * 1024 * 1024;

/** Terminal colours and line erasures, also as syslog daemons (`#033`) and `cat -v` (`^[`) spell the escape character. */
// oxlint-disable-next-line no-control-regex -- these characters are what it removes.
const COLOUR = /(?:\u001B|#033|\^\[)\[[\d;]*[Km]/g;

/** Padding of a truncated file, byte order marks of joined files, the separator of JSON text sequences (RFC 7464). */
// oxlint-disable-next-line no-control-regex -- these characters are what it removes.
const PADDING = /[\u0000\u001E\uFEFF]/g;

/** An object's beginning, also in a text that is escaped once more, or in a CSV cell, which doubles quotation marks. */
const OBJECT = /\{\s{0,16}(?:\\{0,7}"){1,2}/g;

/** The beginning of an entry or of a process log line. */
const OWN_BEGINNING = /^\{\s{0,16}"(?:time|level)"\s{0,4}:\s{0,4}"/;

/** `2026-11-22T07:00:00.123Z`, with any number of decimal places, a space for the T, or another zone. */
const STAMP = /\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?/;

/** Names of a record's time, in lower case without punctuation: `@timestamp`, `__REALTIME_TIMESTAMP`, `timeUnixNano`. */
const TIME_NAMES: ReadonlySet<string> = new Set([
  'time',
  'timestamp',
  'ts',
  'dt',
  'date',
  'datetime',
  'eventtime',
  'eventtimestamp',
  'eventtimestampms',
  'timegenerated',
  'timeunixnano',
  'realtimetimestamp',
]);

/** Names of a record's source. Pieces of one line have the same source. */
const SOURCE_NAMES: ReadonlySet<string> = new Set([
  'stream',
  'source',
  'logsource',
  'containerid',
  'containername',
  'podname',
  'hostname',
  'host',
  'pid',
  'streamid',
  'logstreamname',
  'systemdunit',
  'file',
  'filename',
  'path',
]);

/** The pieces of a line that a collector split, as a record's texts. */
export interface CutLines {
  /**
   * Adds the text at a place of a record; returns the whole line after its last piece, an empty text while pieces are missing, undefined
   * for a text that is not a piece.
   */
  add(place: string, text: string): string | undefined;
}

/** Removes what terminals and files add to a text. */
export function plainText(text: string): string {
  const trimmed = text.replaceAll(PADDING, '').trimEnd();
  return trimmed.replaceAll(COLOUR, '');
}

/**
 * Finds the gateway's lines anywhere within a value: as objects, as members of OTLP, in texts, in Base64, in lists of bytes. `time` is
 * that of an enclosing record, for collectors that remove the time from a line.
 */
export function linesWithin(value: unknown, time?: string, cuts?: CutLines): readonly string[] {
  const found: string[] = [];
  new Search(found, cuts).search(value, time, '', 0);
  return found;
}

/** Finds the gateway's lines in a text that may have other text before, between and after them. */
export function linesInText(text: string): readonly string[] {
  const found: string[] = [];
  new Search(found, undefined).searchText(text, undefined, 0);
  return found;
}

/** The offset at which a text's last object begins if the text ends within it; undefined if it does not. */
export function cutObject(text: string): number | undefined {
  for (const { index } of text.slice(0, MAX_TEXT).matchAll(OBJECT))
    if (OWN_BEGINNING.test(text.slice(index, index + 64)) && objectEnd(text, index) === undefined)
      return index;
  return undefined;
}

/** Searches one record. */
class Search {
  private readonly found: string[];
  private readonly cuts: CutLines | undefined;

  constructor(found: string[], cuts: CutLines | undefined) {
    this.found = found;
    this.cuts = cuts;
  }

  search(value: unknown, time: string | undefined, place: string, depth: number): void {
    if (depth > MAX_DEPTH) return;
    if (typeof value === 'string') this.searchPlace(value, time, place, depth);
    else if (Array.isArray(value)) this.searchList(value, time, place, depth);
    else if (typeof value === 'object' && value !== null) this.searchObject(value, time, place, depth);
  }

  private searchObject(value: object, time: string | undefined, place: string, depth: number): void {
    const line = ownLine(value, time);
    if (line !== undefined) {
      this.found.push(line);
      return;
    }
    const plain = attributesOf(value);
    if (plain !== undefined) {
      this.search(plain, time, place, depth + 1);
      return;
    }
    const own = timeOf(value) ?? time;
    for (const [name, member] of Object.entries(value))
      this.search(member, own, `${place}/${name}`, depth + 1);
  }

  private searchList(list: readonly unknown[], time: string | undefined, place: string, depth: number): void {
    if (isBytes(list)) {
      this.searchPlace(Buffer.from(list).toString(), time, place, depth);
      return;
    }
    // A list of a time and a text, as of Loki's API.
    const own = timeOfText(list[0]) ?? time;
    for (const item of list) this.search(item, own, place, depth + 1);
  }

  /** Searches a record's text, which may be a piece of a line. */
  private searchPlace(text: string, time: string | undefined, place: string, depth: number): void {
    const whole = this.cuts?.add(place, text);
    if (whole !== '') this.searchText(whole ?? text, time, depth);
  }

  searchText(given: string, time: string | undefined, depth: number): void {
    const text = plainText(given).trimStart();
    if (text.startsWith('eyJ') || text.startsWith('H4sI')) {
      this.search(unpacked(text), time, '', depth + 1);
      return;
    }
    if (!text.includes('{')) return;
    const value = /^[[{]/.test(text) ? parsedJson(text) : undefined;
    if (value === undefined) this.searchObjects(text, time, depth);
    else this.search(value, time, '', depth + 1);
  }

  private searchObjects(text: string, time: string | undefined, depth: number): void {
    if (depth > MAX_DEPTH || text.length > MAX_TEXT) return;
    let from = 0;
    let tries = 0;
    for (const { 0: sign, index } of text.matchAll(OBJECT)) {
      if (index < from) continue;
      tries += 1;
      if (tries > MAX_TRIES) return;
      const before = this.found.length;
      const own = timeOfText(STAMP.exec(text.slice(from, index))?.[0]) ?? time;
      if (/\\|""/.test(sign)) {
        const inner = sign.includes('\\')
          ? text.slice(index).replaceAll(/\\(["\\/])/g, '$1')
          : text.slice(index).replaceAll('""', '"');
        this.searchObjects(inner, own, depth + 1);
        // The rest of the text is in `inner`.
        if (this.found.length > before) return;
        continue;
      }
      const end = objectEnd(text, index);
      const value = end === undefined ? undefined : parsedJson(text.slice(index, end));
      if (end === undefined || value === undefined) continue;
      this.search(value, own, '', depth + 1);
      from = end;
    }
  }
}

/** Returns a line of the gateway with its time, and with the list of edits that some collectors omit if it is empty. */
function ownLine(value: object, outer: string | undefined): string | undefined {
  if (!isLine(value)) return undefined;
  const members: Readonly<Record<string, unknown>> = { ...value };
  const time = timeOfText(members['time']) ?? timeOf(members) ?? outer;
  const line = {
    ...(time === undefined || 'time' in members ? {} : { time }),
    ...members,
    ...(time === undefined ? {} : { time }),
    ...('verdict' in value && !('edits' in value) ? { edits: [] } : {}),
  };
  return JSON.stringify(line);
}

/** True for an entry, or a line of the process log. */
function isLine(value: object): boolean {
  return ('route' in value && 'verdict' in value) || ('event' in value && 'level' in value);
}

/** Reads `{"kvlistValue":{"values":[…]}}` of OTLP, or a log record's list of attributes, as an object. */
function attributesOf(value: object): object | undefined {
  const list = 'kvlistValue' in value ? memberOf(value.kvlistValue, 'values') : undefined;
  if (!Array.isArray(list)) return undefined;
  return Object.fromEntries(
    list.map((pair: unknown) => [String(memberOf(pair, 'key')), plainValue(memberOf(pair, 'value'))]),
  );
}

/** The value in an `AnyValue` of OTLP. */
function plainValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const list = attributesOf(value);
  if (list !== undefined) return list;
  if ('arrayValue' in value) {
    const values = memberOf(value.arrayValue, 'values');
    return Array.isArray(values) ? values.map(plainValue) : [];
  }
  // An int64 is a text in OTLP's JSON.
  if ('intValue' in value) return Number(value.intValue);
  const [inner]: readonly unknown[] = Object.values(value);
  return inner;
}

/** True for a list of bytes: journald's JSON for texts with control characters. */
function isBytes(list: readonly unknown[]): list is readonly number[] {
  return (
    list.length > 8 &&
    list.every((item) => typeof item === 'number' && Number.isInteger(item) && item >= 0 && item <= 255)
  );
}

/** Reads a text of Base64: JSON, or the gzip of it. */
function unpacked(text: string): unknown {
  const bytes = Buffer.from(text, 'base64');
  if (bytes[0] !== 0x1f) return parsedJson(bytes.toString());
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED }).toString();
  } catch {
    return undefined;
  }
}

/** The time of a record, in RFC 3339 with milliseconds. */
export function timeOf(record: object): string | undefined {
  for (const [name, value] of Object.entries(record)) {
    if (!TIME_NAMES.has(plainName(name))) continue;
    const time = timeOfText(value);
    if (time !== undefined) return time;
  }
  return undefined;
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '');
}

/** Reads a time: RFC 3339, or seconds, milliseconds, microseconds or nanoseconds since 1970. */
function timeOfText(value: unknown): string | undefined {
  if (typeof value === 'number') return timeOfNumber(value);
  if (typeof value !== 'string') return undefined;
  if (/^\d{10,19}(?:\.\d{1,9})?$/.test(value)) return timeOfNumber(Number(value));
  const stamp = STAMP.exec(value.slice(0, 40));
  if (stamp?.index !== 0) return undefined;
  const text = stamp[0]
    .replace(' ', 'T')
    .replace(',', '.')
    .replace(/ ?(?:UTC|Z)$/, 'Z')
    .replace(' ', '');
  return isoTime(Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`));
}

/** The least numbers that are milliseconds, microseconds and nanoseconds: each from 1973 on. */
const UNITS = [
  [1e11, 1000],
  [1e14, 1],
  [1e17, 1e-3],
  [Number.POSITIVE_INFINITY, 1e-6],
] as const;

/** Milliseconds of rounding error for a fraction of a second in a 64-bit number. */
const ROUNDING = 0.01;

function timeOfNumber(value: number): string | undefined {
  if (value < 1e8) return undefined;
  const factor = UNITS.find(([limit]) => value < limit)?.[1] ?? 1;
  return isoTime(Math.floor(value * factor + ROUNDING));
}

function isoTime(milliseconds: number): string | undefined {
  return Math.abs(milliseconds) < 1e14 ? new Date(milliseconds).toISOString() : undefined;
}

/** Names a record's source: all texts and numbers with names of sources. */
export function sourceOf(record: unknown, depth = 0): string {
  if (typeof record !== 'object' || record === null || depth > 4) return '';
  let source = '';
  for (const [name, value] of Object.entries(record)) {
    if (typeof value === 'object') source += sourceOf(value, depth + 1);
    else if (SOURCE_NAMES.has(plainName(name))) source += `${name}=${String(value)} `;
  }
  return source;
}

/** The offset after the object that begins at `start`; undefined if the text ends within it. */
function objectEnd(text: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22) {
      at = stringEnd(text, at);
    } else if (unit === 0x7b || unit === 0x5b) depth += 1;
    else if (unit === 0x7d || unit === 0x5d) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}

/** The offset of the quotation mark that ends the text which begins at `start`; the text's length if there is none. */
function stringEnd(text: string, start: number): number {
  let at = text.indexOf('"', start + 1);
  while (at !== -1) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === 0x5c) escapes += 1;
    if (escapes % 2 === 0) return at;
    at = text.indexOf('"', at + 1);
  }
  return text.length;
}

/** The line before each document, as `gcloud logging read` prints them. */
const DOCUMENT = '---';

/** An item of a list, as `aws --output yaml` and `az --output yaml` print records. */
const ITEM = /^- [A-Z_a-z@][\w.@/-]{0,80}:(?: |$)/;

/** A member of a document. Its contents are indented, except the items of a list. */
const MEMBER = /^[A-Z_a-z@][\w.@/-]{0,80}:(?: |$)/;

export function beginsYaml(line: string): boolean {
  return line === DOCUMENT || ITEM.test(line);
}

/** True for a line that belongs to the record that begins with `first`. */
export function continuesYaml(first: string, line: string): boolean {
  if (line === '' || /^\s/.test(line)) return true;
  return first === DOCUMENT && (MEMBER.test(line) || line.startsWith('- '));
}

/** Reads a record in YAML; undefined if it is not valid, or not an object or a list of objects. */
export function yamlValue(text: string): object | undefined {
  try {
    const value: unknown = parse(text, {
      customTags: withoutExponents,
      logLevel: 'error',
      uniqueKeys: false,
    });
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * These tools are written in Python, which treats `51e28812` as a text and prints it without quotation marks; in YAML 1.2 it is a number.
 * Names of clients and rule books are such texts.
 */
function withoutExponents(tags: Tags): Tags {
  return tags.filter((tag) => typeof tag === 'string' || !('format' in tag) || tag.format !== 'EXP');
}
