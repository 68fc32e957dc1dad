import { textOfBytes } from '../json/names.ts';
import { hasByteOrderMark } from '../json/document.ts';
import { pointerToken } from '../json/pointer.ts';
import { isSpace, skipSpace, stringEnd } from '../json/scanner.ts';

/** Maximum bytes of one body to read. */
const MAX_BYTES = 32 * 1024;

/** Maximum number of shared lists of names. */
const MAX_LISTS = 512;

const NO_NAMES: readonly string[] = [];

/** Maximum places and spellings of all bodies together; beyond it the tree is reset. */
const MAX_SPELLINGS = 4096;

/** Maximum places and spellings that one body may add. */
const MAX_PER_BODY = 512;

/** Maximum spellings with the same hash under one parent. */
const MAX_PER_HASH = 4;

/** Maximum characters of a pointer; longer ones are not listed. */
const MAX_CHARACTERS = 120;

/** Maximum names listed for one body: a body whose names are data must not flood the log. */
const MAX_NAMES = 64;

/** Maximum new names of one body. */
const MAX_NEW_NAMES = 128;

/** Elements of an array to read: the first ones, and a sample of the others. */
const FIRST_ELEMENTS = 16;
const ELEMENT_SAMPLE = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/** Maximum bytes of bodies per second for one stage of observation, and maximum milliseconds. */
const BYTES_PER_SECOND = 8 * 1024 * 1024;
const MS_PER_SECOND = 20;

/** Share of both for exchanges that did not fail, since failed ones have priority. */
const ORDINARY_SHARE = 0.5;

/**
 * Small bodies per second, of failed exchanges and of others, that are always observed: at a low rate nothing is missing, even on a slow
 * machine.
 */
const SMALL_PER_SECOND = 10;
const SMALL_BYTES = 16 * 1024;

/**
 * Lists the members of JSON bodies as pointers with `*` for elements, each once, in document order. Reads the first bytes of a
 * body once, at any nesting; known names create no strings, and bodies of the same shape share one list.
 */
export class AttributeNames {
  private readonly budget: ObservationBudget;
  private readonly tree = new AttributeTree();
  private readonly lists = new Map<number, (readonly string[])[]>();
  private listCount = 0;
  private bodies = 0;

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.budget = new ObservationBudget(now);
  }

  /** The names in a body; empty when it is not JSON, undefined without a body or when the budget of this second is used up. */
  of(body: Uint8Array | undefined, isFailure = false): readonly string[] | undefined {
    if (body === undefined) return undefined;
    const length = Math.min(body.length, MAX_BYTES);
    return this.budget.run(length, isFailure, () => this.namesIn(body, length));
  }

  private namesIn(body: Uint8Array, length: number): readonly string[] {
    if (this.tree.makeRoom()) this.clearLists();
    this.bodies += 1;
    const walk = new NameWalk(this.tree, this.bodies, body, length);
    return walk.isJson ? this.shared(walk.places) : NO_NAMES;
  }

  private shared(places: readonly AttributePlace[]): readonly string[] {
    let hash = places.length;
    for (const { pointer } of places) hash = (Math.imul(hash, 31) + pointer.length) | 0;
    const known = this.lists.get(hash) ?? [];
    for (const list of known) {
      if (list.length === places.length && places.every(({ pointer }, at) => pointer === list[at]))
        return list;
    }
    const list = places.map(({ pointer }) => pointer);
    if (this.listCount === MAX_LISTS) this.clearLists();
    this.listCount += 1;
    this.lists.set(hash, [...known, list]);
    return list;
  }

  private clearLists(): void {
    this.lists.clear();
    this.listCount = 0;
  }
}

/** A member or element, shared by all bodies: its names from the root, `*` for elements. */
class AttributePlace {
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

/** Interns the names of members: finds a known name by its bytes, without creating a string. */
class AttributeTree {
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
  const text = textOfBytes(key);
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

/**
 * Reads the names of members in the first bytes of a body, each byte once. Skips a value without a place (its pointer is too long, its
 * name is beyond the limit) with everything in it, so that nesting takes no more time than its bytes.
 */
class NameWalk {
  /** The members found, each once, in document order. */
  readonly places: AttributePlace[] = [];
  /** False when the bytes cannot be the start of a JSON text. */
  isJson = true;
  private readonly tree: AttributeTree;
  private readonly body: number;
  private readonly bytes: Uint8Array;
  private readonly end: number;
  private at: number;
  private newNames = 0;

  /** Reads up to `length` bytes of `bytes`, which are body number `body` of `tree`. */
  constructor(tree: AttributeTree, body: number, bytes: Uint8Array, length: number) {
    this.tree = tree;
    this.body = body;
    this.bytes = bytes;
    this.end = length;
    this.at = hasByteOrderMark(bytes) ? 3 : 0;
    this.skipSpace();
    if (this.at >= this.end) this.fail();
    else this.value(tree.root);
  }

  /** Reads a value; recursion is as deep as a pointer, whose length is limited. */
  private value(place: AttributePlace | undefined): void {
    const byte = this.bytes[this.at];
    if (place !== undefined && byte === OPEN_OBJECT) this.object(place);
    else if (place !== undefined && byte === OPEN_ARRAY) this.array(place);
    else this.skipValue();
  }

  private object(place: AttributePlace): void {
    this.at += 1;
    this.skipSpace();
    if (this.bytes[this.at] === CLOSE_OBJECT) {
      this.at += 1;
      return;
    }
    while (this.at < this.end) {
      if (this.bytes[this.at] !== QUOTE) return this.fail();
      const member = this.member(place);
      this.skipSpace();
      if (this.at >= this.end) return;
      if (this.bytes[this.at] !== COLON) return this.fail();
      this.at += 1;
      this.skipSpace();
      this.value(member);
      if (this.endsAfterValue(CLOSE_OBJECT)) return;
    }
  }

  private array(place: AttributePlace): void {
    this.at += 1;
    this.skipSpace();
    if (this.bytes[this.at] === CLOSE_ARRAY) {
      this.at += 1;
      return;
    }
    for (let index = 0; this.at < this.end; index += 1) {
      const isSampled = index < FIRST_ELEMENTS || index % ELEMENT_SAMPLE === 0;
      this.value(isSampled ? this.tree.elementsOf(place) : undefined);
      if (this.endsAfterValue(CLOSE_ARRAY)) return;
    }
  }

  /** Reads the separator after a value; true when it ends the container or the walk. */
  private endsAfterValue(closer: number): boolean {
    this.skipSpace();
    if (this.at >= this.end) return true;
    const byte = this.bytes[this.at];
    this.at += 1;
    if (byte === closer) return true;
    if (byte !== COMMA) {
      this.fail();
      return true;
    }
    this.skipSpace();
    return false;
  }

  /** Reads a key and records its member. */
  private member(parent: AttributePlace): AttributePlace | undefined {
    const { bytes, end } = this;
    const start = this.at + 1;
    let hash = 0x811c9dc5;
    let i = start;
    while (i < end) {
      const byte = bytes[i] ?? 0;
      if (byte === QUOTE) break;
      hash = Math.imul(hash ^ byte, 0x01000193);
      if (byte === BACKSLASH) {
        i += 1;
        hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
      }
      i += 1;
    }
    this.at = i + 1;
    if (i >= end) return undefined;
    const place = this.tree.find(parent, hash, bytes, start, i) ?? this.added(parent, hash, start, i);
    if (place !== undefined && place.lastBody !== this.body) {
      place.lastBody = this.body;
      this.places.push(place);
      if (this.places.length === MAX_NAMES) this.at = end;
    }
    return place;
  }

  private added(
    parent: AttributePlace,
    hash: number,
    start: number,
    end: number,
  ): AttributePlace | undefined {
    if (this.newNames === MAX_NEW_NAMES) return undefined;
    this.newNames += 1;
    return this.tree.add(parent, hash, this.bytes, start, end);
  }

  /** Skips a value and everything in it, reading only quotes and brackets. */
  private skipValue(): void {
    const { bytes, end } = this;
    const start = this.at;
    let depth = 0;
    let i = start;
    while (i < end) {
      const byte = bytes[i];
      if (byte === QUOTE) {
        i = stringEnd(bytes, i, end);
        if (depth === 0) break;
        continue;
      }
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        depth += 1;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (depth === 0) break;
        depth -= 1;
        if (depth === 0) {
          i += 1;
          break;
        }
      } else if (depth === 0 && (byte === COMMA || isSpace(byte ?? 0))) {
        break;
      }
      i += 1;
    }
    this.at = i;
    if (i === start) this.fail();
  }

  private skipSpace(): void {
    this.at = skipSpace(this.bytes, this.at, this.end);
  }

  private fail(): void {
    this.isJson = false;
    this.at = this.end;
  }
}

/**
 * Limits the bytes and time per second spent on observing traffic; half of both is reserved for exchanges that failed. Traffic beyond the
 * budget is not observed, and never delayed. On a busy machine the measured time is longer, so the first ten small bodies of a second are
 * always observed.
 */
export class ObservationBudget {
  private readonly now: () => number;
  private second = -1;
  private bytes = 0;
  private milliseconds = 0;
  private smallFailed = 0;
  private smallOrdinary = 0;

  /** `now` is a monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.now = now;
  }

  /**
   * Runs `work` on `bytes` bytes and counts its time; returns undefined without running it when the budget of the second is used
   * up.
   */
  run<Outcome>(bytes: number, isFailure: boolean, work: () => Outcome): Outcome | undefined {
    const began = this.now();
    const second = Math.floor(began / 1000);
    if (second !== this.second) {
      this.second = second;
      this.bytes = 0;
      this.milliseconds = 0;
      this.smallFailed = 0;
      this.smallOrdinary = 0;
    }
    const isDue = bytes <= SMALL_BYTES && this.countSmall(isFailure) <= SMALL_PER_SECOND;
    if (!isDue && !this.hasRoom(bytes, isFailure ? 1 : ORDINARY_SHARE)) return undefined;
    this.bytes += bytes;
    const outcome = work();
    this.milliseconds += this.now() - began;
    return outcome;
  }

  private countSmall(isFailure: boolean): number {
    if (!isFailure) return (this.smallOrdinary += 1);
    return (this.smallFailed += 1);
  }

  private hasRoom(bytes: number, share: number): boolean {
    return this.bytes + bytes <= BYTES_PER_SECOND * share && this.milliseconds <= MS_PER_SECOND * share;
  }
}

/** Parses text from outside; undefined if it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
