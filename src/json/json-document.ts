import type { JsonFault } from './json-fault.ts';
import { memberName } from './member-name.ts';
import { Scanner } from './scanner.ts';
import { ARRAY, OBJECT, STRING, type Tape } from './tape.ts';

/** A value in a JSON document: opaque, and valid only with the document that it comes from. */
export type JsonNode = number;

/** A view of a JSON text: its values by position. Only member names are decoded, and no member is lost. */
export class JsonDocument {
  readonly bytes: Uint8Array;
  private readonly tape: Tape;

  private constructor(bytes: Uint8Array, scanner: Scanner) {
    this.bytes = bytes;
    this.tape = scanner.tape;
  }

  /** Reads a JSON text strictly (RFC 8259), nested at most `depth` levels; returns a fault if the text is invalid. */
  static read(bytes: Uint8Array, depth = 512): JsonDocument | JsonFault {
    const scanner = new Scanner({ depth, record: depth });
    return scanner.scan(bytes, 0) ?? new JsonDocument(bytes, scanner);
  }

  /** The value of the whole text. */
  get root(): JsonNode {
    return 0;
  }

  /** The kind of `node`; a scalar is a number, `true`, `false` or `null`. */
  kindOf(node: JsonNode): 'object' | 'array' | 'string' | 'scalar' {
    const kind = this.tape.kind(node);
    if (kind === OBJECT) return 'object';
    if (kind === ARRAY) return 'array';
    return kind === STRING ? 'string' : 'scalar';
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
