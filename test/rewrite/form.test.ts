import { deprecatedAttributes, deprecatedInV1, METHOD_OVERRIDE } from '../../src/rewrite/records.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formModel, FormPlan } from '../../src/rewrite/form.ts';
import type { Rewrite } from '../../src/rewrite/records.ts';
import { scalarOf, readScalar } from '../../src/json/names.ts';
import type { Policies } from '../../src/rules/rule-book.ts';
import type { Conversion } from '../../src/rules/kinds/convert.ts';
import { dateConversion } from '../../src/rules/kinds/date.ts';
import type { RequestRule } from '../../src/rules/rule.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { bookOf, planOf } from '../support/plan-of.ts';
import { readForm, withoutEmpty } from '../support/form-reader.ts';
import { bytesOf, editsOf, textOf } from './notation.ts';
import { ruleOf } from './documents.ts';

const UNWRAP: RequestRule = { rule: 'unwrap', member: 'data' };
const NEST: RequestRule = {
  rule: 'nest',
  members: ['street', 'suburb', 'lat'],
  in: ['property'],
  under: 'address',
};
const RENAME: RequestRule = { rule: 'rename', member: 'old', in: [], to: 'new name' };
const STRIP: RequestRule = { rule: 'strip', members: ['a', 'b'], in: [] };
const MAP: RequestRule = {
  rule: 'map',
  member: 'kind',
  in: [],
  values: [
    { from: scalarOf('a b'), to: scalarOf('ü&=') },
    { from: readScalar('1'), to: scalarOf(true) },
    { from: readScalar('true'), to: scalarOf(null) },
  ],
};

function formPlan(rules: readonly RequestRule[], policies: Partial<Policies> = {}): FormPlan {
  const book = bookOf(rules, policies);
  return new FormPlan(book, book.changes);
}

function outcomeText(outcome: Rewrite): string {
  if (outcome.verdict !== 'refused') return textOf(outcome.body);
  const { status, code, pointer, position } = outcome.refusal;
  return `refused ${status} ${code} ${pointer ?? position?.offset ?? '-'}`;
}

function cases(
  title: string,
  rules: readonly RequestRule[],
  rows: readonly [before: string, after: string][],
  policies: Partial<Policies> = {},
): void {
  describe(title, () => {
    test.each(rows)('%s', (before, after) => {
      expect(outcomeText(formPlan(rules, policies).rewrite(bytesOf(before)))).toBe(after);
    });
  });
}

cases(
  'unwrap takes the first part of each name',
  [UNWRAP],
  [
    ['data[x]=1&data[y][z]=2', 'x=1&y[z]=2'],
    ['data%5Bx%5D=1&data%5By%5D%5Bz%5D=%20+', 'x=1&y%5Bz%5D=%20+'],
    ['d%61ta[x]=1', 'x=1'],
    ['&&data[x]=1&&', '&&x=1&&'],
    ['data[x]=1&y=2', 'x=1'],
    ['y=2&data[x]=1', 'x=1'],
    ['x=1', 'x=1'],
    ['data=1', 'refused 422 wrapper-not-object /data'],
    ['data[]=1', 'refused 422 wrapper-not-object /data'],
    ['data[x]=1&data=2', 'refused 400 duplicate-member /data'],
    ['data[x]=1&data[x]=2', 'x=1&x=2'],
    ['data.x=1', 'data.x=1'],
    ['data[x=1&data]y[=2&[data]=3&data[x]y=4', 'data[x=1&data]y[=2&[data]=3&data[x]y=4'],
    ['data', 'refused 422 wrapper-not-object /data'],
  ],
);
cases(
  'JSON that is sent as a form is JSON, in the spelling that it has',
  [UNWRAP, RENAME],
  [
    ['{"data":{"old":"A"}}', '{"new name":"A"}'],
    [' \r\n\t{ "data" : {"a":"1+1=2&b=%zz%20"}}\n', ' \r\n\t{"a":"1+1=2&b=%zz%20"}\n'],
    ['\ufeff{"data":{"a":1}}', '{"a":1}'],
    ['{"data":{"a":1}}=', '{"a":1}='],
    ['{"d\\u0061ta":{}}', '{}'],
    ['{"x":1}', '{"x":1}'],
    ['{}', '{}'],
    ['[{"data":{"old":1}}]', '[{"data":{"old":1}}]'],
    ['%7B%22data%22%3A%7B%22old%22%3A%22%C3%A4+%2B%22%7D%7D', '%7B%22new%20name%22%3A%22%C3%A4+%2B%22%7D'],
    ['%7b%22data%22%3a%7b%22a%22%3a1%7d%7d=', '%7b%22a%22%3a1%7d='],
    ['%20+%0A%7B%22data%22:%7B%22old%22:1%7D%7D', '%20+%0A%7B%22new%20name%22:1%7D'],
    ['%EF%BB%BF%7B%22data%22:%7B%22a%22:1%7D%7D', '%7B%22a%22:1%7D'],
    ['{"data":{"old":"x=y%22%7D%7D', '{%22new%20name%22:"x=y%22%7D'],
    ['{%22data%22:{%22old%22:1}}', '{%22new%20name%22:1}'],
    ['{"data":1}', 'refused 422 wrapper-not-object /data'],
    ['%7B%22data%22:1%7D', 'refused 422 wrapper-not-object /data'],
    ['{"data":{"old":1,"old":2}}', 'refused 400 duplicate-member /data/old'],
    ['{"data":{"a":1}', 'refused 400 malformed-json 15'],
    ['{"data":{\'a\':1}}', 'refused 400 malformed-json 9'],
    // These are fields, even if they begin like JSON.
    ['{x}=1', '{x}=1'],
    ['[data]=1', '[data]=1'],
    ['[]=1&data[old]=2', 'new+name=2'],
    ['{"a":1}&data[old]=2', 'new+name=2'],
    ['%7Bx%7D=1&data[old]=2', 'new+name=2'],
    ['"data"=1', '"data"=1'],
    ['data={"data":{"old":1}}', 'refused 422 wrapper-not-object /data'],
    ['data[x]={"data":{"old":1}}', 'x={"data":{"old":1}}'],
  ],
);
cases(
  'nest puts a part between, in the brackets of the body',
  [UNWRAP, NEST],
  [
    ['data[property][suburb]=x', 'property[address][suburb]=x'],
    ['data%5bproperty%5d%5bsuburb%5d=x', 'property%5baddress%5d%5bsuburb%5d=x'],
    [
      'data[property][lat]=+1&data[z]=2&data[property][suburb]=%2B',
      'property[address][lat]=+1&z=2&property[address][suburb]=%2B',
    ],
    ['property[address][suburb]=1&property[suburb]=2', 'property[address][suburb]=2'],
    ['property[address]=1&property[suburb]=2', 'property[address][suburb]=2'],
    ['property[suburb]=1&property[suburb]=2', 'refused 400 duplicate-member /property/suburb'],
  ],
);
cases(
  'rename and strip keep every other character',
  [RENAME, STRIP],
  [
    ['x=%zz'.replace('%zz', '%7e') + '&old=%c3%A9', 'x=%7e&new+name=%c3%A9'],
    ['old[q]=1&old[r][]=2', 'new+name[q]=1&new+name[r][]=2'],
    ['old', 'new+name'],
    ['new+name=1&old=2', 'new+name=2'],
    ['a=1&x&b=2', 'x'],
    ['x=1&a=1&b[c]=2', 'x=1'],
    ['a=1&b=2', ''],
    ['a=1&&x&b=2', '&x'],
    ['&a=1', ''],
    ['A=1', 'A=1'],
  ],
);
cases(
  'maps compare texts, and write them',
  [MAP],
  [
    ['kind=a+b', 'kind=%C3%BC%26%3D'],
    ['kind=%61%20b&x=a+b', 'kind=%C3%BC%26%3D&x=a+b'],
    ['kind=1', 'kind=true'],
    ['kind=true', 'kind='],
    ['kind[x]=1', 'kind[x]=1'],
    ['kind=1.0', 'kind=1.0'],
  ],
);
cases(
  'set and default add fields behind those of their object, move puts them where they belong',
  [
    { rule: 'set', member: 'meta', in: [], json: '{"v":[1.50,null],"w":{}}', value: {} },
    { rule: 'default', member: 'kind', in: ['p'], json: 'true', value: true },
    { rule: 'move', in: [], from: ['c', 'name'], to: ['customer', 'n'] },
  ],
  [
    ['p[x]=1&y=2', 'p[x]=1&p[kind]=true&y=2&meta[v][]=1.50&meta[v][]='],
    ['p[kind]=1&meta=1', 'p[kind]=1&meta[v][]=1.50&meta[v][]='],
    ['c%5Bname%5D=%41', 'customer%5Bn%5D=%41&meta%5Bv%5D%5B%5D=1.50&meta%5Bv%5D%5B%5D='],
    ['meta[x]=1', 'meta[v][]=1.50&meta[v][]='],
  ],
);
cases(
  'lists are met by *',
  [
    { rule: 'rename', member: 'q', in: ['lines', '*'], to: 'quantity' },
    { rule: 'only', members: ['quantity', 'z'], in: ['lines', '*'] },
  ],
  [
    ['lines[][q]=1&lines[][x]=2&lines[][q]=3', 'lines[][quantity]=1&lines[][quantity]=3'],
    ['lines[0][q]=1&lines[1][q]=2&lines[1][x]=3', 'lines[0][quantity]=1&lines[1][quantity]=2'],
    ['lines[9][q]=1&lines[7][q]=2', 'lines[9][quantity]=1&lines[7][quantity]=2'],
    ['lines[a][q]=1', 'lines[a][q]=1'],
    ['lines[]=1&lines[]=2', 'lines[]=1&lines[]=2'],
    ['lines[][z][]=1&lines[][z][]=2&lines[][q]=1', 'lines[][z][]=1&lines[][z][]=2&lines[][quantity]=1'],
  ],
);
cases(
  'a form that two readers read differently is refused',
  [UNWRAP],
  [
    ['data[x]=%', 'refused 400 malformed-form 8'],
    ['data[x]=%4', 'refused 400 malformed-form 8'],
    ['data[%zz]=1', 'refused 400 malformed-form 5'],
    ['x=1&data[x]=%ff', 'refused 400 malformed-form 12'],
    [`data${'[x]'.repeat(512)}=1`, 'refused 400 too-deep -'],
  ],
);
cases('policy malformed: forward', [UNWRAP], [['data[x]=%', 'data[x]=%']], { malformed: 'forward' });
cases('policy duplicate: last', [RENAME], [['old=1&x=2&old=3', 'x=2&new+name=3']], { duplicate: 'last' });
cases('policy flat: refuse', [UNWRAP], [['x=1', 'refused 422 not-wrapped /data']], { flat: 'refuse' });
cases('policy siblings: forward', [UNWRAP], [['data[x]=1&y=2', 'data[x]=1&y=2']], { siblings: 'forward' });

test('edits, records and patch are those of the model', () => {
  const outcome = formPlan([UNWRAP, NEST, MAP]).rewrite(bytesOf('data[property][lat]=1&data[kind]=1'));
  expect(outcome).toMatchObject({
    records: [
      { rule: 'unwrap', from: '/data', path: '' },
      { rule: 'nest', from: '/data/property/lat', path: '/property/address/lat' },
      { rule: 'map', from: '/data/kind', path: '/kind' },
    ],
    patch: [
      { op: 'move', from: '/data', path: '' },
      { op: 'add', path: '/property/address', value: {} },
      { op: 'move', from: '/property/lat', path: '/property/address/lat' },
      { op: 'replace', path: '/kind', value: 'true' },
    ],
  });
  expect(outcome.verdict === 'rewritten' && editsOf(outcome.edits)).toBe(
    '0-19=property[address][lat] 22-34=kind=true',
  );
});

const word = fc.constantFrom('a', 'b', 'c', 'd', 'é', 'x y');
const spelled = word
  .chain((name) =>
    fc.constantFrom(name, encodeURIComponent(name), encodeURIComponent(name).replaceAll('%20', '+')),
  )
  .filter((name) => /^[\x21-\x7e]+$/.test(name));
const brackets = fc.constantFrom(['[', ']'], ['%5B', '%5D'], ['%5b', '%5d']);
const value = fc.constantFrom('', '=', '=a', '=b', '=10.50', '=%2B+%26', '=a=b', '=%c3%a9', '=null');
const fieldOf = (middle: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(spelled, fc.array(middle, { maxLength: 3 }), brackets, value)
    .map(
      ([base, parts, [open, close], text]) => base + parts.map((part) => open + part + close).join('') + text,
    );
const form = fc
  .array(
    fc.oneof(
      {
        weight: 8,
        arbitrary: fieldOf(
          fc.oneof(
            { weight: 4, arbitrary: spelled },
            { weight: 1, arbitrary: fc.constantFrom('', '0', '1') },
          ),
        ),
      },
      { weight: 1, arbitrary: fc.constant('') },
    ),
    {
      minLength: 1,
      maxLength: 7,
    },
  )
  .map((fields) => fields.join('&'));
const name = fc.constantFrom('a', 'b', 'c', 'é');
const path = fc.array(fc.constantFrom('a', 'b', 'c', '*'), { maxLength: 3 });
const members = fc.subarray(['a', 'b', 'c', 'x y'], { minLength: 1 });
const anyRule: fc.Arbitrary<RequestRule> = fc.oneof(
  ruleOf('unwrap', { member: name }),
  ruleOf('nest', { members, in: path, under: fc.constantFrom('d', 'new one') }),
  ruleOf('rename', { member: name, in: path, to: fc.constantFrom('d', 'x y') }),
  fc.record({ rule: fc.constantFrom('strip' as const, 'only' as const), members, in: path }),
  fc.record({
    rule: fc.constantFrom('set' as const, 'default' as const),
    member: name,
    in: path,
    json: fc.constant('{"a":["x",{"b":"y"}]}'),
    value: fc.constant({ a: ['x', { b: 'y' }] }),
  }),
  ruleOf('move', {
    in: fc.constant([]),
    from: fc.array(name, { minLength: 1, maxLength: 2 }),
    to: fc.array(name, { minLength: 1, maxLength: 2 }),
  }).filter(({ from, to }) => from[0] !== to[0]),
  ruleOf('map', {
    member: name,
    in: path,
    values: fc.constant([
      { from: scalarOf('a'), to: scalarOf('ü ') },
      { from: scalarOf('10.50'), to: scalarOf('b') },
    ]),
  }),
);
const anyRules = fc.array(anyRule, { minLength: 1, maxLength: 4 });

test('rewriting a form equals rewriting its content: an independent reader finds the same', () => {
  let rewritten = 0;
  fc.assert(
    fc.property(anyRules, form, (rules, text) => {
      const model = readForm(text);
      fc.pre(model !== undefined && text !== '' && !hasTwice(text));
      const json = planOf(rules).rewrite(bytesOf(model ?? ''));
      const outcome = formPlan(rules).rewrite(bytesOf(text));
      if (json.verdict === 'refused') {
        expect(outcomeText(outcome)).toBe(outcomeText(json));
        return;
      }
      if (outcome.verdict === 'rewritten') rewritten += 1;
      const found = readForm(outcomeText(outcome));
      // A name of digits is left alone by a rule in an object that is a list without its other names.
      fc.pre(!/"\d":/.test(outcomeText(json)));
      // An element of a list that becomes empty, or loses what told it from the next, cannot be said.
      fc.pre(found !== undefined && !text.includes('[]') && !/%5b%5d/i.test(text));
      expect(withoutEmpty(JSON.parse(found ?? ''))).toEqual(withoutEmpty(JSON.parse(textOf(json.body))));
      expect('records' in outcome && outcome.records).toEqual('records' in json && json.records);
    }),
    { numRuns: fuzzRuns(10_000) },
  );
  expect(rewritten).toBeGreaterThan(fuzzRuns(1_000));
}, 240_000);

/** True for a form that has a name twice. */
function hasTwice(text: string): boolean {
  const names = text
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => decodeURIComponent(pair.split('=')[0]?.replaceAll('+', ' ') ?? ''));
  return new Set(names).size < names.length;
}

test('for any bytes, those outside of edits stay, and a form without rules is identical', () => {
  const bytes = fc.oneof(
    form.map(bytesOf),
    fc.uint8Array({ maxLength: 40 }),
    fc.string({ unit: fc.constantFrom('a', '[', ']', '&', '=', '%', '5', 'B', '+') }).map(bytesOf),
  );
  const identity = formPlan([]);
  fc.assert(
    fc.property(anyRules, bytes, (rules, body) => {
      const same = identity.rewrite(body);
      expect(same.verdict).not.toBe('rewritten');
      const outcome = formPlan(rules, { duplicate: 'last' }).rewrite(body);
      if (outcome.verdict !== 'rewritten') return;
      let at = 0;
      let rebuilt = '';
      for (const { start, end, insert } of outcome.edits) {
        expect(start).toBeGreaterThanOrEqual(at);
        rebuilt += textOf(body.subarray(at, start)) + textOf(insert);
        at = end;
      }
      expect(rebuilt + textOf(body.subarray(at))).toBe(textOf(outcome.body));
    }),
    { numRuns: fuzzRuns(10_000) },
  );
}, 240_000);

cases(
  'list splits texts, and a form has no empty list',
  [{ rule: 'list', member: 'a', in: [], to: 'b', elements: { are: 'texts', with: ',' } }],
  [
    ['x=1&a=p,q+r&y=2', 'x=1&b[]=p&b[]=q+r&y=2'],
    ['a=p%2Cq', 'b[]=p&b[]=q'],
    ['a=', 'b[]='],
    ['a=p&b=q', 'b[]=p'],
    ['a[]=p', 'refused 422 unconvertible-value /a'],
    ['a=p&a=q', 'refused 400 duplicate-member /a'],
    ['x=1', 'x=1'],
  ],
);

cases(
  'unlist joins texts',
  [{ rule: 'unlist', member: 'a', in: ['p'], to: 'a', elements: { are: 'texts', with: ', ' } }],
  [
    ['p[a][]=1&x=0&p[a][]=2', 'x=0&p[a]=1%2C+2'],
    ['p[a][]=1%2C+2', 'refused 422 unconvertible-value /p/a'],
    ['p[a][]=', 'p[a]='],
    ['p[a]=1', 'refused 422 unconvertible-value /p/a'],
  ],
);

cases(
  'list puts each element into an object',
  [{ rule: 'list', member: 'a', in: [], to: 'a', elements: { are: 'objects', of: 'v w' } }],
  [
    ['a[]=1&x=0&a[]=%32', 'a[][v+w]=1&x=0&a[][v+w]=%32'],
    ['a%5B%5D[x]=1', 'a%5B%5D%5Bv+w%5D%5Bx%5D=1'],
    ['a[0]=1&a[1]=2', 'a[0][v+w]=1&a[1][v+w]=2'],
    ['a[0][x]=1', 'a[0][v+w][x]=1'],
  ],
);

cases(
  'unlist takes each element out of its object',
  [{ rule: 'unlist', member: 'a', in: [], to: 'b', elements: { are: 'objects', of: 'v' } }],
  [
    ['a[][v]=1&a[][v]=%32', 'b[]=1&b[]=%32'],
    ['a[0][v][x]=1', 'b[0][x]=1'],
    ['a[][v]=1&a[][w]=2', 'refused 422 unconvertible-value /a'],
  ],
);

cases(
  'entries pairs names and values',
  [{ rule: 'entries', member: 'f', in: [], to: 'f', elements: { are: 'pairs', name: 'k', value: 'v' } }],
  [
    ['f[a+b]=1&x=0&f[c]=%32', 'f[][v]=1&f[][k]=a+b&f[][k]=c&x=0&f[][v]=%32'],
    ['f[a][x]=1', 'f[][v][x]=1&f[][k]=a'],
    ['f=', 'refused 422 unconvertible-value /f'],
  ],
);

cases(
  'unlist makes members of pairs',
  [{ rule: 'unlist', member: 'f', in: [], to: 'g', elements: { are: 'pairs', name: 'k', value: 'v' } }],
  [
    ['f[][k]=a+b&f[][v]=1&f[][k]=c&f[][v]=%32', 'g[a+b]=1&g[c]=%32'],
    ['f[0][v]=1&f[0][k]=a', 'g[a]=1'],
    ['f[][k]=a&f[][v]=1&f[][k]=a&f[][v]=2', 'refused 400 duplicate-member /f/1/v'],
  ],
);

describe('rules for values take and write texts', () => {
  const convert = (conversion: Conversion): RequestRule => {
    return { rule: conversion.rule, member: 'a', in: [], conversion };
  };
  test.each([
    [convert({ rule: 'scale', by: '100', digits: 0 }), 'x=1&a=10.50', 'x=1&a=1050'],
    [convert({ rule: 'scale', by: '100', digits: 0 }), 'a=', 'a='],
    [convert({ rule: 'scale', by: '100', digits: 0 }), 'a=x', 'refused 422 unconvertible-value /a'],
    [convert({ rule: 'quote' }), 'a=7', 'a=7'],
    [convert({ rule: 'prefix', with: 'inv_' }), 'a=7', 'a=inv_7'],
    [convert(dateConversion('DD/MM/YYYY', 'epoch')), 'a=31%2F01%2F2025', 'a=1738281600'],
    [{ rule: 'move', in: [], from: ['a'], to: ['b', 'c'] }, 'a=%41&x=1', 'b[c]=%41&x=1'],
    [{ rule: 'copy', in: [], from: ['a'], to: ['b', 'c'] }, 'a=%41&x=1', 'a=%41&x=1&b[c]=A'],
    [
      { rule: 'copy', in: [], from: ['a', 'b'], to: ['c'] },
      'a[b][]=1&a[b][]=2&c=0&a[x]=3',
      'a[b][]=1&a[b][]=2&a[x]=3&c[]=1&c[]=2',
    ],
    [{ rule: 'join', members: ['a', 'b'], in: [], to: 'c', with: ' ', at: 'last' }, 'a=1&b=2', 'c=1+2'],
    [{ rule: 'split', member: 'a', in: [], to: ['b', 'c'], with: ' ', at: 'last' }, 'a=1+2', 'b=1&c=2'],
    [{ rule: 'split', member: 'a', in: [], to: ['b', 'c'], with: ' ', at: 'last' }, 'a=', 'b=&c='],
    [{ rule: 'list', member: 'a', in: [], to: 'b' }, 'a=1', 'b[]=1'],
    [{ rule: 'list', member: 'a', in: [], to: 'b' }, 'a[x]=1&a[y][]=2', 'b[][x]=1&b[][y][]=2'],
    [{ rule: 'list', member: 'a', in: [], to: 'b' }, 'a[]=1&a[]=2', 'refused 422 unconvertible-value -'],
    [
      { rule: 'list', member: 'q', in: ['a', '*'], to: 'b' },
      'a[][q]=1&a[][q]=2',
      'refused 422 unconvertible-value -',
    ],
    [
      { rule: 'list', member: 'q', in: ['a', '*'], to: 'b' },
      'a[0][q]=1&a[1][q]=2',
      'a[0][b][]=1&a[1][b][]=2',
    ],
    [
      { rule: 'strip', members: ['q'], in: ['a', '*'] },
      'a[][q]=1&a[][x]=1&a[][q]=2&a[][y]=1',
      'refused 422 unconvertible-value -',
    ],
    // The list would stand behind the next field, which is of the next element.
    [
      { rule: 'list', member: 'q', in: ['a', '*'], to: 'x' },
      'a[][q]=1&a[][x]=2&a[][x]=3',
      'refused 422 unconvertible-value -',
    ],
  ] satisfies readonly [RequestRule, string, string][])('%j: %s', (rule, before, after) => {
    expect(outcomeText(formPlan([rule]).rewrite(bytesOf(before)))).toBe(after);
  });
});

describe('a form that names a method for which other rules apply', () => {
  const refusedFor = (method: string): Rewrite => {
    const [only] = [method.trim().toUpperCase()];
    return {
      verdict: 'refused',
      refusal: {
        code: 'bad-request',
        status: 400,
        detail: `The field _method says ${only}, whose rules differ from those of the request line: send that method, or name it in X-HTTP-Method-Override or in the query.`,
        pointer: '/_method',
      },
    };
  };

  test.each<readonly [rules: readonly RequestRule[]]>([[[]], [[RENAME]]])('is refused, by %j', (rules) => {
    const book = bookOf(rules);
    const plan = new FormPlan(book, rules.length === 0 ? [] : book.changes, ['PUT', 'PATCH']);
    expect(plan.isEmpty).toBe(false);
    expect(plan.rewrite(bytesOf('a=1&_method=put'))).toEqual(refusedFor('put'));
    expect(plan.rewrite(bytesOf('%5Fmethod=+Patch+&a=1'))).toEqual(refusedFor(' Patch '));
    // Of a text in another charset V2 may read the names all the same.
    expect(plan.rewrite(new Uint8Array([0x61, 0x3d, 0xe4, ...bytesOf('&_method=PUT')]))).toEqual(
      refusedFor('PUT'),
    );
    for (const other of ['_method=DELETE', '_method[x]=PUT', '_methods=PUT', '_method', ''])
      expect(plan.rewrite(bytesOf(other))).toEqual({
        verdict: 'unchanged',
        body: bytesOf(other),
        records: [],
      });
  });

  test('in another charset is malformed, but crosses if no rule applies', () => {
    const inText = bytesOf('{"data":{"a":"&_method=PUT&"}}');
    expect(
      outcomeText(new FormPlan(bookOf([UNWRAP]), bookOf([UNWRAP]).changes, ['PUT']).rewrite(inText)),
    ).toBe('refused 400 bad-request /_method');
    const latin = new Uint8Array([0x61, 0x3d, 0xe4, ...bytesOf('&_method=DELETE')]);
    expect(outcomeText(new FormPlan(bookOf([]), [], ['PUT']).rewrite(latin))).toBe(textOf(latin));
    const book = bookOf([RENAME]);
    expect(outcomeText(new FormPlan(book, book.changes, ['PUT']).rewrite(latin))).toBe(
      'refused 400 malformed-form 2',
    );
  });

  test('that is JSON is left where the policy media is strict, with a note', () => {
    const book = bookOf([UNWRAP], { media: 'strict' });
    const body = bytesOf('{"data":{"a":1}}');
    expect(new FormPlan(book, book.changes).rewrite(body)).toEqual({
      verdict: 'unchanged',
      body,
      records: [],
      note: 'media-type',
    });
  });

  test('that is JSON logs the edits of its members', () => {
    const book = bookOf([UNWRAP, RENAME]);
    for (const body of ['{"data":{"old":1}}', '%7B%22data%22:%7B%22old%22:1%7D%7D']) {
      const outcome = new FormPlan(book, book.changes).rewrite(bytesOf(body));
      expect(outcome.verdict === 'refused' ? [] : outcome.records).toMatchObject([
        { rule: 'unwrap', from: '/data', path: '' },
        { rule: 'rename', from: '/data/old', path: '/new name' },
      ]);
      expect(textOf(formModel(bytesOf(body)) ?? bytesOf(''))).toBe('{"data":{"old":1}}');
    }
  });

  test('is refused without memory for its fields', () => {
    const book = bookOf([RENAME]);
    const memory = { take: () => false };
    const outcome = new FormPlan(book, book.changes).rewrite(bytesOf('old=1'), memory);
    expect(outcomeText(outcome)).toBe('refused 503 buffer-full -');
  });
});

test('the member that names another method, which V2 does not get, is no deprecated attribute', () => {
  const stripped = { rule: 'strip', from: '/_method' } as const;
  expect(deprecatedInV1([{ ...stripped, change: METHOD_OVERRIDE }])).toEqual([]);
  expect(deprecatedAttributes([{ ...stripped, change: METHOD_OVERRIDE }])).toEqual([]);
  expect(deprecatedInV1([{ ...stripped, change: 'c' }])).toHaveLength(1);
});
