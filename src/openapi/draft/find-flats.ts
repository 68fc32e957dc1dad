import type { Path } from '../../rules/rule.ts';
import { isCompatible, type Shape } from '../shape.ts';
import { isSameName } from './names.ts';

/** An object of V1 whose members V2 has in the object around it. */
export interface FoundFlat {
  readonly member: string;
  /** The members by their paths in the object, with their names in V2. */
  readonly moves: readonly FlatMove[];
  /** The members for which V2 has no place. */
  readonly missing: readonly Path[];
  /** True if V2's names begin with the name of the object. */
  readonly isPrefixed: boolean;
  /** What V1 has in the object beside them, if V2 has the object as well; undefined if V2 does not have it. */
  readonly rest: Shape | undefined;
}

/** A member of an object, and its name in the object around it. */
export type FlatMove = readonly [from: Path, to: string];

/** Objects within each other that are searched for members. */
const MAX_LEVELS = 3;

/** The members of an object that have a place in the object around it, and those that have none. */
interface FlatMembers {
  readonly moves: readonly FlatMove[];
  readonly missing: readonly Path[];
}

/**
 * Finds the objects of V1 whose members V2 has in the object around them: as `customer_name` for `customer.name`, or as `name` where V2 has no
 * such object. `settled` are the names of V1's members that are known to be elsewhere.
 */
export function findFlats(v1: Shape, v2: Shape, settled: ReadonlySet<string>): readonly FoundFlat[] {
  const gone = [...v1.members.keys()].filter((name) => !v2.members.has(name));
  // A gone member with the same words has the better claim.
  const isFree = (to: string): boolean => !v1.members.has(to) && !gone.some((name) => isSameName(name, to));
  const free = [...v2.members.keys()].filter(isFree);
  if (free.length === 0) return [];
  const flats = [...v1.members].flatMap(([member, { shape }]): readonly FoundFlat[] => {
    if (settled.has(member) || !isObjectOnly(shape)) return [];
    const young = v2.members.get(member)?.shape;
    if (young !== undefined && !isObjectOnly(young)) return [];
    const inner = new Map([...shape.members].filter(([name]) => young?.members.has(name) !== true));
    const left: Shape = { ...shape, members: inner };
    const prefixed = flatMembers(left, [], v2, free, (path) => [member, ...path].join('_'));
    if (young !== undefined) {
      if (prefixed.moves.length === 0) return [];
      const moved = new Set(prefixed.moves.map(([[name]]) => name));
      const rest = new Map([...shape.members].filter(([name]) => !moved.has(name)));
      return [{ ...prefixed, member, missing: [], isPrefixed: true, rest: { ...shape, members: rest } }];
    }
    if (prefixed.moves.length > 0) return [{ ...prefixed, member, isPrefixed: true, rest: undefined }];
    const plain = flatMembers(left, [], v2, free, (path) => path.join('_'));
    // Any object has some names that others have as well.
    if (plain.moves.length < 2 || plain.missing.length >= plain.moves.length) return [];
    return [{ ...plain, member, isPrefixed: false, rest: undefined }];
  });
  const claims = Map.groupBy(
    flats.flatMap(({ moves }) => moves),
    ([, to]) => to,
  );
  // What several objects claim would be a guess.
  return flats.filter(({ moves }) => moves.every(([, to]) => claims.get(to)?.length === 1));
}

function flatMembers(
  { members }: Shape,
  around: Path,
  v2: Shape,
  free: readonly string[],
  nameOf: (path: Path) => string,
): FlatMembers {
  const moves: FlatMove[] = [];
  const missing: Path[] = [];
  for (const [name, { shape }] of members) {
    const path = [...around, name];
    const to = free.find((one) => isSameName(one, nameOf(path)));
    const young = to === undefined ? undefined : v2.members.get(to)?.shape;
    if (to !== undefined && young !== undefined && isCompatible(shape, young)) {
      moves.push([path, to]);
      continue;
    }
    const inside =
      isObjectOnly(shape) && path.length < MAX_LEVELS
        ? flatMembers(shape, path, v2, free, nameOf)
        : { moves: [], missing: [path] };
    moves.push(...inside.moves);
    missing.push(...inside.missing);
  }
  return { moves, missing };
}

/** True for an object with named members that cannot be anything else. */
function isObjectOnly({ types, members, element }: Shape): boolean {
  return members.size > 0 && element === undefined && [...types].every((type) => type === 'object');
}
