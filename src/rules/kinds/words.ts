import type { Path } from '../../edits/run.ts';
import * as alias from './alias.ts';
import { type Conversion, CONVERSION_WORDS } from './conversions.ts';
import { type ConvertRule, isConversionName, type ResponseConvertRule } from './convert.ts';
import * as copy from './copy.ts';
import * as deprecations from './deprecations.ts';
import * as elements from './elements.ts';
import * as errors from './errors.ts';
import * as first from './first.ts';
import * as flatten from './flatten.ts';
import * as join from './join.ts';
import * as list from './list.ts';
import * as lookup from './lookup.ts';
import * as map from './map.ts';
import * as move from './move.ts';
import * as nest from './nest.ts';
import * as rename from './rename.ts';
import * as set from './set.ts';
import * as split from './split.ts';
import * as strip from './strip.ts';
import * as unnest from './unnest.ts';
import * as unwrap from './unwrap.ts';
import * as wrap from './wrap.ts';
import type { EditPlaces, ResponseWords, Words } from './kind.ts';
import type { ByName, ExplicitResponseRule, RequestRule } from './kinds.ts';

/** The descriptions of each kind of rule. */
const WORDS: ByName<Exclude<RequestRule, ConvertRule>, Words<RequestRule, ExplicitResponseRule>> &
  ByName<
    Exclude<ExplicitResponseRule, ResponseConvertRule>,
    ResponseWords<RequestRule | ExplicitResponseRule>
  > = {
  unwrap: unwrap.words,
  nest: nest.words,
  rename: rename.words,
  unnest: unnest.words,
  alias: alias.words,
  flatten: flatten.words,
  deprecations: deprecations.words,
  errors: errors.words,
  strip: strip.words,
  only: strip.wordsOfOnly,
  map: map.words,
  set: set.words,
  default: set.wordsOfDefault,
  move: move.words,
  copy: copy.words,
  list: list.words,
  first: first.words,
  entries: elements.words,
  unlist: elements.words,
  join: join.words,
  split: split.words,
  lookup: lookup.words,
  wrap: wrap.words,
};

/** How messages and guides describe a rule that converts a value. */
const CONVERT_WORDS: Words<ConvertRule, ResponseConvertRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  say: ({ conversion }, name, where) => conversionWords(conversion, name + where),
  none: ({ member }, place) => `${place} has no ${member} to convert.`,
  done: ({ name, rule, how }) =>
    `The value of ${name} is converted to V2's form${how === undefined ? ` (${rule})` : `: ${how}`}.`,
};

export const CONVERSION_NAMES: readonly string[] = /* @__PURE__ */ Object.keys(CONVERSION_WORDS);

/** A conversion as a phrase, such as `scale price by 100`. */
export function conversionWords(conversion: Conversion, name: string): string {
  return CONVERSION_WORDS[conversion.rule].say(conversion, name);
}

/** The instruction for changing a client, such as `multiply the number by 100`. */
export function conversionRemark(conversion: Conversion): string {
  return CONVERSION_WORDS[conversion.rule].remark(conversion);
}

/** The JSON text of a value that a conversion accepts, for an example. */
export function conversionSample(conversion: Conversion): string {
  return CONVERSION_WORDS[conversion.rule].sample(conversion);
}

/** How a guide describes a value that a rule called `name` wrote; undefined for a rule that does not change values. */
export function ruleRemark(name: string): string | undefined {
  if (isConversionName(name)) return CONVERSION_WORDS[name].remarkOfAny;
  const words: Readonly<Record<string, Pick<ResponseWords<never>, 'remark'> | undefined>> = WORDS;
  return Object.hasOwn(words, name) ? words[name]?.remark?.(name) : undefined;
}

/** Why a value may differ after the conversion and its inverse; undefined if it never does. */
export function lossOf(conversion: Conversion): string | undefined {
  return CONVERSION_WORDS[conversion.rule].loss?.(conversion);
}

/** The name of a request rule, as in the rule book and the rewrite log. */
export type RequestRuleName = RequestRule['rule'];

/** The name of a response rule, as in records of edits. */
export type ResponseRuleName = ExplicitResponseRule['rule'];

/** The names of all request rules. */
export const REQUEST_RULE_NAMES: readonly RequestRuleName[] = /* @__PURE__ */ namesOf(
  'requests',
  isRequestRuleName,
);

/** The names of all response rules, as in records of edits. */
export const RESPONSE_RULE_NAMES: readonly ResponseRuleName[] = /* @__PURE__ */ namesOf(
  'responses',
  isResponseRuleName,
);

function namesOf<Name extends string>(
  side: 'requests' | 'responses',
  isName: (text: string) => text is Name,
): readonly Name[] {
  const named = Object.entries(WORDS).filter(([, words]) => words.of === side || words.of === 'both');
  return [...named.map(([name]) => name), ...CONVERSION_NAMES].filter(isName);
}

export function isRequestRuleName(text: string): text is RequestRuleName {
  return isConversionName(text) || (isNamed(text) && WORDS[text].of !== 'responses');
}

function isResponseRuleName(text: string): text is ResponseRuleName {
  return isConversionName(text) || (isNamed(text) && WORDS[text].of !== 'requests');
}

function isNamed(text: string): text is keyof typeof WORDS {
  return Object.hasOwn(WORDS, text);
}

/** The members that a rule names, as paths from its objects, in the order of the rule book; for an `unwrap`, from the body. */
export function namedMembers(rule: RequestRule): readonly Path[] {
  return wordsOf(rule).named(rule);
}

function wordsOf(rule: RequestRule): Words<RequestRule, ExplicitResponseRule> {
  if ('elements' in rule) return elements.words;
  return 'conversion' in rule ? CONVERT_WORDS : WORDS[rule.rule];
}

/** A request rule as a phrase, such as `nest street_address, suburb in property under address`. */
export function requestRuleWords(rule: RequestRule): string {
  const name = 'member' in rule ? rule.member : '';
  return wordsOf(rule).say(rule, name, 'in' in rule ? within(rule.in) : '');
}

/** A response rule as a phrase. */
export function responseRuleWords(rule: ExplicitResponseRule): string {
  const words: ResponseWords<RequestRule | ExplicitResponseRule> =
    'elements' in rule ? elements.words : 'conversion' in rule ? CONVERT_WORDS : WORDS[rule.rule];
  const path = 'path' in rule ? rule.path : [];
  const isAnywhere = path[0] === '**' && !('members' in rule);
  const name = `${(isAnywhere ? path.slice(1) : path).join('.')}${isAnywhere ? ' at any depth' : ''}`;
  return words.say(rule, name, 'members' in rule ? within(path) : '');
}

function within(path: Path): string {
  const names = path.filter((name) => name !== '**');
  const place = names.length === 0 ? '' : ` in ${names.join('.')}`;
  return names.length < path.length ? `${place} at any depth` : place;
}

/** Why a rule had no effect on the objects called `place`. */
export function noEffectWords(rule: RequestRule, place: string): string {
  const names = namedMembers(rule).flat().join(', ');
  return wordsOf(rule).none?.(rule, place) ?? `${place} has none of ${names}.`;
}

/** The effect of an edit of a body, as a sentence. */
export function doneWords(rule: RequestRuleName, places: Omit<EditPlaces, 'rule'>): string {
  const words = isConversionName(rule) ? CONVERT_WORDS : WORDS[rule];
  return words.done({ rule, ...places });
}

/** True for a kind whose rules copy a member, so that it also stays in its place. */
export function keepsMember(rule: string): boolean {
  const words: Readonly<Record<string, { readonly keeps?: true } | undefined>> = WORDS;
  return words[rule]?.keeps === true;
}

/** Why a rule has no inverse: the words after "since". */
export function whyWords(rule: RequestRule): string | undefined {
  return 'conversion' in rule ? CONVERSION_WORDS[rule.rule].why : WORDS[rule.rule].why;
}
