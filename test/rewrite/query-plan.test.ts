import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dateConversion } from '../../src/rules/kinds/date.ts';
import { readScalar } from '../../src/json/names.ts';
import { compileQueryPlans, queryPlanOf, type QueryPlan } from '../../src/rewrite/query-plan.ts';
import type { QueryRule } from '../../src/rules/rule.ts';
import { bookIn } from '../rules/reading.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { convertText } from '../support/value-model.ts';
import { ruleOf } from './documents.ts';

function planOf(rules: readonly QueryRule[]): QueryPlan {
  const plan = queryPlanOf([
    {
      id: 'c',
      summary: 's',
      on: ['a'],
      request: [],
      query: rules,
      response: [],
      policies: {},
      assumed: false,
    },
  ]);
  if (plan === undefined) throw new Error('there are no rules');
  return plan;
}

const values = (pairs: Readonly<Record<string, string>>): { readonly values: QueryMap['values'] } => ({
  values: Object.entries(pairs).map(([from, to]) => ({ from: readScalar(from), to: readScalar(to) })),
});
type QueryMap = Extract<QueryRule, { rule: 'map' }>;

const RENAME: QueryRule = { rule: 'rename', parameter: 'old', to: 'new' };
const BRACKETS: QueryRule = { rule: 'rename', parameter: 'filter[type]', to: 'filter[kind of]' };
const COPY: QueryRule = { rule: 'copy', parameter: 'old', to: 'new one' };
const SPLIT: QueryRule = { rule: 'list', parameter: 'tags', to: 'tags', with: ',' };
const SPLIT_TO: QueryRule = { rule: 'list', parameter: 'tags', to: 'tag[]', with: '; ' };
const JOIN: QueryRule = { rule: 'unlist', parameter: 'tags', to: 'tags', with: ',' };
const JOIN_TO: QueryRule = { rule: 'unlist', parameter: 'tag[]', to: 'tags', with: '|' };
const STRIP: QueryRule = { rule: 'strip', parameters: ['gone', 'é'] };
const MAP: QueryRule = {
  rule: 'map',
  parameter: 'style',
  ...values({ day: 'dusk & dawn', 1: 'one', '': 'none' }),
};

describe('a raw query', () => {
  test.each<[title: string, rule: QueryRule, query: string, expected: string]>([
    [
      'keeps order, encoding, plus signs and empty parts',
      RENAME,
      '?b=%c3%A9+x&&old=a+b%20c&a[]=1&a[]=2&',
      '?b=%c3%A9+x&&new=a+b%20c&a[]=1&a[]=2&',
    ],
    ['has each of a repeated name renamed', RENAME, '?old=1&x&old=2&old', '?new=1&x&new=2&new'],
    ['is compared by decoded names', RENAME, '?%6Fl%64=1', '?new=1'],
    [
      'keeps names that only have the same beginning',
      RENAME,
      '?older=1&old[]=2&Old=3',
      '?older=1&old[]=2&Old=3',
    ],
    ['keeps values that look like the name', RENAME, '?x=old&y=?old', '?x=old&y=?old'],
    ['keeps a value with equals signs', RENAME, '?old=a=b==', '?new=a=b=='],
    ['keeps broken percent signs', RENAME, '?%=1&%zz&old=%', '?%=1&%zz&new=%'],
    ['loses the V2 name where the V1 name is present', RENAME, '?new=2&old=1&new=3', '?new=1'],
    ['keeps the V2 name alone', RENAME, '?new=2', '?new=2'],
    ['gets encoded names', BRACKETS, '?filter%5Btype%5D=1', '?filter%5Bkind%20of%5D=1'],
    ['keeps the brackets of its sender', BRACKETS, '?filter[type]=1', '?filter[kind%20of]=1'],
    [
      'has a copy behind each of a name',
      COPY,
      '?old=1&x&old=%32',
      '?old=1&new%20one=1&x&old=%32&new%20one=%32',
    ],
    ['has a copy without a value', COPY, '?old', '?old&new%20one'],
    ['loses a parameter with the name of a copy', COPY, '?new+one=2&old=1', '?old=1&new%20one=1'],
    ['keeps the second name alone', COPY, '?new+one=2', '?new+one=2'],
    ['has a parameter for each text in one', SPLIT, '?a&tags=x,%79,&b', '?a&tags=x&tags=%79&tags=&b'],
    ['has them for a separator however it is spelled', SPLIT, '?tags=x%2cy%2Cz', '?tags=x&tags=y&tags=z'],
    ['has them for each of a name', SPLIT, '?tags=x,y&a=1,2&tags=z', '?tags=x&tags=y&a=1,2&tags=z'],
    ['keeps a list of one', SPLIT, '?tags=x&b', '?tags=x&b'],
    ['keeps a list without a value', SPLIT, '?tags&tags=', '?tags&tags='],
    ['has them by another name', SPLIT_TO, '?tags=x;+y%3B%20z;&t', '?tag%5B%5D=x&tag%5B%5D=y&tag%5B%5D=z;&t'],
    ['loses a parameter with that name', SPLIT_TO, '?tag[]=1&tags=x', '?tag%5B%5D=x'],
    ['has one text of all', JOIN, '?tags=x&a&tags=%79', '?tags=x,%79&a'],
    ['keeps one of a kind', JOIN, '?tags=x,y&a', '?tags=x,y&a'],
    ['keeps texts with the separator in one', JOIN, '?tags=x&tags=y%2Cz', '?tags=x&tags=y%2Cz'],
    ['has an empty text for a parameter without a value', JOIN, '?tags=x&tags', '?tags=x,'],
    ['has one text by another name', JOIN_TO, '?tag[]=x&tag%5B%5D=y', '?tags=x%7Cy'],
    ['has another name for one as well', JOIN_TO, '?tag%5B%5D=x', '?tags=x'],
    ['loses a parameter with one ampersand', STRIP, '?a=1&gone=2&b=3', '?a=1&b=3'],
    ['loses all of a name', STRIP, '?gone&%C3%A9=1&a&gone=2', '?a'],
    ['that is emptied goes with its question mark', STRIP, '?gone=1', ''],
    ['keeps its empty parts', STRIP, '?gone=1&', '?'],
    ['without parameters stays', STRIP, '?', '?'],
    ['that is not there stays so', STRIP, '', ''],
    ['has listed values replaced, encoded', MAP, '?style=d%61y&x=day', '?style=dusk%20%26%20dawn&x=day'],
    [
      'has each value of a repeated name looked up',
      MAP,
      '?style=day&style=Day&style=1',
      '?style=dusk%20%26%20dawn&style=Day&style=one',
    ],
    ['keeps a name without a value', MAP, '?style&style=', '?style&style=none'],
  ])('%s', (_, rule, query, expected) => {
    expect(planOf([rule]).rewrite(query).query).toBe(expected);
  });
});

const LIST: QueryRule = {
  rule: 'map',
  parameter: 'sort',
  ...values({ transition_type: 'highlight_type', day: 'dusk, dawn', 'x y': 'z', asc: 'up' }),
  with: [','],
  sign: ['-', '+', ':desc', ':asc', ' desc'],
};
const PIPE: QueryRule = { ...LIST, with: ['|', ' '], sign: [] };
const NESTED: QueryRule = { ...LIST, parameter: 'fields[orders]', with: [',', '(', ')', '.'], sign: [] };

describe('a list in a query', () => {
  test.each<[rule: QueryRule, query: string, expected: string]>([
    [LIST, '?sort=-transition_type,created_at', '?sort=-highlight_type,created_at'],
    [LIST, '?sort=transition_type', '?sort=highlight_type'],
    [LIST, '?sort=created_at,-transition_type,id', '?sort=created_at,-highlight_type,id'],
    [LIST, '?sort=a%2C-transition_type%2cb', '?sort=a%2C-highlight_type%2cb'],
    [LIST, '?sort=+transition_type,b', '?sort=+highlight_type,b'],
    [LIST, '?sort=%2Btransition_type,b', '?sort=%2Bhighlight_type,b'],
    [LIST, '?sort=%2dtransition_type', '?sort=%2dhighlight_type'],
    [LIST, '?sort=transition_type:desc,b', '?sort=highlight_type:desc,b'],
    [LIST, '?sort=transition_type%3ADESC', '?sort=highlight_type%3ADESC'],
    [LIST, '?sort=transition_type+desc,+b', '?sort=highlight_type+desc,+b'],
    [LIST, '?sort=b,%20transition_type%20', '?sort=b,%20highlight_type%20'],
    [LIST, '?sort=x+y,x%20y:asc', '?sort=z,z:asc'],
    [LIST, '?sort=day,asc', '?sort=dusk%2C%20dawn,up'],
    [LIST, '?sort=tr%61nsition_type,,', '?sort=highlight_type,,'],
    [LIST, '?sort=a&sort=transition_type,a', '?sort=a&sort=highlight_type,a'],
    [LIST, '?sort[]=transition_type&sort', '?sort[]=transition_type&sort'],
    [LIST, '?sort=transition_types,-,%,%2', '?sort=transition_types,-,%,%2'],
    [PIPE, '?sort=day|transition_type', '?sort=dusk%2C%20dawn|highlight_type'],
    [PIPE, '?sort=a%7Ctransition_type', '?sort=a%7Chighlight_type'],
    [PIPE, '?sort=a+transition_type%20b', '?sort=a+highlight_type%20b'],
    [NESTED, '?fields[orders]=a,transition_type', '?fields[orders]=a,highlight_type'],
    [NESTED, '?fields%5Borders%5D=transition_type', '?fields%5Borders%5D=highlight_type'],
    [
      NESTED,
      '?fields[orders]=id,items(name,transition_type)',
      '?fields[orders]=id,items(name,highlight_type)',
    ],
    [NESTED, '?fields[orders]=order.transition_type', '?fields[orders]=order.highlight_type'],
  ])('%# %j', (rule, query, expected) => {
    expect(planOf([rule]).rewrite(query).query).toBe(expected);
  });

  test('of a link is turned back, sign and separators as they are', () => {
    const plan = planOf([LIST]);
    expect(plan.restore('?sort=-highlight_type%2Cid,z:desc')).toBe('?sort=-transition_type%2Cid,x%20y:desc');
  });

  test('of a hundred thousand blanks and signs is read in one pass', () => {
    const long = `?sort=${'+'.repeat(100_000)}a,${'%2d'.repeat(100_000)},${'-:desc'.repeat(50_000)}`;
    expect(planOf([LIST]).rewrite(long).query).toBe(long);
  });

  test.each<[rule: QueryRule, query: string, isNoted: boolean]>([
    [MAP, '?style=day,night', true],
    [MAP, '?style=night%7Cday', true],
    [MAP, '?style=night+day', true],
    [MAP, '?style=-day', true],
    [MAP, '?style=[night,day]', true],
    [MAP, '?style=day:desc', true],
    [MAP, '?style=night,dusk', false],
    [MAP, '?style=days', false],
    [MAP, '?style=day', false],
    [PIPE, '?sort=day,night', true],
    [{ ...LIST, sign: [] }, '?sort=-transition_type', true],
    [LIST, '?sort=-transition_type', false],
  ])('is not left alone without a note: %# %j', (rule, query, isNoted) => {
    const { query: left, records } = planOf([rule]).rewrite(query);
    const noted = records.filter(({ note }) => note === 'unmapped');
    const place = `?${'parameter' in rule ? rule.parameter : ''}`;
    expect(noted).toEqual(
      isNoted ? [{ change: 'c', rule: 'map', from: place, path: place, note: 'unmapped' }] : [],
    );
    if (isNoted) expect(left).toBe(query);
  });
});

test.each<[query: string, noted: string[]]>([
  ['?sort=-transition_type,created_at', ['?sort']],
  ['?fields[orders]=id,transition_type&include=x', ['?fields[orders]']],
  ['?fields=items(transition_type)&fields=transition_type', ['?fields']],
  ['?filter[transition_type]=x&transition_type=y', ['?filter[transition_type]', '?transition_type']],
  ['?order_by=transition_type+desc', ['?order_by']],
  ['?q=transition_type&sort=highlight_type&sort', []],
  ['?per_page=2', []],
])('a name that bodies lose and no query rule turns is noted: %s', (query, noted) => {
  const plan = queryPlanOf([], new Map([['transition_type', 'highlight-type']]));
  const rewritten = plan?.rewrite(query);
  expect(rewritten?.query).toBe(query);
  expect(rewritten?.records).toEqual(
    noted.map((place) => ({
      change: 'highlight-type',
      rule: 'rename',
      from: place,
      path: place,
      note: 'unmapped',
    })),
  );
});

test('the query of a read is checked for names of the whole book, that of a write for names of its own changes', async () => {
  const book = await bookIn(`operations:
  create: POST /orders
  list: GET /orders
  other: POST /others
changes:
  - { id: c, summary: s, on: [create], request: [{ rename: old, to: new }], response: inverse }
`);
  const plans = compileQueryPlans(book);
  const noted = book.operations.map((operation) => {
    const records = plans.of(operation, operation.method)?.rewrite('?sort=old').records ?? [];
    return [operation.id, records.length];
  });
  expect(noted).toEqual([
    ['create', 1],
    ['list', 1],
    ['other', 0],
  ]);
});

test('rules apply in turn, and each record names a parameter by its names in V1 and in V2', () => {
  const plan = planOf([
    RENAME,
    { rule: 'rename', parameter: 'new', to: 'newest' },
    { rule: 'map', parameter: 'newest', ...values({ a: 'b' }) },
    { rule: 'strip', parameters: ['gone'] },
  ]);
  const { query, records } = plan.rewrite('?old=a&gone=1&old=c&new=3&gone=2');
  expect(query).toBe('?newest=b&newest=c');
  expect(records).toEqual([
    { change: 'c', rule: 'rename', from: '?new', note: 'conflict' },
    { change: 'c', rule: 'rename', from: '?old', path: '?newest', note: 'conflict' },
    { change: 'c', rule: 'rename', from: '?old', path: '?newest' },
    { change: 'c', rule: 'map', from: '?old', path: '?newest' },
    { change: 'c', rule: 'strip', from: '?gone' },
  ]);
});

test('rules for values: those that cannot be converted stay, and a link is turned back', () => {
  const plan = planOf([
    { rule: 'set', parameter: 'v', text: 'a b' },
    { rule: 'default', parameter: 'per', text: '25' },
    { rule: 'scale', parameter: 'min', conversion: { rule: 'scale', by: '100', digits: 2 } },
    { rule: 'prefix', parameter: 'id', conversion: { rule: 'prefix', with: 'inv_' } },
    {
      rule: 'date',
      parameter: 'since',
      conversion: dateConversion('date', 'epoch'),
    },
  ]);
  const { query, records } = plan.rewrite('?min=1.5&id=7&since=2025-01-31&min=x');
  expect(query).toBe('?min=150&id=inv_7&since=1738281600&min=x&v=a%20b&per=25');
  expect(records.map(({ rule, from, path, note }) => [rule, from, path, note])).toEqual([
    ['set', undefined, '?v', undefined],
    ['default', undefined, '?per', undefined],
    ['scale', '?min', '?min', undefined],
    ['scale', '?min', '?min', 'value'],
    ['prefix', '?id', '?id', undefined],
    ['date', '?since', '?since', undefined],
  ]);
  expect(plan.restore(query)).toBe('?min=1.50&id=7&since=2025-01-31&min=x');
  expect(plan.rewrite('').query).toBe('?v=a%20b&per=25');
  expect(plan.restore('?v=a%20b&per=25')).toBe('');
  expect(plan.rewrite('?per=1').query).toBe('?per=1&v=a%20b');
});

test('a link is turned back: names, and values that come from a single V1 value', () => {
  const plan = planOf([
    RENAME,
    { rule: 'map', parameter: 'new', ...values({ day: 'light', noon: 'light', night: 'dark' }) },
    STRIP,
  ]);
  expect(plan.restore('?page=2&new=dark&n%65w=light&x=%5b&&')).toBe('?page=2&old=night&old=light&x=%5b&&');
  expect(plan.restore('')).toBe('');
  expect(plan.restore('?')).toBe('?');
  expect(['new', 'newer'].map((name) => plan.v1Name(name))).toEqual(['old', 'newer']);
});

const NAMES = ['old', 'new', 'a', 'a[]', 'b c', 'é', '&='];
const VALUES = ['1', 'x', 'x y', '+', 'é', '%', '10.50', '2025-01-31', '1e2', '-7'];
const spelled = (texts: readonly string[]): fc.Arbitrary<string> =>
  fc.tuple(fc.constantFrom(...texts), fc.nat(3)).map(([text, how]) => {
    const encoded = encodeURIComponent(text);
    if (how === 0) return encoded.replaceAll('%20', '+');
    if (how === 1) return encoded.toLowerCase();
    if (how === 2) return encoded.replace(/^[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
    return encoded.replaceAll('%5B', '[').replaceAll('%5D', ']');
  });
const part = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(spelled(NAMES), spelled(VALUES)).map((both) => both.join('=')) },
  { weight: 1, arbitrary: spelled(NAMES) },
  { weight: 1, arbitrary: fc.constantFrom('', '=', '=x', '%', 'a=%zz', '?old=1', '%ff=1', 'x=%C3') },
);
const queries = fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => `?${parts.join('&')}`);
const name = fc.constantFrom(...NAMES);
const conversions: fc.Arbitrary<QueryRule> = fc
  .tuple(
    name,
    fc.constantFrom<QueryConversion['conversion']>(
      { rule: 'prefix', with: 'é ' },
      { rule: 'unprefix', with: 'x' },
      { rule: 'scale', by: '10', digits: 0 },
      { rule: 'scale', by: '0.01', digits: 0 },
      dateConversion('date', 'epoch'),
      dateConversion('epoch', 'date'),
    ),
  )
  .map(([parameter, conversion]) => ({ rule: conversion.rule, parameter, conversion }));
type QueryConversion = Extract<QueryRule, { conversion: unknown }>;
const anyRule: fc.Arbitrary<QueryRule> = fc.oneof(
  ruleOf('rename', { parameter: name, to: name }).filter(({ parameter, to }) => parameter !== to),
  ruleOf('copy', { parameter: name, to: name }).filter(({ parameter, to }) => parameter !== to),
  ruleOf('list', { parameter: name, to: name, with: fc.constantFrom(',', '; ') }),
  ruleOf('unlist', { parameter: name, to: name, with: fc.constantFrom(',', '; ') }),
  ruleOf('strip', { parameters: fc.uniqueArray(name, { minLength: 1, maxLength: 2 }) }),
  ruleOf('map', {
    parameter: name,
    values: fc.uniqueArray(
      fc.record({
        from: fc.constantFrom(...VALUES).map(readScalar),
        to: fc.constantFrom(...VALUES).map(readScalar),
      }),
      { minLength: 1, maxLength: 3, selector: ({ from }) => from.text },
    ),
  }),
  fc.record({
    rule: fc.constantFrom('set' as const, 'default' as const),
    parameter: name,
    text: fc.constantFrom(...VALUES),
  }),
  conversions,
  conversions,
);
const anyRules = fc.array(anyRule, { minLength: 1, maxLength: 4 });

/** The meaning of a rule, on names and values that the platform has decoded. */
function applied(
  pairs: readonly (readonly [string, string])[],
  rule: QueryRule,
): (readonly [string, string])[] {
  if ('conversion' in rule) {
    return pairs.map(([key, text]) => {
      const converted = key === rule.parameter ? convertText(rule.conversion, text) : undefined;
      return [key, typeof converted === 'string' ? converted : text];
    });
  }
  switch (rule.rule) {
    case 'strip':
      return pairs.filter(([key]) => !rule.parameters.includes(key));
    case 'rename':
      if (!pairs.some(([key]) => key === rule.parameter)) return [...pairs];
      return pairs
        .filter(([key]) => key !== rule.to)
        .map(([key, text]) => [key === rule.parameter ? rule.to : key, text]);
    case 'copy':
      if (!pairs.some(([key]) => key === rule.parameter)) return [...pairs];
      return pairs
        .filter(([key]) => key !== rule.to)
        .flatMap(([key, text]) =>
          key === rule.parameter
            ? [
                [key, text],
                [rule.to, text],
              ]
            : [[key, text]],
        );
    case 'list': {
      if (!pairs.some(([key]) => key === rule.parameter)) return [...pairs];
      const isSplit = pairs.some(
        ([key, text]) => key === rule.parameter && (text.includes(rule.with) || rule.to !== key),
      );
      return pairs
        .filter(([key]) => !isSplit || key === rule.parameter || key !== rule.to)
        .flatMap(([key, text]) =>
          key === rule.parameter
            ? text.split(rule.with).map((part): [string, string] => [rule.to, part])
            : [[key, text]],
        );
    }
    case 'unlist': {
      const own = pairs.filter(([key]) => key === rule.parameter);
      const isLeft = own.length > 1 && own.some(([, text]) => text.includes(rule.with));
      if (own.length === 0 || isLeft) return [...pairs];
      const at = pairs.findIndex(([key]) => key === rule.parameter);
      return pairs.flatMap(([key, text], index): [string, string][] => {
        if (index === at) return [[rule.to, own.map(([, one]) => one).join(rule.with)]];
        return key === rule.parameter || (key === rule.to && rule.to !== rule.parameter) ? [] : [[key, text]];
      });
    }
    case 'map':
      return pairs.map(([key, text]) => [
        key,
        (key === rule.parameter ? rule.values.find(({ from }) => from.text === text)?.to.text : undefined) ??
          text,
      ]);
    case 'set':
    case 'default':
      if (!pairs.some(([key]) => key === rule.parameter)) return [...pairs, [rule.parameter, rule.text]];
      return pairs.map(([key, text]) => [
        key,
        key === rule.parameter && rule.rule === 'set' ? rule.text : text,
      ]);
  }
}

test.each<[rule: QueryRule, v2: string, v1: string]>([
  [SPLIT, '?tags=x&a&tags=y', '?tags=x,y&a'],
  [SPLIT, '?tags=x', '?tags=x'],
  [SPLIT, '?tags=x&tags=y%2Cz', '?tags=x&tags=y%2Cz'],
  [SPLIT_TO, '?tag[]=x&tag[]=y&tags=1', '?tags=x%3B%20y&tags=1'],
  [JOIN, '?tags=x,y&a', '?tags=x&tags=y&a'],
  [JOIN_TO, '?tags=x%7Cy', '?tag%5B%5D=x&tag%5B%5D=y'],
])('a link has lists in the form of V1: %o', (rule, v2, v1) => {
  expect(planOf([rule]).restore(v2)).toBe(v1);
});

test('a list is logged once for a name, and one that cannot be written stays with a note', () => {
  expect(planOf([SPLIT]).rewrite('?tags=x,y&tags=z').records).toEqual([
    { change: 'c', rule: 'list', from: '?tags', path: '?tags' },
  ]);
  expect(planOf([JOIN]).rewrite('?tags=x,y&tags=z').records).toEqual([
    { change: 'c', rule: 'unlist', from: '?tags', path: '?tags', note: 'value' },
  ]);
  expect(planOf([SPLIT_TO]).v1Name('tag[]')).toBe('tags');
});

test('a copy is taken back from links, and logged by both names', () => {
  const plan = planOf([COPY]);
  expect(plan.restore('?old=1&new+one=1&x=2')).toBe('?old=1&x=2');
  expect(plan.restore('?new+one=1')).toBe('');
  expect(plan.rewrite('?new+one=0&old=1').records).toEqual([
    { change: 'c', rule: 'copy', from: '?new one', note: 'conflict' },
    { change: 'c', rule: 'copy', from: '?old', path: '?new one', note: 'conflict' },
  ]);
});

test('an independent reader of queries finds the same names and values', () => {
  let rewritten = 0;
  fc.assert(
    fc.property(anyRules, queries, (rules, query) => {
      const outcome = planOf(rules).rewrite(query);
      if (outcome.records.length > 0) rewritten += 1;
      let pairs: (readonly [string, string])[] = [...new URLSearchParams(query)];
      for (const rule of rules) pairs = applied(pairs, rule);
      expect([...new URLSearchParams(outcome.query)]).toEqual(pairs);
      if (outcome.records.length === 0) expect(outcome.query).toBe(query);
      expect(outcome.query).toMatch(/^[!"$-~]*$/);
    }),
    { numRuns: fuzzRuns(50_000) },
  );
  expect(rewritten).toBeGreaterThan(fuzzRuns(15_000));
});

test('parts that no rule names keep their characters and their order', () => {
  fc.assert(
    fc.property(anyRules, queries, (rules, query) => {
      const named = new Set(
        rules.flatMap((rule) => {
          if (rule.rule === 'strip') return rule.parameters;
          return 'to' in rule ? [rule.parameter, rule.to] : [rule.parameter];
        }),
      );
      const others = (text: string): readonly string[] =>
        text
          .slice(1)
          .split('&')
          .filter((raw) => !named.has([...new URLSearchParams(raw === '' ? '' : `?${raw}`)][0]?.[0] ?? ''));
      const { query: outcome } = planOf(rules).rewrite(query);
      if (outcome === '') expect(others(query)).toEqual([]);
      else expect(others(outcome)).toEqual(others(query));
    }),
    { numRuns: fuzzRuns(10_000) },
  );
});

test('renames that lead nowhere else are undone in links, character for character in all values', () => {
  const renames = fc
    .uniqueArray(fc.constantFrom('old', 'a', 'a[]', 'é'), { minLength: 1 })
    .map((names) =>
      names.map((parameter): QueryRule => ({ rule: 'rename', parameter, to: `v2 ${parameter}` })),
    );
  fc.assert(
    fc.property(renames, queries, (rules, query) => {
      const plan = planOf(rules);
      const back = plan.restore(plan.rewrite(query).query);
      expect([...new URLSearchParams(back)]).toEqual([...new URLSearchParams(query)]);
      const valuesOf = (text: string): readonly string[] =>
        text.split('&').map((raw) => (raw.includes('=') ? raw.slice(raw.indexOf('=')) : ''));
      expect(valuesOf(back)).toEqual(valuesOf(query));
    }),
    { numRuns: fuzzRuns(5000) },
  );
});
