import { pointerToken } from '../json/pointer.ts';
import {
  editMembers,
  isObject,
  type JsonObject,
  memberOf,
  objectIn,
  pointerStep,
  isSwagger,
} from './description.ts';

/** True if a description is at an address and not in a file. */
export function isAddress(source: string): boolean {
  return /^https?:\/\//i.test(source);
}

/** A reference without a target. */
export interface DeadReference {
  readonly reference: string;
  /** The address of its document. */
  readonly document: string;
  /** The address of the missing target, with its fragment. */
  readonly target: string;
  /** True if the target's document has not been read. */
  readonly isUnread: boolean;
}

/** A description in one document, and the references that could not be resolved. */
export interface JoinedDescription {
  readonly description: JsonObject;
  readonly dead: readonly DeadReference[];
}

/** The kind of a value, which determines which members are references, names and data. */
type Kind = 'part' | 'parts' | 'schema' | 'schemas' | 'data';

/** A value and the document that its references are relative to. */
interface Place {
  readonly value: unknown;
  readonly document: string;
  /** An RFC 6901 pointer in the document. */
  readonly pointer: string;
}

/** Members that hold values of clients and servers, in which `$ref` is a name like any other. */
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'example', 'value', 'xml']);

/** Members of a schema whose members are schemas. */
const SCHEMA_MAPS: ReadonlySet<string> = new Set(
  'properties patternProperties dependentSchemas $defs definitions'.split(' '),
);

/** Members of other parts whose members have names of their own. */
const PART_MAPS: ReadonlySet<string> = new Set(
  'paths webhooks responses parameters requestBodies headers examples links callbacks securitySchemes pathItems content'.split(
    ' ',
  ),
);

/** Keywords beside a `$ref` that only inform people, and are kept although OpenAPI 3.0 ignores them. */
const ANNOTATIONS: ReadonlySet<string> = new Set(['description', 'summary', 'title', 'example']);

/** Maximum references in a row. */
const MAX_STEPS = 100;

/** Maximum values that are copied from other documents. */
const MAX_VALUES = 3_000_000;

/**
 * Joins the documents of a description into one: a schema of another document becomes a component with its own name, so that it may
 * contain itself; any other part is put where it is referred to. References that lead nowhere are kept and listed, except those within
 * the first document. In OpenAPI 3.0 and Swagger 2.0, keywords beside a `$ref` are left out, as they are ignored there (OpenAPI 3.0.4
 * §4.7.23.1); in 3.1 they hold as well, and are kept.
 */
export function joinDocuments(root: string, documents: ReadonlyMap<string, unknown>): JoinedDescription {
  return new Join(root, documents).joined();
}

class Join {
  private readonly root: string;
  private readonly documents: ReadonlyMap<string, unknown>;
  /** Documents by the `$id` that they give themselves. */
  private readonly byId = new Map<string, string>();
  /** The `$id`s of schemas in the first document (JSON Schema 2020-12 §8.2.1). */
  private readonly ids = new Set<string>();
  /** Members of the description that hold its schemas. */
  private readonly home: readonly string[];
  private readonly ignoresSiblings: boolean;
  /** Names of components, by document and pointer. */
  private readonly names = new Map<string, string>();
  private readonly taken = new Set<string>();
  /** Schemas of other documents that are yet to be brought in. */
  private readonly pending: { readonly name: string; readonly place: Place }[] = [];
  private readonly dead = new Map<string, DeadReference>();
  /** Parts that are being inserted, to detect those that contain themselves. */
  private readonly open = new Set<string>();
  private values = 0;

  constructor(root: string, documents: ReadonlyMap<string, unknown>) {
    this.root = root;
    this.documents = documents;
    const description = documents.get(root);
    const isOldest = isSwagger(description);
    this.home = isOldest ? ['definitions'] : ['components', 'schemas'];
    this.ignoresSiblings = isOldest || String(memberOf(description, 'openapi')).startsWith('3.0');
    this.collectIds(description, root);
    for (const [address, document] of documents) {
      const id = memberOf(document, '$id');
      if (typeof id === 'string') this.byId.set(withoutFragment(URL.parse(id, address)?.href ?? id), address);
    }
  }

  joined(): JoinedDescription {
    const declared = this.schemasOf();
    this.nameDeclared(declared);
    const whole = this.walk(this.placeOf(this.root, ''), 'part');
    const description = isObject(whole) ? whole : {};
    const schemas: [string, unknown][] = Object.entries(isObject(declared.value) ? declared.value : {}).map(
      ([name, value]) => [name, this.component(name, inside(declared, name, value))],
    );
    for (let next = this.pending.shift(); next !== undefined; next = this.pending.shift())
      schemas.push([next.name, this.walk(next.place, 'schema')]);
    const dead = [...this.dead.values()];
    if (schemas.length === 0) return { description, dead };
    return { description: withMember(description, this.home, Object.fromEntries(schemas)), dead };
  }

  /** The schema components, which may be a document of their own. */
  private schemasOf(): Place {
    return this.home.reduce<Place>(
      (place, name) => {
        const found = this.followed(place);
        return this.followed(inside(found, name, memberOf(found.value, name)));
      },
      this.placeOf(this.root, ''),
    );
  }

  /** A schema of another document gets the name of a component that only refers to it. */
  private nameDeclared(declared: Place): void {
    if (!isObject(declared.value)) return;
    for (const [name, value] of Object.entries(declared.value)) {
      this.taken.add(name);
      for (const place of [inside(declared, name, value), this.followed(inside(declared, name, value))]) {
        const key = keyOf(place);
        if (place.document !== this.root && !this.names.has(key)) this.names.set(key, name);
      }
    }
  }

  private component(name: string, place: Place): unknown {
    const target = this.followed(place);
    const isOwn = target.document !== this.root && this.names.get(keyOf(target)) === name;
    return this.walk(isOwn ? target : place, 'schema');
  }

  private walk(place: Place, kind: Kind): unknown {
    const { value, document } = place;
    if (document !== this.root && (this.values += 1) > MAX_VALUES)
      throw new Error(`with all its documents the description has more than ${MAX_VALUES} values`);
    if (kind === 'data') return value;
    if (Array.isArray(value)) {
      const one = kind === 'parts' ? 'part' : kind === 'schemas' ? 'schema' : kind;
      return value.map((element: unknown, at) => this.walk(inside(place, String(at), element), one));
    }
    if (!isObject(value)) return value;
    const reference = value['$ref'];
    if (typeof reference === 'string') return this.referred(place, value, reference, kind);
    return this.members(place, value, kind);
  }

  private members(place: Place, value: JsonObject, kind: Kind): JsonObject {
    return editMembers(value, (name, member) => {
      if (name === '$ref' && typeof member === 'string') return [];
      // The schemas of the description itself are brought in one by one, see `joined`.
      if (place.document === this.root && this.isHome(place.pointer, name)) return [];
      if (kind === 'schema' && name === 'discriminator') return [[name, this.discriminator(place, member)]];
      return [[name, this.walk(inside(place, name, member), kindOf(kind, name))]];
    });
  }

  private isHome(pointer: string, name: string): boolean {
    return `${pointer}/${name}` === `/${this.home.join('/')}`;
  }

  private referred(place: Place, value: JsonObject, reference: string, kind: Kind): unknown {
    const siblings = (): JsonObject => this.members(place, value, kind);
    if (place.document === this.root && this.isLocal(reference))
      return { $ref: reference, ...(kind === 'schema' ? this.effective(siblings()) : siblings()) };
    const target = this.target(reference, place);
    if (kind === 'schema') {
      const joined = target === undefined ? reference : this.joinedReference(target);
      return { $ref: joined, ...this.effective(siblings()) };
    }
    if (target === undefined) return { $ref: reference, ...siblings() };
    if (target.document === this.root) return { $ref: `#${target.pointer}`, ...siblings() };
    const key = keyOf(target);
    if (this.open.has(key)) {
      this.noteDead(reference, place, key, false);
      return siblings();
    }
    this.open.add(key);
    const found = this.walk(target, kind);
    this.open.delete(key);
    return isObject(found) ? { ...found, ...siblings() } : found;
  }

  /** True for a reference within the first document: to a pointer or an anchor, or to a schema by its `$id`. */
  private isLocal(reference: string): boolean {
    if (reference.startsWith('#')) return true;
    return [...this.ids].some((base) =>
      this.ids.has(withoutFragment(URL.parse(reference, base)?.href ?? '')),
    );
  }

  private collectIds(value: unknown, base: string): void {
    if (Array.isArray(value)) for (const element of value) this.collectIds(element, base);
    if (!isObject(value)) return;
    const id = value['$id'];
    const own = typeof id === 'string' ? withoutFragment(URL.parse(id, base)?.href ?? base) : base;
    if (own !== base) this.ids.add(own);
    for (const [name, member] of Object.entries(value)) if (!DATA.has(name)) this.collectIds(member, own);
  }

  private effective(siblings: JsonObject): JsonObject {
    if (!this.ignoresSiblings) return siblings;
    return editMembers(siblings, (name, value) =>
      ANNOTATIONS.has(name) || name.startsWith('x-') ? [[name, value]] : [],
    );
  }

  private discriminator(place: Place, value: unknown): unknown {
    const mapping = memberOf(value, 'mapping');
    if (!isObject(value) || !isObject(mapping)) return value;
    const renamed = editMembers(mapping, (name, to) => {
      // A name of a component, or a reference (OpenAPI 3.1.1 §4.8.25), which has a slash, a number sign or the ending of a file.
      if (typeof to !== 'string' || !/[/#]|\.(?:json|ya?ml)$/i.test(to)) return [[name, to]];
      if (place.document === this.root && this.isLocal(to)) return [[name, to]];
      const target = this.target(to, place);
      return [[name, target === undefined ? to : this.joinedReference(target)]];
    });
    return { ...value, mapping: renamed };
  }

  /** The reference to a schema within the joined description. */
  private joinedReference(declared: Place): string {
    const place = this.followed(declared);
    if (place.document === this.root) return `#${place.pointer}`;
    const key = keyOf(place);
    const known = this.names.get(key);
    if (known !== undefined) return this.referenceTo(known);
    const name = this.freeName(place);
    this.taken.add(name);
    this.names.set(key, name);
    this.pending.push({ name, place });
    return this.referenceTo(name);
  }

  private referenceTo(name: string): string {
    return `#/${this.home.join('/')}/${pointerToken(name)}`;
  }

  /** A name for a schema of another document: the last step to it, or the name of its file. */
  private freeName({ document, pointer }: Place): string {
    const step = pointer === '' ? document.replace(/^.*\/|\.\w+$/g, '') : (pointer.split('/').at(-1) ?? '');
    const wanted = pointerStep(step).replace(/[^\w.-]+/g, '_') || 'Schema';
    let name = wanted;
    for (let number = 2; this.taken.has(name); number += 1) name = `${wanted}_${number}`;
    return name;
  }

  /** The final target of a place that only refers to another one; a reference with siblings is a schema itself. */
  private followed(declared: Place): Place {
    let place = declared;
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      const reference = memberOf(place.value, '$ref');
      if (typeof reference !== 'string' || !isObject(place.value)) return place;
      if (Object.keys(place.value).length > 1 && !this.ignoresSiblings) return place;
      const next = this.target(reference, place);
      if (next === undefined) return place;
      place = next;
    }
    return place;
  }

  /** The target of a reference; undefined if it is missing, which is noted unless it is within the first document. */
  private target(reference: string, from: Place): Place | undefined {
    const url = URL.parse(reference, from.document);
    if (url === null) {
      this.noteDead(reference, from, reference, false);
      return undefined;
    }
    const address = withoutFragment(url.href);
    const document = this.documents.has(address) ? address : this.byId.get(address);
    if (document === undefined) {
      this.noteDead(reference, from, url.href, true);
      return undefined;
    }
    const pointer = url.hash.slice(1);
    const found = pointer === '' || pointer.startsWith('/') ? this.placeOf(document, pointer) : undefined;
    if (found?.value !== undefined) return found;
    // The reader of the first document, which also resolves anchors, reports references that lead nowhere.
    if (document === this.root) return undefined;
    this.noteDead(reference, from, url.href, false);
    return undefined;
  }

  /** The place at a pointer; references on the way are followed. */
  private placeOf(document: string, pointer: string): Place {
    const whole: Place = { value: this.documents.get(document), document, pointer: '' };
    return (pointer === '' ? [] : pointer.slice(1).split('/')).reduce<Place>((place, step) => {
      const name = pointerStep(step);
      if (Array.isArray(place.value)) return inside(place, name, place.value[Number(name)]);
      const member = memberOf(place.value, name);
      if (member !== undefined || place.document === this.root) return inside(place, name, member);
      const found = this.followed(place);
      return inside(found, name, memberOf(found.value, name));
    }, whole);
  }

  private noteDead(reference: string, from: Place, target: string, isUnread: boolean): void {
    const key = `${from.document} ${reference}`;
    if (!this.dead.has(key)) this.dead.set(key, { reference, document: from.document, target, isUnread });
  }
}

function inside({ document, pointer }: Place, name: string, value: unknown): Place {
  return { value, document, pointer: `${pointer}/${pointerToken(name)}` };
}

function keyOf({ document, pointer }: Place): string {
  return `${document}#${pointer}`;
}

export function withoutFragment(address: string): string {
  const at = address.indexOf('#');
  return at < 0 ? address : address.slice(0, at);
}

/** The kind of the member `name` of a value of this kind. */
function kindOf(kind: Kind, name: string): Kind {
  if (kind === 'parts') return 'part';
  if (kind === 'schemas') return 'schema';
  if (name.startsWith('x-') || DATA.has(name)) return 'data';
  if (kind === 'schema') return name === 'examples' ? 'data' : SCHEMA_MAPS.has(name) ? 'schemas' : 'schema';
  if (name === 'schema') return 'schema';
  if (name === 'schemas' || name === 'definitions') return 'schemas';
  return PART_MAPS.has(name) ? 'parts' : 'part';
}

function withMember(object: JsonObject, path: readonly string[], value: unknown): JsonObject {
  const [name = '', ...rest] = path;
  return { ...object, [name]: rest.length === 0 ? value : withMember(objectIn(object, name), rest, value) };
}
