import { inverseFactor } from '../../rules/kinds/scale.ts';
import { elementsOf } from '../description.ts';
import { fitsInto, isCompatible, type Shape } from '../shape.ts';
import { areContrary, isPlural, limitIn, singular, wordsOf } from './names.ts';

/** Words that indicate a unit or a form of a value, anywhere in a name. */
const UNITS: ReadonlySet<string> = new Set(
  `cent cents pence pennies minor major dollar dollars euro euros pounds aud usd eur gbp nzd jpy chf cad micros millis nanos
  ms msec msecs millisecond milliseconds microseconds nanoseconds sec secs seconds mins minutes hrs hours days weeks months years
  epoch unix timestamp iso utc percent percentage pct ratio fraction bps permille
  bytes kb mb gb kib mib gib kilobytes megabytes gigabytes bits px pixels pt dpi
  mm cm km metre metres meter meters millimetres millimeters centimetres centimeters kilometres kilometers miles mile ft feet foot inch inches yards
  sqm sqft m2 ft2 acres hectares kg kgs kilogram kilograms gram grams mg milligrams tonnes lb lbs oz ounces
  ml millilitres milliliters litre litres liter liters celsius fahrenheit kelvin deg degrees rad radians kmh mph kw kwh`.split(
    /\s+/,
  ),
);

/** Words that indicate a unit only at the end of a name. */
const SHORT_UNITS: ReadonlySet<string> = new Set('s m h d g b c f k l t v w min in us ns hz'.split(' '));

/** Words before `in` that make it inches: `opt_in` and `checked_in` have no unit. */
const DIMENSIONS: ReadonlySet<string> = new Set(
  'length width height depth size distance radius diameter thickness'.split(' '),
);

/** The unit for each of these words. */
const SAME_UNITS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    cents: 'cent pence pennies minor',
    dollars: 'dollar major',
    euros: 'euro',
    microseconds: 'us',
    nanoseconds: 'ns',
    ms: 'millis msec msecs millisecond milliseconds',
    seconds: 's sec secs',
    minutes: 'min mins',
    hours: 'h hrs',
    days: 'd',
    pct: 'percent percentage',
    ratio: 'fraction',
    bytes: 'b',
    kb: 'kilobytes',
    mb: 'megabytes',
    gb: 'gigabytes',
    mm: 'millimetres millimeters',
    cm: 'centimetres centimeters',
    km: 'kilometres kilometers',
    m: 'metre metres meter meters',
    mg: 'milligrams',
    grams: 'g gram',
    kg: 'kgs kilogram kilograms',
    oz: 'ounces',
    ml: 'millilitres milliliters',
    litres: 'l litre liter liters',
    epoch: 'unix',
    lb: 'lbs',
    ft: 'foot feet',
    sqm: 'm2',
    sqft: 'ft2',
  }).flatMap(([unit, words]) => words.split(' ').map((word) => [word, unit] as const)),
);

/** A prefix of a unit before a capital letter: `KiloBytes` are kilobytes, and no bytes. */
const UNIT_PREFIX = /(kilo|mega|giga|milli|micro|nano|centi)([A-Z])/gi;

/** The units in a name or a text, sorted: values in other units are other values. */
export function unitsIn(text: string): string {
  const words = wordsOf(
    text.replace(UNIT_PREFIX, (_, prefix: string, start: string) => prefix + start.toLowerCase()),
  );
  const last = words.at(-1) ?? '';
  const units = words.filter((word) => UNITS.has(word));
  if (SHORT_UNITS.has(last) && (last !== 'in' || DIMENSIONS.has(words.at(-2) ?? ''))) units.push(last);
  return [...new Set(units.map((unit) => SAME_UNITS.get(unit) ?? unit))].toSorted().join(', ');
}

const knownUnits = new WeakMap<Shape, string>();

/** The units in a description. The texts of an enumeration have none. */
export function textUnits(shape: Shape): string {
  const isNamed = shape.values.some((value) => typeof value === 'string');
  const known = knownUnits.get(shape) ?? (isNamed ? '' : unitsIn(shape.text));
  knownUnits.set(shape, known);
  return known;
}

/** The name of a member, and the shape of its value. */
export interface NamedShape {
  readonly name: string;
  readonly shape: Shape;
}

/** A rule that converts a value, without its path: its name, and its options. */
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

/** What conversions do, as a sentence says it; undefined for lists, of which each has an own form. */
export function conversionWords(all: readonly Conversion[]): string | undefined {
  // Whether a number is a text as well is no other reason to scale it.
  const scales = all.filter(({ word }) => word === 'scale');
  const words = (scales.length > 0 ? scales : all).map(wordsOfOne);
  return words.includes(undefined) ? undefined : words.join(' and ');
}

function wordsOfOne({ word, options }: Conversion): string | undefined {
  const { by, digits, from, to, zone, with: text } = Object.fromEntries(options);
  switch (word) {
    case 'scale':
      if (digits === undefined) return `with a factor of ${by}`;
      return by === 100 ? 'to minor units' : 'from minor units';
    case 'quote':
      return 'from number to string';
    case 'unquote':
      return 'from string to number';
    case 'date':
      return `from ${from} to ${to}${zone === undefined ? '' : ` in ${zone}`}`;
    case 'prefix':
      return `with ${text} before it`;
    case 'unprefix':
      return `without the ${text} before it`;
    case 'list':
    case 'entries':
    case 'unlist':
      return undefined;
  }
}

/** A value of an enumeration. */
export type FoundValue = string | number | boolean;

/** Maximum values of an enumeration that a sentence names. */
const MAX_NAMED = 12;

/** Values of an enumeration as a sentence names them: the first of many. */
export function namedValues(values: readonly FoundValue[]): string {
  return [...values.slice(0, MAX_NAMED).map(String), ...(values.length > MAX_NAMED ? ['…'] : [])].join(', ');
}

const FORMS: ReadonlyMap<string, string> = new Map([
  ['date', 'date'],
  ['date-time', 'datetime'],
]);

/** The conversions from a value of V1 to one of V2, if types, formats and units show them; otherwise empty. */
export function conversions(old: NamedShape, young: NamedShape): readonly Conversion[] {
  const [one, other] = [old.shape, young.shape];
  const written = new Set(one.values.map(String));
  // Values of another enumeration are mapped.
  if (isListedAlike(one, other) && !other.values.some((value) => written.has(String(value)))) return [];
  const [before, after] = [one, other].map(({ types }) => [...types].join(' '));
  const date = timeConversion(old, young);
  if (date !== undefined) return [date];
  const [listed] = listForms(old, young);
  if (listed !== undefined) return listed === 'one' ? [] : [listed];
  const [first] = isNumber(one) && isNumber(other) ? factorsBetween(old, young) : [];
  if (first !== undefined) return [scaleBy(first, old, young)];
  if (before === 'number' && isNumber(other) && isMinor(young) && !isMinor(old))
    return [scaleBy(100, old, young)];
  if (isNumber(one) && after === 'number' && isMinor(old) && !isMinor(young))
    return [scaleBy(0.01, old, young)];
  // A text of a format is not a number in quotes.
  if ([one, other].some(({ format }) => format !== '')) return [];
  if ((before === 'integer' || before === 'number') && after === 'string') {
    const prefix = patternPrefix(String(keywordIn(other.constraints, 'pattern')));
    const quote: Conversion = { word: 'quote', options: [] };
    if (isMinor(old) && !isMinor(young)) return [scaleBy(0.01, old, young), quote];
    return prefix === undefined ? [quote] : [quote, { word: 'prefix', options: [['with', prefix]] }];
  }
  if (before !== 'string' || !isNumber(other)) return [];
  const unquote: Conversion = { word: 'unquote', options: [] };
  return isMinor(young) && !isMinor(old) ? [unquote, scaleBy(100, old, young)] : [unquote];
}

/** Units of one kind, with the number of the smallest units in each. */
const MEASURES: readonly ReadonlyMap<string, number>[] = [
  { micros: 1, cents: 10_000, dollars: 1_000_000, euros: 1_000_000, pounds: 1_000_000 },
  {
    nanoseconds: 1,
    microseconds: 1000,
    ms: 1_000_000,
    seconds: 1_000_000_000,
    minutes: 60_000_000_000,
    hours: 3_600_000_000_000,
    days: 86_400_000_000_000,
    weeks: 604_800_000_000_000,
  },
  { mg: 1, grams: 1000, kg: 1_000_000, tonnes: 1_000_000_000 },
  { oz: 1, lb: 16 },
  { mm: 1, cm: 10, m: 1000, km: 1_000_000 },
  { sqm: 1, hectares: 10_000 },
  { ml: 1, litres: 1000 },
  { bps: 1, permille: 10, pct: 100, ratio: 10_000 },
  { bits: 1, bytes: 8, kb: 8000, mb: 8_000_000, gb: 8_000_000_000 },
  { bits: 1, bytes: 8, kib: 8192, mib: 8_388_608 },
  // Many who write kB mean 1024 bytes.
  { bytes: 1, kb: 1024, mb: 1_048_576 },
  { w: 1, kw: 1000 },
].map((units) => new Map(Object.entries(units)));

/** Currencies, as a code beside another unit: `usd_cents` are cents. */
const CURRENCIES: ReadonlySet<string> = new Set('aud usd eur gbp nzd cad chf'.split(' '));

/** The rule that multiplies a value; an amount of money in the larger unit has two decimals. */
function scaleBy(by: number | string, old: NamedShape, young: NamedShape): Conversion {
  const isMoney = (by === 100 || by === 0.01) && (isMinor(old) || isMinor(young));
  return { word: 'scale', options: [['by', by], ...(isMoney ? [['digits', 2] as const] : [])] };
}

function isMinor(named: NamedShape): boolean {
  return unitsOf(named).includes('cents');
}

/** The same conversions with another factor, if one unit has several meanings, or of a last day that V1 does not include. */
export function otherConversions(old: NamedShape, young: NamedShape): readonly (readonly Conversion[])[] {
  const [first, ...more] = conversions(old, young);
  if (first === undefined || more.length > 0) return [];
  if (endsDay(first)) return [[{ ...first, options: first.options.filter(([name]) => name !== 'at') }]];
  if (first.word !== 'scale') return [];
  return factorsBetween(old, young)
    .slice(1)
    .map((by) => [scaleBy(by, old, young)]);
}

export function isNumber({ types }: Shape): boolean {
  return types.size === 1 && (types.has('integer') || types.has('number'));
}

/** The factors between a value and V2's, if names or descriptions show another unit in V2: the likeliest first. */
function factorsBetween(old: NamedShape, young: NamedShape): readonly (number | string)[] {
  const factors = MEASURES.flatMap((units) => {
    const [from, to] = [
      measuredIn(old, units) ?? shareIn(old, young, units),
      measuredIn(young, units) ?? shareIn(young, old, units),
    ];
    if (from === undefined || to === undefined || from === to) return [];
    return [factorOf(from, to)];
  });
  return [...new Set(factors)];
}

/** The factor between two sizes as a rule book writes it: a decimal if there is one, or a fraction. */
function factorOf(from: number, to: number): number | string {
  const by = from / to;
  if (Number.isInteger(by) || inverseFactor(String(by)) !== undefined) return by;
  let [divisor, rest] = [from, to];
  while (rest > 0) [divisor, rest] = [rest, divisor % rest];
  return `${from / divisor}/${to / divisor}`;
}

/** The size of the unit in the name, or else in the description, if only one of these units is there. */
function measuredIn({ name, shape }: NamedShape, units: ReadonlyMap<string, number>): number | undefined {
  for (const text of [unitsIn(name), textUnits(shape)]) {
    const all = text.split(', ').filter((unit) => unit !== '' && !CURRENCIES.has(unit));
    const [size, ...others] = all.flatMap((unit) => units.get(unit) ?? []);
    if (size !== undefined) return others.length === 0 ? size : undefined;
    // The name has a unit of another kind.
    if (all.length > 0) return undefined;
  }
  return keywordIn(shape.constraints, 'maximum') === 1 ? units.get('ratio') : undefined;
}

/** The size of a percentage, for a number without a unit that is none of at most 1, as that of the other version is. */
function shareIn(
  named: NamedShape,
  other: NamedShape,
  units: ReadonlyMap<string, number>,
): number | undefined {
  return isShareOf(named, other) ? units.get('pct') : undefined;
}

/** True for a number that is in percent, where the same number of the other version is a fraction: 92 and 0.92. */
function isShareOf({ name, shape }: NamedShape, { shape: fraction }: NamedShape): boolean {
  if (unitsIn(name) !== '' || textUnits(shape) !== '' || !isNumber(shape)) return false;
  const [most, shown] = ['maximum', 'example'].map((keyword) => keywordIn(shape.constraints, keyword));
  const isMore = shape.types.has('integer')
    ? most !== 1
    : most === 100 || (typeof shown === 'number' && shown > 1);
  return isMore && fraction.types.has('number') && keywordIn(fraction.constraints, 'maximum') === 1;
}

/** The units of one kind of which a number has one: all of time, or all of mass; undefined for none. */
export function measureOf(named: NamedShape): ReadonlyMap<string, number> | undefined {
  return isNumber(named.shape) ? MEASURES.find((units) => measuredIn(named, units) !== undefined) : undefined;
}

/** The doubt about two numbers of which only limits or examples show that one is in percent; empty for none. */
export function shareDoubt(old: NamedShape, young: NamedShape): string {
  if (isShareOf(old, young))
    return 'V2 has at most 1, so that it is a fraction there, and perhaps in percent in V1';
  return isShareOf(young, old)
    ? 'V1 has at most 1, so that it is a fraction there, and perhaps in percent in V2'
    : '';
}

/** True for values whose units are of different kinds, such as money and a weight. */
export function areOtherKinds(old: NamedShape, young: NamedShape): boolean {
  const [one, other] = [old, young].map((named) =>
    MEASURES.filter((units) => measuredIn(named, units) !== undefined),
  );
  if (one === undefined || other === undefined || one.length === 0 || other.length === 0) return false;
  return !one.some((units) => other.includes(units));
}

/** Words for the form of a point in time, which is no unit. */
const TIMES: ReadonlySet<string> = new Set('epoch timestamp iso utc'.split(' '));

/** The units of two numbers that certainly have none in common, in words; undefined if one of them shows none. */
export function otherUnits(
  old: NamedShape,
  young: NamedShape,
): readonly [old: string, young: string] | undefined {
  const [one = [], other = []] = [old, young].map(({ name, shape }) => {
    const units = unitsIn(name) || textUnits(shape);
    return units.split(', ').filter((unit) => unit !== '' && !TIMES.has(unit));
  });
  const isOther = one.length > 0 && other.length > 0 && !one.some((unit) => other.includes(unit));
  return isOther ? [one.join(' and '), other.join(' and ')] : undefined;
}

/** True for two booleans whose names say the contrary of each other. */
export function areContraries(old: NamedShape, young: NamedShape): boolean {
  return (
    [old, young].every(({ shape: { types } }) => types.size === 1 && types.has('boolean')) &&
    areContrary(old.name, young.name)
  );
}

/** The text that a pattern such as `^inv_[0-9]+$` requires at the start: letters and a separator; undefined for none. */
export function patternPrefix(pattern: string): string | undefined {
  return /^\^([A-Za-z]{1,40}[_-])(?![*+?{|])/.exec(pattern)?.[1];
}

/** The units in the name or the description. */
function unitsOf({ name, shape }: NamedShape): readonly string[] {
  return [unitsIn(name), textUnits(shape)].flatMap((units) => units.split(', '));
}

/** The conversion between two forms of a time; undefined if they are equal, or not known. */
function timeConversion(old: NamedShape, young: NamedShape): Conversion | undefined {
  const [from, to] = [timeForm(old, young.shape), timeForm(young, old.shape)];
  if (from === undefined || to === undefined || from === to) return undefined;
  const zone = zoneIn(old.shape) ?? zoneIn(young.shape) ?? 'UTC';
  const local = isLocal(from) !== isLocal(to) ? [['zone', zone] as const] : [];
  // A client that asks for all until a day wants that day as well.
  const isEnd = isDay(from) && !isDay(to) && limitIn(old.name) === 'upper';
  const end = isEnd ? [['at', END_OF_DAY] as const] : [];
  return { word: 'date', options: [['from', from], ['to', to], ...local, ...end] };
}

const END_OF_DAY = '23:59:59';

/** True for the conversion of a day that is an upper limit to its end. */
export function endsDay(conversion: Conversion): boolean {
  return conversion.options.some(([name]) => name === 'at');
}

/** Last words of the names of days. */
const OF_DAYS = /^(?:on|date|day)$/;

/** How a value writes a time; undefined if it is none. A whole number that is a time in the other version is one as well. */
function timeForm(named: NamedShape, other: Shape): string | undefined {
  const { shape, name } = named;
  // Only an example that is null shows the member.
  if (shape.types.size === 0 && other.format === 'date-time' && OF_DAYS.test(wordsOf(name).at(-1) ?? ''))
    return 'date';
  if (!shape.types.has('integer') || shape.types.size > 1)
    return shape.format === '' ? shownForm(shape) : FORMS.get(shape.format);
  const units = unitsOf(named);
  if (!units.includes('epoch') && (other.format !== 'date-time' || units.some((unit) => unit !== '')))
    return undefined;
  return units.includes('ms') ? 'epoch-ms' : 'epoch';
}

/** A date and a time as examples show them, or in the letters of a description: the year first, or the day or the month. */
const SHOWN =
  /(?<![\w/.-])(?:(?<y>[12]\d{3}|y{4})(?<s>[-/.])(?:\d\d|mm)\k<s>(?:\d\d|dd)|(?<one>\d\d|dd|mm)(?<t>[-/.])(?<two>\d\d|dd|mm)\k<t>(?:[12]\d{3}|y{4}))(?<T>'t'|[t ])?(?<H>(?:\d\d|hh):(?:\d\d|mm))?(?<S>:(?:\d\d|ss))?(?<f>\.(?:\d+|s+))?(?<z>z|[+-]\d\d:?\d\d)?/i;

/** What after it shows that there is more of the time than is read: hours of one digit or of half a day, or words in quote marks. */
const UNREAD = /^(?:\d|hh|[:.]\w|'[tz]'| ?[ap]\.?m)/i;

/** The form of a time that a text without a format has by its description or its examples; undefined if they show none. */
function shownForm(shape: Shape): string | undefined {
  if (!shape.types.has('string') || shape.types.size > 1 || shape.values.length > 0) return undefined;
  const [form, ...others] = new Set([shape.text, ...examplesOf(shape)].flatMap((text) => formIn(text) ?? []));
  return others.length === 0 ? form : undefined;
}

function formIn(text: string): string | undefined {
  const shown = SHOWN.exec(text);
  if (shown === null || UNREAD.test(text.slice(shown.index + shown[0].length))) return undefined;
  const { y, s = '', one = '', t = '', two = '', T: between = '', H, S, f = '', z } = shown.groups ?? {};
  const T = between.replaceAll("'", '').toUpperCase();
  // The month is second, as in most countries, if nothing shows the contrary.
  const isMonthFirst = /^m/i.test(one) || Number(two) > 12;
  const day =
    y === undefined ? [...(isMonthFirst ? ['MM', 'dd'] : ['dd', 'MM']), 'yyyy'].join(t) : `yyyy${s}MM${s}dd`;
  if (H === undefined) return day === 'yyyy-MM-dd' ? 'date' : day;
  if (day === 'yyyy-MM-dd' && T === 'T' && z !== undefined) return 'datetime';
  const fraction = f === '' ? '' : `.${'S'.repeat(f.length - 1)}`;
  return `${day}${T}HH:mm${S === undefined ? '' : ':ss'}${fraction}${z === undefined ? '' : 'X'}`;
}

/** Forms that name one instant in any zone. */
const INSTANTS: ReadonlySet<string> = new Set(['datetime', 'epoch', 'epoch-ms']);

/** True for the form of a time whose texts do not tell their zone. */
function isLocal(form: string): boolean {
  return !INSTANTS.has(form) && !form.endsWith('X');
}

/** True for the form of a day without a time. */
function isDay(form: string): boolean {
  return !INSTANTS.has(form) && !form.includes('HH');
}

const ZONES = Intl.supportedValuesOf('timeZone');

/** The time zone that a description names, as in `Europe/Copenhagen`, `Copenhagen time` or `UTC+2`; undefined for none. */
function zoneIn({ text }: Shape): string | undefined {
  if (!/UTC|GMT|\/|time/i.test(text)) return undefined;
  const city = (zone: string): string => (zone.split('/').at(-1) ?? '').replaceAll('_', ' ');
  const isNamed = (zone: string): boolean => text.includes(zone) || text.includes(`${city(zone)} time`);
  const named = ZONES.find((zone) => zone.includes('/') && isNamed(zone));
  if (named !== undefined) return named;
  const [found, sign, hours = '', minutes = '00'] =
    /\b(?:UTC|GMT)(?: ?([+-])(\d\d?)(?::?(\d\d))?)?\b/.exec(text) ?? [];
  if (found === undefined) return undefined;
  return sign === undefined ? 'UTC' : `${sign}${hours.padStart(2, '0')}:${minutes}`;
}

/** The doubt about two times of different forms, which names the zone if one of them does not tell its own; empty for none. */
export function timeDoubt(old: NamedShape, young: NamedShape): string {
  const date = timeConversion(old, young);
  if (date === undefined) return '';
  const option = (name: string): string => String(date.options.find(([own]) => own === name)?.[1] ?? '');
  const zone = option('zone');
  const isNamed = zone !== '' && [old, young].some(({ shape }) => zoneIn(shape) !== undefined);
  const open = [
    ...(zone === '' || isNamed ? [] : ['the time zone']),
    ...(endsDay(date) ? ['whether that day is included'] : []),
  ];
  const where = isNamed ? `, in the time zone ${zone}` : '';
  const unsaid = open.length === 0 ? '' : `, and neither description says ${open.join(' or ')}`;
  return `it is written as ${option('from')} in V1 and as ${option('to')} in V2${where}${unsaid}`;
}

/** The examples of a text that tell it from others. */
export function examplesOf({ constraints }: Shape): readonly string[] {
  const all = [keywordIn(constraints, 'example'), ...elementsOf(keywordIn(constraints, 'examples'))];
  return all.filter((one): one is string => typeof one === 'string' && one.length > 3);
}

/** The value of a keyword in the text of constraints. */
export function keywordIn(constraints: string, name: string): unknown {
  if (constraints === '') return undefined;
  const known = readConstraints.get(constraints) ?? keywordsIn(constraints);
  if (readConstraints.size >= MAX_READ) readConstraints.clear();
  readConstraints.set(constraints, known);
  return known.get(name);
}

/** Maximum texts of constraints in the cache: a description has the same text at many places. */
const MAX_READ = 5000;

const readConstraints = new Map<string, ReadonlyMap<unknown, unknown>>();

function keywordsIn(constraints: string): ReadonlyMap<unknown, unknown> {
  const pairs: unknown = JSON.parse(constraints);
  const all = Array.isArray(pairs) ? pairs.filter((pair): pair is unknown[] => Array.isArray(pair)) : [];
  // If several parts of a schema have a keyword, the first one counts.
  return new Map(all.toReversed().map(([key, value]) => [key, value]));
}

/** True when both list as many values: another name, and other values. */
export function isListedAlike(old: Shape, young: Shape): boolean {
  return old.values.length > 1 && old.values.length === young.values.length;
}

/** The form in one version of a list in the other: its only element (`one`), or a converted value. */
export type ListForm = 'one' | Conversion;

/** Names of the member that has the value of an object, and of the member that has its key; the likeliest first. */
const VALUE_NAMES: readonly string[] = 'value id name code key text content data'.split(' ');
const KEY_NAMES: readonly string[] = 'name key field attribute property label code id type'.split(' ');

/** Maximum members of an object that are offered as its value. */
const MAX_FITTING = 3;

/**
 * The possible forms of a value that is a list in one version only, or a list of other elements: the likeliest first; none if the types
 * show none.
 */
export function listForms(old: NamedShape, young: NamedShape): readonly ListForm[] {
  if (isListOnly(young.shape)) return formsOfList(old, young);
  if (!isListOnly(old.shape)) return [];
  return formsOfList(young, old).map((form) => (form === 'one' ? form : { ...form, word: 'unlist' }));
}

function isListOnly({ types }: Shape): boolean {
  return types.size === 1 && types.has('array');
}

/** The forms between a list and `plain`, the value of the other version. */
function formsOfList(plain: NamedShape, list: NamedShape): readonly ListForm[] {
  const { element } = list.shape;
  const { types } = plain.shape;
  if (element === undefined || types.size === 0) return [];
  if (isListOnly(plain.shape))
    return ofObjects(plain.shape.element, element, [plain.name, list.name].flatMap(wordsOf).map(singular));
  if (types.has('array')) return [];
  const pairs = types.has('object') ? pairForms(plain.shape, element) : [];
  const one: readonly ListForm[] = isCompatible(element, plain.shape) ? ['one'] : [];
  const texts = textForms(plain, list, element);
  return isSeparated(plain, list) ? [...pairs, ...texts, ...one] : [...pairs, ...one, ...texts];
}

/** The forms between a list of values and a list of objects that have the value in a member. */
function ofObjects(value: Shape | undefined, object: Shape, words: readonly string[]): readonly ListForm[] {
  if (value === undefined) return [];
  if (isScalar(object) && value.members.size > 0)
    return ofObjects(object, value, words).map((form) =>
      form === 'one' ? form : { ...form, word: 'unlist' },
    );
  if (!isScalar(value) || object.members.size === 0) return [];
  const fitting = [...object.members].filter(
    ([, { shape }]) => shape.types.size > 0 && fitsInto(value, shape) && fitsInto(shape, value),
  );
  const rank = (name: string): number => {
    const at = VALUE_NAMES.indexOf(wordsOf(name).at(-1) ?? '');
    const isOwn = wordsOf(name).every((word) => words.includes(singular(word)));
    return isOwn ? 0.5 : at < 0 ? VALUE_NAMES.length : at;
  };
  const needed = (isRequired: boolean): number => (isRequired ? 0 : 1);
  return fitting
    .toSorted(
      ([one, { required }], [other, { required: isNeeded }]) =>
        needed(required) - needed(isNeeded) || rank(one) - rank(other),
    )
    .slice(0, MAX_FITTING)
    .map(([name]) => ({ word: 'list', options: [['of', name]] }));
}

/** A member of an object that may have a value of the other version, and the conversions of the value. */
export interface BoxForm {
  readonly inner: string;
  readonly conversions: readonly Conversion[];
}

/**
 * The members of an object that may have what is a single value in the other version: the likeliest first; none if neither name nor type
 * shows one. V2 has the object; if `isTaken`, V1 has it, and V2 the value.
 */
export function boxForms(plain: NamedShape, { shape: box }: NamedShape, isTaken = false): readonly BoxForm[] {
  if (!isScalar(plain.shape) || box.members.size === 0 || [...box.types].some((type) => type !== 'object'))
    return [];
  const isAmount = isMoney(box);
  const names = ['amount', ...VALUE_NAMES];
  const own = new Set(wordsOf(plain.name).map(singular));
  const fitting = [...box.members].flatMap(([inner, { shape }]) => {
    const words = wordsOf(inner);
    // The currency of an amount is not the amount, although a number could be a text there.
    if (isAmount && words.includes('currency')) return [];
    const last = words.findLastIndex((word) => !UNITS.has(word) && word !== 'in');
    const isOwn = words.slice(0, last + 1).every((word) => own.has(singular(word)));
    const part = { name: inner, shape };
    const [from, to] = isTaken ? [part, plain] : [plain, part];
    const forms = isScalar(shape) ? valueForms(from, to, isAmount) : [];
    const at = isOwn ? 0 : names.indexOf(words[last] ?? '');
    return forms.length === 0 ? [] : [{ at, forms: forms.map((all) => ({ inner, conversions: all })) }];
  });
  const all = fitting
    .filter(({ at }) => at >= 0 || fitting.length === 1)
    .toSorted((one, other) => one.at - other.at)
    .flatMap(({ forms }) => forms);
  // A number is not likely to be a name where another member has numbers.
  const isQuoted = ({ conversions: own }: BoxForm): boolean => own.some(({ word }) => word === 'quote');
  return (all.every(isQuoted) ? all : all.filter((form) => !isQuoted(form))).slice(0, MAX_FITTING);
}

/** True for an object that has an amount and its currency. */
export function isMoney({ members }: Shape): boolean {
  return [...members.keys()].some((name) => wordsOf(name).includes('currency'));
}

/** The conversions that may lead from a value to that of V2: the likeliest first. An amount of money may be in another unit. */
function valueForms(
  old: NamedShape,
  young: NamedShape,
  isAmount: boolean,
): readonly (readonly Conversion[])[] {
  const plain = conversions(old, young);
  if (!isCompatible(old.shape, young.shape) && plain.length === 0) return [];
  const isWhole = [...young.shape.types].join(' ') === 'integer';
  if (!isAmount || !isWhole || plain.some(({ word }) => word !== 'unquote')) return [plain];
  const scaled = [
    ...plain,
    { word: 'scale', options: [['by', 100] as const, ['digits', 2] as const] } as const,
  ];
  // What is whole in V1 may be in minor units already.
  return old.shape.types.has('integer') ? [plain, scaled] : [scaled, plain];
}

function isScalar({ types, members }: Shape): boolean {
  return types.size > 0 && members.size === 0 && !types.has('array') && !types.has('object');
}

/** The forms between an object with any members and a list of pairs. */
function pairForms({ members, rest }: Shape, element: Shape): readonly ListForm[] {
  if (members.size > 0 || element.members.size < 2) return [];
  const names = [...element.members.keys()];
  const isText = (name: string): boolean => element.members.get(name)?.shape.types.has('string') !== false;
  const last = (name: string): string => wordsOf(name).at(-1) ?? '';
  const name = KEY_NAMES.map((word) => names.find((one) => last(one) === word && isText(one))).find(
    (one) => one !== undefined && last(one) !== 'value',
  );
  const others = names.filter((one) => one !== name);
  const value =
    ['value', ...VALUE_NAMES]
      .map((word) => others.find((one) => last(one) === word))
      .find((one) => one !== undefined) ?? (others.length === 1 ? others[0] : undefined);
  const shape = value === undefined ? undefined : element.members.get(value)?.shape;
  if (name === undefined || value === undefined || shape === undefined) return [];
  if (rest !== undefined && !isCompatible(rest, shape)) return [];
  return [
    {
      word: 'entries',
      options: [
        ['name', name],
        ['value', value],
      ],
    },
  ];
}

/** The words in descriptions for the separators in a text with several values. */
const SEPARATED: readonly (readonly [sign: string, pattern: RegExp])[] = [
  [
    ',',
    /\bcommas?[- ](?:separated|delimited)|(?:separated|delimited|joined|divided) (?:by|with) (?:an? )?commas?\b/i,
  ],
  [
    ';',
    /\bsemi-?colons?[- ](?:separated|delimited)|(?:separated|delimited|joined|divided) (?:by|with) (?:an? )?semi-?colons?\b/i,
  ],
  [
    '|',
    /\b(?:pipes?|vertical bars?)[- ](?:separated|delimited)|(?:separated|delimited|joined|divided) (?:by|with) (?:an? )?(?:pipes?|vertical bars?)\b/i,
  ],
  [
    ' ',
    /\b(?:spaces?|blanks?|white ?space)[- ](?:separated|delimited)|(?:separated|delimited|joined|divided) (?:by|with) (?:an? )?(?:spaces?|blanks?|white ?space)\b/i,
  ],
];

function textForms(plain: NamedShape, list: NamedShape, element: Shape): readonly ListForm[] {
  const isText = plain.shape.types.has('string') && isScalar(plain.shape);
  if (!isText || !isScalar(element) || !element.types.has('string')) return [];
  // A value with a format, such as a date, is a single value, and so is one of an enumeration.
  if (plain.shape.format !== '' || plain.shape.values.length > 0) return [];
  const sign = separatorIn(plain, list) ?? ',';
  return [{ word: 'list', options: [['with', sign]] }];
}

/** True if a text probably contains several values: a description or an example shows it, or its name is a plural. */
function isSeparated(plain: NamedShape, list: NamedShape): boolean {
  const last = wordsOf(plain.name).at(-1) ?? '';
  return separatorIn(plain, list) !== undefined || (isPlural(last) && !/(?:us|is)$/.test(last));
}

/** The separator of several values in one text, as descriptions or examples show it. */
export function separatorIn(plain: NamedShape, { shape: list }: NamedShape): string | undefined {
  const described = SEPARATED.find(
    ([, pattern]) => pattern.test(plain.shape.text) || pattern.test(list.text),
  );
  if (described !== undefined) return described[0];
  const shown = ['example', 'default'].map((word) => keywordIn(plain.shape.constraints, word));
  const text = shown.find((one) => typeof one === 'string');
  const pattern = keywordIn(plain.shape.constraints, 'pattern');
  const isBetween = (sign: string): boolean => {
    const escaped = sign === '|' ? String.raw`\|` : sign;
    // At the start of a group, which may be repeated: `^\w+(,\w+)*$`. In a class, a separator is no evidence.
    if (typeof pattern === 'string' && pattern.includes(`(${escaped}`)) return true;
    if (typeof pattern === 'string' && pattern.includes(`(?:${escaped}`)) return true;
    if (typeof text !== 'string') return false;
    const parts = text.split(sign);
    // Texts with blanks are sentences, in which a comma separates no values.
    return parts.length > 1 && parts.every((part) => /^\S+$/.test(part.trim()));
  };
  return [',', ';', '|'].find(isBetween);
}

/** The evidence for a form of a list, for a person. */
export function listEvidence(isOne: boolean, old: NamedShape, young: NamedShape): string {
  const form = isOne ? undefined : listForms(old, young).find((one) => one !== 'one');
  if (form === undefined) return 'the types show it';
  const [word] = form.options[0] ?? [''];
  if (word === 'name') return 'each element has a member for the name and one for the value';
  if (word === 'of') return 'each element has a member of that type';
  const [plain, list] = isListOnly(young.shape) ? [old, young] : [young, old];
  return separatorIn(plain, list) === undefined
    ? 'the types show it, and the name is a plural'
    : 'a description or an example shows what separates the texts';
}
