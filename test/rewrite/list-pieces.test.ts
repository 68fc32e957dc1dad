import fc from 'fast-check';
import fastJsonPatch from 'fast-json-patch';
import { expect, test } from 'vitest';
import type { ResponseRewrite } from '../../src/rewrite/response-rules.ts';
import type { ResponseContext } from '../../src/rewrite/response-rules.ts';
import { fuzzRuns, fuzzTime } from '../support/fuzz.ts';
import { responsePlanOf, responseRule } from '../support/response-plan-of.ts';
import { bytesOf, textOf } from './notation.ts';
import { words } from '../support/rows.ts';

const OK: ResponseContext = { status: 200, deprecated: [], isWrapped: true };
const RULES = ['rename data.*.a to b', 'unnest data.*.in x y'].map(responseRule);
/** So long that a few of them are a piece, and a few more are a long response. */
const LONG = 'ä'.repeat(4000);

const element = fc.oneof(
  fc.constantFrom(...words`{"a":1} {"in":{"x":1,"y":[2],"z":3}} {"\u0061":"}]"} [] null "a,\"]" {}`),
  fc.constantFrom(`{"a":1,"text":"${LONG}"}`, `{"in":{"x":"${LONG}\\\\"}}`, `"${LONG}"`),
);
const space = fc.constantFrom('', '', ' ', '\n\t');
const around = fc.constantFrom<readonly [string, string]>(
  ['{"data":[', ']}'],
  ['{"meta":{"data":[{"a":1}]},"d\\u0061ta" : [', '],"links":{"a":"]"}}\n'],
  ['\uFEFF{"data\\u0000":[1,2],"data":[', '],"more":["data",{"data":[]}]}'],
);
/** A response, and the same with each element rewritten in a separate list. */
const response = fc
  .tuple(around, fc.array(element, { maxLength: 90 }), space, space)
  .map(([[before, behind], elements, first, second]) => {
    const withElements = (all: readonly string[]): string =>
      `${before}${first}${all.join(`${second},${first}`)}${second}${behind}`;
    return { text: withElements(elements), expected: withElements(elements.map(rewrittenAlone)) };
  });

function rewrittenAlone(element: string): string {
  const { body } = responsePlanOf(RULES).rewrite(bytesOf(`{"data":[${element}]}`), OK);
  return textOf(body).slice('{"data":['.length, -2);
}

/** Cuts a text at these places, modulo its length. */
function cutAt(bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] {
  const cuts = [0, ...places.map((place) => place % bytes.length).toSorted((a, b) => a - b), bytes.length];
  return cuts.slice(1).map((end, at) => bytes.subarray(cuts[at], end));
}

/** Rewrites by pieces a response that arrives in parts. */
function byPieces(parts: readonly Uint8Array[]): {
  readonly text: string;
  readonly note: string | undefined;
} {
  let text = '';
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const pieces = responsePlanOf(RULES).pieces(OK, (part) => {
    text += decoder.decode(part, { stream: true });
  })?.list;
  for (const part of parts) pieces?.push(part);
  return { text, note: pieces?.end().note };
}

test(
  'a list is rewritten by pieces as its elements are one by one, wherever the response is cut',
  () => {
    fc.assert(
      fc.property(response, fc.array(fc.nat(), { maxLength: 8 }), ({ text, expected }, places) => {
        const { text: rewritten, note } = byPieces(cutAt(bytesOf(text), places));
        expect(rewritten).toBe(expected);
        expect(note).toBeUndefined();
      }),
      { numRuns: fuzzRuns(100) },
    );
  },
  fuzzTime().timeout,
);

test('a long response is rewritten with the same patch, whose indexes are those of the whole list', () => {
  const filler = Array.from({ length: 40 }, () => `{"text":"${LONG}"}`);
  const text = `{"data":[${[...filler, '{"a":1}', ...filler, '{"in":{"x":2,"z":3}}'].join(',')}]}`;
  const outcome = responsePlanOf(RULES).rewrite(bytesOf(text), OK);
  const before: { data: unknown[] } = JSON.parse(text);
  const after: { data: unknown[] } = JSON.parse(textOf(outcome.body));
  expect(after.data[40]).toEqual({ b: 1 });
  expect(after.data[81]).toEqual({ in: { z: 3 }, x: 2 });
  if (outcome.verdict !== 'rewritten') throw new Error(outcome.verdict);
  expect(
    fastJsonPatch.applyPatch(
      before,
      structuredClone(outcome.patch) as fastJsonPatch.Operation[],
      true,
      true,
      false,
    ).newDocument,
  ).toEqual(after);
  expect(outcome.records.map(({ from, path }) => [from, path])).toEqual([
    ['/data/40/a', '/data/40/b'],
    ['/data/81/in/x', '/data/81/x'],
  ]);
});

test('a million edits are counted, and 64 of them recorded', () => {
  const count = 40_000;
  const text = `{"data":[${Array.from({ length: count }, () => '{"a":1}').join(',')}]}`;
  const outcome = responsePlanOf(RULES).rewrite(bytesOf(text), OK);
  expect(outcome).toMatchObject({ verdict: 'rewritten', omitted: count - 64, patch: [] });
  expect(textOf(outcome.body)).toBe(text.replaceAll('"a"', '"b"'));
});

test.each([
  ['a comma too many', (list: string) => `{"data":[${list},]}`],
  ['a blank piece', (list: string) => `{"data":[${list},${' '.repeat(40_000)},${list}]}`],
  ['no end', (list: string) => `{"data":[${list}`],
  ['no end of the response', (list: string) => `{"data":[${list}]`],
  ['something behind it', (list: string) => `{"data":[${list}]}}`],
  ['a key without quotes', (list: string) => `{data:1,"data":[${list}]}`],
  ['another closing bracket', (list: string) => `{"data":[${list}}}`],
])('a long response that is no JSON stays as it is: %s', (_name, textFor) => {
  const body = bytesOf(textFor(Array.from({ length: 80 }, () => `{"a":"${LONG}"}`).join(',')));
  expect(responsePlanOf(RULES).rewrite(body, OK)).toEqual({
    verdict: 'unchanged',
    body,
    note: 'response-malformed',
  });
});

test('a list deep in a response is found by its whole path, and by no other with the same names', () => {
  const list = `[${Array.from({ length: 20 }, () => `{"a":"${LONG}"}`).join(',')}]`;
  const around = (deep: string): string =>
    `{"in":{"of":{"items":${list}},"items":${list}},"items":${list},"list":[{"of":{"items":${list}}}],` +
    `"of":{"in":{"of":{"items":${list}},"items":${list}},"items":${deep},"more":{"items":${list}}},"end":{"items":${list}}}`;
  let text = '';
  const decoder = new TextDecoder();
  const pieces = responsePlanOf([responseRule('rename of.items.*.a to b')]).pieces(OK, (part) => {
    text += decoder.decode(part, { stream: true });
  })?.list;
  pieces?.push(bytesOf(around(list)));
  expect(pieces?.end()).toMatchObject({ omitted: 0, note: undefined });
  expect(text).toBe(around(list.replaceAll('"a"', '"b"')));
});

test('of two lists under one name the last is rewritten, as parsers read it', () => {
  const long = Array.from({ length: 80 }, () => `{"a":"${LONG}"}`).join(',');
  const text = `{"data":[${long}],"data":[{"a":1}]}`;
  const { body } = responsePlanOf(RULES).rewrite(bytesOf(text), OK);
  expect(textOf(body)).toBe(`{"data":[${long}],"data":[{"b":1}]}`);
});

test('a long list takes little memory, and one that is denied it stays as it is', () => {
  let taken = 0;
  const body = bytesOf(
    `{"data":[${Array.from({ length: 120_000 }, () => '{"a":1,"in":{"x":2}}').join(',')}]}`,
  );
  const plan = responsePlanOf(RULES);
  const outcome = plan.rewrite(body, OK, {
    take: (bytes) => {
      taken += bytes;
      return true;
    },
  });
  expect(outcome.verdict).toBe('rewritten');
  expect(taken).toBeLessThan(body.length * 2);
  expect(plan.rewrite(body, OK, { take: () => false })).toMatchObject({
    verdict: 'unchanged',
    note: 'response-buffer-full',
  });
});

const LONG_RULES = [
  'rename data.a to b',
  'rename data.list.*.a to b',
  'rename data.list.*.b to c',
  'unnest data.list.*.in',
  'alias data.list.*.c as d',
  'rename data.list to rows',
  'rename data.rows.*.a to e',
  'unnest data.rows.*.in',
  'flatten data.rows.*.c [x]',
  'rename data.other.*.a to b',
  'unnest data',
  'rename list.*.a to b',
  'rename rows.*.b to c',
  'alias data.a as f',
  'errors',
] as const;

/** A response with `text` in it, which makes it long. */
const longResponse = fc
  .tuple(
    fc.array(
      fc.constantFrom('{"a":1}', '{"b":{"x":2},"a":3}', '{"in":{"x":1,"a":2}}', '{}', '7', '{"c":{"x":4}}'),
      { maxLength: 12 },
    ),
    fc.constantFrom('"a":1,', '"a":{"a":2},', ''),
    fc.constantFrom('"list"', '"rows"', '"list":[],"list"'),
    fc.constantFrom('{"a":5}', '[{"a":6},{"b":7}]'),
    fc.constantFrom('}}', '}}', '}}', '}'),
  )
  .map(([elements, first, name, other, end]) => {
    const list = `${name}:[${elements.join(', ')}]`;
    return (text: string): string => `{"data":{${first}${list},"other" : ${other},"text":"${text}"}${end}`;
  });

test('rules about a list and its surroundings have the same result and records in a long response as in a short one', () => {
  const runs = fuzzRuns(1000, 200);
  let rewritten = 0;
  let patched = 0;
  const rules = fc.array(fc.constantFrom(...LONG_RULES), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(rules, longResponse, (texts, response) => {
      const plan = responsePlanOf(texts.map(responseRule));
      const long = 'x'.repeat(270_000);
      const short = plan.rewrite(bytesOf(response('x')), OK);
      const inLong = plan.rewrite(bytesOf(response(long)), OK);
      expect(textOf(inLong.body).replace(long, 'x')).toBe(textOf(short.body));
      expect(told(inLong)).toEqual(told(short));
      if (inLong.verdict === 'unchanged') return;
      rewritten += 1;
      if (inLong.patch.length === 0) return;
      patched += 1;
      const patch = structuredClone(inLong.patch) as fastJsonPatch.Operation[];
      const { newDocument } = fastJsonPatch.applyPatch(JSON.parse(response('x')), patch, true, true, false);
      expect(newDocument).toEqual(JSON.parse(textOf(short.body)));
    }),
    { numRuns: runs },
  );
  expect(rewritten).toBeGreaterThan(runs / 25);
  expect(patched).toBeGreaterThan(runs / 25);
});

/** The verdict, and the records in any order. */
function told(outcome: ResponseRewrite): readonly unknown[] {
  if (outcome.verdict === 'unchanged') return [outcome.note];
  const records = outcome.records.map(({ rule, from, path, note }) => `${rule} ${from} ${path} ${note}`);
  return [outcome.omitted, ...records.toSorted()];
}
