import { JsonWalker, type WalkedNode } from '../../json/document.ts';
import { pointerToken } from '../../json/pointer.ts';
import type { TextSpan } from '../api.ts';

/** The place of a value in a laid out text. `key` is empty for a value that is not a member. */
export interface Place {
  readonly key: TextSpan;
  readonly value: TextSpan;
}

/** A formatted JSON text, and the places of its values. */
export interface JsonLayout {
  readonly text: string;
  /** By RFC 6901 pointer; more than one for a repeated name. Folded values have no place. */
  readonly places: ReadonlyMap<string, readonly Place[]>;
  /** True when parts are omitted: each is replaced by `…` and the number of its bytes. */
  readonly isFolded: boolean;
}

export interface LayoutLimits {
  /** Maximum levels of nesting; deeper containers are folded. */
  readonly levels: number;
  /** Maximum values and characters; the rest is omitted. */
  readonly values: number;
  readonly characters: number;
  /** Maximum characters of a pointer that has a place. */
  readonly pointer: number;
}

/** Limits for display: with 500 levels, a text would grow to hundreds of times its size, mostly by white space. */
export const SHOWN_LIMITS: LayoutLimits = { levels: 32, values: 2000, characters: 256 * 1024, pointer: 1024 };

/** Size of a body from which its large parts are folded, and the size of such a part. */
const FOLDED_BODY_BYTES = 64 * 1024;
const FOLDED_PART_BYTES = 4 * 1024;

/** No limits, for commands that compare whole bodies. */
export const NO_LIMITS: LayoutLimits = {
  levels: Number.POSITIVE_INFINITY,
  values: Number.POSITIVE_INFINITY,
  characters: Number.POSITIVE_INFINITY,
  pointer: Number.POSITIVE_INFINITY,
};

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const NO_POINTERS: ReadonlySet<string> = new Set();

/** Bytes to show of a scalar that does not fit. */
const CUT_SCALAR_BYTES = 1024;

/**
 * Formats a JSON text with two spaces per level and one member per line. Only white space changes: numbers, escapes, order and
 * repeated names are those of the bytes. In a large body the large parts are folded, except for the containers in `unfolded`.
 * Undefined when it is not JSON.
 */
export function layOutJson(
  bytes: Uint8Array,
  limits: LayoutLimits = SHOWN_LIMITS,
  unfolded: ReadonlySet<string> = NO_POINTERS,
): JsonLayout | undefined {
  const printer = new LayoutPrinter(bytes, limits, unfolded);
  const isJson = new JsonWalker(limits.levels).walk(bytes, {
    enter: (node) => printer.enter(node),
    leave: (node) => printer.leave(node),
  });
  return isJson ? printer : undefined;
}

/** Returns the pointers and those of all containers around them. */
export function withContainers(pointers: Iterable<string>): ReadonlySet<string> {
  const all = new Set<string>();
  for (const pointer of pointers) {
    for (let end = pointer.length; end >= 0; end = end === 0 ? -1 : pointer.lastIndexOf('/', end - 1))
      all.add(pointer.slice(0, end));
  }
  return all;
}

interface Opened {
  /** Undefined when the pointer exceeds the limit. */
  readonly pointer: string | undefined;
  readonly key: TextSpan;
  readonly start: number;
}

class LayoutPrinter implements JsonLayout {
  text = '';
  isFolded = false;
  readonly places = new Map<string, Place[]>();
  private readonly bytes: Uint8Array;
  private readonly limits: LayoutLimits;
  private readonly unfolded: ReadonlySet<string>;
  /** Bytes beyond which a part is folded. */
  private readonly maxPart: number;
  private readonly opened: Opened[] = [];
  private values = 0;
  private isFull = false;

  constructor(bytes: Uint8Array, limits: LayoutLimits, unfolded: ReadonlySet<string>) {
    this.bytes = bytes;
    this.limits = limits;
    this.unfolded = unfolded;
    const isLarge = limits !== NO_LIMITS && bytes.length > FOLDED_BODY_BYTES;
    this.maxPart = isLarge ? FOLDED_PART_BYTES : Number.POSITIVE_INFINITY;
  }

  /** Prints a value, or the opening of a container; false when its content is not printed. */
  enter(node: WalkedNode): boolean {
    const { kind, keyStart, keyEnd, start, end, path, first } = node;
    if (this.isFull) return false;
    if (path.length > 0) this.text += `${first ? '' : ','}\n${'  '.repeat(path.length)}`;
    if (this.isBeyond(keyEnd - keyStart)) {
      this.text += '…';
      this.isFull = true;
      this.isFolded = true;
      return false;
    }
    this.values += 1;
    const keyAt = this.text.length;
    this.text += decoder.decode(this.bytes.subarray(keyStart, keyEnd));
    const key = { start: keyAt, end: this.text.length };
    if (keyEnd > keyStart) this.text += ': ';
    const opened = { pointer: this.pointerAt(path), key, start: this.text.length };
    const isContainer = kind === 'object' || kind === 'array';
    const isFoldedPart =
      end - start > this.maxPart && path.length > 0 && !this.unfolded.has(opened.pointer ?? '?');
    if (isContainer && path.length < this.limits.levels && !isFoldedPart) {
      this.text += kind === 'object' ? '{' : '[';
      this.opened.push(opened);
      return true;
    }
    this.text += isContainer ? this.folded(kind, end - start) : this.scalar(start, end);
    this.keep(opened);
    return false;
  }

  /** Prints the closing of a container. */
  leave({ kind, path }: WalkedNode): void {
    const container = this.opened.pop();
    if (container === undefined) return;
    const isEmpty = this.text.length === container.start + 1;
    this.text += `${isEmpty ? '' : `\n${'  '.repeat(path.length)}`}${kind === 'object' ? '}' : ']'}`;
    this.keep(container);
  }

  private isBeyond(keyBytes: number): boolean {
    const { values, characters } = this.limits;
    return this.values >= values || this.text.length + keyBytes > characters;
  }

  private folded(kind: 'object' | 'array', bytes: number): string {
    if (bytes === 2) return kind === 'object' ? '{}' : '[]';
    this.isFolded = true;
    return kind === 'object' ? `{ … ${bytes} bytes … }` : `[ … ${bytes} bytes … ]`;
  }

  private scalar(start: number, end: number): string {
    const room = Math.min(this.maxPart, this.limits.characters - this.text.length);
    if (end - start <= room) return decoder.decode(this.bytes.subarray(start, end));
    this.isFolded = true;
    const shown = Math.min(Math.max(0, room), CUT_SCALAR_BYTES);
    return `${decoder.decode(this.bytes.subarray(start, start + shown))}… ${end - start} bytes …`;
  }

  private pointerAt(path: WalkedNode['path']): string | undefined {
    const step = path.at(-1);
    if (step === undefined) return '';
    const around = this.opened.at(-1)?.pointer;
    if (around === undefined || around.length + String(step).length > this.limits.pointer) return undefined;
    return `${around}/${typeof step === 'number' ? step : pointerToken(step)}`;
  }

  private keep({ pointer, key, start }: Opened): void {
    if (pointer === undefined) return;
    const place = { key, value: { start, end: this.text.length } };
    const known = this.places.get(pointer);
    if (known === undefined) this.places.set(pointer, [place]);
    else known.push(place);
  }
}

/** Shortens a text that is not JSON for display. */
export function layOutText(bytes: Uint8Array): string {
  if (bytes.length <= SHOWN_LIMITS.characters) return decoder.decode(bytes);
  return `${decoder.decode(bytes.subarray(0, CUT_SCALAR_BYTES))}… ${bytes.length} bytes …`;
}
