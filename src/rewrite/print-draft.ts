import { printString } from '../json/member-name.ts';
import type { Mark } from '../json/tape.ts';
import { DraftObject, type Draft, type DraftArray, type DraftMember } from './draft.ts';
import { Recipe } from './recipe.ts';

/** Returns the recipe that turns the original body into the draft. */
export function printDraft(draft: Draft, keys: KeyCache): Recipe {
  return new Printer(draft, keys).print();
}

/** Printed forms of a name, by its id: the key, and the key with a colon and the bracket of a new object. */
export type KeyCache = ({ readonly key: Uint8Array; readonly opening: Uint8Array } | undefined)[];

const OPEN = Uint8Array.of(0x7b);
const CLOSE = Uint8Array.of(0x7d);
const COMMA = Uint8Array.of(0x2c);
const COLON = Uint8Array.of(0x3a);

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
    const { root } = this.draft;
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
    const isOwn = node >= 0 && !member.isRenamed && literal === undefined;
    if (isOwn && !isCopy && place === node && value?.isChanged !== true) {
      recipe.bytes(this.layoutMark(member), tape.endMark(last), false);
      return;
    }
    if (member.hasDelimiter || member.hasLead) {
      const layoutEnd = member.hasLead ? tape.keyStartMark(place) : tape.leadMark(place);
      recipe.bytes(this.layoutMark(member), layoutEnd, isCopy);
    }
    if (node < 0) {
      const { key, opening } = this.key(member.id);
      if (literal === undefined) recipe.insert(opening);
      else {
        recipe.insert(key);
        recipe.insert(COLON);
      }
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

  /** The start of the text that is printed before the key: the delimiter, white space, or the key itself. */
  private layoutMark(member: DraftMember): Mark {
    const { tape } = this.draft;
    if (member.hasDelimiter) return tape.delimiterMark(member.place);
    return member.hasLead ? tape.leadMark(member.place) : tape.keyStartMark(member.place);
  }

  private value(value: DraftObject | DraftArray, isCopy: boolean): void {
    if (value instanceof DraftObject) {
      this.object(value, isCopy);
      return;
    }
    const { tape } = this.draft;
    let at = tape.startMark(value.node);
    for (const element of value.elements) {
      if (element.value?.isChanged !== true) continue;
      const { node } = element.value;
      this.recipe.bytes(at, tape.startMark(node), isCopy);
      this.value(element.value, isCopy);
      at = tape.endMark(node);
    }
    this.recipe.bytes(at, tape.endMark(value.node), isCopy);
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
