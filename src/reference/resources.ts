import * as z from 'zod';

/** An operation of the specification on a collection. */
interface NamedOperation {
  readonly operation: string;
  readonly summary: string;
}

/** A collection of the API: its path, and the operations of the specification that write to it. */
export interface Resource {
  readonly kind: ResourceKind;
  /** The path below `/api/v2`. */
  readonly path: string;
  /** The name of its schema in the OpenAPI description. */
  readonly schema: string;
  readonly singular: string;
  readonly plural: string;
  readonly create?: NamedOperation;
  readonly update?: NamedOperation;
  /** The attributes that a list can be filtered by, in V1's spelling. Those that end in `_id` are whole numbers, others texts. */
  readonly filters: readonly string[];
}

/** Every collection. A property has no create: the order, booking or tour that names it creates it. */
const ROWS: readonly Omit<Resource, 'schema' | 'singular' | 'plural'>[] = [
  {
    kind: 'client',
    path: '/clients',
    create: { operation: 'create_client', summary: 'Create a client' },
    filters: ['name', 'email', 'external_reference'],
  },
  {
    kind: 'contact',
    path: '/contacts',
    create: { operation: 'create_contact', summary: 'Create a contact' },
    filters: ['email', 'client_id', 'external_reference'],
  },
  {
    kind: 'booking',
    path: '/bookings',
    create: { operation: 'create_booking', summary: 'Create a booking' },
    filters: ['property_id', 'client_id', 'contact_id', 'external_id', 'external_reference'],
  },
  {
    kind: 'floor_plan_order',
    path: '/orders/floor_plans',
    create: { operation: 'order_floor_plan', summary: 'Order a floor plan' },
    filters: ['property_id', 'client_id', 'external_id', 'external_reference'],
  },
  {
    kind: 'post_production_order',
    path: '/orders/post_productions',
    create: { operation: 'order_post_production', summary: 'Order post production' },
    filters: ['property_id', 'client_id', 'external_id', 'external_reference', 'transition_type'],
  },
  {
    kind: 'virtual_tour',
    path: '/virtual_tours',
    create: { operation: 'create_virtual_tour', summary: 'Create a virtual tour' },
    filters: ['property_id', 'client_id', 'external_id', 'external_reference'],
  },
  {
    kind: 'property',
    path: '/properties',
    update: { operation: 'update_property', summary: 'Update a property' },
    filters: ['display_name', 'external_reference', 'property_type', 'suburb'],
  },
];

/** Every collection, with its names. */
export const RESOURCES: readonly Resource[] = ROWS.map((row) => {
  const singular = row.kind.replaceAll('_', ' ');
  const plural = `${singular}s`.replace(/ys$/, 'ies');
  const schema = singular.replaceAll(/(?:^| )(.)/g, (_, first: string) => first.toUpperCase());
  return { ...row, schema, singular, plural };
});

/** The kinds of stored resources: one for each collection of the API. */
export type ResourceKind =
  | 'client'
  | 'contact'
  | 'booking'
  | 'property'
  | 'virtual_tour'
  | 'floor_plan_order'
  | 'post_production_order';

/** The attributes of a resource by name, as they were accepted; never holds `id`. */
export type Attributes = Readonly<Record<string, unknown>>;

/** A stored resource. Ids count up across all kinds and are never reused. */
export interface StoredResource {
  readonly id: number;
  readonly attributes: Attributes;
}

/** A range of a list in order of creation, and the size of the whole list at that moment. */
interface StoredPage {
  readonly items: readonly StoredResource[];
  readonly total: number;
}

/** Stores resources; a write is durable when the call returns. Throws {@link StoreBusy}. */
export interface Store {
  create(kind: ResourceKind, attributes: Attributes): StoredResource;
  read(kind: ResourceKind, id: number): StoredResource | undefined;
  /** Lists the resources that have every attribute of `where`, each a text or a number at the top level. */
  list(kind: ResourceKind, where: Attributes, offset: number, limit: number): StoredPage;
  /** Replaces the attributes with the result of `change`; no other writer runs between read and write. */
  update(
    kind: ResourceKind,
    id: number,
    change: (attributes: Attributes) => Attributes,
  ): StoredResource | undefined;
  /** Returns whether there was a resource to remove. */
  remove(kind: ResourceKind, id: number): boolean;
  /** Runs `work` as a transaction, which is rolled back when it throws; calls may be nested. */
  atomically<T>(work: () => T): T;
  close(): void;
}

/** Another writer held the store for longer than the wait limit; the call had no effect and may be repeated. */
export class StoreBusy extends Error {
  override readonly name = 'StoreBusy';
}

/** A store that fails with every call, as if its disk were gone, so that clients get a 500 of the service. */
export const FAILING_STORE: Store = {
  create: fail,
  read: fail,
  list: fail,
  update: fail,
  remove: fail,
  atomically: fail,
  close: () => {},
};

function fail(): never {
  throw new Error('The store fails for this key, because --failing names it.');
}

/** The reaction to an attribute that no version has, or that V2 has dropped: the specification allows both. */
export type UnknownAttributes = 'refuse' | 'strip';

/** The schema of request parameters, by the kind of resource that they create or update. */
export type Schemas = Readonly<Record<ResourceKind, z.ZodObject>>;

/**
 * The schemas of parameters. Only a client's name is required; any other attribute may be absent or null, but an `address` object
 * may only be absent. Names beyond those of the specification and the public documentation are assumptions.
 */
export function createSchemas(unknown: UnknownAttributes, spelling: Spelling): Schemas {
  const object = (shape: z.ZodRawShape): z.ZodObject =>
    unknown === 'refuse' ? z.strictObject(shape) : z.object(shape);
  const deprecated = Object.fromEntries(spelling.deprecated.map((name) => [name, anyValue]));
  const resource = (shape: z.ZodRawShape): z.ZodObject => object({ ...shape, ...deprecated });

  const propertyAttributes = (kind: ResourceKind): z.ZodRawShape => ({
    display_name: text,
    external_reference: text,
    property_type: text,
    client: object({ id, name: text, external_reference: text }).nullish(),
    ...(nestsAddress(spelling, kind) ? { address: object(address).optional() } : address),
  });
  const propertyOf = (kind: ResourceKind): z.ZodRawShape => ({
    property_id: id,
    property: object({ id, ...propertyAttributes(kind) })
      .nullish()
      .describe('A new property; with an id, one that exists.'),
  });

  return {
    client: resource({
      [spelling.clientName]: z.string(),
      email: text,
      phone: text,
      external_reference: text,
      notes: text,
    }),
    contact: resource({
      name: text,
      first_name: text,
      last_name: text,
      email: text,
      phone: text,
      role: text,
      client_id: id,
      external_reference: text,
      notes: text,
    }),
    booking: resource({
      ...propertyOf('booking'),
      client_id: id,
      contact_id: id,
      external_id: text,
      external_reference: text,
      scheduled_at: text.describe('A date and time, not checked.'),
      services: z.array(z.string()).nullish(),
      notes: text,
    }),
    floor_plan_order: resource({
      ...propertyOf('floor_plan_order'),
      client_id: id,
      external_id: text,
      external_reference: text,
      notes: text,
    }),
    post_production_order: resource({
      ...propertyOf('post_production_order'),
      client_id: id,
      external_id: text,
      external_reference: text,
      [spelling.highlight]: text.describe('Any value.'),
      notes: text,
    }),
    virtual_tour: resource({
      ...propertyOf('virtual_tour'),
      client_id: id,
      name: text,
      display_name: text,
      external_id: text,
      external_reference: text,
      notes: text,
    }),
    property: resource(propertyAttributes('property')),
  };
}

/** True for a name that a further attribute of every resource can have: a plain word that no resource uses. */
export function isFreeName(name: string, schemas: Schemas): boolean {
  const isUsed =
    ['id', 'data', 'deprecations'].includes(name) ||
    Object.values(schemas).some(({ shape }) => Object.hasOwn(shape, name));
  return /^[a-z]\w*$/i.test(name) && !isUsed;
}

const text = z.string().nullish();
const number = z.number().nullish();
const id = z.int().positive().nullish();
const anyValue = z.unknown().optional().meta({ deprecated: true });
/** The address attributes of a property. */
const address = {
  street_address: text,
  suburb: text,
  state: text,
  postcode: text,
  country: text,
  latitude: number,
  longitude: number,
};

/** Names and places of attributes, where editions of the API differ. */
export interface Spelling {
  /**
   * Place of the address attributes in the property of a floor plan or post production order: on the property, or in its `address`.
   * Properties of bookings and virtual tours, and properties themselves, have a flat address in every version.
   */
  readonly orderAddress: 'flat' | 'nested';
  /** An attribute of post production orders. */
  readonly highlight: 'transition_type' | 'highlight_type';
  /** The name of a client. The specification has only `name`; later releases are the invention of this service. */
  readonly clientName: 'name' | 'display_name';
  /** Top-level attributes of every resource, with any value, that V1 still takes, and V2 has dropped. No resource has them. */
  readonly deprecated: readonly string[];
}

/** Converts accepted attributes to V1's spelling, to store them. */
export function toStored(spelling: Spelling, kind: ResourceKind, given: Attributes): Attributes {
  const flat = nestsAddress(spelling, kind) ? onProperty(given, flattenAddress) : given;
  return renamed(flat, (name) => storedName(spelling, kind, name));
}

/** Converts stored attributes to `spelling`; members that it does not have stay. */
export function fromStored(spelling: Spelling, kind: ResourceKind, stored: Attributes): Attributes {
  const spelled = renamed(stored, (name) => spelledName(spelling, kind, name));
  return nestsAddress(spelling, kind) ? onProperty(spelled, nestAddress) : spelled;
}

/** The name that `spelling` has for a stored top-level attribute. */
export function spelledName(spelling: Spelling, kind: ResourceKind, name: string): string {
  if (kind === 'post_production_order' && name === 'transition_type') return spelling.highlight;
  if (kind === 'client' && name === 'name') return spelling.clientName;
  return name;
}

/** True when the property of this kind of resource has an `address` object in `spelling`. */
export function nestsAddress({ orderAddress }: Spelling, kind: ResourceKind): boolean {
  return orderAddress === 'nested' && (kind === 'floor_plan_order' || kind === 'post_production_order');
}

/** True for the name of an address attribute. */
export function isOfAddress(name: string): boolean {
  return Object.hasOwn(address, name);
}

function storedName(spelling: Spelling, kind: ResourceKind, name: string): string {
  if (kind === 'post_production_order' && name === spelling.highlight) return 'transition_type';
  if (kind === 'client' && name === spelling.clientName) return 'name';
  return name;
}

function renamed(attributes: Attributes, rename: (name: string) => string): Attributes {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [rename(name), value]));
}

function onProperty(attributes: Attributes, change: (property: Attributes) => Attributes): Attributes {
  const { property } = attributes;
  return isObject(property) ? { ...attributes, property: change(property) } : attributes;
}

/** A property without any address attribute gets no empty `address`. */
function nestAddress(property: Attributes): Attributes {
  const entries = Object.entries(property);
  const address = entries.filter(([name]) => isOfAddress(name));
  if (address.length === 0) return property;
  const own = entries.filter(([name]) => !isOfAddress(name));
  return { ...Object.fromEntries(own), address: Object.fromEntries(address) };
}

function flattenAddress({ address, ...own }: Attributes): Attributes {
  return isObject(address) ? { ...own, ...address } : own;
}

/** Whether a JSON value is an object. */
export function isObject(value: unknown): value is Attributes {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
