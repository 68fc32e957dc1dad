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
const MAX_PAIRS = 12;

/** A value that changes: the name of its member, and how V2's follows from V1's. */
interface ValueWords {
  readonly name: string;
  readonly words: string;
  /** True for what one example does not show: a list of values, or a conversion. */
  readonly isGeneral?: true;
  /** True for a header field, whose name a summary may not have. */
  readonly isField?: true;
}

/** A fact, and the changes that say it. */
export interface Fact {
  readonly ids: readonly string[];
  /** With the values that change. */
  readonly summary: string;
  /** What of it no example shows; empty if examples show everything. */
  readonly prose: string;
}

/** The same facts by the ids of all their changes. */
export function factsById(changes: readonly FactChange[]): ReadonlyMap<string, string> {
  const facts = guideFacts(changes, () => true);
  return new Map(facts.flatMap(({ ids, summary }) => ids.map((id) => [id, summary] as const)));
}

/**
 * The changes as their client meets them, one for each fact: those of requests and those of responses that say the same are one, names are
 * as the client writes them, and V2's values follow those of V1.
 */
export function guideFacts(changes: readonly FactChange[], isUsed: (id: string) => boolean): readonly Fact[] {
  const nested = new Set(changes.flatMap((change) => nestedIn(change)));
  const facts = new Map<string, Map<string, FactChange[]>>();
  for (const change of changes) {
    if (!isUsed(change.id)) continue;
    const text = readable(change.summary, nested);
    const known = facts.get(text) ?? new Map<string, FactChange[]>();
    facts.set(text, known);
    const values = valuesOf(change, () => true);
    known.set(values, [...(known.get(values) ?? []), change]);
  }
  return [...facts].flatMap(([text, known]) => {
    // A change without values says no more than the first with values.
    const plain = known.size > 1 ? (known.get('') ?? []) : [];
    const said = [...known].filter(([values]) => values !== '' || known.size === 1);
    return said.map(([values, own], at) => ({
      ids: (at === 0 ? [...own, ...plain] : own).map(({ id }) => id),
      summary: withValues(text, values),
      prose: proseOf(text, own),
    }));
  });
}

/** Sentences that say what the lines of an example show, as a draft writes them. */
const SHOWN =
  /^(?:(?:The (?:header field|query parameter) )?\S+ (?:becomes|is called) (?:the list )?\S+|.+ (?:is|are) gone|.+ moves? into \S+)\.?$/;

/** A header field is shown with its form. */
function proseOf(text: string, changes: readonly FactChange[]): string {
  const [first] = changes;
  const values = first === undefined ? '' : valuesOf(first, ({ isGeneral }) => isGeneral === true);
  const isOfHead = changes.every(
    ({ request = [], query = [], response = [], headers = [] }) =>
      headers.length > 0 && request.length + query.length + response.length === 0,
  );
  return values === '' && (isOfHead || SHOWN.test(text)) ? '' : withValues(text, values);
}

function withValues(text: string, values: string): string {
  if (values !== '') return `${text.replace(/[.:]$/, '')}: ${values}.`;
  return text;
}

/** How the values of a change change, without what its summary says already. */
function valuesOf(change: FactChange, isWanted: (value: ValueWords) => boolean): string {
  const values = detailsOf(change)
    .filter((value) => isWanted(value) && !isSaid(value.words, change.summary))
    .map(({ name, words, isField }, _, all) =>
      all.length === 1 && isField !== true ? words : `${name}: ${words}`,
    );
  return [...new Set(values)].join('; ');
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
    if ('conversion' in rule) return [{ name, words: conversionRemark(rule.conversion), isGeneral: true }];
    return 'values' in rule ? [listOf(name, rule.values)] : [];
  });
  const ofFields = headers.flatMap((rule): readonly ValueWords[] => {
    if ('values' in rule) return [{ ...listOf(rule.field, rule.values), isField: true }];
    return (headerKindOf(rule).moves?.(rule) ?? []).map(({ to = '', as }) => {
      return { name: to, words: formWords(as) };
    });
  });
  const ofResponse = response.flatMap((rule): readonly ValueWords[] => {
    const name = 'path' in rule ? (rule.path.at(-1) ?? '') : '';
    if ('conversion' in rule) {
      const toV2 = inverseConversion(rule.conversion);
      return typeof toV2 === 'string' ? [] : [{ name, words: conversionRemark(toV2), isGeneral: true }];
    }
    if (!('values' in rule)) return [];
    const toV2 = rule.values.map(({ from, to }) => ({ from: to, to: from }));
    return [listOf(name, toV2)];
  });
  return [...ofRequest, ...ofFields, ...ofResponse].filter(({ words }) => words !== '');
}

function listOf(name: string, values: readonly Pick<MappedValue, 'from' | 'to'>[]): ValueWords {
  return { name, words: pairs(values), ...(values.length > 1 ? { isGeneral: true } : {}) };
}

function pairs(values: readonly Pick<MappedValue, 'from' | 'to'>[]): string {
  const shown = values.slice(0, MAX_PAIRS).map(({ from, to }) => `${from.text} → ${to.text}`);
  return `${shown.join(', ')}${values.length > MAX_PAIRS ? ', …' : ''}`;
}

/** True for words whose parts a person has written in the summary. */
function isSaid(words: string, summary: string): boolean {
  return words.split(/, | → /).every((part) => summary.includes(part));
}
