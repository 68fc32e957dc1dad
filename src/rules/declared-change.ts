import { readScalar, scalarOf } from '../json/names.ts';
import type { Conversion } from './kinds/convert.ts';
import { dateConversion } from './kinds/date.ts';
import { secondsOfDay } from './kinds/date-format.ts';
import type { Elements } from './kinds/elements.ts';
import type { SourcePath } from './rule-book-fault.ts';
import type { RuleBookSource } from './rule-book-source.ts';
import { type Change, isRewritten, type Operation } from './rule-book.ts';
import {
  type ExplicitResponseRule,
  type HeaderRule,
  type InverseRule,
  type MappedValue,
  type Path,
  type QueryRule,
  readPath,
  type RequestRule,
  type ResponseHeaderRule,
  type ResponseRule,
  type StatusPattern,
} from './rule.ts';
import type { LookupRule } from './kinds/lookup.ts';
import type { StripRule } from './kinds/strip.ts';

/** A request rule and its position in the source. */
export interface DeclaredRule {
  readonly rule: RequestRule;
  /** The path of the rule's object in the source. */
  readonly inside: SourcePath;
  /** The path of each of the rule's members in the source; for a map its member, then each of its values. */
  readonly members: readonly SourcePath[];
}

/** A query rule and its position in the source. */
export interface DeclaredQueryRule {
  readonly rule: QueryRule;
  /** The path in the source of each parameter; for a map its parameter, then each of its values. */
  readonly parts: readonly SourcePath[];
}

/** A header rule of a request or a response, and its position in the source. */
export interface DeclaredHeaderRule {
  readonly rule: HeaderRule;
  /** The statuses of responses that it is for; undefined for all, and for requests. */
  readonly status: readonly StatusPattern[] | undefined;
  /** The path in the source of each field; for a map its field, then each of its values. */
  readonly parts: readonly SourcePath[];
}

/** A response rule and its position in the source. */
export interface DeclaredResponseRule {
  readonly rule: ResponseRule;
  readonly path: SourcePath;
  /** The path of each value of a map in the source; empty for other rules. */
  readonly values: readonly SourcePath[];
}

/** A change and the positions of its parts in the source. */
export interface DeclaredChange {
  readonly change: Change;
  readonly path: SourcePath;
  readonly request: readonly DeclaredRule[];
  readonly query: readonly DeclaredQueryRule[];
  readonly headers: readonly DeclaredHeaderRule[];
  readonly responseHeaders: readonly DeclaredHeaderRule[];
  readonly response: readonly DeclaredResponseRule[];
  /** False when the source has no rules of any kind, not even an empty list. */
  readonly hasRules: boolean;
}

type ChangeSource = RuleBookSource['changes'][number];
type RequestSource = NonNullable<ChangeSource['request']>[number];
type QuerySource = NonNullable<ChangeSource['query']>[number];
type MapSource = Extract<RequestSource, { map: unknown }>['map'];
type HeaderSource = NonNullable<ChangeSource['headers']>[number];
type ListedResponse = Exclude<NonNullable<ChangeSource['response']>, 'inverse'>[number];
type ResponseSource = Exclude<ListedResponse, 'inverse' | { inverse: unknown } | { headers: unknown }>;

const INVERSE: InverseRule = { rule: 'inverse', status: ['2xx'] };

/** The source of a rule book as it is written: the value at a path as JSON text, and the text of the number at a path. */
export interface Written {
  readonly json: (path: SourcePath) => string;
  readonly number: (path: SourcePath) => string;
}

/** Converts the source of a change; `index` is its position in the source. */
export function declareChange(source: ChangeSource, index: number, written: Written): DeclaredChange {
  const path = ['changes', index];
  const request = (source.request ?? []).flatMap((rule, at) =>
    declareRule(rule, [...path, 'request', at], written),
  );
  const response = declareResponse(source.response, [...path, 'response'], written);
  const query = (source.query ?? [])
    .flatMap((rule, at) => declareQueryRule(rule, [...path, 'query', at], written))
    .filter(({ parts }) => parts.length > 0);
  const headers = (source.headers ?? []).map((rule, at) =>
    declareHeaderRule(rule, [...path, 'headers', at], undefined, written),
  );
  const responseHeaders = declareResponseHeaders(source.response, [...path, 'response'], written);
  const change: Change = {
    id: source.id,
    summary: source.summary,
    on: source.on,
    request: request.map(({ rule }) => rule),
    ...(query.length === 0 ? {} : { query: query.map(({ rule }) => rule) }),
    ...(headers.length === 0 ? {} : { headers: headers.map(({ rule }) => rule) }),
    ...(responseHeaders.length === 0 ? {} : { responseHeaders: responseHeaders.flatMap(ofResponse) }),
    response: response.map(({ rule }) => rule),
    policies: source.policies ?? {},
    assumed: source.assumed ?? false,
  };
  const hasRules = [source.request, source.query, source.headers, source.response].some(
    (rules) => rules !== undefined,
  );
  return { change, path, request, query, headers, responseHeaders, response, hasRules };
}

function declareRule(source: RequestSource, path: SourcePath, written: Written): readonly DeclaredRule[] {
  if ('unwrap' in source) {
    const at = [...path, 'unwrap'];
    return [{ rule: { rule: 'unwrap', member: oneName(source.unwrap) }, inside: at, members: [at] }];
  }
  const base = source.in === undefined ? [] : readPath(source.in);
  /** A rule about the member that `text` at `key` names; `values` are the paths of the values of a map. */
  const aboutMember = (
    key: string,
    text: string,
    ruleOf: (place: { readonly member: string; readonly in: Path }) => RequestRule,
    values: readonly SourcePath[] = [],
  ): readonly DeclaredRule[] => {
    const [inside, member] = split([...base, ...readPath(text)]);
    const at = [...path, key];
    return [{ rule: ruleOf({ member, in: inside }), inside: at, members: [at, ...values] }];
  };
  /** A rule about the members that the list at `key` names. */
  const aboutMembers = (
    key: string,
    list: readonly string[],
    ruleOf: (place: { readonly members: readonly string[]; readonly in: Path }) => RequestRule,
  ): readonly DeclaredRule[] => {
    const rule = ruleOf({ members: list.map(oneName), in: base });
    const inside = source.in === undefined ? path : [...path, 'in'];
    return [{ rule, inside, members: list.map((_, at) => [...path, key, at]) }];
  };
  if ('rename' in source) {
    const to = oneName(source.to);
    return aboutMember('rename', source.rename, (place) => ({ rule: 'rename', ...place, to }));
  }
  if ('map' in source) {
    const values = mappedValues(source.map, path, written);
    const paths = valuePaths(source.map, path);
    return aboutMember('of', source.of, (place) => ({ rule: 'map', ...place, values }), paths);
  }
  if ('strip' in source) return declareStrip(source.strip, base, [...path, 'strip']);
  if ('set' in source || 'default' in source) {
    return declareSet(source, path).map(({ rule, member, value, at }) => {
      const [inside, name] = split([...base, ...member]);
      return {
        rule: { rule, member: name, in: inside, json: written.json(at), value },
        inside: at,
        members: [at],
      };
    });
  }
  if ('move' in source || 'copy' in source) {
    const rule = 'move' in source ? 'move' : 'copy';
    const { path: inside, ...ends } = commonPlace(
      [...base, ...readPath('move' in source ? source.move : source.copy)],
      [...base, ...readPath(source.to)],
    );
    const at = [...path, rule];
    return [{ rule: { rule, in: inside, ...ends }, inside: at, members: [at] }];
  }
  if (isConversion(source)) {
    const [of, conversion] = conversionOf(source);
    return aboutMember(conversion.rule, of, (place) => ({ rule: conversion.rule, ...place, conversion }));
  }
  if (isOfElements(source)) {
    const [rule, of, elements] = elementsOf(source);
    const { to } = source;
    return aboutMember(rule, of, (place) => {
      const named = { ...place, to: to === undefined ? place.member : oneName(to) };
      return elements === undefined ? { rule: 'list', ...named } : { rule, ...named, elements };
    });
  }
  if ('nest' in source) {
    const under = oneName(source.under);
    return aboutMembers('nest', source.nest, (place) => ({ rule: 'nest', ...place, under }));
  }
  if ('only' in source) return aboutMembers('only', source.only, (place) => ({ rule: 'only', ...place }));
  const { with: separator, at = 'last' } = source;
  if ('split' in source) {
    const to = source.to.map(oneName);
    return aboutMember('split', source.split, (place) => {
      return { rule: 'split', ...place, to, with: separator, at };
    });
  }
  const to = oneName(source.to);
  return aboutMembers('join', source.join, (place) => {
    return { rule: 'join', ...place, to, with: separator, at };
  });
}

/** The source of a conversion: the keys of one rule. */
type ConversionSource =
  | { readonly scale: string; readonly by: number; readonly digits?: number }
  | { readonly quote: string }
  | { readonly unquote: string }
  | { readonly prefix: string; readonly with: string }
  | { readonly unprefix: string; readonly with: string }
  | {
      readonly date: string;
      readonly from: string;
      readonly to: string;
      readonly zone?: string;
      readonly at?: string;
    };

const CONVERSIONS = ['scale', 'quote', 'unquote', 'prefix', 'unprefix', 'date'] as const;

function isConversion<Source extends object>(source: Source): source is Extract<Source, ConversionSource> {
  return CONVERSIONS.some((word) => word in source);
}

/** The member or parameter of a conversion, and what it declares. */
function conversionOf(source: ConversionSource): readonly [string, Conversion] {
  if (isSource(source, 'scale'))
    return [source.scale, { rule: 'scale', by: String(source.by), digits: source.digits ?? 0 }];
  if (isSource(source, 'quote')) return [source.quote, { rule: 'quote' }];
  if (isSource(source, 'unquote')) return [source.unquote, { rule: 'unquote' }];
  if (isSource(source, 'prefix')) return [source.prefix, { rule: 'prefix', with: source.with }];
  if (isSource(source, 'unprefix')) return [source.unprefix, { rule: 'unprefix', with: source.with }];
  const { date, from, to, zone = 'UTC', at = '00:00' } = source;
  return [date, dateConversion(from, to, zone, secondsOfDay(at))];
}

function isSource<Word extends string>(
  source: ConversionSource,
  word: Word,
): source is Extract<ConversionSource, Readonly<Record<Word, string>>> {
  return word in source;
}

/** The source of a rule about a list: the keys of one rule. */
interface ElementsSource {
  readonly list?: string;
  readonly entries?: string;
  readonly unlist?: string;
  readonly with?: string;
  readonly of?: string;
  readonly name?: string;
  readonly value?: string;
}

const LISTS = ['list', 'entries', 'unlist'] as const;

function isOfElements<Source extends object>(
  source: Source,
): source is Extract<Source, Readonly<Partial<Record<'list' | 'entries' | 'unlist', string>>>> {
  return LISTS.some((word) => word in source);
}

/** The rule, its member, and what the list has for the value without it; nothing where it is the one element. */
function elementsOf(
  source: ElementsSource,
): readonly ['list' | 'entries' | 'unlist', string, Elements | undefined] {
  const word = LISTS.find((one) => source[one] !== undefined) ?? 'list';
  const { with: separator, of, name, value } = source;
  const elements = (): Elements | undefined => {
    if (separator !== undefined) return { are: 'texts', with: separator };
    if (of !== undefined) return { are: 'objects', of: oneName(of) };
    if (name === undefined || value === undefined) return undefined;
    return { are: 'pairs', name: oneName(name), value: oneName(value) };
  };
  return [word, source[word] ?? '', elements()];
}

/** The members of a `set` or `default`, each with its position in the source. */
function declareSet(
  source: { readonly set: object } | { readonly default: object },
  path: SourcePath,
): readonly {
  readonly rule: 'set' | 'default';
  readonly member: Path;
  readonly value: unknown;
  readonly at: SourcePath;
}[] {
  const rule = 'set' in source ? 'set' : 'default';
  return Object.entries('set' in source ? source.set : source.default).map(
    ([key, value]: [string, unknown]) => ({
      rule,
      member: readPath(key),
      value,
      at: [...path, rule, key],
    }),
  );
}

/** Splits two paths behind the last `*` that they have in common: what follows are the members of one object. */
function commonPlace(
  one: Path,
  other: Path,
): { readonly path: Path; readonly from: Path; readonly to: Path } {
  let end = one.length;
  while (end > 0 && one[end - 1] !== '*') end -= 1;
  const isCommon = one.slice(0, end).every((name, at) => name === other[at]);
  const length = isCommon ? end : 0;
  return { path: one.slice(0, length), from: one.slice(length), to: other.slice(length) };
}

/** Returns one rule for each object that members are removed from, in the order in which the objects first appear. */
function declareStrip(
  source: string | readonly string[],
  base: Path,
  path: SourcePath,
): readonly DeclaredRule[] {
  const entries: { readonly text: string; readonly at: SourcePath }[] =
    typeof source === 'string'
      ? [{ text: source, at: path }]
      : source.map((text, index) => ({ text, at: [...path, index] }));
  const groups = new Map<string, { inside: Path; names: string[]; at: SourcePath[] }>();
  for (const { text, at } of entries) {
    const [inside, member] = split([...base, ...readPath(text)]);
    const key = JSON.stringify(inside);
    const group = groups.get(key) ?? { inside, names: [], at: [] };
    groups.set(key, group);
    group.names.push(member);
    group.at.push(at);
  }
  return [...groups.values()].map(({ inside, names, at }) => {
    const rule: StripRule = { rule: 'strip', members: names, in: inside };
    return { rule, inside: at[0] ?? path, members: at };
  });
}

/** The word `inverse` may be the whole value, or in the list. */
function declareResponse(
  source: ChangeSource['response'] = [],
  path: SourcePath,
  written: Written,
): readonly DeclaredResponseRule[] {
  if (source === 'inverse') return [{ rule: INVERSE, path, values: [] }];
  return source.flatMap((rule, index): readonly DeclaredResponseRule[] => {
    const at = [...path, index];
    if (rule === 'inverse') return [{ rule: INVERSE, path: at, values: [] }];
    if ('inverse' in rule) {
      const inverse: InverseRule = rule.members === null ? { ...INVERSE, members: 'null' } : INVERSE;
      return [{ rule: inverse, path: at, values: [] }];
    }
    if ('headers' in rule) return [];
    const status = statuses(rule.status, 'errors' in rule ? ['4xx', '5xx'] : ['2xx']);
    if ('set' in rule || 'default' in rule) {
      return declareSet(rule, at).map(({ rule: word, member, value, at: place }) => ({
        rule: { rule: word, path: member, json: written.json(place), value, status },
        path: at,
        values: [],
      }));
    }
    if ('strip' in rule) {
      const members = typeof rule.strip === 'string' ? [rule.strip] : rule.strip;
      return members.map((member) => ({
        rule: { rule: 'strip', path: readPath(member), status },
        path: at,
        values: [],
      }));
    }
    const values = 'map' in rule ? valuePaths(rule.map, at) : [];
    return [{ rule: responseRule(rule, status, at, written), path: at, values }];
  });
}

function declareQueryRule(
  source: QuerySource,
  path: SourcePath,
  written: Written,
): readonly DeclaredQueryRule[] {
  const at = (key: string): SourcePath => [...path, key];
  if ('rename' in source)
    return [{ rule: { rule: 'rename', parameter: source.rename, to: source.to }, parts: [at('rename')] }];
  if ('map' in source) {
    const { with: separators, sign } = source;
    const rule: QueryRule = {
      rule: 'map',
      parameter: source.of,
      values: mappedTexts(source.map, path, written),
      ...(separators === undefined ? {} : { with: [separators].flat() }),
      ...(sign === undefined ? {} : { sign: [sign].flat() }),
    };
    return [{ rule, parts: [at('of'), ...valuePaths(source.map, path)] }];
  }
  if ('set' in source || 'default' in source) {
    const rule = 'set' in source ? 'set' : 'default';
    return Object.entries('set' in source ? source.set : source.default).map(([parameter, value]) => {
      const place = [...path, rule, parameter];
      const text = textOf(value, place, written);
      return { rule: { rule, parameter, text }, parts: [place] };
    });
  }
  if (isConversion(source)) {
    const [parameter, conversion] = conversionOf(source);
    return [{ rule: { rule: conversion.rule, parameter, conversion }, parts: [at(conversion.rule)] }];
  }
  const { names, parts } = stripped(source.strip, path);
  return [{ rule: { rule: 'strip', parameters: names }, parts }];
}

function declareHeaderRule(
  source: HeaderSource,
  path: SourcePath,
  status: readonly StatusPattern[] | undefined,
  written: Written,
): DeclaredHeaderRule {
  const declared = (
    key: string,
    rule: HeaderRule,
    values: readonly SourcePath[] = [],
  ): DeclaredHeaderRule => {
    return { rule, status, parts: [[...path, key], ...values] };
  };
  if ('rename' in source) {
    const { rename: field, to, as } = source;
    return declared('rename', { rule: 'rename', field, to, ...(as === undefined ? {} : { as }) });
  }
  if ('query' in source) {
    const { query: parameter, to, as = '{}' } = source;
    return declared('query', { rule: 'query', parameter, to, as });
  }
  if ('set' in source) return declared('set', { rule: 'set', field: source.set, value: source.to });
  if ('default' in source)
    return declared('default', { rule: 'default', field: source.default, value: source.to });
  if ('map' in source) {
    const rule: HeaderRule = {
      rule: 'map',
      field: source.of,
      values: mappedTexts(source.map, path, written),
    };
    return declared('of', rule, valuePaths(source.map, path));
  }
  const { names, parts } = stripped(source.strip, path);
  return { rule: { rule: 'strip', fields: names }, status, parts };
}

/** The names that a `strip` has, one or a list, each with its path in the source. */
function stripped(
  strip: string | readonly string[],
  path: SourcePath,
): { readonly names: readonly string[]; readonly parts: readonly SourcePath[] } {
  const at = [...path, 'strip'];
  return typeof strip === 'string'
    ? { names: [strip], parts: [at] }
    : { names: strip, parts: strip.map((_, index) => [...at, index]) };
}

function declareResponseHeaders(
  source: ChangeSource['response'] = [],
  path: SourcePath,
  written: Written,
): readonly DeclaredHeaderRule[] {
  if (source === 'inverse') return [];
  return source.flatMap((listed, at) => {
    if (listed === 'inverse' || !('headers' in listed)) return [];
    const status = listed.status === undefined ? undefined : statuses(listed.status, []);
    return listed.headers.map((rule, index) =>
      declareHeaderRule(rule, [...path, at, 'headers', index], status, written),
    );
  });
}

/** No rule of a response is for a query: the schema has none. */
function ofResponse({ rule, status }: DeclaredHeaderRule): readonly ResponseHeaderRule[] {
  return rule.rule === 'query' ? [] : [{ rule, status }];
}

/** A number keeps its digits, as those of a key do: 1.10 is not 1.1. */
function mappedValues(source: MapSource, path: SourcePath, written: Written): readonly MappedValue[] {
  return Object.entries(source).map(([from, to]) => ({
    from: readScalar(from),
    to: typeof to === 'number' ? readScalar(written.json([...path, 'map', from])) : scalarOf(to),
  }));
}

/** A query has no types: every value is a text, and double quotes around a key are not part of it, as in a body. */
function mappedTexts(source: MapSource, path: SourcePath, written: Written): readonly MappedValue[] {
  return Object.entries(source).map(([from, to]) => ({
    from: { isString: true, text: readScalar(from).text },
    to: { isString: true, text: textOf(to, [...path, 'map', from], written) },
  }));
}

/** The text of a scalar, for a place without types; a number is as it is written, also where JSON has no such number: 007. */
function textOf(value: string | number | boolean | null, path: SourcePath, written: Written): string {
  return typeof value === 'number' ? written.number(path) : String(value);
}

function valuePaths(source: MapSource, path: SourcePath): readonly SourcePath[] {
  return Object.keys(source).map((key) => [...path, 'map', key]);
}

type OneResponseSource = Exclude<
  ResponseSource,
  { readonly set: unknown } | { readonly default: unknown } | { readonly strip: unknown }
>;

function responseRule(
  source: OneResponseSource,
  status: readonly StatusPattern[],
  path: SourcePath,
  written: Written,
): ExplicitResponseRule {
  if ('rename' in source)
    return { rule: 'rename', path: readPath(source.rename), to: oneName(source.to), status };
  if ('alias' in source)
    return { rule: 'alias', path: readPath(source.alias), as: oneName(source.as), status };
  if ('deprecations' in source) return { rule: 'deprecations', path: readPath(source.deprecations), status };
  if ('errors' in source)
    return { rule: 'errors', details: source.errors === true ? {} : source.errors.details, status };
  if ('map' in source)
    return {
      rule: 'map',
      path: readPath(source.of),
      values: mappedValues(source.map, path, written),
      status,
    };
  if ('move' in source)
    return { rule: 'move', ...commonPlace(readPath(source.move), readPath(source.to)), status };
  if ('copy' in source)
    return { rule: 'copy', ...commonPlace(readPath(source.copy), readPath(source.to)), status };
  if ('lookup' in source) return lookupRule(source, status);
  if (isConversion(source)) {
    const [member, conversion] = conversionOf(source);
    return { rule: conversion.rule, path: readPath(member), conversion, status };
  }
  if (isOfElements(source) || 'first' in source) {
    const place = readPath('first' in source ? source.first : elementsOf(source)[1]);
    const to = source.to === undefined ? (place.at(-1) ?? '') : oneName(source.to);
    if ('first' in source) return { rule: 'first', path: place, to, status };
    const [rule, , elements] = elementsOf(source);
    return elements === undefined
      ? { rule: 'list', path: place, to, status }
      : { rule, path: place, to, elements, status };
  }
  if ('join' in source) {
    const { with: separator, at = 'last' } = source;
    const path = source.in === undefined ? [] : readPath(source.in);
    const members = source.join.map(oneName);
    return { rule: 'join', members, path, to: oneName(source.to), with: separator, at, status };
  }
  if ('split' in source) {
    const { with: separator, at = 'last' } = source;
    const to = source.to.map(oneName);
    return { rule: 'split', path: readPath(source.split), to, with: separator, at, status };
  }
  const members = source.members?.map(oneName);
  if ('unnest' in source) return { rule: 'unnest', path: readPath(source.unnest), members, status };
  return { rule: 'flatten', path: readPath(source.flatten), members, status };
}

type LookupSource = Extract<OneResponseSource, { readonly lookup: unknown }>;

/** An address without braces, or with several, is a fault of its own. */
function lookupRule(source: LookupSource, status: readonly StatusPattern[]): LookupRule {
  const { many, get = many ?? '', by = 'id', resource, absent = 'omit', take, as } = source;
  const [before = '', after = ''] = get.split(/\{[^{}]*\}/);
  return {
    rule: 'lookup',
    path: [...(source.in === undefined ? [] : readPath(source.in)), ...readPath(source.lookup)],
    address: {
      before,
      after,
      ...(many === undefined ? {} : { by: oneName(by) }),
      ...(resource === undefined ? {} : { resource: resource === '' ? [] : readPath(resource) }),
    },
    take: take.map(oneName),
    as: oneName(as),
    absent: absent ?? 'null',
    status,
  };
}

function statuses(
  source: StatusPattern | readonly StatusPattern[] | undefined,
  usual: readonly StatusPattern[],
): readonly StatusPattern[] {
  if (source === undefined) return usual;
  return typeof source === 'object' ? source : [source];
}

function split(path: Path): readonly [Path, string] {
  return [path.slice(0, -1), path.at(-1) ?? ''];
}

function oneName(text: string): string {
  return readPath(text)[0] ?? '';
}

/** Requests that the same changes apply to: those of some operations, or all that only `every` applies to. */
export interface OperationContext<Declared> {
  /** Empty for requests that only `every` applies to. */
  readonly operations: readonly string[];
  /** In the order of the rule book. */
  readonly changes: readonly Declared[];
}

/** Groups requests by the changes that apply to them; `on: every` is POST and PATCH only. */
export function operationContexts<Declared extends { readonly change: Change }>(
  changes: readonly Declared[],
  operations: readonly Operation[],
): readonly OperationContext<Declared>[] {
  const every = changes.flatMap(({ change }, index) => (change.on === 'every' ? [index] : []));
  const byOperation = new Map<string, number[]>();
  for (const [index, { change }] of changes.entries()) {
    for (const id of change.on === 'every' ? [] : new Set(change.on)) {
      const indexes = byOperation.get(id) ?? [];
      byOperation.set(id, indexes);
      indexes.push(index);
    }
  }
  // Ten thousand operations with the same changes form one context, checked once.
  const byIndexes = new Map<string, { operations: string[]; indexes: readonly number[] }>();
  byIndexes.set('', { operations: [], indexes: every });
  for (const { id, method } of operations) {
    const specific = byOperation.get(id);
    if (specific === undefined) continue;
    const isWrite = isRewritten(method);
    const key = `${isWrite ? '*' : ''} ${specific.join(' ')}`;
    const context = byIndexes.get(key) ?? {
      operations: [],
      indexes: isWrite ? merged(every, specific) : specific,
    };
    byIndexes.set(key, context);
    context.operations.push(id);
  }
  return [...byIndexes.values()].map((context) => ({
    operations: context.operations,
    changes: context.indexes.flatMap((index) => changes[index] ?? []),
  }));
}

function merged(one: readonly number[], other: readonly number[]): readonly number[] {
  return [...one, ...other].sort((a, b) => a - b);
}
