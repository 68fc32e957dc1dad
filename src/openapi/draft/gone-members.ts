import type { Path } from '../../rules/rule.ts';
import { ANY_SHAPE, isCompatible, type MemberShape, type Shape, shapeAt } from '../shape.ts';
import type { FoundNest, FoundRename, NewMembers } from './compared-pairs.ts';
import { addFinding, type NameHints, type Objects, type Work } from './comparison.ts';
import {
  areOtherKinds,
  conversions,
  examplesOf,
  isMoney,
  measureOf,
  type NamedShape,
  namedValues,
  otherUnits,
} from './conversions.ts';
import {
  ASKED_FROM,
  type FoundRule,
  isSamePath,
  isTo,
  pathText,
  PROPOSED_FROM,
  renameRule,
  targetsOf,
} from './found-rules.ts';
import {
  areComplements,
  isInOtherUnit,
  isNoIdentifier,
  LIKE_NAME,
  NO_LINK,
  shareAnything,
  textWeight,
} from './member-links.ts';
import {
  addLookup,
  boxRules,
  conversionsOf,
  lookupRules,
  openIfUnitsDiffer,
  otherForms,
  rulesInto,
  splitInto,
} from './member-rules.ts';
import { type Move, successorDoubt } from './moved-members.ts';
import {
  complementsIn,
  haveCommonWord,
  haveSameRoot,
  initialsIn,
  isAlike,
  isIdentifier,
  isRelatedName,
  isSameDay,
  isSameMember,
  isSameName,
  nameSimilarity,
  plainName,
  singularName,
  wordsOf,
} from './names.ts';
import { isAnotherValue, MAX_CANDIDATES, placesByLetters, unknownDoubt } from './places.ts';
import {
  addMap,
  commonSpellings,
  placedWords,
  turned,
  unpairedWords,
  valueForms,
  wordPairs,
} from './value-maps.ts';

/**
 * The members of V2's object that certainly belong to another member of V1, by their paths as JSON. Of a nest's sub-object, only the object
 * `itself` is taken.
 */
type TakenPlaces = ReadonlyMap<string, 'with all in it' | 'itself'>;

export function takenPlaces(
  renamed: Iterable<Pick<FoundRename, 'to' | 'doubt'>>,
  moves: ReadonlyMap<FoundNest, readonly Move[]>,
): TakenPlaces {
  const taken = new Map<string, 'with all in it' | 'itself'>();
  const take = (doubt: string | undefined, ...names: readonly string[]): void => {
    if (doubt === undefined) taken.set(JSON.stringify(names), 'with all in it');
  };
  for (const { doubt, to } of renamed) take(doubt, to);
  for (const [{ under }, all] of moves) {
    taken.set(JSON.stringify([under]), 'itself');
    for (const { doubt, to } of all) take(doubt, under, to);
  }
  return taken;
}

/** The former place of a member that V2 does not have there, and its possible new places. */
interface GonePlace extends Objects {
  readonly candidate: FoundRename | undefined;
  readonly taken: TakenPlaces;
  readonly hints: NameHints | undefined;
}

export function addGone(name: string, place: GonePlace, work: Work): void {
  if (work.isProbe === true) {
    const found: FoundRule = { rule: 'strip', in: place.path, member: name };
    return void work.findings.push({ found, confidence: 0, evidence: '' });
  }
  const { v1, v2, path } = place;
  // If only the type and the place support a name, the member was more likely removed.
  const isUnlinked =
    place.candidate?.doubt === NO_LINK &&
    (work.isResponse === true || place.candidate.confidence < PROPOSED_FROM);
  const candidate = isUnlinked ? undefined : place.candidate;
  const old = [...work.old, name];
  const strip: FoundRule = { rule: 'strip', in: path, member: name };
  const shape = v1.members.get(name)?.shape ?? ANY_SHAPE;
  const evidence = work.whyGone(path, name);
  const always = v1.members.get(name)?.required === true && { isAlways: true as const };
  const looked = lookupRules({ name, shape }, v2, path, work);
  if (looked.length > 0) return addLookup(looked, old, work);
  const possible = possiblePlaces(name, shape, place, work);
  const linkTo = (at: Path): string | undefined => linkBetween(name, at.slice(path.length), place);
  const isLikelyAt = (at: Path): boolean => isLikely(name, shape, at, path) || linkTo(at) !== undefined;
  const elsewhere = possible.filter(isLikelyAt).flatMap((at) => rulesInto(name, shape, at, place, work));
  if (candidate !== undefined && candidate.confidence >= ASKED_FROM && candidate.under === undefined) {
    const { to, confidence, evidence: why, doubt: against = 'it may be gone, or another one' } = candidate;
    const converted = conversionsOf(v1, name, v2, to);
    const found = turned(renameRule(path, name, to, converted), shape, v2.members.get(to)?.shape);
    const forms = otherForms(found, name, shape, place, work);
    const others = [...forms, ...elsewhere.filter((one) => !isTo(one, [...path, to])), strip];
    const open = openIfUnitsDiffer(found, name);
    const left = unpairedWords(shape, v2.members.get(to)?.shape ?? ANY_SHAPE, work);
    addFinding(
      { found, confidence, evidence: `${why}${left}`, doubt: against, others, old, ...open, ...always },
      work,
    );
    const [before, after] = [v1.members.get(name), place.v2.members.get(to)];
    const onlyIf = { ...work, doubt: `it holds only if ${name} is ${to} in V2`, questions: [] };
    if (before !== undefined && after !== undefined) addMap(to, before.shape, after.shape, path, onlyIf);
    return;
  }
  const named = candidate === undefined || candidate.confidence < ASKED_FROM ? [] : [candidate];
  const inside = named.flatMap(({ under, to }) => (under === undefined ? [] : [[...path, under, to]]));
  const all = [...inside, ...possible.filter((at) => !inside.some((one) => isSamePath(one, at)))];
  const reached = all.map((at) => ({ at, into: rulesInto(name, shape, at, place, work) }));
  const rules = reached.flatMap(({ into }) => into);
  const likely = reached.filter(({ at }) => isLikelyAt(at) || inside.some((one) => isSamePath(one, at)));
  const intoLikely = all.some(isLikelyAt) ? likely.flatMap(({ into }) => into) : [];
  const [likeliest, ...others] = intoLikely.filter((one, at) => {
    const key = JSON.stringify(one);
    return intoLikely.findIndex((other) => JSON.stringify(other) === key) === at;
  });
  const relation = relationOf({ name, shape }, place);
  const doubt =
    relation ??
    (all.length > 0
      ? (unitDoubt({ name, shape }, all, place) ?? goneQuestion(all))
      : (unknownDoubt(v2, work.places) ??
        namedDoubt(shape, place, work) ??
        (work.isResponse === true ? undefined : lossOf(shape))));
  if (likeliest !== undefined && !work.isRecorded) {
    const first = likely.find(({ into }) => into.length > 0)?.at ?? [];
    const link = linkTo(first);
    const young = shapeAt(v2, first.slice(path.length)) ?? ANY_SHAPE;
    const why = `V2 has ${pathText(first)}, which may be the same member${link === undefined ? '' : `: ${link}`}${unpairedWords(shape, young, work)}`;
    addFinding(
      {
        found: likeliest,
        confidence: 0.5,
        evidence: why,
        doubt,
        others: [...others.slice(0, MAX_OFFERED), strip],
        old,
        ...openIfUnitsDiffer(likeliest, name),
        ...always,
      },
      work,
    );
    return;
  }
  // V2 has no value for it, unless a person knows that another member has it.
  const unlinked =
    isUnlinked &&
    work.isResponse === true &&
    place.candidate?.under === undefined &&
    !areOtherKeys(name, place.candidate.to)
      ? [place.candidate.to].flatMap((to) => {
          const rename = renameRule(path, name, to, conversionsOf(v1, name, v2, to));
          return valueForms(rename, shape, v2.members.get(to)?.shape);
        })
      : [];
  const { isDeprecated } = shape;
  const twin = all.length > 0 ? undefined : twinOf(name, shape, place);
  if (twin !== undefined && !work.isRecorded) {
    const at = pathText([...path, ...twin]);
    const move = { rule: 'move', in: path, member: name, to: twin } as const;
    addFinding(
      {
        found: { ...strip, twin },
        confidence: 0.5,
        evidence: `V2 has ${at}, where V1 has it as well`,
        doubt: `a client may send only one of ${pathText([name])} and ${pathText(twin)}`,
        others: work.isResponse === true ? [] : [move],
        old,
        ...always,
      },
      work,
    );
    return;
  }
  const offered = reached.find(({ into }) => into.length > 0)?.at.slice(path.length);
  const placed = offered === undefined ? '' : placedWords(shape, shapeAt(v2, offered) ?? ANY_SHAPE);
  const splits = splitInto(name, shape, place);
  const parts = new Set(splits.flatMap(targetsOf).map((at) => pathText(at)));
  const isPart = (one: FoundRule): boolean => targetsOf(one).some((at) => parts.has(pathText(at)));
  addFinding(
    {
      found: strip,
      // A wrong guess loses data in one direction, and is refused in the other.
      confidence: doubt !== undefined ? PROPOSED_FROM - 0.1 : isDeprecated ? 0.97 : 0.85,
      evidence: `${evidence}${isDeprecated ? ", and V1's calls it deprecated" : ''}${placed}`,
      doubt,
      others: [...splits, ...[...rules.slice(0, 3), ...unlinked].filter((one) => !isPart(one))],
      old,
      ...(rules.length + splits.length > 0 && { isOpen: true }),
      ...(relation !== undefined && { relation }),
      ...always,
    },
    work,
  );
}

/** The doubt about any rule that leaves a member out of requests: only a person knows that no client needs it. */
const LOSS = 'what clients send there would be lost, and V2 would still report success';

/** The doubt about leaving a member out; one with a few values tells V2 what to do. */
function lossOf({ values }: Shape): string {
  return values.length < 2 ? LOSS : `${LOSS}: it would do the same for ${namedValues(values)}`;
}

/** Maximum places that a question offers beside the likeliest one. */
const MAX_OFFERED = 5;

/** The other place where both versions have the value of a member that only one of them has in this object. */
function twinOf(name: string, shape: Shape, { v1, v2 }: Objects): Path | undefined {
  const places = placesByLetters(v1).get(wordsOf(name).join('')) ?? [];
  return places.find((place) => {
    const inner = place.length > 1 ? shapeAt(v2, place) : undefined;
    return inner !== undefined && isCompatible(inner, shape);
  });
}

/** True if the name of a place suggests that a member may be there; its type alone does not. */
function isLikelyPlace(name: string, shape: Shape, place: Path): boolean {
  const [last = ''] = place.slice(-1);
  return (
    isSameMember(name, last) ||
    isSameMember(name, place.at(-2) ?? '') ||
    isRelatedName(place.join('_'), name) ||
    (last !== 'id' && isRelatedName(last, name)) ||
    nameSimilarity(last, name) >= LIKE_NAME ||
    // A member of an object may have moved beside the object, or into one with a similar name. Any object has an `id`.
    (shape.members.has(last) && (place.length === 1 || isRelatedName(place.slice(0, -1).join('_'), name))) ||
    singularName(last) === singularName(name)
  );
}

/** The doubt about a gone member if no place has its name, but its description names another member. */
function namedDoubt(shape: Shape, { v1, v2, path, taken }: GonePlace, { places }: Work): string | undefined {
  const successor = successorDoubt(shape, places);
  if (successor !== undefined) return successor;
  const words = new Set(wordsOf(shape.text).map(singularName));
  const namedMember = [...v2.members.keys()].find(
    (name) =>
      !v1.members.has(name) &&
      name.length > 3 &&
      taken.get(JSON.stringify([name])) === undefined &&
      words.has(singularName(name)),
  );
  return namedMember === undefined
    ? undefined
    : `V1's description speaks of ${pathText(path, namedMember)}, which V2 has`;
}

/** The words about a gone number if V2 has what it leaves: seats that are taken, where V1 has those that are free. */
function relationOf(old: NamedShape, { v1, v2, path }: Objects): string | undefined {
  const [name] =
    goneOf(v2, v1).find(([young, { shape }]) => areComplements(old, { name: young, shape })) ?? [];
  const words = name === undefined ? undefined : complementsIn(old.name, name);
  return (
    words &&
    `V2 has ${pathText(path, name)}: ${words[1]} is not ${words[0]}, and a transform can compute one of the other and of all`
  );
}

/** The doubt about a gone number that V2 has in a unit to which no rule converts it. */
function unitDoubt(old: NamedShape, places: readonly Path[], { v2, path }: Objects): string | undefined {
  for (const at of places) {
    const shape = shapeAt(v2, at.slice(path.length));
    const young = shape && { name: at.at(-1) ?? '', shape };
    const units = young !== undefined && isInOtherUnit(old, young) ? otherUnits(old, young) : undefined;
    if (units !== undefined)
      return `V2 has ${pathText(at)} in ${units[1]}, and V1 ${pathText([old.name])} in ${units[0]}: write a transform that converts it`;
  }
  return undefined;
}

function goneQuestion(places: readonly Path[]): string {
  const named = places.slice(0, 3).map((one) => pathText(one));
  return `is it ${named.join(' or ')}${places.length > 3 ? ' or another new member' : ''} in V2, or gone?`;
}

/** Where V2 may have a member by another name, or in another object. */
function possiblePlaces(name: string, shape: Shape, place: GonePlace, work: Work): readonly Path[] {
  const { path } = place;
  const own = [path, work.old].map((around) => [...around, name]);
  const places = work.places.of(own, work.isResponse === true ? ANY_SHAPE : shape);
  // In responses, a guess by types alone does not restore a lost value.
  const named = work.isResponse === true ? places.filter((at) => isLikely(name, shape, at, path)) : places;
  // A similar name of another type may be that of another member.
  if (named.some((at) => rulesInto(name, shape, at, place, work).length > 0)) return named;
  const { alike, likely, others } = newMembers(name, shape, place, work);
  const found = (work.isResponse === true ? likely : [...alike, ...others]).map((at) => [...path, ...at]);
  return [...named, ...found.filter((at) => !named.some((one) => isSamePath(one, at)))];
}

/** True if the name of a place suggests that a member of the object at `path` may be there. */
function isLikely(name: string, shape: Shape, place: Path, path: Path): boolean {
  const isBelow = path.every((one, at) => place[at] === one);
  return isLikelyPlace(name, shape, isBelow ? place.slice(path.length) : place);
}

function newMembers(
  gone: string,
  shape: Shape,
  { v1, v2, path, taken, candidate, hints }: GonePlace,
  { pairs }: Work,
): NewMembers {
  const known = pairs.of(v1, v2).newMembers;
  const key = JSON.stringify([gone, hints?.names.get(gone), hints?.paired.get(gone), ...taken]);
  const before = known.get(key);
  if (before !== undefined) return before;
  const all = takingMembers(gone, shape, { v1, v2, path: [], taken });
  const place = { v1, v2, path, taken, candidate, hints };
  const isLinked = (at: Path): boolean => linkBetween(gone, at, place) !== undefined;
  const isWorded = (at: Path): boolean => isRelatedName(at.join('_'), gone);
  const isOfOther = (at: Path): boolean =>
    hasOwnName(gone, at, place) ||
    (!isAlike(at.at(-1) ?? '', gone) && belongsToAnother(gone, shape, at, place));
  const [alike, rest] = [
    all.filter((at) => isWorded(at) && !isOfOther(at)),
    all.filter((at) => !isWorded(at)),
  ];
  const linked = rest.filter(isLinked);
  const sharesValues = (at: Path): boolean =>
    commonSpellings(shape.values, shapeAt(v2, at)?.values ?? []) > 0;
  const free = rest.filter((at) => !isLinked(at) && !belongsToAnother(gone, shape, at, place));
  // A type alone is evidence only for the last member of V1.
  const others = free
    .filter((at) => hasInCommon(gone, shape, at, place) || isLastFor(gone, at, place))
    .toSorted((one, other) => Number(sharesValues(other)) - Number(sharesValues(one)));
  const found = {
    alike: [...alike, ...linked],
    others,
    likely: all.filter((at) => isLinked(at) || (isLikelyPlace(gone, shape, at) && !isOfOther(at))),
  };
  known.set(key, found);
  return found;
}

/** True if a gone member and a place of V2 have anything but a type in common: words of their names or descriptions, or values. */
function hasInCommon(
  gone: string,
  shape: Shape,
  at: Path,
  place: Pick<GonePlace, 'v1' | 'v2' | 'hints'>,
): boolean {
  const young = shapeAt(place.v2, at) ?? ANY_SHAPE;
  return (
    isLikelyPlace(gone, shape, at) ||
    shareAnything({ name: gone, shape }, { name: at.join('_'), shape: young }) ||
    textWeight({ name: gone, shape }, { name: at.at(-1) ?? '', shape: young })[0] > 0 ||
    linkBetween(gone, at, place) !== undefined
  );
}

/** True for the names of identifiers of two things: an appointment's is not a dentist's. */
function areOtherKeys(one: string, other: string): boolean {
  return isIdentifier(one) && isIdentifier(other) && !haveCommonWord(one, other);
}

/** True if no other member of V1 is gone that could be at a place of V2. */
function isLastFor(gone: string, at: Path, { v1, v2 }: Pick<GonePlace, 'v1' | 'v2'>): boolean {
  const young = shapeAt(v2, at) ?? ANY_SHAPE;
  return ![...v1.members].some(
    ([name, { shape }]) => name !== gone && !v2.members.has(name) && isCompatible(shape, young),
  );
}

/** True if another gone member of V1 has the name of a place. */
function hasOwnName(gone: string, at: Path, { v1, v2 }: Pick<GonePlace, 'v1' | 'v2'>): boolean {
  return [...v1.members.keys()].some(
    (other) =>
      other !== gone &&
      !v2.members.has(other) &&
      (plainName(other) === plainName(at.at(-1) ?? '') || isSameName(other, at.join('_'))),
  );
}

/** True if both have the same text or the same format, which links them unless other members have it as well. */
function isLinkedShape(old: Shape, young: Shape): boolean {
  return (
    (old.text !== '' && old.text === young.text) ||
    (formatOf(old) !== '' && formatOf(old) === formatOf(young))
  );
}

/** True for lists and objects: one may have become the other, as coordinates did that were a list, or texts that have names now. */
function areContainers(one: Shape, other: Shape): boolean {
  return [one, other].every(
    ({ types }) => types.size > 0 && [...types].every((type) => type === 'array' || type === 'object'),
  );
}

/** Formats that different members of one object often share. */
const COMMON_FORMATS: ReadonlySet<string> = new Set(['date', 'date-time', 'time', 'uuid', 'byte', 'binary']);

/** The format of a text or of the elements of a list; empty for one that many members share. */
function formatOf({ format, element }: Shape): string {
  const own = format === '' ? (element?.format ?? '') : format;
  return COMMON_FORMATS.has(own) ? '' : own;
}

/**
 * The evidence, apart from names, that a gone member is the one at this place: the same description, or a format that no other gone or new
 * member has.
 */
function linkBetween(
  gone: string,
  at: Path,
  { v1, v2, hints }: Pick<GonePlace, 'v1' | 'v2' | 'hints'>,
): string | undefined {
  const [old, young] = [v1.members.get(gone)?.shape, shapeAt(v2, at)];
  if (old === undefined || young === undefined) return undefined;
  if (old.text !== '' && old.text === young.text) return 'the descriptions are equal';
  if (v1.kinds?.property === gone && v2.kinds?.property === at.join('.'))
    return 'both tell the kinds of the object apart';
  const last = at.at(-1) ?? '';
  if (at.length === 1 && hints?.names.get(gone) === last)
    return `paths have {${last}} where V1's have {${gone}}`;
  if (at.length === 1 && hints?.paired.get(gone) === last)
    return 'another operation has the one for the other';
  const [shown, same] = [
    [...examplesOf(old), ...(hints?.values.v1.get(gone) ?? [])],
    [...examplesOf(young), ...(hints?.values.v2.get(last) ?? [])],
  ];
  if (shown.some((value) => same.includes(value))) return 'both have the same example';
  if (DAYS.has(old.format) && old.format === young.format && haveSameRoot(gone, at.join('_')))
    return `both are of the format ${old.format}, and their names have the same root`;
  if (isDay(old) && isDay(young) && isSameDay(gone, at.join('_')))
    return 'both names are of a day or time, and differ in no other word';
  const initials = initialsIn(gone, at.join('_'));
  if (initials !== undefined) return `${initials} may be short for the words of the other name`;
  if (isLastPart(gone, at, { v1, v2 }))
    return `the other members of ${pathText(at.slice(0, -1))} have the names of V1's, and no other one is left`;
  if (wordPairs({ name: gone, shape: old }, { name: at.at(-1) ?? '', shape: young }) !== undefined)
    return 'a value of one has the name of the other, which is a boolean';
  const measure = measureOf({ name: gone, shape: old });
  if (measure !== undefined && at.length === 1 && measure === measureOf({ name: last, shape: young })) {
    const isOfKind = ([name, { shape }]: readonly [string, MemberShape]): boolean =>
      measureOf({ name, shape }) === measure;
    const [was, is] = [goneOf(v1, v2).filter(isOfKind), goneOf(v2, v1).filter(isOfKind)];
    if (was.length === 1 && is.length === 1) return 'no other new number has a unit of that kind';
  }
  const format = formatOf(old);
  if (format === '' || format !== formatOf(young)) return undefined;
  const isOfFormat = ([, { shape }]: readonly [string, MemberShape]): boolean => formatOf(shape) === format;
  const [before, now] = [goneOf(v1, v2).filter(isOfFormat), goneOf(v2, v1).filter(isOfFormat)];
  const isOnly = before.length === 1 && now.length === 1 && at.length === 1;
  return isOnly ? `no other new member has the format ${format}` : undefined;
}

/** True for a text that may be a day or a time, and for one that is. */
function isDay({ format, types, values }: Shape): boolean {
  return types.has('string') && values.length === 0 && (format === '' || DAYS.has(format));
}

/**
 * True if V1's other gone members of this type have the names of the other members of the new object that has the place: of `net` and `gst`,
 * one is `amounts.net`, and `amounts.tax` is left.
 */
function isLastPart(gone: string, at: Path, { v1, v2 }: Pick<GonePlace, 'v1' | 'v2'>): boolean {
  const [under = '', own = '', ...deeper] = at;
  const inside = [...(v2.members.get(under)?.shape.members.keys() ?? [])];
  const type = (shape: Shape | undefined): string => [...(shape?.types ?? [])].toSorted().join();
  if (deeper.length > 0 || inside.length < 2 || v1.members.has(under)) return false;
  const wanted = type(v1.members.get(gone)?.shape);
  const kin = goneOf(v1, v2).filter(([, { shape }]) => type(shape) === wanted);
  const isNamed = (name: string): boolean => kin.some(([old]) => isSameName(old, name));
  const left = kin.filter(([old]) => !inside.some((name) => isSameName(old, name)));
  return (
    inside.every((name) => (name === own ? !isNamed(name) : isNamed(name))) &&
    left.length === 1 &&
    left[0]?.[0] === gone
  );
}

/** The members that only the first of two objects has. */
function goneOf(one: Shape, other: Shape): readonly (readonly [string, MemberShape])[] {
  return [...one.members].filter(([name]) => !other.members.has(name));
}

const DAYS: ReadonlySet<string> = new Set(['date', 'date-time', 'time']);

/** Words in names of days and times. */
const OF_TIME: ReadonlySet<string> = new Set(
  'date day time at on since until from to start end begin expires born due month year'.split(' '),
);

/** True if the place more likely belongs to another member of V1: by its name, its format, its unit or what it is. */
function belongsToAnother(
  gone: string,
  shape: Shape,
  at: Path,
  { v1, v2 }: Pick<GonePlace, 'v1' | 'v2'>,
): boolean {
  const [young, name] = [shapeAt(v2, at), at.at(-1) ?? ''];
  if (young === undefined) return false;
  const formats = [formatOf(shape), formatOf(young)];
  const isOtherFormat = !formats.includes('') && formats[0] !== formats[1];
  // A free text does not become one of a few values.
  const isOneOfFew = young.values.length > 0 && shape.values.length === 0;
  // Nor does one whose name says nothing of time become a day.
  const isTime =
    DAYS.has(young.format) && shape.format === '' && !wordsOf(gone).some((word) => OF_TIME.has(word));
  return (
    hasOwnName(gone, at, { v1, v2 }) ||
    isOtherFormat ||
    isOneOfFew ||
    isTime ||
    isNoIdentifier({ name: gone, shape }, { name: at.join('_'), shape: young }) ||
    areOtherKinds({ name: gone, shape }, { name, shape: young })
  );
}

/**
 * The members of V2's object, and of the objects inside, that could take a value and do not belong to another member of V1: those of a
 * compatible type, and those with a similar name, as V2 may have another form of the value. A deprecated member needs a similar name.
 */
function takingMembers(
  gone: string,
  shape: Shape,
  { v1, v2, path, taken }: Omit<GonePlace, 'candidate' | 'hints'>,
  around: readonly object[] = [],
  allowance = { left: MAX_CANDIDATES, v1, v2 },
): readonly Path[] {
  if (around.includes(v2.members) || around.length > 3) return [];
  return [...v2.members].flatMap(([name, member]): readonly Path[] => {
    allowance.left -= 1;
    if (allowance.left < 0) return [];
    const at = [...path, name];
    const use = taken.get(JSON.stringify(at));
    if (use === 'with all in it') return [];
    const before = v1.members.get(name)?.shape;
    const isOther = before !== undefined && isAnotherValue(before, member.shape);
    if (before !== undefined && before.members.size === 0 && !isOther) return [];
    const isNew = (before === undefined || isOther) && use === undefined;
    const isOfType =
      !shape.isDeprecated && (isCompatible(shape, member.shape) || areContainers(shape, member.shape));
    const isListOfIt =
      member.shape.element !== undefined &&
      (singularName(name) === singularName(gone) || isLinkedShape(shape, member.shape)) &&
      isCompatible(shape, member.shape.element);
    const isConverted =
      isIdentifier(gone) &&
      isIdentifier(name) &&
      nameSimilarity(gone, name) >= LIKE_NAME &&
      conversions({ name: gone, shape }, { name, shape: member.shape }).length > 0;
    const isWorded = wordPairs({ name: gone, shape }, { name, shape: member.shape }) !== undefined;
    const isBoxed =
      // The currency may have moved there by itself.
      (isNew || (before === undefined && use === 'itself')) &&
      isMoney(member.shape) &&
      (isRelatedName(at.join('_'), gone) || isSameMember(gone, name) || isLastPart(gone, at, allowance)) &&
      boxRules({ name: gone, shape }, { name, shape: member.shape }, path, at).length > 0;
    const own =
      isBoxed || (isNew && (isOfType || isListOfIt || isConverted || isWorded || isAlike(gone, name)))
        ? [at]
        : [];
    const inside = { v1: before ?? ANY_SHAPE, v2: member.shape, path: at, taken };
    return [...own, ...takingMembers(gone, shape, inside, [...around, v2.members], allowance)];
  });
}
