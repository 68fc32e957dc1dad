import { nameSimilarity } from './name-similarity.ts';
import { isCompatible, type Shape } from '../shape.ts';

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

/** The confidence that `young` is V2's name of `old`, and the evidence; 0 when their types exclude it. */
export function renameScore(
  old: LooseMember,
  young: LooseMember,
): { readonly confidence: number; readonly evidence: string } {
  if (!isCompatible(old.shape, young.shape)) return { confidence: 0, evidence: '' };
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
  if (old.isAlone && young.isAlone) weigh(0.2, 'no other member of this type is new or gone');
  if (old.required !== young.required) confidence -= 0.1;
  const evidence = reasons.filter((reason) => reason !== '').join('; ');
  return { confidence: Math.max(0, Math.min(0.99, confidence)), evidence };
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
