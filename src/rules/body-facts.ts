import type { Path } from './rule.ts';

/** Why a member is no longer in its place. */
export interface Loss {
  readonly how: 'strip' | 'rename' | 'nest' | 'only' | 'unwrap';
  readonly change: string;
  /** Its new path, from the object that held it; undefined when it was removed. */
  readonly now: Path | undefined;
}

/**
 * The facts that hold at a place in any body after some rules, whatever the body was before them: none, as long as no rule
 * removed anything. A member that is not listed may be present, unless `closed` says that only the listed ones may.
 */
export interface Facts {
  readonly loss: Loss | undefined;
  readonly closed: Loss | undefined;
  /** The change that created this object. */
  readonly madeBy: string | undefined;
  readonly members: Map<string, Facts>;
  /** The values that a map replaced, by JSON text: the change that replaced them. */
  readonly replaced?: ReadonlyMap<string, string>;
}

/** Facts of a place about which nothing is known. */
export function unknown(): Facts {
  return { loss: undefined, closed: undefined, madeBy: undefined, members: new Map() };
}

/** Facts of a place where certainly nothing is left. */
export function lost(loss: Loss): Facts {
  return { ...unknown(), loss };
}

/** The facts of the member `name`. A closed object does not rule out an element of an array, `*`. */
export function factsOf(holder: Facts, name: string): Facts | undefined {
  const known = holder.members.get(name);
  if (known !== undefined || holder.closed === undefined || name === '*') return known;
  return lost(holder.closed);
}

/** The facts of a place that is either `one` or `other`; `undefined` knows nothing. The result is a copy. */
export function either(one: Facts | undefined, other: Facts | undefined): Facts {
  if (one === undefined || other === undefined) return unknown();
  if (one.loss !== undefined) return copy(other);
  if (other.loss !== undefined) return copy(one);
  const members = new Map<string, Facts>();
  for (const name of new Set([...one.members.keys(), ...other.members.keys()])) {
    members.set(name, either(factsOf(one, name), factsOf(other, name)));
  }
  const closed = other.closed === undefined ? undefined : one.closed;
  return { loss: undefined, closed, madeBy: other.madeBy === undefined ? undefined : one.madeBy, members };
}

/** Returns the facts of the place at `path`, adding empty ones where there are none; only for places that may be present. */
export function reach(root: Facts, path: Path): Facts {
  let facts = root;
  for (const name of path) {
    const next = factsOf(facts, name) ?? unknown();
    facts.members.set(name, next);
    facts = next;
  }
  return facts;
}

/** The reason why nothing can be at a path. */
export interface Obstacle {
  /** The part of the path up to the obstacle. */
  readonly path: Path;
  readonly loss: Loss | undefined;
  /** The change that made the place before a `*` an object. */
  readonly madeBy: string | undefined;
}

/** Returns the reason why nothing can be at `path`, or `undefined`. */
export function obstacleOn(root: Facts, path: Path): Obstacle | undefined {
  let facts: Facts | undefined = root;
  for (const [depth, name] of path.entries()) {
    if (name === '*' && facts.madeBy !== undefined) {
      return { path: path.slice(0, depth), loss: undefined, madeBy: facts.madeBy };
    }
    facts = factsOf(facts, name);
    if (facts === undefined) return undefined;
    if (facts.loss !== undefined)
      return { path: path.slice(0, depth + 1), loss: facts.loss, madeBy: undefined };
  }
  return undefined;
}

/** Returns the current path of the value once at `path`, or `undefined` when it was removed. */
export function whereNow(root: Facts, path: Path): Path | undefined {
  let current = path;
  // Members may have moved repeatedly, even in a circle.
  for (let moves = 0; moves < 64; moves += 1) {
    const obstacle = obstacleOn(root, current);
    if (obstacle === undefined) return current;
    if (obstacle.loss?.now === undefined) return undefined;
    current = [...obstacle.path.slice(0, -1), ...obstacle.loss.now, ...current.slice(obstacle.path.length)];
  }
  return undefined;
}

function copy(facts: Facts): Facts {
  return { ...facts, members: new Map([...facts.members].map(([name, inner]) => [name, copy(inner)])) };
}
