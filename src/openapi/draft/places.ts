import type { Path } from '../../rules/rule.ts';
import { isCompatible, type Shape, shapeAt } from '../shape.ts';
import { listForms } from './conversions.ts';
import { pathText } from './found-rules.ts';
import { plainName, wordsOf } from './names.ts';

/** Maximum levels of nesting that are compared. */
export const MAX_LEVELS = 16;

const knownNames = new WeakMap<object, ReadonlySet<string>>();

/** The names of all members in a shape. */
export function namesAnywhere(shape: Shape): ReadonlySet<string> {
  const known = knownNames.get(shape.members);
  if (known !== undefined) return known;
  const names = new Set<string>();
  const seen = new Set<object>();
  const queue = [shape];
  for (const one of queue) {
    if (one.element !== undefined) queue.push(one.element);
    if (seen.has(one.members)) continue;
    seen.add(one.members);
    for (const [name, member] of one.members) {
      names.add(name);
      queue.push(member.shape);
    }
  }
  knownNames.set(shape.members, names);
  return names;
}

export function placeWords(places: readonly Path[]): string {
  const named = places.slice(0, 3).map((place) => pathText(place));
  return `${named.join(' and ')}${places.length > 3 ? ` and ${places.length - 3} more` : ''}`;
}

/** The reason why V2 may have any member at its old place, or elsewhere. */
export function unknownDoubt(v2: Shape, { unread }: Places): string | undefined {
  const [first] = unread;
  if (first !== undefined) return `${first} could not be read, and may have it`;
  return v2.further === '' ? undefined : `V2 may have it although it does not name it: ${v2.further}`;
}

const knownPlaces = new WeakMap<object, ReadonlyMap<string, readonly Path[]>>();

/** The places in an object, by the letters of their paths: `balanceAccount.id` has those of `balanceAccountId`. */
export function placesByLetters(shape: Shape): ReadonlyMap<string, readonly Path[]> {
  const known = knownPlaces.get(shape.members);
  if (known !== undefined) return known;
  const paths = pathsIn(shape, [], MAX_CANDIDATES).filter((path) => !path.includes('*'));
  const found = Map.groupBy(paths, (path) => wordsOf(path.join('_')).join(''));
  knownPlaces.set(shape.members, found);
  return found;
}

/** Maximum members of V2 that are considered for a gone member; the same name elsewhere is found without this limit. */
export const MAX_CANDIDATES = 200;

/** Maximum visits of one object: a schema can be in many places, or in itself. */
const MAX_VISITS = 3;

/** Maximum paths of a body that are kept. */
const MAX_PATHS = 1500;

/** The members of V2's body that V1's body does not have at the same path, to which gone members may have moved. */
export class Places {
  private readonly v1: Shape;
  private readonly v2: Shape;
  /** By each end of their paths, in the order of the description; built on first use. */
  private byEnd: ReadonlyMap<string, readonly Path[]> | undefined;
  private foreign: readonly string[] | undefined;

  constructor(v1: Shape, v2: Shape) {
    this.v1 = v1;
    this.v2 = v2;
  }

  /** References in V2's body that could not be followed: a gone member may be there. */
  get unread(): readonly string[] {
    return (this.foreign ??= [...new Set(unreadIn(this.v2))]);
  }

  /**
   * The places with the name of a member, of a member inside it, or of its path: `address.city` for `address_city`, and the other way
   * round. `paths` are the member's paths in both versions; places at `not`, and inside it, are left out.
   */
  of(paths: readonly Path[], shape: Shape, not?: Path): readonly Path[] {
    const byEnd = (this.byEnd ??= this.index());
    if (byEnd.size === 0) return [];
    const found = new Set<Path>();
    const add = (end: string): void => {
      for (const place of byEnd.get(end) ?? []) found.add(place);
    };
    const inner = endsIn(shape);
    for (const around of new Set(paths.flatMap((path) => [...endsOf(path)]))) {
      add(around);
      for (const whole of inner.wholes) add(`${around}${whole}`);
    }
    for (const end of inner.ends) add(end);
    if (not === undefined) return [...found];
    return [...found].filter((place) => !not.every((name, at) => place[at] === name));
  }

  /** True where V2's body has a member of this name anywhere. */
  has(name: string): boolean {
    return namesAnywhere(this.v2).has(name);
  }

  /** The nearest member of V2's body with this name; undefined for none. */
  whereIs(name: string): Path | undefined {
    return this.has(name) ? pathsIn(this.v2, [], MAX_PATHS).find((path) => path.at(-1) === name) : undefined;
  }

  /** True if V1 also has the member at a place: then that place belongs to V1's own member. */
  isOwn(place: Path, name: string): boolean {
    return shapeAt(this.v1, place.slice(0, -1))?.members.has(name) === true;
  }

  private index(): ReadonlyMap<string, readonly Path[]> {
    const byEnd = new Map<string, Path[]>();
    for (const path of pathsIn(this.v2, [], MAX_PATHS)) {
      const before = shapeAt(this.v1, path);
      if (before !== undefined && !isAnotherValue(before, shapeAt(this.v2, path))) continue;
      for (const end of endsOf(path)) {
        const paths = byEnd.get(end) ?? [];
        byEnd.set(end, paths);
        paths.push(path);
      }
    }
    return byEnd;
  }
}

/** The paths of the members of a shape, from `path`: the nearest ones first, and at most `limit` of them. */
function pathsIn(shape: Shape, path: Path, limit: number): readonly Path[] {
  const found: Path[] = [];
  const visits = new Map<object, number>();
  let level: readonly (readonly [Shape, Path])[] = [[shape, path]];
  while (level.length > 0 && found.length < limit) {
    const next: (readonly [Shape, Path])[] = [];
    for (const [one, at] of level) {
      if (at.length - path.length > MAX_LEVELS) continue;
      const times = (visits.get(one.members) ?? 0) + 1;
      visits.set(one.members, times);
      if (times <= MAX_VISITS)
        for (const [name, member] of one.members) {
          found.push([...at, name]);
          next.push([member.shape, [...at, name]]);
        }
      if (one.element !== undefined) next.push([one.element, [...at, '*']]);
    }
    level = next;
  }
  return found.slice(0, limit);
}

/** The paths inside a value as letters without separators: whole ones, and the ends of all. */
interface InnerEnds {
  readonly wholes: readonly string[];
  readonly ends: ReadonlySet<string>;
}

const knownEnds = new WeakMap<Shape, InnerEnds>();

function endsIn(shape: Shape): InnerEnds {
  const known = knownEnds.get(shape);
  if (known !== undefined) return known;
  const all = pathsIn(shape, [], 200).map((path) => [...endsOf(path)]);
  const found = { wholes: all.flatMap(([whole]) => whole ?? []), ends: new Set(all.flat()) };
  knownEnds.set(shape, found);
  return found;
}

/** The ends of a path of names, each as letters without separators: `address_city` ends as `address.city` does. */
function endsOf(path: readonly string[]): ReadonlySet<string> {
  const names = path.filter((name) => name !== '*');
  // JSON:API has `list_id` as `relationships.list.data.id`.
  const bare = names.filter((name, at) => at === names.length - 1 || !ENVELOPES.has(name));
  return new Set(
    [names, ...(bare.length < names.length ? [bare] : [])].flatMap((all) =>
      all.map((_, at) => all.slice(at).map(plainName).join('')),
    ),
  );
}

/** Names of members that only hold others. */
const ENVELOPES: ReadonlySet<string> = new Set(['data', 'attributes']);

/** True where V2 has a value of another type under the same name: it may be that of another member of V1. */
export function isAnotherValue(old: Shape, young: Shape | undefined): boolean {
  return (
    young !== undefined &&
    !isCompatible(old, young) &&
    listForms({ name: '', shape: old }, { name: '', shape: young }).length === 0
  );
}

function unreadIn(shape: Shape, seen: Set<object> = new Set(), level = 0): readonly string[] {
  if (level > MAX_LEVELS || (shape.members.size > 0 && seen.has(shape.members))) return shape.unread;
  seen.add(shape.members);
  const inner = [...shape.members.values()].flatMap((member) => unreadIn(member.shape, seen, level + 1));
  return [
    ...shape.unread,
    ...inner,
    ...(shape.element === undefined ? [] : unreadIn(shape.element, seen, level + 1)),
  ];
}
