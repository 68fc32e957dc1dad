import type { Schemas } from './schemas.ts';
import type { Attributes, ResourceKind } from './store.ts';

/** The versions of the API that the service supports. */
export type DialectName = 'v1' | 'v2';

/** A deprecated attribute that a request used, as V1 reports it. */
export interface Deprecation {
  /** Member names joined by dots. */
  readonly attribute: string;
  readonly message: string;
}

/** The attributes that a request stores, in V2's spelling regardless of the request's version. */
export interface Accepted {
  readonly attributes: Attributes;
  /** Always empty in V2. */
  readonly deprecations: readonly Deprecation[];
}

/** Reads and writes one version of the API. All versions share the same stored resources, which use V2's spelling. */
export interface Dialect {
  readonly name: DialectName;
  /** Such as `/api/v2`. */
  readonly prefix: string;
  /** The member that holds the parameters of a body; absent when bodies are flat. */
  readonly wrapper: string | undefined;
  /** True when `x-api-version` is read and echoed. */
  readonly dated: boolean;
  /** The schemas of the parameters. */
  readonly schemas: Schemas;
  /** Throws a 422 with pointers to the attributes that the version does not accept. */
  accept(kind: ResourceKind, body: unknown): Accepted;
  /** Converts stored attributes to this version's spelling. */
  present(kind: ResourceKind, attributes: Attributes): Attributes;
}
