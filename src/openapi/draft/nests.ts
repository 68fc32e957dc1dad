import { isCompatible, type Shape } from '../shape.ts';
import type { FoundNest, NestedMember } from './compared-pairs.ts';
import { firstOf, type ShapeSource } from './comparison.ts';
import { PROPOSED_FROM } from './found-rules.ts';
import { valueDoubt } from './member-links.ts';
import { isSameName } from './names.ts';

/**
 * Finds the sub-objects of `v2` that have members which are gone from `v1`: the one that explains most comes first. Recorded
 * requests need not have every member, so their nests are judged by the share of the gone members.
 */
export function findNests(
  v1: Shape,
  v2: Shape,
  gone: readonly string[],
  source: Pick<ShapeSource, 'isRecorded' | 'pairs'>,
): readonly FoundNest[] {
  const nests: FoundNest[] = [];
  let left = gone;
  for (;;) {
    const found = [...v2.members.keys()]
      .filter((under) => !nests.some((nest) => nest.under === under))
      .flatMap((under) => nestUnder(under, v1, v2, left, source) ?? [])
      .filter(({ confidence }) => confidence >= PROPOSED_FROM);
    const [best] = found
      .filter((nest) => !found.some((other) => isRival(nest, other)))
      .toSorted((one, other) => other.members.length - one.members.length);
    if (best === undefined) return nests;
    nests.push(best);
    left = left.filter((name) => !best.members.some(({ from }) => from === name));
  }
}

function nestUnder(
  under: string,
  v1: Shape,
  v2: Shape,
  gone: readonly string[],
  { isRecorded, pairs }: Pick<ShapeSource, 'isRecorded' | 'pairs'>,
): FoundNest | undefined {
  const target = v2.members.get(under)?.shape;
  if (target === undefined || target.members.size === 0) return undefined;
  const before = v1.members.get(under)?.shape;
  // A V1 member of this name that is not an object would be lost.
  if (
    before !== undefined &&
    before.members.size === 0 &&
    before.types.size > 0 &&
    !before.types.has('object')
  )
    return undefined;
  const young = [...target.members].filter(([name]) => before?.members.has(name) !== true);
  const members = young.flatMap(([to, { shape }]): readonly NestedMember[] => {
    const named = gone.filter((name) => name === to || isSameName(name, `${under}_${to}`));
    const from = named.includes(to) ? to : named[0];
    const old = from === undefined ? undefined : v1.members.get(from)?.shape;
    if (from === undefined || old === undefined || !isCompatible(old, shape)) return [];
    const other = named.find((name) => name !== from);
    const name = from === to ? from : `${under}_${to}`;
    const doubt =
      other === undefined
        ? valueDoubt({ name: from, shape: old }, { name, shape }, pairs)
        : `V1 has ${other} as well, which may be the one`;
    return [{ from, to, doubt }];
  });
  if (members.length === 0) return undefined;
  const share = members.length / (isRecorded ? gone : young).length;
  const confidence = Math.min(0.99, 0.35 + 0.6 * share + 0.05 * Math.min(5, members.length - 1));
  const evidence = isRecorded
    ? `${under} of V2 has ${members.length} of the ${gone.length} recorded members that V2 no longer has here`
    : `${members.length} of the ${young.length} new members of ${under} are members of V1: ${firstOf(members.map(({ from }) => from))}`;
  return { under, members, confidence, evidence };
}

/** True if another sub-object explains as many members, some of them the same ones: a choice would be a guess. */
function isRival(nest: FoundNest, other: FoundNest): boolean {
  const names = new Set(nest.members.map(({ from }) => from));
  return (
    other.under !== nest.under &&
    other.members.length === nest.members.length &&
    other.members.some(({ from }) => names.has(from))
  );
}
