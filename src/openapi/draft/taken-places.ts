import { readPath } from '../../rules/rule.ts';
import { type BookRule, bookRules } from './book-rules.ts';
import { type Evidence, pathText } from './found-rules.ts';
import type { ProposedChange } from './propose-changes.ts';

/** The lists of a change that have rules. */
export const LISTS = ['rules', 'query', 'headers', 'response'] as const;
export type RuleList = (typeof LISTS)[number];

/** A place of V2 that a rule of a person's answer gives to a member of V1. */
export interface TakenPlace {
  readonly list: RuleList;
  readonly on: ProposedChange['on'];
  /** As a rule book writes it. */
  readonly path: string;
  /** The member of V1, as a rule book writes it. */
  readonly old: string;
  /** True if V1's requests always have the member. */
  readonly isAlways: boolean;
  /** True for a place in responses from which an inverse takes it, wherever they have the resource. */
  readonly isInverse?: true;
}

/** The place of a member of V2's responses once these places have V1's names, as a rule book writes it. */
export function placeAfter(path: string, on: ProposedChange['on'], taken: readonly TakenPlace[]): string {
  const found = taken.find((one) => one.list === 'response' && isAt(one, path) && isForSame(on, one.on));
  return found === undefined ? path : `${path.slice(0, path.length - found.path.length)}${found.old}`;
}

/** The places that the settled rules of these changes have taken, or those for which `isCounted`. */
export function takenPlaces(
  changes: readonly ProposedChange[],
  isCounted: (rule: Evidence) => boolean = ({ isSettled }) => isSettled === true,
): readonly TakenPlace[] {
  return changes.flatMap((change) =>
    LISTS.flatMap((list) =>
      (change[list] ?? []).flatMap((rule): readonly TakenPlace[] => {
        if (!isCounted(rule)) return [];
        const [rules, isAlways] =
          'found' in rule ? [bookRules(rule.found), rule.isAlways === true] : [rule.rules, false];
        return placesIn({ list, on: change.on, isAlways }, rules, change.isInverse === true);
      }),
    ),
  );
}

/** The places that these rules take, in responses as well if they have the inverse. */
export function placesIn(
  where: Pick<TakenPlace, 'list' | 'on' | 'isAlways'>,
  rules: readonly BookRule[],
  isInverse: boolean,
): readonly TakenPlace[] {
  return rules.flatMap((rule) => {
    const pair = pairIn(where.list, rule);
    if (pair === undefined) return [];
    const place = { ...where, ...pair };
    return isInverse ? [place, { ...place, list: 'response', isInverse: true } as const] : [place];
  });
}

/** True if an answer with these rules would give away a place that is taken for all of its operations. */
export function isTaken(
  rules: readonly BookRule[],
  { list, on }: Pick<TakenPlace, 'list' | 'on'>,
  taken: readonly TakenPlace[],
): boolean {
  return rules.some((rule) => {
    const pair = pairIn(list, rule);
    const all = taken.filter((one) => pair !== undefined && one.list === list && isAt(one, pair.path));
    const operations = all.some((one) => one.on === 'every') ? 'every' : all.flatMap((one) => one.on);
    return all.length > 0 && includesAll(operations, on);
  });
}

/** The place that a `default` of requests fills, if an answer has taken it for operations of the default: for all of them, or for those that `isFor` accepts. */
export function filledBy(
  { default: filled }: BookRule,
  on: ProposedChange['on'],
  taken: readonly TakenPlace[],
  isFor = includesAll,
): TakenPlace | undefined {
  const [first] = Array.isArray(filled) ? filled : [];
  return taken.find((one) => one.list === 'rules' && one.path === first?.[0] && isFor(one.on, on));
}

/** True if a rule leaves a member out of responses from which an answer takes it for one of V1. */
export function isSource(
  { strip, status }: BookRule,
  on: ProposedChange['on'],
  taken: readonly TakenPlace[],
): boolean {
  if (typeof strip !== 'string' || status !== undefined) return false;
  return taken.some((one) => one.list === 'response' && isAt(one, strip) && isForSame(on, one.on));
}

function isAt({ path, isInverse }: TakenPlace, place: string): boolean {
  return path === place || (isInverse === true && place.endsWith(`.${path}`));
}

/** True if two changes have an operation in common. */
export function isForSame(one: ProposedChange['on'], other: ProposedChange['on']): boolean {
  return one === 'every' || other === 'every' || one.some((id) => other.includes(id));
}

function includesAll(one: ProposedChange['on'], other: ProposedChange['on']): boolean {
  return one === 'every' || (other !== 'every' && other.every((id) => one.includes(id)));
}

/** The rules of a chosen answer for some operations. */
export interface ChosenRules {
  readonly on: ProposedChange['on'];
  readonly rules: readonly BookRule[];
}

/**
 * The place that the chosen answers to two parts of a question both name for an operation, as a rule book writes it: for two members of V1, or
 * for one member twice; undefined for none.
 */
export function commonPlace(parts: readonly (readonly ChosenRules[])[]): string | undefined {
  const pairs = parts.flatMap((all, part) =>
    all.flatMap(({ on, rules }) =>
      rules.flatMap((rule) => {
        const pair = pairIn('rules', rule);
        return pair === undefined ? [] : [{ part, on, ...pair }];
      }),
    ),
  );
  for (const [at, one] of pairs.entries())
    for (const other of pairs.slice(at + 1)) {
      const isSame = [one.path === other.path, one.old === other.old];
      if (one.part !== other.part && isSame[0] !== isSame[1] && isForSame(one.on, other.on))
        return isSame[0] === true ? one.path : one.old;
    }
  return undefined;
}

/** The place of V2 that a rule names, and the member of V1, as the list of the rule has them; none for a rule of any depth. */
function pairIn(list: RuleList, rule: BookRule): Pick<TakenPlace, 'path' | 'old'> | undefined {
  const { rename, move, list: one, first, to, in: around } = rule;
  const source = rename ?? move ?? one ?? first;
  if (typeof source !== 'string' || typeof to !== 'string' || around !== undefined) return undefined;
  const target = move === undefined ? pathText([...readPath(source).slice(0, -1), ...readPath(to)]) : to;
  return list === 'response' ? { path: source, old: target } : { path: target, old: source };
}
