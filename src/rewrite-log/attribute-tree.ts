import { pointerToken } from '../json/json-pointer.ts';
import { parsedJson } from './parsed-json.ts';

/** A member or element as all bodies share it: its names from the root, `*` for elements. */
export class AttributePlace {
  readonly pointer: string;
  /** The number of the body that it was met in last. */
  lastBody = 0;
  /** The elements of it, when it is an array. */
  elements: AttributePlace | undefined = undefined;
  /** Its members by the hash of their spelling. */
  readonly spellings = new Map<number, Spelling>();
  /** Its members by their decoded names; a name may be spelled in several ways. */
  readonly members = new Map<string, AttributePlace>();

  constructor(pointer: string) {
    this.pointer = pointer;
  }
}

/** The bytes of a key between its quotes, and the place that they name. */
interface Spelling {
  readonly key: Uint8Array;
  readonly place: AttributePlace;
  readonly next: Spelling | undefined;
}

/** Places and spellings that are kept, all bodies together: beyond it the tree starts anew. */
const MOST_SPELLINGS = 4096;

/** Places and spellings that one body may add. */
const MOST_PER_BODY = 512;

/** Spellings with one hash under one parent that are told apart. */
const MOST_PER_HASH = 4;

/** Characters of a pointer that is kept; longer ones are not listed. */
const MOST_CHARACTERS = 120;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Interns the names of members: a name that was met before is found by its bytes, and no text is made of it. */
export class AttributeTree {
  root = new AttributePlace('');
  private size = 0;

  /** Makes room for the names of a body; returns true when everything had to be forgotten for it. */
  makeRoom(): boolean {
    if (this.size + MOST_PER_BODY <= MOST_SPELLINGS) return false;
    this.root = new AttributePlace('');
    this.size = 0;
    return true;
  }

  /** The member of `parent` that is spelled `bytes[start, end)`; undefined when it is new. */
  find(
    parent: AttributePlace,
    hash: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): AttributePlace | undefined {
    let spelling = parent.spellings.get(hash);
    while (spelling !== undefined) {
      if (isAt(bytes, start, end, spelling.key)) return spelling.place;
      spelling = spelling.next;
    }
    return undefined;
  }

  /** Adds the member of `parent` that is spelled so; undefined when there is no room for it or its pointer is too long. */
  add(
    parent: AttributePlace,
    hash: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): AttributePlace | undefined {
    // A character is up to three bytes, or an escape of six.
    if (this.size >= MOST_SPELLINGS || end - start > MOST_CHARACTERS * 6) return undefined;
    const first = parent.spellings.get(hash);
    if (lengthOf(first) >= MOST_PER_HASH) return undefined;
    const key = new Uint8Array(bytes.subarray(start, end));
    const name = nameOf(key);
    const place = parent.members.get(name) ?? this.placeOf(parent, name);
    if (place === undefined) return undefined;
    this.size += 1;
    parent.spellings.set(hash, { key, place, next: first });
    return place;
  }

  /** The elements of `parent`; undefined when their pointer is too long. */
  elementsOf(parent: AttributePlace): AttributePlace | undefined {
    if (parent.elements === undefined && parent.pointer.length + 2 <= MOST_CHARACTERS) {
      this.size += 1;
      parent.elements = new AttributePlace(`${parent.pointer}/*`);
    }
    return parent.elements;
  }

  private placeOf(parent: AttributePlace, name: string): AttributePlace | undefined {
    const pointer = `${parent.pointer}/${pointerToken(name)}`;
    if (pointer.length > MOST_CHARACTERS) return undefined;
    const place = new AttributePlace(pointer);
    parent.members.set(name, place);
    return place;
  }
}

function lengthOf(spelling: Spelling | undefined): number {
  let length = 0;
  for (let at = spelling; at !== undefined; at = at.next) length += 1;
  return length;
}

/** A key without escapes is its text; with them, it is read as any JSON parser would. */
function nameOf(key: Uint8Array): string {
  const text = decoder.decode(key);
  if (!text.includes('\\')) return text;
  const name: unknown = parsedJson(`"${text}"`);
  return typeof name === 'string' ? name : text;
}

function isAt(bytes: Uint8Array, start: number, end: number, key: Uint8Array): boolean {
  if (key.length !== end - start) return false;
  for (let k = 0; k < key.length; k += 1) {
    if (bytes[start + k] !== key[k]) return false;
  }
  return true;
}
