import type { EditRecord } from '../rewrite/rewrite.ts';
import type { Route, Verdict } from './entry.ts';
import type { TallyEntry } from './tally.ts';

/** Different texts of one kind that are kept parsed; beyond it the cache starts again. */
const CACHE = 20_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;

type Draft = { -readonly [Key in keyof TallyEntry]: TallyEntry[Key] };

const ROUTES: ReadonlySet<string> = new Set<Route>(['migrate', 'pass', 'none']);
const VERDICTS: ReadonlySet<string> = new Set<Verdict>(['rewritten', 'unchanged', 'refused', 'passed']);

/**
 * Reads what a report needs from lines of the rewrite log, several times as fast as parsing them whole: one walk over the top
 * level of a line, and every value that comes again (clients, lists of edits) is parsed once and shared.
 * Texts are latin1, one character a byte; what is read from them is UTF-8.
 */
export class LogLineReader {
  readonly #words = new Cache<string>(isText);
  readonly #edits = new Cache<readonly EditRecord[]>(isEdits);
  readonly #attributes = new Cache<readonly string[]>(isNames);
  readonly #versions = new Cache<NonNullable<TallyEntry['apiVersion']>>(isVersion);

  /** Reads the line from `start` up to `end`; undefined when it is no entry. What stands before its first brace is skipped. */
  read(text: string, start: number, end: number): TallyEntry | undefined {
    let at = text.indexOf('{', start);
    if (at === -1 || at >= end) return undefined;
    const entry: Draft = { time: '', route: 'none', verdict: 'passed', status: -1, edits: NO_EDITS };
    let found = 0;
    at += 1;
    while (at < end) {
      const code = text.charCodeAt(at);
      if (code === COMMA || code <= 0x20) {
        at += 1;
        continue;
      }
      if (code !== QUOTE) break;
      const keyEnd = stringEnd(text, at, end);
      const key = at + 1;
      const length = keyEnd - 1 - key;
      at = keyEnd;
      while (at < end && (text.charCodeAt(at) === COLON || text.charCodeAt(at) <= 0x20)) at += 1;
      const valueEnd = valueStop(text, at, end);
      if (valueEnd < 0) return undefined;
      found |= this.#take(entry, text, key, length, at, valueEnd);
      at = valueEnd;
    }
    return found === NEEDED && text.charCodeAt(at) === CLOSE ? entry : undefined;
  }

  /** Keeps the value of a member that a report needs; returns its bit of `NEEDED`, if it is needed. */
  #take(entry: Draft, text: string, key: number, length: number, start: number, end: number): number {
    switch (length) {
      case 4:
        if (!text.startsWith('time', key) || end - start !== 26) return 0;
        entry.time = flatTime(text, start + 1);
        return 1;
      case 5:
        if (text.startsWith('route', key)) {
          const route = this.#words.of(text, start, end);
          if (!isRoute(route)) return 0;
          entry.route = route;
          return 2;
        }
        if (!text.startsWith('edits', key)) return 0;
        if (end - start === 2) return 16;
        entry.edits = this.#edits.of(text, start, end) ?? NO_EDITS;
        return 16;
      case 6:
        if (text.startsWith('status', key)) {
          entry.status = digits(text, start, end);
          return 4;
        }
        if (text.startsWith('client', key)) entry.client = this.#words.of(text, start, end) ?? '-';
        return 0;
      case 7: {
        if (!text.startsWith('verdict', key)) return 0;
        const verdict = this.#words.of(text, start, end);
        if (!isVerdict(verdict)) return 0;
        entry.verdict = verdict;
        return 8;
      }
      case 9:
        if (text.startsWith('operation', key))
          entry.operation = this.#words.of(text, start, end) ?? '(other)';
        return 0;
      case 10:
        if (text.startsWith('apiVersion', key)) {
          const version = this.#versions.of(text, start, end);
          if (version !== undefined) entry.apiVersion = version;
        } else if (text.startsWith('attributes', key)) {
          const names = this.#attributes.of(text, start, end);
          if (names !== undefined) entry.attributes = names;
        }
        return 0;
      default:
        return 0;
    }
  }
}

const NEEDED = 1 | 2 | 4 | 8 | 16;
const NO_EDITS: readonly EditRecord[] = [];

/** Returns the offset behind the closing quote of the string at `at`. */
function stringEnd(text: string, at: number, end: number): number {
  let i = at + 1;
  while (i < end) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) return i + 1;
    i += code === BACKSLASH ? 2 : 1;
  }
  return end;
}

/** Returns the offset behind the value at `at`; -1 when the line ends in it. */
function valueStop(text: string, at: number, end: number): number {
  const first = text.charCodeAt(at);
  if (first === QUOTE) return stringEnd(text, at, end);
  let depth = 0;
  let i = at;
  while (i < end) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = stringEnd(text, i, end);
      continue;
    }
    if (code === OPEN || code === OPEN_LIST) depth += 1;
    else if (code === CLOSE || code === CLOSE_LIST) {
      if (depth === 0) return i;
      depth -= 1;
      if (depth === 0) return i + 1;
    } else if (code === COMMA && depth === 0) return i;
    i += 1;
  }
  return -1;
}

/** A string of its own: a slice would keep the whole chunk of the file in memory for as long as it lives. */
function flatTime(text: string, at: number): string {
  let time = '';
  for (let i = at; i < at + 24; i += 6) {
    time += String.fromCharCode(
      text.charCodeAt(i),
      text.charCodeAt(i + 1),
      text.charCodeAt(i + 2),
      text.charCodeAt(i + 3),
      text.charCodeAt(i + 4),
      text.charCodeAt(i + 5),
    );
  }
  return time;
}

function digits(text: string, start: number, end: number): number {
  let value = 0;
  for (let i = start; i < end; i += 1) value = value * 10 + (text.charCodeAt(i) - 0x30);
  return value;
}

/** Parsed values by their text. */
class Cache<Value> {
  readonly #known = new Map<string, Value>();
  readonly #isValue: (value: unknown) => value is Value;

  constructor(isValue: (value: unknown) => value is Value) {
    this.#isValue = isValue;
  }

  of(text: string, start: number, end: number): Value | undefined {
    const key = text.slice(start, end);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const bytes = Uint8Array.from(key, (character) => character.charCodeAt(0));
    const value = parse(decoder.decode(bytes));
    if (!this.#isValue(value)) return undefined;
    if (this.#known.size >= CACHE) this.#known.clear();
    this.#known.set(latin1(bytes), value);
    return value;
  }
}

const decoder = new TextDecoder();

/** The text again, as a string of its own. */
function latin1(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

function isEdits(value: unknown): value is readonly EditRecord[] {
  return (
    Array.isArray(value) &&
    value.every((edit) => isObject(edit) && isText(edit['change']) && isText(edit['rule']))
  );
}

function isVersion(value: unknown): value is NonNullable<TallyEntry['apiVersion']> {
  return isObject(value) && isText(value['sent']) && isText(value['why']);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isRoute(value: string | undefined): value is Route {
  return value !== undefined && ROUTES.has(value);
}

function isVerdict(value: string | undefined): value is Verdict {
  return value !== undefined && VERDICTS.has(value);
}
