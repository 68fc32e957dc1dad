import { pointerOf } from '../../json/json-pointer.ts';
import type { JsonWalker, WalkedNode } from '../../json/json-walk.ts';

/** The value of a field in one body. */
export interface FieldValue {
  readonly kind: WalkedNode['kind'];
  /** Raw bytes of a string or scalar; empty for a container. */
  readonly bytes: Uint8Array;
}

/** A field of several bodies: its value in each, by the number of the body. */
export interface Field {
  readonly place: FieldPlace;
  readonly values: (FieldValue | undefined)[];
  readonly below: Map<string | number, Field>;
}

/** Maximum characters of a reported pointer. */
const MAX_POINTER_CHARACTERS = 240;

/** The place of fields: their names from the root; all elements of an array share one place. */
export class FieldPlace {
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

/** The fields of several JSON bodies, merged by place: each value costs one look-up at any depth. */
export class FieldTree {
  /** The value of each body as a whole. */
  readonly root: Field = newField(new FieldPlace());
  private readonly walker: JsonWalker;

  constructor(walker: JsonWalker) {
    this.walker = walker;
  }

  /** Adds the values of body number `number`; false when it cannot be walked. An empty body has no fields. */
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
        field.values[number] = { kind, bytes: isLeaf ? body.subarray(start, end) : NOTHING };
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

const NOTHING = new Uint8Array();
