import { pointerOf } from '../../json/json-pointer.ts';
import type { JsonWalker, WalkedNode } from '../../json/json-walk.ts';

/** What one body has at a field. */
export interface FieldValue {
  readonly kind: WalkedNode['kind'];
  /** The bytes of a string or scalar, as they stand; empty for a container. */
  readonly bytes: Uint8Array;
}

/** A field of several bodies: what each of them has there, by the number of the body. */
export interface Field {
  readonly place: FieldPlace;
  readonly values: (FieldValue | undefined)[];
  readonly below: Map<string | number, Field>;
}

/** Characters of a pointer that is told of a field. */
const MOST_POINTER_CHARACTERS = 240;

/** Where fields stand: their names from the root, all elements of an array being one. */
export class FieldPlace {
  private readonly parent: FieldPlace | undefined;
  private readonly name: string;
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

  /** RFC 6901, with `*` for elements; what is beyond the bound is cut off. */
  get pointer(): string {
    let pointer = '';
    for (const step of this.steps()) {
      pointer += pointerOf([step.slice(0, MOST_POINTER_CHARACTERS)]);
      if (pointer.length > MOST_POINTER_CHARACTERS) return `${pointer.slice(0, MOST_POINTER_CHARACTERS)}…`;
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

/** The fields of several JSON bodies laid over each other: each value costs one look-up, however deep it is. */
export class FieldTree {
  /** Every field, those of the first body first and in its order. */
  readonly fields: Field[] = [];
  private readonly walker: JsonWalker;
  private root: Field | undefined = undefined;

  constructor(walker: JsonWalker) {
    this.walker = walker;
  }

  /** Adds the values of body number `number`; false when it cannot be walked. A body without anything has no fields. */
  add(number: number, body: Uint8Array): boolean {
    if (body.length === 0) return true;
    const open: Field[] = [];
    return this.walker.walk(body, {
      enter: ({ kind, path, start, end }) => {
        const step = path.at(-1);
        const parent = open[path.length - 1];
        const field =
          parent === undefined || step === undefined ? this.rootField() : this.field(parent, step);
        const isLeaf = kind === 'string' || kind === 'scalar';
        field.values[number] = { kind, bytes: isLeaf ? body.subarray(start, end) : NOTHING };
        open[path.length] = field;
        return undefined;
      },
    });
  }

  private rootField(): Field {
    this.root ??= this.added(new FieldPlace());
    return this.root;
  }

  private field(parent: Field, step: string | number): Field {
    const known = parent.below.get(step);
    if (known !== undefined) return known;
    const field = this.added(parent.place.below(step));
    parent.below.set(step, field);
    return field;
  }

  private added(place: FieldPlace): Field {
    const field: Field = { place, values: [], below: new Map() };
    this.fields.push(field);
    return field;
  }
}

const NOTHING = new Uint8Array();
