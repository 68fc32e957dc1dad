import { DraftArray, DraftElement, DraftMember, DraftObject, markChanged } from './draft.ts';

/** Makes a copy of `source` for `object`, laid out like `like`; `id` gives it a name, 0 leaves its own. */
export function copyOf(object: DraftObject, source: DraftMember, like: DraftMember, id: number): DraftMember {
  const copy = new DraftMember(id === 0 ? source.id : id, source.node, like.place, like.hasDelimiter, object);
  copy.hasLead = like.hasLead;
  copy.isMoved = true;
  copy.isRenamed = id !== 0 || source.isRenamed;
  copy.literal = source.literal;
  copy.value = cloneValue(source.value, copy);
  return copy;
}

/** Puts `copies` into `object`, behind `behind`, in one go: an object can have as many members as a body has room for. */
export function insertBehind(object: DraftObject, behind: DraftMember, copies: readonly DraftMember[]): void {
  const { members } = object;
  const rest = members.splice(members.indexOf(behind) + 1);
  for (const member of copies) members.push(member);
  for (const member of rest) members.push(member);
  markChanged(object);
}

/** Adds a member that no text has to the end of `object`, laid out like the last one; its value is left to the caller. */
export function addMade(object: DraftObject, id: number): DraftMember {
  const last = object.members.at(-1);
  const made = new DraftMember(id, -1, last?.place ?? -1, last?.hasDelimiter ?? false, object);
  made.hasLead = last?.hasLead ?? false;
  made.isMoved = true;
  object.members.push(made);
  markChanged(object);
  return made;
}

/** A rule may look into the copy later, so all that is known of the value is copied too. */
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
  for (const element of value.elements) {
    const copy = new DraftElement(clone, element.index);
    copy.value = cloneValue(element.value, copy);
    clone.elements.push(copy);
  }
  return clone;
}

function cloneMember(member: DraftMember, holder: DraftObject): DraftMember {
  const clone = new DraftMember(member.id, member.node, member.place, member.hasDelimiter, holder);
  clone.hasLead = member.hasLead;
  clone.isRenamed = member.isRenamed;
  clone.isMoved = member.isMoved;
  clone.literal = member.literal;
  clone.value = cloneValue(member.value, clone);
  return clone;
}
