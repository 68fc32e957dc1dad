import fastJsonPatch from 'fast-json-patch';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonScalar } from '../../src/json/names.ts';
import { applyEdits } from '../../src/json/edit.ts';
import { FormPlan } from '../../src/rewrite/form.ts';
import { compilePlans, type Plan } from '../../src/rewrite/plan.ts';
import type { Refusal } from '../../src/rewrite/records.ts';
import { compileResponsePlans } from '../../src/rewrite/response-plan.ts';
import type { Conversion } from '../../src/rules/kinds/convert.ts';
import { dateConversion } from '../../src/rules/kinds/date.ts';
import type { Elements } from '../../src/rules/kinds/elements.ts';
import type { RequestRule, ResponseRule } from '../../src/rules/rule.ts';
import { undoingOf } from '../../src/rules/check-rule-book.ts';
import { readForm, withoutEmpty } from '../support/form-reader.ts';
import { fuzzRuns, fuzzTime } from '../support/fuzz.ts';
import { bookOf, planOf, rewriteParts } from '../support/plan-of.ts';
import { applyRules, meaning, parse, Refused, type Value } from '../support/value-model.ts';
import { bytesOf, textOf } from './notation.ts';
import { words } from '../support/rows.ts';
import { ruleOf } from './documents.ts';

const NAMES = ['a', 'b', 'c', 'd'];
const name = fc.constantFrom(...NAMES);
const inside = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.array(fc.constantFrom(...NAMES, '*'), { maxLength: 2 }).filter(([first]) => first !== '*'),
  },
  { weight: 1, arbitrary: fc.constant(['**']) },
);
const path = fc.array(name, { minLength: 1, maxLength: 3 });

/** The conversions that are played, by name: the compiler asks for those of a new one. */
const CONVERSIONS: Readonly<Record<Conversion['rule'], readonly Conversion[]>> = {
  scale: [
    { rule: 'scale', by: '100', digits: 2 },
    { rule: 'scale', by: '0.4', digits: 0 },
    { rule: 'scale', by: '60', digits: 0 },
  ],
  quote: [{ rule: 'quote' }],
  unquote: [{ rule: 'unquote' }],
  prefix: [{ rule: 'prefix', with: '7"' }],
  unprefix: [{ rule: 'unprefix', with: '7' }],
  date: [dateConversion('date', 'epoch'), dateConversion('epoch', 'date')],
};
const conversion = fc.constantFrom(...Object.values(CONVERSIONS).flat());
const json = fc.constantFrom('1.50', '"x"', 'null', '{}', '{"a":[{"b":1}],"c":{}}', '[1,{"a":2}]');
const separated = { with: fc.constantFrom(' ', 'b'), at: fc.constantFrom('first' as const, 'last' as const) };
const setRule = fc
  .record({ rule: fc.constantFrom('set' as const, 'default' as const), member: name, in: inside, json })
  .map((rule): RequestRule => ({ ...rule, value: JSON.parse(rule.json) as unknown }));
const convertRule = fc
  .record({ conversion, member: name, in: inside })
  .map((rule): RequestRule => ({ rule: rule.conversion.rule, ...rule }));
const startsWith = (one: readonly string[], other: readonly string[]): boolean =>
  other.every((step, index) => one[index] === step);
const elements: fc.Arbitrary<Elements> = fc.oneof(
  fc.record({ are: fc.constant('texts' as const), with: fc.constantFrom(' ', 'b', ' b ', '"') }),
  fc.record({ are: fc.constant('objects' as const), of: name }),
  fc.constantFrom(
    { are: 'pairs' as const, name: 'a', value: 'b' },
    { are: 'pairs' as const, name: 'x', value: 'c' },
  ),
);
const elementsRule = (to: fc.Arbitrary<string>): fc.Arbitrary<RequestRule> =>
  fc
    .record({ elements, member: name, in: inside, to, isBack: fc.boolean() })
    .map(({ isBack, ...rule }): RequestRule => {
      const word = rule.elements.are === 'pairs' ? 'entries' : 'list';
      return { rule: isBack ? 'unlist' : word, ...rule };
    });
/** Values that maps begin with. */
const MAPPED: JsonScalar[] = [
  { isString: false, text: '7' },
  { isString: true, text: 'x b y' },
  { isString: false, text: 'null' },
];
const scalars = fc.array(fc.constantFrom(...MAPPED, { isString: true, text: '7"' }), { maxLength: 3 });
const anyRule: fc.Arbitrary<RequestRule> = fc.oneof(
  setRule,
  convertRule,
  convertRule,
  ruleOf('move', { in: inside, from: path, to: path }).filter(({ from, to }) => !startsWith(from, to)),
  ruleOf('copy', { in: inside, from: path, to: path }).filter(
    ({ from, to }) => !startsWith(from, to) && !startsWith(to, from),
  ),
  ruleOf('rename', { member: name, in: inside, to: name }).filter(({ member, to }) => member !== to),
  ruleOf('list', { member: name, in: inside, to: name }),
  elementsRule(name).filter(({ rule }) => rule !== 'entries'),
  elementsRule(name).filter(({ rule }) => rule !== 'entries'),
  ruleOf('unwrap', { member: name }),
  fc.record({
    rule: fc.constantFrom('strip' as const, 'only' as const),
    members: fc.shuffledSubarray(NAMES, { minLength: 1 }),
    in: inside,
  }),
  ruleOf('nest', {
    members: fc.shuffledSubarray(NAMES, { minLength: 1, maxLength: 3 }),
    in: inside,
    under: name,
  }).filter(({ members, under }) => !members.includes(under)),
  fc
    .record({ from: fc.shuffledSubarray(MAPPED, { minLength: 1 }), to: scalars, member: name, in: inside })
    .map(({ from, to, ...place }): RequestRule => {
      const values = from.map((one, at) => ({ from: one, to: to[at] ?? one }));
      return { rule: 'map', ...place, values };
    }),
  ruleOf('join', {
    members: fc.shuffledSubarray(NAMES, { minLength: 2 }),
    in: inside,
    to: name,
    ...separated,
  }),
  ruleOf('split', {
    member: name,
    in: inside,
    to: fc.shuffledSubarray(NAMES, { minLength: 2, maxLength: 3 }),
    ...separated,
  }),
);

/** The order of members counts for pairs alone, which come first: the model knows no order after other rules. */
const someRules = fc
  .tuple(
    fc.option(elementsRule(name).filter(({ rule }) => rule === 'entries')),
    fc.array(anyRule, { minLength: 1, maxLength: 4 }),
  )
  .map(([entries, rules]) => (entries === null ? rules : [entries, ...rules]));

const leaf = fc.constantFrom(
  ...words`0 -0 10.50 7 -1e3 12345678901234567890.125 "7"`,
  '"\\u0037\\" 1"',
  '"x b y"',
  '" "',
  ...words`"2025-01-31" "2025-02-30" "" null true {}`,
  '[ ]',
);
const space = fc.constantFrom('', '', ' ', '\n');
const document = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    tie('object'),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(' , ')}]`),
  ),
  object: fc
    .uniqueArray(fc.tuple(space, fc.constantFrom(...NAMES, 'x', 'y'), space, tie('value')), {
      maxLength: 5,
      selector: ([, key]) => key,
    })
    .map((all) => `{${all.map(([s, key, t, value]) => `${s}"${key}"${t}:${s}${value}${t}`).join(',')}}`),
})).object;

const plans = new Map<string, Plan>();

/** Plans are shared between runs, so that what they remember of one body meets the next. */
function planFor(rules: readonly RequestRule[], value: 'refuse' | 'keep'): Plan {
  const key = JSON.stringify([rules, value]);
  const known = plans.get(key) ?? planOf(rules, { value });
  plans.set(key, known);
  return known;
}

function modelled(
  rules: readonly RequestRule[],
  text: string,
  value: 'refuse' | 'keep',
  isText = false,
): string {
  try {
    const applied = applyRules(rules, parse(text), { keeps: value === 'keep', isText });
    return isText ? sayable(applied) : meaning(applied);
  } catch (error) {
    if (error instanceof Refused) return 'refused';
    throw error;
  }
}

test('rules mean what a plain model on parsed values says', fuzzTime(), () => {
  fc.assert(
    fc.property(
      someRules,
      document,
      fc.constantFrom('refuse' as const, 'keep' as const),
      (rules, text, value) => {
        const outcome = planFor(rules, value).rewrite(bytesOf(text));
        const found = outcome.verdict === 'refused' ? 'refused' : meaning(parse(textOf(outcome.body)));
        expect(found).toBe(modelled(rules, text, value));
        if (outcome.verdict !== 'rewritten') return;
        expect(textOf(applyEdits(bytesOf(text), outcome.edits))).toBe(textOf(outcome.body));
        if (outcome.patch.length === 0) return;
        // As JSON, because a rule adds one value to several objects.
        const patch = JSON.parse(JSON.stringify(outcome.patch)) as fastJsonPatch.Operation[];
        const { newDocument } = fastJsonPatch.applyPatch(plain(text), patch, true, true, false);
        expect(plain(JSON.stringify(newDocument))).toEqual(plain(textOf(outcome.body)));
      },
    ),
    { numRuns: fuzzRuns(100_000) },
  );
});

/** The sign of zero and the digits beyond a double are no matter of a patch. */
function plain(text: string): unknown {
  return JSON.parse(text, (_, value: unknown) => (value === 0 ? 0 : value));
}

/** The values that a form can express: no empty object or list, and no objects whose names are numbers. */
function sayable(value: Value): string {
  const asLists = (inner: Value, isRoot: boolean): Value => {
    if (Array.isArray(inner)) return inner.map((one: Value) => asLists(one, false)).filter(isSaid);
    if (!(inner instanceof Map)) return inner;
    const members = [...(inner as ReadonlyMap<string, Value>)];
    const made = members
      .map(([key, one]) => [key, asLists(one, false)] as const)
      .filter(([, one]) => isSaid(one));
    const isList = !isRoot && made.length > 0 && made.every(([key]) => /^\d+$/.test(key));
    return isList ? made.map(([, one]) => one) : new Map(made);
  };
  return JSON.stringify(withoutEmpty(JSON.parse(meaning(asLists(value, true))))) ?? '';
}

/** False for an object and a list that are empty. */
function isSaid(value: Value): boolean {
  return value instanceof Map ? value.size > 0 : !Array.isArray(value) || value.length > 0;
}

/** A field of a form: the parts of its name, and its value. */
type Field = readonly [parts: readonly string[], text: string];
const text = fc.oneof(
  fc.constantFrom(
    'x b y',
    '7',
    '10.50',
    '-0',
    '-1e3',
    '',
    ' ',
    'null',
    '2025-01-31',
    '2025-02-30',
    '7" 1',
    'é+&=;%',
  ),
  fc.string({ unit: 'grapheme', maxLength: 3 }),
);
const names = fc
  .tuple(
    fc.constantFrom(...NAMES, 'x'),
    fc.array(
      fc.oneof(
        { weight: 6, arbitrary: fc.constantFrom(...NAMES, 'x') },
        { weight: 2, arbitrary: fc.constant('') },
        { weight: 1, arbitrary: fc.constantFrom('0', '1') },
      ),
      { maxLength: 3 },
    ),
  )
  .map(([first, rest]) => [first, ...rest]);
const ofList = fc
  .constantFrom('a', 'b')
  .chain((list) => fc.constantFrom(...NAMES).map((key) => [list, '', key]));
const fields: fc.Arbitrary<readonly Field[]> = fc.oneof(
  fc.array(fc.tuple(names, text), { minLength: 1, maxLength: 7 }),
  fc.array(fc.tuple(fc.oneof(ofList, ofList, names), text), { minLength: 3, maxLength: 7 }),
);
/** What a form says; undefined for one that says two things of one name, or numbers behind other names, which JavaScript sorts. */
function saidBy(form: string): string | undefined {
  return /\[1\].*\[0\]|\[[^\]\d]+\].*\[\d\]/.test(form) ? undefined : readForm(form);
}
const formOf = (all: readonly Field[]): string =>
  all
    .map(([[first = '', ...rest], value]) => {
      const spelled =
        encodeURIComponent(first) + rest.map((part) => `[${encodeURIComponent(part)}]`).join('');
      return `${spelled}=${encodeURIComponent(value).replaceAll('%20', '+')}`;
    })
    .join('&');

/** What a form that came of one that says `said` means at V2, or why it is refused; the same as the model says. */
function compareForms(
  rules: readonly RequestRule[],
  said: string,
  value: 'refuse' | 'keep',
  outcome: FormOutcome,
): void {
  const expected = modelled(rules, said, value, true);
  if (typeof outcome !== 'string' && expected !== 'refused') {
    // The elements of a list [] cannot always be told apart: better none than other ones.
    expect(outcome.detail).toContain('cannot express the lists');
    expect(expected).toMatch(/\[|"":/);
    unsaid += 1;
  } else if (typeof outcome === 'string') {
    const found = readForm(outcome);
    expect(found === undefined ? 'two meanings' : sayable(parse(found))).toBe(expected);
    compared += 1;
  }
}

type FormOutcome = string | Refusal;
let [compared, unsaid] = [0, 0];
const policy = fc.constantFrom('refuse' as const, 'keep' as const);

test('in a form, rules mean what the model says for its texts', fuzzTime(), () => {
  [compared, unsaid] = [0, 0];
  fc.assert(
    fc.property(someRules, fields, policy, (rules, sent, value) => {
      const form = formOf(sent);
      const said = saidBy(form);
      fc.pre(said !== undefined);
      const book = bookOf(rules, { value });
      const outcome = new FormPlan(book, book.changes).rewrite(bytesOf(form));
      const isRefused = outcome.verdict === 'refused';
      compareForms(rules, said ?? '', value, isRefused ? outcome.refusal : textOf(outcome.body));
      if (outcome.verdict === 'rewritten')
        expect(textOf(applyEdits(bytesOf(form), outcome.edits))).toBe(textOf(outcome.body));
    }),
    { numRuns: fuzzRuns(50_000) },
  );
  expect(compared).toBeGreaterThan(fuzzRuns(30_000));
  expect(unsaid).toBeLessThan(compared / 20);
});

const BOUNDARY = 'the-boundary';
const FILE = '\r\n--\r\n--C--\0a=b';

test(
  'in a multipart body, rules mean what the model says for its fields and its JSON, and files stay',
  fuzzTime(),
  async () => {
    [compared, unsaid] = [0, 0];
    const some = fc.tuple(someRules, fields, policy, document, fc.nat(7));
    await fc.assert(
      fc.asyncProperty(some, async ([rules, sent, value, json, at]) => {
        const form = formOf(sent);
        const said = saidBy(form);
        fc.pre(said !== undefined);
        const [body, type] = multipartOf(sent, json, at);
        const book = bookOf(rules, { value });
        const forms = new FormPlan(book, book.changes);
        const parts = { boundary: BOUNDARY, forms, limit: 1 << 20 };
        const outcome = rewriteParts(parts, planOf(rules, { value }), bytesOf(body));
        if (outcome.verdict === 'refused') {
          if (modelled(rules, json, value) !== 'refused')
            compareForms(rules, said ?? '', value, outcome.refusal);
          return;
        }
        expect(modelled(rules, json, value)).not.toBe('refused');
        const received = await new Response(Buffer.from(outcome.body), {
          headers: { 'content-type': type },
        }).formData();
        const [file, text] = [received.get('file'), received.get('json')];
        expect(file instanceof File && (await file.text())).toBe(FILE);
        expect(meaning(parse(typeof text === 'string' ? text : ''))).toBe(modelled(rules, json, value));
        const others = [...received].filter(([key]) => key !== 'file' && key !== 'json');
        const after = others.map(
          ([key, one]) =>
            `${encodeURIComponent(key)}=${encodeURIComponent(typeof one === 'string' ? one : one.name)}`,
        );
        compareForms(rules, said ?? '', value, after.join('&'));
        if (outcome.verdict === 'rewritten')
          expect(textOf(applyEdits(bytesOf(body), outcome.edits))).toBe(textOf(outcome.body));
      }),
      { numRuns: fuzzRuns(25_000) },
    );
    expect(compared).toBeGreaterThan(fuzzRuns(10_000));
  },
);

/** The fields as parts, with a file and a JSON text among them. */
function multipartOf(
  sent: readonly Field[],
  json: string,
  at: number,
): readonly [body: string, type: string] {
  const parts = sent.map(([[first = '', ...rest], value]): [string, string] => [
    `name="${first}${rest.map((part) => `[${part}]`).join('')}"`,
    value,
  ]);
  parts.splice(at, 0, ['name="file"; filename="a.bin"\r\nContent-Type: application/octet-stream', FILE]);
  parts.splice(at * 2, 0, ['name="json"\r\nContent-Type: application/json', json]);
  const all = parts.map(
    ([head, content]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`,
  );
  return [`${all.join('')}--${BOUNDARY}--\r\n`, `multipart/form-data; boundary=${BOUNDARY}`];
}

const INVERSE: ResponseRule = { rule: 'inverse', status: ['2xx'] };

/** Rules whose new names and values no V1 body has; some lose what is not known again. */
const undoneRule = (k: number): fc.Arbitrary<RequestRule> =>
  fc.oneof(
    convertRule,
    convertRule,
    ruleOf('rename', { member: name, in: inside, to: fc.constant(`R${k}`) }),
    ruleOf('nest', {
      members: fc.shuffledSubarray(NAMES, { minLength: 1, maxLength: 3 }),
      in: inside,
      under: fc.constant(`U${k}`),
    }),
    fc
      .record({
        from: fc.shuffledSubarray(MAPPED, { minLength: 1 }),
        to: fc.nat(2),
        member: name,
        in: inside,
      })
      .map(({ from, to, ...place }): RequestRule => {
        // Where two lead to one value, check knows that it is not undone.
        const values = from.map((one, at) => ({
          from: one,
          to: { isString: true, text: `V${k}-${at === to ? 0 : at}` },
        }));
        return { rule: 'map', ...place, values };
      }),
    ruleOf('join', {
      members: fc.shuffledSubarray(NAMES, { minLength: 2 }),
      in: inside,
      to: fc.constant(`J${k}`),
      ...separated,
    }),
    ruleOf('move', {
      in: inside,
      from: path,
      to: fc.constantFrom([`N${k}`], [`N${k}`, 'x'], ['N', `N${k}`], ['N', 'M', `N${k}`]),
    }),
    ruleOf('copy', {
      in: inside,
      from: path,
      to: fc.constantFrom([`C${k}`], [`C${k}`, 'x'], ['C', 'M', `C${k}`]),
    }),
    ruleOf('list', { member: name, in: inside, to: fc.constant(`L${k}`) }),
    elementsRule(fc.constant(`E${k}`)),
    ruleOf('split', { member: name, in: inside, to: fc.constant([`F${k}`, `G${k}`]), ...separated }),
    ruleOf('set', { member: fc.constant(`S${k}`), in: inside, json }).map((rule): RequestRule => ({
      ...rule,
      value: JSON.parse(rule.json) as unknown,
    })),
  );
const undoneRules = fc
  .integer({ min: 1, max: 4 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, k) => undoneRule(k))));

test(
  'if check calls an inverse exact, it undoes in the response everything that rules did to the request',
  fuzzTime(),
  () => {
    let exact = 0;
    fc.assert(
      fc.property(undoneRules, document, (rules, text) => {
        const [first] = bookOf(rules).changes;
        if (first === undefined) throw new Error('The book has no change.');
        const change = { ...first, response: [INVERSE] };
        if (undoingOf(change)?.inverse !== 'exact') return;
        exact += 1;
        const book = { ...bookOf(rules), changes: [change] };
        const sent = compilePlans(book).of(undefined).rewrite(bytesOf(text));
        if (sent.verdict === 'refused') return;
        const context = { status: 200, deprecated: [], isWrapped: false };
        const stored = `{"data":${textOf(sent.body)}}`;
        const read = compileResponsePlans(book).of(undefined, 'POST').rewrite(bytesOf(stored), context);
        const data = (parse(textOf(read.body)) as ReadonlyMap<string, Value>).get('data') ?? null;
        expect(meaning(data)).toBe(meaning(parse(text)));
      }),
      { numRuns: fuzzRuns(50_000) },
    );
    expect(exact).toBeGreaterThan(fuzzRuns(10_000));
  },
);
