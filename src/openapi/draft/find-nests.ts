import { isSameName } from './name-similarity.ts';
import { isCompatible, type Shape } from '../shape.ts';
import { PROPOSED_FROM } from './finding.ts';
import type { Path } from '../../rules/rule.ts';

/** Members that V1 has in an object, and V2 in a sub-object of it. */
export interface FoundNest {
  readonly under: string;
  /** The names in V1 and those in the sub-object; usually the same. */
  readonly members: readonly { readonly from: string; readonly to: string }[];
  readonly confidence: number;
  readonly evidence: string;
}

/**
 * Finds the sub-objects of `v2` that have members which are gone from `v1`: the one that explains most comes first. Recorded
 * requests need not have every member, so their nests are judged by the share of the gone members.
 */
export function findNests(
  v1: Shape,
  v2: Shape,
  gone: readonly string[],
  isRecorded: boolean,
): readonly FoundNest[] {
  const nests: FoundNest[] = [];
  let left = gone;
  for (;;) {
    const found = [...v2.members.keys()]
      .filter((under) => !nests.some((nest) => nest.under === under))
      .flatMap((under) => nestUnder(under, v1, v2, left, isRecorded) ?? [])
      .filter(({ confidence }) => confidence >= PROPOSED_FROM);
    const [best] = found
      .filter((nest) => !found.some((other) => isRival(nest, other)))
      .toSorted((one, other) => other.members.length - one.members.length);
    if (best === undefined) return nests;
    nests.push(best);
    left = left.filter((name) => !best.members.some(({ from }) => from === name));
  }
}

/** True when another sub-object explains as many members, and some of the same: either would be a guess. */
function isRival(nest: FoundNest, other: FoundNest): boolean {
  const names = new Set(nest.members.map(({ from }) => from));
  return (
    other.under !== nest.under &&
    other.members.length === nest.members.length &&
    other.members.some(({ from }) => names.has(from))
  );
}

/** Finds where V2 may have a member that is gone from `v1`: paths from the object. */
export function findPlaces(name: string, v1: Shape, v2: Shape): readonly Path[] {
  const nests = [...v2.members.keys()].flatMap((under) => nestUnder(under, v1, v2, [name], true) ?? []);
  return nests.flatMap(({ under, members }) => members.map(({ to }) => [under, to]));
}

function nestUnder(
  under: string,
  v1: Shape,
  v2: Shape,
  gone: readonly string[],
  isRecorded: boolean,
): FoundNest | undefined {
  const target = v2.members.get(under)?.shape;
  if (target === undefined || target.members.size === 0) return undefined;
  const before = v1.members.get(under)?.shape;
  // A V1 member of this name that is no object would be lost.
  if (
    before !== undefined &&
    before.members.size === 0 &&
    before.types.size > 0 &&
    !before.types.has('object')
  )
    return undefined;
  const young = [...target.members].filter(([name]) => before?.members.has(name) !== true);
  const members = young.flatMap(([to, { shape }]) => {
    const from = gone.find((name) => name === to) ?? gone.find((name) => isSameName(name, `${under}_${to}`));
    const old = from === undefined ? undefined : v1.members.get(from)?.shape;
    return from === undefined || old === undefined || !isCompatible(old, shape) ? [] : [{ from, to }];
  });
  if (members.length === 0) return undefined;
  const share = members.length / (isRecorded ? gone : young).length;
  const confidence = Math.min(0.99, 0.35 + 0.6 * share + 0.05 * Math.min(5, members.length - 1));
  const evidence = isRecorded
    ? `${under} of V2 has ${members.length} of the ${gone.length} recorded members that V2 no longer has here`
    : `V2 has ${members.length} of V1's members in ${under}, which has ${young.length} that V1's does not`;
  return { under, members, confidence, evidence };
}
