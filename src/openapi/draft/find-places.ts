import type { Path } from '../../rules/rule.ts';
import { endsOf } from './name-similarity.ts';
import type { Shape } from '../shape.ts';

/** The members of V2's body that V1's has not at the same path: where a member that is gone from its place may have gone. */
export class Places {
  /** By each end of their paths, in the order of the description. */
  private readonly byEnd = new Map<string, Path[]>();
  /** References of V2's body that could not be followed: what is there may be such a place, too. */
  readonly unread: readonly string[];

  constructor(v1: Shape, v2: Shape) {
    for (const path of pathsIn(v2, [])) {
      if (hasPath(v1, path)) continue;
      for (const end of endsOf(path)) {
        const paths = this.byEnd.get(end) ?? [];
        this.byEnd.set(end, paths);
        paths.push(path);
      }
    }
    this.unread = [...new Set(unreadIn(v2))];
  }

  /**
   * The places that have the name of a member, or of one inside it, or of its path: `address.city` for `address_city`, and the other
   * way round. `paths` are those of the member in either version; what is at `not` and inside it is left out.
   */
  of(paths: readonly Path[], shape: Shape, not?: Path): readonly Path[] {
    const ends = paths
      .flatMap((path) => [path, ...pathsIn(shape, path)])
      .flatMap((inner) => [...endsOf(inner)]);
    const found = new Set([...new Set(ends)].flatMap((end) => this.byEnd.get(end) ?? []));
    if (not === undefined) return [...found];
    return [...found].filter((place) => !not.every((name, at) => place[at] === name));
  }
}

/** The paths of all members of a shape, from `path`. */
function pathsIn(shape: Shape, path: Path): readonly Path[] {
  const inner = [...shape.members].flatMap(([name, member]) => {
    const at = [...path, name];
    return [at, ...pathsIn(member.shape, at)];
  });
  return shape.element === undefined ? inner : [...inner, ...pathsIn(shape.element, [...path, '*'])];
}

function hasPath(shape: Shape, path: Path): boolean {
  let current: Shape | undefined = shape;
  for (const name of path) current = name === '*' ? current?.element : current?.members.get(name)?.shape;
  return current !== undefined;
}

function unreadIn(shape: Shape): readonly string[] {
  const inner = [...shape.members.values()].flatMap((member) => unreadIn(member.shape));
  return [...shape.unread, ...inner, ...(shape.element === undefined ? [] : unreadIn(shape.element))];
}
