import type { Path } from '../../rules/rule.ts';
import { ASKED_FROM, type Comparison, type Finding, pathText, PROPOSED_FROM } from './finding.ts';
import { findNests, type FoundNest, type NestedMember, occupiedDoubt } from './find-nests.ts';
import { Places } from './find-places.ts';
import { findRenames, type FoundRename } from './find-renames.ts';
import { findValueMap } from './find-value-map.ts';
import { NO_LINK, scalarDoubt, typeWords } from './rename-score.ts';
import { ANY_SHAPE, isCompatible, type MemberShape, type Shape } from '../shape.ts';

/** Words about a version of a shape, which a description shows or recorded traffic. */
export interface ShapeSource {
  /** True when the old shape is recorded traffic: names that only resemble each other are no evidence then. */
  readonly isRecorded: boolean;
  /** The evidence for a member that V2 does not have. */
  readonly goneWords: (path: Path, name: string) => string;
}

/**
 * Compares the shapes of a value in both versions: the rules that lead from one to the other, and open questions. `doubt` is why
 * the rules may not hold at all.
 */
export function compareShapes(v1: Shape, v2: Shape, source: ShapeSource, doubt?: string): Comparison {
  const findings: Finding[] = [];
  const questions: string[] = [];
  compareObjects(v1, v2, [], { ...source, findings, questions, doubt, places: new Places(v1, v2), old: [] });
  // Outer objects first, so that the paths of inner rules have V2's names; within an object, a nest comes last.
  const order = ['unwrap', 'rename', 'strip', 'map', 'nest'];
  const rank = ({ found }: Finding): number =>
    (found.rule === 'unwrap' ? 0 : found.in.length * order.length) + order.indexOf(found.rule);
  return { findings: findings.toSorted((one, other) => rank(one) - rank(other)), questions };
}

interface Work extends ShapeSource {
  readonly findings: Finding[];
  readonly questions: string[];
  /** Why no rule of this part may hold: another one that it depends on is a question. */
  readonly doubt: string | undefined;
  readonly places: Places;
  /** The path of the object, or of the member, by its names in V1. */
  readonly old: Path;
}

/** An object in both versions, by its path in V2. */
interface Objects {
  readonly v1: Shape;
  readonly v2: Shape;
  readonly path: Path;
}

/** A member that moves into a sub-object, and may get another name there. */
interface Move extends NestedMember {
  readonly confidence: number;
  readonly evidence: string;
}

function compareObjects(v1: Shape, v2: Shape, path: Path, work: Work): void {
  const objects: Objects = { v1, v2, path };
  const gone = [...v1.members.keys()].filter((name) => !v2.members.has(name));
  const nests = findNests(v1, v2, gone, work.isRecorded);
  const renames = findRenames(v1, v2, { nests, isRecorded: work.isRecorded });
  const moves = new Map(nests.map((nest) => [nest, movesOf(nest, renames.accepted, objects, work)] as const));
  const moved = new Set([...moves.values()].flat().map(({ from }) => from));
  const renamed = new Map(
    renames.accepted
      .filter(({ under }) => under === undefined)
      .map((rename) => [rename.from, { ...rename, doubt: renameDoubt(rename, objects, work) }] as const),
  );
  for (const rename of renamed.values()) addRename(rename, path, work);
  const taken = takenPlaces(renamed.values(), moves, path);
  for (const name of gone) {
    if (moved.has(name) || renamed.has(name)) continue;
    addGone(name, { ...objects, candidate: renames.rejected.get(name), taken }, work);
  }
  for (const [nest, all] of moves) addNest(nest, all, objects, work);
  const arrived = new Set([...[...renamed.values()].map(({ to }) => to), ...nests.map(({ under }) => under)]);
  askNewRequired(v1, v2, arrived, path, work);
  for (const [name, member] of v1.members) {
    if (moved.has(name) || nests.some(({ under }) => under === name)) continue;
    const rename = renamed.get(name);
    const to = rename?.to ?? name;
    const partner = v2.members.get(to);
    if (partner === undefined) continue;
    const doubt = rename?.doubt === undefined ? work.doubt : `it holds only if ${name} is ${to} in V2`;
    compareMember(to, member, partner, path, { ...work, doubt, old: [...work.old, name] });
  }
  for (const [nest, all] of moves) compareNested(nest, all, objects, work);
}

/** The members of V2 that are others of V1 for certain, by their paths as JSON; of a nest's sub-object only the object itself. */
type TakenPlaces = ReadonlyMap<string, 'with all in it' | 'itself'>;

function takenPlaces(
  renamed: Iterable<FoundRename>,
  moves: ReadonlyMap<FoundNest, readonly Move[]>,
  path: Path,
): TakenPlaces {
  const taken = new Map<string, 'with all in it' | 'itself'>();
  const take = (doubt: string | undefined, ...names: readonly string[]): void => {
    if (doubt === undefined) taken.set(JSON.stringify([...path, ...names]), 'with all in it');
  };
  for (const { doubt, to } of renamed) take(doubt, to);
  for (const [{ under }, all] of moves) {
    taken.set(JSON.stringify([...path, under]), 'itself');
    for (const { doubt, to } of all) take(doubt, under, to);
  }
  return taken;
}

/** The members that a nest moves: those of the sub-object's names, and those that have another name there. */
function movesOf(
  nest: FoundNest,
  renames: readonly FoundRename[],
  objects: Objects,
  work: Work,
): readonly Move[] {
  const { under, confidence, evidence } = nest;
  const own = nest.members.map((member): Move => {
    const words = `V2 has ${under}.${member.to}, which has the words of ${member.from}`;
    return { ...member, confidence, evidence: member.from === member.to ? evidence : words };
  });
  const further = renames
    .filter((rename) => rename.under === under)
    .map((rename): Move => ({ ...rename, evidence: `${rename.evidence}, in ${under}` }));
  const before = objects.v1.members.get(under)?.shape;
  return [...own, ...further].map((move) => {
    const doubt =
      move.doubt ??
      occupiedDoubt(move.from, under, before) ??
      elsewhereDoubt(move.from, [...objects.path, under, move.to], objects, work);
    return { ...move, doubt };
  });
}

/** Why a rename could lose a value or change what it means. */
function renameDoubt(rename: FoundRename, objects: Objects, work: Work): string | undefined {
  const { from, to, doubt } = rename;
  const { v1, path } = objects;
  if (doubt !== undefined) return doubt;
  if (v1.further !== '' || v1.unread.length > 0)
    return `V1 may have a ${to} of its own there, which the rename would replace`;
  return elsewhereDoubt(from, [...path, to], objects, work);
}

/** Why V2 may have a member somewhere else than at `target`, or still where it was. */
function elsewhereDoubt(
  from: string,
  target: Path,
  { v1, v2, path }: Objects,
  { places, old }: Work,
): string | undefined {
  const shape = v1.members.get(from)?.shape;
  const own = [path, old].map((around) => [...around, from]);
  const others = shape === undefined ? [] : places.of(own, shape, target);
  if (others.length > 0) return `V2 has ${placeWords(others)} as well`;
  return unknownDoubt(v2, places);
}

/** Why V2 may have any member where it was, or elsewhere. */
function unknownDoubt(v2: Shape, { unread }: Places): string | undefined {
  const [first] = unread;
  if (first !== undefined) return `${first} could not be read, and may have it`;
  return v2.further === '' ? undefined : `V2 may have it although it does not name it: ${v2.further}`;
}

function placeWords(places: readonly Path[]): string {
  const named = places.slice(0, 3).map((place) => pathText(place));
  return `${named.join(' and ')}${places.length > 3 ? ` and ${places.length - 3} more` : ''}`;
}

/** Compares the sub-object as the nest leaves it. */
function compareNested(
  { under }: FoundNest,
  moves: readonly Move[],
  { v1, v2, path }: Objects,
  work: Work,
): void {
  const target = v2.members.get(under);
  const existing = v1.members.get(under)?.shape;
  const sure = moves.filter(({ doubt }) => doubt === undefined);
  if (target === undefined || (existing === undefined && sure.length === 0)) return;
  const members = new Map(existing?.members ?? []);
  for (const { from, to } of sure) {
    const member = v1.members.get(from);
    if (member !== undefined) members.set(to, member);
  }
  const shape: Shape = { ...(existing ?? target.shape), members, values: [] };
  compareObjects(shape, target.shape, [...path, under], { ...work, old: [...work.old, under] });
}

function compareMember(name: string, v1: MemberShape, v2: MemberShape, path: Path, work: Work): void {
  const at = pathText(path, name);
  if (!isCompatible(v1.shape, v2.shape)) {
    work.questions.push(
      `${at} is ${typeWords(v1.shape)} in V1 and ${typeWords(v2.shape)} in V2: no rule changes the type of a value.`,
    );
    return;
  }
  const doubt = scalarDoubt({ name, shape: v1.shape }, { name, shape: v2.shape });
  // The question of a rename says so already.
  if (doubt !== undefined && work.doubt === undefined)
    work.questions.push(`${at}: ${doubt}, and no rule converts a value.`);
  if (v2.required && !v1.required && !work.isRecorded)
    work.questions.push(`${at} is required in V2 and optional in V1: V2 refuses requests without it.`);
  addMap(name, v1.shape, v2.shape, path, work);
  compareInside(v1.shape, v2.shape, [...path, name], work);
}

function compareInside(v1: Shape, v2: Shape, path: Path, work: Work): void {
  if (v1.members.size > 0 && v2.members.size > 0) compareObjects(v1, v2, path, work);
  if (v1.element !== undefined && v2.element !== undefined)
    compareInside(v1.element, v2.element, [...path, '*'], { ...work, old: [...work.old, '*'] });
}

function addFinding(finding: Finding, { findings, doubt }: Work): void {
  findings.push(doubt === undefined ? finding : { ...finding, doubt: finding.doubt ?? doubt });
}

function addRename({ from, to, confidence, evidence, doubt }: FoundRename, path: Path, work: Work): void {
  addFinding({ found: { rule: 'rename', in: path, member: from, to }, confidence, evidence, doubt }, work);
  if (doubt !== undefined)
    work.questions.push(
      `${pathText(path, from)}: is it called ${pathText(path, to)} in V2? ${sentence(doubt)}`,
    );
}

/**
 * A nest moves members by V1's names, and renames follow inside: the other way round, the new name could be one that the object
 * around has as well. Members in doubt are a nest of their own.
 */
function addNest(
  { under, confidence, evidence }: FoundNest,
  moves: readonly Move[],
  { v1, v2, path }: Objects,
  work: Work,
): void {
  for (const isSure of [true, false]) {
    const some = moves.filter(({ doubt }) => (doubt === undefined) === isSure);
    if (some.length === 0) continue;
    const doubt = some.map((move) => move.doubt).find((why) => why !== undefined);
    // Other requests than the recorded ones may send the rest of them.
    const rest = isSure && work.isRecorded ? [...(v2.members.get(under)?.shape.members.keys() ?? [])] : [];
    const unseen = rest.filter((name) => {
      const isExpected = moves.some(({ from, to }) => from === name || to === name);
      return !isExpected && !v2.members.has(name) && !v1.members.has(name);
    });
    const members = [...some.map(({ from }) => from), ...unseen];
    addFinding({ found: { rule: 'nest', in: path, members, under }, confidence, evidence, doubt }, work);
    for (const { from, to, ...why } of some) {
      if (why.doubt !== undefined)
        work.questions.push(
          `${pathText(path, from)}: is it ${pathText([...path, under], to)} in V2? ${sentence(why.doubt)}`,
        );
      if (from === to) continue;
      const found = { rule: 'rename', in: [...path, under], member: from, to } as const;
      addFinding({ found, confidence: why.confidence, evidence: why.evidence, doubt: why.doubt }, work);
    }
  }
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

/** Where a member was that V2 does not have there, and what may have become of it. */
interface GonePlace extends Objects {
  readonly candidate: FoundRename | undefined;
  readonly taken: TakenPlaces;
}

function addGone(name: string, place: GonePlace, work: Work): void {
  const { v1, v2, path } = place;
  const question = questionOf(name, place, work);
  const isDeprecated = v1.members.get(name)?.shape.isDeprecated === true;
  const evidence = work.goneWords(path, name);
  if (question !== undefined) work.questions.push(`${pathText(path, name)}: ${question}`);
  const { candidate } = place;
  if (candidate !== undefined && candidate.under === undefined) {
    const { to, confidence, evidence: why, doubt: against = 'it may be gone, or another one' } = candidate;
    const found = { rule: 'rename', in: path, member: name, to } as const;
    addFinding({ found, confidence, evidence: why, doubt: against }, work);
  }
  const doubt = question ?? unknownDoubt(v2, work.places);
  addFinding(
    {
      found: { rule: 'strip', in: path, member: name },
      // A guess either way would lose data or be refused.
      confidence: doubt !== undefined ? PROPOSED_FROM - 0.1 : isDeprecated ? 0.97 : 0.85,
      evidence: isDeprecated ? `${evidence}, and V1's calls it deprecated` : evidence,
      doubt: doubt?.replace(/\.$/, ''),
    },
    work,
  );
}

/** What to ask about a member that V2 may have by another name, or in another object; undefined when it is gone. */
function questionOf(name: string, place: GonePlace, work: Work): string | undefined {
  const { v1, path, candidate } = place;
  if (candidate !== undefined && candidate.confidence >= ASKED_FROM) {
    const now = pathText(candidate.under === undefined ? path : [...path, candidate.under], candidate.to);
    const why = candidate.evidence === '' ? '' : ` (${candidate.evidence})`;
    const { doubt } = candidate;
    const but = doubt === undefined || doubt === NO_LINK ? '' : ` ${sentence(doubt)}`;
    return `is it called ${now} in V2${why}, or gone?${but}`;
  }
  const shape = v1.members.get(name)?.shape;
  if (shape === undefined) return undefined;
  const places = work.places.of(
    [
      [...path, name],
      [...work.old, name],
    ],
    shape,
  );
  const possible = places.length > 0 || shape.isDeprecated ? places : newMembers(shape, place);
  if (possible.length === 0) return undefined;
  const named = possible.slice(0, 3).map((one) => pathText(one));
  return `is it ${named.join(' or ')}${possible.length > 3 ? ' or another new member' : ''} in V2, or gone?`;
}

/** The members of V2's object, and in it, that could take a value and that no member of V1 is known to be. */
function newMembers(shape: Shape, { v1, v2, path, taken }: GonePlace): readonly Path[] {
  return [...v2.members].flatMap(([name, member]): readonly Path[] => {
    const at = [...path, name];
    const use = taken.get(JSON.stringify(at));
    if (use === 'with all in it') return [];
    const before = v1.members.get(name)?.shape;
    if (before !== undefined && before.members.size === 0) return [];
    const isNew = before === undefined && use === undefined;
    const own = isNew && isCompatible(shape, member.shape) ? [at] : [];
    const inside = { v1: before ?? ANY_SHAPE, v2: member.shape, path: at, candidate: undefined, taken };
    return [...own, ...newMembers(shape, inside)];
  });
}

function addMap(name: string, v1: Shape, v2: Shape, path: Path, work: Work): void {
  const map = findValueMap(v1.values, v2.values);
  if (map === undefined) return;
  const { spelled, guessed, left } = map;
  for (const { pairs, confidence, reasons } of [spelled, guessed]) {
    if (pairs.length === 0) continue;
    const found = { rule: 'map', in: path, member: name, values: pairs } as const;
    const doubt = pairs === guessed.pairs ? 'a value that means something else would change' : undefined;
    addFinding({ found, confidence, evidence: reasons.join('; '), doubt }, work);
  }
  if (guessed.pairs.length > 0) {
    const words = guessed.pairs
      .map(([from, to]) => `${JSON.stringify(from)} ${JSON.stringify(to)}`)
      .join(', ');
    work.questions.push(`${pathText(path, name)}: does V2 call ${words}?`);
  }
  if (left.length > 0) {
    const values = left.map((value) => JSON.stringify(value)).join(', ');
    work.questions.push(
      `${pathText(path, name)}: V1 allows ${values}, V2 does not. Which values of V2 do they mean?`,
    );
  }
}

function askNewRequired(v1: Shape, v2: Shape, arrived: ReadonlySet<string>, path: Path, work: Work): void {
  for (const [name, { required }] of v2.members) {
    if (!required || v1.members.has(name) || arrived.has(name)) continue;
    work.questions.push(
      `${pathText(path, name)} is required in V2 and not in V1: V2 refuses requests without it.`,
    );
  }
}
