import { pick, type Random } from './random.ts';

/** Operations that clients of the fleet call, and their paths below the version. */
export const PATHS = {
  create_client: '/clients',
  create_contact: '/contacts',
  create_booking: '/bookings',
  order_floor_plan: '/orders/floor_plans',
  order_post_production: '/orders/post_productions',
  create_virtual_tour: '/virtual_tours',
} as const;

/** An operation that writes. */
export type Write = keyof typeof PATHS;

/** Attributes that V1 still reads and calls deprecated, and V2 does not have. */
export const DEPRECATED = ['legacy_code', 'agent_fax'] as const;

/** An attribute that V1 never had and ignores: a mistake in spelling. */
export const MISSPELT = 'external_referense';

/** A mistake that a client repeats, and the failure code of the gateway. */
export const MISTAKES = {
  malformed: 'malformed-json',
  wrapper: 'wrapper-not-object',
  duplicate: 'duplicate-member',
  /** A value of a wrong type, which both versions refuse. */
  type: undefined,
} as const;

/** What one client of the fleet does, written down before it does anything. */
export interface Character {
  readonly id: string;
  readonly writes: readonly Write[];
  /** Whether it also lists what it writes. */
  readonly reads: boolean;
  readonly wrapped: boolean;
  /** Whether orders carry a new property with its address, in V1's place. */
  readonly address: boolean;
  readonly transition: boolean;
  readonly deprecated: readonly string[];
  readonly misspelt: boolean;
  readonly mistake: keyof typeof MISTAKES | undefined;
  /** Whether each request is a mistake, or every third. */
  readonly alwaysMistaken: boolean;
  readonly invalidVersion: boolean;
  /** Sends a request again when the response is 5xx or 429. */
  readonly retries: boolean;
  /** Requests on an active day. */
  readonly perDay: number;
  readonly firstDay: number;
  /** Active on every `everyDays`th day. */
  readonly everyDays: number;
  /** From this day on it sends V2 requests. */
  readonly movesOn: number;
  /** From this day on it sends nothing. */
  readonly silentFrom: number;
  /** From this day on it has another key. */
  readonly rotatesOn: number;
}

const NEVER = Number.POSITIVE_INFINITY;
const WRITES: readonly Write[] = [
  'create_client',
  'create_contact',
  'create_booking',
  'order_floor_plan',
  'order_post_production',
  'create_virtual_tour',
];

/** Writes down the characters of a fleet. */
export function cast(size: number, random: Random): readonly Character[] {
  return Array.from({ length: size }, (_, index) => character(index, random));
}

function character(index: number, random: Random): Character {
  const chance = (share: number): boolean => random() < share;
  const day = (from: number, until: number): number => from + Math.floor(random() * (until - from));
  const isReader = index % 8 === 5;
  const writes = isReader ? [] : [...new Set([pick(random, WRITES), pick(random, WRITES)])];
  const mistake = chance(0.15)
    ? pick(random, ['malformed', 'wrapper', 'duplicate', 'type'] as const)
    : undefined;
  return {
    id: `client-${index}`,
    writes,
    reads: isReader || chance(0.3),
    wrapped: chance(0.8),
    address: chance(0.5),
    transition: isReader || chance(0.6),
    deprecated: DEPRECATED.filter(() => chance(0.12)),
    misspelt: chance(0.04),
    mistake,
    alwaysMistaken: chance(0.4),
    invalidVersion: chance(0.05),
    retries: chance(0.4),
    perDay: 1 + Math.floor(random() * 3),
    firstDay: chance(0.7) ? day(0, 5) : day(0, 70),
    everyDays: index % 10 === 3 ? 30 : index % 5 === 1 ? 7 : 1,
    movesOn: chance(0.3) ? day(30, 85) : NEVER,
    silentFrom: chance(0.25) ? day(10, 85) : NEVER,
    rotatesOn: chance(0.08) ? day(20, 70) : NEVER,
  };
}

/** The key that a client uses on a day. */
export function keyOn({ id, rotatesOn }: Character, day: number): string {
  return day < rotatesOn ? `key-of-${id}` : `second-key-of-${id}`;
}
