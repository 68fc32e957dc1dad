import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Comparisons } from '../../../src/gateway/v1/checks.ts';
import { type ComparedResponse, compareResponses, compareWithin } from '../../../src/gateway/v1/compare.ts';
import { type Comparison, ComparisonTally } from '../../../src/rollout/comparison-tally.ts';
import { anyDocument } from '../../rewrite/documents.ts';
import { bytesOf } from '../../rewrite/notation.ts';

const response = (text: string, status = 200): ComparedResponse => ({ status, body: bytesOf(text) });

/** Compares V1's response, which is the same when the request is repeated, with V2's. */
function compared(v1: string, v2: string, again = v1): Comparison {
  return compareResponses(response(v1), response(again), response(v2));
}

/** The differences as `<kind> <path>`. */
const linesOf = ({ differences }: Comparison): readonly string[] =>
  differences.map(({ kind, path }) => `${kind} ${path}`);

describe('two responses are the same', () => {
  test.each([
    ['in other white space and order', '{"a":1,"b":[{}]}', '{ "b" : [ { } ], "a" : 1 }'],
    ['in other spellings of a number', '{"a":1.0,"b":100}', '{"a":1,"b":1e2}'],
    ['in other escapes', String.raw`{"a":"\u00e9\/\n\u0022"}`, String.raw`{"a":"é/\u000a\""}`],
    ['in other spellings of a name', String.raw`{"\u0061":1}`, '{"a":1}'],
    ['with fields that only V2 has', '{"a":1}', '{"a":1,"b":[{"c":1},{"c":2}]}'],
    ['with such fields in elements of a list', '[{"a":1},{"a":2}]', '[{"a":1,"b":1},{"b":2,"a":2}]'],
    ['when both are empty', '', ''],
    ['when both are the same bytes, if not JSON', 'pong', 'pong'],
  ])('%s', (_, v1, v2) => {
    expect(compared(v1, v2)).toMatchObject({ verdict: 'same', differences: [] });
  });

  // Attack: a V2 or V1 that reflects its input. A call for each escape held the event loop for half a second.
  test.each([String.raw`\"`, String.raw`\\`, String.raw`\n`, String.raw`\u0041`, '/'])(
    'in texts of nothing but %s, up to the last character',
    (piece) => {
      const text = piece.repeat(Math.floor(250_000 / piece.length));
      for (let k = 0; k < 20; k += 1)
        expect(compared(`{"a":"${text}a"}`, String.raw`{"a":"${text}\u0061"}`).verdict).toBe('same');
      expect(compared(`{"a":"${text}a"}`, `{"a":"${text}b"}`).verdict).toBe('different');
    },
  );

  test('if their texts are the same, for any text', () => {
    fc.assert(
      fc.property(anyDocument, (text) => {
        expect(compared(text, text)).toEqual({ verdict: 'same', differences: [], noise: 0, extra: 0 });
      }),
    );
  });

  test('and fields that only V2 has are counted by place', () => {
    expect(compared('{"list":[{},{}]}', '{"list":[{"a":1},{"a":2}],"b":3}').extra).toBe(2);
  });
});

describe('two responses differ', () => {
  test.each([
    ['{"a":{"b":1}}', '{"a":{}}', ['missing /a/b']],
    ['{"a":1}', '{"a":"1"}', ['type /a']],
    ['{"a":1,"b":true}', '{"a":2,"b":null}', ['value /a', 'value /b']],
    ['{"a":[{"b":1},{"b":2}]}', '{"a":[{"b":3},{"b":4}]}', ['value /a/*/b']],
    ['[1,2]', '[1]', ['length ']],
    // A filter or a tenant's scope is lost.
    ['{"data":[]}', '{"data":[{"a":1},{"a":2},{"a":3}]}', ['length /data']],
    ['[{"id":1},{"id":2}]', '[{"id":3},{"id":1},{"id":2}]', ['length ']],
    [
      '{"data":[{"id":1,"n":"a"},{"id":2,"n":"b"}]}',
      '{"data":[{"id":2,"n":"b"},{"id":1,"n":"a"}]}',
      ['order /data'],
    ],
    ['[{"id":1},{"id":2}]', '[{"id":2,"new":1},{"id":1,"new":2}]', ['order ']],
    ['[1,2,3]', '[3,4,1]', ['order ', 'value /*']],
    ['[[1,2],[3,4]]', '[[2,1],[3,4]]', ['order /*']],
    ['[1,1.0,2]', '[2,1e0,1]', ['order ']],
    ['', '{"a":1}', ['type ']],
    ['{"a":[1]}', '{"a":{"0":1}}', ['type /a', 'missing /a/*']],
    ['{"a/b":{"c~":1}}', '{"a/b":{"c~":2}}', ['value /a~1b/c~0']],
    ['{"a":1}', '', ['missing ', 'missing /a']],
    // A number that a double cannot hold is compared digit by digit.
    ['{"id":12345678901234567890}', '{"id":12345678901234567891}', ['value /id']],
    // A backslash in front of a u is no escape where the backslash itself is escaped.
    [String.raw`{"a":"\\u0041"}`, String.raw`{"a":"\\A"}`, ['value /a']],
  ])('%s and %s', (v1, v2, differences) => {
    const comparison = compared(v1, v2);
    expect(comparison.verdict).toBe('different');
    expect(linesOf(comparison)).toEqual(differences);
  });

  test('by their status, which is reported', () => {
    expect(compareResponses(response('{}'), response('{}'), response('{}', 404))).toEqual({
      verdict: 'different',
      status: { v1: 200, v2: 404 },
      differences: [],
      noise: 0,
      extra: 0,
    });
  });

  test('an error of one service is reported by its status, not by the fields that it lacks', () => {
    const [resource, error] = [response('{"data":{"a":1,"b":2}}'), response('{"errors":[]}', 422)];
    const comparison = compareResponses(resource, resource, error);
    expect(comparison).toMatchObject({ verdict: 'different', status: { v1: 200, v2: 422 }, differences: [] });
    const tally = new ComparisonTally();
    tally.add('read', comparison, false, Date.UTC(2026, 10, 29));
    expect(tally.list[0]?.lastDifferent).toBe('2026-11-29T00:00:00.000Z');
    expect(tally.list[0]?.fields).toEqual([{ path: '422 instead of 200', kind: 'status', count: 1 }]);
  });

  test('in at most 32 reported fields, though all count', () => {
    const members = (value: number): string =>
      `{${Array.from({ length: 50 }, (_, k) => `"m${k}":${value}`).join(',')}}`;
    const { verdict, differences } = compared(members(1), members(2));
    expect([verdict, differences.length]).toEqual(['different', 32]);
  });
});

test('a list with more, fewer or moved elements is never the same', () => {
  const list = fc.uniqueArray(fc.integer({ min: 0, max: 50 }), { maxLength: 12 });
  const members = (id: number): string => JSON.stringify({ id, name: `n${id}` });
  const text = (ids: readonly number[]): string => `{"data":[${ids.map(members).join(',')}]}`;
  fc.assert(
    fc.property(list, list, fc.array(fc.nat(), { maxLength: 4 }), (v1, others, moves) => {
      const moved = [...v1];
      for (const move of moves) moved.push(...moved.splice(move % (moved.length + 1), 1));
      const isMoved = text(moved) !== text(v1);
      expect(linesOf(compared(text(v1), text(moved)))).toEqual(isMoved ? ['order /data'] : []);
      const longer = [...others.filter((id) => !v1.includes(id)), ...v1];
      expect(linesOf(compared(text(v1), text(longer)))).toEqual(
        longer.length === v1.length ? [] : ['length /data'],
      );
      expect(linesOf(compared(text(longer), text(v1)))).toEqual(
        longer.length === v1.length ? [] : ['length /data'],
      );
    }),
  );
});

describe('noise', () => {
  test('is where V1 differs from itself, in any element', () => {
    const comparison = compared(
      '{"at":1,"list":[{"age":1,"name":"a"},{"age":1}]}',
      '{"at":3,"list":[{"age":3,"name":"b"},{"age":3}]}',
      '{"at":2,"list":[{"age":1,"name":"a"},{"age":2}],"id":7}',
    );
    expect(linesOf(comparison)).toEqual(['value /list/*/name']);
    expect(comparison.noise).toBe(3);
  });

  test('is a list whose length or order changes on V1 itself; its values still count', () => {
    expect(compared('[1,2]', '[9,1,2]', '[3,1,2]')).toMatchObject({ verdict: 'same', noise: 1 });
    expect(compared('[1,2]', '[2,1]', '[2,1]')).toMatchObject({ verdict: 'same', noise: 1 });
    expect(linesOf(compared('[1,2]', '[2,3,4]', '[2,1]'))).toEqual(['value /*']);
    expect(linesOf(compared('[1,2]', '{}', '[2,1]'))).toEqual(['type ', 'missing /*']);
  });

  test('in the status makes the result unknown', () => {
    expect(compareResponses(response('{}'), response('{}', 500), response('{}'))).toMatchObject({
      verdict: 'unknown',
      why: 'noise',
    });
  });
});

describe('a body that cannot be compared', () => {
  test('is unknown: text that is not JSON, and very large bodies', () => {
    expect(compared('{"a":1}', '<p>')).toMatchObject({ verdict: 'unknown', why: 'not-json' });
    expect(compared('{"a":1}', `"${'x'.repeat(600_000)}"`)).toMatchObject({
      verdict: 'unknown',
      why: 'too-large',
    });
    const many = `[${'1,'.repeat(8000)}1]`;
    expect(compared(many, many.replace('1', '2'))).toMatchObject({ verdict: 'unknown', why: 'too-large' });
  });

  // Attack: a response nested 500 deep with long names, for each value of which a pointer of its depth was made.
  test('is never one that takes more than its bytes: deep nesting under long names', () => {
    const name = 'n'.repeat(500);
    const nested = (value: number): string =>
      `${`{"${name}":`.repeat(500)}[${Array.from({ length: 5000 }, () => value).join(',')}]${'}'.repeat(500)}`;
    const comparison = compared(nested(1), nested(2));
    expect(comparison).toMatchObject({ verdict: 'different', noise: 0, extra: 0 });
    expect(comparison.differences).toHaveLength(1);
    expect(comparison.differences[0]?.path.length).toBeLessThan(1000);
  });

  test('is one that exceeds the budget of a second, if the statuses are the same', () => {
    const comparisons = new Comparisons(() => 0);
    const large = response(`"${'x'.repeat(400_000)}"`);
    const verdicts = Array.from({ length: 5 }, () => compareWithin(comparisons, large, large, large).why);
    expect(verdicts).toEqual([undefined, undefined, undefined, 'budget', 'budget']);
    expect(compareWithin(comparisons, large, large, { ...large, status: 500 }).verdict).toBe('different');
  });
});
