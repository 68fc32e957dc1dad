import { pointerToken } from '../json/json-pointer.ts';
import { memberName } from '../json/member-name.ts';
import { DraftElement, type Draft, type DraftMember, type DraftObject } from './draft.ts';

/**
 * Returns the RFC 6901 pointer of a member in the V1 body; undefined if a rule created it. `node` selects one of a group of
 * members.
 */
export function originPointer(
  draft: Draft,
  member: DraftMember,
  node: number = member.node,
): string | undefined {
  if (node < 0) return undefined;
  return `${originObjectPointer(draft, member.home)}/${originToken(draft, node)}`;
}

/** Returns the pointer of an object in the V1 body. */
export function originObjectPointer(draft: Draft, object: DraftObject): string {
  return originOf(draft, object.origin);
}

/** Returns the token of the member at `node` in pointers into the V1 body. */
export function originToken(draft: Draft, node: number): string {
  return pointerToken(nameOf(draft, draft.tape.id(node), node));
}

function originOf(draft: Draft, holder: DraftMember | DraftElement | undefined): string {
  if (holder === undefined) return '';
  if (!(holder instanceof DraftElement)) return originPointer(draft, holder) ?? '';
  return `${originOf(draft, holder.array.up)}/${holder.index}`;
}

/** Returns the RFC 6901 pointer of a member in the body after the rules so far; undefined if it is not in it. */
export function currentPointer(
  draft: Draft,
  member: DraftMember,
  node: number = member.node,
): string | undefined {
  if (member.isRemoved || member.holder === undefined) return undefined;
  const around = objectPointer(draft, member.holder);
  return around === undefined ? undefined : `${around}/${pointerToken(nameOf(draft, member.id, node))}`;
}

/** Returns the pointer of an object in the body after the rules so far; undefined if it is not in it. */
export function objectPointer(draft: Draft, object: DraftObject): string | undefined {
  if (object === draft.root) return '';
  return object.up === undefined ? undefined : valuePointer(draft, object.up);
}

function valuePointer(draft: Draft, holder: DraftMember | DraftElement): string | undefined {
  if (!(holder instanceof DraftElement)) return currentPointer(draft, holder);
  const around = valuePointer(draft, holder.array.up);
  return around === undefined ? undefined : `${around}/${holder.index}`;
}

/** Returns the current name of a member. */
export function currentName(draft: Draft, member: DraftMember): string {
  return nameOf(draft, member.id, member.node);
}

/** Only names that no rule uses have to be decoded. */
function nameOf(draft: Draft, id: number, node: number): string {
  return id > 0 ? draft.names.name(id) : memberName(draft.bytes, draft.tape, node);
}
