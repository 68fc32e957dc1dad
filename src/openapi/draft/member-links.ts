import { fitsInto, isCompatible, type Shape } from '../shape.ts';
import type { ComparedPair, ComparedPairs } from './compared-pairs.ts';
import {
  areContraries,
  areOtherKinds,
  conversions,
  examplesOf,
  type FoundValue,
  isListedAlike,
  isNumber,
  type NamedShape,
  otherUnits,
  textUnits,
  shareDoubt,
  timeDoubt,
  unitsIn,
} from './conversions.ts';
import type { Evidence } from './found-rules.ts';
import {
  complementsIn,
  endsAsSameMember,
  haveCommonWord,
  haveSameRoot,
  initialsIn,
  isAlike,
  isIdentifier,
  isRelatedName,
  isSameName,
  isSameQuery,
  nameSimilarity,
  oppositesIn,
  plainName,
  wordsOf,
} from './names.ts';
import { MAX_LEVELS } from './places.ts';
import { commonSpellings, findValueMap, SAME_PLACES } from './value-maps.ts';

/** The doubt about members that only types and places make likely. */
export const NO_LINK = 'neither name, description nor content says that they are the same';

/** A member that only one version has, with its place among the others. */
export interface LooseMember {
  readonly name: string;
  readonly shape: Shape;
  readonly required: boolean;
  /** The nearest members before and behind it that both versions have; empty at an end. */
  readonly before: string;
  readonly behind: string;
  /** True if no other member that only this version has is of a compatible type. */
  readonly isAlone: boolean;
}

/** The reason why a value of V1, or one inside it, could mean something else in V2's member; undefined if there is no sign of it. */
export function valueDoubt(old: NamedShape, young: NamedShape, pairs: ComparedPairs): string | undefined {
  const walk: DoubtWalk = { pairs, met: new Set(), isCut: false };
  const doubt = doubtIn(old, young, walk, 0);
  if (doubt === undefined && !walk.isCut) for (const pair of walk.met) pair.isWithoutDoubt = true;
  return doubt;
}

/** A search of a value, and of all objects inside it, for a doubt. */
interface DoubtWalk {
  readonly pairs: ComparedPairs;
  readonly met: Set<ComparedPair>;
  /** True if it did not look into a value, as that is too deep. */
  isCut: boolean;
}

function doubtIn(old: NamedShape, young: NamedShape, walk: DoubtWalk, level: number): string | undefined {
  const own = scalarDoubt(old, young);
  if (own !== undefined) return own.text;
  const [one, other] = [old.shape, young.shape];
  if (areOthers(one, other)) return 'what is in it has other names in V2';
  if (level > MAX_LEVELS) {
    walk.isCut = true;
    return undefined;
  }
  const pair = walk.pairs.of(one, other);
  if (one.members.size > 0 && pair.isWithoutDoubt !== true && !walk.met.has(pair)) {
    walk.met.add(pair);
    for (const [name, { shape }] of one.members) {
      const partner = other.members.get(name)?.shape;
      const inner = partner && doubtIn({ name, shape }, { name, shape: partner }, walk, level + 1);
      if (inner !== undefined) return `of its ${name}, ${inner}`;
    }
  }
  if (one.element === undefined || other.element === undefined) return undefined;
  return doubtIn({ name: '', shape: one.element }, { name: '', shape: other.element }, walk, level + 1);
}

/** True for objects that have no member in common. */
function areOthers(one: Shape, other: Shape): boolean {
  if (one.members.size === 0 || other.members.size === 0) return false;
  const names = new Set([...other.members.keys()].map(plainName));
  return [...one.members.keys()].every((name) => !names.has(plainName(name)));
}

/**
 * The reason why a value that is not an object could mean something else: its type, format, limits, and the units in names and
 * descriptions. In a request, V2 must accept V1's values; in a response, V1's clients must accept V2's.
 */
export function scalarDoubt(
  old: NamedShape,
  young: NamedShape,
  isResponse = false,
  level = 0,
): ScalarDoubt | undefined {
  const [one, other] = [old.shape, young.shape];
  const doubts: string[] = [];
  const compare = (what: string, first: string, second: string): void => {
    if (first !== second) doubts.push(`${what} ${first || 'none'} in V1 and ${second || 'none'} in V2`);
  };
  const compareBoth = (what: string, first: string, second: string): void => {
    if (first !== '' && second !== '') compare(what, first, second);
  };
  const time = timeDoubt(old, young);
  const isAboutTypes = time === '' && !(isResponse ? fitsInto(other, one) : fitsInto(one, other));
  if (time !== '') doubts.push(time);
  if (isAboutTypes) compare('it is', typeWords(one), typeWords(other));
  if (time === '') compareBoth('its format is', one.format, other.format);
  if (!isSameName(old.name, young.name))
    compare('the unit in its name is', unitsIn(old.name), unitsIn(young.name));
  const share = shareDoubt(old, young);
  if (share !== '') doubts.push(share);
  // The description of an object is about all of its members.
  if (one.members.size === 0 && other.members.size === 0)
    compareBoth('the unit in its description is', textUnits(one), textUnits(other));
  compareBoth('its limit is', one.limits, other.limits);
  if (areContraries(old, young)) doubts.push(CONTRARY);
  if (doubts.length > 0) return { text: doubts.join('; '), isAboutTypes };
  const [element, partner] = [one.element, other.element];
  if (element === undefined || partner === undefined || element.members.size > 0) return undefined;
  if (level > MAX_LEVELS) return undefined;
  return scalarDoubt({ name: '', shape: element }, { name: '', shape: partner }, isResponse, level + 1);
}

/** Why a value could mean something else in the other version. */
interface ScalarDoubt {
  readonly text: string;
  /** True if its types differ. */
  readonly isAboutTypes: boolean;
}

const CONTRARY = 'the names say the contrary of each other, so that true and false change places';

/** The types of a value in words, and those of the elements of a list. */
export function typeWords({ types, element }: Shape): string {
  const own = [...types].join(' or ');
  const inner = element === undefined || own !== 'array' ? '' : [...element.types].join(' or ');
  return inner === '' ? own : `${own} of ${inner}`;
}

/** The confidence that `young` is V2's name of `old`, and the evidence; 0 when their types exclude it. */
export function renameScore(old: LooseMember, young: LooseMember, pairs: ComparedPairs): Evidence {
  if (
    !isCompatible(old.shape, young.shape) &&
    !(isRelatedName(old.name, young.name) && conversions(old, young).length > 0) &&
    !isListedAlike(old.shape, young.shape)
  )
    return { confidence: 0, evidence: '', doubt: undefined };
  // A type and a place are evidence only for the one member of the type that is gone, where one is new.
  const isNear =
    areLinked(old, young) ||
    shareAnything(old, young) ||
    (old.isAlone && young.isAlone) ||
    isListedAlike(old.shape, young.shape);
  if (!isNear || isOther(old, young) || areOtherLists(old, young))
    return { confidence: 0, evidence: '', doubt: undefined };
  const reasons: string[] = [];
  let confidence = 0.25;
  const weigh = (weight: number, reason: string): void => {
    confidence += weight;
    if (weight > 0) reasons.push(reason);
  };
  const names = nameSimilarity(old.name, young.name);
  const areSimilar = names >= 0.3 && (isAlike(old.name, young.name) || haveSameRoot(old.name, young.name));
  weigh(0.3 * names, areSimilar ? 'the names are similar' : '');
  weigh(...textWeight(old, young));
  weigh(...placeWeight(old, young));
  weigh(...contentWeight(old.shape, young.shape));
  const isListed = ({ shape }: LooseMember): boolean => shape.values.length > 1;
  if (old.isAlone && young.isAlone && fitsInto(old.shape, young.shape) && isListed(old) === isListed(young))
    weigh(0.2, 'no other member of this type is new or gone');
  if (old.required !== young.required) confidence -= 0.1;
  const apart = descriptionsApart(old.shape, young.shape);
  const evidence = [...reasons, apart].filter((reason) => reason !== '').join('; ');
  const opposites = oppositesIn(old.name, young.name)?.join(' is not ');
  const isLinked = areLinked(old, young);
  const contrary = isLinked || !areContraries(old, young) ? undefined : NO_LINK;
  const doubt = opposites ?? contrary ?? valueDoubt(old, young, pairs) ?? (isLinked ? undefined : NO_LINK);
  // A text is no date or key of which nothing else tells that it is the same.
  if (doubt === NO_LINK && old.shape.format !== young.shape.format)
    return { confidence: 0, evidence: '', doubt: undefined };
  const least = isSameName(old.name, young.name) ? SAME_NAME : 0;
  return { confidence: Math.max(least, Math.min(0.99, confidence)), evidence, doubt };
}

/** The confidence in a name that differs in case and separators only, even if other facts differ. */
const SAME_NAME = 0.75;

/** True if one member cannot be the other: its unit is of another kind, or no rule converts it, or only one of the two is an identifier. */
export function isOther(old: NamedShape, young: NamedShape): boolean {
  return (
    areOtherKinds(old, young) ||
    isInOtherUnit(old, young) ||
    isNoIdentifier(old, young) ||
    areComplements(old, young)
  );
}

/** True for two numbers of which each is what the other leaves: seats that are free, and seats that are taken. */
export function areComplements(old: NamedShape, young: NamedShape): boolean {
  return isNumber(old.shape) && isNumber(young.shape) && complementsIn(old.name, young.name) !== undefined;
}

/** True if two members have anything but a type in common: words of their names or descriptions, values, examples or members inside. */
export function shareAnything(old: NamedShape, young: NamedShape): boolean {
  const words = new Set(wordsOf(old.shape.text).filter((word) => word.length >= LONG_WORD));
  const examples = examplesOf(old.shape);
  return (
    haveCommonWord(young.name, old.name) ||
    haveSameRoot(young.name, old.name) ||
    endsAsSameMember(old.name, young.name) ||
    isSameQuery(old.name, young.name) ||
    nameSimilarity(old.name, young.name) >= LIKE_NAME ||
    commonSpellings(old.shape.values, young.shape.values) > 0 ||
    [...old.shape.members.keys()].some((name) => young.shape.members.has(name)) ||
    wordsOf(young.shape.text).some((word) => words.has(word)) ||
    examplesOf(young.shape).some((one) => examples.includes(one)) ||
    textWeight(old, young)[0] > 0
  );
}

/** Minimum letters of a word that two descriptions do not have in common by chance. */
const LONG_WORD = 6;

/** Minimum likeness of two names for them to be likely one. */
export const LIKE_NAME = 0.6;

/** True for two enumerations that have neither words of a name nor a value in common: that both have as many values is chance. */
function areOtherLists(old: NamedShape, young: NamedShape): boolean {
  const [one, other] = [old.shape.values, young.shape.values];
  const { spelled, guessed } = findValueMap(one, other) ?? {};
  const reasons = [...(spelled?.reasons ?? []), ...(guessed?.reasons ?? [])];
  return (
    one.length > 1 &&
    other.length > 1 &&
    !one.some((value) => other.includes(value)) &&
    reasons.every((reason) => reason === SAME_PLACES) &&
    nameSimilarity(old.name, young.name) < LIKE_LIST &&
    !haveCommonWord(old.name, young.name) &&
    !endsAsSameMember(old.name, young.name) &&
    initialsIn(old.name, young.name) === undefined &&
    textWeight(old, young)[0] <= 0
  );
}

/** Minimum likeness of the names of two enumerations without a common value. */
const LIKE_LIST = 0.5;

/** True for two numbers in units between which no rule converts. */
export function isInOtherUnit(old: NamedShape, young: NamedShape): boolean {
  return (
    [old, young].every(({ shape: { types } }) => types.has('integer') || types.has('number')) &&
    otherUnits(old, young) !== undefined &&
    conversions(old, young).length === 0
  );
}

/** True if only one of the two names is that of an identifier, and nothing links the members: a `project_id` is not a `priority`. */
export function isNoIdentifier(old: NamedShape, young: NamedShape): boolean {
  return (
    isIdentifier(old.name) !== isIdentifier(young.name) &&
    !isAlike(old.name, young.name) &&
    !endsAsSameMember(old.name, young.name) &&
    initialsIn(old.name, young.name) === undefined &&
    textWeight(old, young)[0] <= 0
  );
}

/** Maximum characters of a description in a question. */
const MAX_DESCRIPTION = 80;

/** The descriptions of a member in both versions if they differ, so that a person sees whether they contradict each other. */
export function descriptionsApart(old: Shape, young: Shape): string {
  if (old.text === '' || young.text === '' || old.text === young.text) return '';
  const [before, now] = [old, young].map(({ text }) => {
    const line = text.replaceAll(/\s+/g, ' ').trim();
    return JSON.stringify(line.length > MAX_DESCRIPTION ? `${line.slice(0, MAX_DESCRIPTION)}…` : line);
  });
  return `V1 describes it as ${before}, and V2 as ${now}`;
}

type Weight = readonly [weight: number, reason: string];

export function textWeight(old: NamedShape, young: NamedShape): Weight {
  if (mentionsName(young.shape.text, old.name)) return [0.3, `V2's description names ${old.name}`];
  if (mentionsName(old.shape.text, young.name)) return [0.3, `V1's description names ${young.name}`];
  if (old.shape.text === '' || young.shape.text === '') return [0, ''];
  return old.shape.text === young.shape.text ? [0.3, 'the descriptions are equal'] : [-0.1, ''];
}

/**
 * True if the text mentions the member, other than as one beside it (`submit it as "token"`). A single word, such as `page`, must be in
 * quotes, or be called a former name.
 */
export function mentionsName(described: string, name: string): boolean {
  if (!isSearchable(name) || !described.includes(name)) return false;
  const escaped = name.replaceAll(/[^\w]/g, '\\$&');
  // Not proven linear: a name of the description, and nothing in these patterns repeats.
  const beside = `(?<!\\b(?:same|known|called) )\\b(?:as|with|if|when|unless|for) (?:the )?[\`'"]?${escaped}(?![\\w-])`;
  const text = described.replaceAll(new RegExp(beside, 'g'), '');
  if (wordsOf(name).length > 1) return new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`).test(text);
  // Not proven linear: the same, with words that stand before a former name.
  return new RegExp(
    `[\`'"]${escaped}[\`'"]|\\b(?:[Ff]ormerly|[Pp]reviously|[Ww]as|called|[Rr]eplaces|[Ii]nstead of|[Oo]ld name:?) (?:the )?${escaped}(?![\\w-])`,
  ).test(text);
}

/** False for names of one or two letters, which many texts contain. */
function isSearchable(name: string): boolean {
  return name.length > 2;
}

function placeWeight(old: LooseMember, young: LooseMember): Weight {
  // Without a member in both versions, the order gives no evidence.
  if ([old, young].some((member) => member.before === '' && member.behind === '')) return [0, ''];
  const [before, behind] = [old.before === young.before, old.behind === young.behind];
  if (before && behind) return [0.2, 'the same members are around it'];
  return before || behind ? [0.1, 'the same member is next to it'] : [-0.05, ''];
}

function contentWeight(old: Shape, young: Shape): Weight {
  if (old.values.length > 0 || young.values.length > 0) {
    const most = Math.max(1, old.values.length, young.values.length);
    const exact = old.values.filter((value) => young.values.includes(value)).length / most;
    const share = commonSpellings(old.values, young.values) / most;
    if (share === 0 && isListedAlike(old, young)) return [0.1, 'it has as many values'];
    if (share === 0) return [-0.15, ''];
    const form = exact < share ? ', but for case and separators' : '';
    const all =
      share === 1 ? 'it has the same values' : `${Math.round(share * most)} of ${most} values are the same`;
    return [0.25 * share, `${all}${form}`];
  }
  if (old.members.size > 0 || young.members.size > 0) {
    const common = [...old.members.keys()].filter((name) => young.members.has(name)).length;
    const share = common / Math.max(1, old.members.size, young.members.size);
    return share > 0 ? [0.3 * share, 'it has the same members'] : [-0.2, ''];
  }
  if (old.constraints === '' && young.constraints === '') return [0.05, ''];
  return old.constraints === young.constraints ? [0.15, 'its format and limits are the same'] : [-0.15, ''];
}

/** True if there is evidence beyond place and type that two members are the same. */
function areLinked(old: LooseMember, young: LooseMember): boolean {
  return (
    isRelatedName(old.name, young.name) ||
    textWeight(old, young)[0] > 0 ||
    haveSameContent(old.shape, young.shape)
  );
}

/** True for values that have most values of an enumeration, or most members, in common. */
export function haveSameContent(one: Shape, other: Shape): boolean {
  const half = (all: readonly FoundValue[], more: readonly FoundValue[]): boolean =>
    commonSpellings(all, more) * 2 > Math.max(1, all.length, more.length);
  return half(one.values, other.values) || half([...one.members.keys()], [...other.members.keys()]);
}
