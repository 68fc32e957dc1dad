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

/** A store that fails with every call, as one does whose disk is gone: with it, a client meets a 500 of the service. */
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
  throw new Error('The store fails for this key, as the service was told.');
}
