import { isSameList } from '../../rewrite/caches.ts';
import { JsonWalker, type WalkedNode } from '../../json/document.ts';
import { NO_BYTES, stringText, textOfBytes } from '../../json/names.ts';
import { pointerOf } from '../../json/pointer.ts';
import type { Comparison, FieldDifference } from '../../rollout/comparison-tally.ts';
import { type Comparisons, unknownComparison } from './checks.ts';

/** A response to compare, with its body decoded. */
export interface ComparedResponse {
  readonly status: number;
  readonly body: Uint8Array;
}

/** Maximum number of differences reported by one comparison. */
const MAX_DIFFERENCES = 32;

/** Maximum bytes and values of one body; a larger one is not compared. */
const MAX_BYTES = 512 * 1024;
const MAX_VALUES = 8000;

const FIRST = 0;
const REPEAT = 1;
const V2 = 2;

/**
 * Compares V2's response, after response rules, with V1's, field by field. Additional members of V2 are not differences. A list of
 * another length, or in another order, is a difference, because a filter may have been lost. Fields that differ between two responses of
 * V1 are noise: an age, a request id, a timestamp. The work is proportional to the size of the bodies, which is limited.
 */
export function compareResponses(
  v1: ComparedResponse,
  repeat: ComparedResponse,
  v2: ComparedResponse,
): Comparison {
  const status = v1.status === v2.status ? {} : { status: { v1: v1.status, v2: v2.status } };
  if ([v1, repeat, v2].some(({ body }) => body.length > MAX_BYTES))
    return unknownComparison('too-large', status);
  const walker = new JsonWalker(undefined, MAX_VALUES);
  const tree = new FieldTree(walker);
  const isRead = [v1, repeat, v2].every(({ body }, number) => tree.add(number, body));
  if (!isRead) {
    const isSame = isSameList(v1.body, v2.body) && v1.status === v2.status;
    if (isSame) return { verdict: 'same', differences: [], noise: 0, extra: 0 };
    return unknownComparison(walker.hasTooMany ? 'too-large' : 'not-json', status);
  }
  const noise = noiseIn(tree.root);
  if (v1.status !== repeat.status) return { ...unknownComparison('noise', status), noise: noise.size };
  // An error and a resource cannot be compared: every field would seem to be missing.
  if (v1.status >= 400 !== v2.status >= 400)
    return { verdict: 'different', ...status, differences: [], noise: noise.size, extra: 0 };
  const found = differencesIn(tree.root, noise);
  return {
    verdict: found.count === 0 && v1.status === v2.status ? 'same' : 'different',
    ...status,
    differences: found.differences,
    noise: noise.size,
    extra: found.extra,
  };
}

/** Compares like `compareResponses`, within the budget per second: beyond it, the verdict is `unknown` with the reason `budget`. */
export function compareWithin(
  comparisons: Comparisons,
  v1: ComparedResponse,
  repeat: ComparedResponse,
  v2: ComparedResponse,
): Comparison {
  const bytes = v1.body.length + repeat.body.length + v2.body.length;
  return comparisons.run(bytes, v1.status !== v2.status, () => compareResponses(v1, repeat, v2));
}

/** A kind of difference, or `extra`: a member that only the other body has. */
type Kind = FieldDifference['kind'] | 'extra';

/** Places at which V1's two responses differ, with the kinds of difference. */
type Noise = ReadonlyMap<FieldPlace, ReadonlySet<Kind>>;

interface Found {
  readonly count: number;
  readonly differences: readonly FieldDifference[];
  readonly extra: number;
}

/** Differences between V1's two responses. A member that only one of them has is noise in both directions. */
function noiseIn(root: Field): Noise {
  const noise = new Map<FieldPlace, Set<Kind>>();
  const add = (place: FieldPlace, kind: Kind): void => {
    noise.set(place, (noise.get(place) ?? new Set()).add(kind));
  };
  new Pairing(FIRST, REPEAT, () => false, add).compare(root, root);
  return noise;
}

/** Differences of V2 from V1, one per place and kind, and the number of places that only V2 has. */
function differencesIn(root: Field, noise: Noise): Found {
  const found = new Map<FieldPlace, Set<Kind>>();
  const extra = new Set<FieldPlace>();
  const differences: FieldDifference[] = [];
  let count = 0;
  const add = (place: FieldPlace, kind: Kind): void => {
    if (kind === 'extra') {
      extra.add(place);
      return;
    }
    const kinds = found.get(place) ?? new Set();
    if (isNoise(noise, place, kind) || kinds.has(kind)) return;
    found.set(place, kinds.add(kind));
    count += 1;
    if (differences.length < MAX_DIFFERENCES) differences.push({ path: place.pointer, kind });
  };
  const isLeftOut = (place: FieldPlace): boolean => !place.isInFirst || isNoise(noise, place, 'value');
  new Pairing(FIRST, V2, isLeftOut, add).compare(root, root);
  return { count, differences, extra: extra.size };
}

/** For a list whose length or order is noise, type and values still count. */
function isNoise(noise: Noise, place: FieldPlace, kind: Kind): boolean {
  const kinds = noise.get(place);
  if (kinds === undefined) return false;
  const ofElements = Number(kinds.has('length')) + Number(kinds.has('order'));
  return kind === 'length' || kind === 'order' ? ofElements > 0 : kinds.size > ofElements;
}

/** An element of a list in one body. */
interface Element {
  readonly at: number;
  readonly field: Field;
}

/**
 * Compares body number `one` with body number `other`. It pairs equal elements of lists, and the remaining ones by their positions: a new
 * element at the front is then one finding, and does not shift all others.
 */
class Pairing {
  private readonly one: number;
  private readonly other: number;
  private readonly isLeftOut: (place: FieldPlace) => boolean;
  private readonly add: (place: FieldPlace, kind: Kind) => void;
  /** Numbers of values: the same for equal values. */
  private readonly identities = new Map<string, number>();
  private readonly known = new Map<Field, (number | undefined)[]>();

  /** `isLeftOut` tells which places are ignored when elements are compared. */
  constructor(
    one: number,
    other: number,
    isLeftOut: (place: FieldPlace) => boolean,
    add: (place: FieldPlace, kind: Kind) => void,
  ) {
    this.one = one;
    this.other = other;
    this.isLeftOut = isLeftOut;
    this.add = add;
  }

  /** Compares a field with its counterpart, or with a missing one. */
  compare(field: Field, against: Field | undefined): void {
    const value = field.values[this.one];
    const counterpart = against?.values[this.other];
    if (value === undefined) {
      // Only the whole body is reported without a value: it is not a member of an object.
      if (counterpart !== undefined) this.add(field.place, 'type');
      return;
    }
    if (counterpart === undefined) this.add(field.place, 'missing');
    else if (value.kind !== counterpart.kind) this.add(field.place, 'type');
    else if (!isSameValue(value, counterpart)) this.add(field.place, 'value');
    const isAlike = value.kind === counterpart?.kind;
    if (value.kind === 'array' && isAlike && against !== undefined) this.compareElements(field, against);
    else this.compareMembers(field, isAlike ? against : undefined);
  }

  private compareMembers(field: Field, against: Field | undefined): void {
    for (const [name, below] of field.below) {
      if (below.values[this.one] !== undefined) this.compare(below, against?.below.get(name));
    }
    for (const [name, below] of against?.below ?? []) {
      if (below.values[this.other] === undefined) continue;
      if (field.below.get(name)?.values[this.one] === undefined) this.addExtra(below);
    }
  }

  private addExtra(field: Field): void {
    this.add(field.place, 'extra');
    for (const below of field.below.values()) {
      if (below.values[this.other] !== undefined) this.addExtra(below);
    }
  }

  private compareElements(field: Field, against: Field): void {
    const [elements, others] = [elementsOf(field, this.one), elementsOf(against, this.other)];
    if (elements.length !== others.length) this.add(field.place, 'length');
    const unused = new Map<number, Element[]>();
    // In reverse, because elements are taken from the end.
    for (const element of others.toReversed()) {
      const identity = this.identityOf(element.field, this.other);
      const alike = unused.get(identity);
      if (alike === undefined) unused.set(identity, [element]);
      else alike.push(element);
    }
    const [unpaired, taken] = [[] as Element[], new Set<number>()];
    let [last, isInOrder] = [-1, true];
    for (const element of elements) {
      const counterpart = unused.get(this.identityOf(element.field, this.one))?.pop();
      if (counterpart === undefined) {
        unpaired.push(element);
        continue;
      }
      isInOrder &&= counterpart.at > last;
      last = counterpart.at;
      taken.add(counterpart.at);
      this.compare(element.field, counterpart.field);
    }
    if (!isInOrder) this.add(field.place, 'order');
    const left = others.filter(({ at }) => !taken.has(at));
    for (const [index, { field: element }] of unpaired.entries()) {
      // The length is already reported.
      if (left[index] !== undefined) this.compare(element, left[index].field);
    }
  }

  private identityOf(field: Field, body: number): number {
    const known = this.known.get(field) ?? [];
    const identity = known[body] ?? this.newIdentity(field, body);
    known[body] = identity;
    this.known.set(field, known);
    return identity;
  }

  private newIdentity(field: Field, body: number): number {
    const value = field.values[body];
    const below = [...field.below]
      .filter(([, { values, place }]) => values[body] !== undefined && !this.isLeftOut(place))
      .map(([name, child]) => `${JSON.stringify(name)}:${this.identityOf(child, body)}`);
    const key =
      value?.kind === 'array' || value?.kind === 'object'
        ? `${value.kind} ${below.sort().join(' ')}`
        : `${value?.kind ?? ''} ${value === undefined ? '' : normalized(value)}`;
    const identity = this.identities.get(key) ?? this.identities.size;
    this.identities.set(key, identity);
    return identity;
  }
}

function elementsOf({ below }: Field, body: number): readonly Element[] {
  const fields = [...below].filter(
    ([step, { values }]) => typeof step === 'number' && values[body] !== undefined,
  );
  return fields.map(([step, field]) => ({ at: Number(step), field })).sort((one, other) => one.at - other.at);
}

function isSameValue({ kind, bytes }: FieldValue, against: FieldValue): boolean {
  if (isSameList(bytes, against.bytes)) return true;
  return (kind === 'string' || kind === 'scalar') && normalized({ kind, bytes }) === normalized(against);
}

/** The same text for all spellings: `1.0` and `1` are equal numbers; digits beyond the precision of a double are compared literally. */
function normalized({ kind, bytes }: FieldValue): string {
  const text = textOfBytes(bytes);
  // Services escape the same text differently.
  if (kind === 'string') return stringText(text);
  const number = text.length <= 15 && /^[-\d]/.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? String(number) : text;
}

/** The value of a field in one body. */
interface FieldValue {
  readonly kind: WalkedNode['kind'];
  /** Raw bytes of a string or scalar; empty for a container. */
  readonly bytes: Uint8Array;
}

/** A field of several bodies: its value in each, by the number of the body. */
interface Field {
  readonly place: FieldPlace;
  readonly values: (FieldValue | undefined)[];
  readonly below: Map<string | number, Field>;
}

/** Maximum characters of a reported pointer. */
const MAX_POINTER_CHARACTERS = 240;

/** The place of fields: their names from the root; all elements of an array share one place. */
class FieldPlace {
  private readonly parent: FieldPlace | undefined;
  private readonly name: string;
  /** Whether the first body has a field here. */
  isInFirst = false;
  private readonly members = new Map<string, FieldPlace>();
  private elements: FieldPlace | undefined = undefined;

  constructor(parent?: FieldPlace, name = '') {
    this.parent = parent;
    this.name = name;
  }

  below(step: string | number): FieldPlace {
    if (typeof step === 'number') {
      this.elements ??= new FieldPlace(this, '*');
      return this.elements;
    }
    const known = this.members.get(step);
    if (known !== undefined) return known;
    const place = new FieldPlace(this, step);
    this.members.set(step, place);
    return place;
  }

  /** RFC 6901, with `*` for elements; truncated at the limit. */
  get pointer(): string {
    let pointer = '';
    for (const step of this.steps()) {
      pointer += pointerOf([step.slice(0, MAX_POINTER_CHARACTERS)]);
      if (pointer.length > MAX_POINTER_CHARACTERS) return `${pointer.slice(0, MAX_POINTER_CHARACTERS)}…`;
    }
    return pointer;
  }

  private steps(): readonly string[] {
    const steps = [this.name];
    for (let { parent } = this; parent !== undefined; parent = parent.parent) steps.push(parent.name);
    // The root has no name.
    return steps.reverse().slice(1);
  }
}

/** The fields of several JSON bodies, merged by place: one lookup for each value, at any depth. */
class FieldTree {
  /** The value of each body as a whole. */
  readonly root: Field = newField(new FieldPlace());
  private readonly walker: JsonWalker;

  constructor(walker: JsonWalker) {
    this.walker = walker;
  }

  /** Adds the values of body number `number`; false if it cannot be walked. An empty body has no fields. */
  add(number: number, body: Uint8Array): boolean {
    if (body.length === 0) return true;
    const open: Field[] = [];
    return this.walker.walk(body, {
      enter: ({ kind, path, start, end }) => {
        const step = path.at(-1);
        const parent = open[path.length - 1];
        const field = parent === undefined || step === undefined ? this.root : fieldBelow(parent, step);
        if (number === 0) field.place.isInFirst = true;
        const isLeaf = kind === 'string' || kind === 'scalar';
        field.values[number] = { kind, bytes: isLeaf ? body.subarray(start, end) : NO_BYTES };
        open[path.length] = field;
        return undefined;
      },
    });
  }
}

function fieldBelow(parent: Field, step: string | number): Field {
  const known = parent.below.get(step);
  if (known !== undefined) return known;
  const field = newField(parent.place.below(step));
  parent.below.set(step, field);
  return field;
}

function newField(place: FieldPlace): Field {
  return { place, values: [], below: new Map() };
}
