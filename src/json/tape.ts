/** Integers of a node: one field each. Nodes stand in document order, a parent before its children. */
const SIZE = 8;
const KIND = 0;
const DELIMITER = 1;
const LEAD = 2;
const KEY_START = 3;
const KEY_END = 4;
const START = 5;
const END = 6;
const NEXT = 7;

export const OBJECT = 1;
export const ARRAY = 2;
export const STRING = 3;
/** A number, `true`, `false` or `null`. */
export const SCALAR = 4;

/** Integers that a tape keeps from one text to the next: one huge text must not hold memory for ever. */
const MOST_KEPT = 1 << 18;

const KIND_MASK = 7;
const ESCAPED_KEY = 8;
const NAME_SHIFT = 4;

/**
 * The spans of a text's values, as a scanner saw them. A node is named by an integer; the value itself is 0. Offsets are
 * bytes of the text. The fields are read through methods because V8 folds a module's own constants into the code, while
 * an imported one is loaded and checked at each use: a fifth of a scan, measured on Node 24.
 */
export class Tape {
  #cells = new Int32Array(64 * SIZE);
  #length = 0;

  /** Forgets all nodes. */
  clear(): void {
    this.#length = 0;
    if (this.#cells.length > MOST_KEPT) this.#cells = new Int32Array(64 * SIZE);
  }

  /** Adds a node whose value starts at `start`; for what is not a member, the key is empty and there. */
  push(delimiter: number, lead: number, keyStart: number, keyEnd: number, start: number): number {
    const node = this.#length;
    this.#length = node + SIZE;
    if (node + SIZE > this.#cells.length) this.#grow();
    const cells = this.#cells;
    cells[node + DELIMITER] = delimiter;
    cells[node + LEAD] = lead;
    cells[node + KEY_START] = keyStart;
    cells[node + KEY_END] = keyEnd;
    cells[node + START] = start;
    cells[node + NEXT] = 0;
    return node;
  }

  /** Notes what the value of `node` is, and the id of its name (`NameTable`), 0 when nobody looks for it. */
  name(node: number, kind: number, id: number, isKeyEscaped: boolean): void {
    this.#cells[node + KIND] = kind | (isKeyEscaped ? ESCAPED_KEY : 0) | (id << NAME_SHIFT);
  }

  /** Notes the offset behind the value of `node`. */
  close(node: number, end: number): void {
    this.#cells[node + END] = end;
  }

  /** Makes `next` the sibling of `node`. */
  link(node: number, next: number): void {
    this.#cells[node + NEXT] = next;
  }

  /** `OBJECT`, `ARRAY`, `STRING` or `SCALAR`. */
  kind(node: number): number {
    return (this.#cells[node + KIND] ?? 0) & KIND_MASK;
  }

  /** The id of the name of a member; 0 when nobody looks for it. */
  id(node: number): number {
    return (this.#cells[node + KIND] ?? 0) >> NAME_SHIFT;
  }

  /** Whether the key of a member is spelled with an escape. */
  isKeyEscaped(node: number): boolean {
    return ((this.#cells[node + KIND] ?? 0) & ESCAPED_KEY) !== 0;
  }

  /** Where the delimiter before the node starts: white space, then a comma; -1 for the first in its container. */
  delimiter(node: number): number {
    return this.#cells[node + DELIMITER] ?? 0;
  }

  /** Where the white space before the node starts, just behind the delimiter or the opening bracket. */
  lead(node: number): number {
    return this.#cells[node + LEAD] ?? 0;
  }

  /** The opening quote of the key. */
  keyStart(node: number): number {
    return this.#cells[node + KEY_START] ?? 0;
  }

  /** Just behind the closing quote of the key. */
  keyEnd(node: number): number {
    return this.#cells[node + KEY_END] ?? 0;
  }

  /** The first byte of the value. */
  start(node: number): number {
    return this.#cells[node + START] ?? 0;
  }

  /** Just behind the last byte of the value. */
  end(node: number): number {
    return this.#cells[node + END] ?? 0;
  }

  /** The next node in the same container; 0 for the last. */
  next(node: number): number {
    return this.#cells[node + NEXT] ?? 0;
  }

  /** The first member or element of `node`; 0 when it has none, or none was recorded. */
  firstChild(node: number): number {
    const child = node + SIZE;
    return child < this.#length && this.start(child) < this.end(node) ? child : 0;
  }

  #grow(): void {
    const cells = new Int32Array(this.#cells.length * 2);
    cells.set(this.#cells);
    this.#cells = cells;
  }
}
