import type { Schemas } from './schemas.ts';
import type { Attributes, ResourceKind } from './store.ts';

/** The versions of the API that the service can speak. */
export type DialectName = 'v1' | 'v2';

/** A deprecated attribute that a request used, as V1 responses it. */
export interface Deprecation {
  /** Member names joined by dots. */
  readonly attribute: string;
  readonly message: string;
}

/** What a request asked to be stored, in V2's spelling whatever it was written in. */
export interface Accepted {
  readonly attributes: Attributes;
  /** Always empty in V2. */
  readonly deprecations: readonly Deprecation[];
}

/** How one version of the API reads and writes. Both work on the same stored resources, which are kept as V2 has them. */
export interface Dialect {
  readonly name: DialectName;
  /** Such as `/api/v2`. */
  readonly prefix: string;
  /** The member that holds the parameters of a body; none when bodies are flat. */
  readonly wrapper: string | undefined;
  /** Whether `x-api-version` is read and echoed. */
  readonly dated: boolean;
  /** What the parameters may be. */
  readonly schemas: Schemas;
  /** Throws a 422 that points at what the version does not take. */
  accept(kind: ResourceKind, body: unknown): Accepted;
  /** Attributes in the spelling of this version. */
  present(kind: ResourceKind, attributes: Attributes): Attributes;
}
