import { type CompiledRule, type Path, responseBase } from '../../edits/run.ts';
import type { NameTable } from '../../json/names.ts';
import * as alias from './alias.ts';
import type { AliasRule } from './alias.ts';
import * as convert from './convert.ts';
import {
  type ConvertRule,
  isConversionName,
  type QueryConvertRule,
  type ResponseConvertRule,
} from './convert.ts';
import * as copy from './copy.ts';
import type { CopyRule, QueryCopyRule, ResponseCopyRule } from './copy.ts';
import * as deprecations from './deprecations.ts';
import type { DeprecationsRule } from './deprecations.ts';
import type { ErrorsRule } from './errors.ts';
import * as elements from './elements.ts';
import type { ElementsRule, ResponseElementsRule } from './elements.ts';
import * as first from './first.ts';
import * as flatten from './flatten.ts';
import type { FlattenRule } from './flatten.ts';
import * as join from './join.ts';
import type { JoinRule, ResponseJoinRule, ResponseSplitRule } from './join.ts';
import * as list from './list.ts';
import * as lookup from './lookup.ts';
import type { LookupRule } from './lookup.ts';
import type { ListRule, ResponseListRule } from './list.ts';
import * as map from './map.ts';
import type { HeaderMapRule, MapRule, QueryMapRule, ResponseMapRule } from './map.ts';
import * as move from './move.ts';
import type { MoveRule, ResponseMoveRule } from './move.ts';
import * as nest from './nest.ts';
import type { NestRule } from './nest.ts';
import * as query from './query.ts';
import * as queryList from './query-list.ts';
import type { QueryListRule } from './query-list.ts';
import type { HeaderQueryRule } from './query.ts';
import * as rename from './rename.ts';
import type { HeaderRenameRule, QueryRenameRule, RenameBackRule, RenameRule } from './rename.ts';
import * as set from './set.ts';
import type { HeaderSetRule, QuerySetRule, ResponseSetRule, SetRule } from './set.ts';
import * as split from './split.ts';
import type { SplitRule } from './split.ts';
import * as strip from './strip.ts';
import type { HeaderStripRule, OnlyRule, QueryStripRule, ResponseStripRule, StripRule } from './strip.ts';
import * as unnest from './unnest.ts';
import type { UnnestRule } from './unnest.ts';
import * as unwrap from './unwrap.ts';
import type { UnwrapRule } from './unwrap.ts';
import * as wrap from './wrap.ts';
import type { WrapRule } from './wrap.ts';
import {
  type ChangesValue,
  type HeaderKind,
  type Kind,
  type Lens,
  memberAt,
  type QueryKind,
  type ResponseKind,
  type StatusPattern,
} from './kind.ts';

/* The tables of kinds: with those of `words.ts` the only list of them. A kind has a row in each table that concerns it, and all other code uses the tables. Conversions of values have separate tables, in `conversions.ts`. There are several tables, because a bundle contains whole ones: one that only rewrites requests has no inverses. */

/** A request rule: one declaration for the body of a V1 request. A closed union. */
export type RequestRule =
  | UnwrapRule
  | NestRule
  | RenameRule
  | StripRule
  | OnlyRule
  | MapRule
  | SetRule
  | MoveRule
  | CopyRule
  | ConvertRule
  | ListRule
  | ElementsRule
  | JoinRule
  | SplitRule;

/** A query rule: one declaration for the query of a V1 request. A closed union. */
export type QueryRule =
  | QueryRenameRule
  | QueryCopyRule
  | QueryListRule
  | QueryStripRule
  | QueryMapRule
  | QuerySetRule
  | QueryConvertRule;

/** A header rule: one declaration for the header fields of a V1 request, or of the response to one. A closed union. */
export type HeaderRule = HeaderRenameRule | HeaderSetRule | HeaderStripRule | HeaderMapRule | HeaderQueryRule;

/** A response rule with its own effect and place, unlike `inverse`. */
export type ExplicitResponseRule =
  | RenameBackRule
  | UnnestRule
  | AliasRule
  | FlattenRule
  | DeprecationsRule
  | ErrorsRule
  | ResponseMapRule
  | ResponseSetRule
  | ResponseStripRule
  | ResponseMoveRule
  | ResponseCopyRule
  | ResponseConvertRule
  | ResponseListRule
  | ResponseElementsRule
  | ResponseJoinRule
  | ResponseSplitRule
  | LookupRule
  | WrapRule;

/** A response rule whose work on bytes depends on nothing else. */
export type KindOfResponseRule = Exclude<ExplicitResponseRule, ErrorsRule>;

/** A value for each kind of rule. */
export type ByName<Rule extends { readonly rule: string }, Kind> = Readonly<Record<Rule['rule'], Kind>>;

/** The kinds of request rules. Most are also for responses. */
const REQUEST_KINDS: ByName<Exclude<RequestRule, ConvertRule>, Kind<RequestRule>> = {
  unwrap: unwrap.kind,
  nest: nest.kind,
  rename: rename.kind,
  strip: strip.kind,
  only: strip.kind,
  map: map.kind,
  set: set.kind,
  default: set.kind,
  move: move.kind,
  copy: copy.kind,
  list: list.kind,
  entries: elements.kind,
  unlist: elements.kind,
  join: join.kind,
  split: split.kind,
};

/** How the kinds of request rules change names, and how they are undone. */
const LENSES: ByName<Exclude<RequestRule, ConvertRule>, Lens<RequestRule, KindOfResponseRule>> = {
  unwrap: unwrap.lens,
  nest: nest.lens,
  rename: rename.lens,
  strip: strip.lens,
  only: strip.lensOfOnly,
  map: map.lens,
  set: set.lens,
  default: set.lens,
  move: move.lens,
  copy: copy.lens,
  list: list.lens,
  entries: elements.lens,
  unlist: elements.lens,
  join: join.lens,
  split: split.lens,
};

const QUERY_KINDS: ByName<Exclude<QueryRule, QueryConvertRule>, QueryKind<QueryRule>> = {
  rename: rename.query,
  copy: copy.query,
  list: queryList.query,
  unlist: queryList.query,
  strip: strip.query,
  map: map.query,
  set: set.query,
  default: set.query,
};

const HEADER_KINDS: ByName<HeaderRule, HeaderKind<HeaderRule>> = {
  rename: rename.header,
  set: set.header,
  default: set.header,
  strip: strip.header,
  map: map.header,
  query: query.header,
};

/** Response rules that differ from those of requests. */
export type OwnResponseRule =
  | UnnestRule
  | AliasRule
  | FlattenRule
  | DeprecationsRule
  | ResponseListRule
  | ResponseStripRule
  | LookupRule
  | WrapRule;

/** The kinds of response rules that differ from those of requests. */
const RESPONSE_KINDS: ByName<OwnResponseRule, ResponseKind<KindOfResponseRule>> = {
  unnest: unnest.kind,
  alias: alias.kind,
  flatten: flatten.kind,
  deprecations: deprecations.kind,
  list: list.back,
  first: first.kind,
  strip: strip.back,
  lookup: lookup.kind,
  wrap: wrap.kind,
};

export function kindOf(rule: RequestRule): Kind<RequestRule> {
  if ('elements' in rule) return elements.kind;
  return 'conversion' in rule ? convert.kind : REQUEST_KINDS[rule.rule];
}

/** How a request rule changes names, and how it is undone. */
export function lensOf(rule: RequestRule): Lens<RequestRule, KindOfResponseRule> {
  if ('elements' in rule) return elements.lens;
  return 'conversion' in rule ? convert.lens : LENSES[rule.rule];
}

export function queryKindOf(rule: QueryRule): QueryKind<QueryRule> {
  return 'conversion' in rule ? convert.query : QUERY_KINDS[rule.rule];
}

export function headerKindOf({ rule }: HeaderRule): HeaderKind<HeaderRule> {
  return HEADER_KINDS[rule];
}

/** The name of a header rule in records: a parameter that becomes a field is moved. */
export function headerRuleName({ rule }: HeaderRule): Exclude<HeaderRule['rule'], 'query'> | 'move' {
  return rule === 'query' ? 'move' : rule;
}

/** The lens of the kind with this name; undefined if no request rule has it. */
export function lensNamed(rule: string): Lens<RequestRule, KindOfResponseRule> | undefined {
  if (isConversionName(rule)) return convert.lens;
  const lenses: Readonly<Record<string, Lens<RequestRule, KindOfResponseRule> | undefined>> = LENSES;
  return Object.hasOwn(lenses, rule) ? lenses[rule] : undefined;
}

export function removesMember(rule: RequestRule, name: string): boolean {
  return lensOf(rule).drops?.(rule, name) === true;
}

/** True for the name of the kind that replaces the body with a member. */
export function isUnwrapping(rule: string): boolean {
  const kinds: Readonly<Record<string, Kind<RequestRule> | undefined>> = REQUEST_KINDS;
  return Object.hasOwn(kinds, rule) && kinds[rule]?.unwraps !== undefined;
}

/** True for a rule that changes the value of a member, because V2's values differ from V1's. */
export function changesValue(rule: string): boolean {
  const kinds: Readonly<Record<string, ChangesValue | undefined>> = { ...RESPONSE_KINDS, ...LENSES };
  return isConversionName(rule) || kinds[rule]?.changesValue === true;
}

/** The members that a rule renames or moves, as paths from its objects; empty for a rule that does neither. */
export function placedMembers(rule: RequestRule): readonly Path[] {
  return lensOf(rule)
    .moves(rule)
    .map(({ to }) => to);
}

/** A compiled rule for responses with certain statuses. */
export interface CompiledResponseRule extends CompiledRule {
  readonly status: readonly StatusPattern[];
}

export function compileResponseRule(
  rule: KindOfResponseRule,
  change: string,
  names: NameTable,
): CompiledResponseRule {
  const base = responseBase({ change, rule: rule.rule });
  const { status } = rule;
  if (isOwn(rule)) return { ...RESPONSE_KINDS[rule.rule].compile(rule, base, names), status };
  const same = asInRequests(rule);
  return { ...kindOf(same).compile(same, base, names), status };
}

/** The kind of a response rule: its own, or that of the same rule for requests. */
export function responseKindOf(
  rule: KindOfResponseRule,
): ResponseKind<KindOfResponseRule> | Kind<RequestRule> {
  return isOwn(rule) ? RESPONSE_KINDS[rule.rule] : kindOf(asInRequests(rule));
}

/** True for a response rule that no request can have. */
export function isOwn(rule: KindOfResponseRule): rule is OwnResponseRule {
  return !('elements' in rule) && Object.hasOwn(RESPONSE_KINDS, rule.rule);
}

/** Converts a response rule to the form of requests: its path then leads to objects, or to a member of them. */
export function asInRequests(rule: Exclude<KindOfResponseRule, OwnResponseRule>): RequestRule {
  const { path } = rule;
  return 'from' in rule || 'members' in rule ? { ...rule, in: path } : { ...rule, ...memberAt(path) };
}
