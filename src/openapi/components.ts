import {
  type Description,
  elementsOf,
  isObject,
  type JsonObject,
  memberOf,
  objectIn,
  stringsOf,
  target,
  pointerStep,
} from './description.ts';
import { pointerToken } from '../json/pointer.ts';

const PREFIX = '#/components/schemas/';

/** Maximum depth of references that are edited one inside another. */
const MAX_DEPTH = 256;

/** Maximum edits of references to places other than components: each of them makes a new schema. */
const MAX_INLINE = 10_000;

/** A schema component after one or more edits. */
interface Variant {
  /** The name of the component before all edits. */
  readonly base: string;
  schema: unknown;
  /** The reference that replaces this one, if the edit changed nothing. */
  sameAs: string | undefined;
}

/**
 * The schema components of a description. An edit leaves the component alone, because other operations may use it, and makes a variant: one
 * for each series of edits.
 */
export class Components {
  readonly description: Description;
  private readonly variants = new Map<string, Variant>();
  private readonly known = new Map<string, string>();
  /** References into other documents, which are not followed. */
  readonly foreign = new Set<string>();
  /** References that were not edited, because too many others depend on them. */
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

  /** The schema of a reference; undefined if it is in another document. */
  schema(reference: string): unknown {
    const variant = this.variants.get(reference);
    if (variant !== undefined)
      return variant.sameAs === undefined ? variant.schema : this.schema(variant.sameAs);
    const found = target(this.description, reference);
    if (found === undefined) this.foreign.add(reference);
    return found;
  }

  /** Follows `$ref` from a schema, for at most a hundred steps, so that a circle ends. */
  followed(schema: unknown): unknown {
    let current = schema;
    for (let steps = 0; steps < 100 && isObject(current) && typeof current['$ref'] === 'string'; steps += 1) {
      current = this.schema(current['$ref']);
    }
    return current;
  }

  /**
   * Returns the reference to the edited component, or, for a reference to another place of the description, the edited schema itself. Equal
   * edits have equal keys.
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
    // Registered before it is complete: a schema may contain itself.
    this.variants.set(reference, variant);
    this.known.set(key, reference);
    variant.schema = edit(schema);
    if (variant.schema === schema) variant.sameAs = origin;
    return this.origin(reference);
  }

  /** The reference without the edits that changed nothing. */
  origin(reference: string): string {
    const same = this.variants.get(reference)?.sameAs;
    return same === undefined ? reference : this.origin(same);
  }

  /** The name of the component that a reference leads to, itself or as a variant. */
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

export function componentReference(name: string): string {
  return `${PREFIX}${name}`;
}

/** A member of an object, as its schema describes it. */
export interface DescribedMember {
  readonly name: string;
  readonly schema: unknown;
  readonly required: boolean;
}

/** The members that a schema describes, itself or in its references and parts; those in alternatives are optional. */
export function membersOf(schema: unknown, components: Components): readonly DescribedMember[] {
  const members = new Map<string, DescribedMember>();
  collect(schema, { components, isCertain: true, members, open: new Set() });
  // `required` may be in another part of `allOf` than the member, and before it.
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

/** True for a schema that itself describes an object: by its members, or by its type. */
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

/** The schema behind the `$ref` of `schema`; undefined if there is none. */
type Follow = (schema: unknown) => unknown;

/** Maximum depth of alternatives that is searched for `readOnly`: a schema may be an alternative of itself. */
const MAX_ALTERNATIVES = 6;

/** The base URI of references in the description; `.invalid` is a reserved domain (RFC 2606). */
const DOCUMENT = 'https://description.invalid/';

/** Keywords whose values are data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'example', 'examples']);

/** Maximum levels of a description that are searched for names of schemas. */
const MAX_FLATTENED_DEPTH = 200;

/**
 * The parts of a schema that apply together to each value: itself, the target of its `$ref`, and those of `allOf`, at any depth. A
 * keyword such as `readOnly`, `required` or `nullable` applies in any part.
 */
function partsOf(schema: unknown, follow: Follow): readonly JsonObject[] {
  const parts = new Set<JsonObject>();
  const pending: unknown[] = [schema];
  while (pending.length > 0) {
    const part = pending.pop();
    if (!isObject(part) || parts.has(part)) continue;
    parts.add(part);
    pending.push(...elementsOf(part['allOf']).toReversed(), follow(part));
  }
  return [...parts];
}

/** The names of members that are `readOnly` for every value (`certain`), or in at least one alternative (`possible`). */
export function readOnlyMembers(
  schema: unknown,
  follow: Follow,
): { readonly certain: ReadonlySet<string>; readonly possible: ReadonlySet<string> } {
  const parts = partsOf(schema, follow);
  const certain = new Set<string>();
  for (const part of parts) {
    for (const [name, member] of Object.entries(objectIn(part, 'properties'))) {
      if (isReadOnly(member, follow)) certain.add(name);
    }
  }
  const alternatives = parts.flatMap((part) => alternativesOf(part));
  if (alternatives.length === 0) return { certain, possible: certain };
  const possible = new Set(certain);
  const seen = new Set<unknown>(parts);
  for (let part = alternatives.pop(); part !== undefined; part = alternatives.pop()) {
    for (const inner of partsOf(part, follow)) {
      if (seen.has(inner)) continue;
      seen.add(inner);
      alternatives.push(...alternativesOf(inner));
      for (const [name, member] of Object.entries(objectIn(inner, 'properties'))) {
        if (isReadOnly(member, follow)) possible.add(name);
      }
    }
  }
  return { certain, possible };
}

function alternativesOf(schema: JsonObject): unknown[] {
  return [
    ...elementsOf(schema['anyOf']),
    ...elementsOf(schema['oneOf']),
    ...Object.values(objectIn(schema, 'dependentSchemas')),
    schema['then'],
    schema['else'],
  ].filter((part) => part !== undefined);
}

/** True for a schema with `readOnly` in one of its parts, or in each of its alternatives that is not just null. */
function isReadOnly(schema: unknown, follow: Follow, depth = 0): boolean {
  if (depth > MAX_ALTERNATIVES) return false;
  return partsOf(schema, follow).some((part) => {
    if (part['readOnly'] === true) return true;
    return ['anyOf', 'oneOf'].some((word) => {
      const branches = elementsOf(part[word]).filter((branch) => memberOf(branch, 'type') !== 'null');
      return branches.length > 0 && branches.every((branch) => isReadOnly(branch, follow, depth + 1));
    });
  });
}

/**
 * True for a schema of OpenAPI 3.0 that accepts null: `nullable` is beside its other keywords, or in a part without a type, which applies
 * to the whole.
 */
export function isNullable(schema: JsonObject, follow: Follow): boolean {
  if (schema['nullable'] === true) return true;
  return partsOf(schema, follow).some(
    (part) =>
      part['nullable'] === true &&
      part['type'] === undefined &&
      part['$ref'] === undefined &&
      part['allOf'] === undefined,
  );
}

/** A value where a schema is expected, and its place in the description. */
export interface Located {
  readonly schema: unknown;
  /** A fragment (RFC 6901 §6), such as `#/components/schemas/Client`. */
  readonly pointer: string;
  /** The URI that references in it are relative to. */
  readonly base: string;
}

/** Resolves references of a description: by pointer, and in OpenAPI 3.1 also by `$id` and `$anchor`. Other documents are not read. */
export class SchemaReferences {
  private readonly document: Located;
  /** Schemas by `$id` and by anchor. */
  private readonly named = new Map<string, Located>();

  constructor(description: Description) {
    this.document = { schema: description, pointer: '#', base: DOCUMENT };
    this.collect(this.document, 0);
  }

  /** A value of the description, from which references can be resolved. */
  locate(schema: unknown, pointer: string): Located {
    return { schema, pointer, base: DOCUMENT };
  }

  /** The target of `reference` from a schema; undefined if it is in another document, or missing. */
  find(reference: string, from: Located): Located | undefined {
    const uri = URL.parse(reference, from.base);
    if (uri === null) return undefined;
    const pointer = uri.hash;
    const resource = uri.href.slice(0, uri.href.length - pointer.length);
    const start = resource === DOCUMENT ? this.document : this.named.get(resource);
    const found =
      pointer.startsWith('#/') || pointer === ''
        ? start && this.within(start, pointer)
        : this.named.get(uri.href);
    // Many authors write pointers from the root of the description, even below an `$id`.
    return found ?? (reference.startsWith('#/') ? this.within(this.document, reference) : undefined);
  }

  /** The URI that references in a schema are relative to: its own `$id`, if it has one. */
  baseOf({ schema, base }: Located): string {
    const id = memberOf(schema, '$id');
    return typeof id === 'string' ? withoutFragment(URL.parse(id, base)?.href ?? base) : base;
  }

  private within(start: Located, pointer: string): Located | undefined {
    let { schema, base } = { ...start, base: this.baseOf(start) };
    for (const step of pointer === '' ? [] : pointer.slice(2).split('/')) {
      const name = pointerStep(step);
      schema = Array.isArray(schema) ? schema[Number(name)] : memberOf(schema, name);
      if (schema === undefined) return undefined;
      base = this.baseOf({ schema, pointer, base });
    }
    return { schema, pointer: `${start.pointer}${pointer.slice(1)}`, base };
  }

  private collect(located: Located, depth: number): void {
    const { schema, pointer } = located;
    if (depth > MAX_FLATTENED_DEPTH) return;
    if (Array.isArray(schema)) {
      for (const [index, part] of schema.entries())
        this.collect({ ...located, schema: part, pointer: `${pointer}/${index}` }, depth + 1);
    }
    if (!isObject(schema)) return;
    const base = this.baseOf(located);
    if (base !== located.base) this.named.set(base, { ...located, base });
    this.collectAnchor(schema, { ...located, base });
    for (const [name, part] of Object.entries(schema)) {
      if (typeof part === 'object' && !DATA.has(name))
        this.collect({ schema: part, pointer: `${pointer}/${pointerToken(name)}`, base }, depth + 1);
    }
  }

  private collectAnchor(schema: JsonObject, located: Located): void {
    const anchor = schema['$anchor'];
    if (typeof anchor === 'string') this.named.set(`${located.base}#${anchor}`, located);
  }
}

function withoutFragment(uri: string): string {
  const at = uri.indexOf('#');
  return at < 0 ? uri : uri.slice(0, at);
}
