import { describe, expect, test } from 'vitest';
import { readHead } from '../../src/http/request-head.ts';
import { type Decision, type DecisionLimits, decide, migratedTarget } from '../../src/migrate/decision.ts';
import { requestRulesBook } from '../support/request-rules-book.ts';
import { compiledTestRuleBook } from '../support/rule-book.ts';

const JSON_TYPE = ['Content-Type', 'application/json'];

function decided(
  line: string,
  fields: readonly string[] = [],
  limits: Partial<DecisionLimits> = {},
  rules = compiledTestRuleBook(),
): Decision {
  const [method = '', target = ''] = line.split(' ');
  const head = readHead(['Host', 'g', ...fields], { count: 100, bytes: 16_384 }, false);
  const request = { method, target, version: '1.1', head, hasBody: method !== 'GET' } as const;
  return decide(request, rules, { bodyLimit: undefined, ...limits });
}

/** The decision in one word or two. */
function wordsOf(decision: Decision): string {
  if (decision.route === 'none')
    return `${decision.failure.code}${decision.closesConnection ? ', closes' : ''}`;
  if (decision.route !== 'migrate') return decision.route;
  const { body, operation } = decision;
  const outcome = body.action === 'refuse' ? body.failure.code : body.action;
  const note = body.action === 'forward' && body.note !== undefined ? ` (${body.note})` : '';
  return `${operation?.id ?? 'unnamed'}: ${outcome}${note}`;
}

describe('a request is decided by its head', () => {
  test.each([
    ['POST /api/v1/clients', JSON_TYPE, 'create_client: rewrite'],
    ['POST /api/v1/other', JSON_TYPE, 'unnamed: rewrite'],
    ['PUT /api/v1/clients', JSON_TYPE, 'unnamed: forward'],
    ['GET /api/v1/clients', [], 'unnamed: forward'],
    ['POST /api/v1/clients', [], 'create_client: forward (media-type)'],
    ['POST /api/v1/clients', ['Content-Type', 'text/plain'], 'create_client: forward (media-type)'],
    [
      'POST /api/v1/clients',
      ['Content-Type', 'application/json; charset=latin1'],
      'create_client: unsupported-charset',
    ],
    [
      'POST /api/v1/clients',
      ['Content-Type', 'application/json, text/plain'],
      'create_client: ambiguous-media-type',
    ],
    ['POST /api/v1/clients', [...JSON_TYPE, 'Content-Encoding', 'zstd'], 'create_client: unsupported-coding'],
    ['POST /api/v1/clients', [...JSON_TYPE, 'Content-Encoding', 'gzip'], 'create_client: rewrite'],
    ['POST /api/v1/clients', [...JSON_TYPE, 'Content-Length', '99999999'], 'create_client: body-too-large'],
    ['POST /api/v2/clients', [...JSON_TYPE, 'Content-Encoding', 'zstd'], 'pass'],
    ['GET /foo', [], 'not-found'],
    ['GET /api/v1/%2e%2e/v2/x', [], 'bad-target'],
    ['GET /api/v1/clients', ['Host', 'h'], 'bad-request, closes'],
    ['CONNECT g:443', [], 'upgrade-refused, closes'],
    ['GET /api/v1/clients', ['Upgrade', 'h2c'], 'unnamed: forward'],
    ['GET /api/v1/clients', ['Upgrade', 'TLS/1.2'], 'unnamed: forward'],
    ['GET /api/v1/clients', ['Upgrade', 'TLS/1.0, HTTP/2.0,h2c'], 'unnamed: forward'],
    ['GET /api/v1/clients', ['Upgrade', 'h2c', 'Upgrade', 'tls/1.3'], 'unnamed: forward'],
    ['GET /api/v1/clients', ['Upgrade', 'websocket'], 'upgrade-refused, closes'],
    ['GET /api/v1/clients', ['Upgrade', 'TLS/1.2, websocket'], 'upgrade-refused, closes'],
    ['GET /api/v1/clients', ['Upgrade', 'TLS/1.2 h2c'], 'upgrade-refused, closes'],
    ['GET /api/v1/clients', ['Upgrade', ''], 'upgrade-refused, closes'],
    ['GET /api/v1/clients', ['Expect', 'x'], 'expectation-failed, closes'],
    ['GET /api/v1/clients', ['Expect', '100-Continue'], 'unnamed: forward'],
    ['POST /api/v1/clients', [...JSON_TYPE, 'Transfer-Encoding', 'chunked'], 'create_client: rewrite'],
  ])('%s %j: %s', (line, fields, words) => {
    expect(wordsOf(decided(line, fields))).toBe(words);
  });

  test('codings that the runtime cannot decode are unsupported, and the response says which are not', () => {
    const fields = [...JSON_TYPE, 'Content-Encoding', 'br'];
    expect(wordsOf(decided('POST /api/v1/clients', fields))).toBe('create_client: rewrite');
    const decision = decided('POST /api/v1/clients', fields, { codings: ['gzip', 'deflate'] });
    expect(wordsOf(decision)).toBe('create_client: unsupported-coding');
    const body = decision.route === 'migrate' ? decision.body : undefined;
    expect(body?.action === 'refuse' ? body.failure.headers : []).toEqual([
      'Accept-Encoding',
      'gzip, deflate',
    ]);
  });

  test.each([
    ['GET /api/v1/migration', 'self-service'],
    ['POST /api/v1/migration?x=1', 'self-service'],
    ['GET /api/v1/migrations', 'unnamed: forward'],
    ['GET /api/v1/migratiox', 'unnamed: forward'],
    ['GET /api/v1/migration/', 'unnamed: forward'],
    ['GET /api/v2/migration', 'pass'],
  ])("where clients' own reports are at /api/v1/migration, %s: %s", (line, words) => {
    expect(wordsOf(decided(line, [], { selfService: '/api/v1/migration' }))).toBe(words);
  });

  test("the operator's limit stands above the rule book's", () => {
    const fields = [...JSON_TYPE, 'Content-Length', '11'];
    expect(wordsOf(decided('POST /api/v1/clients', fields, { bodyLimit: 10 }))).toBe(
      'create_client: body-too-large',
    );
    expect(wordsOf(decided('POST /api/v1/clients', fields, { bodyLimit: 11 }))).toBe(
      'create_client: rewrite',
    );
  });
});

describe('the target for V2', () => {
  test.each([
    ['GET /api/v1/tours?look=day', '/api/v2/tours?filter%5Bstyle%5D=light'],
    ['HEAD /api/v1/tours?look=day', '/api/v2/tours?filter%5Bstyle%5D=light'],
    ['DELETE /api/v1/tours?look=day', '/api/v2/tours?look=day'],
    ['POST /api/v1/x?per_page=1&look=day', '/api/v2/x?page_size=1&look=day'],
    ['GET /api/v1/tours/?l%6Fok=\\%00', '/api/v2/tours/?filter%5Bstyle%5D=\\%00'],
    ['GET /api/v1/tours?look=1?look=2', '/api/v2/tours?filter%5Bstyle%5D=1?look=2'],
  ])('%s: %s', async (line, target) => {
    const decision = decided(line, [], {}, await requestRulesBook());
    expect(decision.route === 'migrate' && migratedTarget(decision)).toBe(target);
  });

  test('is refused with the same targets, whatever the query rules are', async () => {
    const rules = await requestRulesBook();
    for (const query of ['look=day#x', 'look=\0', 'look=\u00e9', 'look=\t', 'look=\x7f'])
      expect([query, decided(`GET /api/v1/tours?${query}`, [], {}, rules)]).toMatchObject([
        query,
        { route: 'none', failure: { code: 'bad-target' } },
      ]);
  });
});

test.each([
  ['PUT /api/v1/tours/7', 'replace_tour: rewrite'],
  ['PUT /api/v1/tours', 'unnamed: forward'],
  ['GET /api/v1/tours', 'list_tours: forward'],
])('%s with request rules in the rule book: %s', async (line, words) => {
  expect(wordsOf(decided(line, JSON_TYPE, {}, await requestRulesBook()))).toBe(words);
});
