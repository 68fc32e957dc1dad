import { pointerToken } from '../../json/json-pointer.ts';
import { parsedJson } from '../parsed-json.ts';

/** A member or element, shared by all bodies: its names from the root, `*` for elements. */
export class AttributePlace {
  readonly pointer: string;
  /** Number of the last body that contained it. */
  lastBody = 0;
  /** Its elements, when it is an array. */
  elements: AttributePlace | undefined = undefined;
  /** Its members by the hash of their spelling. */
  readonly spellings = new Map<number, Spelling>();
  /** Its members by decoded name; a name may have several spellings. */
  readonly members = new Map<string, AttributePlace>();

  constructor(pointer: string) {
    this.pointer = pointer;
  }
}

/** The bytes of a key between its quotes, and the place that it names. */
interface Spelling {
  readonly key: Uint8Array;
  readonly place: AttributePlace;
  readonly next: Spelling | undefined;
}

/** Maximum places and spellings of all bodies together; beyond it the tree is reset. */
const MAX_SPELLINGS = 4096;

/** Maximum places and spellings that one body may add. */
const MAX_PER_BODY = 512;

/** Maximum spellings with the same hash under one parent. */
const MAX_PER_HASH = 4;

/** Maximum characters of a pointer; longer ones are not listed. */
const MAX_CHARACTERS = 120;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Interns the names of members: finds a known name by its bytes, without creating a string. */
export class AttributeTree {
  root = new AttributePlace('');
  private size = 0;

  /** Ensures room for the names of a body; returns true when the tree was reset for it. */
  makeRoom(): boolean {
    if (this.size + MAX_PER_BODY <= MAX_SPELLINGS) return false;
    this.root = new AttributePlace('');
    this.size = 0;
    return true;
  }

  /** Returns the member of `parent` that is spelled `bytes[start, end)`; undefined when it is new. */
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

  /** Adds the member of `parent` with this spelling; undefined when the tree is full or the pointer is too long. */
  add(
    parent: AttributePlace,
    hash: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): AttributePlace | undefined {
    // A character is up to three bytes, or an escape of six.
    if (this.size >= MAX_SPELLINGS || end - start > MAX_CHARACTERS * 6) return undefined;
    const first = parent.spellings.get(hash);
    if (lengthOf(first) >= MAX_PER_HASH) return undefined;
    const key = new Uint8Array(bytes.subarray(start, end));
    const name = nameOf(key);
    const place = parent.members.get(name) ?? this.placeOf(parent, name);
    if (place === undefined) return undefined;
    this.size += 1;
    parent.spellings.set(hash, { key, place, next: first });
    return place;
  }

  /** Returns the elements of `parent`; undefined when their pointer is too long. */
  elementsOf(parent: AttributePlace): AttributePlace | undefined {
    if (parent.elements === undefined && parent.pointer.length + 2 <= MAX_CHARACTERS) {
      this.size += 1;
      parent.elements = new AttributePlace(`${parent.pointer}/*`);
    }
    return parent.elements;
  }

  private placeOf(parent: AttributePlace, name: string): AttributePlace | undefined {
    const pointer = `${parent.pointer}/${pointerToken(name)}`;
    if (pointer.length > MAX_CHARACTERS) return undefined;
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

/** A key without escapes is its own text; with escapes it is parsed as JSON. */
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
