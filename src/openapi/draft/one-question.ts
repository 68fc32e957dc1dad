import { readPath } from '../../rules/rule.ts';
import type { BookRule } from './book-rules.ts';
import { conversionWords } from './conversions.ts';
import { type FoundRule, isProposed } from './found-rules.ts';
import type { ProposedOperation } from './print-rule-book.ts';
import { freeId, type ProposedChange, summarized } from './propose-changes.ts';
import { LISTS, type RuleList } from './taken-places.ts';

/** A rule in any list of a change. */
type AnyRule = ProposedChange['rules'][number] | NonNullable<ProposedChange['response']>[number];

/** Where the questions about members are looked up, and where a rule puts its own question. */
interface Facts {
  readonly asks: readonly string[];
  readonly tells: readonly string[];
}

/**
 * The changes with one question for each conversion that several members have, and one for each other member and each enumeration of a
 * resource: rules about a member of another question, in queries, in requests or in responses, become a change that goes with that question.
 * A question about bodies has those of the query with it.
 */
export function askedOnce(
  changes: readonly ProposedChange[],
  operations: readonly Pick<ProposedOperation, 'id' | 'template'>[],
): readonly ProposedChange[] {
  const resources = new Map(operations.map(({ id, template }) => [id, resourceOf(template)]));
  const known = new Map<string, string>();
  const conversions = sharedConversions(changes, resources);
  const places = new Map<AnyRule, ReadonlyMap<string, readonly string[]>>();
  for (const isOfQueries of [false, true])
    for (const { id, asWith = id, on, ...lists } of changes) {
      const own =
        on === 'every' ? new Map<string, string[]>() : Map.groupBy(on, (one) => resources.get(one) ?? one);
      for (const list of LISTS)
        for (const rule of (list === 'query') === isOfQueries ? (lists[list] ?? []) : []) {
          const { asks, tells } = isProposed(rule) ? NO_FACTS : factsOf(list, rule);
          const led = new Map<string, readonly string[]>();
          const leaderIn = (resource: string): string | undefined =>
            asks.flatMap((fact) => known.get(`${resource} ${fact}`) ?? [])[0];
          // What no other question is about goes with the rest of the rule.
          const first = [...own.keys()].flatMap((resource) => leaderIn(resource) ?? [])[0] ?? asWith;
          for (const [resource, some] of own) {
            const leader = leaderIn(resource) ?? conversions.get(rule) ?? first;
            for (const key of tells.map((fact) => `${resource} ${fact}`))
              if (!known.has(key)) known.set(key, leader);
            led.set(leader, [...(led.get(leader) ?? []), ...some]);
          }
          places.set(rule, led);
        }
    }
  const ids = new Set(changes.map(({ id }) => id));
  return withLeaders(
    changes.flatMap((change) => dividedBy(change, places, ids)),
    new Set(conversions.values()),
  );
}

/**
 * The rules that only convert a value in a way in which several members are converted, with the words for it: these members are asked about
 * together. A member about which another rule of its resource says something else is asked about by itself.
 */
function sharedConversions(
  changes: readonly ProposedChange[],
  resources: ReadonlyMap<string, string>,
): ReadonlyMap<AnyRule, string> {
  const said = new Map<string, Set<string>>();
  const found = new Map<AnyRule, { readonly words: string; readonly pair: string; readonly of: string[] }>();
  for (const change of changes)
    for (const list of LISTS)
      for (const rule of change[list] ?? []) {
        if (isProposed(rule)) continue;
        const { tells } = factsOf(list, rule);
        const words = list === 'query' ? undefined : conversionOf(rule);
        const pair = tells.join(' ');
        for (const id of change.on === 'every' ? resources.keys() : change.on)
          for (const fact of tells.slice(0, 1)) {
            const key = `${resources.get(id) ?? id} ${fact}`;
            said.set(key, (said.get(key) ?? new Set()).add(pair));
            if (words === undefined) continue;
            const own = found.get(rule) ?? { words, pair, of: [] };
            found.set(rule, own);
            own.of.push(key);
          }
      }
  const alike = [...found].filter(([, { of }]) => of.every((key) => said.get(key)?.size === 1));
  const pairs = new Map<string, Set<string>>();
  for (const [, { words, pair }] of alike) pairs.set(words, (pairs.get(words) ?? new Set()).add(pair));
  return new Map(
    alike.flatMap(([rule, { words }]) => ((pairs.get(words)?.size ?? 0) > 1 ? [[rule, words]] : [])),
  );
}

/** What a rule does with a value beside giving it another name or place, in words; undefined for nothing, or if V2 may have another place. */
function conversionOf(rule: AnyRule): string | undefined {
  const found = 'found' in rule ? rule.found : rule.meanings?.[0];
  if (found === undefined) return undefined;
  const others: readonly (FoundRule | undefined)[] =
    ('found' in rule ? rule.others : rule.meanings?.slice(1)) ?? [];
  if (others.some((one) => one !== undefined && one.rule !== 'strip')) return undefined;
  const isConverted = found.rule === 'rename' || found.rule === 'move' || found.rule === 'convert';
  if (!isConverted || found.conversions === undefined || found.conversions.length === 0) return undefined;
  return conversionWords(found.conversions);
}

const NO_FACTS: Facts = { asks: [], tells: [] };

/** The path of a collection, which is the resource of its operations. */
function resourceOf(template: string): string {
  return template.replace(/\/\{[^/]*\}$/, '');
}

/** What a rule says about V1's members, about V2's names for them, and about values. */
function factsOf(list: RuleList, rule: AnyRule): Facts {
  const found = 'found' in rule ? rule.found : rule.named;
  if (found !== undefined) return factsFound(found);
  const [first] = 'rules' in rule ? rule.rules : [];
  return list === 'query' && first !== undefined ? factsWritten(first) : NO_FACTS;
}

function factsFound(found: FoundRule): Facts {
  switch (found.rule) {
    case 'rename':
      return renamed(found.member, found.to);
    case 'convert':
    case 'map':
      return valued(found.member);
    case 'nest':
      return facts(found.members.map((member) => `old ${member}`));
    case 'unwrap':
    case 'copy':
    case 'default':
      return NO_FACTS;
    case 'strip':
    case 'move':
    case 'flatten':
    case 'unbox':
    case 'split':
    case 'list':
    case 'first':
    case 'lookup':
      return facts([`old ${found.member}`]);
  }
}

/** The facts of a rule for a query parameter. */
function factsWritten({ rename, strip, of, to }: BookRule): Facts {
  const last = (path: BookRule[string] | undefined): string => readPath(String(path)).at(-1) ?? '';
  if (rename !== undefined) return renamed(last(rename), last(to));
  if (strip !== undefined) return facts([`old ${last(strip)}`]);
  return of === undefined ? NO_FACTS : valued(last(of));
}

function renamed(member: string, to: string): Facts {
  return { asks: [`old ${member}`, `values ${to}`], tells: [`old ${member}`, `new ${to}`] };
}

/** Values are of a member of V1, or of one that a rename has given V2's name. */
function valued(member: string): Facts {
  return {
    asks: [`old ${member}`, `values ${member}`, `new ${member}`],
    tells: [`old ${member}`, `values ${member}`],
  };
}

function facts(all: readonly string[]): Facts {
  return { asks: all, tells: all };
}

/** A change as one for each question that its rules go with, and for the operations that they do so for. */
function dividedBy(
  change: ProposedChange,
  places: ReadonlyMap<AnyRule, ReadonlyMap<string, readonly string[]>>,
  ids: Set<string>,
): readonly ProposedChange[] {
  const { asWith: own = change.id, on } = change;
  if (on === 'every') return [change];
  const all: readonly AnyRule[] = LISTS.flatMap((list): readonly AnyRule[] => change[list] ?? []);
  const parts = new Map<
    string,
    { readonly leader: string; readonly on: readonly string[]; readonly rules: AnyRule[] }
  >();
  for (const rule of all)
    for (const [leader, some] of places.get(rule) ?? []) {
      const key = JSON.stringify([leader, some]);
      const part = parts.get(key) ?? { leader, on: on.filter((id) => some.includes(id)), rules: [] };
      parts.set(key, part);
      part.rules.push(rule);
    }
  if ([...parts.values()].every(({ leader }) => leader === own)) return [change];
  const { asWith: _, ...rest } = change;
  const { rules, query, headers, response } = change;
  return [...parts.values()]
    .toSorted((one, other) => Number(other.leader === own) - Number(one.leader === own))
    .map((part, at) => {
      const some = <Rule extends AnyRule>(list: readonly Rule[]): readonly Rule[] =>
        list.filter((rule) => part.rules.includes(rule));
      const id = at === 0 ? change.id : freeId(change.id, ids);
      const divided = {
        ...rest,
        id,
        on: part.on,
        rules: some(rules),
        ...(query && { query: some(query) }),
        ...(headers && { headers: some(headers) }),
        ...(response && { response: some(response) }),
        ...(part.leader !== id && { asWith: part.leader }),
      };
      return part.rules.length === all.length ? divided : summarized(divided);
    });
}

/**
 * The changes with a leader for each question: the first change of those whose leader goes with another one now. Those that `conversions` lead
 * have the words.
 */
export function withLeaders(
  changes: readonly ProposedChange[],
  conversions: ReadonlySet<string> = new Set(),
): readonly ProposedChange[] {
  const leading = new Map(changes.flatMap(({ id, asWith }) => (asWith === undefined ? [[id, id]] : [])));
  for (const { id, asWith } of changes)
    if (asWith !== undefined && !leading.has(asWith)) leading.set(asWith, id);
  return changes.map(({ asWith, ...change }) => {
    const leader = asWith === undefined ? undefined : leading.get(asWith);
    const conversion = asWith !== undefined && conversions.has(asWith) && { conversion: asWith };
    return {
      ...change,
      ...(leader !== undefined && leader !== change.id && { asWith: leader }),
      ...conversion,
    };
  });
}
