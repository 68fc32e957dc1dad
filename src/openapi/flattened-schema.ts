import { pointerToken } from '../json/pointer.ts';
import {
  type Description,
  elementsOf,
  isObject,
  type JsonObject,
  memberOf,
  objectIn,
  pointerStep,
} from './description.ts';

/** The schema that a `$ref` of `schema` leads to; undefined where there is none. */
type Follow = (schema: unknown) => unknown;

/** Maximum alternatives within alternatives that are searched for `readOnly`: a schema may be its own. */
const MAX_ALTERNATIVES = 6;

/** The address of the description for references in it; `.invalid` is nobody's (RFC 2606). */
const DOCUMENT = 'https://description.invalid/';

/** Keywords whose values are data and no schemas. */
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'example', 'examples']);

/** Maximum levels of a description that are searched for names of schemas. */
const MAX_DEPTH = 200;

/**
 * The parts of a schema that hold together for each value: itself, what its `$ref` leads to, and those of `allOf`, at any depth. A
 * word such as `readOnly`, `required` or `nullable` holds in whichever part it stands.
 */
export function partsOf(schema: unknown, follow: Follow): readonly JsonObject[] {
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

/** The names of members that a schema calls `readOnly`: in each view of a value (`certain`), or also in one of its alternatives. */
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
 * True for a schema of OpenAPI 3.0 that accepts null: `nullable` stands beside its other words, or in a part that has no type of its
 * own and so is meant for the whole.
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

/** A schema, or what stands for one, and its place in the description. */
export interface Located {
  readonly schema: unknown;
  /** A fragment (RFC 6901 §6), such as `#/components/schemas/Client`. */
  readonly pointer: string;
  /** The URI that references in it are relative to. */
  readonly base: string;
}

/** Where references of a description lead: by pointer, and in OpenAPI 3.1 by `$id` and `$anchor` also. Other documents are not read. */
export class SchemaReferences {
  private readonly document: Located;
  /** Schemas by `$id` and by anchor. */
  private readonly named = new Map<string, Located>();

  constructor(description: Description) {
    this.document = { schema: description, pointer: '#', base: DOCUMENT };
    this.collect(this.document, 0);
  }

  /** A part of the description, as one from which references lead. */
  locate(schema: unknown, pointer: string): Located {
    return { schema, pointer, base: DOCUMENT };
  }

  /** Where `reference` leads from a schema; undefined when it is in another document, or nowhere. */
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
    // Many write pointers from the root of the description also below an `$id`.
    return found ?? (reference.startsWith('#/') ? this.within(this.document, reference) : undefined);
  }

  /** The URI that references in a schema are relative to, by its own `$id`. */
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
    if (depth > MAX_DEPTH) return;
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
