import type { JsonScalar } from '../../src/json/names.ts';
import type { Conversion } from '../../src/rules/kinds/convert.ts';
import type { Elements } from '../../src/rules/kinds/elements.ts';
import type { RequestRule } from '../../src/rules/rule.ts';

// A second implementation of the request rules, on parsed values: as plain as can be, to compare with. It shares nothing with src but types.

/** A number by its text, so that none is rounded. */
export interface Digits {
  readonly digits: string;
}

/** A parsed value: an object is a map, whose order counts for nothing. */
export type Value = null | boolean | string | Digits | readonly Value[] | ReadonlyMap<string, Value>;

/** Thrown for a body that the rules refuse. */
export class Refused extends Error {}

/** Parses a JSON text without repeated names. */
export function parse(text: string): Value {
  const reviver = (_: string, value: unknown, context: { readonly source?: string }): unknown =>
    typeof value === 'number' ? { digits: context.source ?? '' } : value;
  return valueOf((JSON.parse as (text: string, reviver: unknown) => unknown)(text, reviver));
}

function valueOf(parsed: unknown): Value {
  if (Array.isArray(parsed)) return parsed.map(valueOf);
  if (typeof parsed === 'object' && parsed !== null) {
    const entries = Object.entries(parsed);
    const [only] = entries;
    if (entries.length === 1 && only?.[0] === 'digits') return { digits: String(only[1]) };
    return new Map(entries.map(([name, value]) => [name, valueOf(value)]));
  }
  return parsed as null | boolean | string;
}

/** A text that is equal for values that mean the same: `1.50` and `1.5`, and objects in any order. */
export function meaning(value: Value): string {
  if (value instanceof Map) {
    const members = [...value].map(([name, inner]) => `${JSON.stringify(name)}:${meaning(inner)}`).sort();
    return `{${members.join(',')}}`;
  }
  if (Array.isArray(value)) return `[${value.map((inner: Value) => meaning(inner)).join(',')}]`;
  if (isDigits(value)) return decimal(value.digits).join('e');
  return JSON.stringify(value);
}

function isDigits(value: Value): value is Digits {
  return typeof value === 'object' && value !== null && 'digits' in value;
}

/** Sign and coefficient without zeros at its end, and the exponent. */
function decimal(text: string): [coefficient: string, exponent: string] {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e');
  const [whole = '', rest = ''] = mantissa.split('.');
  const coefficient = `${whole}${rest}`.replace(/^(-?)0+(?=\d)/, '$1');
  const kept = coefficient.replace(/0+$/, '');
  if (kept === '' || kept === '-') return ['0', '0'];
  return [kept, String(Number(power) - rest.length + coefficient.length - kept.length)];
}

/** The shortest decimal text without an exponent. */
function shortest(coefficient: bigint, exponent: number): string {
  const [digits, power] = decimal(`${coefficient}e${exponent}`);
  const sign = digits.startsWith('-') ? '-' : '';
  const plain = digits.replace('-', '');
  if (Number(power) >= 0) return sign + plain + '0'.repeat(Number(power));
  const padded = plain.padStart(1 - Number(power), '0');
  return `${sign}${padded.slice(0, Number(power))}.${padded.slice(Number(power))}`;
}

/** How rules meet values. */
export interface Mode {
  /** Whether a value that cannot be converted stays. */
  readonly keeps: boolean;
  /** Whether all values are texts, as those of a form. */
  readonly isText: boolean;
}

/** Applies request rules to a body, in order. */
export function applyRules(rules: readonly RequestRule[], body: Value, mode: Mode): Value {
  return rules.reduce(
    (value, rule) => at(value, 'in' in rule ? rule.in : [], (object) => step(rule, object, mode)),
    body,
  );
}

type Members = ReadonlyMap<string, Value>;

function at(value: Value, path: readonly string[], change: (object: Members) => Members): Value {
  const [name, ...rest] = path;
  if (name === '**') {
    if (Array.isArray(value)) return value.map((inner: Value) => at(inner, path, change));
    if (!(value instanceof Map)) return value;
    const members = [...(value as Members)].map(([key, inner]) => [key, at(inner, path, change)] as const);
    return at(new Map(members), rest, change);
  }
  if (name === '*')
    return Array.isArray(value) ? value.map((inner: Value) => at(inner, rest, change)) : value;
  if (!(value instanceof Map)) return value;
  if (name === undefined) return change(value);
  return value.has(name) ? new Map([...value, [name, at(value.get(name) ?? null, rest, change)]]) : value;
}

function step(rule: RequestRule, object: Members, { keeps, isText }: Mode): Members {
  const has = (name: string): boolean => object.has(name);
  const get = (name: string): Value => object.get(name) ?? null;
  const without = (...names: readonly string[]): [string, Value][] =>
    [...object].filter(([name]) => !names.includes(name));
  const refuse = (): Members => {
    if (keeps) return object;
    throw new Refused();
  };
  if ('elements' in rule) {
    if (!has(rule.member)) return object;
    const value = get(rule.member);
    const change = rule.rule === 'unlist' ? unlisted : listed;
    const changed = value === null ? null : change(rule.elements, value, isText);
    if (changed === undefined) return refuse();
    // In its place, because the order of members is that of pairs.
    return new Map(
      [...object].flatMap(([name, one]): [string, Value][] => {
        if (name === rule.member) return [[rule.to, changed]];
        return name === rule.to ? [] : [[name, one]];
      }),
    );
  }
  if ('conversion' in rule) {
    if (!has(rule.member) || get(rule.member) === null) return object;
    const converted = (isText ? convertText : convert)(rule.conversion, get(rule.member));
    return converted === undefined ? refuse() : new Map([...object, [rule.member, converted]]);
  }
  switch (rule.rule) {
    case 'rename':
      return has(rule.member)
        ? new Map([...without(rule.member, rule.to), [rule.to, get(rule.member)]])
        : object;
    case 'strip':
      return new Map(without(...rule.members));
    case 'set':
      return new Map([...object, [rule.member, written(rule.json, isText)]]);
    case 'default':
      return has(rule.member) ? object : new Map([...object, [rule.member, written(rule.json, isText)]]);
    case 'move': {
      const moved = taken(object, rule.from);
      return moved === undefined ? object : put(moved.rest, rule.to, moved.value);
    }
    case 'copy': {
      const copied = taken(object, rule.from);
      return copied === undefined ? object : put(object, rule.to, copied.value);
    }
    case 'list':
      if (!has(rule.member)) return object;
      return new Map([
        ...without(rule.member, rule.to),
        [rule.to, get(rule.member) === null ? [] : [get(rule.member)]],
      ]);
    case 'join': {
      const there = rule.members.filter(has);
      if (there.length === 0) return object;
      const values = there.map(get);
      if (values.some((value) => value !== null && typeof value !== 'string')) return refuse();
      const texts = values.filter((value) => typeof value === 'string');
      const joined = texts.length === 0 ? null : texts.join(rule.with);
      return new Map([...without(...there, rule.to), [rule.to, joined]]);
    }
    case 'split': {
      if (!has(rule.member)) return object;
      const value = get(rule.member);
      const isNone = value === null || (isText && value === '');
      const parts = isNone ? rule.to.map(() => value) : splitText(value, rule.with, rule.to.length, rule.at);
      if (parts === undefined) return refuse();
      return new Map([
        ...without(rule.member, ...rule.to),
        ...rule.to.map((name, index): [string, Value] => [name, parts[index] ?? null]),
      ]);
    }
    case 'nest': {
      const there = rule.members.filter(has);
      if (there.length === 0) return object;
      const known = get(rule.under);
      const inner: Members = known instanceof Map ? (known as Members) : new Map<string, Value>();
      const nested = new Map([...inner, ...there.map((name): [string, Value] => [name, get(name)])]);
      return new Map([...without(...there, rule.under), [rule.under, nested]]);
    }
    case 'only':
      return new Map([...object].filter(([name]) => rule.members.includes(name)));
    case 'map': {
      if (!has(rule.member)) return object;
      const value = get(rule.member);
      const mapped = rule.values.find(({ from }) => (isText ? value === from.text : isSame(value, from)));
      if (mapped === undefined) return object;
      const to = scalar(mapped.to);
      return new Map([...object, [rule.member, isText ? texts(to) : to]]);
    }
    case 'unwrap': {
      if (!has(rule.member)) return object;
      const inner = get(rule.member);
      if (inner instanceof Map) return inner as Members;
      throw new Refused();
    }
  }
}

function listed(elements: Elements, value: Value, isText: boolean): Value | undefined {
  switch (elements.are) {
    case 'texts':
      if (typeof value !== 'string') return undefined;
      return value === '' && !isText ? [] : value.split(elements.with);
    case 'objects':
      return Array.isArray(value)
        ? value.map((one: Value): Members => new Map([[elements.of, one]]))
        : undefined;
    case 'pairs':
      return value instanceof Map
        ? [...(value as Members)].map(
            ([name, one]): Members =>
              new Map<string, Value>([
                [elements.name, name],
                [elements.value, one],
              ]),
          )
        : undefined;
  }
}

function unlisted(elements: Elements, value: Value, isText: boolean): Value | undefined {
  if (!Array.isArray(value)) return undefined;
  const all = value as readonly Value[];
  if (elements.are === 'texts') {
    if (!all.every((one) => typeof one === 'string')) return undefined;
    const joined = all.join(elements.with);
    const again = joined === '' && !(isText && all.length === 1) ? [] : joined.split(elements.with);
    return JSON.stringify(again) === JSON.stringify(all) ? joined : undefined;
  }
  const names = elements.are === 'objects' ? [elements.of] : [elements.name, elements.value];
  const found: Value[][] = [];
  for (const one of all) {
    if (!(one instanceof Map) || one.size !== names.length || !names.every((name) => one.has(name)))
      return undefined;
    found.push(names.map((name) => (one as Members).get(name) ?? null));
  }
  if (elements.are === 'objects') return found.map(([one = null]) => one);
  const members = new Map<string, Value>();
  if (found.some(([name]) => typeof name !== 'string')) return undefined;
  for (const [name, one = null] of found) {
    if (typeof name !== 'string' || members.has(name)) throw new Refused();
    members.set(name, one);
  }
  return members;
}

function isSame(value: Value, { isString, text }: JsonScalar): boolean {
  if (isString) return value === text;
  return isDigits(value)
    ? value.digits === text
    : typeof value !== 'string' && JSON.stringify(value) === text;
}

function scalar({ isString, text }: JsonScalar): Value {
  return isString ? text : parse(text);
}

function taken(
  object: Members,
  [name = '', ...rest]: readonly string[],
): { rest: Members; value: Value } | undefined {
  const value = object.get(name);
  if (value === undefined) return undefined;
  if (rest.length === 0) return { rest: new Map([...object].filter(([other]) => other !== name)), value };
  const inner = value instanceof Map ? taken(value as Members, rest) : undefined;
  return inner && { rest: new Map([...object, [name, inner.rest]]), value: inner.value };
}

function put(object: Members, [name = '', ...rest]: readonly string[], value: Value): Members {
  const known = object.get(name);
  if (rest.length === 0) return new Map([...object, [name, value]]);
  const inner: Members = known instanceof Map ? (known as Members) : new Map<string, Value>();
  return new Map([...object, [name, put(inner, rest, value)]]);
}

function splitText(
  value: Value,
  by: string,
  count: number,
  where: 'first' | 'last',
): readonly string[] | undefined {
  if (typeof value !== 'string') return undefined;
  const pieces = value.split(by);
  if (pieces.length < count) return undefined;
  return where === 'first'
    ? [...pieces.slice(0, count - 1), pieces.slice(count - 1).join(by)]
    : [pieces.slice(0, pieces.length - count + 1).join(by), ...pieces.slice(pieces.length - count + 1)];
}

function written(json: string, isText: boolean): Value {
  return isText ? texts(parse(json)) : parse(json);
}

/** The same value in texts. */
function texts(value: Value): Value {
  if (value instanceof Map) return new Map([...value].map(([name, inner]) => [name, texts(inner)]));
  if (Array.isArray(value)) return value.map(texts);
  if (isDigits(value)) return value.digits;
  return value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
}

/** What a conversion makes of a text, where values have no types; undefined for one that cannot be converted. */
export function convertText(conversion: Conversion, text: Value): Value | undefined {
  if (text === '' || typeof text !== 'string') return text === '' ? text : undefined;
  const isOfNumber =
    conversion.rule === 'scale' ||
    conversion.rule === 'quote' ||
    (conversion.rule === 'date' && conversion.from === 'epoch');
  if (isOfNumber && !NUMBER.test(text)) return undefined;
  const converted = convert(conversion, isOfNumber ? { digits: text } : text);
  return converted === undefined ? undefined : texts(converted);
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function convert(conversion: Conversion, value: Value): Value | undefined {
  switch (conversion.rule) {
    case 'scale': {
      if (!isDigits(value)) return undefined;
      const [coefficient, exponent] = decimal(value.digits);
      const [by, power] = decimal(conversion.by);
      const product = BigInt(coefficient) * BigInt(by);
      const sign = product === 0n && value.digits.startsWith('-') ? '-' : '';
      return { digits: sign + shortest(product, Number(exponent) + Number(power)) };
    }
    case 'quote':
      return isDigits(value) ? value.digits : undefined;
    case 'unquote':
      return typeof value === 'string' && NUMBER.test(value) ? { digits: value } : undefined;
    case 'prefix':
      return typeof value === 'string' ? conversion.with + value : undefined;
    case 'unprefix':
      return typeof value === 'string' && value.startsWith(conversion.with)
        ? value.slice(conversion.with.length)
        : undefined;
    case 'date': {
      // Days in UTC, between the two forms that the tests use.
      if (conversion.from === 'date') {
        const isDay = typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value);
        const time = isDay ? Date.parse(`${value}T00:00:00Z`) : Number.NaN;
        const isReal = isDay && !Number.isNaN(time) && new Date(time).toISOString().startsWith(value);
        return isReal ? { digits: String(time / 1000) } : undefined;
      }
      const digits = isDigits(value) ? value.digits : value;
      if (typeof digits !== 'string' || !/^-?\d{1,11}(?:\.\d+)?$/.test(digits)) return undefined;
      return new Date(Math.floor(Number(digits)) * 1000).toISOString().slice(0, 10);
    }
  }
}
