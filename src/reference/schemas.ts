import * as z from 'zod';
import type { ResourceKind } from './store.ts';

/** The reaction to an attribute that V2 does not have: the specification allows both. */
export type UnknownAttributes = 'refuse' | 'strip';

/** The schema of request parameters, by the kind of resource that they create or update. */
export type Schemas = Readonly<Record<ResourceKind, z.ZodObject>>;

/** The address attributes that V1 kept directly on a property. */
export const ADDRESS_ATTRIBUTES = [
  'street_address',
  'suburb',
  'state',
  'postcode',
  'country',
  'latitude',
  'longitude',
] as const;

/** The differences in spelling between the versions of the API. */
export interface Spelling {
  readonly address: 'nested' | 'flat';
  readonly highlight: 'highlight_type' | 'transition_type';
  /** Further top-level attributes of every resource, with any value. */
  readonly further: readonly string[];
}

/** V2's spelling. */
export const SPELLING_OF_V2: Spelling = { address: 'nested', highlight: 'highlight_type', further: [] };

/**
 * The schemas of parameters. Only a client's name is required; any other attribute may be absent or null. Names beyond those of
 * the specification and the public documentation are assumptions.
 */
export function createSchemas(unknown: UnknownAttributes, spelling: Spelling): Schemas {
  const object = (shape: z.ZodRawShape): z.ZodObject =>
    unknown === 'refuse' ? z.strictObject(shape) : z.object(shape);
  const further = Object.fromEntries(spelling.further.map((name) => [name, z.unknown().optional()]));
  const resource = (shape: z.ZodRawShape): z.ZodObject => object({ ...shape, ...further });

  const address = {
    street_address: text,
    suburb: text,
    state: text,
    postcode: text,
    country: text,
    latitude: number,
    longitude: number,
  };
  const propertyAttributes = {
    display_name: text,
    external_reference: text,
    property_type: text,
    client: object({ id, name: text, external_reference: text }).nullish(),
    ...(spelling.address === 'flat' ? address : { address: object(address).nullish() }),
  };
  const property = {
    property_id: id,
    property: object({ id, ...propertyAttributes })
      .nullish()
      .describe('A new property; with an id, one that exists.'),
  };

  return {
    client: resource({ name: z.string(), email: text, phone: text, external_reference: text, notes: text }),
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
      ...property,
      client_id: id,
      contact_id: id,
      external_id: text,
      external_reference: text,
      scheduled_at: text.describe('A date and time, not checked.'),
      services: z.array(z.string()).nullish(),
      notes: text,
    }),
    floor_plan_order: resource({
      ...property,
      client_id: id,
      external_id: text,
      external_reference: text,
      notes: text,
    }),
    post_production_order: resource({
      ...property,
      client_id: id,
      external_id: text,
      external_reference: text,
      [spelling.highlight]: text.describe('Any value; highlight_type in V2, transition_type in V1.'),
      notes: text,
    }),
    virtual_tour: resource({
      ...property,
      client_id: id,
      name: text,
      display_name: text,
      external_id: text,
      external_reference: text,
      notes: text,
    }),
    property: resource(propertyAttributes),
  };
}

const text = z.string().nullish();
const number = z.number().nullish();
const id = z.int().positive().nullish();
