import { isSameName } from './name-similarity.ts';
import { isCompatible, type Shape } from './shape.ts';
import { PROPOSED_FROM } from './finding.ts';

/** Members that V1 has in an object, and V2 in a sub-object of it. */
export interface FoundNest {
  readonly under: string;
  /** The names in V1 and those in the sub-object; usually the same. */
  readonly members: readonly { readonly from: string; readonly to: string }[];
  readonly confidence: number;
  readonly evidence: string;
}

/** Finds the sub-objects of `v2` that have members which are gone from `v1`: the one that explains most comes first. */
export function findNests(v1: Shape, v2: Shape, gone: readonly string[]): readonly FoundNest[] {
  const nests: FoundNest[] = [];
  let left = gone;
  for (;;) {
    const [best] = [...v2.members.keys()]
      .filter((under) => !nests.some((nest) => nest.under === under))
      .map((under) => nestUnder(under, v1, v2, left))
      .filter((nest) => nest !== undefined && nest.confidence >= PROPOSED_FROM)
      .toSorted((one, other) => (other?.members.length ?? 0) - (one?.members.length ?? 0));
    if (best === undefined) return nests;
    nests.push(best);
    left = left.filter((name) => !best.members.some(({ from }) => from === name));
  }
}

function nestUnder(under: string, v1: Shape, v2: Shape, gone: readonly string[]): FoundNest | undefined {
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
  const share = members.length / young.length;
  const confidence = Math.min(0.99, 0.35 + 0.6 * share + 0.05 * Math.min(5, members.length - 1));
  const evidence = `V2 has ${members.length} of V1's members in ${under}, which has ${young.length} that V1's does not`;
  return { under, members, confidence, evidence };
}
