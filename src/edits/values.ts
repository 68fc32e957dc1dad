import { bytesOfText, readScalar, scalarValue, stringText, textOfBytes } from '../json/names.ts';
import { SCALAR, STRING } from '../json/tape.ts';
import { type Draft, type DraftMember, markChanged } from './draft.ts';

const LETTER_N = 0x6e;

/** The JSON text of null. */
export const NULL = 'null';

/** The JSON text of a member or an element whose value is a string or a scalar; undefined for an object or an array. */
export function jsonOf(
  { bytes, tape }: Draft,
  { node, literal, value }: Pick<DraftMember, 'node' | 'literal' | 'value'>,
): string | undefined {
  if (literal !== undefined) return textOfBytes(literal);
  if (value !== undefined || node < 0) return undefined;
  const kind = tape.kind(node);
  if (kind !== STRING && kind !== SCALAR) return undefined;
  return textOfBytes(bytes.subarray(tape.start(node), tape.end(node)));
}

/** The decoded value of a JSON text of a string or a scalar, for a patch. */
export function decoded(json: string): string | number | boolean | null {
  return json.startsWith('"') ? stringText(json.slice(1, -1)) : scalarValue(readScalar(json));
}

/** Replaces the value of a member with the string or scalar `json`. */
export function overwrite(member: DraftMember, json: string): void {
  member.literal = bytesOfText(json);
  member.value = undefined;
  markChanged(member.holder);
}

export function renameTo(member: DraftMember, id: number): void {
  if (member.id === id) return;
  member.id = id;
  member.isRenamed = true;
}

/** True for a member whose value is null. */
export function isNull({ bytes, tape }: Draft, { node, literal }: DraftMember): boolean {
  return (
    node >= 0 && literal === undefined && tape.kind(node) === SCALAR && bytes[tape.start(node)] === LETTER_N
  );
}
