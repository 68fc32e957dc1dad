import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import {
  completeFilter,
  type Filter,
  isFilterFault,
  parseFilter,
  printFilter,
} from '../../src/rewrite-log/filter.ts';
import { CODE_POINT } from '../support/code-point.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const base: Entry = {
  ...sampleEntry(1, Date.UTC(2026, 10, 21)),
  client: '3fa9c1d2e4b50617',
  status: 422,
  requestId: 'abc-1',
  traceId: 'feed0000000000000000000000000000',
  totalMs: 120,
};
const refused: Entry = {
  ...base,
  verdict: 'refused',
  failure: 'duplicate-member',
  edits: [],
  note: 'a note',
};
const { client: _client, operation: _operation, upstreamPath: _upstreamPath, ...rest } = base;
const native: Entry = {
  ...rest,
  route: 'pass',
  verdict: 'passed',
  edits: [],
  path: '/api/v2/Heartbeat?x=…',
  method: 'GET',
};

function filter(text: string): Filter {
  const read = parseFilter(text);
  if (isFilterFault(read)) throw new Error(read.message);
  return read;
}

// Attack: a filter of the longest head, with which each entry was printed and searched thousands of times.
test('a filter has 200 values at most, and an entry is printed once for all of them', () => {
  const words = Array.from({ length: 200 }, (_, index) => `-has:missing${index}`);
  let printed = 0;
  const entry = { ...base, toJSON: () => ((printed += 1), base) };
  let read = 0;
  expect(filter(words.join(' ')).accepts(entry, () => ((read += 1), 'Kept'))).toBe(true);
  expect([printed, read]).toEqual([1, 1]);
  expect(filter('has:kept').accepts(base, () => 'Kept')).toBe(true);
  expect(parseFilter(`verdict:refused ${words.join(' ')}`)).toMatchObject({
    message: 'A filter has at most 200 values; filter in several steps.',
  });
  expect(parseFilter(`op:${'a,'.repeat(6000)}`)).toHaveProperty('message');
});

// What operators typed first, each without a result: a value of a body, a client's name, a time of day, what a row shows.
test.each<[text: string, accepted: boolean]>([
  ['FP-1003', true],
  ['fp-1004', false],
  ['abc-1', true],
  ['bc-1', false],
  ['order_floor', true],
  ['POST floor_plans', true],
  ['get floor_plans', false],
  ['/property/suburb', true],
  ['/property/state', false],
  ['v2-422', true],
  ['error:v2-422', true],
  ['error:422', true],
  ['error:v1-422', false],
  ['error:"v2-422 -"', false],
  ['error:"v2-422 /property/suburb"', true],
  ['error:"v2-422 /property"', false],
  ['acme', true],
  ['globex', false],
  ['migrate', false],
  ['route:mig*', true],
  ['route:v*', true],
  ['route:v2', false],
  ['origin:v*', true],
  ['origin:no*', false],
  ['client:"Acme Media"', true],
  ['client:media', true],
  ['client:3fa9', true],
  ['client:globex', false],
  ['-client:"acme media"', false],
  ['time:12:35', true],
  ['time:12:36', false],
  ['time:12:30..12:40', true],
  ['time:12:36..12:40', false],
  ['time:>=12:35:10', true],
  ['time:<12:35', false],
])('%s finds what its writer means: %j', (text, accepted) => {
  const entry = { ...base, time: '2026-11-22T12:35:10.000Z', errorPointers: ['/property/suburb'] };
  const read = parseFilter(text, new Map([['3fa9c1d2e4b50617', 'Acme Media']]));
  expect(!isFilterFault(read) && read.accepts(entry, () => '{"number":"FP-1003"}')).toBe(accepted);
});

test.each<[text: string, accepted: boolean]>([
  ['sent:note', true],
  ['sent:not', true],
  ['sent:/data/note', true],
  ['sent:data', true],
  ['sent:state', false],
  ['sent:page', true],
  ['sent:7', false],
  ['-sent:note', false],
  // A word is found in the response as well.
  ['state', true],
])('%s finds what a request has, not its response', (text, accepted) => {
  const entry: Entry = {
    ...base,
    path: '/api/v1/loans?page=7',
    attributes: ['/data', '/data/note'],
    edits: [],
  };
  const read = parseFilter(text);
  expect(!isFilterFault(read) && read.accepts(entry, () => '{"state":"out"}')).toBe(accepted);
});

test('a range of times is of one form', () => {
  expect(isFilterFault(parseFilter('time:12'))).toBe(true);
  expect(isFilterFault(parseFilter('time:12:35..2026-11-22T13'))).toBe(true);
});

describe('a filter', () => {
  test.each([
    ['', [true, true, true]],
    ['client:3fa9', [true, true, false]],
    ['client:3FA9', [true, true, false]],
    ['client:fa9', [false, false, false]],
    ['client:-', [false, false, true]],
    ['client:*', [true, true, false]],
    ['-client:*', [false, false, true]],
    ['op:order_floor_plan', [true, true, false]],
    ['op:order_*', [true, true, false]],
    ['op:order', [false, false, false]],
    ['op:-', [false, false, true]],
    ['change:property-address', [true, false, false]],
    ['rule:nest', [true, false, false]],
    ['status:4xx', [true, true, true]],
    ['status:200-422', [true, true, true]],
    ['status:>422', [false, false, false]],
    ['status:404,422', [true, true, true]],
    ['verdict:refused', [false, true, false]],
    ['-verdict:refused', [true, false, true]],
    ['route:v1', [true, true, false]],
    ['route:pass', [false, false, true]],
    ['method:get', [false, false, true]],
    ['failure:*', [false, true, false]],
    ['failure:duplicate-member', [false, true, false]],
    ['note:NOTE', [false, true, false]],
    ['version:absent', [true, true, true]],
    ['version:2025', [true, true, true]],
    ['id:abc', [true, true, true]],
    ['id:feed', [true, true, true]],
    ['ms:>100', [true, true, true]],
    ['ms:<=119.9', [false, false, false]],
    ['edits:0', [false, true, true]],
    ['edits:>2', [true, false, false]],
    ['has:FEED000', [true, true, true]],
    ['has:"a note"', [false, true, false]],
    ['mode:migrate', [true, true, false]],
    ['mode:-', [false, false, true]],
    ['mode:observe,canary', [false, false, false]],
    ['origin:v2', [true, false, false]],
    ['origin:none', [false, true, true]],
    ['would:-', [true, true, true]],
    ['would:*', [false, false, false]],
    ['v2:-', [true, true, true]],
    ['v2:invalid', [false, false, false]],
    ['cause:-', [true, true, true]],
    ['failure:-', [true, false, true]],
    ['time:2026-11-21', [true, true, true]],
    ['time:>=2026-11-21T00:00:00.001', [false, false, false]],
    ['time:2026-11-20..2026-11-21t00Z', [true, true, true]],
    ['time:<2026-11-21', [false, false, false]],
    ['heartbeat', [false, false, true]],
    ['-heartbeat', [true, true, false]],
    ['path:"floor_plans"', [true, true, false]],
    [
      'client:3fa9 op:order_floor_plan change:property-address status:4xx verdict:rewritten',
      [true, false, false],
    ],
    ['verdict:refused,passed -failure:*', [false, false, true]],
  ])('%s', (text, expected) => {
    expect([base, refused, native].map((entry) => filter(text).accepts(entry))).toEqual(expected);
  });

  test.each(['change:response-map', 'change:resp*', 'rule:alias', 'note:duplicate', 'note:response-no'])(
    '%s finds edits and notes of responses',
    (text) => {
      const responseEdits = [
        { change: 'response-map', rule: 'alias', from: '/data/a', path: '/data/b', note: 'duplicate' },
      ] as const;
      const turned: Entry = { ...base, edits: [], responseEdits, responseNote: 'response-no-resource' };
      expect([turned, base].map((entry) => filter(text).accepts(entry))).toEqual([true, false]);
    },
  );

  test('status:incomplete is a response whose end the client did not get', () => {
    const cut: Entry = { ...base, status: 200, incomplete: true };
    expect([cut, base].map((entry) => filter('status:5xx,0,incomplete').accepts(entry))).toEqual([
      true,
      false,
    ]);
  });

  test.each([
    ['  colour:red', 'There is no field colour', 2, 12],
    ['x status:4yy', 'status: needs', 2, 12],
    ['ms:fast', 'ms: needs', 0, 7],
    ['client:', 'client: needs a value', 0, 7],
    ['stauts:4xx', 'There is no field stauts; did you mean "status"?', 0, 10],
    ['edit:no-color', 'There is no field edit; did you mean "change"?', 0, 13],
    ['member:color', 'There is no field member; did you mean "has"?', 0, 12],
    ['constructor:x', 'There is no field constructor; there are', 0, 13],
    ['would-be:refused', 'There is no field would-be', 0, 16],
    ['verdict:refusd', 'verdict: has no value refusd; did you mean "refused"?', 0, 14],
    ['mode:shadwo', 'mode: has no value shadwo; did you mean "shadow"?', 0, 11],
    ['origin:v3', 'origin: has no value v3', 0, 9],
    ['time:yesterday', 'time: needs', 0, 14],
    ['time:2026..2027..2028', 'time: needs', 0, 21],
  ])('reports the fault in %s, and its position', (text, message, start, end) => {
    const fault = parseFilter(text);
    expect(fault).toMatchObject({ start, end });
    expect(isFilterFault(fault) && fault.message).toContain(message);
  });

  test('never throws, for any text, and its printed form reads the same', () => {
    const anyText = fc.oneof(
      fc.string({ unit: CODE_POINT }),
      fc
        .array(
          fc.constantFrom(
            'client:',
            'op:',
            '-',
            '"',
            '\\',
            ',',
            ' ',
            '3fa9',
            'status:4xx',
            'ms:',
            '>',
            '5',
            ':',
          ),
          { maxLength: 12 },
        )
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(anyText, fc.nat(500), (text, n) => {
        const read = parseFilter(text);
        if (isFilterFault(read)) {
          expect(read.end).toBeGreaterThanOrEqual(read.start);
          return;
        }
        const again = filter(read.text);
        expect(again.text).toBe(read.text);
        const entry = sampleEntry(n, 0);
        expect(again.accepts(entry)).toBe(read.accepts(entry));
      }),
      { numRuns: fuzzRuns(2000) },
    );
  });

  test('finds values that completion has quoted', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (path) => {
        const text = printFilter([{ negated: false, field: 'path', values: [path] }]);
        expect(filter(text).accepts({ ...base, path: `/x${path}y` })).toBe(true);
      }),
    );
  });
});

describe('completion', () => {
  test('proposes fields, then values known and fixed, and keeps sign and earlier choices', () => {
    const known = { op: ['create_client', 'order_floor_plan'] };
    expect(completeFilter('cl', 2, known).map(({ insert }) => insert)).toEqual(['client:']);
    expect(completeFilter('x -op:o', 7, known)).toMatchObject([
      { insert: '-op:order_floor_plan ', start: 2, end: 7 },
    ]);
    expect(completeFilter('status:4xx,5', 12, known).map(({ insert }) => insert)).toEqual([
      'status:4xx,5xx ',
    ]);
    expect(completeFilter('', 0, known)).toHaveLength(24);
    expect(completeFilter('colour:', 7, known)).toEqual([]);
  });
});
