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
