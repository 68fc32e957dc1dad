import { isRelatedName, nameSimilarity, unitsIn } from './name-similarity.ts';
import { fitsInto, isCompatible, type Shape } from '../shape.ts';

/** A member that only one version has, with its place among the others. */
export interface LooseMember {
  readonly name: string;
  readonly shape: Shape;
  readonly required: boolean;
  /** The nearest members before and behind it that both versions have; empty at an end. */
  readonly before: string;
  readonly behind: string;
  /** True when no other member that only this version has would do. */
  readonly isAlone: boolean;
}

/** How sure it is that a member of V2 is one of V1 by another name. */
export interface RenameScore {
  readonly confidence: number;
  readonly evidence: string;
  /** Why a rename could change what the value means; undefined when nothing speaks for that. */
  readonly doubt: string | undefined;
}

/** The confidence that `young` is V2's name of `old`, and the evidence; 0 when their types exclude it. */
export function renameScore(old: LooseMember, young: LooseMember): RenameScore {
  if (!isCompatible(old.shape, young.shape)) return { confidence: 0, evidence: '', doubt: undefined };
  const reasons: string[] = [];
  let confidence = 0.25;
  const weigh = (weight: number, reason: string): void => {
    confidence += weight;
    if (weight > 0) reasons.push(reason);
  };
  const names = nameSimilarity(old.name, young.name);
  weigh(0.3 * names, names >= 0.3 ? 'the names are alike' : '');
  weigh(...textWeight(old, young));
  weigh(...placeWeight(old, young));
  weigh(...contentWeight(old.shape, young.shape));
  if (old.isAlone && young.isAlone && fitsInto(old.shape, young.shape))
    weigh(0.2, 'no other member of this type is new or gone');
  if (old.required !== young.required) confidence -= 0.1;
  const evidence = reasons.filter((reason) => reason !== '').join('; ');
  const doubt = valueDoubt(old, young) ?? (isKnownAs(old, young) ? undefined : NO_LINK);
  return { confidence: Math.max(0, Math.min(0.99, confidence)), evidence, doubt };
}

/** The doubt about members that only their types and places make likely. */
export const NO_LINK = 'neither name, description nor content says that they are the same';

/** A member as far as its value is concerned. */
type NamedShape = Pick<LooseMember, 'name' | 'shape'>;

/** Why a value of V1, or one inside it, could mean something else in V2's member; undefined when nothing says so. */
export function valueDoubt(old: NamedShape, young: NamedShape): string | undefined {
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
export function scalarDoubt(old: NamedShape, young: NamedShape): string | undefined {
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
export function typeWords({ types }: Shape): string {
  return [...types].join(' or ');
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

type Weight = readonly [weight: number, reason: string];

function textWeight(old: LooseMember, young: LooseMember): Weight {
  const mentions = (text: string, name: string): boolean =>
    // Not proven linear: a name of the description, and nothing in it repeats.
    new RegExp(`(?<![\\w-])${name.replaceAll(/[^\w]/g, '\\$&')}(?![\\w-])`).test(text);
  if (name3(old) && mentions(young.shape.text, old.name)) return [0.3, `V2's description names ${old.name}`];
  if (name3(young) && mentions(old.shape.text, young.name))
    return [0.3, `V1's description names ${young.name}`];
  if (old.shape.text === '' || young.shape.text === '') return [0, ''];
  return old.shape.text === young.shape.text ? [0.3, 'the descriptions are equal'] : [-0.1, ''];
}

/** A name of one or two letters is in many texts. */
function name3({ name }: LooseMember): boolean {
  return name.length > 2;
}

function placeWeight(old: LooseMember, young: LooseMember): Weight {
  // Members of which none is in both versions have no place to compare.
  if ([old, young].some((member) => member.before === '' && member.behind === '')) return [0, ''];
  const [before, behind] = [old.before === young.before, old.behind === young.behind];
  if (before && behind) return [0.2, 'it stands between the same members'];
  return before || behind ? [0.1, 'it stands next to the same member'] : [-0.05, ''];
}

function contentWeight(old: Shape, young: Shape): Weight {
  if (old.values.length > 0 || young.values.length > 0) {
    const common = old.values.filter((value) => young.values.includes(value)).length;
    const share = common / Math.max(1, old.values.length, young.values.length);
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
