import { isCompatible, type MemberShape, type Shape } from '../shape.ts';
import type { FoundNest, FoundRename, Renames } from './compared-pairs.ts';
import type { ShapeSource } from './comparison.ts';
import type { FoundFlat } from './find-flats.ts';
import { ASKED_FROM, PROPOSED_FROM } from './found-rules.ts';
import { type LooseMember, renameScore } from './member-links.ts';
import { nameSimilarity } from './names.ts';

/** Minimum difference of confidence between the best candidate and the next one. */
const MARGIN = 0.05;

/** Renames in recorded traffic are always questions. */
interface RenameOptions extends Pick<ShapeSource, 'isRecorded' | 'pairs'> {
  readonly nests: readonly FoundNest[];
  readonly flats?: readonly FoundFlat[];
}

/** Finds V2's names of the members that only V1 has, among those that only V2 has, also in the sub-objects of nests. */
export function findRenames(
  v1: Shape,
  v2: Shape,
  { nests, flats = [], isRecorded, pairs }: RenameOptions,
): Renames {
  const moved = new Set([
    ...nests.flatMap(({ members }) => members.map(({ from }) => from)),
    ...flats.filter(({ isPrefixed }) => isPrefixed).map(({ member }) => member),
  ]);
  const targets = new Set([
    ...nests.map(({ under }) => under),
    ...flats.filter(({ isPrefixed }) => isPrefixed).flatMap(({ moves }) => moves.map(([, to]) => to)),
  ]);
  const gone = looseMembers(v1, v2, (name) => moved.has(name));
  const young = [
    ...looseMembers(v2, v1, (name) => targets.has(name)).map((member) => ({ member, under: undefined })),
    ...nests.flatMap((nest) => innerMembers(nest, v1, v2)),
  ];
  const candidates = gone
    .flatMap((old) =>
      young.map(({ member, under }): FoundRename => {
        return { from: old.name, to: member.name, under, ...renameScore(old, member, pairs) };
      }),
    )
    .filter(({ confidence }) => confidence >= ASKED_FROM)
    // V2 may have a member that no recorded request has for a long time: only a similar name is evidence.
    .filter(({ from, to }) => !isRecorded || nameSimilarity(from, to) >= 0.5)
    .toSorted((one, other) => other.confidence - one.confidence);
  const accepted: FoundRename[] = [];
  const rejected = new Map<string, FoundRename>();
  for (const candidate of candidates) {
    const isTaken = accepted.some(
      ({ from, to, under }) => from === candidate.from || (to === candidate.to && under === candidate.under),
    );
    if (isTaken) continue;
    const isClear = candidate.confidence >= PROPOSED_FROM && !hasRival(candidate, candidates, accepted);
    if (isClear && !isRecorded) accepted.push(candidate);
    else if (!rejected.has(candidate.from)) rejected.set(candidate.from, candidate);
  }
  for (const { from } of accepted) rejected.delete(from);
  return { accepted, rejected };
}

/** The members that `shape` has and `other` has not. */
function looseMembers(
  shape: Shape,
  other: Shape,
  isLeftOut: (name: string) => boolean,
): readonly LooseMember[] {
  const names = [...shape.members.keys()];
  const isCommon = (name: string): boolean => other.members.has(name);
  const loose = [...shape.members].filter(([name]) => !isCommon(name) && !isLeftOut(name));
  return loose.map(([name, member]) => {
    const at = names.indexOf(name);
    const before = names.slice(0, at).findLast(isCommon) ?? '';
    const behind = names.slice(at + 1).find(isCommon) ?? '';
    return {
      ...member,
      name,
      before,
      behind,
      isAlone: isAloneAmong(member, loose),
      isOnly: loose.length === 1,
    };
  });
}

function isAloneAmong(member: MemberShape, all: readonly (readonly [string, MemberShape])[]): boolean {
  return all.filter(([, other]) => isCompatible(member.shape, other.shape)).length === 1;
}

/** The members of a nest's sub-object that the nest does not move there. */
function innerMembers(
  { under, members }: FoundNest,
  v1: Shape,
  v2: Shape,
): readonly { readonly member: LooseMember; readonly under: string }[] {
  const known = new Set([
    ...members.map(({ to }) => to),
    ...(v1.members.get(under)?.shape.members.keys() ?? []),
  ]);
  const left = [...(v2.members.get(under)?.shape.members ?? [])].filter(([name]) => !known.has(name));
  return left.map(([name, member]) => ({
    under,
    member: {
      ...member,
      name,
      before: '',
      behind: '',
      isAlone: isAloneAmong(member, left),
      isOnly: left.length === 1,
    },
  }));
}

/** True when another candidate for one of the two names is about as good. */
function hasRival(one: FoundRename, all: readonly FoundRename[], accepted: readonly FoundRename[]): boolean {
  return all.some((other) => {
    if (other === one || one.confidence - other.confidence >= MARGIN) return false;
    const isTaken = accepted.some(
      ({ from, to, under }) => from === other.from || (to === other.to && under === other.under),
    );
    return !isTaken && (other.from === one.from || (other.to === one.to && other.under === one.under));
  });
}
