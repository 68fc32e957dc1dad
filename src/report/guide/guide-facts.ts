import { inverseConversion } from '../../rules/kinds/convert.ts';
import { headerKindOf } from '../../rules/kinds/kinds.ts';
import { conversionRemark } from '../../rules/kinds/words.ts';
import type { Change } from '../../rules/rule-book.ts';
import type { MappedValue } from '../../rules/rule.ts';
import { formWords } from './guide-fields.ts';

/** A change with its rules, which a saved report does not have. */
export type FactChange = Pick<Change, 'id' | 'summary'> &
  Partial<Pick<Change, 'request' | 'query' | 'headers' | 'response'>>;

/** Maximum pairs of values in a fact. */
const MAX_PAIRS = 5;

/** A value that changes: the name of its member, and how V2's follows from V1's. */
interface ValueWords {
  readonly name: string;
  readonly words: string;
}

/**
 * The changes as their client meets them, one line for each fact: those of requests and those of responses that say the same are one, names
 * are as the client writes them, and V2's values follow those of V1.
 */
export function guideFacts(
  changes: readonly FactChange[],
  isUsed: (id: string) => boolean,
): readonly Pick<Change, 'id' | 'summary'>[] {
  return factsOf(changes, isUsed).flatMap(({ ids: [id = ''], summary }) => ({ id, summary }));
}

/** The same facts by the ids of all their changes. */
export function factsById(changes: readonly FactChange[]): ReadonlyMap<string, string> {
  const facts = factsOf(changes, () => true);
  return new Map(facts.flatMap(({ ids, summary }) => ids.map((id) => [id, summary] as const)));
}

/** A fact, and the changes that say it. */
interface Fact {
  readonly ids: readonly string[];
  readonly summary: string;
}

function factsOf(changes: readonly FactChange[], isUsed: (id: string) => boolean): readonly Fact[] {
  const nested = new Set(changes.flatMap((change) => nestedIn(change)));
  const facts = new Map<string, Map<string, string[]>>();
  for (const change of changes) {
    if (!isUsed(change.id)) continue;
    const text = readable(change.summary, nested);
    const values = detailsOf(change)
      .filter(({ words }) => !isSaid(words, change.summary))
      .map(({ name, words }, _, all) => (all.length === 1 ? words : `${name}: ${words}`));
    const known = facts.get(text) ?? new Map<string, string[]>();
    facts.set(text, known);
    const key = values.join('; ');
    known.set(key, [...(known.get(key) ?? []), change.id]);
  }
  return [...facts].flatMap(([text, known]) => {
    // A change without values says no more than the first with values.
    const plain = known.size > 1 ? (known.get('') ?? []) : [];
    const said = [...known].filter(([values]) => values !== '' || known.size === 1);
    return said.map(([values, ids], at) => ({
      ids: at === 0 ? [...ids, ...plain] : ids,
      summary: values === '' ? text : `${text.replace(/[.:]$/, '')}: ${values}.`,
    }));
  });
}

/** The names of members that a change puts into another object, or takes out of it in responses. */
function nestedIn({ request = [], response = [] }: FactChange): readonly string[] {
  return [...request, ...response].flatMap((rule) =>
    'members' in rule && Array.isArray(rule.members) ? rule.members : [],
  );
}

/** A summary as a draft writes it, such as `driver.driver_name becomes driver.name`, from the client's side: `driver_name becomes driver.name`. */
function readable(summary: string, nested: ReadonlySet<string>): string {
  const text = summary.trim().split(' ').map(ofElement).join(' ');
  const [start, member] = /^\S+\.([^\s.]+) (?=becomes )/.exec(text) ?? [];
  if (start === undefined || member === undefined || !nested.has(member)) return text;
  return `${member} ${text.slice(start.length)}`;
}

/** A path from the last element of a list on: `name` of `items.*.name`. */
function ofElement(word: string): string {
  const at = word.lastIndexOf('.*.');
  return at === -1 ? word : word.slice(at + '.*.'.length);
}

/** How values change, from V1 to V2. */
function detailsOf({
  request = [],
  query = [],
  headers = [],
  response = [],
}: FactChange): readonly ValueWords[] {
  const ofRequest = [...request, ...query].flatMap((rule): readonly ValueWords[] => {
    const name = 'member' in rule ? rule.member : 'parameter' in rule ? rule.parameter : '';
    if ('conversion' in rule) return [{ name, words: conversionRemark(rule.conversion) }];
    return 'values' in rule ? [{ name, words: pairs(rule.values) }] : [];
  });
  const ofFields = headers.flatMap((rule): readonly ValueWords[] => {
    if ('values' in rule) return [{ name: rule.field, words: pairs(rule.values) }];
    return (headerKindOf(rule).moves?.(rule) ?? []).map(({ to = '', as }) => {
      return { name: to, words: formWords(as) };
    });
  });
  const ofResponse = response.flatMap((rule): readonly ValueWords[] => {
    const name = 'path' in rule ? (rule.path.at(-1) ?? '') : '';
    if ('conversion' in rule) {
      const toV2 = inverseConversion(rule.conversion);
      return typeof toV2 === 'string' ? [] : [{ name, words: conversionRemark(toV2) }];
    }
    if (!('values' in rule)) return [];
    return [{ name, words: pairs(rule.values.map(({ from, to }) => ({ from: to, to: from }))) }];
  });
  return [...ofRequest, ...ofFields, ...ofResponse].filter(({ words }) => words !== '');
}

function pairs(values: readonly Pick<MappedValue, 'from' | 'to'>[]): string {
  const shown = values.slice(0, MAX_PAIRS).map(({ from, to }) => `${from.text} → ${to.text}`);
  return `${shown.join(', ')}${values.length > MAX_PAIRS ? ', …' : ''}`;
}

/** True for words whose parts a person has written in the summary. */
function isSaid(words: string, summary: string): boolean {
  return words.split(/, | → /).every((part) => summary.includes(part));
}
