import { isObject } from './is-object.ts';
import type { Attributes, ResourceKind } from './store.ts';

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
  /** Top-level attributes of every resource, with any value, that V1 still takes, stores and answers, and V2 has dropped. */
  readonly deprecated: readonly string[];
}

/** The address attributes of a property. */
export const ADDRESS_ATTRIBUTES = [
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
