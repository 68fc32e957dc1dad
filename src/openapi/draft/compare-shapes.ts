import type { Path } from '../../rules/rule.ts';
import { ASKED_FROM, type Comparison, type Finding, pathText, PROPOSED_FROM } from './finding.ts';
import { findNests, findPlaces, type FoundNest } from './find-nests.ts';
import { findRenames, type FoundRename } from './find-renames.ts';
import { findValueMap } from './find-value-map.ts';
import { isCompatible, type MemberShape, type Shape } from '../shape.ts';

/** Words about a version of a shape, which a description shows or recorded traffic. */
export interface ShapeSource {
  /** True when the old shape is recorded traffic: names that only resemble each other are no evidence then. */
  readonly isRecorded: boolean;
  /** The evidence for a member that V2 does not have. */
  readonly goneWords: (path: Path, name: string) => string;
}

/** Compares the shapes of a value in both versions: the rules that lead from one to the other, and open questions. */
export function compareShapes(v1: Shape, v2: Shape, source: ShapeSource): Comparison {
  const findings: Finding[] = [];
  const questions: string[] = [];
  compareObjects(v1, v2, [], { ...source, findings, questions });
  // Outer objects first, so that the paths of inner rules have V2's names; within an object, a nest comes last.
  const order = ['unwrap', 'rename', 'strip', 'map', 'nest'];
  const rank = ({ found }: Finding): number =>
    (found.rule === 'unwrap' ? 0 : found.in.length * order.length) + order.indexOf(found.rule);
  return { findings: findings.toSorted((one, other) => rank(one) - rank(other)), questions };
}

interface Work extends ShapeSource {
  readonly findings: Finding[];
  readonly questions: string[];
}

function compareObjects(v1: Shape, v2: Shape, path: Path, work: Work): void {
  const gone = [...v1.members.keys()].filter((name) => !v2.members.has(name));
  const nests = findNests(v1, v2, gone, work.isRecorded);
  const nested = new Map(nests.flatMap((nest) => nest.members.map(({ from }) => [from, nest] as const)));
  const renames = findRenames(v1, v2, { nests, isRecorded: work.isRecorded });
  for (const rename of renames.accepted) addRename(rename, path, work);
  const renamed = new Map(renames.accepted.map((rename) => [rename.from, rename] as const));
  for (const name of gone) {
    if (nested.has(name) || renamed.has(name)) continue;
    addGone(name, { v1, v2, path, candidate: renames.rejected.get(name) }, work);
  }
  for (const nest of nests) addNest(nest, renames.accepted, { v2, path, work });
  const arrived = new Set([...renames.accepted.map(({ to }) => to), ...nests.map(({ under }) => under)]);
  askNewRequired(v1, v2, arrived, path, work);
  for (const [name, member] of v1.members) {
    const to = renamed.get(name);
    if (nested.has(name) || to?.under !== undefined) continue;
    const partner = v2.members.get(to?.to ?? name);
    const nest = nests.find(({ under }) => under === name);
    if (partner !== undefined && nest === undefined)
      compareMember(to?.to ?? name, member, partner, path, work);
  }
  for (const nest of nests) compareNested(nest, v1, v2, { path, renames: renames.accepted, work });
}

/** Compares the sub-object as the nest leaves it. */
function compareNested(
  nest: FoundNest,
  v1: Shape,
  v2: Shape,
  {
    path,
    renames,
    work,
  }: { readonly path: Path; readonly renames: readonly FoundRename[]; readonly work: Work },
): void {
  const target = v2.members.get(nest.under);
  if (target === undefined) return;
  const existing = v1.members.get(nest.under)?.shape;
  const moved = [
    ...nest.members.map(({ from, to }) => ({ from, to })),
    ...renames.filter(({ under }) => under === nest.under),
  ];
  const members = new Map(existing?.members ?? []);
  for (const { from, to } of moved) {
    const member = v1.members.get(from);
    if (member !== undefined) members.set(to, member);
  }
  const shape: Shape = { ...target.shape, members, values: [] };
  compareObjects(shape, target.shape, [...path, nest.under], work);
}

function compareMember(name: string, v1: MemberShape, v2: MemberShape, path: Path, work: Work): void {
  const at = pathText(path, name);
  if (!isCompatible(v1.shape, v2.shape)) {
    work.questions.push(
      `${at} is ${typeWords(v1.shape)} in V1 and ${typeWords(v2.shape)} in V2: no rule changes the type of a value.`,
    );
    return;
  }
  if (v2.required && !v1.required && !work.isRecorded)
    work.questions.push(`${at} is required in V2 and optional in V1: V2 refuses requests without it.`);
  addMap(name, v1.shape, v2.shape, path, work);
  compareInside(v1.shape, v2.shape, [...path, name], work);
}

function compareInside(v1: Shape, v2: Shape, path: Path, work: Work): void {
  if (v1.members.size > 0 && v2.members.size > 0) compareObjects(v1, v2, path, work);
  if (v1.element !== undefined && v2.element !== undefined)
    compareInside(v1.element, v2.element, [...path, '*'], work);
}

function addRename({ from, to, under, confidence, evidence }: FoundRename, path: Path, work: Work): void {
  const finding: Finding = { found: { rule: 'rename', in: path, member: from, to }, confidence, evidence };
  if (from !== to)
    work.findings.push(under === undefined ? finding : { ...finding, evidence: `${evidence}, in ${under}` });
}

function addNest(
  nest: FoundNest,
  renames: readonly FoundRename[],
  { v2, path, work }: { readonly v2: Shape; readonly path: Path; readonly work: Work },
): void {
  const { under, confidence, evidence } = nest;
  for (const { from, to } of nest.members) {
    if (from === to) continue;
    const words = `V2 has ${under}.${to}, which has the words of ${from}`;
    work.findings.push({
      found: { rule: 'rename', in: path, member: from, to },
      confidence,
      evidence: words,
    });
  }
  const further = renames.filter((rename) => rename.under === under).map(({ to }) => to);
  // Other requests than the recorded ones may send the rest of them.
  const rest = work.isRecorded ? [...(v2.members.get(under)?.shape.members.keys() ?? [])] : [];
  const unseen = rest.filter((name) => !v2.members.has(name));
  const members = [...new Set([...nest.members.map(({ to }) => to), ...further, ...unseen])];
  work.findings.push({ found: { rule: 'nest', in: path, members, under }, confidence, evidence });
}

/** Where a member was that V2 does not have there, and what may have become of it. */
interface GonePlace {
  readonly v1: Shape;
  readonly v2: Shape;
  readonly path: Path;
  readonly candidate: FoundRename | undefined;
}

function addGone(name: string, { v1, v2, path, candidate }: GonePlace, work: Work): void {
  const question = questionOf(candidate, findPlaces(name, v1, v2), path);
  const isDeprecated = v1.members.get(name)?.shape.isDeprecated === true;
  const evidence = work.goneWords(path, name);
  if (question !== undefined) work.questions.push(`${pathText(path, name)}: ${question}`);
  work.findings.push({
    found: { rule: 'strip', in: path, member: name },
    // A guess either way would lose data or be refused.
    confidence: question !== undefined ? PROPOSED_FROM - 0.1 : isDeprecated ? 0.97 : 0.85,
    evidence: isDeprecated ? `${evidence}, and V1's calls it deprecated` : evidence,
  });
}

/** What to ask about a member that V2 may have by another name, or in a sub-object; undefined when it is gone. */
function questionOf(
  candidate: FoundRename | undefined,
  places: readonly Path[],
  path: Path,
): string | undefined {
  if (candidate !== undefined && candidate.confidence >= ASKED_FROM) {
    const now = pathText(candidate.under === undefined ? path : [...path, candidate.under], candidate.to);
    const why = candidate.evidence === '' ? '' : ` (${candidate.evidence})`;
    return `is it called ${now} in V2${why}, or gone?`;
  }
  if (places.length === 0) return undefined;
  return `is it ${places.map((place) => pathText([...path, ...place])).join(' or ')} in V2, or gone?`;
}

function addMap(name: string, v1: Shape, v2: Shape, path: Path, work: Work): void {
  const map = findValueMap(v1.values, v2.values);
  if (map === undefined) return;
  const { pairs, left, confidence, evidence } = map;
  if (pairs.length > 0)
    work.findings.push({
      found: { rule: 'map', in: path, member: name, values: pairs },
      confidence,
      evidence,
    });
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

function typeWords({ types }: Shape): string {
  return [...types].join(' or ');
}
