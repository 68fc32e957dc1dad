import type { ResourceKind } from './store.ts';

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
export const RESOURCES: readonly Resource[] = [
  {
    kind: 'client',
    path: '/clients',
    schema: 'Client',
    singular: 'client',
    plural: 'clients',
    create: { operation: 'create_client', summary: 'Create a client' },
    filters: ['name', 'email', 'external_reference'],
  },
  {
    kind: 'contact',
    path: '/contacts',
    schema: 'Contact',
    singular: 'contact',
    plural: 'contacts',
    create: { operation: 'create_contact', summary: 'Create a contact' },
    filters: ['email', 'client_id', 'external_reference'],
  },
  {
    kind: 'booking',
    path: '/bookings',
    schema: 'Booking',
    singular: 'booking',
    plural: 'bookings',
    create: { operation: 'create_booking', summary: 'Create a booking' },
    filters: ['property_id', 'client_id', 'contact_id', 'external_id', 'external_reference'],
  },
  {
    kind: 'floor_plan_order',
    path: '/orders/floor_plans',
    schema: 'FloorPlanOrder',
    singular: 'floor plan order',
    plural: 'floor plan orders',
    create: { operation: 'order_floor_plan', summary: 'Order a floor plan' },
    filters: ['property_id', 'client_id', 'external_id', 'external_reference'],
  },
  {
    kind: 'post_production_order',
    path: '/orders/post_productions',
    schema: 'PostProductionOrder',
    singular: 'post production order',
    plural: 'post production orders',
    create: { operation: 'order_post_production', summary: 'Order post production' },
    filters: ['property_id', 'client_id', 'external_id', 'external_reference', 'transition_type'],
  },
  {
    kind: 'virtual_tour',
    path: '/virtual_tours',
    schema: 'VirtualTour',
    singular: 'virtual tour',
    plural: 'virtual tours',
    create: { operation: 'create_virtual_tour', summary: 'Create a virtual tour' },
    filters: ['property_id', 'client_id', 'external_id', 'external_reference'],
  },
  {
    kind: 'property',
    path: '/properties',
    schema: 'Property',
    singular: 'property',
    plural: 'properties',
    update: { operation: 'update_property', summary: 'Update a property' },
    filters: ['display_name', 'external_reference', 'property_type', 'suburb'],
  },
];
