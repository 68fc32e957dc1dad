import { type Description, target } from './description.ts';
import { isObject, type JsonObject, objectIn } from './json-object.ts';

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
