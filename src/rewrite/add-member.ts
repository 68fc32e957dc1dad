import { DraftArray, DraftElement, DraftMember, DraftObject, markChanged } from './draft.ts';

/** Copies `source` into `object`, formatted like `like`; `id` renames the copy, 0 keeps its own name. */
export function copyOf(object: DraftObject, source: DraftMember, like: DraftMember, id: number): DraftMember {
  const copy = new DraftMember(id === 0 ? source.id : id, source.node, like.place, like.hasDelimiter, object);
  copy.hasLead = like.hasLead;
  copy.isMoved = true;
  copy.isRenamed = id !== 0 || source.isRenamed;
  copy.last = source.last;
  copy.literal = source.literal;
  copy.value = cloneValue(source.value, copy);
  return copy;
}

/** Inserts `copies` into `object` after `behind`, all at once: an object can have as many members as fit into a body. */
export function insertBehind(object: DraftObject, behind: DraftMember, copies: readonly DraftMember[]): void {
  const { members } = object;
  const rest = members.splice(members.indexOf(behind) + 1);
  for (const member of copies) members.push(member);
  for (const member of rest) members.push(member);
  markChanged(object);
}

/** Adds a new member to the end of `object`, formatted like the last one; the caller sets its value. */
export function addMade(object: DraftObject, id: number): DraftMember {
  const last = object.members.at(-1);
  // The last of a group of members has a delimiter of its own.
  const isGroup = last !== undefined && last.last !== last.node;
  const place = isGroup ? last.last : (last?.place ?? -1);
  const made = new DraftMember(id, -1, place, isGroup || (last?.hasDelimiter ?? false), object);
  made.hasLead = isGroup || (last?.hasLead ?? false);
  made.isMoved = true;
  object.members.push(made);
  markChanged(object);
  return made;
}

/** Later rules may read the copy, so everything known of the value is copied too. */
function cloneValue(
  value: DraftObject | DraftArray | undefined,
  up: DraftMember | DraftElement,
): DraftObject | DraftArray | undefined {
  if (value === undefined) return undefined;
  if (value instanceof DraftObject) {
    const clone = new DraftObject(value.node, up);
    clone.hasTail = value.hasTail;
    clone.isChanged = value.isChanged;
    for (const member of value.members) clone.members.push(cloneMember(member, clone));
    return clone;
  }
  const clone = new DraftArray(value.node, up);
  clone.isChanged = value.isChanged;
  clone.isEntered = value.isEntered;
  for (const element of value.elements) {
    const copy = new DraftElement(clone, element.index);
    copy.value = cloneValue(element.value, copy);
    clone.elements.push(copy);
  }
  return clone;
}

function cloneMember(member: DraftMember, holder: DraftObject): DraftMember {
  const clone = new DraftMember(member.id, member.node, member.place, member.hasDelimiter, holder);
  clone.last = member.last;
  clone.hasLead = member.hasLead;
  clone.isRenamed = member.isRenamed;
  clone.isMoved = member.isMoved;
  clone.literal = member.literal;
  clone.value = cloneValue(member.value, clone);
  return clone;
}
