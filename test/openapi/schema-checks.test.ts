import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/openapi/description.ts';
import { type CompiledSchema, SchemaChecks, TooMuchWork } from '../../src/openapi/schema-checks.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { words } from '../support/rows.ts';

/* oxlint-disable typescript/no-explicit-any -- schemas and bodies are trees of anything */

interface Compiled {
  readonly check: CompiledSchema;
  readonly checks: SchemaChecks;
}

function compile(schema: unknown, schemas: JsonObject = {}, openapi = '3.1.0'): Compiled {
  const checks = new SchemaChecks({ openapi, components: { schemas } });
  return { check: checks.compile(schema, '#'), checks };
}

function isValid(schema: unknown, value: unknown, schemas: JsonObject = {}, openapi = '3.1.0'): boolean {
  return compile(schema, schemas, openapi).check(value, 1_000_000).isValid;
}

const NAMES = ['a', 'b', 'ab'] as const;

const arbitraryValue = fc.letrec<{ readonly any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.constantFrom<unknown>(null, true, false, 0, 1, 2, 3, 0.3, -1, 'a', 'ab', 'b', '', '😀'),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any;

/** Keywords that are drawn more often, because the least is known of them. */
const OFTEN = words`pattern pattern patternProperties additionalProperties not oneOf properties unevaluatedProperties`;

/** Schemas with every keyword that is checked, but formats; `pattern` makes the patterns of texts and of names. */
function arbitrarySchema(pattern: fc.Arbitrary<string>): fc.Arbitrary<any> {
  return fc.letrec<{ readonly any: any }>((tie) => {
    const count = fc.integer({ min: 0, max: 3 });
    const several = fc.array(tie('any'), { minLength: 1, maxLength: 3 });
    const members = fc.dictionary(fc.constantFrom(...NAMES), tie('any'), {
      maxKeys: 3,
      noNullPrototype: true,
    });
    const keywords = {
      type: fc.oneof(
        fc.constantFrom('null', 'boolean', 'object', 'array', 'number', 'integer', 'string'),
        fc.uniqueArray(fc.constantFrom('null', 'object', 'integer', 'string', 'array'), {
          minLength: 1,
          maxLength: 4,
        }),
      ),
      const: arbitraryValue,
      enum: fc.array(arbitraryValue, { minLength: 1, maxLength: 3 }),
      minimum: count,
      maximum: count,
      exclusiveMinimum: count,
      exclusiveMaximum: count,
      multipleOf: fc.constantFrom(1, 2, 0.5),
      minLength: count,
      maxLength: count,
      pattern,
      required: fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 2 }),
      minProperties: count,
      maxProperties: count,
      propertyNames: tie('any'),
      dependentRequired: fc.dictionary(fc.constantFrom(...NAMES), fc.uniqueArray(fc.constantFrom(...NAMES)), {
        noNullPrototype: true,
      }),
      dependentSchemas: members,
      properties: members,
      patternProperties: fc.dictionary(pattern, tie('any'), { maxKeys: 2, noNullPrototype: true }),
      additionalProperties: tie('any'),
      minItems: count,
      maxItems: count,
      uniqueItems: fc.boolean(),
      prefixItems: several,
      items: tie('any'),
      contains: tie('any'),
      minContains: count,
      maxContains: count,
      allOf: several,
      anyOf: several,
      oneOf: several,
      not: tie('any'),
      if: tie('any'),
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: tie('any'),
      else: tie('any'),
      unevaluatedItems: tie('any'),
      unevaluatedProperties: tie('any'),
      $ref: fc.constantFrom('#/components/schemas/One', '#/components/schemas/Two'),
    };
    return {
      any: fc.oneof(
        { maxDepth: 3, depthSize: 'small' },
        fc.boolean(),
        fc
          .uniqueArray(fc.constantFrom(...Object.keys(keywords), ...OFTEN), { maxLength: 4 })
          .chain((chosen) =>
            fc.record(
              Object.fromEntries(chosen.map((name) => [name, (keywords as any)[name] as fc.Arbitrary<any>])),
              { noNullPrototype: true },
            ),
          ),
      ),
    };
  }).any;
}

/** Components that do not refer to each other: a circle without an end is no schema. */
const COMPONENTS = {
  One: { type: ['object', 'string'], properties: { a: { type: 'integer' } } },
  Two: { anyOf: [{ required: ['b'] }, { type: 'array', items: { $ref: '#/components/schemas/One' } }] },
};

/** What the other validator says; undefined where its own code fails, which `unevaluatedProperties` within `oneOf` makes it do. */
function ajvOf(schema: any): (value: unknown) => boolean | undefined {
  const located = (part: unknown): any => JSON.parse(JSON.stringify(part).replaceAll('"#/', '"api#/'));
  const ajv = new Ajv2020({ strict: false, validateFormats: false, meta: false, validateSchema: false });
  ajv.addSchema({ $id: 'api', components: { schemas: located(COMPONENTS) } });
  const validate = ajv.compile<any>(located(schema));
  return (value) => {
    try {
      return validate(value);
    } catch {
      return undefined;
    }
  };
}

/**
 * False where the other validator is wrong: what `contains` matches is evaluated (JSON Schema 2020-12 core §11.2), an empty array
 * contains nothing, beside `prefixItems` also, and an alternative that refuses the array evaluates none of its elements (§7.7.1.2).
 */
function isJudgedCorrectly(schema: unknown): boolean {
  const text = JSON.stringify(schema);
  if (text.includes('"contains"')) return !/"(?:unevaluatedItems|prefixItems)"/.test(text);
  return !text.includes('"unevaluatedItems"') || !/"(?:anyOf|oneOf|if)"|\/Two"/.test(text);
}

test.each([
  [{ anyOf: [{ required: ['b'] }, { items: { type: 'string' } }] }],
  [{ anyOf: [{ items: { type: 'string' } }, { required: ['b'] }] }],
  [{ oneOf: [{ required: ['b'] }, { prefixItems: [{ type: 'string' }] }] }],
  [{ if: { items: { type: 'string' } } }],
  [{ if: true, else: { items: true } }],
  [{ $ref: '#/components/schemas/Two' }],
  [{ $ref: '#/components/schemas/Two', additionalProperties: { patternProperties: { '(?=)a': false } } }],
])('an alternative that refuses an array evaluates none of its elements: %j', (alternatives) => {
  const schema = { ...alternatives, unevaluatedItems: { type: 'null' } };
  expect([[5], [null]].map((value) => isValid(schema, value, COMPONENTS))).toEqual([false, true]);
});

test('elements that match contains are evaluated', () => {
  const schema = { contains: { const: 1 }, unevaluatedItems: { type: 'string' } };
  expect(
    [
      [1, 'a'],
      [1, 2],
    ].map((value) => isValid(schema, value)),
  ).toEqual([true, false]);
  expect(isValid({ contains: {}, prefixItems: [{}] }, [])).toBe(false);
});

test('random schemas of all keywords accept what another validator accepts', () => {
  const runs = fuzzRuns(400, 200);
  let accepted = 0;
  let refused = 0;
  fc.assert(
    fc.property(
      arbitrarySchema(fc.constantFrom('a', '^b', '^.$')).filter(isJudgedCorrectly),
      fc.array(arbitraryValue, { minLength: 4, maxLength: 4 }),
      (schema, values) => {
        const { check } = compile(schema, COMPONENTS);
        const isAccepted = ajvOf(schema);
        for (const value of values) {
          const expected = isAccepted(value);
          if (expected === undefined) continue;
          if (expected) accepted += 1;
          else refused += 1;
          const outcome = check(value, 1_000_000);
          expect([schema, value, outcome.isValid]).toEqual([schema, value, expected]);
          expect(outcome.faults.length > 0).toBe(!expected);
        }
      },
    ),
    { numRuns: runs },
  );
  expect(Math.min(accepted, refused)).toBeGreaterThan(runs / 2);
});

test('a keyword that is left out never makes a value invalid, within any other keywords', () => {
  const runs = fuzzRuns(1_500, 400);
  let left = 0;
  fc.assert(
    fc.property(
      // The patterns with a look-ahead match the same texts, and cannot be checked here.
      arbitrarySchema(fc.constantFrom('(?=)a', '^b', '(?=)^.$')).filter(isJudgedCorrectly),
      fc.array(arbitraryValue, { minLength: 4, maxLength: 4 }),
      (schema, values) => {
        const { check, checks } = compile(schema, COMPONENTS);
        if (checks.leftOut.length === 0) return;
        left += 1;
        const isAccepted = ajvOf(schema);
        for (const value of values)
          if (isAccepted(value) === true)
            expect([schema, value, check(value, 1_000_000).isValid]).toEqual([schema, value, true]);
      },
    ),
    { numRuns: runs },
  );
  expect(left).toBeGreaterThan(runs / 75);
});

test.each([
  [{ pattern: '(?=a)' }, ['#/pattern'], '(?=a)'],
  [{ type: 'string', allOf: [{ pattern: '(a)\\1' }] }, ['#/allOf/0/pattern'], 'back to a group'],
  [
    { properties: { a: { $ref: 'other.yaml#/A' } } },
    ['#/properties/a/$ref'],
    'leads to no schema of this description',
  ],
  [{ $ref: '#/components/schemas/None' }, ['#/$ref'], 'leads to no schema of this description'],
  [{ $ref: '#/components/schemas/Self' }, ['#/components/schemas/Self/$ref'], 'leads back to itself'],
  [
    { $ref: '#/components/schemas/Circle' },
    ['#/components/schemas/Circle/allOf/0/$ref'],
    'leads back to itself',
  ],
  [{ properties: { a: { minLength: '3' } } }, ['#/properties/a/minLength'], 'it is no number'],
  [{ type: 'file' }, ['#/type'], '"file" is no type of JSON'],
  [{ properties: { a: { required: true } } }, ['#/properties/a/required'], 'it is no list of names'],
  [
    { patternProperties: { '(?=a)/': {} }, additionalProperties: false },
    ['#/patternProperties/(?=a)~1', '#/additionalProperties'],
    'looks ahead',
  ],
  [{ items: [{ type: 'string' }] }, ['#/items'], 'it is no schema'],
  [{ $dynamicRef: '#x' }, ['#/$dynamicRef'], 'does not follow it'],
])('in %j one keyword is left out and named; the rest is checked', (schema, places, why) => {
  const schemas = {
    Self: { $ref: '#/components/schemas/Self', maxProperties: 1 },
    Circle: { allOf: [{ $ref: '#/components/schemas/Circle' }], maxProperties: 1 },
  };
  const { check, checks } = compile({ ...schema, minProperties: 1 }, schemas);
  expect(checks.leftOut.map(({ at }) => at)).toEqual(places);
  expect(checks.leftOut[0]?.why).toContain(why);
  expect(check({}, 10_000).isValid).toBe(false);
});

describe('references', () => {
  const schemas = {
    Named: {
      $id: 'https://a.example/named',
      $defs: { inner: { type: 'string' } },
      properties: { x: { $ref: '#/$defs/inner' } },
    },
    Anchor: { $anchor: 'there', type: 'integer' },
    'With/slash': { type: 'boolean' },
    Root: { $id: 'https://a.example/root', $ref: '#/components/schemas/Anchor' },
    Tree: {
      type: 'object',
      properties: { child: { $ref: '#/components/schemas/Tree' } },
      additionalProperties: false,
    },
  };
  test.each([
    ['https://a.example/named', { x: 'y' }, { x: 1 }],
    ['https://a.example/named#/$defs/inner', 'y', 1],
    ['#there', 1, 'y'],
    ['#/components/schemas/With~1slash', true, 1],
    ['#/components/schemas/With%7E1slash', true, 1],
    ['#/components/schemas/Root', 1, 'y'],
    ['#/components/schemas/Tree', { child: { child: {} } }, { child: { child: { x: 1 } } }],
  ])('%s', ($ref, valid, invalid) => {
    expect([valid, invalid].map((value) => isValid({ $ref }, value, schemas))).toEqual([true, false]);
    expect(compile({ $ref }, schemas).checks.leftOut).toEqual([]);
  });
});

/** The plain model of a view: which members it has, of which type, and which of them a request needs. */
interface View {
  readonly types: ReadonlyMap<string, string>;
  readonly readOnly: ReadonlySet<string>;
  readonly required: ReadonlySet<string>;
}

function isValidByModel(
  { types, readOnly, required }: View,
  body: Readonly<Record<string, unknown>>,
): boolean {
  const isTyped = Object.entries(body).every(
    ([name, value]) => types.get(name) === typeof value || !types.has(name),
  );
  return isTyped && [...required].every((name) => Object.hasOwn(body, name) || readOnly.has(name));
}

const VIEW_NAMES = ['id', 'name', 'size', 'note'] as const;

const arbitraryView = fc
  .record({
    types: fc.dictionary(fc.constantFrom(...VIEW_NAMES), fc.constantFrom('string', 'number'), {
      noNullPrototype: true,
    }),
    readOnly: fc.uniqueArray(fc.constantFrom(...VIEW_NAMES)),
    required: fc.uniqueArray(fc.constantFrom(...VIEW_NAMES)),
  })
  .map(({ types, readOnly, required }): View => {
    const known = new Map(Object.entries(types));
    return {
      types: known,
      readOnly: new Set(readOnly.filter((name) => known.has(name))),
      required: new Set(required),
    };
  });

/** A part of a view, at random within `allOf`, behind a reference, or both. */
type Placement = readonly ('allOf' | 'ref')[];

/** Builds the view as a schema: each type, each `readOnly` and each `required` in a branch of its own choice. */
function spread(
  { types, readOnly, required }: View,
  placements: readonly Placement[],
  openapi: string,
): { schema: unknown; schemas: Record<string, any> } {
  const schemas: Record<string, any> = {};
  let number = 0;
  const place = (schema: unknown): unknown => {
    const placement = placements[number % placements.length] ?? [];
    number += 1;
    return placement.reduce((inner, kind) => {
      if (kind === 'allOf') return { allOf: [{ description: 'a part' }, inner] };
      const name = `Part${Object.keys(schemas).length}`;
      schemas[name] = inner;
      return { $ref: `#/components/schemas/${name}` };
    }, schema);
  };
  const parts: unknown[] = [];
  for (const [name, type] of types) {
    const marked = readOnly.has(name);
    const member = marked ? { allOf: [{ type }, place({ readOnly: true })] } : { type };
    parts.push(place({ properties: { [name]: place(member) } }));
  }
  for (const name of required) parts.push(place({ required: [name] }));
  const turned = openapi === '3.1.0' ? parts.toReversed() : parts;
  return { schema: place({ type: 'object', allOf: turned.length === 0 ? [{}] : turned }), schemas };
}

test('a view spread over allOf and references is judged as the plain model judges it', () => {
  const runs = fuzzRuns(1_500, 600);
  const seen = { valid: 0, invalid: 0, saved: 0 };
  fc.assert(
    fc.property(
      arbitraryView,
      fc.array(fc.array(fc.constantFrom('allOf' as const, 'ref' as const), { maxLength: 3 }), {
        minLength: 1,
        maxLength: 5,
      }),
      fc.dictionary(fc.constantFrom(...VIEW_NAMES), fc.constantFrom<unknown>('x', 1), {
        noNullPrototype: true,
      }),
      fc.constantFrom('3.0.3', '3.1.0'),
      (view, placements, body, openapi) => {
        const { schema, schemas } = spread(view, placements, openapi);
        const expected = isValidByModel(view, body);
        seen[expected ? 'valid' : 'invalid'] += 1;
        if (expected && [...view.required].some((name) => !Object.hasOwn(body, name))) seen.saved += 1;
        const checked = compile(schema, schemas, openapi);
        expect([checked.checks.leftOut, checked.check(body, 1_000_000).isValid]).toEqual([[], expected]);
      },
    ),
    { numRuns: runs },
  );
  expect(Math.min(seen.valid, seen.invalid, seen.saved)).toBeGreaterThan(runs / 75);
});

describe('readOnly beside alternatives', () => {
  const id = { id: { type: 'string', readOnly: true } };
  test.each([
    [
      'required outside, readOnly in an alternative',
      { required: ['id'], oneOf: [{ properties: id }, { type: 'null' }] },
      {},
      true,
    ],
    [
      'readOnly outside, required in an alternative',
      { properties: id, anyOf: [{ required: ['id'] }] },
      {},
      true,
    ],
    [
      'two alternatives by their required members',
      { properties: id, oneOf: [{ required: ['id'] }, { required: ['name'] }] },
      { name: 'x' },
      true,
    ],
    ['not to be sent', { properties: id, not: { required: ['id'] } }, { id: 'x' }, false],
    ['not to be sent, and not sent', { properties: id, not: { required: ['id'] } }, {}, true],
    [
      'nullable reference',
      {
        properties: { id: { anyOf: [{ $ref: '#/components/schemas/Id' }, { type: 'null' }] } },
        required: ['id'],
      },
      {},
      true,
    ],
    [
      'readOnly in another alternative only',
      {
        oneOf: [
          { properties: { ...id, kind: { const: 1 } }, required: ['kind'] },
          { properties: { kind: { const: 2 } }, required: ['id', 'kind'] },
        ],
      },
      { kind: 2 },
      false,
    ],
    [
      'needed by another member',
      { properties: id, dependentRequired: { name: ['id'] } },
      { name: 'x' },
      true,
    ],
    ['within an element', { items: { properties: id, required: ['id', 'name'] } }, [{ name: 'x' }], true],
    ['not readOnly', { properties: { id: { readOnly: false } }, required: ['id'] }, {}, false],
  ])('%s', (_, schema, body, expected) => {
    expect(isValid(schema, body, { Id: { type: 'string', readOnly: true } })).toBe(expected);
  });
});

describe('nullable, in OpenAPI 3.0', () => {
  const schemas = { Text: { type: 'string' }, Maybe: { type: 'string', nullable: true } };
  test.each([
    [{ type: 'string', nullable: true }, true],
    [{ type: 'string', nullable: true, enum: ['a'] }, true],
    [{ type: 'string' }, false],
    [{ $ref: '#/components/schemas/Maybe' }, true],
    [{ $ref: '#/components/schemas/Text', nullable: true }, true],
    [{ allOf: [{ $ref: '#/components/schemas/Text' }], nullable: true }, true],
    [{ allOf: [{ $ref: '#/components/schemas/Text' }, { nullable: true }] }, true],
    [{ type: 'string', allOf: [{ nullable: true }] }, true],
    [{ allOf: [{ $ref: '#/components/schemas/Maybe' }, { type: 'string' }] }, false],
    [{ type: 'string', nullable: false }, false],
  ])('%j accepts null: %s', (schema, expected) => {
    expect(isValid(schema, null, schemas, '3.0.3')).toBe(expected);
    expect(isValid(schema, 7, schemas, '3.0.3')).toBe(false);
  });
});

test('OpenAPI 3.0 has flags for limits, and ignores what stands beside a reference', () => {
  const old = (schema: unknown, value: unknown): boolean =>
    isValid(schema, value, { One: { type: 'integer' } }, '3.0.0');
  expect([1, 2].map((value) => old({ minimum: 1, exclusiveMinimum: true }, value))).toEqual([false, true]);
  expect([1, 2].map((value) => old({ maximum: 2, exclusiveMaximum: true }, value))).toEqual([true, false]);
  expect(old({ $ref: '#/components/schemas/One', maximum: 1 }, 2)).toBe(true);
  expect(isValid({ $ref: '#/components/schemas/One', maximum: 1 }, 2, { One: { type: 'integer' } })).toBe(
    false,
  );
});

// Attacks: small bodies that a schema makes expensive. A step is some tens of nanoseconds.
describe('the work of a check is bounded', () => {
  const numbers = Array.from({ length: 5000 }, (_, index) => index);
  const nested = JSON.parse('['.repeat(7000) + ']'.repeat(7000)) as unknown;
  test('elements are found unique in linear time', () => {
    const { check } = compile({ uniqueItems: true });
    expect(check(numbers, 20_000).isValid).toBe(true);
    expect(check([...numbers, 7], 20_000).faults).toEqual([
      { pointer: '', at: '', reason: 'Elements 7 and 5000 are equal.' },
    ]);
    const objects = numbers.slice(0, 1000).map((index) => ({ index, a: 1 }));
    expect(check(objects, 20_000).isValid).toBe(true);
    expect(check([...objects, { a: 1, index: 5 }], 20_000).isValid).toBe(false);
  });

  test.each([
    [
      'alternatives within each other',
      { $ref: '#/components/schemas/Bush' },
      JSON.parse('{"a":'.repeat(40) + '1' + '}'.repeat(40)),
    ],
    ['a body that is nested deeply', { $ref: '#/components/schemas/List' }, nested],
    ['unique lists within each other', { $ref: '#/components/schemas/Unique' }, nested],
    ['a slow pattern', { pattern: '(x+x+)+y(.?){200}' }, 'x'.repeat(16_000)],
  ])('%s end with a word', (_, schema, value) => {
    const bush = { $ref: '#/components/schemas/Bush' };
    const schemas = {
      Bush: { anyOf: [{ properties: { a: bush } }, { properties: { a: bush }, minProperties: 1 }] },
      List: { items: { $ref: '#/components/schemas/List' } },
      Unique: { uniqueItems: true, items: { $ref: '#/components/schemas/Unique' } },
    };
    expect(() => compile(schema, schemas).check(value, 200_000)).toThrow(TooMuchWork);
  });
});

test('the first faults of a body with thousands are listed', () => {
  const { check } = compile({ additionalProperties: false });
  const body = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`m${index}`, 1]));
  expect(check(body, 1_000_000).faults).toHaveLength(64);
});
