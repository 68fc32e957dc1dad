import { applyEdits, type Edit } from '../json/edit.ts';
import type { JsonWalker, WalkedNode, WalkVisitor } from '../json/json-walk.ts';

const ascii = new TextEncoder();

/** What stands for a value: its type as a JSON string, so that nobody takes it for the value. `null` is its own type and stays. */
const TYPES = {
  string: ascii.encode('"‹string›"'),
  number: ascii.encode('"‹number›"'),
  boolean: ascii.encode('"‹boolean›"'),
} as const;

/**
 * The structure of a JSON body: names, order, nesting and white space as they came, every value but `null` replaced by its
 * type. No rule looks at a scalar value, so a plan does the same to the structure as it did to the body. Undefined when it is not JSON.
 */
export function bodyStructure(walker: JsonWalker, body: Uint8Array): Uint8Array | undefined {
  const edits: Edit[] = [];
  const visitor: WalkVisitor = {
    enter: (node) => {
      const type = typeOf(node, body);
      if (type !== undefined) edits.push({ start: node.start, end: node.end, insert: type });
    },
  };
  const isJson = walker.walk(body, visitor, false);
  return isJson ? applyEdits(body, edits) : undefined;
}

function typeOf(node: WalkedNode, body: Uint8Array): Uint8Array | undefined {
  if (node.kind === 'string') return TYPES.string;
  if (node.kind !== 'scalar') return undefined;
  const first = body[node.start];
  if (first === 0x6e) return undefined;
  return first === 0x74 || first === 0x66 ? TYPES.boolean : TYPES.number;
}
