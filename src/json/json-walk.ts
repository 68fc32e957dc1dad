import { hasByteOrderMark } from './byte-order-mark.ts';
import { memberName } from './member-name.ts';
import { Scanner } from './scanner.ts';
import { ARRAY, OBJECT, STRING, type Tape } from './tape.ts';

/** A value visited on a walk through a JSON text. Offsets are bytes; unless the value is a member, `keyStart` equals `keyEnd`. */
export interface WalkedNode {
  readonly kind: 'object' | 'array' | 'string' | 'scalar';
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly start: number;
  readonly end: number;
  /** Names and indexes from the root; the walk reuses the array. */
  readonly path: readonly (string | number)[];
  /** True for the first child of its container. */
  readonly first: boolean;
}

/** Receives the nodes in document order; `leave` is called after the last child of a container. */
export interface WalkVisitor {
  /** Returns false to skip the contents of the container; `leave` is then not called for it. */
  enter(node: WalkedNode): boolean | undefined;
  leave?(node: WalkedNode): void;
}

/** Levels of nesting that are walked: the same as the default limit for rewriting. */
const MAX_DEPTH = 512;

/** Bytes that a scanner may take at once for each value of a text that is walked. */
const MAX_VALUE_BYTES = 64;

/** Walks whole JSON texts, each in one pass. The scanner's memory is reused, so one walker serves one walk at a time. */
export class JsonWalker {
  private readonly scanner: Scanner;
  /** Whether the last text was JSON, but was not walked because it has too many values. */
  hasTooMany = false;
  private readonly maxValues: number;

  /** Texts with more than `mostValues` values are not walked, and values deeper than `levels` are not visited. */
  constructor(maxValues = Number.POSITIVE_INFINITY, levels = MAX_DEPTH) {
    this.maxValues = maxValues;
    this.scanner = new Scanner({ depth: MAX_DEPTH, record: Math.min(levels, MAX_DEPTH) });
  }

  /**
   * Visits every value of `bytes`; returns false without visiting any if they are not JSON, are too deep or have too many values.
   */
  walk(bytes: Uint8Array, visitor: WalkVisitor): boolean {
    const from = hasByteOrderMark(bytes) ? 3 : 0;
    const { tape } = this.scanner;
    this.hasTooMany = false;
    const memory = { take: (taken: number) => taken <= this.maxValues * MAX_VALUE_BYTES };
    if (bytes.length === 0 || this.scanner.scan(bytes, from, memory) !== undefined) return false;
    this.hasTooMany = tape.isIncomplete || tape.size > this.maxValues;
    if (this.hasTooMany) return false;
    visit(bytes, tape, 0, [], true, visitor);
    return true;
  }
}

function visit(
  bytes: Uint8Array,
  tape: Tape,
  at: number,
  path: (string | number)[],
  first: boolean,
  visitor: WalkVisitor,
): void {
  const kind = tape.kind(at);
  const node: WalkedNode = {
    kind: kind === OBJECT ? 'object' : kind === ARRAY ? 'array' : kind === STRING ? 'string' : 'scalar',
    keyStart: tape.keyStart(at),
    keyEnd: tape.keyEnd(at),
    start: tape.start(at),
    end: tape.end(at),
    path,
    first,
  };
  const isOpened = visitor.enter(node) !== false;
  if (!isOpened || (kind !== OBJECT && kind !== ARRAY)) return;
  let child = tape.firstChild(at);
  for (let index = 0; child !== 0; index += 1) {
    path.push(kind === OBJECT ? memberName(bytes, tape, child) : index);
    visit(bytes, tape, child, path, index === 0, visitor);
    path.pop();
    child = tape.next(child);
  }
  visitor.leave?.(node);
}
