/** Integers per node, one for each field. Nodes are in document order, a parent before its children. */
const NODE_SIZE = 8;
const KIND = 0;
const PREVIOUS = 1;
const LEAD = 2;
const KEY_START = 3;
const KEY_END = 4;
const START = 5;
const END = 6;
const NEXT = 7;

export const OBJECT = 2;
export const ARRAY = 4;
export const STRING = 6;

/** A number, `true`, `false` or `null`; a shape does not distinguish it from a string. */
export const SCALAR = 7;

/** Integers that a tape keeps between texts, so that one huge text does not hold memory forever. */
const MAX_RETAINED_CELLS = 1 << 18;

const KIND_MASK = 7;
const ESCAPED_KEY = 8;
const NAME_SHIFT = 4;

/**
 * The bits of a kind and a name that count for a shape. How the key is spelled does not count, nor whether a value is a string or a
 * scalar.
 */
const SHAPE_MASK = ~(ESCAPED_KEY | 1);

/**
 * A position in every text of one shape: the index of the cell that holds its offset or, for a position just inside a bracket,
 * the complement of the cell for the position just outside it. Only `Tape.offset` interprets it.
 */
export type Mark = number;

/** Bytes of one slab; a request for more than an eighth of it gets its own memory. */
const SLAB_BYTES = 65_536;

/**
 * The spans of a text's values, as recorded by a scanner. A node is identified by an integer; the value itself is 0. Offsets are bytes of
 * the text. The fields are read through methods because V8 folds a module's own constants into the code, while an imported one is loaded
 * and checked at each use: that takes a fifth of a scan, measured on Node 24.
 */
export class Tape {
  private cells: Int32Array<ArrayBuffer> = new Int32Array(64 * NODE_SIZE);
  private length = 0;
  private memory: WorkMemory | undefined = undefined;
  /** True when there was no memory for all nodes, so that the tape cannot be read. */
  isIncomplete = false;

  /** Removes all nodes; memory for new ones, beyond the cells that are always kept, is taken from `memory`. */
  clear(memory?: WorkMemory): void {
    this.length = 0;
    this.memory = memory;
    this.isIncomplete = false;
    if (this.cells.length <= MAX_RETAINED_CELLS) return;
    this.cells.buffer.transfer(0);
    this.cells = new Int32Array(64 * NODE_SIZE);
  }

  /**
   * Adds a node whose value starts at `start`, after its sibling `previous` (-1 for the first in its container). Unless the node
   * is a member, its key is empty and at `start`.
   */
  push(previous: number, lead: number, keyStart: number, keyEnd: number, start: number): number {
    const node = this.length;
    this.length = node + NODE_SIZE;
    if (node + NODE_SIZE > this.cells.length) this.grow();
    const cells = this.cells;
    cells[node + PREVIOUS] = previous;
    cells[node + LEAD] = lead;
    cells[node + KEY_START] = keyStart;
    cells[node + KEY_END] = keyEnd;
    cells[node + START] = start;
    cells[node + NEXT] = 0;
    if (previous >= 0) cells[previous + NEXT] = node;
    return node;
  }

  /** Records the kind of the value of `node`, and the id of its name (`NameTable`), 0 for a name that is not in the table. */
  name(node: number, kind: number, id: number, isKeyEscaped: boolean): void {
    this.cells[node + KIND] = kind | (isKeyEscaped ? ESCAPED_KEY : 0) | (id << NAME_SHIFT);
  }

  /** Records the offset after the value of `node`. */
  close(node: number, end: number): void {
    this.cells[node + END] = end;
  }

  /** `OBJECT`, `ARRAY`, `STRING` or `SCALAR`. */
  kind(node: number): number {
    return (this.cells[node + KIND] ?? 0) & KIND_MASK;
  }

  /** The id of the name of a member; 0 for a name that is not in the table. */
  id(node: number): number {
    return (this.cells[node + KIND] ?? 0) >> NAME_SHIFT;
  }

  /** Whether the key of a member contains an escape. */
  isKeyEscaped(node: number): boolean {
    return ((this.cells[node + KIND] ?? 0) & ESCAPED_KEY) !== 0;
  }

  /** Whether the node is the first in its container, so that no delimiter precedes it. */
  isFirst(node: number): boolean {
    return (this.cells[node + PREVIOUS] ?? 0) < 0;
  }

  /** The opening quote of the key. */
  keyStart(node: number): number {
    return this.cells[node + KEY_START] ?? 0;
  }

  /** Just after the closing quote of the key. */
  keyEnd(node: number): number {
    return this.cells[node + KEY_END] ?? 0;
  }

  /** The first byte of the value. */
  start(node: number): number {
    return this.cells[node + START] ?? 0;
  }

  /** Just after the last byte of the value. */
  end(node: number): number {
    return this.cells[node + END] ?? 0;
  }

  /** The next node in the same container; 0 for the last. */
  next(node: number): number {
    return this.cells[node + NEXT] ?? 0;
  }

  /** The node after `node` in the order of the text, in any container; 0 for the last. */
  following(node: number): number {
    const next = node + NODE_SIZE;
    return next < this.length ? next : 0;
  }

  /** The first member or element of `node`; 0 if it has none, or none was recorded. */
  firstChild(node: number): number {
    const child = node + NODE_SIZE;
    return child < this.length && this.start(child) < this.end(node) ? child : 0;
  }

  get size(): number {
    return this.length / NODE_SIZE;
  }

  /**
   * The shape of the text: for all nodes in order, whether they are objects or arrays, the ids of their names, and their previous
   * siblings. Texts that differ only in strings, scalars, spelling, white space or names outside the table have one shape.
   */
  shape(): Int32Array {
    const shape = new Int32Array(this.size * 2);
    for (let k = 0, node = 0; node < this.length; k += 2, node += NODE_SIZE) {
      shape[k] = (this.cells[node + KIND] ?? 0) & SHAPE_MASK;
      shape[k + 1] = this.cells[node + PREVIOUS] ?? 0;
    }
    return shape;
  }

  /** Whether the text has the shape `shape`. */
  hasShape(shape: Int32Array): boolean {
    const cells = this.cells;
    if (shape.length !== this.size * 2) return false;
    for (let k = 0, node = 0; k < shape.length; k += 2, node += NODE_SIZE) {
      if (shape[k] !== ((cells[node + KIND] ?? 0) & SHAPE_MASK)) return false;
      if (shape[k + 1] !== cells[node + PREVIOUS]) return false;
    }
    return true;
  }

  /** A hash of the shape. */
  hash(): number {
    const cells = this.cells;
    let hash = 0;
    for (let node = 0; node < this.length; node += NODE_SIZE) {
      hash = (Math.imul(hash, 31) + ((cells[node + KIND] ?? 0) & SHAPE_MASK)) | 0;
      hash = (Math.imul(hash, 31) + (cells[node + PREVIOUS] ?? 0)) | 0;
    }
    return hash;
  }

  /** The offset of a position in this text. */
  offset(mark: Mark): number {
    if (mark >= 0) return this.cells[mark] ?? 0;
    const outside = this.cells[~mark] ?? 0;
    return ~mark % NODE_SIZE === START ? outside + 1 : outside - 1;
  }

  /** The first byte of the value of `node`. */
  startMark(node: number): Mark {
    return node + START;
  }

  /** Just after the value of `node`. */
  endMark(node: number): Mark {
    return node + END;
  }

  /** The opening quote of the key of `node`. */
  keyStartMark(node: number): Mark {
    return node + KEY_START;
  }

  /** Just after the closing quote of the key of `node`. */
  keyEndMark(node: number): Mark {
    return node + KEY_END;
  }

  /** The start of the delimiter before `node`: white space, then a comma. The first node in a container has none. */
  delimiterMark(node: number): Mark {
    return (this.cells[node + PREVIOUS] ?? 0) + END;
  }

  /** The start of the white space before `node`, just after the delimiter or the opening bracket. */
  leadMark(node: number): Mark {
    return node + LEAD;
  }

  /** Just after the opening bracket of `node`. */
  openMark(node: number): Mark {
    const child = this.firstChild(node);
    return child > 0 ? child + LEAD : ~(node + START);
  }

  /** The start of the white space before the closing bracket of `node`. */
  tailMark(node: number): Mark {
    let child = this.firstChild(node);
    if (child === 0) return this.openMark(node);
    for (let next = this.next(child); next > 0; next = this.next(child)) child = next;
    return child + END;
  }

  /** The closing bracket of `node`. */
  closeMark(node: number): Mark {
    return ~(node + END);
  }

  private grow(): void {
    if (this.isIncomplete) return;
    // Transferred instead of copied: the old array, up to 64 MB, is released at once instead of at the next garbage collection.
    const factor = this.cells.length > MAX_RETAINED_CELLS ? 1.5 : 2;
    const cells = Math.ceil((this.cells.length * factor) / NODE_SIZE) * NODE_SIZE;
    const isLarge = cells > MAX_RETAINED_CELLS;
    const before = this.cells.length > MAX_RETAINED_CELLS ? this.cells.byteLength : 0;
    if (isLarge && this.memory?.take(cells * Int32Array.BYTES_PER_ELEMENT - before) === false) {
      // Writes beyond the end of a typed array have no effect: the rest of the text is still checked.
      this.isIncomplete = true;
      return;
    }
    this.cells = new Int32Array(this.cells.buffer.transfer(cells * Int32Array.BYTES_PER_ELEMENT));
  }
}

/**
 * Allocates small byte arrays from larger blocks of memory: on Node 24 a new array of 0.5 KiB takes 0.45 µs, a view of a slab 0.06 µs.
 * The caller owns its view; the memory of a slab is freed with the last of its views.
 */
export class Slab {
  private memory = new ArrayBuffer(0);
  private used = 0;

  /** Returns `length` bytes that nothing else uses; `larger` returns memory of at least that many if no slab has room. */
  take(length: number, larger: (bytes: number) => Uint8Array = newBytes): Uint8Array {
    if (length > SLAB_BYTES / 8) return larger(length).subarray(0, length);
    if (this.used + length > this.memory.byteLength) {
      this.memory = new ArrayBuffer(SLAB_BYTES);
      this.used = 0;
    }
    const view = new Uint8Array(this.memory, this.used, length);
    this.used += length;
    return view;
  }
}

function newBytes(length: number): Uint8Array {
  return new Uint8Array(length);
}

/** The memory that work on one text may use. */
export interface WorkMemory {
  /** Reserves bytes; false if they do not fit: the work must then stop. */
  readonly take: (bytes: number) => boolean;
  /** Returns memory of at least so many bytes for the result; if absent, the result gets new memory. */
  readonly room?: ((bytes: number) => Uint8Array) | undefined;
}

/** Memory without a limit, for work that clients cannot cause. */
export const unlimitedMemory: WorkMemory = { take: () => true };
