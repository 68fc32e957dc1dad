import { printScalar } from '../../json/names.ts';
import type { QueryCopyRule } from './copy.ts';
import type { HeaderMapRule, QueryMapRule } from './map.ts';
import { type ByName, type HeaderRule, headerRuleName, type QueryRule } from './kinds.ts';
import type { QueryListRule } from './query-list.ts';
import type { HeaderQueryRule } from './query.ts';
import type { HeaderRenameRule, QueryRenameRule } from './rename.ts';
import type { HeaderSetRule, QuerySetRule } from './set.ts';
import type { HeaderStripRule, QueryStripRule } from './strip.ts';
import { conversionWords } from './words.ts';

/* Descriptions of the rules for queries and header fields. They are here and not in the modules of the kinds, so that an edge worker loads them only for its operators. */

/** How messages and guides describe a rule for queries. */
interface QueryWords<Rule> {
  say(rule: Rule): string;
  /** Why the rule had no effect on a query; if absent, the query has none of the rule's parameters. */
  none?(rule: Rule): string;
}

const RENAME: QueryWords<QueryRenameRule> = {
  say: ({ parameter, to }) => `rename ?${parameter} to ?${to}`,
};

const COPY: QueryWords<QueryCopyRule> = {
  say: ({ parameter, to }) => `copy ?${parameter} to ?${to}`,
};

const LIST: QueryWords<QueryListRule> = {
  say: ({ rule, parameter, to, with: separator }) => {
    const [one, many] = [`one text with ${JSON.stringify(separator)}`, 'one for each text'];
    const [from, into] = rule === 'list' ? [one, many] : [many, one];
    return `make ?${parameter}, ${from}, ${into}${parameter === to ? '' : `, ?${to}`}`;
  },
  none: ({ rule, parameter }) =>
    rule === 'list' ? `The query has no list in ${parameter}.` : `The query has no ${parameter} twice.`,
};

const STRIP: QueryWords<QueryStripRule> = {
  say: ({ parameters }) => `strip ${parameters.map((name) => `?${name}`).join(', ')}`,
};

const SET: QueryWords<QuerySetRule> = {
  say: ({ parameter, text }) => `set ?${parameter} to ${text}`,
};

const DEFAULT: QueryWords<QuerySetRule> = {
  say: (rule) => `${SET.say(rule)} where it is absent`,
  none: ({ parameter }) => `The query has ${parameter} already.`,
};

const MAP: QueryWords<QueryMapRule> = {
  say: ({ parameter, values, with: separators }) => {
    const pairs = values.map(({ from, to }) => `${from.text} to ${to.text}`);
    return `map ${separators === undefined ? '' : 'the values in '}?${parameter}: ${pairs.join(', ')}`;
  },
  none: ({ parameter }) => `The query has no ${parameter} with one of these values.`,
};

const QUERY_WORDS: ByName<Exclude<QueryRule, { conversion: unknown }>, QueryWords<QueryRule>> = {
  rename: RENAME,
  copy: COPY,
  list: LIST,
  unlist: LIST,
  strip: STRIP,
  set: SET,
  default: DEFAULT,
  map: MAP,
};

/** A query rule as a phrase, such as `rename ?sort to ?order`. */
export function queryRuleWords(rule: QueryRule): string {
  if ('conversion' in rule) return conversionWords(rule.conversion, `?${rule.parameter}`);
  return QUERY_WORDS[rule.rule].say(rule);
}

/** Why a query rule had no effect. */
export function noQueryEffectWords(rule: QueryRule): string {
  const words: QueryWords<QueryRule> | undefined = 'conversion' in rule ? undefined : QUERY_WORDS[rule.rule];
  const names = 'parameters' in rule ? rule.parameters : [rule.parameter];
  return words?.none?.(rule) ?? `The query has no ${names.join(', ')}.`;
}

/** A change, by the parts that its scope depends on. */
interface Scoped {
  readonly on: 'every' | readonly string[];
  readonly request: readonly unknown[];
  readonly response: readonly unknown[];
  readonly query?: readonly unknown[] | undefined;
  readonly headers?: readonly unknown[] | undefined;
  readonly responseHeaders?: readonly unknown[] | undefined;
}

/** The requests that a change concerns: operations, or what `every` means for its rules. */
export function scopeWords({
  on,
  request,
  response,
  query = [],
  headers = [],
  responseHeaders = [],
}: Scoped): string {
  if (on !== 'every') return on.join(', ');
  const scopes = [
    { rules: headers.length + responseHeaders.length, where: 'every request', what: 'header fields' },
    { rules: query.length, where: 'every POST and PATCH', what: 'query' },
    {
      rules: request.length + response.length,
      where: 'every POST and PATCH with a JSON body',
      what: 'body',
    },
  ].filter(({ rules }) => rules > 0);
  const [first, ...others] = scopes;
  if (first === undefined) return 'every request';
  return others.length === 0 ? first.where : scopes.map(({ where, what }) => `${where} (${what})`).join(', ');
}

/** The places of an edit of a field, as shown to people. */
interface FieldPlaces {
  /** The field before: `The header field X-Account`. */
  readonly name: string;
  /** The query parameter that it comes from. */
  readonly from: string;
  readonly to: string;
}

/** How messages and guides describe a rule for header fields. */
interface HeaderWords<Rule> {
  say(rule: Rule): string;
  /** The effect of an edit, as a sentence. */
  done(places: FieldPlaces): string;
  /** True if V2 gets a field that the client did not send. */
  readonly adds?: true;
}

/** The text around a value; nothing if there is none. */
function asWords(as = '{}'): string {
  return as === '{}' ? '' : `, as ${as}`;
}

const FIELD_RENAME: HeaderWords<HeaderRenameRule> = {
  say: ({ field, to, as }) => `rename ${field} to ${to}${asWords(as)}`,
  done: ({ name, to }) => `${name} is now called ${to}.`,
};

const FIELD_SET: HeaderWords<HeaderSetRule> = {
  say: ({ field }) => `set ${field}`,
  done: ({ name }) => `${name} gets the value that the rule sets.`,
  adds: true,
};

const FIELD_DEFAULT: HeaderWords<HeaderSetRule> = {
  say: ({ field }) => `set ${field} where it is absent`,
  done: ({ name }) => `${name} is added, because it is absent.`,
  adds: true,
};

const FIELD_STRIP: HeaderWords<HeaderStripRule> = {
  say: ({ fields }) => `strip ${fields.join(', ')}`,
  done: ({ name, to }) => `${name} is now called ${to}.`,
};

const FIELD_MAP: HeaderWords<HeaderMapRule> = {
  say: ({ field, values }) =>
    `map ${field}: ${values.map(({ from, to }) => `${printScalar(from)} to ${printScalar(to)}`).join(', ')}`,
  done: ({ to }) => `The value of the header field ${to} becomes V2's value for it.`,
};

const FIELD_MOVE: HeaderWords<HeaderQueryRule> = {
  say: ({ parameter, to, as }) => `move the query parameter ${parameter} to ${to}${asWords(as)}`,
  done: ({ from, to }) => `The query parameter ${from} moves to the header field ${to}.`,
  adds: true,
};

/** By their names in records. */
const HEADER_WORDS: Readonly<Record<ReturnType<typeof headerRuleName>, HeaderWords<HeaderRule>>> = {
  rename: FIELD_RENAME,
  set: FIELD_SET,
  default: FIELD_DEFAULT,
  strip: FIELD_STRIP,
  map: FIELD_MAP,
  move: FIELD_MOVE,
};

function headerWordsNamed(rule: string): HeaderWords<HeaderRule> | undefined {
  const words: Readonly<Record<string, HeaderWords<HeaderRule> | undefined>> = HEADER_WORDS;
  return Object.hasOwn(words, rule) ? words[rule] : undefined;
}

/** A header rule as a phrase, such as `rename X-Account to X-Tenant-Id`. */
export function headerRuleWords(rule: HeaderRule): string {
  return HEADER_WORDS[headerRuleName(rule)].say(rule);
}

/** The effect of an edit of a field, by the name of the rule in its record. */
export function doneToFieldWords(rule: string, places: FieldPlaces): string {
  return headerWordsNamed(rule)?.done(places) ?? `${places.name} is now called ${places.to}.`;
}

/** True for an edit that adds a field for V2, by the name of the rule in its record. */
export function addsField(rule: string): boolean {
  return headerWordsNamed(rule)?.adds === true;
}
