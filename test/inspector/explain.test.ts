import { beforeAll, describe, expect, test } from 'vitest';
import { decodeBody } from '../../src/node/decode-body.ts';
import type { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import type { ExplainRequest, Explanation } from '../../src/inspector/api.ts';
import { explain } from '../../src/inspector/explain.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';

let rules: CompiledRuleBook;

beforeAll(async () => {
  rules = await compiledShippedRuleBook();
});

async function explained(request: ExplainRequest): Promise<Explanation> {
  const result = await explain(request, {
    rules,
    limits: { count: 100, bytes: 16_384, bodyLimit: undefined },
    decode: decodeBody,
    gatewayOrigin: 'http://127.0.0.1:8080',
    origin: 'https://v2.example',
  });
  if ('fault' in result) throw new Error(result.fault);
  return result;
}

const ORDER = '{"data":{"property":{"suburb":"Enmore"}},"source":"CRM"}';

describe('an explanation', () => {
  test('has the edits, the exact V2 body, the policies and every rule with a reason', async () => {
    const result = await explained({ operation: 'order_floor_plan', body: ORDER });
    expect(result).toMatchObject({
      verdict: 'rewritten',
      operation: 'order_floor_plan',
      v2Body: '{"property":{"address":{"suburb":"Enmore"}}}',
      v2Request: { method: 'POST', target: '/api/v2/orders/floor_plans' },
    });
    expect(result.policies.filter(({ used }) => used).map(({ policy }) => policy)).toEqual(['siblings']);
    const outcomes = result.rules.map(({ change, applied, why }) => [change, applied, why]);
    expect(outcomes).toContainEqual(['body-wrapper', true, '2 edits.']);
    expect(outcomes).toContainEqual(['property-address', true, '1 edit.']);
    expect(outcomes).toContainEqual([
      'highlight-type',
      false,
      'The change concerns order_post_production, not order_floor_plan.',
    ]);
  });

  test.each([
    [
      { operation: 'order_post_production', body: '{"data":{}}' },
      'highlight-type',
      'The body has no member transition_type.',
    ],
    [
      { operation: 'order_post_production', body: '{"data":{}}' },
      'property-address',
      'There is no property.',
    ],
    [
      { operation: 'order_post_production', body: '{"data":{"property":{"a":1}}}' },
      'property-address',
      'property has none of street_address',
    ],
    [
      { operation: 'create_client', body: '{"name":"x"}' },
      'body-wrapper',
      'There is no member data: the body is flat already.',
    ],
    [
      { method: 'POST', target: '/api/v1/clients', headers: [['Content-Type', 'text/plain']], body: 'x' },
      'body-wrapper',
      'text/plain is not JSON.',
    ],
    [
      { method: 'PUT', target: '/api/v1/clients/1', body: '{}' },
      'body-wrapper',
      'Bodies of PUT are not read.',
    ],
    [
      { method: 'POST', target: '/api/v2/clients', body: '{"data":{}}' },
      'body-wrapper',
      'V2 traffic is not read.',
    ],
    [
      { method: 'POST', target: '/api/v1/unknown', body: '{"data":{}}' },
      'highlight-type',
      'The change concerns order_post_production, not this POST.',
    ],
  ] satisfies [ExplainRequest, string, string][])(
    'of %j says why %s did nothing',
    async (request, change, why) => {
      const outcome = (await explained(request)).rules.find((rule) => rule.change === change);
      expect(outcome?.applied).toBe(false);
      expect(outcome?.why).toContain(why);
    },
  );

  // The gateway serves two prefixes and nothing else, and an explanation must not be kinder than it is.
  test.each([
    [{ method: 'POST', target: '/foo', body: '{}' }, 404, 'not-found'],
    [{ method: 'POST', target: '/api/v1/%2e%2e/v2/x', body: '{}' }, 400, 'bad-target'],
    [{ method: 'POST', target: 'http://other/api/v1/clients', body: '{}' }, 400, 'bad-target'],
    [
      {
        operation: 'create_client',
        headers: [
          ['Content-Type', 'application/json'],
          ['Content-Encoding', 'zstd'],
        ],
        body: '{}',
      },
      415,
      'unsupported-coding',
    ],
    [{ operation: 'create_client', body: `{"data":"${'x'.repeat(11_000_000)}"}` }, 413, 'body-too-large'],
  ] satisfies [ExplainRequest, number, string][])(
    'refuses %.80j as live: %i %s',
    async (request, status, code) => {
      const { verdict, refusal, v2Request } = await explained(request);
      expect([verdict, refusal?.status, refusal?.code, v2Request]).toEqual([
        'refused',
        status,
        code,
        undefined,
      ]);
    },
  );

  test('shows no credentials, and gives commands that keep the body', async () => {
    const body = `{"data":{"name":"it's"}}`;
    const result = await explained({
      operation: 'create_client',
      headers: [
        ['Authorization', 'Bearer hunter2'],
        ['Content-Type', 'application/json'],
      ],
      body,
    });
    expect(JSON.stringify(result)).not.toContain('hunter2');
    expect(result.curl.v1).toContain(String.raw`--data-raw '{"data":{"name":"it'\''s"}}'`);
    expect(result.curl.v2).toContain(`'https://v2.example/api/v2/clients'`.replaceAll("'", ''));
    expect(result.curl.v1).toContain('"Authorization: Bearer $API_KEY"');
  });
});
