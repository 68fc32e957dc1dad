import { FIRST_RELEASE } from './release.ts';
import type { Spelling } from './spelling.ts';

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
export interface Edition {
  readonly name: DialectName;
  /** The member that holds the parameters of a body that has it; absent when bodies are always flat. */
  readonly wrapper: 'data' | undefined;
  /** The dated release; absent for V1. */
  readonly release: string | undefined;
  readonly spelling: Spelling;
  /** Where V1 lists the deprecated attributes that a request used: in `data`, or in the body beside it. Its true place is not known. */
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
 * A dated release of V2. The first one, 2025-01-01, is that of the specification, which knows no other: so that clients notice a
 * release, this service invents a difference, and calls the `name` of a client `display_name` in every later one: in requests,
 * where it is required, in responses and as a filter.
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
