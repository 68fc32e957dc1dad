import { stringEnd } from '../../json/scanner.ts';
import { parsedJson } from '../../rewrite-log/attributes.ts';
import type { Entry, Route, Verdict, Would } from '../../rewrite-log/entry.ts';
import type { EditRecord } from '../../rewrite/records.ts';
import type { ResponseRecord } from '../../rewrite/response-rules.ts';
import type { Comparison } from '../../rollout/comparison-tally.ts';
import {
  HANDOVER_MS,
  LogBooks,
  type LogGap,
  logGaps,
  ReplicaLog,
  replicaOfFile,
  replicaOfPrefix,
  type LogCoverage,
} from '../log-gaps.ts';
import { isAt, recordUse, type Span, SpanCache } from './span.ts';
import type { TallyEntry } from './tally-entry.ts';
import { DAY_MS } from './time-slots.ts';

const OPEN = 0x7b;
const FEED = 0x0a;

/** Maximum replicas that are told apart: entries of further ones count, but their gaps stay unknown. */
const MAX_REPLICAS = 5000;

/** Maximum bytes that a collector writes before a line. */
const MAX_PREFIX_BYTES = 256;

/** Later than any time in RFC 3339. */
const NEVER = '~';

const decoder = new TextDecoder();

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const CLOSE = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const DOT = 0x2e;

const ROUTES: ReadonlySet<unknown> = new Set<Route>(['migrate', 'pass', 'other', 'webhook', 'none']);
const VERDICTS: ReadonlySet<unknown> = new Set<Verdict>([
  'rewritten',
  'unchanged',
  'refused',
  'passed',
  'served',
]);

const NEEDED = 1 | 2 | 4 | 8 | 16;
const NO_EDITS: readonly EditRecord[] = [];

/** The date, or else the number, in the name of a rotated file. */
const DATE = /[.-](\d{4})-?(\d{2})-?(\d{2})(?=[.-]|$)/;
const NUMBER = /[.-](\d{1,5})(?:\.(?:gz|zst))?$/;

/** Takes the entries of a log: a tally, or several. */
export interface EntryTaker {
  add(entry: TallyEntry): void;
}

/** Adds lines of rewrite logs to a tally, and notes the part of the time that each log and each replica covers. */
export class LineTally {
  /** Lines that look like parts of entries, but are not. */
  unreadable = 0;
  /** Lines of other programs that write to the same log: `npm start`, a supervisor, another service. */
  others = 0;
  /** Lines of the process log, which containers merge with the rewrite log. */
  events = 0;
  lines = 0;
  /** Entries dated after the time of the report, which the tally does not get. */
  readonly later: Span = { count: 0, first: '', last: '' };
  /** The rule books of the entries. */
  readonly books = new LogBooks();
  private readonly tally: EntryTaker;
  private readonly now: () => string;
  /** The time of the report when it was last asked for. */
  private latest = '';
  private readonly reader: LogLineReader;
  private readonly logs = new Map<string, MutableCoverage>();
  private readonly replicas = new Map<string, ReplicaLog>();

  /** `now` returns the time of the report in RFC 3339, which advances while a growing log is read. */
  constructor(tally: EntryTaker, now: () => string = () => NEVER, reader = new LogLineReader()) {
    this.tally = tally;
    this.now = now;
    this.reader = reader;
  }

  /** The time that each log covers, in the order in which they were begun. */
  get coverage(): readonly LogCoverage[] {
    return [...this.logs.values()];
  }

  /** The times that the logs of replicas lack. */
  get gaps(): readonly LogGap[] {
    return [...logGaps([...this.replicas.values()]), ...missingFiles(this.coverage)];
  }

  /** Logs that have entries, but none of level `info`: their gateway seems not to write those. */
  get withoutInfo(): readonly string[] {
    return [...this.replicas.values()]
      .filter(({ entries, hasInfo }) => entries > 0 && !hasInfo)
      .map(({ name }) => name);
  }

  /** Begins a log, so that it is listed even if it has no line. */
  begin(file: string): void {
    this.logs.set(file, { file, entries: 0, unreadable: 0, others: 0, events: 0 });
  }

  /** Adds every line of `bytes`, which are part of the log `file`, or of none. */
  add(bytes: Uint8Array, file?: string): void {
    const log = file === undefined ? undefined : this.logs.get(file);
    const ofFile = file === undefined ? undefined : this.replica(replicaOfFile(file));
    let start = 0;
    while (start < bytes.length) {
      const feed = bytes.indexOf(FEED, start);
      const end = feed === -1 ? bytes.length : feed;
      if (end > start) {
        this.lines += 1;
        const replica = bytes[start] === OPEN ? ofFile : (this.ofPrefix(bytes, start, end) ?? ofFile);
        const entry = this.reader.read(bytes, start, end);
        if (entry === undefined) this.skip(bytes.subarray(start, end), log, replica);
        else {
          this.books.add(entry);
          if (this.isLater(entry.time)) recordUse(this.later, entry.time);
          else this.tally.add(entry);
          replica?.add(entry.time, entry.failure === undefined);
          if (log !== undefined) cover(log, entry.time);
        }
      }
      start = end + 1;
    }
  }

  private isLater(time: string): boolean {
    if (time <= this.latest) return false;
    this.latest = this.now();
    return time > this.latest;
  }

  private replica(name: string): ReplicaLog | undefined {
    const known = this.replicas.get(name);
    if (known !== undefined || this.replicas.size >= MAX_REPLICAS) return known;
    const replica = new ReplicaLog(name);
    this.replicas.set(name, replica);
    return replica;
  }

  private ofPrefix(bytes: Uint8Array, start: number, end: number): ReplicaLog | undefined {
    const brace = bytes.subarray(start, Math.min(end, start + MAX_PREFIX_BYTES)).indexOf(OPEN);
    if (brace === -1) return undefined;
    const name = replicaOfPrefix(decoder.decode(bytes.subarray(start, start + brace)));
    return name === undefined ? undefined : this.replica(name);
  }

  private skip(line: Uint8Array, log: MutableCoverage | undefined, replica: ReplicaLog | undefined): void {
    const text = decoder.decode(line);
    const event = processEvent(text);
    if (event !== undefined) replica?.addEvent(event.name, event.time);
    const kind = event !== undefined ? 'events' : mayBeEntry(text) ? 'unreadable' : 'others';
    this[kind] += 1;
    if (log !== undefined) log[kind] += 1;
  }
}

type MutableCoverage = { -readonly [Key in keyof LogCoverage]: LogCoverage[Key] };

function cover(log: MutableCoverage, time: string): void {
  log.entries += 1;
  if (log.since === undefined || time < log.since) log.since = time;
  if (log.until === undefined || time > log.until) log.until = time;
}

/** The event of a line of the process log, also behind the time stamp of a container; undefined for another line. */
function processEvent(line: string): { readonly name: string; readonly time: string } | undefined {
  const brace = line.indexOf('{');
  if (brace === -1) return undefined;
  const value = parsedJson(line.slice(brace));
  if (typeof value !== 'object' || value === null || !('event' in value) || !('level' in value))
    return undefined;
  if ('verdict' in value) return undefined;
  return { name: String(value.event), time: 'time' in value ? String(value.time) : '' };
}

/** Names of members that every entry has or nearly every piece of one; the words of another program rarely are like them. */
const ENTRY_NAMES =
  /\b(?:requestId|verdict|upstreamPath|upstreamMs|totalMs|ruleBook)\b|"edits|"change\\{0,7}"/;

/** The beginning of an entry that ends within its first members. */
const CUT_BEGINNING = /\{\s{0,16}\\{0,7}"(?:time|level)\\{0,7}"[^{}]{0,80}$/;

/** journald's record of a long text, which it omits unless told to print all. */
const LEFT_OUT = /"MESSAGE"\s{0,4}:\s{0,4}null/;

/** True for a line that may be an entry, or a piece of one, whose information is lost. A line of another program contains none. */
export function mayBeEntry(line: string): boolean {
  return ENTRY_NAMES.test(line) || CUT_BEGINNING.test(line) || LEFT_OUT.test(line);
}

type Draft = { -readonly [Key in keyof TallyEntry]: TallyEntry[Key] };

/**
 * Reads the members that a report needs from lines of the rewrite log. One pass reads the top level of a line; each repeated
 * value (clients, lists of edits) is parsed once, by `JSON.parse`, and shared. For a log of 1 GB (764,000 lines, Node 24) a
 * report takes 3.9 s of CPU and 100 MiB this way; with `JSON.parse` of each line 9.8 s and 255 MiB, and with lists shared after
 * parsing, which the tally relies on, 6.5 s and 120 MiB. A property test compares the result with `JSON.parse` for arbitrary
 * lines.
 */
export class LogLineReader {
  private readonly words = new SpanCache<string>(isText);
  private readonly routes = new SpanCache<Route>(isRoute);
  private readonly verdicts = new SpanCache<Verdict>(isVerdict);
  private readonly edits = new SpanCache<readonly EditRecord[]>(isEdits);
  private readonly names = new SpanCache<readonly string[]>(isNames);
  private readonly responseEdits = new SpanCache<readonly ResponseRecord[]>(isEdits);
  private readonly responseWould = new SpanCache<NonNullable<Entry['responseWould']>>(isResponseWould);
  private readonly woulds = new SpanCache<Would>(isWould);
  private readonly comparisons = new SpanCache<Comparison>(isComparison);
  private readonly patches = new SpanCache<readonly unknown[]>(isList);
  private readonly versions = new SpanCache<NonNullable<TallyEntry['apiVersion']>>(isVersion);

  private readonly readsPaths: boolean;

  /** With `readsPaths`, methods and paths are also read of V1 requests with an operation. */
  constructor(readsPaths = false) {
    this.readsPaths = readsPaths;
  }

  /** Reads the line from `start` up to `end`; undefined when it is not an entry. Bytes before the first brace are skipped. */
  read(bytes: Uint8Array, start: number, end: number): TallyEntry | undefined {
    let at = start;
    while (at < end && bytes[at] !== OPEN) at += 1;
    const entry: Draft = { time: '', route: 'none', verdict: 'passed', status: -1, edits: NO_EDITS };
    let foundBits = 0;
    let method = 0;
    let path = 0;
    let upstreamPath = 0;
    let sent = 0;
    let note = 0;
    at += 1;
    while (at < end) {
      const byte = bytes[at] ?? 0;
      if (byte === COMMA || byte <= 0x20) {
        at += 1;
        continue;
      }
      if (byte !== QUOTE) break;
      const key = at + 1;
      at = stringEnd(bytes, at, end);
      const length = at - 1 - key;
      while (at < end && (bytes[at] === COLON || (bytes[at] ?? 0) <= 0x20)) at += 1;
      if (length === 6 && isAt(bytes, key, METHOD)) method = at;
      else if (length === 4 && isAt(bytes, key, PATH)) path = at;
      else if (length === 12 && isAt(bytes, key, UPSTREAM_PATH)) upstreamPath = at;
      else if (length === 4 && isAt(bytes, key, SENT)) sent = at;
      else if (length === 4 && isAt(bytes, key, NOTE)) note = at;
      const list = bytes[at] === OPEN_LIST ? this.takeList(entry, bytes, key, length, at, end) : 0;
      if (list < 0) return undefined;
      if (list > 0) {
        if (length === 5 && isAt(bytes, key, EDITS)) foundBits |= 16;
        at = list;
        continue;
      }
      const stop = valueStop(bytes, at, end);
      if (stop < 0) return undefined;
      foundBits |= this.take(entry, bytes, key, length, at, stop);
      at = stop;
    }
    if (foundBits !== NEEDED || bytes[at] !== CLOSE) return undefined;
    if (
      entry.route !== 'pass' &&
      entry.route !== 'other' &&
      (entry.operation === undefined || this.readsPaths) &&
      method > 0 &&
      path > 0
    ) {
      entry.method = this.words.of(bytes, method, valueStop(bytes, method, end));
      entry.path = textAt(bytes, path, valueStop(bytes, path, end));
    }
    if (upstreamPath > 0)
      entry.upstreamPath =
        entry.status === 0 ? textAt(bytes, upstreamPath, valueStop(bytes, upstreamPath, end)) : '';
    if (note > 0) entry.note = this.words.of(bytes, note, valueStop(bytes, note, end));
    if (entry.status === 0 && sent > 0) entry.sent = isAt(bytes, sent, TRUE);
    return entry;
  }

  /** Stores a list that a report needs; returns the offset after it, 0 for another member, -1 when the line ends in it. */
  private takeList(
    entry: Draft,
    bytes: Uint8Array,
    key: number,
    length: number,
    at: number,
    end: number,
  ): number {
    if (length === 5 && isAt(bytes, key, EDITS)) {
      const { stop, value } = taken(this.edits, bytes, at, end);
      entry.edits = value ?? NO_EDITS;
      return stop;
    }
    // Patches are not read: a known one is skipped without a scan.
    if (length === 5 && isAt(bytes, key, PATCH)) return taken(this.patches, bytes, at, end).stop;
    if (length === 13 && isAt(bytes, key, RESPONSE_EDITS)) {
      const { stop, value } = taken(this.responseEdits, bytes, at, end);
      if (value !== undefined) entry.responseEdits = value;
      return stop;
    }
    if (length === 13 && isAt(bytes, key, RESPONSE_WOULD)) {
      const { stop, value } = taken(this.responseWould, bytes, at, end);
      if (value !== undefined) entry.responseWould = value;
      return stop;
    }
    const name = NAME_LISTS.find(({ word }) => word.length === length && isAt(bytes, key, word))?.name;
    if (name === undefined) return 0;
    const { stop, value } = taken(this.names, bytes, at, end);
    if (value !== undefined) entry[name] = value;
    return stop;
  }

  /** Stores the value of another member that a report needs; returns its bit of `NEEDED`, if it is required. */
  private take(
    entry: Draft,
    bytes: Uint8Array,
    key: number,
    length: number,
    start: number,
    end: number,
  ): number {
    if (length === 4 && isAt(bytes, key, TIME) && end - start === 26) {
      entry.time = timeAt(bytes, start + 1);
      return 1;
    }
    if (length === 5 && isAt(bytes, key, ROUTE)) {
      const route = this.routes.of(bytes, start, end);
      if (route === undefined) return 0;
      entry.route = route;
      return 2;
    }
    if (length === 6 && isAt(bytes, key, STATUS)) {
      entry.status = digits(bytes, start, end);
      return 4;
    }
    if (length === 7 && isAt(bytes, key, VERDICT)) {
      const verdict = this.verdicts.of(bytes, start, end);
      if (verdict === undefined) return 0;
      entry.verdict = verdict;
      return 8;
    }
    if (length === 6 && isAt(bytes, key, CLIENT)) entry.client = this.words.of(bytes, start, end);
    else if (length === 9 && isAt(bytes, key, OPERATION)) entry.operation = this.words.of(bytes, start, end);
    else if (length === 8 && isAt(bytes, key, RULE_BOOK)) entry.ruleBook = this.words.of(bytes, start, end);
    else if (length === 4 && isAt(bytes, key, MODE)) entry.mode = this.words.of(bytes, start, end);
    else if (length === 10 && isAt(bytes, key, VERSION))
      entry.apiVersion = this.versions.of(bytes, start, end);
    else if (length === 7 && isAt(bytes, key, FAILURE)) entry.failure = this.words.of(bytes, start, end);
    else if (length === 5 && isAt(bytes, key, CAUSE)) entry.cause = this.words.of(bytes, start, end);
    else if (length === 7 && isAt(bytes, key, POINTER)) entry.pointer = this.words.of(bytes, start, end);
    else if (length === 10 && isAt(bytes, key, INCOMPLETE)) {
      if (isAt(bytes, start, TRUE)) entry.incomplete = true;
    } else if (length === 7 && isAt(bytes, key, TOTAL_MS)) entry.totalMs = decimal(bytes, start, end);
    else if (length === 10 && isAt(bytes, key, UPSTREAM_MS)) entry.upstreamMs = decimal(bytes, start, end);
    else if (length === 8 && isAt(bytes, key, NEWCOMER))
      entry.newcomer = newcomerNote(this.words.of(bytes, start, end));
    else if (length === 5 && isAt(bytes, key, WOULD)) entry.would = this.woulds.of(bytes, start, end);
    else if (length === 10 && isAt(bytes, key, COMPARISON))
      entry.comparison = this.comparisons.of(bytes, start, end);
    else if (length === 12 && isAt(bytes, key, RESPONSE_NOTE))
      entry.responseNote = this.words.of(bytes, start, end);
    else if (length === 6 && isAt(bytes, key, ORIGIN) && this.words.of(bytes, start, end) === 'v1')
      entry.origin = 'v1';
    else if (length === 4 && isAt(bytes, key, SIDE)) entry.side = sideOf(this.words.of(bytes, start, end));
    return 0;
  }
}

/** Reads a list, and parses it only once; `stop` is the offset after it, -1 when the line ends in it. */
function taken<Value>(
  cache: SpanCache<Value>,
  bytes: Uint8Array,
  at: number,
  end: number,
): { readonly stop: number; readonly value: Value | undefined } {
  const known = cache.begunAt(bytes, at, end);
  const stop = known === undefined ? valueStop(bytes, at, end) : at + known.bytes.length;
  if (stop <= 0) return { stop, value: undefined };
  return { stop, value: (known ?? cache.remember(bytes, at, stop)).value };
}

const TIME = ascii('time');
const ROUTE = ascii('route');
const STATUS = ascii('status');
const VERDICT = ascii('verdict');
const CLIENT = ascii('client');
const OPERATION = ascii('operation');
const RULE_BOOK = ascii('ruleBook');
const VERSION = ascii('apiVersion');
const EDITS = ascii('edits');
const PATCH = ascii('patch');
const ORIGIN = ascii('origin');
const MODE = ascii('mode');
const WOULD = ascii('would');
const COMPARISON = ascii('comparison');
const FAILURE = ascii('failure');
const NEWCOMER_NOTES = ['refused', 'warned', 'would', 'not-known'] as const;
const METHOD = ascii('method');
const NEWCOMER = ascii('newcomer');
const PATH = ascii('path');
const UPSTREAM_PATH = ascii('upstreamPath');
const SENT = ascii('sent');
const SIDE = ascii('side');
const SIDES = ['v1', 'v2', 'neither'] as const;
const NOTE = ascii('note');
const CAUSE = ascii('cause');
const POINTER = ascii('pointer');
const INCOMPLETE = ascii('incomplete');
const TOTAL_MS = ascii('totalMs');
const UPSTREAM_MS = ascii('upstreamMs');
const TRUE = ascii('true');
const RESPONSE_NOTE = ascii('responseNote');
const RESPONSE_EDITS = ascii('responseEdits');
const RESPONSE_WOULD = ascii('responseWould');
const NAME_LISTS = (['attributes', 'errorPointers', 'deprecated', 'unechoed'] as const).map((name) => ({
  name,
  word: ascii(name),
}));

function ascii(word: string): Uint8Array {
  return new TextEncoder().encode(word);
}

/** Returns the offset after the value at `at`; -1 when the line ends in it. */
function valueStop(bytes: Uint8Array, at: number, end: number): number {
  if (bytes[at] === QUOTE) return stringEnd(bytes, at, end);
  let depth = 0;
  let i = at;
  while (i < end) {
    const byte = bytes[i];
    if (byte === QUOTE) {
      i = stringEnd(bytes, i, end);
      continue;
    }
    if (byte === OPEN || byte === OPEN_LIST) depth += 1;
    else if (byte === CLOSE || byte === CLOSE_LIST) {
      if (depth === 0) return i;
      depth -= 1;
      if (depth === 0) return i + 1;
    } else if (byte === COMMA && depth === 0) return i;
    i += 1;
  }
  return -1;
}

function timeAt(bytes: Uint8Array, at: number): string {
  let time = '';
  for (let i = at; i < at + 24; i += 6) {
    time += String.fromCharCode(
      bytes[i] ?? 0,
      bytes[i + 1] ?? 0,
      bytes[i + 2] ?? 0,
      bytes[i + 3] ?? 0,
      bytes[i + 4] ?? 0,
      bytes[i + 5] ?? 0,
    );
  }
  return time;
}

function textAt(bytes: Uint8Array, start: number, end: number): string | undefined {
  const value = parsedJson(decoder.decode(bytes.subarray(start, end)));
  return typeof value === 'string' ? value : undefined;
}

function digits(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let i = start; i < end; i += 1) value = value * 10 + ((bytes[i] ?? 0x30) - 0x30);
  return value;
}

/** A number as `JSON.stringify` prints milliseconds: digits, a dot, at most three more; another form is parsed. */
function decimal(bytes: Uint8Array, start: number, end: number): number | undefined {
  const dot = bytes.subarray(start, end).indexOf(DOT);
  const whole = dot === -1 ? end : start + dot;
  const isPlain = (from: number, to: number): boolean =>
    to > from && to - from < 12 && bytes.subarray(from, to).every((byte) => byte >= 0x30 && byte <= 0x39);
  if (isPlain(start, whole) && dot === -1) return digits(bytes, start, whole);
  if (isPlain(start, whole) && isPlain(whole + 1, end) && end - whole <= 4)
    return (
      (digits(bytes, start, whole) * 1000 + digits(bytes, whole + 1, end) * 10 ** (4 - (end - whole))) / 1000
    );
  const value = parsedJson(decoder.decode(bytes.subarray(start, end)));
  return typeof value === 'number' ? value : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function newcomerNote(text: string | undefined): TallyEntry['newcomer'] {
  return NEWCOMER_NOTES.find((note) => note === text);
}

function sideOf(text: string | undefined): TallyEntry['side'] {
  return SIDES.find((side) => side === text);
}

function isRoute(value: unknown): value is Route {
  return ROUTES.has(value);
}

function isVerdict(value: unknown): value is Verdict {
  return VERDICTS.has(value);
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isNames(value: unknown): value is readonly string[] {
  return isList(value) && value.every((name) => typeof name === 'string');
}

function isEdits(value: unknown): value is readonly (EditRecord & ResponseRecord)[] {
  return isList(value) && value.every((edit) => isPlaced(edit) && isText(edit['rule']));
}

function isResponseWould(value: unknown): value is NonNullable<Entry['responseWould']> {
  return isList(value) && value.every((one) => isPlaced(one) && isText(one['path']));
}

/** An edit of the header section has no pointer, and one that removes a member has no path. */
function isPlaced(value: unknown): value is Record<string, unknown> {
  return (
    isObject(value) &&
    isText(value['change']) &&
    ['from', 'path'].every((name) => value[name] === undefined || isText(value[name]))
  );
}

function isComparison(value: unknown): value is Comparison {
  return (
    isObject(value) &&
    (value['verdict'] === 'same' || value['verdict'] === 'different' || value['verdict'] === 'unknown') &&
    isList(value['differences']) &&
    value['differences'].every((one) => isObject(one) && isText(one['path']) && isText(one['kind']))
  );
}

function isWould(value: unknown): value is Would {
  return (
    isObject(value) &&
    isText(value['verdict']) &&
    ['failure', 'v2', 'at', 'why'].every((name) => value[name] === undefined || isText(value[name]))
  );
}

function isVersion(value: unknown): value is NonNullable<TallyEntry['apiVersion']> {
  return isObject(value) && isText(value['sent']) && isText(value['why']);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** A file of a rotation, by its number or its day since 1970. */
interface RotatedFile {
  readonly coverage: LogCoverage;
  readonly number: number;
}

/** Finds missing files of a rotation by the names of the others, where none of these has entries for some time. */
export function missingFiles(logs: readonly LogCoverage[]): readonly LogGap[] {
  const byLog = Map.groupBy(logs, ({ file }) => replicaOfFile(file));
  return [...byLog].flatMap(([log, files]) => [
    ...missingOf(log, rotatedBy(files, dayOf), isDailyFile),
    ...missingOf(
      log,
      rotatedBy(files, (file) => (file === log ? 0 : numberOf(file))),
      () => true,
    ),
  ]);
}

/** Numbers with many gaps, as in a rotation that several logs share, show nothing. */
function missingOf(
  log: string,
  files: readonly RotatedFile[],
  isExpected: (number: number, files: readonly RotatedFile[]) => boolean,
): readonly LogGap[] {
  const numbers = new Set(files.map(({ number }) => number));
  const followed = files.filter(({ number }) => numbers.has(number + 1)).length;
  if (followed * 2 < files.length - 1) return [];
  return files.flatMap((file, at) => {
    const next = files[at + 1];
    if (next === undefined || next.number - file.number < 2) return [];
    const isMissing = isExpected(file.number + 1, files) || isExpected(next.number - 1, files);
    const [from, until] = between(file.coverage, next.coverage);
    if (!isMissing || !(Date.parse(until) - Date.parse(from) > HANDOVER_MS)) return [];
    const sentence = `A file of ${log} is missing between ${file.coverage.file} and ${next.coverage.file}: nothing is between ${from} and ${until}.`;
    return [{ log, kind: 'file-missing', from, until, sentence }];
  });
}

/** The time between the entries of two files, whichever is the older. */
function between(one: LogCoverage, other: LogCoverage): readonly [from: string, until: string] {
  const [older, younger] = (one.until ?? '') < (other.until ?? '') ? [one, other] : [other, one];
  return [older.until ?? '', younger.since ?? ''];
}

/** A weekday without a file in other weeks, such as one without traffic, is expected to have none. */
function isDailyFile(day: number, files: readonly RotatedFile[]): boolean {
  const days = new Set(files.map(({ number }) => number));
  const [first = 0, last = 0] = [files[0]?.number, files.at(-1)?.number];
  const alike = [day - 7, day + 7].filter((other) => other >= first && other <= last);
  return alike.length > 0 && alike.every((other) => days.has(other));
}

function rotatedBy(
  files: readonly LogCoverage[],
  numberIn: (file: string) => number | undefined,
): readonly RotatedFile[] {
  return files
    .flatMap((coverage) => {
      const number = numberIn(coverage.file);
      return number === undefined ? [] : [{ coverage, number }];
    })
    .sort((one, other) => one.number - other.number);
}

function dayOf(file: string): number | undefined {
  const [, year, month, day] = DATE.exec(file) ?? [];
  const time = Date.parse(`${year}-${month}-${day}`);
  return Number.isNaN(time) ? undefined : time / DAY_MS;
}

function numberOf(file: string): number | undefined {
  const number = DATE.test(file) ? undefined : NUMBER.exec(file)?.[1];
  return number === undefined ? undefined : Number(number);
}
