import * as z from 'zod';
import type { Attributes, ResourceKind } from './resources.ts';

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

/** The address attributes of a property. */
const ADDRESS_ATTRIBUTES = [
  'street_address',
  'suburb',
  'state',
  'postcode',
  'country',
  'latitude',
  'longitude',
] as const;

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
  return ADDRESS_ATTRIBUTES.some((attribute) => attribute === name);
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
