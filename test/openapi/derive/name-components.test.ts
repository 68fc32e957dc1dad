/* oxlint-disable typescript/no-explicit-any -- a schema is a tree of anything */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { convertedSchema, convertedValue } from '../../../src/openapi/derive/name-components.ts';
import type { JsonObject } from '../../../src/openapi/description.ts';
import { type Conversion, converterOf } from '../../../src/rules/kinds/convert.ts';
import { dateConversion } from '../../../src/rules/kinds/date.ts';
import { restoring } from '../../support/restoring.ts';
import { fuzzRuns } from '../../support/fuzz.ts';

const scale = (by: string): Conversion => ({ rule: 'scale', by, digits: 2 });
const date = (from: string, to: string): Conversion => dateConversion(from, to);
const unprefix: Conversion = { rule: 'unprefix', with: 'inv_' };
const prefix: Conversion = { rule: 'prefix', with: 'a.b' };
const [quote, unquote]: Conversion[] = [{ rule: 'quote' }, { rule: 'unquote' }];

const PARTS: Readonly<Record<string, JsonObject>> = {
  Money: { type: 'integer', minimum: 0, description: 'Cents' },
  Id: { type: 'string', pattern: '^inv_[0-9]+$', readOnly: true },
};

const follow = (schema: unknown): unknown =>
  typeof schema === 'object' && schema !== null && '$ref' in schema ? PARTS[String(schema.$ref)] : schema;

const text = (more: JsonObject = {}): JsonObject => ({ type: 'string', ...more });
const number = (more: JsonObject = {}): JsonObject => ({ type: 'number', ...more });
const whole = (more: JsonObject = {}): JsonObject => ({ type: 'integer', ...more });
const cent = scale('0.01');
const DAY_TIME = text({ format: 'date-time' });
const DIGITS = '^[0-9]+$';
const WHOLE_TEXT = text({ pattern: '^-?[0-9]+$' });
const OLD_30 = { exclusiveMinimum: true, nullable: true };
const OR_NULL = ['integer', 'null'];
const NUMBER_OR_NULL = ['number', 'null'];

test.each<readonly [title: string, conversion: Conversion | undefined, v2: JsonObject, v1: JsonObject]>([
  [
    'bounds of a smaller unit',
    cent,
    whole({ minimum: 50, maximum: 1e5 }),
    number({ minimum: 0.5, maximum: 1e3 }),
  ],
  [
    'bounds of a larger unit',
    scale('100'),
    number({ exclusiveMinimum: 0.5 }),
    number({ exclusiveMinimum: 50 }),
  ],
  ['whole numbers stay whole', scale('100'), whole({ multipleOf: 5 }), whole({ multipleOf: 500 })],
  ['a step that floats do not have is left out', cent, whole({ multipleOf: 5 }), number()],
  ['bounds of OpenAPI 3.0', cent, whole({ minimum: 100, ...OLD_30 }), number({ minimum: 1, ...OLD_30 })],
  [
    'listed values, and null',
    cent,
    { type: OR_NULL, enum: [100, 250, null], default: 100 },
    { type: NUMBER_OR_NULL, enum: [1, 2.5, null], default: 1 },
  ],
  ['the only value', cent, { const: 1050, examples: [5] }, number({ const: 10.5, examples: [0.05] })],
  ['a reference', cent, { $ref: 'Money' }, number({ minimum: 0, description: 'Cents' })],
  [
    'parts that all apply',
    cent,
    { allOf: [{ $ref: 'Money' }, { maximum: 900 }] },
    number({ minimum: 0, maximum: 9, description: 'Cents' }),
  ],
  [
    'an alternative to null',
    cent,
    { anyOf: [{ $ref: 'Money' }, { type: 'null' }] },
    { type: NUMBER_OR_NULL, minimum: 0, description: 'Cents' },
  ],
  [
    'a pattern and lengths without the text',
    unprefix,
    text({ pattern: '^inv_[0-9]+$', minLength: 5, maxLength: 20 }),
    text({ pattern: DIGITS, minLength: 1, maxLength: 16 }),
  ],
  ['a read-only member', unprefix, { $ref: 'Id' }, text({ pattern: DIGITS, readOnly: true })],
  [
    'a quantifier behind the text is about its last character',
    unprefix,
    text({ pattern: '^inv_+$' }),
    text(),
  ],
  ['an alternative may have another beginning', unprefix, text({ pattern: '^inv_[0-9]+$|^old$' }), text()],
  ['listed texts', unprefix, text({ enum: ['inv_1', 'inv_2'] }), text({ enum: ['1', '2'] })],
  [
    'a text with special characters',
    prefix,
    text({ pattern: '^[0-9]{2}$', maxLength: 2 }),
    text({ pattern: '^a\\.b[0-9]{2}$', maxLength: 5 }),
  ],
  ['digits are a whole number', unquote, text({ pattern: DIGITS, maxLength: 9 }), whole()],
  [
    'other texts are a number',
    unquote,
    text({ pattern: '^[0-9.]+$', enum: ['1.5'] }),
    number({ enum: [1.5] }),
  ],
  ['a whole number as text', quote, whole({ minimum: 1, maximum: 9 }), WHOLE_TEXT],
  [
    'a number as text',
    quote,
    number({ enum: [1, 2], deprecated: true }),
    text({ enum: ['1', '2'], deprecated: true }),
  ],
  [
    'a day',
    date('datetime', 'date'),
    { ...DAY_TIME, example: '2026-01-31T00:00:00Z' },
    text({ format: 'date', example: '2026-01-31' }),
  ],
  [
    'its own format',
    date('datetime', 'DD/MM/YYYY'),
    DAY_TIME,
    text({ pattern: String.raw`^(?:\d{2})\/(?:\d{2})\/(?:\d{4})$` }),
  ],
  [
    'milliseconds',
    date('epoch', 'epoch-ms'),
    whole({ minimum: 0, maximum: 2e9 }),
    whole({ minimum: 0, maximum: 2e12 }),
  ],
  ['seconds that were a text', date('datetime', 'epoch'), { ...DAY_TIME, maxLength: 20 }, whole()],
])('%s', (_, conversion, v2, v1) => {
  if (conversion === undefined) throw new Error('there is no conversion');
  expect(convertedSchema(v2, conversion, follow)).toEqual(v1);
});

test('the derivation of a schema within itself ends', () => {
  const own: JsonObject = { type: 'integer', maximum: 5 };
  const schema = { allOf: [own] };
  Object.assign(own, { allOf: [schema] });
  expect(convertedSchema(schema, scale('0.01'), (part) => part)).toEqual({ type: 'number', maximum: 0.05 });
});

/** Whether a value is one of a schema, by the keywords that conversions know. */
function isOf(schema: any, value: unknown): boolean {
  const kinds = {
    integer: Number.isInteger(value),
    number: typeof value === 'number',
    string: typeof value === 'string',
  };
  if (!kinds[schema.type as keyof typeof kinds]) return false;
  if (schema.enum !== undefined && !schema.enum.includes(value)) return false;
  if (typeof value === 'number')
    return value >= (schema.minimum ?? value) && value <= (schema.maximum ?? value);
  const text = String(value);
  const length = Array.from(text).length;
  if (length < (schema.minLength ?? 0) || length > (schema.maxLength ?? length)) return false;
  return schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(text);
}

const cents = fc.integer({ min: -100_000, max: 100_000 });
const bounded = fc
  .tuple(cents, cents)
  .map(([one, other]) => ({ type: 'integer', minimum: Math.min(one, other), maximum: Math.max(one, other) }));
const word = fc.constantFrom('inv_', 'a.b-', '(é)', 'x/$');
const sized = fc
  .record({ minLength: fc.nat(8), maxLength: fc.integer({ min: 5, max: 16 }) })
  .map((sizes) => ({ type: 'string', ...sizes }));

test('a value is valid in V1 exactly if its conversion is valid in V2', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.record({
          conversion: fc.constantFrom(scale('100'), scale('0.5'), scale('8')),
          v2: bounded,
          v1: cents,
        }),
        fc
          .tuple(word, sized, fc.string({ unit: 'grapheme', maxLength: 12 }))
          .map(([text, v2, v1]) => ({ conversion: { rule: 'prefix', with: text } as Conversion, v2, v1 })),
        fc.tuple(word, fc.nat(99_999)).map(([text, number]) => ({
          conversion: { rule: 'prefix', with: text } as Conversion,
          v2: {
            type: 'string',
            pattern: `^${text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)}[1-4]+$`,
          },
          v1: String(number),
        })),
      ),
      ({ conversion, v2, v1 }) => {
        const derived = convertedSchema(v2, restoring(conversion), (part) => part);
        // The gateway sends V2 what the rule makes of V1's value.
        const sent: unknown = JSON.parse(converterOf(conversion)(JSON.stringify(v1)) ?? 'null');
        expect([derived, v1, isOf(derived, v1)]).toEqual([
          derived,
          v1,
          isOf(v2, sent) ||
            (v2.type === 'integer' && !Number.isInteger(sent) && isOf({ ...v2, type: 'number' }, sent)),
        ]);
      },
    ),
    { numRuns: fuzzRuns(2000) },
  );
});

test('a value that cannot be converted stays', () => {
  for (const value of ['x', null, true, [1], { a: 1 }])
    expect(convertedValue(value, scale('100'))).toEqual(value);
});
