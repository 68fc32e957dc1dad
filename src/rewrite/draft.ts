import type { NameTable } from '../json/member-name.ts';
import { ARRAY, OBJECT, type Tape } from '../json/tape.ts';
import type { WorkMemory } from '../json/work-memory.ts';

/** A member of a draft object: a member of the V1 body, perhaps renamed or moved, or one that a rule created. */
export class DraftMember {
  /** The id of its name in the plan's name table; 0 if no rule uses the name. */
  id: number;
  /** Its node on the tape; -1 if a rule created it. */
  readonly node: number;
  /** The last node of its group: consecutive members that no rule uses may be grouped into one. */
  last: number;
  /** The node whose preceding delimiter and white space it uses. */
  place: number;
  hasDelimiter: boolean;
  hasLead: boolean;
  /** True if a rule renamed it to the name of `id`. */
  isRenamed = false;
  /** True if it is no longer in its original place, so that its bytes are copied. */
  isMoved = false;
  isRemoved = false;
  /** Its value, once a rule has opened it. */
  value: DraftObject | DraftArray | undefined = undefined;
  /** The bytes of a JSON value that a rule wrote in place of its own. */
  literal: Uint8Array | undefined = undefined;
  /** The object that it was originally in. */
  readonly home: DraftObject;
  /** The object that it is in now; undefined for the member that became the body. */
  holder: DraftObject | undefined;

  constructor(id: number, node: number, place: number, hasDelimiter: boolean, holder: DraftObject) {
    this.id = id;
    this.node = node;
    this.last = node;
    this.place = place;
    this.hasDelimiter = hasDelimiter;
    this.hasLead = true;
    this.home = holder;
    this.holder = holder;
  }
}

/** An object of the body that rules use. */
export class DraftObject {
  /** Its node on the tape; -1 if a rule created it. */
  readonly node: number;
  readonly members: DraftMember[] = [];
  /** Its original container: a member, an element of an array, or the body (undefined). */
  readonly origin: DraftMember | DraftElement | undefined;
  /** Its current container. */
  up: DraftMember | DraftElement | undefined;
  /** True if the white space before its closing bracket is kept. */
  hasTail = true;
  /** True if it, or anything in it, has changed. */
  isChanged = false;

  constructor(node: number, up: DraftMember | DraftElement | undefined) {
    this.node = node;
    this.origin = up;
    this.up = up;
  }
}

/** An array of the body that rules use, with the objects and arrays in it. */
export class DraftArray {
  readonly node: number;
  /** Its elements, once a rule has entered it. */
  readonly elements: DraftElement[] = [];
  isEntered = false;
  readonly up: DraftMember | DraftElement;
  isChanged = false;

  constructor(node: number, up: DraftMember | DraftElement) {
    this.node = node;
    this.up = up;
  }
}

/** An element of a draft array: its value is an object or an array. */
export class DraftElement {
  readonly array: DraftArray;
  readonly index: number;
  value: DraftObject | DraftArray | undefined = undefined;

  constructor(array: DraftArray, index: number) {
    this.array = array;
    this.index = index;
  }
}

/** Members and elements of a draft whose memory is not counted. */
const FREE_PARTS = 1024;
/** Members and elements whose memory is taken at once. */
const PARTS_AT_ONCE = 4096;
/** Bytes of a member or an element with its object, its part of the recipe and its edit. */
const PART_BYTES = 512;

/** The V1 body while rules are applied: the parts that rules use, in their state after the rules so far. */
export class Draft {
  readonly bytes: Uint8Array;
  readonly tape: Tape;
  readonly names: NameTable;
  /** The current body. */
  root: DraftObject;
  /** True when there was not enough memory for the parts that rules use: it cannot be printed. */
  isIncomplete = false;
  private readonly isGrouped: boolean;
  private readonly memory: WorkMemory | undefined;
  /** Parts that may still be added with the memory taken so far. */
  private freeParts = FREE_PARTS;

  /** With `isGrouped`, consecutive members that no rule uses are grouped into one; large ones take memory from `memory`. */
  constructor(
    bytes: Uint8Array,
    tape: Tape,
    names: NameTable,
    isGrouped: boolean,
    memory: WorkMemory | undefined,
  ) {
    this.bytes = bytes;
    this.tape = tape;
    this.names = names;
    this.isGrouped = isGrouped;
    this.memory = memory;
    this.root = this.object(0, undefined);
  }

  /**
   * Calls `visit` with each object at `path`, whose segments are ids of names and -1 for `*`; stops when `visit` returns a value.
   */
  each<T>(
    path: readonly number[],
    visit: (object: DraftObject) => T | undefined,
    ambiguous: (id: number, member: DraftMember) => T | undefined,
  ): T | undefined {
    return this.walk(this.root, path, 0, visit, ambiguous);
  }

  /** Opens the value of `member` and reads its members or elements. Undefined for a string or a scalar. */
  open(member: DraftMember | DraftElement, node: number): DraftObject | DraftArray | undefined {
    if (member.value !== undefined || node < 0) return member.value;
    const kind = this.tape.kind(node);
    if (kind === OBJECT) member.value = this.object(node, member);
    if (kind === ARRAY) member.value = new DraftArray(node, member);
    return member.value;
  }

  private walk<T>(
    value: DraftObject | DraftArray | undefined,
    path: readonly number[],
    at: number,
    visit: (object: DraftObject) => T | undefined,
    ambiguous: (id: number, member: DraftMember) => T | undefined,
  ): T | undefined {
    if (value === undefined) return undefined;
    if (at === path.length) return value instanceof DraftObject ? visit(value) : undefined;
    const id = path[at] ?? 0;
    if (value instanceof DraftArray) {
      if (id !== -1) return undefined;
      this.enter(value);
      for (const element of value.elements) {
        const outcome = this.walk(element.value, path, at + 1, visit, ambiguous);
        if (outcome !== undefined) return outcome;
      }
      return undefined;
    }
    if (id === -1) return undefined;
    const member = find(value, id);
    if (member === undefined) return undefined;
    if (isRepeated(value, id, member)) {
      const outcome = ambiguous(id, member);
      if (outcome !== undefined) return outcome;
    }
    return this.walk(this.open(member, member.node), path, at + 1, visit, ambiguous);
  }

  private object(node: number, up: DraftMember | DraftElement | undefined): DraftObject {
    const object = new DraftObject(node, up);
    const { tape } = this;
    let group: DraftMember | undefined;
    for (let child = tape.firstChild(node); child > 0; child = tape.next(child)) {
      const id = tape.id(child);
      if (id === 0 && group !== undefined) {
        group.last = child;
        continue;
      }
      if (!this.hasRoom()) break;
      const member = new DraftMember(id, child, child, !tape.isFirst(child), object);
      object.members.push(member);
      group = id === 0 && this.isGrouped ? member : undefined;
    }
    return object;
  }

  /** Lists the elements of an array that are objects or arrays. */
  private enter(array: DraftArray): void {
    if (array.isEntered) return;
    array.isEntered = true;
    let index = 0;
    for (let child = this.tape.firstChild(array.node); child > 0; child = this.tape.next(child)) {
      if (!this.hasRoom()) break;
      const element = new DraftElement(array, index);
      if (this.open(element, child) !== undefined) array.elements.push(element);
      index += 1;
    }
  }

  private hasRoom(): boolean {
    if (this.isIncomplete) return false;
    this.freeParts -= 1;
    if (this.freeParts >= 0 || this.memory === undefined) return true;
    this.freeParts = PARTS_AT_ONCE;
    this.isIncomplete = !this.memory.take(PARTS_AT_ONCE * PART_BYTES);
    return !this.isIncomplete;
  }
}

/** Returns the last member of `object` with the name `id`. */
export function find(object: DraftObject, id: number): DraftMember | undefined {
  const { members } = object;
  for (let k = members.length - 1; k >= 0; k -= 1) {
    const member = members[k];
    if (member !== undefined && member.id === id) return member;
  }
  return undefined;
}

/** Whether `object` has a member with the name `id` other than `last`. */
export function isRepeated(object: DraftObject, id: number, last: DraftMember): boolean {
  for (const member of object.members) {
    if (member.id === id && member !== last) return true;
  }
  return false;
}

/** Removes `member` from its object, with exactly one delimiter. */
export function take(member: DraftMember): void {
  const object = member.holder;
  if (object === undefined) return;
  remove(object, member);
  member.isRemoved = true;
  settle(object);
}

/** Removes `member` from the list of `object`, without any other change. */
export function remove(object: DraftObject, member: DraftMember): void {
  const { members } = object;
  // A loop, because `splice` creates a list of the removed members.
  for (let k = members.indexOf(member); k < members.length - 1; k += 1) {
    const next = members[k + 1];
    if (next !== undefined) members[k] = next;
  }
  members.pop();
}

/** Removes many members from `object`, in time proportional to its members and not to their square. */
export function takeAll(object: DraftObject, taken: readonly DraftMember[]): void {
  for (const member of taken) member.isRemoved = true;
  let length = 0;
  for (const member of object.members) {
    if (member.isRemoved) continue;
    object.members[length] = member;
    length += 1;
  }
  // A loop, because setting `length` calls into the runtime.
  while (object.members.length > length) object.members.pop();
  settle(object);
}

/** Restores the invariants of an object after a change: no delimiter before the first member, no space when empty. */
export function settle(object: DraftObject): void {
  const first = object.members[0];
  if (first === undefined) object.hasTail = false;
  else first.hasDelimiter = false;
  markChanged(object);
}

/** Marks `value` and its containers as changed. */
export function markChanged(value: DraftObject | DraftArray): void {
  for (
    let at: DraftObject | DraftArray | undefined = value;
    at !== undefined && !at.isChanged;
    at = containerOf(at)
  ) {
    at.isChanged = true;
  }
}

function containerOf(value: DraftObject | DraftArray): DraftObject | DraftArray | undefined {
  return value.up instanceof DraftElement ? value.up.array : value.up?.holder;
}
