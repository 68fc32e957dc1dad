import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { chooseApiVersion } from '../../src/migrate/api-version.ts';
import type { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import type { ExplainRequest, Explanation } from '../../src/inspector/api.ts';
import { explain } from '../../src/inspector/explain.ts';
import { anyDocument, brokenDocument } from '../rewrite/documents.ts';
import { gatewayFor } from '../support/gateway.ts';
import { rawServer } from '../support/raw-server.ts';
import { shippedInForce } from '../support/shipped-rule-book.ts';

let rules: CompiledRuleBook;

beforeAll(async () => {
  rules = await shippedInForce();
});

function explained(request: ExplainRequest): Explanation {
  const result = explain(request, {
    rules,
    versionOf: chooseApiVersion,
    gatewayOrigin: 'http://127.0.0.1:8080',
    origin: 'https://v2.example',
  });
  if ('fault' in result) throw new Error(result.fault);
  return result;
}

const ORDER = '{"data":{"property":{"suburb":"Enmore"}},"source":"CRM"}';

describe('an explanation', () => {
  test('has the edits, the exact V2 body, the policies and every rule with a reason', () => {
    const result = explained({ operation: 'order_floor_plan', body: ORDER });
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
      { method: 'POST', target: '/clients', headers: [['Content-Type', 'text/plain']], body: 'x' },
      'body-wrapper',
      'text/plain is not JSON.',
    ],
    [{ method: 'PUT', target: '/clients/1', body: '{}' }, 'body-wrapper', 'Bodies of PUT are not read.'],
    [
      { method: 'POST', target: '/api/v2/clients', body: '{"data":{}}' },
      'body-wrapper',
      'It is V2 traffic, which is not read.',
    ],
    [
      { method: 'POST', target: '/unknown', body: '{"data":{}}' },
      'highlight-type',
      'The change concerns order_post_production, not this POST.',
    ],
  ] satisfies [ExplainRequest, string, string][])('of %j says why %s did nothing', (request, change, why) => {
    const outcome = explained(request).rules.find((rule) => rule.change === change);
    expect(outcome?.applied).toBe(false);
    expect(outcome?.why).toContain(why);
  });

  test('takes full addresses and paths with and without the prefix', () => {
    for (const target of ['/clients', '/api/v1/clients', 'https://captur3d.io/api/v1/clients', 'clients']) {
      expect(explained({ method: 'post', target, body: '{"data":{}}' })).toMatchObject({
        operation: 'create_client',
        v2Body: '{}',
      });
    }
  });

  test('shows no credentials, and gives commands that keep the body', () => {
    const body = `{"data":{"name":"it's"}}`;
    const result = explained({
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

describe('explaining and serving', () => {
  test('the same 1,000 random requests gives the same edits, verdicts and bytes', async () => {
    const received: string[] = [];
    const server = await rawServer((socket, request) => {
      received.push(request);
      socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    });
    const gateway = await gatewayFor(server.origin, { inForce: rules });
    const paths = [
      '/orders/floor_plans',
      '/orders/post_productions',
      '/clients',
      '/properties/7',
      '/unknown',
    ];
    const anyRequest = fc.record({
      body: fc.oneof(
        { weight: 5, arbitrary: anyDocument.map((text) => `{"data":${text}}`) },
        { weight: 3, arbitrary: anyDocument },
        {
          weight: 1,
          arbitrary: brokenDocument.map((bytes) =>
            Buffer.from(bytes)
              .toString('latin1')
              .replaceAll(/[^ -~]/g, '?'),
          ),
        },
      ),
      path: fc.constantFrom(...paths),
      method: fc.constantFrom('POST', 'PATCH', 'PUT'),
    });
    const requests = fc.sample(anyRequest, 1000).filter(({ body }) => body !== '');
    let refused = 0;
    let rewritten = 0;
    for (const [at, { body, path, method }] of requests.entries()) {
      const before = received.length;
      const response = await fetch(`${gateway.origin}/api/v1${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body: new TextEncoder().encode(body),
      });
      await response.arrayBuffer();
      const entry = await gateway.entry(at + 1);
      const result = explained({
        method,
        target: path,
        headers: [['content-type', 'application/json']],
        body,
      });
      expect([entry.verdict, entry.edits, entry.operation]).toEqual([
        result.verdict,
        result.edits,
        result.operation,
      ]);
      if (result.verdict === 'refused') {
        refused += 1;
        expect([entry.failure, entry.pointer, response.status]).toEqual([
          result.refusal?.code,
          result.refusal?.pointer,
          result.refusal?.status,
        ]);
        continue;
      }
      if (result.verdict === 'rewritten') rewritten += 1;
      const sent = received[before] ?? '';
      expect(Buffer.from(sent.slice(sent.indexOf('\r\n\r\n') + 4), 'latin1').toString()).toBe(result.v2Body);
    }
    expect(rewritten).toBeGreaterThan(100);
    expect(refused).toBeGreaterThan(10);
  }, 60_000);
});
