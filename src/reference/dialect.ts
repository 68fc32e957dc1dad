import { createSchemas, type Schemas, type UnknownAttributes } from './schemas.ts';
import type { Edition } from './edition.ts';
import { unknownAttribute } from './unknown-attribute.ts';
import { fromStored, toStored, type Spelling } from './spelling.ts';
import type { Attributes, ResourceKind } from './store.ts';
import { acceptAttributes, parametersOf } from './validation.ts';

/** A deprecated attribute that a request used, as V1 reports it. */
export interface Deprecation {
  readonly attribute: string;
  readonly message: string;
}

/** The attributes that a request stores, in V1's spelling regardless of the request's version. */
export interface Accepted {
  readonly attributes: Attributes;
  /** Always empty in V2. */
  readonly deprecations: readonly Deprecation[];
}

/** Reads and writes one edition of the API. All editions share the same stored resources, which use V1's spelling. */
export interface Dialect extends Edition {
  /** Such as `/api/v2`. */
  readonly prefix: string;
  /** The schemas of the parameters. */
  readonly schemas: Schemas;
  /** Throws a 422 with pointers to the attributes that the edition does not accept. */
  accept(kind: ResourceKind, body: unknown): Accepted;
  /** Converts stored attributes to the edition's spelling, in the order of its schema and without those that it does not have. */
  present(kind: ResourceKind, attributes: Attributes): Attributes;
}

/** The dialect of an edition. Every edition is made here, so that they cannot differ in anything else. */
export function createDialect(edition: Edition, unknown: UnknownAttributes): Dialect {
  const { name, wrapper, spelling } = edition;
  const schemas = createSchemas(unknown, spelling);
  // A request may use the deprecated attributes, but no resource has them.
  const presented = createSchemas('strip', { ...spelling, deprecated: [] });
  return {
    ...edition,
    prefix: `/api/${name}`,
    schemas,
    accept: (kind, body) => {
      const { parameters, at } = parametersOf(body, wrapper);
      const given = acceptAttributes(schemas[kind], parameters, {
        at,
        unknown: (path, key) => unknownAttribute(edition, kind, path, key),
      });
      const stored = toStored(spelling, kind, withoutDeprecated(spelling, given));
      return { attributes: stored, deprecations: deprecationsOf(spelling, given) };
    },
    present: (kind, stored) => presented[kind].parse(fromStored(spelling, kind, stored)),
  };
}

function withoutDeprecated({ deprecated }: Spelling, given: Attributes): Attributes {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !deprecated.includes(name)));
}

function deprecationsOf({ deprecated }: Spelling, given: Attributes): Deprecation[] {
  return deprecated
    .filter((name) => Object.hasOwn(given, name))
    .map((name) => ({ attribute: name, message: `${name} is deprecated: it is gone in V2.` }));
}
