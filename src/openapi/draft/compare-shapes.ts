import type { Path } from '../../rules/rule.ts';
import { withArticle } from '../../rules/rule-book-fault.ts';
import { ANY_SHAPE, fitsInto, isCompatible, type MemberShape, type Shape, shapeAt } from '../shape.ts';

/** Words about a version of a shape, which a description shows or recorded traffic. */
export interface ShapeSource {
  /** True when the old shape is recorded traffic: names that only resemble each other are no evidence then. */
  readonly isRecorded: boolean;
  /** The evidence for a member that V2 does not have. */
  readonly goneWords: (path: Path, name: string) => string;
}

/** By how much the best candidate must beat the next one. */
const MARGIN = 0.05;

/** The doubt about members that only their types and places make likely. */
export const NO_LINK = 'neither name, description nor content says that they are the same';

/** Words that tell a unit or a form of a value, wherever they are. */
const UNITS: ReadonlySet<string> = new Set(
  `cent cents pence pennies minor major dollars euros pounds aud usd eur gbp nzd jpy chf cad micros millis nanos
  ms msec msecs millisecond milliseconds microseconds nanoseconds sec secs seconds mins minutes hrs hours days weeks months years
  epoch unix timestamp iso utc percent percentage pct ratio fraction bps permille
  bytes kb mb gb kib mib gib kilobytes megabytes bits px pixels pt dpi
  mm cm km metre metres meter meters millimetres centimetres kilometres kilometers miles mile ft feet foot inch inches yards
  sqm sqft m2 ft2 acres hectares kg kilograms grams mg lb lbs oz celsius fahrenheit kelvin deg degrees rad radians kmh mph kw kwh`.split(
    /\s+/,
  ),
);

/** Words that tell a unit at the end of a name only. */
const SHORT_UNITS: ReadonlySet<string> = new Set('s m h d g b c f k l t v w min in us ns hz'.split(' '));

/** Confidence from which a rule is proposed; below, it is a question. */
const PROPOSED_FROM = 0.6;

/** Confidence from which a rule is worth a question. */
const ASKED_FROM = 0.45;

/** The findings about one operation, in the order in which the rules apply, and what could not be decided. */
export interface Comparison {
  readonly findings: readonly Finding[];
  /** Sentences for the author of the rule book. */
  readonly questions: readonly string[];
}

/** The reasons to believe in a rule. */
export interface Evidence {
  /** From 0 to 1; an estimate by fixed weights, not a probability. */
  readonly confidence: number;
  /** The evidence, in words. */
  readonly evidence: string;
  /** Why it could lose a value or change its meaning, as a sentence: such a rule is a question, however sure it is. */
  readonly doubt?: string | undefined;
}

/** A rule with the reasons to believe in it. */
export interface Finding extends Evidence {
  readonly found: FoundRule;
}

/** A request rule that two versions of an operation suggest. Paths are those of the body after the rules before it. */
export type FoundRule =
  | { readonly rule: 'unwrap'; readonly member: string }
  | {
      readonly rule: 'rename';
      readonly in: Path;
      readonly member: string;
      readonly to: string;
      /** The conversion that the value needs under its new name. */
      readonly conversions?: readonly Conversion[];
    }
  | {
      readonly rule: 'convert';
      readonly in: Path;
      readonly member: string;
      readonly conversions: readonly Conversion[];
    }
  | {
      readonly rule: 'default';
      readonly in: Path;
      readonly member: string;
      /** Undefined where V2's description does not tell one: the person who answers the question does. */
      readonly value: FoundValue | undefined;
    }
  | { readonly rule: 'nest'; readonly in: Path; readonly members: readonly string[]; readonly under: string }
  | { readonly rule: 'strip'; readonly in: Path; readonly member: string }
  | {
      readonly rule: 'map';
      readonly in: Path;
      readonly member: string;
      readonly values: readonly (readonly [from: FoundValue, to: FoundValue])[];
    };

/** The order of rules of one object: names first, then values, then places. */
export const RULE_ORDER: readonly FoundRule['rule'][] = [
  'unwrap',
  'rename',
  'strip',
  'map',
  'convert',
  'default',
  'nest',
];

/** A rule that converts a value, without the path: its word, and the members beside it. */
export interface Conversion {
  readonly word: 'scale' | 'quote' | 'unquote' | 'prefix' | 'unprefix' | 'date';
  readonly options: readonly (readonly [name: string, value: FoundValue])[];
}

/** A value of an enumeration. */
export type FoundValue = string | number | boolean;

/**
 * Compares the shapes of a value in both versions: the rules that lead from one to the other, and open questions. `doubt` is why
 * the rules may not hold at all.
 */
export function compareShapes(v1: Shape, v2: Shape, source: ShapeSource, doubt?: string): Comparison {
  const findings: Finding[] = [];
  const questions: string[] = [];
  compareObjects(v1, v2, [], { ...source, findings, questions, doubt, places: new Places(v1, v2), old: [] });
  // Outer objects first, so that the paths of inner rules have V2's names; within an object, a nest comes last.
  const order = RULE_ORDER;
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
  for (const rename of renamed.values()) addRename(rename, objects, work);
  const taken = takenPlaces(renamed.values(), moves, path);
  for (const name of gone) {
    if (moved.has(name) || renamed.has(name)) continue;
    addGone(name, { ...objects, candidate: renames.rejected.get(name), taken }, work);
  }
  for (const [nest, all] of moves) addNest(nest, all, objects, work);
  const asked = gone.flatMap((name) => {
    const candidate = renames.rejected.get(name);
    if (candidate === undefined || candidate.under !== undefined) return [];
    return conversionsOf(v1, name, v2, candidate.to).length > 0 ? [candidate.to] : [];
  });
  const arrived = new Set([
    ...[...renamed.values()].map(({ to }) => to),
    ...nests.map(({ under }) => under),
    ...asked,
  ]);
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

/** Members that V1 has in an object, and V2 in a sub-object of it. */
interface FoundNest extends Omit<Evidence, 'doubt'> {
  readonly under: string;
  readonly members: readonly NestedMember[];
}

/** The name of a member in V1 and that in the sub-object; usually the same. */
interface NestedMember extends Pick<Evidence, 'doubt'> {
  readonly from: string;
  readonly to: string;
}

/**
 * Finds the sub-objects of `v2` that have members which are gone from `v1`: the one that explains most comes first. Recorded
 * requests need not have every member, so their nests are judged by the share of the gone members.
 */
function findNests(v1: Shape, v2: Shape, gone: readonly string[], isRecorded: boolean): readonly FoundNest[] {
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

/** Most names in one piece of evidence. */
const MAX_NAMES = 6;

function firstOf(names: readonly string[]): string {
  return `${names.slice(0, MAX_NAMES).join(', ')}${names.length > MAX_NAMES ? ' …' : ''}`;
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
  const members = young.flatMap(([to, { shape }]): readonly NestedMember[] => {
    const named = gone.filter((name) => name === to || isSameName(name, `${under}_${to}`));
    const from = named.includes(to) ? to : named[0];
    const old = from === undefined ? undefined : v1.members.get(from)?.shape;
    if (from === undefined || old === undefined || !isCompatible(old, shape)) return [];
    const other = named.find((name) => name !== from);
    const name = from === to ? from : `${under}_${to}`;
    const doubt =
      other === undefined
        ? valueDoubt({ name: from, shape: old }, { name, shape })
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

/** True for names that differ in case and separators only. */
function isSameName(one: string, other: string): boolean {
  return wordsOf(one).join('') === wordsOf(other).join('');
}

/** The words of a name in snake case, kebab case or camel case, in lower case. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word !== '');
}

/** A member as far as its value is concerned. */
type NamedShape = Pick<LooseMember, 'name' | 'shape'>;

/** A member that only one version has, with its place among the others. */
interface LooseMember {
  readonly name: string;
  readonly shape: Shape;
  readonly required: boolean;
  /** The nearest members before and behind it that both versions have; empty at an end. */
  readonly before: string;
  readonly behind: string;
  /** True when no other member that only this version has would do. */
  readonly isAlone: boolean;
}

/** Why a value of V1, or one inside it, could mean something else in V2's member; undefined when nothing says so. */
function valueDoubt(old: NamedShape, young: NamedShape): string | undefined {
  const own = scalarDoubt(old, young);
  if (own !== undefined) return own;
  const [one, other] = [old.shape, young.shape];
  for (const [name, { shape }] of one.members) {
    const partner = other.members.get(name)?.shape;
    const inner = partner === undefined ? undefined : valueDoubt({ name, shape }, { name, shape: partner });
    if (inner !== undefined) return `of its ${name}, ${inner}`;
  }
  if (one.element === undefined || other.element === undefined) return undefined;
  return valueDoubt({ name: '', shape: one.element }, { name: '', shape: other.element });
}

/** Why a value that is no object could mean something else: by its type, format, limits, and the units in names and descriptions. */
function scalarDoubt(old: NamedShape, young: NamedShape): string | undefined {
  const [one, other] = [old.shape, young.shape];
  const doubts: string[] = [];
  const compare = (what: string, first: string, second: string): void => {
    if (first !== second) doubts.push(`${what} ${first || 'none'} in V1 and ${second || 'none'} in V2`);
  };
  const compareBoth = (what: string, first: string, second: string): void => {
    if (first !== '' && second !== '') compare(what, first, second);
  };
  if (!fitsInto(one, other)) compare('it is', typeWords(one), typeWords(other));
  compareBoth('its format is', one.format, other.format);
  compare('the unit in its name is', unitsIn(old.name), unitsIn(young.name));
  compareBoth('the unit in its description is', unitsIn(one.text), unitsIn(other.text));
  compareBoth('its limit is', one.limits, other.limits);
  if (doubts.length > 0) return doubts.join('; ');
  const [element, partner] = [one.element, other.element];
  if (element === undefined || partner === undefined || element.members.size > 0) return undefined;
  return scalarDoubt({ name: '', shape: element }, { name: '', shape: partner });
}

/** The types of a value in words. */
function typeWords({ types }: Shape): string {
  return [...types].join(' or ');
}

/** The units that a name or a text tells, sorted: values of another unit are other values. */
function unitsIn(text: string): string {
  const words = wordsOf(text);
  const last = words.at(-1) ?? '';
  const units = words.filter((word) => UNITS.has(word));
  if (SHORT_UNITS.has(last)) units.push(last);
  return [...new Set(units.map((unit) => SAME_UNITS.get(unit) ?? unit))].toSorted().join(', ');
}

/** The unit that each of these words tells. */
const SAME_UNITS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    cents: 'cent pence minor',
    ms: 'millis msec msecs millisecond milliseconds',
    seconds: 's sec secs',
    minutes: 'min mins',
    hours: 'h hrs',
    days: 'd',
    pct: 'percent percentage',
    m: 'metre metres meter meters',
    epoch: 'unix',
    lb: 'lbs',
    ft: 'foot feet',
    sqm: 'm2',
    sqft: 'ft2',
  }).flatMap(([unit, words]) => words.split(' ').map((word) => [word, unit] as const)),
);

/** True when another sub-object explains as many members, and some of the same: either would be a guess. */
function isRival(nest: FoundNest, other: FoundNest): boolean {
  const names = new Set(nest.members.map(({ from }) => from));
  return (
    other.under !== nest.under &&
    other.members.length === nest.members.length &&
    other.members.some(({ from }) => names.has(from))
  );
}

/** A member of V1 and its name in V2. */
interface FoundRename extends Evidence {
  readonly from: string;
  readonly to: string;
  /** The sub-object that a nest moves it into; undefined when it stays where it was. */
  readonly under: string | undefined;
}

/** A member that moves into a sub-object, and may get another name there. */
interface Move extends NestedMember, Evidence {}

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

/** Why a move into a sub-object that V1 has already could replace something there. */
function occupiedDoubt(from: string, under: string, before: Shape | undefined): string | undefined {
  if (before === undefined) return undefined;
  if (before.members.has(from))
    return `V1 has ${withArticle(from)} in ${under} as well, which the move would replace`;
  if (before.further !== '' || before.unread.length > 0 || before.members.size === 0)
    return `V1 may have ${withArticle(from)} in ${under} as well, which the move would replace`;
  return [...before.types].some((type) => type !== 'object')
    ? `V1 may have something else than an object in ${under}, which the move would replace`
    : undefined;
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

function placeWords(places: readonly Path[]): string {
  const named = places.slice(0, 3).map((place) => pathText(place));
  return `${named.join(' and ')}${places.length > 3 ? ` and ${places.length - 3} more` : ''}`;
}

/** Why V2 may have any member where it was, or elsewhere. */
function unknownDoubt(v2: Shape, { unread }: Places): string | undefined {
  const [first] = unread;
  if (first !== undefined) return `${first} could not be read, and may have it`;
  return v2.further === '' ? undefined : `V2 may have it although it does not name it: ${v2.further}`;
}

/** Why a rename could lose a value or change what it means. */
function renameDoubt(rename: FoundRename, objects: Objects, work: Work): string | undefined {
  const { from, to, doubt } = rename;
  const { v1, path } = objects;
  if (doubt !== undefined) return doubt;
  if (v1.further !== '' || v1.unread.length > 0)
    return `V1 may have another ${to} there, which the rename would replace`;
  return elsewhereDoubt(from, [...path, to], objects, work);
}

function addRename(rename: FoundRename, { v1, v2, path }: Objects, work: Work): void {
  const { from, to, confidence, evidence, doubt } = rename;
  const converted = doubt === undefined ? [] : conversionsOf(v1, from, v2, to);
  addFinding({ found: renameRule(path, from, to, converted), confidence, evidence, doubt }, work);
  if (doubt !== undefined)
    work.questions.push(
      `${pathText(path, from)}: is it called ${pathText(path, to)} in V2? ${sentence(doubt)}`,
    );
}

function renameRule(path: Path, member: string, to: string, converted: readonly Conversion[]): FoundRule {
  return {
    rule: 'rename',
    in: path,
    member,
    to,
    ...(converted.length > 0 && { conversions: converted }),
  };
}

function addFinding(finding: Finding, { findings, doubt }: Work): void {
  findings.push(doubt === undefined ? finding : { ...finding, doubt: finding.doubt ?? doubt });
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
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
    const converted = conversionsOf(v1, name, v2, to);
    const found = renameRule(path, name, to, converted);
    addFinding({ found, confidence, evidence: why, doubt: against }, work);
    const [before, after] = [v1.members.get(name), place.v2.members.get(to)];
    const onlyIf = { ...work, doubt: `it holds only if ${name} is ${to} in V2`, questions: [] };
    if (before !== undefined && after !== undefined) addMap(to, before.shape, after.shape, path, onlyIf);
    // Its value can be V2's in another form: that it is gone instead is not worth a second question.
    if (converted.length > 0) return;
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
  const possible = places.length > 0 ? places : newMembers(name, shape, place);
  if (possible.length === 0) return undefined;
  const named = possible.slice(0, 3).map((one) => pathText(one));
  return `is it ${named.join(' or ')}${possible.length > 3 ? ' or another new member' : ''} in V2, or gone?`;
}

/**
 * The members of V2's object, and in it, that could take a value and that no member of V1 is known to be: those of its type, and those of
 * a name that is alike, as V2 may have it in another form. What is deprecated needs such a name.
 */
function newMembers(gone: string, shape: Shape, { v1, v2, path, taken }: GonePlace): readonly Path[] {
  return [...v2.members].flatMap(([name, member]): readonly Path[] => {
    const at = [...path, name];
    const use = taken.get(JSON.stringify(at));
    if (use === 'with all in it') return [];
    const before = v1.members.get(name)?.shape;
    if (before !== undefined && before.members.size === 0) return [];
    const isNew = before === undefined && use === undefined;
    const isOfType = !shape.isDeprecated && isCompatible(shape, member.shape);
    const own = isNew && (isOfType || isAlike(gone, name)) ? [at] : [];
    const inside = { v1: before ?? ANY_SHAPE, v2: member.shape, path: at, candidate: undefined, taken };
    return [...own, ...newMembers(gone, shape, inside)];
  });
}

/** True for names that have a word in common, or nearly all letters. */
function isAlike(one: string, other: string): boolean {
  return nameSimilarity(one, other) >= 0.8 || wordsOf(one).some((word) => wordsOf(other).includes(word));
}

/** The likeness of two names, from 0 to 1: by their words, whatever the separators and the case, or by their letters. */
function nameSimilarity(one: string, other: string): number {
  const [words, others] = [wordsOf(one), wordsOf(other)];
  const common = words.filter((word) => others.includes(word)).length;
  const byWords = common / Math.max(1, new Set([...words, ...others]).size);
  return Math.max(byWords, letterSimilarity(words.join(''), others.join('')));
}

/** 1 minus the Levenshtein distance as a part of the longer name. */
function letterSimilarity(one: string, other: string): number {
  const longer = Math.max(one.length, other.length);
  if (longer === 0 || longer > 200) return 0;
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const change = one[at - 1] === other[to - 1] ? 0 : 1;
      next.push(Math.min((row[to - 1] ?? 0) + change, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1));
    }
    row = next;
  }
  return 1 - (row[other.length] ?? 0) / longer;
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

function askNewRequired(v1: Shape, v2: Shape, arrived: ReadonlySet<string>, path: Path, work: Work): void {
  for (const [name, { required, shape }] of v2.members) {
    if (!required || v1.members.has(name) || arrived.has(name)) continue;
    const doubt = `${pathText(path, name)} is required in V2 and not in V1: V2 refuses requests without it`;
    work.questions.push(`${doubt}.`);
    if (work.isRecorded || shape.members.size > 0 || shape.types.has('array')) continue;
    const found = { rule: 'default', in: path, member: name, value: firstValue(shape) } as const;
    addFinding({ found, confidence: 0.5, evidence: 'V1 does not have it', doubt }, work);
  }
}

/** A value that V2's description shows: its default, or the only one that there is. */
export function firstValue({ values, constraints }: Shape): FoundValue | undefined {
  if (values.length === 1) return values[0];
  const initial = keywordIn(constraints, 'default') ?? keywordIn(constraints, 'example');
  return typeof initial === 'string' || typeof initial === 'number' || typeof initial === 'boolean'
    ? initial
    : undefined;
}

/** The value of a keyword in the text of constraints. */
export function keywordIn(constraints: string, name: string): unknown {
  if (constraints === '') return undefined;
  const pairs: unknown = JSON.parse(constraints);
  const found: unknown = Array.isArray(pairs)
    ? pairs.find((pair) => Array.isArray(pair) && pair[0] === name)
    : undefined;
  const value: unknown = Array.isArray(found) ? found[1] : undefined;
  return value;
}

/** The conversions that lead from a member of V1 to one of V2, where types, formats and units tell them; none otherwise. */
function conversionsOf(v1: Shape, from: string, v2: Shape, to: string): readonly Conversion[] {
  const [one, other] = [v1.members.get(from)?.shape, v2.members.get(to)?.shape];
  if (one === undefined || other === undefined) return [];
  return conversions({ name: from, shape: one }, { name: to, shape: other });
}

const SCALE: Conversion = {
  word: 'scale',
  options: [
    ['by', 100],
    ['digits', 2],
  ],
};

const FORMS: ReadonlyMap<string, string> = new Map([
  ['date', 'date'],
  ['date-time', 'datetime'],
]);

function conversions(old: NamedShape, young: NamedShape): readonly Conversion[] {
  const [one, other] = [old.shape, young.shape];
  const written = new Set(one.values.map(String));
  // A list of other values is mapped.
  if (isListedAlike(one, other) && !other.values.some((value) => written.has(String(value)))) return [];
  const [before, after] = [one, other].map(({ types }) => [...types].join(' '));
  const isWhole = after === 'integer';
  const [from, to] = [
    FORMS.get(one.format),
    FORMS.get(other.format) ?? (isWhole && isTime(young) ? 'epoch' : undefined),
  ];
  if (from !== undefined && to !== undefined && from !== to)
    return [{ word: 'date', options: [['from', from] as const, ['to', to] as const] }];
  const isMinor = (named: NamedShape): boolean => unitOf(named).split(', ').includes('cents');
  if (before === 'number' && isWhole && isMinor(young) && !isMinor(old)) return [SCALE];
  if ((before === 'integer' || before === 'number') && after === 'string') {
    const prefix = patternPrefix(String(keywordIn(other.constraints, 'pattern')));
    const quote: Conversion = { word: 'quote', options: [] };
    return prefix === undefined ? [quote] : [quote, { word: 'prefix', options: [['with', prefix]] }];
  }
  if (before !== 'string' || !isWhole || from !== undefined) return [];
  const unquote: Conversion = { word: 'unquote', options: [] };
  return isMinor(young) && !isMinor(old) ? [unquote, SCALE] : [unquote];
}

/** The text that a pattern such as `^inv_[0-9]+$` requires at the start: letters and a separator; undefined for none. */
export function patternPrefix(pattern: string): string | undefined {
  return /^\^([A-Za-z]{1,40}[_-])(?![*+?{|])/.exec(pattern)?.[1];
}

/** The units that the name or the description tells. */
function unitOf({ name, shape }: NamedShape): string {
  return [unitsIn(name), unitsIn(shape.text)].filter((unit) => unit !== '').join(', ');
}

function isTime(named: NamedShape): boolean {
  return unitOf(named).split(', ').includes('epoch');
}

function compareMember(name: string, v1: MemberShape, v2: MemberShape, path: Path, work: Work): void {
  const at = pathText(path, name);
  const converted = conversions({ name, shape: v1.shape }, { name, shape: v2.shape });
  const doubt = scalarDoubt({ name, shape: v1.shape }, { name, shape: v2.shape });
  // The question of a rename says so already.
  if (converted.length > 0 && work.doubt === undefined && !work.isRecorded) {
    const found = { rule: 'convert', in: path, member: name, conversions: converted } as const;
    const why = doubt ?? `it is ${typeWords(v1.shape)} in V1 and ${typeWords(v2.shape)} in V2`;
    addFinding({ found, confidence: 0.8, evidence: 'types, formats and units tell it', doubt: why }, work);
    work.questions.push(`${at}: ${why}. Is the conversion right?`);
    if (!isCompatible(v1.shape, v2.shape)) return;
  } else if (!isCompatible(v1.shape, v2.shape)) {
    if (isListedAlike(v1.shape, v2.shape)) return addMap(name, v1.shape, v2.shape, path, work);
    if (work.doubt !== undefined) return;
    work.questions.push(
      `${at} is ${typeWords(v1.shape)} in V1 and ${typeWords(v2.shape)} in V2: say how to convert it.`,
    );
    return;
  } else if (doubt !== undefined && work.doubt === undefined)
    work.questions.push(`${at}: ${doubt}: say how to convert it.`);
  if (v2.required && !v1.required && !work.isRecorded)
    work.questions.push(`${at} is required in V2 and optional in V1: V2 refuses requests without it.`);
  addMap(name, v1.shape, v2.shape, path, work);
  compareInside(v1.shape, v2.shape, [...path, name], work);
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

/** The values of an enumeration that V2 has otherwise. */
interface ValueMap {
  /** Values that V2 spells otherwise. */
  readonly spelled: ValuePairs;
  /** Values that V2 may call otherwise: a wrong pair changes what a request says. */
  readonly guessed: ValuePairs;
  /** Values that V1 has and for which V2 has none. */
  readonly left: readonly FoundValue[];
}

/** Values of V1 with those of V2 in their place. */
interface ValuePairs {
  readonly pairs: (readonly [from: FoundValue, to: FoundValue])[];
  confidence: number;
  readonly reasons: string[];
}

/** Pairs the values that only V1 lists with those that only V2 lists; undefined when V2 lists all of V1's, or one lists none. */
export function findValueMap(v1: readonly FoundValue[], v2: readonly FoundValue[]): ValueMap | undefined {
  if (v1.length === 0 || v2.length === 0) return undefined;
  const spelled: ValuePairs = { pairs: [], confidence: 1, reasons: [] };
  const guessed: ValuePairs = { pairs: [], confidence: 1, reasons: [] };
  let old = v1.filter((value) => !v2.includes(value));
  let young = v2.filter((value) => !v1.includes(value));
  if (old.length === 0) return undefined;
  const pairUp = (
    into: ValuePairs,
    isPair: (one: FoundValue, other: FoundValue) => boolean,
    weight: number,
    reason: string,
  ): void => {
    const paired: FoundValue[] = [];
    for (const value of old) {
      const partners = young.filter((other) => isPair(value, other));
      const [partner] = partners;
      const rivals = old.filter((other) => partner !== undefined && isPair(other, partner));
      if (partner === undefined || partners.length > 1 || rivals.length > 1) continue;
      into.pairs.push([value, partner]);
      paired.push(value);
      young = young.filter((other) => other !== partner);
      into.confidence = Math.min(into.confidence, weight);
      if (!into.reasons.includes(reason)) into.reasons.push(reason);
    }
    old = old.filter((value) => !paired.includes(value));
  };
  const sameType = (one: FoundValue, other: FoundValue): boolean => typeof one === typeof other;
  pairUp(
    spelled,
    (one, other) => sameType(one, other) && spelling(one) === spelling(other),
    0.95,
    'the values differ in case and separators',
  );
  if (v1.length === v2.length) {
    const isRetyped = v1.every((one) => v2.every((other) => !sameType(one, other)));
    const isSamePlace = (one: FoundValue, other: FoundValue): boolean =>
      v1.indexOf(one) === v2.indexOf(other);
    pairUp(
      guessed,
      (one, other) => (isRetyped || sameType(one, other)) && isSamePlace(one, other),
      0.85,
      'the values have the same places in lists of the same length',
    );
  }
  const isAlike = (one: FoundValue, other: FoundValue): boolean =>
    nameSimilarity(String(one), String(other)) >= 0.75;
  pairUp(guessed, isAlike, 0.7, 'the values are similar');
  if (old.length === 1 && young.length === 1)
    pairUp(guessed, sameType, 0.75, 'one value is gone and one is new');
  return { spelled, guessed, left: old };
}

/** A value without case and without separators of words; signs, and characters between digits, mean something. */
function spelling(value: FoundValue): string {
  return String(value)
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, '_')
    .toLowerCase()
    .replaceAll(/(?<=\p{L})[\s_-]+(?=[\p{L}\d])|(?<=\d)[\s_-]+(?=\p{L})/gu, '');
}

function compareInside(v1: Shape, v2: Shape, path: Path, work: Work): void {
  if (v1.members.size > 0 && v2.members.size > 0) compareObjects(v1, v2, path, work);
  if (v1.element !== undefined && v2.element !== undefined)
    compareInside(v1.element, v2.element, [...path, '*'], { ...work, old: [...work.old, '*'] });
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

interface RenameOptions {
  readonly nests: readonly FoundNest[];
  /** True for recorded traffic, where a rename is only ever a question. */
  readonly isRecorded: boolean;
}

interface Renames {
  readonly accepted: readonly FoundRename[];
  /** The best candidate for a member, where it is not convincing, by the name in V1. */
  readonly rejected: ReadonlyMap<string, FoundRename>;
}

/** Finds V2's names of the members that only V1 has, among those that only V2 has, also in the sub-objects of nests. */
export function findRenames(v1: Shape, v2: Shape, { nests, isRecorded }: RenameOptions): Renames {
  const moved = new Set(nests.flatMap(({ members }) => members.map(({ from }) => from)));
  const targets = new Set(nests.map(({ under }) => under));
  const gone = looseMembers(v1, v2, (name) => moved.has(name));
  const young = [
    ...looseMembers(v2, v1, (name) => targets.has(name)).map((member) => ({ member, under: undefined })),
    ...nests.flatMap((nest) => innerMembers(nest, v1, v2)),
  ];
  const candidates = gone
    .flatMap((old) =>
      young.map(({ member, under }): FoundRename => {
        return { from: old.name, to: member.name, under, ...renameScore(old, member) };
      }),
    )
    .filter(({ confidence }) => confidence >= ASKED_FROM)
    // A member that no recorded request has is not new: only a name like it is a hint.
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
    return { ...member, name, before, behind, isAlone: isAloneAmong(member, loose) };
  });
}

function isAloneAmong(member: MemberShape, all: readonly (readonly [string, MemberShape])[]): boolean {
  return all.filter(([, other]) => isCompatible(member.shape, other.shape)).length === 1;
}

/** The members of a nest's sub-object that its members do not explain. */
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
    member: { ...member, name, before: '', behind: '', isAlone: isAloneAmong(member, left) },
  }));
}

/** The confidence that `young` is V2's name of `old`, and the evidence; 0 when their types exclude it. */
function renameScore(old: LooseMember, young: LooseMember): Evidence {
  if (
    !isCompatible(old.shape, young.shape) &&
    !(isRelatedName(old.name, young.name) && conversions(old, young).length > 0) &&
    !isListedAlike(old.shape, young.shape)
  )
    return { confidence: 0, evidence: '', doubt: undefined };
  const reasons: string[] = [];
  let confidence = 0.25;
  const weigh = (weight: number, reason: string): void => {
    confidence += weight;
    if (weight > 0) reasons.push(reason);
  };
  const names = nameSimilarity(old.name, young.name);
  weigh(0.3 * names, names >= 0.3 ? 'the names are similar' : '');
  weigh(...textWeight(old, young));
  weigh(...placeWeight(old, young));
  weigh(...contentWeight(old.shape, young.shape));
  const isListed = ({ shape }: LooseMember): boolean => shape.values.length > 1;
  if (old.isAlone && young.isAlone && fitsInto(old.shape, young.shape) && isListed(old) === isListed(young))
    weigh(0.2, 'no other member of this type is new or gone');
  if (old.required !== young.required) confidence -= 0.1;
  const evidence = reasons.filter((reason) => reason !== '').join('; ');
  const doubt = valueDoubt(old, young) ?? (isKnownAs(old, young) ? undefined : NO_LINK);
  return { confidence: Math.max(0, Math.min(0.99, confidence)), evidence, doubt };
}

type Weight = readonly [weight: number, reason: string];

function textWeight(old: LooseMember, young: LooseMember): Weight {
  if (names(young.shape.text, old.name)) return [0.3, `V2's description names ${old.name}`];
  if (names(old.shape.text, young.name)) return [0.3, `V1's description names ${young.name}`];
  if (old.shape.text === '' || young.shape.text === '') return [0, ''];
  return old.shape.text === young.shape.text ? [0.3, 'the descriptions are equal'] : [-0.1, ''];
}

/** True when a text names a member. A word of the language, such as `page`, names one only where it is marked as a name, or as what was. */
function names(text: string, name: string): boolean {
  if (!hasLetters(name)) return false;
  const escaped = name.replaceAll(/[^\w]/g, '\\$&');
  // Not proven linear: a name of the description, and nothing in it repeats.
  if (wordsOf(name).length > 1) return new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`).test(text);
  return new RegExp(
    `[\`'"]${escaped}[\`'"]|\\b(?:[Ff]ormerly|[Pp]reviously|[Ww]as|called|[Rr]eplaces|[Ii]nstead of|[Oo]ld name:?) (?:the )?${escaped}(?![\\w-])`,
  ).test(text);
}

/** A name of one or two letters is in many texts. */
function hasLetters(name: string): boolean {
  return name.length > 2;
}

function placeWeight(old: LooseMember, young: LooseMember): Weight {
  // Members of which none is in both versions have no place to compare.
  if ([old, young].some((member) => member.before === '' && member.behind === '')) return [0, ''];
  const [before, behind] = [old.before === young.before, old.behind === young.behind];
  if (before && behind) return [0.2, 'the same members are around it'];
  return before || behind ? [0.1, 'the same member is next to it'] : [-0.05, ''];
}

function contentWeight(old: Shape, young: Shape): Weight {
  if (old.values.length > 0 || young.values.length > 0) {
    const common = old.values.filter((value) => young.values.includes(value)).length;
    const share = common / Math.max(1, old.values.length, young.values.length);
    if (share === 0 && isListedAlike(old, young)) return [0.1, 'it has as many values'];
    return share > 0 ? [0.25 * share, 'it has the same values'] : [-0.15, ''];
  }
  if (old.members.size > 0 || young.members.size > 0) {
    const common = [...old.members.keys()].filter((name) => young.members.has(name)).length;
    const share = common / Math.max(1, old.members.size, young.members.size);
    return share > 0 ? [0.3 * share, 'it has the same members'] : [-0.2, ''];
  }
  if (old.constraints === '' && young.constraints === '') return [0.05, ''];
  return old.constraints === young.constraints ? [0.15, 'its format and limits are the same'] : [-0.15, ''];
}

/** True when both list as many values: another name, and other values. */
function isListedAlike(old: Shape, young: Shape): boolean {
  return old.values.length > 1 && old.values.length === young.values.length;
}

/** True when something tells that two members are the same: their place and type do not. */
function isKnownAs(old: LooseMember, young: LooseMember): boolean {
  const [one, other] = [old.shape, young.shape];
  const half = (all: readonly unknown[], more: readonly unknown[]): boolean =>
    all.filter((value) => more.includes(value)).length * 2 > Math.max(1, all.length, more.length);
  return (
    isRelatedName(old.name, young.name) ||
    textWeight(old, young)[0] > 0 ||
    half(one.values, other.values) ||
    half([...one.members.keys()], [...other.members.keys()])
  );
}

/** True for names that differ in case and separators only, or of which one has all words of the other and at least as many as it lacks. */
function isRelatedName(one: string, other: string): boolean {
  if (isSameName(one, other)) return true;
  const [fewer = new Set<string>(), more = new Set<string>()] = [one, other]
    .map((name) => new Set(wordsOf(name)))
    .toSorted((a, b) => a.size - b.size);
  return fewer.size > 0 && fewer.size * 2 >= more.size && [...fewer].every((word) => more.has(word));
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

/** The members of V2's body that V1's has not at the same path: where a member that is gone from its place may have gone. */
export class Places {
  /** By each end of their paths, in the order of the description. */
  private readonly byEnd = new Map<string, Path[]>();
  /** References of V2's body that could not be followed: such a place may be there as well. */
  readonly unread: readonly string[];

  constructor(v1: Shape, v2: Shape) {
    for (const path of pathsIn(v2, [])) {
      if (shapeAt(v1, path) !== undefined) continue;
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

/** The ends of a path of names, each as letters without separators: `address_city` ends as `address.city` does. */
function endsOf(path: readonly string[]): ReadonlySet<string> {
  const names = path.filter((name) => name !== '*').map((name) => wordsOf(name).join('') || name);
  return new Set(names.map((_, at) => names.slice(at).join('')));
}

function unreadIn(shape: Shape): readonly string[] {
  const inner = [...shape.members.values()].flatMap((member) => unreadIn(member.shape));
  return [...shape.unread, ...inner, ...(shape.element === undefined ? [] : unreadIn(shape.element))];
}

/** True for a rule that a draft applies; any other one is a question. */
export function isProposed({ confidence, doubt }: Evidence): boolean {
  return confidence >= PROPOSED_FROM && doubt === undefined;
}

/** A path and a name in it, in the syntax of a rule book. */
export function pathText(path: Path, name?: string): string {
  const names = name === undefined ? path : [...path, name];
  return names.map((part) => part.replaceAll(/[.\\]/g, (special) => `\\${special}`)).join('.');
}
