import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readScalar } from '../../src/json/names.ts';
import type { ResponseRule } from '../../src/rules/rule.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { responsePlanOf } from '../support/response-plan-of.ts';
import { anyDocument } from './documents.ts';
import { bytesOf, textOf } from './notation.ts';

const PAIRS: readonly (readonly [string, string])[] = [
  ['x', 'é'],
  ['é', '😀'],
  ['', 'none'],
  ['true', 'null'],
  ['null', '1'],
];
const values = PAIRS.map(([from, to]) => ({ from: readScalar(from), to: readScalar(to) }));
const RULES: readonly ResponseRule[] = [
  { rule: 'map', path: ['data', 'x'], values, status: ['2xx'] },
  { rule: 'map', path: ['data', '*', 'x'], values, status: ['2xx'] },
];

const plan = responsePlanOf(RULES);

/** The value that a parsed response has in the place of another. */
function mapped(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const isToken = value === true || value === null;
  const found = PAIRS.find(([from]) => from === text && (isToken || typeof value === 'string'));
  if (found === undefined || (typeof value === 'string' && ['true', 'null'].includes(value))) return value;
  return found[1] === 'null' || found[1] === '1' ? (JSON.parse(found[1]) as unknown) : found[1];
}

function expected(document: unknown): unknown {
  if (!isObject(document)) return document;
  const within = (data: unknown): unknown =>
    isObject(data) && Object.hasOwn(data, 'x') ? { ...data, x: mapped(data['x']) } : data;
  if (!Object.hasOwn(document, 'data')) return document;
  const { data } = document;
  return { ...document, data: Array.isArray(data) ? data.map(within) : within(data) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

test('a response has the values that a parser would give it, and every other byte', () => {
  let rewritten = 0;
  const documents = fc
    .tuple(anyDocument, fc.boolean())
    .map(([text, isList]) => (isList ? `{"data":[${text},{"x":"\\u0078"}]}` : `{"data": ${text} }`));
  fc.assert(
    fc.property(documents, (text) => {
      const outcome = plan.rewrite(bytesOf(text), { status: 200, deprecated: [], isWrapped: false });
      expect(JSON.parse(textOf(outcome.body))).toEqual(expected(JSON.parse(text)));
      if (outcome.verdict === 'unchanged') return;
      rewritten += 1;
      const body = bytesOf(text);
      for (const { start, end } of outcome.edits)
        expect(['string', 'boolean', 'object']).toContain(
          typeof JSON.parse(textOf(body.subarray(start, end))),
        );
    }),
    { numRuns: fuzzRuns(5000) },
  );
  expect(rewritten).toBeGreaterThan(fuzzRuns(500));
});
