import type { Span } from '../tally/span.ts';

/** A record that nobody can read: damaged, or of another version. */
export class DamagedRecord extends Error {
  override readonly name = 'DamagedRecord';
}

/** Returns what `read` returns; undefined when it throws `DamagedRecord`. */
export function unlessDamaged<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DamagedRecord) return undefined;
    throw error;
  }
}

/** A time for a record: milliseconds since 1970 for RFC 3339 as this gateway writes it, half as long; other text as it is. */
export function packTime(time: string): number | string {
  if (time === '') return 0;
  const milliseconds = Date.parse(time);
  if (Number.isNaN(milliseconds) || milliseconds <= 0) return time;
  return new Date(milliseconds).toISOString() === time ? milliseconds : time;
}

/** The three fields of a span. */
export function packSpan({ count, first, last }: Span): readonly (number | string)[] {
  return [count, packTime(first), packTime(last)];
}

/** Numbers in ascending order for a record: the first one, and a bit for each from there on, as hexadecimal digits. */
export function packNumbers(numbers: Iterable<number>): string {
  let first: number | undefined;
  const nibbles: number[] = [];
  for (const number of numbers) {
    first ??= number;
    const at = (number - first) >> 2;
    while (nibbles.length <= at) nibbles.push(0);
    nibbles[at] = (nibbles[at] ?? 0) | (1 << ((number - first) & 3));
  }
  return first === undefined ? '' : `${first}:${nibbles.map((nibble) => nibble.toString(16)).join('')}`;
}

/** Reads the fields of a list in their order; throws `DamagedRecord` where one has another type. */
export class FieldReader {
  private readonly fields: readonly unknown[];
  private at = 0;

  constructor(value: unknown) {
    this.fields = listOf(value);
  }

  /** True after the last field: a record of an earlier version has fewer. */
  get isOver(): boolean {
    return this.at >= this.fields.length;
  }

  number(): number {
    const value = this.next();
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new DamagedRecord('no number');
    return value;
  }

  text(): string {
    const value = this.next();
    if (typeof value !== 'string') throw new DamagedRecord('no text');
    return value;
  }

  /** Text; undefined for null. */
  textOrNone(): string | undefined {
    const value = this.next();
    if (value === null) return undefined;
    if (typeof value !== 'string') throw new DamagedRecord('no text');
    return value;
  }

  /** A time of `packTime`. */
  time(): string {
    const value = this.next();
    if (typeof value === 'string') return value;
    if (typeof value !== 'number' || !(value >= 0 && value < 8.64e15)) throw new DamagedRecord('no time');
    return value === 0 ? '' : new Date(value).toISOString();
  }

  span(): Span {
    return { count: this.number(), first: this.time(), last: this.time() };
  }

  /** Numbers of `packNumbers`. */
  numbers(): readonly number[] {
    const text = this.text();
    const [first = '', digits = ''] = text.split(':');
    const base = Number(first);
    if (text === '' || !Number.isSafeInteger(base)) return [];
    const numbers: number[] = [];
    for (let at = 0; at < digits.length; at += 1) {
      const nibble = Number.parseInt(digits.charAt(at), 16);
      for (let bit = 0; bit < 4; bit += 1) if ((nibble & (1 << bit)) !== 0) numbers.push(base + at * 4 + bit);
    }
    return numbers;
  }

  /** A list, with a reader of its own. */
  list(): FieldReader {
    return new FieldReader(this.next());
  }

  /** A list of lists, each with a reader of its own. */
  lists(): readonly FieldReader[] {
    return listOf(this.next()).map((value) => new FieldReader(value));
  }

  /** A list of texts. */
  texts(): readonly string[] {
    return listOf(this.next()).map((value) => {
      if (typeof value !== 'string') throw new DamagedRecord('no text');
      return value;
    });
  }

  private next(): unknown {
    this.at += 1;
    return this.fields[this.at - 1];
  }
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new DamagedRecord('no list');
  return value;
}
