import type { Path } from '../../rules/rule.ts';
import { isCompatible, type Shape, shapeAt } from '../shape.ts';
import { addFinding, type Objects, type Work } from './comparison.ts';
import {
  boxForms,
  type Conversion,
  conversions,
  isMoney,
  type ListForm,
  listForms,
  type NamedShape,
  otherConversions,
  unitsIn,
} from './conversions.ts';
import { isKeyOf, lookupsFor } from './find-lookups.ts';
import { type Finding, type FoundRule, pathText, renameRule } from './found-rules.ts';
import { isOther } from './member-links.ts';
import { valueForms, wordPairs } from './value-maps.ts';

/** Marks a rename as open if it keeps the value although the units differ. */
export function openIfUnitsDiffer(found: FoundRule, from: string): Pick<Finding, 'isOpen'> {
  const isPlain = found.rule === 'rename' && found.conversions === undefined;
  return isPlain && unitsIn(from) !== unitsIn(found.to) ? { isOpen: true } : {};
}

/** The lookup rules for an object of V1's responses of which V2 returns only the key. */
export function lookupRules(
  old: NamedShape,
  v2: Shape,
  path: Path,
  { lookups = [], isResponse }: Work,
): readonly FoundRule[] {
  if (isResponse !== true || lookups.length === 0 || old.shape.members.size === 0) return [];
  const keys = [...v2.members].filter(([key]) => key === old.name || isKeyOf(key, old.name));
  return keys.flatMap(([key, { shape }]) =>
    lookupsFor(old, { name: key, shape }, lookups).map((found): FoundRule => ({
      rule: 'lookup',
      in: path,
      member: old.name,
      ...found,
    })),
  );
}

export function addLookup([found, ...others]: readonly FoundRule[], old: Path, work: Work): void {
  if (found?.rule !== 'lookup') return;
  const evidence = `V2 has only ${pathText(found.in, found.key)}, and returns ${found.take.join(', ')} for GET ${found.get}`;
  const doubt = 'the gateway then sends V2 another request for each response';
  addFinding({ found, confidence: 0.5, evidence, doubt, others, old }, work);
}

/** The other rules that put a member where `found` does: a list has several forms. */
export function otherForms(
  found: FoundRule,
  name: string,
  shape: Shape,
  objects: Objects,
  work: Work,
): readonly FoundRule[] {
  if (found.rule !== 'rename') return [];
  const key = JSON.stringify(found);
  const all = rulesInto(name, shape, [...found.in, found.to], objects, work);
  // The name alone is no evidence that a value became a list.
  return found.conversions === undefined ? [] : all.filter((one) => JSON.stringify(one) !== key);
}

/** The rules that move a member of V1 to a place of V2, the likeliest first; empty if there are none. */
export function rulesInto(
  name: string,
  shape: Shape,
  target: Path,
  { v2, path }: Objects,
  work: Work,
): readonly FoundRule[] {
  const stars = (at: Path): number => at.filter((one) => one === '*').length;
  const isBelow = path.every((one, at) => target[at] === one);
  const rest = target.slice(path.length);
  const to = rest.at(-1);
  // A rule for this object reaches neither other elements nor outer objects.
  if (!isBelow || to === undefined || stars(rest) > 0) return [];
  const young = shapeAt(v2, rest);
  if (young === undefined || isOther({ name, shape }, { name: rest.join('_'), shape: young })) return [];
  const named = [
    { name, shape },
    { name: to, shape: young },
  ] as const;
  const words = wordPairs(...named, work.isResponse);
  if (rest.length > 1) {
    const converted = conversions(...named);
    const move = { rule: 'move', in: path, member: name, to: rest } as const;
    if (words !== undefined) return [{ ...move, values: words }];
    if (converted.length > 0) return [{ ...move, conversions: converted }];
    if (isCompatible(shape, young)) return valueForms(move, shape, young);
    return isMoney(young) ? boxRules(...named, path, rest) : [];
  }
  if (words !== undefined) return [{ rule: 'rename', in: path, member: name, to, values: words }];
  const listed = listRules({ name, shape }, { name: to, shape: young }, path, work);
  if (listed.length > 0) return listed;
  const converted = conversions(...named);
  if (!isCompatible(shape, young) && converted.length === 0)
    return isMoney(young) ? boxRules(...named, path, rest) : [];
  return [converted, ...otherConversions(...named)].flatMap((all) =>
    valueForms(renameRule(path, name, to, all), shape, young),
  );
}

/** The moves of a value into the object that V2 has at a place, such as an amount beside its currency: the likeliest first. */
export function boxRules(old: NamedShape, young: NamedShape, path: Path, to: Path): readonly FoundRule[] {
  return boxForms(old, young).map(({ inner, conversions: converted }) => {
    const move = { rule: 'move', in: path, member: old.name, to: [...to, inner] } as const;
    return converted.length === 0 ? move : { ...move, conversions: converted };
  });
}

const GIVEN = /^(?:given|first|fore)/i;
const FAMILY = /^(?:family|last|sur)/i;

/** The rules that split a person's name into the parts that V2 has, together in one object. */
export function splitInto(
  member: string,
  { types, values, format }: Shape,
  { v1, v2, path }: Objects,
): readonly FoundRule[] {
  if (!/name$/i.test(member) || !types.has('string') || values.length > 0 || format !== '') return [];
  const objects: readonly (readonly [string | undefined, Shape])[] = [
    [undefined, v2],
    ...[...v2.members].map(([name, { shape }]) => [name, shape] as const),
  ];
  return objects.flatMap(([under, { members }]): readonly FoundRule[] => {
    const isNew = (name: string): boolean =>
      !v1.members.has(name) && members.get(name)?.shape.types.has('string') === true;
    const [to, ...more] = [GIVEN, FAMILY].map((word) =>
      [...members.keys()].filter((name) => word.test(name) && isNew(name)),
    );
    const all = [...(to ?? []), ...more.flat()];
    if (to?.length !== 1 || all.length !== 2 || (under !== undefined && v1.members.has(under))) return [];
    return [{ rule: 'split', in: path, member, to: all, under }];
  });
}

/** The rules for a value that is a list in one version only, or a list of other elements: the likeliest first. */
export function listRules(
  old: NamedShape,
  young: NamedShape,
  path: Path,
  { isResponse }: Pick<Work, 'isResponse'>,
): readonly FoundRule[] {
  const { name: member } = old;
  const { name: to } = young;
  // A request rule cannot choose one of several elements that a client sent.
  const isDescribed = (form: ListForm): boolean =>
    form !== 'one' || isResponse === true || isList(young.shape);
  return listForms(old, young)
    .filter(isDescribed)
    .map((form): FoundRule => {
      if (form === 'one') return { rule: isList(young.shape) ? 'list' : 'first', in: path, member, to };
      return member === to
        ? { rule: 'convert', in: path, member, conversions: [form] }
        : renameRule(path, member, to, [form]);
    });
}

function isList({ element, types }: Shape): boolean {
  return element !== undefined && !types.has('object');
}

/** The conversions from a member of V1 to one of V2, if types, formats and units show them; otherwise empty. */
export function conversionsOf(v1: Shape, from: string, v2: Shape, to: string): readonly Conversion[] {
  const [one, other] = [v1.members.get(from)?.shape, v2.members.get(to)?.shape];
  if (one === undefined || other === undefined) return [];
  return conversions({ name: from, shape: one }, { name: to, shape: other });
}
