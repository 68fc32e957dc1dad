import { stringText } from '../../json/names.ts';
import { type Conversion, converterOf } from '../../rules/conversion.ts';
import { isNumeric } from '../../rules/date-format.ts';
import { isObject, type JsonObject } from '../description.ts';

/** Parts of parts of a schema that are read at most: it may refer to itself. */
const MAX_DEPTH = 8;

/** Keywords that a conversion says nothing about. */
const KEPT = ['title', 'description', 'deprecated', 'readOnly', 'writeOnly', 'nullable'] as const;

const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const;

/** A pattern that only whole numbers have, such as `^[0-9]+$`. */
const WHOLE = /^\^(?:-\?)?(?:\[[01]-9\]|\\d)(?:[*+]|\{\d+(?:,\d*)?\})?(?:(?:\[0-9\]|\\d)[*+])?\$$/;

/** Characters with a meaning in a pattern. */
const SPECIAL = /[\\^$.*+?()[\]{}|/]/g;

/**
 * The schema of the values that a conversion makes of those of a schema: their kind, bounds, lengths, pattern, listed values and
 * examples. What no conversion tells (a bound of a text that becomes a number) is left out: a looser schema refuses nobody.
 * `follow` leads from a reference to its schema.
 */
export function convertedSchema(
  schema: unknown,
  conversion: Conversion,
  follow: (schema: unknown) => unknown,
): JsonObject {
  const { keywords, isNullable } = readSchema(schema, follow, MAX_DEPTH);
  const type = typeOf(keywords);
  const kind = kindOf(conversion, type, keywords);
  const made: JsonObject = {
    ...picked(keywords, KEPT),
    ...kind,
    ...(isNullable && keywords['nullable'] !== true ? { type: [kind['type'], 'null'] } : {}),
    ...boundsOf(conversion, type, keywords),
    ...textOf(conversion, keywords),
  };
  const convert = (value: unknown): unknown => convertedValue(value, conversion);
  for (const word of ['const', 'default', 'example'])
    if (Object.hasOwn(keywords, word)) Object.assign(made, { [word]: convert(keywords[word]) });
  for (const word of ['enum', 'examples']) {
    const values = keywords[word];
    if (Array.isArray(values)) Object.assign(made, { [word]: values.map(convert) });
  }
  return made;
}

/** A value of a description, converted; one that cannot be stays as it is, as it does in traffic. */
export function convertedValue(value: unknown, conversion: Conversion): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const converted = converterOf(conversion)(JSON.stringify(value));
  if (converted === undefined) return value;
  return converted.startsWith('"') ? stringText(converted.slice(1, -1)) : Number(converted);
}

interface ReadSchema {
  readonly keywords: JsonObject;
  readonly isNullable: boolean;
}

/** The keywords of a schema with those of the parts that all apply, and of the only alternative to null. */
function readSchema(schema: unknown, follow: (schema: unknown) => unknown, depth: number): ReadSchema {
  const described = follow(schema);
  if (!isObject(described) || depth === 0) return { keywords: {}, isNullable: false };
  const { allOf, anyOf, oneOf, type, nullable, enum: listed } = described;
  const parts: unknown[] = Array.isArray(allOf) ? [...allOf] : [];
  let isNullable = nullable === true || (Array.isArray(type) && type.includes('null'));
  if (Array.isArray(listed) && listed.includes(null)) isNullable = true;
  for (const alternatives of [anyOf, oneOf]) {
    if (!Array.isArray(alternatives)) continue;
    const others = alternatives.filter((part) => !isNull(follow(part)));
    if (others.length === alternatives.length) continue;
    isNullable = true;
    if (others.length === 1) parts.push(others[0]);
  }
  const keywords: JsonObject = {};
  for (const part of parts) Object.assign(keywords, readSchema(part, follow, depth - 1).keywords);
  return { keywords: { ...keywords, ...described }, isNullable };
}

function isNull(schema: unknown): boolean {
  return isObject(schema) && (schema['type'] === 'null' || schema['const'] === null);
}

function typeOf({ type }: JsonObject): unknown {
  return Array.isArray(type) ? type.find((one) => one !== 'null') : type;
}

/** The kind of the values that a conversion makes. */
function kindOf(conversion: Conversion, type: unknown, { pattern, format }: JsonObject): JsonObject {
  switch (conversion.rule) {
    case 'scale':
      return { type: type === 'integer' && Number.isInteger(Number(conversion.by)) ? type : 'number' };
    case 'quote':
    case 'prefix':
    case 'unprefix':
      return { type: 'string' };
    case 'unquote': {
      const isWhole = typeof pattern === 'string' && WHOLE.test(pattern);
      return { type: isWhole || format === 'int32' || format === 'int64' ? 'integer' : 'number' };
    }
    case 'date': {
      const { to } = conversion;
      if (isNumeric(to)) return { type: 'integer' };
      if (to === 'date') return { type: 'string', format: 'date' };
      if (to === 'datetime') return { type: 'string', format: 'date-time' };
      return { type: 'string', pattern: patternOfDate(to) };
    }
  }
}

/** The pattern of dates in a format such as `DD/MM/YYYY`. */
function patternOfDate(format: string): string {
  const fields = format.replaceAll(SPECIAL, String.raw`\$&`);
  return `^${fields.replaceAll(/YYYY|MM|DD|HH|mm|ss/g, (field) => `[0-9]{${field.length}}`)}$`;
}

/** Bounds of numbers that stay numbers: every factor is above zero, so that the order stays. */
function boundsOf(conversion: Conversion, type: unknown, keywords: JsonObject): JsonObject {
  const isNumber =
    conversion.rule === 'scale' ||
    (conversion.rule === 'date' && isNumeric(conversion.from) && isNumeric(conversion.to));
  if (!isNumber || type === 'string') return {};
  const bounds: JsonObject = {};
  for (const word of BOUNDS) {
    const bound = keywords[word];
    // In OpenAPI 3.0 it is true or false (draft 5 of JSON Schema), and is about the bound beside it.
    if (typeof bound === 'boolean') Object.assign(bounds, { [word]: bound });
    if (typeof bound === 'number') Object.assign(bounds, { [word]: convertedValue(bound, conversion) });
  }
  const step = convertedValue(keywords['multipleOf'], conversion);
  // Validators divide by floats: 0.15 is no multiple of 0.05 to many of them.
  const isStep = conversion.rule === 'scale' && typeof step === 'number' && Number.isInteger(step);
  return isStep ? { ...bounds, multipleOf: step } : bounds;
}

/** Lengths and pattern of a text that stays a text, and of a number that becomes one. */
function textOf(conversion: Conversion, keywords: JsonObject): JsonObject {
  if (conversion.rule === 'quote') return typeOf(keywords) === 'integer' ? { pattern: '^-?[0-9]+$' } : {};
  if (conversion.rule !== 'prefix' && conversion.rule !== 'unprefix') return {};
  const { minLength, maxLength, pattern } = keywords;
  // Lengths count code points (JSON Schema Validation §6.3.1).
  const length = Array.from(conversion.with).length * (conversion.rule === 'prefix' ? 1 : -1);
  const own = typeof pattern === 'string' ? patternBehind(pattern, conversion) : undefined;
  const least = typeof minLength === 'number' ? Math.max(0, minLength + length) : 0;
  const most = typeof maxLength === 'number' ? Math.max(0, maxLength + length) : undefined;
  return {
    ...(least > 0 ? { minLength: least } : {}),
    ...(most === undefined ? {} : { maxLength: most }),
    ...(own === undefined ? {} : { pattern: own }),
  };
}

/** The pattern with the text in front, or without it; undefined where the pattern does not tell. */
function patternBehind(
  pattern: string,
  { rule, with: text }: Extract<Conversion, { rule: 'prefix' | 'unprefix' }>,
): string | undefined {
  // An alternative may have another beginning.
  if (!pattern.startsWith('^') || pattern.includes('|')) return undefined;
  const rest = pattern.slice(1);
  const escaped = text.replaceAll(SPECIAL, String.raw`\$&`);
  if (rule === 'prefix') return `^${escaped}${rest}`;
  const start = [text, escaped].find((one) => rest.startsWith(one));
  if (start === undefined) return undefined;
  const behind = rest.slice(start.length);
  // A quantifier would be about the last character of the prefix.
  return /^[*+?{]/.test(behind) ? undefined : `^${behind}`;
}

function picked(from: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}
