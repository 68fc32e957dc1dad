import {
  type Description,
  elementsOf,
  isObject,
  type JsonObject,
  memberOf,
  objectIn,
  stringsOf,
  target,
} from './description.ts';
import { partsOf } from './flattened-schema.ts';

const PREFIX = '#/components/schemas/';

/** Maximum references that are edited within each other, and of all edits of places that are no component: each is made anew. */
const MAX_DEPTH = 256;
const MAX_INLINE = 10_000;

/** A schema component after one or more edits. */
interface Variant {
  /** The name of the component before all edits. */
  readonly base: string;
  schema: unknown;
  /** The reference that it equals, once an edit turned out to change nothing. */
  sameAs: string | undefined;
}

/**
 * The schema components of a description. An edit never touches a component, which other operations may use: it makes a variant,
 * one for each series of edits.
 */
export class Components {
  private readonly description: Description;
  private readonly variants = new Map<string, Variant>();
  private readonly known = new Map<string, string>();
  /** References into other documents, which are not followed. */
  readonly foreign = new Set<string>();
  /** References that were not edited, because too many others lead to them. */
  readonly skipped = new Set<string>();
  private depth = 0;
  private inlined = 0;

  constructor(description: Description) {
    this.description = description;
  }

  /** The names of the components, in the order of the description. */
  get names(): readonly string[] {
    return Object.keys(objectIn(objectIn(this.description, 'components'), 'schemas'));
  }

  /** The schema that a reference leads to; undefined when it is in another document. */
  schema(reference: string): unknown {
    const variant = this.variants.get(reference);
    if (variant !== undefined)
      return variant.sameAs === undefined ? variant.schema : this.schema(variant.sameAs);
    const found = target(this.description, reference);
    if (found === undefined) this.foreign.add(reference);
    return found;
  }

  /** Follows `$ref` from a schema; a circle ends after a hundred steps. */
  followed(schema: unknown): unknown {
    let current = schema;
    for (let steps = 0; steps < 100 && isObject(current) && typeof current['$ref'] === 'string'; steps += 1) {
      current = this.schema(current['$ref']);
    }
    return current;
  }

  /**
   * Returns the reference to a component after an edit; an edited schema where the reference leads elsewhere in the description.
   * `key` is equal for edits that do the same.
   */
  edited(reference: string, key: string, edit: (schema: unknown) => unknown): string | JsonObject {
    if (this.depth >= MAX_DEPTH || this.inlined >= MAX_INLINE) {
      this.skipped.add(reference);
      return reference;
    }
    this.depth += 1;
    const outcome = this.editedAt(this.origin(reference), reference, key, edit);
    this.depth -= 1;
    return outcome;
  }

  private editedAt(
    origin: string,
    reference: string,
    key: string,
    edit: (schema: unknown) => unknown,
  ): string | JsonObject {
    const base = this.variants.get(origin)?.base ?? componentName(origin);
    if (base === undefined) {
      this.inlined += 1;
      const schema = this.schema(origin);
      const outcome = edit(schema);
      return isObject(outcome) && outcome !== schema ? outcome : reference;
    }
    const known = this.known.get(`${origin} ${key}`);
    return known === undefined ? this.make(`${origin} ${key}`, origin, base, edit) : this.origin(known);
  }

  private make(key: string, origin: string, base: string, edit: (schema: unknown) => unknown): string {
    const schema = this.schema(origin);
    const reference = `${PREFIX}${base} ${this.variants.size}`;
    const variant: Variant = { base, schema, sameAs: undefined };
    // Known before it is complete: a schema may contain itself.
    this.variants.set(reference, variant);
    this.known.set(key, reference);
    variant.schema = edit(schema);
    if (variant.schema === schema) variant.sameAs = origin;
    return this.origin(reference);
  }

  /** The reference that `reference` equals, as far as edits changed nothing. */
  origin(reference: string): string {
    const same = this.variants.get(reference)?.sameAs;
    return same === undefined ? reference : this.origin(same);
  }

  /** The name of the component that a reference, or a variant of it, stands for. */
  baseOf(reference: string): string | undefined {
    return this.variants.get(reference)?.base ?? componentName(reference);
  }
}

/** The name in a reference to a whole schema component. */
export function componentName(reference: string): string | undefined {
  if (!reference.startsWith(PREFIX)) return undefined;
  const name = reference.slice(PREFIX.length);
  return name.includes('/') ? undefined : name;
}

/** The reference to the schema component with this name. */
export function componentReference(name: string): string {
  return `${PREFIX}${name}`;
}

/** A member of an object, as its schema describes it. */
export interface DescribedMember {
  readonly name: string;
  readonly schema: unknown;
  readonly required: boolean;
}

/** The members that a schema describes, in references and all of its parts; alternatives make them optional. */
export function membersOf(schema: unknown, components: Components): readonly DescribedMember[] {
  const members = new Map<string, DescribedMember>();
  collect(schema, { components, isCertain: true, members, open: new Set() });
  // `required` may stand in another part of `allOf` than the member, and before it.
  const needed = new Set(
    partsOf(schema, (part) => {
      const reference = memberOf(part, '$ref');
      return typeof reference === 'string' ? components.schema(reference) : undefined;
    }).flatMap((part) => stringsOf(part['required'])),
  );
  return [...members.values()].map((member) => ({
    ...member,
    required: member.required || needed.has(member.name),
  }));
}

interface Collection {
  readonly components: Components;
  /** False within alternatives. */
  readonly isCertain: boolean;
  readonly members: Map<string, DescribedMember>;
  /** Schemas that are being collected: a schema may refer to itself. */
  readonly open: Set<unknown>;
}

function collect(schema: unknown, collection: Collection): void {
  const { components, isCertain, members, open } = collection;
  const found = components.followed(schema);
  if (!isObject(found) || open.has(found)) return;
  open.add(found);
  const required = new Set(isCertain ? stringsOf(found['required']) : []);
  for (const [name, described] of Object.entries(objectIn(found, 'properties'))) {
    const known = members.get(name);
    members.set(name, known ?? { name, schema: described, required: required.has(name) });
  }
  for (const name of required) {
    const known = members.get(name);
    if (known !== undefined) members.set(name, { ...known, required: true });
  }
  for (const part of elementsOf(found['allOf'])) collect(part, collection);
  for (const word of ['anyOf', 'oneOf']) {
    for (const part of elementsOf(found[word])) collect(part, { ...collection, isCertain: false });
  }
  open.delete(found);
}

/** True for a schema that describes an object itself: with members, or with the type. */
export function isObjectSchema(schema: JsonObject): boolean {
  const { type, properties } = schema;
  return isObject(properties) || type === 'object' || (Array.isArray(type) && type.includes('object'));
}

/** The schema with other members in `properties`, in the order of the list. */
export function withProperties(
  schema: JsonObject,
  properties: readonly (readonly [string, unknown])[],
): JsonObject {
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** The schema with another list of required members; without the list when it is empty. */
export function withRequired(schema: JsonObject, names: readonly string[]): JsonObject {
  const { required: before, ...rest } = schema;
  if (names.length === 0) return before === undefined ? schema : rest;
  return { ...schema, required: [...new Set(names)] };
}
