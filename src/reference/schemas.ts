import * as z from 'zod';
import { nestsAddress, type Spelling } from './spelling.ts';
import type { ResourceKind } from './store.ts';

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
