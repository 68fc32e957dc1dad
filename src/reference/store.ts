/** What the service keeps: one kind for each collection of the API. */
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

/** A resource as it is kept. Ids count up over all kinds and are never given twice. */
export interface StoredResource {
  readonly id: number;
  readonly attributes: Attributes;
}

/** A stretch of a collection in the order of creation, and the size of the whole collection at that moment. */
interface StoredPage {
  readonly items: readonly StoredResource[];
  readonly total: number;
}

/** Where the service keeps its resources; a write is on record when the call returns. Throws {@link StoreBusy}. */
export interface Store {
  create(kind: ResourceKind, attributes: Attributes): StoredResource;
  read(kind: ResourceKind, id: number): StoredResource | undefined;
  list(kind: ResourceKind, offset: number, limit: number): StoredPage;
  /** Replaces the attributes by what `change` makes of them; no other writer comes between reading and writing. */
  update(
    kind: ResourceKind,
    id: number,
    change: (attributes: Attributes) => Attributes,
  ): StoredResource | undefined;
  /** Responses whether there was anything to remove. */
  remove(kind: ResourceKind, id: number): boolean;
  /** Does all of `work` or, when it throws, nothing; calls may be nested. */
  atomically<T>(work: () => T): T;
  close(): void;
}

/** Another writer held the store for longer than this one waits; the call had no effect and may be repeated. */
export class StoreBusy extends Error {
  override readonly name = 'StoreBusy';
}
