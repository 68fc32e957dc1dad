import { concatBytes } from '../http/byte-collector.ts';
import type { Edit } from '../json/edit.ts';
import { decodeString, memberName, type NameTable, NO_BYTES, printString } from '../json/names.ts';
import { pointerToken } from '../json/pointer.ts';
import { ARRAY, type Mark, OBJECT, STRING, type Tape, type WorkMemory } from '../json/tape.ts';

/** Members and elements of a draft whose memory is not counted. */
const FREE_PARTS = 1024;

/** Members and elements whose memory is taken at once. */
const PARTS_AT_ONCE = 4096;

/** Bytes of a member or an element with its object, its part of the recipe and its edit. */
const PART_BYTES = 512;

const OPEN = Uint8Array.of(0x7b);
const CLOSE = Uint8Array.of(0x7d);
const OPEN_LIST = Uint8Array.of(0x5b);
const CLOSE_LIST = Uint8Array.of(0x5d);
const COMMA = Uint8Array.of(0x2c);
const COLON = Uint8Array.of(0x3a);

/** The segment of a path for an object at any depth, itself included. */
export const ANYWHERE = -2;

/** The V1 body while rules apply: the parts that rules use, in their state after the rules so far. */
export class Draft {
  readonly bytes: Uint8Array;
  readonly tape: Tape;
  readonly names: NameTable;
  /** The current body; without members for a body that is an array. */
  root: DraftObject;
  /** The body if it is an array. */
  list: DraftArray | undefined;
  /** True if there was not enough memory for the parts that rules use: the draft cannot be printed. */
  isIncomplete = false;
  private readonly isGrouped: boolean | 'scalars';
  private readonly memory: WorkMemory | undefined;
  /** Parts that may still be added with the memory taken so far. */
  private freeParts = FREE_PARTS;

  /**
   * With `isGrouped`, consecutive members that no rule uses are grouped into one; with `scalars`, only strings and scalars are. Large
   * drafts take memory from `memory`.
   */
  constructor(
    bytes: Uint8Array,
    tape: Tape,
    names: NameTable,
    isGrouped: boolean | 'scalars',
    memory: WorkMemory | undefined,
  ) {
    this.bytes = bytes;
    this.tape = tape;
    this.names = names;
    this.isGrouped = isGrouped;
    this.memory = memory;
    this.list = tape.kind(0) === ARRAY ? new DraftArray(0, undefined) : undefined;
    this.root = this.list === undefined ? this.object(0, undefined) : new DraftObject(-1, undefined);
  }

  /**
   * Calls `visit` with each object at `path`, whose segments are ids of names, -1 for `*` and {@link ANYWHERE}; stops when `visit`
   * returns a value.
   */
  each<T>(
    path: readonly number[],
    visit: (object: DraftObject) => T | undefined,
    ambiguous: (id: number, member: DraftMember) => T | undefined,
  ): T | undefined {
    return this.walk(this.list ?? this.root, path, 0, visit, ambiguous);
  }

  /** Opens the value of `member` and reads its members or elements. Undefined for a string or a scalar. */
  open(member: DraftMember | DraftElement, node: number): DraftObject | DraftArray | undefined {
    if (member.value !== undefined || node < 0 || member.literal !== undefined) return member.value;
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
    if (id === ANYWHERE) {
      // The body may be an array, but a named step of a path leads to an object: `*` is the step for elements of an array.
      if (at > 0 && value instanceof DraftArray) return undefined;
      // Inner objects come first, so that an object that a rule moves into another is not visited again.
      for (const object of this.objectsIn(value).reverse()) {
        const outcome = this.walk(object, path, at + 1, visit, ambiguous);
        if (outcome !== undefined) return outcome;
      }
      return undefined;
    }
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

  /** Returns all objects in a value, itself included: each after its containers, siblings in the reverse order of the text. */
  private objectsIn(value: DraftObject | DraftArray): DraftObject[] {
    const found: DraftObject[] = [];
    const waiting = [value];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (next instanceof DraftObject) {
        found.push(next);
        for (const member of next.members) {
          const inner = member.last === member.node ? this.open(member, member.node) : undefined;
          if (inner !== undefined) waiting.push(inner);
        }
      } else {
        this.enter(next);
        for (const { value: inner } of next.elements) if (inner !== undefined) waiting.push(inner);
      }
    }
    return found;
  }

  private object(node: number, up: DraftMember | DraftElement | undefined): DraftObject {
    const object = new DraftObject(node, up);
    const { tape } = this;
    let group: DraftMember | undefined;
    for (let child = tape.firstChild(node); child > 0; child = tape.next(child)) {
      const id = tape.id(child);
      const isSimple = this.isGrouped !== 'scalars' || tape.kind(child) >= STRING;
      if (id === 0 && isSimple && group !== undefined) {
        group.last = child;
        continue;
      }
      if (!this.hasRoom()) break;
      const member = new DraftMember(id, child, child, !tape.isFirst(child), object);
      object.members.push(member);
      group = id === 0 && isSimple && this.isGrouped !== false ? member : undefined;
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
      const element = new DraftElement(array, index, child);
      if (this.open(element, child) !== undefined) array.elements.push(element);
      index += 1;
    }
  }

  /** Returns all elements of an array, including strings and scalars. */
  elementsOf(array: DraftArray): readonly DraftElement[] {
    if (array.isWhole || array.node < 0) return array.elements;
    array.isWhole = array.isEntered = true;
    const known = new Map(array.elements.map((element) => [element.index, element]));
    array.elements.length = 0;
    let index = 0;
    for (let child = this.tape.firstChild(array.node); child > 0; child = this.tape.next(child)) {
      if (!this.hasRoom()) break;
      const element = known.get(index) ?? new DraftElement(array, index, child);
      this.open(element, child);
      array.elements.push(element);
      index += 1;
    }
    return array.elements;
  }

  /** True if there is memory for one more part; without it the draft is incomplete. */
  hasRoom(): boolean {
    if (this.isIncomplete) return false;
    this.freeParts -= 1;
    if (this.freeParts >= 0 || this.memory === undefined) return true;
    this.freeParts = PARTS_AT_ONCE;
    this.isIncomplete = !this.memory.take(PARTS_AT_ONCE * PART_BYTES);
    return !this.isIncomplete;
  }
}

/** An element of a draft array. Elements of V1's arrays are listed only if they are objects or arrays, or if a rule asked for all. */
export class DraftElement {
  readonly array: DraftArray;
  readonly index: number;
  /** Its node on the tape; -1 in an array that a rule created. */
  readonly node: number;
  value: DraftObject | DraftArray | undefined = undefined;
  /** The bytes of its value, in an array that a rule created. */
  literal: Uint8Array | undefined = undefined;
  /** The member whose value replaces its original value. */
  from: DraftMember | undefined = undefined;
  /** True if a rule replaced the value of its node. */
  isReplaced = false;

  constructor(array: DraftArray, index: number, node = -1) {
    this.array = array;
    this.index = index;
    this.node = node;
  }
}

/** An array of the body that rules use, with the objects and arrays in it. */
export class DraftArray {
  /** Its node on the tape; -1 if a rule created it. */
  readonly node: number;
  /** Its elements, once a rule has entered it. */
  readonly elements: DraftElement[] = [];
  isEntered = false;
  /** True once all elements are listed, including strings and scalars. */
  isWhole = false;
  /** Its original container; undefined for the body. */
  readonly origin: DraftMember | DraftElement | undefined;
  /** Its current container. */
  up: DraftMember | DraftElement | undefined;
  isChanged = false;

  constructor(node: number, up: DraftMember | DraftElement | undefined) {
    this.node = node;
    this.origin = up;
    this.up = up;
  }
}

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
  /** The bytes of the JSON value that a rule wrote in place of the original. */
  literal: Uint8Array | undefined = undefined;
  /** True if a rule replaced the value of its node. */
  isReplaced = false;
  /** The JSON text of its name, if a rule made the name from a value. */
  key: Uint8Array | undefined = undefined;
  /** True if its node is an element of an array, which has no name. */
  isElement = false;
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

/** Gives `member` the delimiter and the white space before `like`, whose place it takes. */
export function layOutLike(member: DraftMember, like: DraftMember): void {
  member.place = like.place;
  member.hasDelimiter = like.hasDelimiter;
  member.hasLead = like.hasLead;
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

/** Marks `value`, if there is one, and its containers as changed. */
export function markChanged(value: DraftObject | DraftArray | undefined): void {
  for (let at = value; at !== undefined && !at.isChanged; at = containerOf(at)) at.isChanged = true;
}

function containerOf(value: DraftObject | DraftArray): DraftObject | DraftArray | undefined {
  return value.up instanceof DraftElement ? value.up.array : value.up?.holder;
}

/** Returns the RFC 6901 pointer of a member in the V1 body; undefined if a rule created it. `node` selects one of a group of members. */
export function originPointer(
  draft: Draft,
  member: DraftMember,
  node: number = member.node,
): string | undefined {
  if (node < 0) return undefined;
  const around = originObjectPointer(draft, member.home);
  return member.isElement ? around : `${around}/${originToken(draft, node)}`;
}

/** Returns the pointer of an object in the V1 body. */
export function originObjectPointer(draft: Draft, object: DraftObject): string {
  return originOf(draft, object.origin);
}

function originOf(draft: Draft, holder: DraftMember | DraftElement | undefined): string {
  if (holder === undefined) return '';
  if (!(holder instanceof DraftElement)) return originPointer(draft, holder) ?? '';
  return `${originOf(draft, holder.array.origin)}/${holder.index}`;
}

/** Returns the token of the member at `node` in pointers into the V1 body. */
export function originToken(draft: Draft, node: number): string {
  return pointerToken(nameAt(draft, draft.tape.id(node), node));
}

/** Only names that no rule uses have to be decoded. */
function nameAt(draft: Draft, id: number, node: number): string {
  return id > 0 ? draft.names.name(id) : memberName(draft.bytes, draft.tape, node);
}

/** The current name of a member, or of the one at `node` in a group of them. */
function nameOf(draft: Draft, { id, key }: DraftMember, node: number): string {
  return key === undefined || id > 0 ? nameAt(draft, id, node) : decodeString(key, 0, key.length);
}

/** Returns the RFC 6901 pointer of a member in the body after the rules so far; undefined if it is not in it. */
export function currentPointer(
  draft: Draft,
  member: DraftMember,
  node: number = member.node,
): string | undefined {
  if (member.isRemoved || member.holder === undefined) return undefined;
  const around = objectPointer(draft, member.holder);
  return around === undefined ? undefined : `${around}/${pointerToken(nameOf(draft, member, node))}`;
}

/** Returns the pointer of an object in the body after the rules so far; undefined if it is not in it. */
export function objectPointer(draft: Draft, object: DraftObject): string | undefined {
  if (object === draft.root) return '';
  return object.up === undefined ? undefined : valuePointer(draft, object.up);
}

function valuePointer(draft: Draft, holder: DraftMember | DraftElement): string | undefined {
  if (!(holder instanceof DraftElement)) return currentPointer(draft, holder);
  const { array, index } = holder;
  const around = array.up === undefined ? '' : valuePointer(draft, array.up);
  return around === undefined ? undefined : `${around}/${index}`;
}

/** Returns a pointer in `object` at which there is no member, with a name made from `name`. */
export function pointerAside(draft: Draft, object: DraftObject, name: string): string {
  const names = new Set(object.members.map((member) => currentName(draft, member)));
  let free = name;
  while (names.has(free)) free += '_';
  return `${objectPointer(draft, object) ?? ''}/${pointerToken(free)}`;
}

export function currentName(draft: Draft, member: DraftMember): string {
  return nameOf(draft, member, member.node);
}

/** Returns the JSON text of the current name of a member, as it is spelled. */
export function spelledName({ bytes, tape, names }: Draft, member: DraftMember): Uint8Array {
  const { id, node, key } = member;
  if (member.isRenamed || (node < 0 && key === undefined) || member.isElement)
    return printString(names.name(id));
  return key ?? bytes.slice(tape.keyStart(node), tape.keyEnd(node));
}

/** Returns the members of an object, with groups split into single members. */
export function eachMember({ tape }: Draft, object: DraftObject): readonly DraftMember[] {
  return object.members.flatMap((member) => {
    if (member.last === member.node) return member;
    const group: DraftMember[] = [];
    for (let { node } = member; node !== member.last; node = tape.next(node))
      group.push(new DraftMember(member.id, node, node, true, member.home));
    return [...group, new DraftMember(member.id, member.last, member.last, true, member.home)];
  });
}

/** Whether two members of an object have the same name. */
export function hasRepeatedNames(draft: Draft, object: DraftObject): boolean {
  const names = new Set<string>();
  let count = 0;
  for (const member of object.members) {
    for (let { node } = member; ; node = draft.tape.next(node)) {
      names.add(nameOf(draft, member, node));
      count += 1;
      if (node === member.last) break;
    }
  }
  return names.size < count;
}

/** Returns the nearest object around an object, skipping arrays. */
export function objectAround(object: DraftObject): DraftObject | undefined {
  let { up } = object;
  while (up instanceof DraftElement) up = up.array.up;
  return up?.holder;
}

/** Copies `source` into `object`, formatted like `like`; `id` renames the copy, 0 keeps its own name. */
export function copyOf(object: DraftObject, source: DraftMember, like: DraftMember, id: number): DraftMember {
  const copy = cloneMember(source, object);
  layOutLike(copy, like);
  copy.isMoved = true;
  if (id === 0) return copy;
  copy.id = id;
  copy.isRenamed = true;
  return copy;
}

/** Later rules may read the copy, so all that is known about the value is copied as well. */
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
  clone.isWhole = value.isWhole;
  for (const element of value.elements) {
    const copy = new DraftElement(clone, element.index, element.node);
    copy.literal = element.literal;
    copy.from = element.from;
    copy.isReplaced = element.isReplaced;
    copy.value = cloneValue(element.value, copy);
    clone.elements.push(copy);
  }
  return clone;
}

function cloneMember(member: DraftMember, holder: DraftObject): DraftMember {
  // Its bytes come from the same place as the member's.
  const clone = new DraftMember(member.id, member.node, member.place, member.hasDelimiter, member.home);
  clone.holder = holder;
  clone.last = member.last;
  clone.hasLead = member.hasLead;
  clone.isRenamed = member.isRenamed;
  clone.isMoved = member.isMoved;
  clone.literal = member.literal;
  clone.isReplaced = member.isReplaced;
  clone.key = member.key;
  clone.isElement = member.isElement;
  clone.value = cloneValue(member.value, clone);
  return clone;
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
  // The last member of a group has its own delimiter.
  const isGroup = last !== undefined && last.last !== last.node;
  const place = isGroup ? last.last : (last?.place ?? -1);
  const made = new DraftMember(id, -1, place, isGroup || (last?.hasDelimiter ?? false), object);
  made.hasLead = isGroup || (last?.hasLead ?? false);
  made.isMoved = true;
  object.members.push(made);
  markChanged(object);
  return made;
}

/** Adds a new member to the end of `object`, without white space; the caller sets its value. */
export function addLast(object: DraftObject, id: number): DraftMember {
  const made = new DraftMember(id, -1, -1, false, object);
  made.hasLead = false;
  made.isMoved = true;
  object.members.push(made);
  markChanged(object);
  return made;
}

/** A value that a rule writes: the bytes of a string or a scalar, or a structure that later rules can change. */
export type Template =
  | { readonly kind: 'literal'; readonly bytes: Uint8Array }
  | { readonly kind: 'object'; readonly members: readonly (readonly [id: number, value: Template])[] }
  | { readonly kind: 'array'; readonly elements: readonly Template[] };

/** Replaces the value of `member` with that of a template. */
export function write(member: DraftMember, template: Template): void {
  member.isReplaced = true;
  fill(member, template);
  markChanged(member.holder);
}

function fill(target: DraftMember | DraftElement, template: Template): void {
  target.literal = template.kind === 'literal' ? template.bytes : undefined;
  target.value = undefined;
  if (template.kind === 'object') {
    const object = new DraftObject(-1, target);
    object.isChanged = true;
    target.value = object;
    for (const [id, value] of template.members) fill(addLast(object, id), value);
  }
  if (template.kind === 'array') {
    const array = new DraftArray(-1, target);
    array.isChanged = true;
    array.isEntered = true;
    target.value = array;
    for (const [index, value] of template.elements.entries()) {
      const element = new DraftElement(array, index);
      array.elements.push(element);
      fill(element, value);
    }
  }
}

/** Printed forms of a name, by its id: the key, and the key with a colon and the bracket of a new object. */
export type KeyCache = ({ readonly key: Uint8Array; readonly opening: Uint8Array } | undefined)[];

/** Returns the recipe that turns the original body into the draft. */
export function printDraft(draft: Draft, keys: KeyCache): Recipe {
  return new Printer(draft, keys).print();
}

/** Walks a draft in the order of the new body, and records the source of each part. */
class Printer {
  private readonly draft: Draft;
  private readonly keys: KeyCache;
  private readonly recipe = new Recipe();

  constructor(draft: Draft, keys: KeyCache) {
    this.draft = draft;
    this.keys = keys;
  }

  print(): Recipe {
    const { root, list } = this.draft;
    if (list !== undefined) {
      this.value(list, false);
      return this.recipe;
    }
    // The bracket of a created object is printed with its key, and the body has no key.
    if (root.node < 0) this.recipe.insert(OPEN);
    this.object(root, false);
    return this.recipe;
  }

  private object(object: DraftObject, isCopy: boolean): void {
    const { tape } = this.draft;
    const { node } = object;
    if (!object.isChanged) {
      this.recipe.bytes(tape.startMark(node), tape.endMark(node), isCopy);
      return;
    }
    if (node >= 0) this.recipe.bytes(tape.startMark(node), tape.openMark(node), isCopy);
    for (let k = 0; k < object.members.length; k += 1) {
      const member = object.members[k];
      if (member !== undefined) this.member(member, k === 0, isCopy || member.isMoved);
    }
    if (node < 0) this.recipe.insert(CLOSE);
    else {
      const tail = object.hasTail ? tape.tailMark(node) : tape.closeMark(node);
      this.recipe.bytes(tail, tape.endMark(node), isCopy);
    }
  }

  private member(member: DraftMember, isFirst: boolean, isCopy: boolean): void {
    const recipe = this.recipe;
    const { tape } = this.draft;
    const { node, last, place, value, literal } = member;
    if (!member.hasDelimiter && !isFirst) recipe.insert(COMMA);
    const isOwn =
      node >= 0 &&
      !member.isRenamed &&
      !member.isReplaced &&
      literal === undefined &&
      member.key === undefined;
    if (isOwn && !isCopy && place === node && value?.isChanged !== true) {
      recipe.bytes(this.layoutMark(member), tape.endMark(last), false);
      return;
    }
    if (member.hasDelimiter || member.hasLead) {
      const layoutEnd = member.hasLead ? tape.keyStartMark(place) : tape.leadMark(place);
      recipe.bytes(this.layoutMark(member), layoutEnd, isCopy);
    }
    if (member.key !== undefined && !member.isRenamed) {
      recipe.insert(member.key);
      recipe.insert(COLON);
    } else if (node < 0 || member.isElement) {
      const { key, opening } = this.key(member.id);
      if (isMadeObject(value)) {
        recipe.insert(opening);
        this.object(value, isCopy);
        return;
      }
      recipe.insert(key);
      recipe.insert(COLON);
    } else if (member.isRenamed) {
      recipe.insert(this.key(member.id).key);
      recipe.bytes(tape.keyEndMark(node), tape.startMark(node), isCopy);
    } else {
      recipe.bytes(tape.keyStartMark(node), tape.startMark(node), isCopy);
    }
    // The bytes of an overwritten value are neither kept nor copied.
    if (literal !== undefined) recipe.insert(literal);
    else if (value === undefined) recipe.bytes(tape.startMark(node), tape.endMark(last), isCopy);
    else this.value(value, isCopy);
  }

  private element({ from, literal, value }: DraftElement, isCopy: boolean): void {
    const { tape } = this.draft;
    if (value !== undefined) this.value(value, isCopy);
    else if (literal !== undefined || from === undefined) this.recipe.insert(literal ?? NO_BYTES);
    else this.recipe.bytes(tape.startMark(from.node), tape.endMark(from.node), isCopy);
  }

  /** The start of the text that is printed before the key: the delimiter, white space, or the key itself. */
  private layoutMark(member: DraftMember): Mark {
    const { tape } = this.draft;
    if (member.hasDelimiter) return tape.delimiterMark(member.place);
    return member.hasLead ? tape.leadMark(member.place) : tape.keyStartMark(member.place);
  }

  private value(value: DraftObject | DraftArray, isCopy: boolean): void {
    if (value instanceof DraftObject) {
      if (value.node < 0) this.recipe.insert(OPEN);
      this.object(value, isCopy);
      return;
    }
    if (value.node < 0) {
      this.madeArray(value, isCopy);
      return;
    }
    const { tape } = this.draft;
    let at = tape.startMark(value.node);
    for (const element of value.elements) {
      if (!element.isReplaced && element.value?.isChanged !== true) continue;
      this.recipe.bytes(at, tape.startMark(element.node), isCopy);
      this.element(element, isCopy);
      at = tape.endMark(element.node);
    }
    this.recipe.bytes(at, tape.endMark(value.node), isCopy);
  }

  private madeArray({ elements }: DraftArray, isCopy: boolean): void {
    this.recipe.insert(OPEN_LIST);
    for (const element of elements) {
      if (element.index > 0) this.recipe.insert(COMMA);
      this.element(element, isCopy);
    }
    this.recipe.insert(CLOSE_LIST);
  }

  private key(id: number): { readonly key: Uint8Array; readonly opening: Uint8Array } {
    const known = this.keys[id];
    if (known !== undefined) return known;
    const key = printString(this.draft.names.name(id));
    const opening = Uint8Array.of(...key, 0x3a, 0x7b);
    this.keys[id] = { key, opening };
    return { key, opening };
  }
}

function isMadeObject(value: DraftObject | DraftArray | undefined): value is DraftObject {
  return value instanceof DraftObject && value.node < 0;
}

/** Original bytes that the new text contains, and the inserted bytes before them. */
interface Span {
  readonly insert: Uint8Array;
  readonly start: Mark;
  end: Mark;
  /** True if the bytes are not in their original place, so that they are copied. */
  readonly isCopy: boolean;
}

/**
 * A new text in terms of an old one: the bytes that stay, those copied from elsewhere, and those inserted. It refers to marks
 * instead of offsets, so it applies to every text of the same shape.
 */
export class Recipe {
  private readonly spans: Span[] = [];
  /** Bytes to insert after the last span, before the next. */
  private inserted: Uint8Array = NO_BYTES;

  /** Adds original bytes. */
  bytes(start: Mark, end: Mark, isCopy: boolean): void {
    const last = this.spans.at(-1);
    if (this.inserted === NO_BYTES && last !== undefined && last.end === start && last.isCopy === isCopy) {
      last.end = end;
      return;
    }
    this.spans.push({ insert: this.inserted, start, end, isCopy });
    this.inserted = NO_BYTES;
  }

  /** Adds bytes that the original does not have. */
  insert(part: Uint8Array): void {
    this.inserted = this.inserted === NO_BYTES ? part : concatBytes([this.inserted, part]);
  }

  /** Returns the edits that turn `bytes` into the new text; `tape` describes `bytes` from offset `from` on. */
  edits(bytes: Uint8Array, tape: Tape, from: number): readonly Edit[] {
    const list = new EditList(bytes);
    list.keep(from, tape.offset(tape.startMark(0)));
    for (const { insert, start, end, isCopy } of this.spans) {
      if (insert !== NO_BYTES) list.insert(insert);
      if (isCopy) list.insert(bytes.subarray(tape.offset(start), tape.offset(end)));
      else list.keep(tape.offset(start), tape.offset(end));
    }
    if (this.inserted !== NO_BYTES) list.insert(this.inserted);
    list.keep(tape.offset(tape.endMark(0)), bytes.length);
    return list.finish();
  }
}

/** Converts the parts of a text to edits: original bytes in their place are kept, everything else is inserted. */
class EditList {
  private readonly bytes: Uint8Array;
  private readonly edits: Edit[] = [];
  /** Bytes to insert before the next byte that is kept. */
  private pending: Uint8Array[] = [];
  /** Everything before this offset has been kept or removed. */
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  insert(part: Uint8Array): void {
    this.pending.push(part);
  }

  /** Keeps original bytes in their place; bytes from before the current offset are copied. */
  keep(start: number, end: number): void {
    if (start === end) return;
    if (start < this.at) {
      this.insert(this.bytes.subarray(start, end));
      return;
    }
    if (start > this.at || this.pending.length > 0) this.edit(start);
    this.at = end;
  }

  finish(): readonly Edit[] {
    const end = this.bytes.length;
    if (this.at < end || this.pending.length > 0) this.edit(end);
    return this.edits;
  }

  private edit(end: number): void {
    this.edits.push({ start: this.at, end, insert: this.inserted() });
  }

  /** Returns the pending insertion as one array, and clears it. */
  private inserted(): Uint8Array {
    const pending = this.pending;
    if (pending.length < 2) return pending.pop() ?? NO_BYTES;
    this.pending = [];
    return concatBytes(pending);
  }
}
