import { describe, expect, test } from 'vitest';
import type { Coding } from '../../src/http/content.ts';
import { readHead } from '../../src/http/request-head.ts';
import { type BodyDecision, codingOf, decideBody } from '../../src/migrate/decision.ts';
import { testRuleBook } from '../support/rule-book.ts';

const JSON_TYPE = ['Content-Type', 'application/json'];
const LATIN1 = ['Content-Type', 'application/json; charset=latin1'];

function decisionFor(
  fields: readonly string[],
  {
    hasRules = true,
    hasBody = true,
    unsupported = 'refuse',
  }: { hasRules?: boolean; hasBody?: boolean; unsupported?: 'refuse' | 'forward' } = {},
): BodyDecision {
  const head = readHead(['Host', 'g', ...fields], { count: 100, bytes: 16_384 }, false);
  const policies = { ...testRuleBook().policies, unsupported };
  const codings: readonly Coding[] = ['gzip'];
  return decideBody({ hasRules, hasBody, head }, { policies, bodyLimit: 10, codings });
}

describe('a body is forwarded', () => {
  test.each([
    [false, true],
    [true, false],
  ])('without a note when nothing can be rewritten: has rules: %s, has a body: %s', (hasRules, hasBody) => {
    expect(decisionFor(JSON_TYPE, { hasRules, hasBody })).toEqual({ action: 'forward', note: undefined });
  });

  test.each([
    ['charset', LATIN1],
    ['content coding', [...JSON_TYPE, 'Content-Encoding', 'br']],
  ])('with a note when the policy forwards an unsupported %s', (_, fields) => {
    expect(decisionFor(fields, { unsupported: 'forward' })).toEqual({
      action: 'forward',
      note: 'unsupported: forward',
    });
  });
});

test.each([
  ['10', 'rewrite'],
  ['11', 'refuse'],
])('a Content-Length of %s with a limit of 10 bytes: %s', (length, action) => {
  expect(decisionFor([...JSON_TYPE, 'Content-Length', length]).action).toBe(action);
});

test('an empty body has no content coding to remove, whatever its head says', () => {
  const decision = decisionFor([...JSON_TYPE, 'Content-Encoding', 'gzip']);
  expect(codingOf(decision, new Uint8Array(1))).toBe('gzip');
  expect(codingOf(decision, new Uint8Array())).toBeUndefined();
});
