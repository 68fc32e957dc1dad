import * as z from 'zod';
import type { ResourceKind } from './store.ts';

/** What becomes of an attribute that V2 does not have: the specification allows both. */
export type UnknownAttributes = 'refuse' | 'strip';

/** What a request body may hold, by the kind of resource it creates or updates. */
export type Schemas = Readonly<Record<ResourceKind, z.ZodObject>>;

/** The address attributes that V1 kept directly on a property. */
export const addressAttributes = [
  'street_address',
  'suburb',
  'state',
  'postcode',
  'country',
  'latitude',
  'longitude',
] as const;

/**
 * The request schemas of V2. Only a client's name is required; any other attribute may be absent or null.
 * Names beyond those of the specification and the public documentation are assumptions.
 */
export function createSchemas(unknown: UnknownAttributes): Schemas {
  const object = (shape: z.ZodRawShape): z.ZodObject =>
    unknown === 'refuse' ? z.strictObject(shape) : z.object(shape);

  const address = object({
    street_address: text,
    suburb: text,
    state: text,
    postcode: text,
    country: text,
    latitude: number,
    longitude: number,
  });
  const propertyAttributes = {
    display_name: text,
    external_reference: text,
    property_type: text,
    client: object({ id, name: text, external_reference: text }).nullish(),
    address: address.nullish(),
  };
  const property = {
    property_id: id,
    property: object({ id, ...propertyAttributes })
      .nullish()
      .describe('A new property; with an id, one that exists.'),
  };

  return {
    client: object({ name: z.string(), email: text, phone: text, external_reference: text, notes: text }),
    contact: object({
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
    booking: object({
      ...property,
      client_id: id,
      contact_id: id,
      external_id: text,
      external_reference: text,
      scheduled_at: text.describe('A date and time, not checked.'),
      services: z.array(z.string()).nullish(),
      notes: text,
    }),
    floor_plan_order: object({
      ...property,
      client_id: id,
      external_id: text,
      external_reference: text,
      notes: text,
    }),
    post_production_order: object({
      ...property,
      client_id: id,
      external_id: text,
      external_reference: text,
      highlight_type: text.describe('Called transition_type in V1; any value.'),
      notes: text,
    }),
    virtual_tour: object({
      ...property,
      client_id: id,
      name: text,
      display_name: text,
      external_id: text,
      external_reference: text,
      notes: text,
    }),
    property: object(propertyAttributes),
  };
}

const text = z.string().nullish();
const number = z.number().nullish();
const id = z.int().positive().nullish();
