import { printRule } from './print-rule-book.ts';
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

/** The places that the settled rules of these changes have taken. */
export function takenPlaces(changes: readonly ProposedChange[]): readonly TakenPlace[] {
  return changes.flatMap((change) =>
    LISTS.flatMap((list) =>
      (change[list] ?? []).flatMap((rule): readonly TakenPlace[] => {
        // An envelope takes no place: its moves name each member as V1 did.
        if (rule.isSettled !== true || ('envelope' in rule && rule.envelope !== undefined)) return [];
        const [lines, isAlways] =
          'found' in rule ? [printRule(rule.found), rule.isAlways === true] : [rule.texts, false];
        return lines.flatMap((line) => {
          const pair = pairIn(list, line);
          if (pair === undefined) return [];
          const place = { list, on: change.on, ...pair, isAlways };
          return change.isInverse === true
            ? [place, { ...place, list: 'response', isInverse: true } as const]
            : [place];
        });
      }),
    ),
  );
}

/** True if an answer with these lines would give away a place that is taken for all of its operations. */
export function isTaken(
  lines: readonly string[],
  { list, on }: Pick<TakenPlace, 'list' | 'on'>,
  taken: readonly TakenPlace[],
): boolean {
  return lines.some((line) => {
    const pair = pairIn(list, line);
    const all = taken.filter((one) => pair !== undefined && one.list === list && isAt(one, pair.path));
    const operations = all.some((one) => one.on === 'every') ? 'every' : all.flatMap((one) => one.on);
    return all.length > 0 && includesAll(operations, on);
  });
}

/** The place that a `default` of requests fills, if an answer has taken it for operations of the default: for all of them, or for those that `isFor` accepts. */
export function filledBy(
  line: string,
  on: ProposedChange['on'],
  taken: readonly TakenPlace[],
  isFor = includesAll,
): TakenPlace | undefined {
  const path = /^\{ default: \{ (?<path>"(?:[^"\\]|\\.)*"|[^":]+):/.exec(line)?.groups?.['path'];
  if (path === undefined) return undefined;
  return taken.find((one) => one.list === 'rules' && one.path === plainPath(path) && isFor(one.on, on));
}

/** True if a rule leaves a member out of responses from which an answer takes it for one of V1. */
export function isSource(line: string, on: ProposedChange['on'], taken: readonly TakenPlace[]): boolean {
  const path = /^\{ strip: (?<path>"(?:[^"\\]|\\.)*"|[^",]+) \}$/.exec(line)?.groups?.['path'];
  if (path === undefined) return false;
  return taken.some((one) => one.list === 'response' && isAt(one, plainPath(path)) && isForSame(on, one.on));
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

/**
 * The place that the chosen answers to two parts of a question both name, as a rule book writes it: for two members of V1, or for one member
 * twice; undefined for none.
 */
export function commonPlace(parts: readonly (readonly string[])[]): string | undefined {
  const pairs = parts.flatMap((lines, part) =>
    lines.flatMap((line) => {
      const pair = pairIn('rules', line);
      return pair === undefined ? [] : [{ part, ...pair }];
    }),
  );
  for (const [at, one] of pairs.entries())
    for (const other of pairs.slice(at + 1)) {
      const isSame = [one.path === other.path, one.old === other.old];
      if (one.part !== other.part && isSame[0] !== isSame[1]) return isSame[0] === true ? one.path : one.old;
    }
  return undefined;
}

/** The place of V2 that a rule names, and the member of V1, as the list of the rule has them. */
function pairIn(list: RuleList, line: string): Pick<TakenPlace, 'path' | 'old'> | undefined {
  const found =
    /^\{ (?<kind>rename|move|list|first): (?<from>"(?:[^"\\]|\\.)*"|[^",]+), to: (?<to>"(?:[^"\\]|\\.)*"|[^",]+)[ ,]/.exec(
      line,
    )?.groups;
  if (found === undefined) return undefined;
  const { kind = '', from = '', to = '' } = found;
  const source = plainPath(from);
  const around = kind === 'move' ? '' : source.slice(0, lastName(source));
  const target = `${around}${plainPath(to.trimEnd())}`;
  return list === 'response' ? { path: source, old: target } : { path: target, old: source };
}

/** The place of V2 that a rule of responses names, and the member of V1. */
export function responsePair(line: string): Pick<TakenPlace, 'path' | 'old'> | undefined {
  return pairIn('response', line);
}

/** Where the last name of a path begins. */
function lastName(path: string): number {
  const dots = [...path.matchAll(/\\.|\./g)].filter(([text]) => text === '.');
  return (dots.at(-1)?.index ?? -1) + 1;
}

/** A path without the quotes of a YAML scalar. */
export function plainPath(scalar: string): string {
  return scalar.startsWith('"') ? String(JSON.parse(scalar)) : scalar;
}
