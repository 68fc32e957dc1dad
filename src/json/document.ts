import { memberName } from './names.ts';
import { type JsonFault, Scanner } from './scanner.ts';
import { ARRAY, OBJECT, STRING, type Tape } from './tape.ts';

/** A value in a JSON document: opaque, and valid only with the document that it comes from. */
type JsonNode = number;

/** Levels of nesting that are walked: the same as the default limit for rewriting. */
const MAX_DEPTH = 512;

/** Bytes that a scanner may take at once for each value of a text that is walked. */
const MAX_VALUE_BYTES = 64;

/** A view of a JSON text: its values by position. Only member names are decoded, and no member is lost. */
export class JsonDocument {
  readonly bytes: Uint8Array;
  private readonly tape: Tape;

  private constructor(bytes: Uint8Array, scanner: Scanner) {
    this.bytes = bytes;
    this.tape = scanner.tape;
  }

  /**
   * Reads a JSON text strictly (RFC 8259) from the byte `from` on, nested at most `depth` levels; returns a fault if the text is
   * invalid.
   */
  static read(bytes: Uint8Array, depth = 512, from = 0): JsonDocument | JsonFault {
    const scanner = new Scanner({ depth, record: depth });
    return scanner.scan(bytes, from) ?? new JsonDocument(bytes, scanner);
  }

  /** The value of the whole text. */
  get root(): JsonNode {
    return 0;
  }

  /** The kind of `node`; a scalar is a number, `true`, `false` or `null`. */
  kindOf(node: JsonNode): JsonKind {
    return kindNamed(this.tape.kind(node));
  }

  /** The bytes of the value, exactly as in the text. */
  valueOf(node: JsonNode): Uint8Array {
    return this.bytes.subarray(this.tape.start(node), this.tape.end(node));
  }

  /** The decoded name of a member. */
  nameOf(member: JsonNode): string {
    return memberName(this.bytes, this.tape, member);
  }

  /** The members of an object or the elements of an array, in order, including repeated members. */
  *childrenOf(node: JsonNode): Generator<JsonNode> {
    let child = this.tape.firstChild(node);
    while (child > 0) {
      yield child;
      child = this.tape.next(child);
    }
  }

  /** The members of an object with the decoded name `name`, in order: more than one if the name is repeated. */
  find(object: JsonNode, name: string): readonly JsonNode[] {
    if (this.kindOf(object) !== 'object') return [];
    return [...this.childrenOf(object)].filter((member) => this.nameOf(member) === name);
  }
}

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
interface WalkVisitor {
  /** Returns false to skip the contents of the container; `leave` is then not called for it. */
  enter(node: WalkedNode): boolean | undefined;
  leave?(node: WalkedNode): void;
}

/** Walks whole JSON texts, each in one pass. The scanner's memory is reused, so one walker serves one walk at a time. */
export class JsonWalker {
  private readonly scanner: Scanner;
  /** Whether the last text was JSON, but was not walked because it has too many values. */
  hasTooMany = false;
  private readonly maxValues: number;

  /** Values deeper than `levels` are not visited, and texts with more than `maxValues` values not walked. */
  constructor(levels = MAX_DEPTH, maxValues = Infinity) {
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
    kind: kindNamed(kind),
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

/** Whether a text begins with the UTF-8 byte order mark (EF BB BF), which JSON must not contain (RFC 8259 section 8.1). */
export function hasByteOrderMark(text: Uint8Array): boolean {
  return text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf;
}

/** A kind of value; a scalar is a number, `true`, `false` or `null`. */
type JsonKind = 'object' | 'array' | 'string' | 'scalar';

function kindNamed(kind: number): JsonKind {
  if (kind === OBJECT) return 'object';
  if (kind === ARRAY) return 'array';
  return kind === STRING ? 'string' : 'scalar';
}
