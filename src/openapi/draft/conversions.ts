import type { Shape } from '../shape.ts';
import { wordsOf } from './names.ts';

/** Words that tell a unit or a form of a value, wherever they are. */
const UNITS: ReadonlySet<string> = new Set(
  `cent cents pence pennies minor major dollars euros pounds aud usd eur gbp nzd jpy chf cad micros millis nanos
  ms msec msecs millisecond milliseconds microseconds nanoseconds sec secs seconds mins minutes hrs hours days weeks months years
  epoch unix timestamp iso utc percent percentage pct ratio fraction bps permille
  bytes kb mb gb kib mib gib kilobytes megabytes bits px pixels pt dpi
  mm cm km metre metres meter meters millimetres centimetres kilometres kilometers miles mile ft feet foot inch inches yards
  sqm sqft m2 ft2 acres hectares kg kilograms grams mg lb lbs oz celsius fahrenheit kelvin deg degrees rad radians kmh mph kw kwh`.split(
    /\s+/,
  ),
);

/** Words that tell a unit at the end of a name only. */
const SHORT_UNITS: ReadonlySet<string> = new Set('s m h d g b c f k l t v w min in us ns hz'.split(' '));

/** The unit that each of these words tells. */
const SAME_UNITS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    cents: 'cent pence minor',
    ms: 'millis msec msecs millisecond milliseconds',
    seconds: 's sec secs',
    minutes: 'min mins',
    hours: 'h hrs',
    days: 'd',
    pct: 'percent percentage',
    m: 'metre metres meter meters',
    epoch: 'unix',
    lb: 'lbs',
    ft: 'foot feet',
    sqm: 'm2',
    sqft: 'ft2',
  }).flatMap(([unit, words]) => words.split(' ').map((word) => [word, unit] as const)),
);

/** The units that a name or a text tells, sorted: values of another unit are other values. */
export function unitsIn(text: string): string {
  const words = wordsOf(text);
  const last = words.at(-1) ?? '';
  const units = words.filter((word) => UNITS.has(word));
  if (SHORT_UNITS.has(last)) units.push(last);
  return [...new Set(units.map((unit) => SAME_UNITS.get(unit) ?? unit))].toSorted().join(', ');
}

const knownUnits = new WeakMap<Shape, string>();

/** The units that a description tells. */
export function textUnits(shape: Shape): string {
  const known = knownUnits.get(shape) ?? unitsIn(shape.text);
  knownUnits.set(shape, known);
  return known;
}

/** A member as far as its value is concerned. */
export interface NamedShape {
  readonly name: string;
  readonly shape: Shape;
}

/** A rule that converts a value, without the path: its word, and the members beside it. */
export interface Conversion {
  readonly word:
    | 'scale'
    | 'quote'
    | 'unquote'
    | 'prefix'
    | 'unprefix'
    | 'date'
    | 'list'
    | 'entries'
    | 'unlist';
  readonly options: readonly (readonly [name: string, value: FoundValue])[];
}

/** A value of an enumeration. */
export type FoundValue = string | number | boolean;

const SCALE: Conversion = {
  word: 'scale',
  options: [
    ['by', 100],
    ['digits', 2],
  ],
};

const FORMS: ReadonlyMap<string, string> = new Map([
  ['date', 'date'],
  ['date-time', 'datetime'],
]);

/** The conversions that lead from a value of V1 to one of V2, where types, formats and units tell them; none otherwise. */
export function conversions(old: NamedShape, young: NamedShape): readonly Conversion[] {
  const [one, other] = [old.shape, young.shape];
  const written = new Set(one.values.map(String));
  // A list of other values is mapped.
  if (isListedAlike(one, other) && !other.values.some((value) => written.has(String(value)))) return [];
  const [before, after] = [one, other].map(({ types }) => [...types].join(' '));
  const isWhole = after === 'integer';
  const [from, to] = [
    FORMS.get(one.format),
    FORMS.get(other.format) ?? (isWhole && isTime(young) ? 'epoch' : undefined),
  ];
  if (from !== undefined && to !== undefined && from !== to)
    return [{ word: 'date', options: [['from', from] as const, ['to', to] as const] }];
  const isMinor = (named: NamedShape): boolean => unitOf(named).split(', ').includes('cents');
  if (before === 'number' && isWhole && isMinor(young) && !isMinor(old)) return [SCALE];
  if ((before === 'integer' || before === 'number') && after === 'string') {
    const prefix = patternPrefix(String(keywordIn(other.constraints, 'pattern')));
    const quote: Conversion = { word: 'quote', options: [] };
    return prefix === undefined ? [quote] : [quote, { word: 'prefix', options: [['with', prefix]] }];
  }
  if (before !== 'string' || !isWhole || from !== undefined) return [];
  const unquote: Conversion = { word: 'unquote', options: [] };
  return isMinor(young) && !isMinor(old) ? [unquote, SCALE] : [unquote];
}

/** The text that a pattern such as `^inv_[0-9]+$` requires at the start: letters and a separator; undefined for none. */
export function patternPrefix(pattern: string): string | undefined {
  return /^\^([A-Za-z]{1,40}[_-])(?![*+?{|])/.exec(pattern)?.[1];
}

/** The units that the name or the description tells. */
function unitOf({ name, shape }: NamedShape): string {
  return [unitsIn(name), textUnits(shape)].filter((unit) => unit !== '').join(', ');
}

function isTime(named: NamedShape): boolean {
  return unitOf(named).split(', ').includes('epoch');
}

/** The value of a keyword in the text of constraints. */
export function keywordIn(constraints: string, name: string): unknown {
  if (constraints === '') return undefined;
  const pairs: unknown = JSON.parse(constraints);
  const found: unknown = Array.isArray(pairs)
    ? pairs.find((pair) => Array.isArray(pair) && pair[0] === name)
    : undefined;
  const value: unknown = Array.isArray(found) ? found[1] : undefined;
  return value;
}

/** True when both list as many values: another name, and other values. */
export function isListedAlike(old: Shape, young: Shape): boolean {
  return old.values.length > 1 && old.values.length === young.values.length;
}
