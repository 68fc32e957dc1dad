import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMigration } from '../../../src/library/capture-gateway.ts';
import { answeredDraft, draftQuestions } from '../../../src/openapi/draft/draft-questions.ts';
import { printRuleBook, type ProposedRuleBook } from '../../../src/openapi/draft/print-rule-book.ts';
import { proposeRuleBook } from '../../../src/openapi/draft/propose-rule-book.ts';
import { soundDraft } from '../../../src/openapi/draft/sound-draft.ts';
import type { FoundRule } from '../../../src/openapi/draft/found-rules.ts';
import { scalarOf } from '../../../src/json/names.ts';
import { compilePlans, type Plan } from '../../../src/rewrite/plan.ts';
import type { Operation } from '../../../src/rules/rule-book.ts';
import type { RequestRule } from '../../../src/rules/rule.ts';
import { bytesOf, textOf } from '../../rewrite/notation.ts';
import { fuzzRuns, fuzzTime } from '../../support/fuzz.ts';
import { planOf } from '../../support/plan-of.ts';
import { randomPair } from '../random-pairs.ts';
import { bookIn } from '../../rules/reading.ts';

/** A schema without references: what a description means, however it is written. */
interface Meaning {
  /** A list with `null` in random pairs. */
  readonly type: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly items?: Meaning;
  readonly properties?: Readonly<Record<string, Meaning>>;
}

/** Few names, so that those of both versions meet often. */
const name = fc.constantFrom(
  ...'name customer customer_name customerName email customer_email mail amount amount_cents total due due_date dueDate delay_ms delay items item id note address city address_city fax urgent priority'.split(
    ' ',
  ),
);

const { object } = fc.letrec<{ schema: Meaning; list: Meaning; object: Meaning }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    fc.constantFrom<Meaning>(
      { type: 'string' },
      { type: 'string' },
      { type: 'integer' },
      { type: 'number' },
      { type: 'string', format: 'date' },
      { type: 'string', format: 'date-time' },
      { type: 'string', enum: ['open', 'in_progress', 'done'] },
      { type: 'string', enum: ['OPEN', 'inProgress', 'done'] },
      { type: 'string', enum: ['done', 'archived', 'open'] },
      { type: 'boolean' },
      { type: 'string', enum: ['routine', 'urgent'] },
    ),
    tie('object'),
    tie('list'),
  ),
  list: tie('object').map((items) => ({ type: 'array', items })),
  object: fc
    .uniqueArray(fc.tuple(name, tie('schema')), { selector: ([key]) => key, minLength: 1, maxLength: 6 })
    .map((members) => ({ type: 'object', properties: Object.fromEntries(members) })),
}));

/** The ways in which a description can spread the members of an object. */
const SPREADS = [
  'plain',
  'allOf',
  'oneOf',
  'beside a reference',
  'subtype of a discriminator',
  'implicit subtype',
  'in another document',
  'leads nowhere',
  'further members',
  'pattern',
] as const;
type Spread = (typeof SPREADS)[number];

function spread(schema: Meaning, how: Spread, components: Record<string, unknown>): unknown {
  if (schema.items !== undefined) return { ...schema, items: spread(schema.items, how, components) };
  if (schema.properties === undefined) return schema;
  const all = Object.entries(schema.properties).map(
    ([key, member]) => [key, spread(member, how, components)] as const,
  );
  const half = (part: number): unknown => ({
    type: 'object',
    properties: Object.fromEntries(all.filter((_, at) => at % 2 === part)),
  });
  const name = `S${Object.keys(components).length}`;
  const reference = { $ref: `#/components/schemas/${name}` };
  switch (how) {
    case 'plain':
      return { type: 'object', properties: Object.fromEntries(all) };
    case 'allOf':
      return { allOf: [half(0), half(1)] };
    case 'oneOf':
      return { oneOf: [half(0), half(1)] };
    case 'beside a reference':
      components[name] = half(0);
      return { ...(half(1) as object), ...reference };
    case 'subtype of a discriminator':
    case 'implicit subtype': {
      const mapping = { sub: `#/components/schemas/${name}Sub` };
      components[name] = {
        ...(half(0) as object),
        discriminator: { propertyName: 'kind', ...(how === 'implicit subtype' ? {} : { mapping }) },
      };
      components[`${name}Sub`] = { allOf: [reference, half(1)] };
      return reference;
    }
    case 'in another document':
      return { allOf: [half(0), { $ref: 'other.yaml#/Half' }] };
    case 'leads nowhere':
      return { anyOf: [half(0), { $ref: '#/components/schemas/Missing' }] };
    case 'further members':
      return { ...(half(0) as object), additionalProperties: true };
    case 'pattern':
      return { ...(half(0) as object), patternProperties: { '^.': {} } };
  }
}

function describe(
  version: string,
  method: string,
  schema: unknown,
  schemas: unknown,
  noun = 'things',
): Record<string, unknown> {
  const requestBody = { content: { 'application/json': { schema } } };
  return {
    openapi: '3.1.0',
    info: { title: 'T', version: '2025-01-01' },
    paths: {
      [`/api/${version}/${noun}`]: {
        [method.toLowerCase()]: { operationId: `write_${noun}`, requestBody, responses: {} },
      },
    },
    components: { schemas },
  };
}

interface Leaf {
  readonly path: readonly string[];
  readonly schema: Meaning;
}

function leavesOf(schema: Meaning, path: readonly string[] = []): readonly Leaf[] {
  if (schema.items !== undefined) return leavesOf(schema.items, [...path, '*']);
  if (schema.properties === undefined) return [{ path, schema }];
  return Object.entries(schema.properties).flatMap(([key, member]) => leavesOf(member, [...path, key]));
}

/** A body with a value of its own in each leaf but the enumerated ones. */
function bodyOf(schema: Meaning, values: Map<unknown, Leaf>, path: readonly string[] = []): unknown {
  if (schema.items !== undefined) return [bodyOf(schema.items, values, [...path, '*'])];
  if (schema.properties !== undefined)
    return Object.fromEntries(
      Object.entries(schema.properties).map(([key, member]) => [key, bodyOf(member, values, [...path, key])]),
    );
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.type === 'boolean') return true;
  const value =
    schema.type === 'string' ? `v${values.size}` : 1000 + values.size + (schema.type === 'number' ? 0.5 : 0);
  values.set(value, { path, schema });
  return value;
}

function placesIn(
  value: unknown,
  path: readonly string[] = [],
): readonly (readonly [unknown, readonly string[]])[] {
  if (Array.isArray(value)) return value.flatMap((element) => placesIn(element, [...path, '*']));
  if (typeof value !== 'object' || value === null) return [[value, path]];
  return Object.entries(value).flatMap(([key, inside]) => placesIn(inside, [...path, key]));
}

/** The meaning of what is described where an object names half of its members, and takes others. */
function namedHalf(schema: Meaning): Meaning {
  if (schema.items !== undefined) return { ...schema, items: namedHalf(schema.items) };
  if (schema.properties === undefined) return schema;
  const half = Object.entries(schema.properties).filter((_, at) => at % 2 === 0);
  return { ...schema, properties: Object.fromEntries(half.map(([key, member]) => [key, namedHalf(member)])) };
}

function schemaAt(schema: Meaning, path: readonly string[]): Meaning | undefined {
  return path.reduce<Meaning | undefined>(
    (inside, key) => (key === '*' ? inside?.items : inside?.properties?.[key]),
    schema,
  );
}

const unitOf = (path: readonly string[]): string => /_(?:cents|ms)$/.exec(path.at(-1) ?? '')?.[0] ?? '';

test.each(SPREADS)(
  'a draft that applies loses no member, and changes none that V2 has a place for, where V2 describes some: %s',
  fuzzTime(),
  async (how) => {
    const wrapping = fc.constantFrom('none', 'wrapped', 'beside');
    const method = fc.constantFrom('POST', 'PUT', 'PATCH');
    /** V2's noun in the path. For another one, a person has said that the operation moved: what only that made doubtful is certain. */
    const noun = fc.constantFrom('things', 'goods');
    await fc.assert(
      fc.asyncProperty(object, object, wrapping, method, noun, async (one, whole, wrapped, verb, young) => {
        const takesMore = how === 'further members' || how === 'pattern';
        const v2 = takesMore ? namedHalf(whole) : whole;
        const outer = wrapped === 'beside' ? { fax: { type: 'string' } } : {};
        const v1: Meaning =
          wrapped === 'none' ? one : { type: 'object', properties: { data: one, ...outer } };
        const components = {};
        const draft = printRuleBook(
          proposeRuleBook(
            describe('v1', verb, v1, {}),
            describe('v2', verb, spread(whole, how, components), components, young),
            young === 'things' ? {} : { moves: new Map([[`${verb} /things`, `${verb} /${young}`]]) },
          ),
        );
        const ruleBook = await bookIn(draft);
        const values = new Map<unknown, Leaf>();
        const body = bodyOf(v1, values);
        const outcome = compilePlans(ruleBook)
          .of(ruleBook.operations[0])
          .rewrite(bytesOf(JSON.stringify(body)));
        if (outcome.verdict === 'refused') throw new Error(`${outcome.refusal.code}\n${draft}`);
        const result: unknown = JSON.parse(textOf(outcome.body));
        const found = new Map(placesIn(result));
        const wrapper = ruleBook.changes
          .flatMap(({ request }) => request.flatMap((rule) => (rule.rule === 'unwrap' ? rule.member : [])))
          .at(0);
        const shown = `${JSON.stringify(body)}\n${JSON.stringify(result)}\n${draft}`;
        const [sent, received] = [placesIn(body), placesIn(result)];
        expect([received.length, shown]).toEqual([sent.length, shown]);
        for (const [value, { path, schema }] of values) {
          const own = path[0] === wrapper ? path.slice(1) : path;
          const now = found.get(value);
          expect([value, now !== undefined, shown]).toEqual([value, true, shown]);
          if (schemaAt(v2, own)?.properties === undefined && schemaAt(v2, own) !== undefined)
            expect([value, now, shown]).toEqual([value, own, shown]);
          const target = leavesOf(v2).find((leaf) => leaf.path.join('.') === now?.join('.'));
          if (now === undefined || target === undefined || now.join('.') === own.join('.')) continue;
          expect([unitOf(now), shown]).toEqual([unitOf(own), shown]);
          const isWider = schema.type === 'integer' && target.schema.type === 'number';
          expect([isWider ? 'integer' : target.schema.type, shown]).toEqual([schema.type, shown]);
          if (schema.format !== undefined && target.schema.format !== undefined)
            expect([target.schema.format, shown]).toEqual([schema.format, shown]);
        }
      }),
      { numRuns: fuzzRuns(150) },
    );
  },
);

/** The rules of a pair as those of a rule book. */
function requestRule(found: FoundRule): RequestRule {
  switch (found.rule) {
    case 'strip':
      return { rule: 'strip', in: found.in, members: [found.member] };
    case 'map': {
      const values = found.values.map(([from, to]) => ({ from: scalarOf(from), to: scalarOf(to) }));
      return { rule: 'map', in: found.in, member: found.member, values };
    }
    case 'unwrap':
    case 'rename':
    case 'nest':
      return found;
    case 'convert':
    case 'default':
    case 'list':
    case 'first':
    case 'flatten':
    case 'unbox':
    case 'split':
    case 'move':
    case 'copy':
    case 'lookup':
      throw new Error(`no pair has a ${found.rule}`);
  }
}

test('of random pairs with known changes, a draft that applies keeps each value that V2 keeps', async () => {
  const pairs = fuzzRuns(150, 50);
  let [kept, moved] = [0, 0];
  for (let seed = 1; seed <= pairs; seed += 1) {
    const { v1, v2, known } = randomPair(seed);
    const draft = printRuleBook(proposeRuleBook(v1, v2));
    const ruleBook = await bookIn(draft);
    for (const operation of ruleBook.operations) {
      const values = new Map<unknown, Leaf>();
      const body = bytesOf(JSON.stringify(bodyOf(schemaOf(v1, operation), values)));
      // Renames before the nests around them, and outer objects first: the paths are those of V2.
      const rules = (known.get(operation.id) ?? []).map((found) => requestRule(found));
      const place = (rule: RequestRule): number =>
        'in' in rule ? rule.in.length * 2 + Number(rule.rule === 'nest') : -1;
      const right = placesAfter(planOf(rules.toSorted((one, other) => place(one) - place(other))), body);
      const drafted = placesAfter(compilePlans(ruleBook).of(operation), body);
      const described = new Set(leavesOf(schemaOf(v2, operation)).map(({ path }) => path.join('.')));
      for (const value of values.keys()) {
        const [expected, actual] = [right.get(value), drafted.get(value)];
        if (expected === undefined) continue;
        kept += 1;
        expect([seed, operation.id, value, actual !== undefined, draft]).toEqual([
          seed,
          operation.id,
          value,
          true,
          draft,
        ]);
        if (actual === undefined || !described.has(actual.join('.'))) continue;
        moved += 1;
        expect([seed, operation.id, actual, draft]).toEqual([seed, operation.id, expected, draft]);
      }
    }
  }
  expect(kept).toBeGreaterThan(pairs * 13);
  expect(moved / kept).toBeGreaterThan(0.7);
});

function placesAfter(plan: Plan, body: Uint8Array): ReadonlyMap<unknown, readonly string[]> {
  const outcome = plan.rewrite(body);
  if (outcome.verdict === 'refused') throw new Error(outcome.refusal.code);
  return new Map(placesIn(JSON.parse(textOf(outcome.body))));
}

function schemaOf(description: Record<string, unknown>, { template }: Operation): Meaning {
  const paths = description['paths'] as Record<string, Record<string, unknown>>;
  const item = Object.entries(paths).find(([path]) => path.endsWith(template))?.[1];
  const operation = item?.['post'] as {
    readonly requestBody: { readonly content: Record<string, { readonly schema: Meaning }> };
  };
  return operation.requestBody.content['application/json']?.schema ?? { type: 'object' };
}

/** V1's and V2's members, what a client sends, what V2 gets once each question has its first answer. */
type BoxRow = [v1: object, v2: object, sent: object, got: object];
const [text, whole, decimal] = [{ type: 'string' }, { type: 'integer' }, { type: 'number' }];
const money = {
  type: 'object',
  properties: { amount: whole, currency: text },
  required: ['amount', 'currency'],
};
const minor = { type: 'object', properties: { amountMinor: whole, currency: text } };

test.each<BoxRow>([
  [
    { price: decimal, currency: text },
    { price: money },
    { price: 10.5, currency: 'EUR' },
    { price: { amount: 1050, currency: 'EUR' } },
  ],
  [{ price: decimal }, { price: money }, { price: 10.5 }, { price: { amount: 1050, currency: 'CHF' } }],
  [{ price: whole }, { price: money }, { price: 1050 }, { price: { amount: 1050, currency: 'CHF' } }],
  [
    { lines: { type: 'array', items: { type: 'object', properties: { price: text, currency: text } } } },
    { lines: { type: 'array', items: { type: 'object', properties: { price: money } } } },
    { lines: [{ price: '10.50', currency: 'EUR' }, { price: '0.07' }] },
    { lines: [{ price: { amount: 1050, currency: 'EUR' } }, { price: { amount: 7 } }] },
  ],
  [
    { price: { type: 'object', properties: { value: text, currency: text } } },
    { price: whole, currency: text },
    { price: { value: '10.50', currency: 'EUR' } },
    { price: 1050, currency: 'EUR' },
  ],
  [
    { net: decimal, vat: decimal, total: decimal },
    { totals: { type: 'object', properties: { net: minor, tax: minor, gross: minor } } },
    { net: 70.3, vat: 13.36, total: 83.66 },
    { totals: { net: { amountMinor: 7030 }, tax: { amountMinor: 1336 }, gross: { amountMinor: 8366 } } },
  ],
  [
    { owner: whole },
    { owner: { type: 'object', properties: { id: whole, name: text } } },
    { owner: 7 },
    { owner: { id: 7 } },
  ],
])(
  'a value that is in an object in V2 is asked about, and kept in both directions: %j',
  async (v1, v2, sent, got) => {
    const both = (version: string, properties: object): Record<string, unknown> => {
      const content = { 'application/json': { schema: { type: 'object', properties } } };
      const operation = { operationId: 'write', requestBody: { content }, responses: { 200: { content } } };
      return {
        openapi: '3.1.0',
        info: { title: 'T', version: '1' },
        paths: { [`/api/${version}/things`]: { post: operation } },
      };
    };
    const book = await soundDraft(proposeRuleBook(both('v1', v1), both('v2', v2)));
    const migrated = async (draft: ProposedRuleBook): Promise<readonly [unknown, unknown]> => {
      const migration = createMigration(await bookIn(printRuleBook(draft)));
      const headers = [['Content-Type', 'application/json'] as const];
      const request = migration.request('POST', '/api/v1/things', headers, JSON.stringify(sent));
      const read = (body: Uint8Array | null | undefined): unknown =>
        body === undefined || body === null ? undefined : JSON.parse(textOf(body));
      if (request.verdict === 'refused' || request.verdict === 'passed') return [request.verdict, undefined];
      const response = migration.response(request, 200, headers.flat(), JSON.stringify(got));
      return [read(request.body) ?? sent, read(response.body) ?? got];
    };
    expect(await migrated(book)).toEqual([sent, got]);
    const questions = draftQuestions(book);
    expect(questions.every(({ parts }) => parts.every(({ isOpen }) => isOpen === true))).toBe(true);
    const first = questions.map(
      ({ id, parts }) =>
        [id, { chosen: parts.map(({ answers }) => answers[0]?.key ?? 'no'), value: 'CHF' }] as const,
    );
    expect(await migrated(answeredDraft(book, new Map(first)))).toEqual([got, sent]);
  },
);
