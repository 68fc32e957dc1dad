import { MultipartStream, type MultipartRules } from '../../src/rewrite/multipart.ts';
import { compilePlans, type Plan } from '../../src/rewrite/plan.ts';
import type { Rewrite } from '../../src/rewrite/records.ts';
import { rewriteWhole } from '../../src/rewrite/text-stream.ts';
import type { Change, Policies, RuleBook } from '../../src/rules/rule-book.ts';
import type { RequestRule } from '../../src/rules/rule.ts';

export const DEFAULT_POLICIES: Policies = {
  flat: 'migrate',
  siblings: 'drop',
  conflict: 'v1',
  duplicate: 'refuse',
  wrapper: 'refuse',
  value: 'refuse',
  malformed: 'refuse',
  unsupported: 'refuse',
  forms: 'rewrite',
  media: 'known',
  signed: 'forward',
  'half-close': 'abort',
  future: 'forward',
};

/** A rule book of one change with the given request rules. */
export function bookOf(
  request: readonly RequestRule[],
  policies: Partial<Policies> = {},
  depth = 512,
): RuleBook {
  const change: Change = {
    id: 'change',
    summary: 'A change.',
    on: 'every',
    request,
    response: [],
    policies: {},
    assumed: false,
  };
  return {
    from: '/api/v1',
    to: '/api/v2',
    other: 'refuse',
    override: 'follow',
    followsBodyLinks: false,
    version: '2025-01-01',
    operations: [],
    changes: [change],
    policies: { ...DEFAULT_POLICIES, ...policies },
    limits: { depth, body: 1 << 20, response: 1 << 20 },
    hash: '0000000000000000',
  };
}

/** The plan that carries out the given request rules on any POST. */
export function planOf(request: readonly RequestRule[], policies: Partial<Policies> = {}, depth = 512): Plan {
  return compilePlans(bookOf(request, policies, depth)).of(undefined);
}

/** Rewrites a multipart body that is there whole. */
export function rewriteParts(
  rules: Omit<MultipartRules, 'hold' | 'rewriteJson'>,
  plan: Plan,
  body: Uint8Array,
  take = (_bytes: number): boolean => true,
): Rewrite {
  const rewriteJson = (text: Uint8Array): Rewrite => plan.rewrite(text, { take });
  return rewriteWhole(new MultipartStream({ ...rules, hold: take, rewriteJson }, true), body);
}

/** The rules of the specification, as they apply to a post production order. */
export const SHIPPED: readonly RequestRule[] = [
  { rule: 'unwrap', member: 'data' },
  {
    rule: 'nest',
    members: ['street_address', 'suburb', 'state', 'postcode', 'country', 'latitude', 'longitude'],
    in: ['property'],
    under: 'address',
  },
  { rule: 'rename', member: 'transition_type', in: [], to: 'highlight_type' },
  { rule: 'strip', members: ['legacy'], in: [] },
];
