import { describe, expect, test } from 'vitest';
import { readHead } from '../../src/http/request-head.ts';
import { type Decision, type DecisionLimits, decide } from '../../src/migrate/decision.ts';
import { compiledTestRuleBook } from '../support/rule-book.ts';

const JSON_TYPE = ['Content-Type', 'application/json'];

function decided(
  line: string,
  fields: readonly string[] = [],
  limits: Partial<DecisionLimits> = {},
): Decision {
  const [method = '', target = ''] = line.split(' ');
  const head = readHead(['Host', 'g', ...fields], { count: 100, bytes: 16_384 }, false);
  const request = { method, target, version: '1.1', head, hasBody: method !== 'GET' } as const;
  return decide(request, compiledTestRuleBook(), { bodyLimit: undefined, ...limits });
}

/** The decision in one word or two. */
function wordsOf(decision: Decision): string {
  if (decision.route === 'none')
    return `${decision.failure.code}${decision.closesConnection ? ', closes' : ''}`;
  if (decision.route === 'pass') return 'pass';
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
    ['GET /api/v1/clients', ['Expect', 'x'], 'expectation-failed, closes'],
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
