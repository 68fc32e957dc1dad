import { isJsonObject } from '../../json/values.ts';
import { type Path, readPath } from '../../rules/rule.ts';
import { SourceDocument } from '../../rules/source-document.ts';
import type { BookRule } from './book-rules.ts';
import type { WrittenChange, WrittenList } from './print-rule-book.ts';
import { listOf, type ProposedChange, type ResourceMove } from './propose-changes.ts';
import { isForSame } from './taken-places.ts';

/** A rule that a person wrote: its lines, and the names in it. */
interface WrittenRule {
  readonly lines: readonly string[];
  readonly rule: BookRule;
}

/**
 * The lists of a person's rules as one change or two: rules of responses that name members where V2 has them come before those that put the
 * resource into V1's place, and rules that name them there, or are about errors, come after those.
 */
export function placedLists(
  { on, lists }: Pick<WrittenChange, 'on' | 'lists'>,
  changes: readonly ProposedChange[],
): readonly Pick<WrittenChange, 'lists' | 'isLate'>[] {
  const moves = changes.flatMap(({ on: own, response = [] }) =>
    isForSame(own, on) ? response.flatMap(({ place }) => place ?? []) : [],
  );
  const all = rulesIn(lists.get('response'));
  const late = all.filter(({ rule }) => isLate(rule, moves));
  if (late.length === 0) return lists.size === 0 ? [] : [{ lists }];
  const linesOf = (some: readonly WrittenRule[]): readonly string[] => some.flatMap(({ lines }) => lines);
  const early = linesOf(all.filter((one) => !late.includes(one)));
  const before = new Map([...lists].filter(([name]) => name !== 'response'));
  if (early.length > 0) before.set('response', early);
  const after = { lists: new Map([['response', linesOf(late)] as const]), isLate: true as const };
  return [...(before.size === 0 ? [] : [{ lists: before }]), after];
}

/** True if a rule names a member where V1 has it, or is about errors. */
function isLate(rule: BookRule, moves: readonly ResourceMove[]): boolean {
  if (rule['status'] !== undefined) return true;
  const [first] = pathsOf(rule).flatMap((path) => path[0] ?? []);
  return moves.some(({ from, to }) => (to === '' ? first !== from : first === to));
}

/** The paths that a rule of responses names first. */
function pathsOf(rule: BookRule): readonly (readonly string[])[] {
  const [word] = Object.values(rule);
  const named = typeof word === 'string' ? word : rule['of'];
  const filled = Array.isArray(word) ? word.map((pair) => String(Array.isArray(pair) ? pair[0] : pair)) : [];
  const paths = typeof named === 'string' ? [named] : filled;
  const { in: around } = rule;
  return paths.map((path) => [...(typeof around === 'string' ? readPath(around) : []), ...readPath(path)]);
}

/** What a person's rules do, in the words of a rule book, such as `Split full_name to given and family.` */
export function summaryWritten(lists: WrittenChange['lists']): string {
  const phrases = [...lists.values()].flatMap((lines) => rulesIn(lines).map(({ rule }) => phraseOf(rule)));
  const said = listOf([...new Set(phrases)]);
  return `${said.slice(0, 1).toUpperCase()}${said.slice(1)}.`;
}

/** The first word of a rule, and the members that it names. */
function phraseOf(rule: BookRule): string {
  const [[word, named] = ['', '']] = Object.entries(rule);
  const { of } = rule;
  const what = `${word} ${of === undefined ? membersIn(named) : `of ${membersIn(of)}`}`;
  const further = ['to', 'under', 'as'].flatMap((name) =>
    rule[name] === undefined ? [] : [`${name} ${membersIn(rule[name])}`],
  );
  return [what, ...further].join(' ');
}

function membersIn(value: BookRule[string] | undefined): string {
  return Array.isArray(value) ? listOf(value.map((one) => String([one].flat()[0]))) : String(value);
}

/** A person's rules in a list, as far as they name members. */
export function writtenRules(lists: WrittenChange['lists'], list: WrittenList): readonly BookRule[] {
  return rulesIn(lists.get(list)).map(({ rule }) => rule);
}

/** The members of V2 that rules for requests may make, as paths: a name is at the place of the member that gets it. */
export function madeBy(rules: readonly BookRule[]): readonly Path[] {
  return rules.flatMap((rule) => {
    const [[, first] = []] = Object.entries(rule);
    const { in: around, to, under, as } = rule;
    const bases = [[], ...[around, first].flatMap((one) => (typeof one === 'string' ? [readPath(one)] : []))];
    const places = [...bases, ...bases.map((base) => base.slice(0, -1))];
    const filled = Array.isArray(first) && to === undefined && under === undefined ? first : [];
    const named = [to, under, as, ...filled]
      .flat(2)
      .flatMap((one) => (typeof one === 'string' ? [readPath(one)] : []));
    return places.flatMap((place) => named.map((path) => [...place, ...path]));
  });
}

/** The rules on these lines; lines that are no rules belong to the one before them. */
function rulesIn(lines: readonly string[] | 'inverse' = []): readonly WrittenRule[] {
  if (lines === 'inverse') return [];
  const groups: string[][] = [];
  for (const line of lines) {
    const last = groups.at(-1);
    const isStart = line.startsWith('- ') && last?.every((one) => one.startsWith('#')) !== true;
    if (last === undefined || isStart) groups.push([line]);
    else last.push(line);
  }
  return groups.map((own) => ({ lines: own, rule: ruleIn(own) }));
}

/** The names in the rule on these lines; none if they are no rule, which the reader of the rule book refuses. */
function ruleIn(lines: readonly string[]): BookRule {
  const { value } = new SourceDocument(lines.join('\n'));
  const [rule]: readonly unknown[] = Array.isArray(value) ? value : [];
  if (!isJsonObject(rule)) return {};
  return Object.fromEntries(Object.entries(rule).map(([name, own]) => [name, namesOf(own)]));
}

/** A value of a rule as far as it names members: a mapping by its keys. */
function namesOf(value: unknown): BookRule[string] {
  if (typeof value === 'string') return value;
  if (isJsonObject(value)) return Object.keys(value).map((name) => [name, null]);
  return Array.isArray(value) ? value.map(String) : null;
}
