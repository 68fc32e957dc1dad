import { acceptAttributes, parametersOf } from './envelope.ts';
import {
  createSchemas,
  fromStored,
  isOfAddress,
  nestsAddress,
  type Schemas,
  spelledName,
  type Spelling,
  toStored,
  type UnknownAttributes,
  type Attributes,
  type ResourceKind,
} from './resources.ts';

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

/** Creates the dialect of an edition. Editions differ only in the members of `Edition`. */
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

/** The versions of the API that the service supports. */
export type DialectName = 'v1' | 'v2';

/**
 * V1, or a dated release of V2. V1 and V2's first release differ in the six changes of the specification and in nothing else:
 *
 * 1. The prefix: `/api/v1`, `/api/v2`, also in `Location` and `Link`.
 * 2. `x-api-version` is read and returned by V2 only.
 * 3. The parameters of a V1 body are inside `data`, and the pointers of V1's errors begin with `/data`. A body without that member
 *    is taken as the parameters themselves, in either version.
 * 4. The address of a property in floor plan and post production orders: {@link Spelling.orderAddress}.
 * 5. `transition_type` and `highlight_type`, also as a filter of lists: {@link Spelling.highlight}.
 * 6. The attributes that V2 has dropped: {@link Spelling.deprecated}. V1 lists those that a request used, with a message.
 *
 * Statuses, sentences, order of members, pages, filters, other headers and the stored data are the same.
 */
interface Edition {
  readonly name: DialectName;
  /** The member that holds the parameters of a body that has it; absent when bodies are always flat. */
  readonly wrapper: 'data' | undefined;
  /** The dated release; absent for V1. */
  readonly release: string | undefined;
  readonly spelling: Spelling;
  /**
   * The place of the messages about deprecated attributes in V1's responses: in `data`, or in the body beside it. Its true place is not
   * known.
   */
  readonly deprecationsIn: DeprecationsPlace;
}

/** The place of the member `deprecations` in responses. */
export type DeprecationsPlace = 'data' | 'body';

/** V1, with the attributes that V2 has dropped. Resources are stored in its spelling: it has every attribute, and never changes. */
export function editionOfV1(deprecated: readonly string[], deprecationsIn: DeprecationsPlace): Edition {
  const spelling: Spelling = {
    orderAddress: 'flat',
    highlight: 'transition_type',
    clientName: 'name',
    deprecated,
  };
  return { name: 'v1', wrapper: 'data', release: undefined, spelling, deprecationsIn };
}

/**
 * A dated release of V2. The specification has only the first one, 2025-01-01. So that clients notice a later release, this service
 * invents a difference: later releases call the `name` of a client `display_name` in requests, where it is required, in responses and
 * as a filter.
 */
export function editionOfV2(release: string): Edition {
  const spelling: Spelling = {
    orderAddress: 'nested',
    highlight: 'highlight_type',
    clientName: release > FIRST_RELEASE ? 'display_name' : 'name',
    deprecated: [],
  };
  return { name: 'v2', wrapper: undefined, release, spelling, deprecationsIn: 'data' };
}

/** The sentence about an attribute that an edition does not have; for an attribute of V1, V2's sentence names the replacement. */
function unknownAttribute(
  { name, spelling }: Edition,
  kind: ResourceKind,
  path: readonly PropertyKey[],
  key: string,
): string {
  const isTop = path.length === 0;
  if (isTop && name === 'v2' && key === 'data')
    return 'The body is flat: send the members of data at the top level.';
  const spelled = spelledName(spelling, kind, key);
  if (isTop && spelled !== key) return `${key} is called ${spelled}.`;
  if (path.length === 1 && path[0] === 'property' && nestsAddress(spelling, kind) && isOfAddress(key)) {
    return `${key} belongs in the address object of the property.`;
  }
  return `${key} is not a known attribute.`;
}

/** The first dated release of V2: that of the specification. */
export const FIRST_RELEASE = '2025-01-01';

/**
 * The release that an `x-api-version` header selects: the newest one that is not later than the date. An absent header, a value
 * that is not a calendar day `YYYY-MM-DD`, or a day before the first release selects the latest.
 */
export function resolveRelease(header: string | null | undefined, known: readonly string[]): string {
  const latest = known.at(-1) ?? '';
  if (header === null || header === undefined || !isCalendarDay(header)) return latest;
  return known.findLast((release) => release <= header) ?? latest;
}

function isCalendarDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}
