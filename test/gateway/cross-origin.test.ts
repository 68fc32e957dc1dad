import { describe, expect, test } from 'vitest';
import { EdgeServer } from '../../src/edge/gateway.ts';
import { CrossOrigin, type PreflightQuestion } from '../../src/gateway/cross-origin.ts';
import { readDestination } from '../../src/rules/move.ts';
import type { Change, Operation } from '../../src/rules/rule-book.ts';
import { freePort } from '../support/free-port.ts';
import { gatewayFor } from '../support/gateway.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { rawServer, type RawServer } from '../support/raw-server.ts';
import { compiledTestRuleBook, testRuleBook } from '../support/rule-book.ts';
import { rolloutOf } from '../support/two-services.ts';
import { served } from '../support/served.ts';

const PAGE = 'https://app.example';
const OWN = 'Deprecation, Sunset, Link, Retry-After, x-gateway-error';

interface Learnt {
  readonly status?: number;
  readonly question?: PreflightQuestion;
}

/** What is known after one response with these fields. */
function after(fields: readonly string[], { status = 200, question }: Learnt = {}): CrossOrigin {
  const known = new CrossOrigin();
  known.learn(PAGE, status, fields, question);
  return known;
}

const OTHER = 'https://other.example';
const ALLOWED = 'Access-Control-Allow-Origin';
const EXPOSE = 'Access-Control-Expose-Headers';
const VARY = ['Vary', 'Origin'];
const ALLOW = [ALLOWED, PAGE];
const WITH_CREDENTIALS = [...ALLOW, 'Access-Control-Allow-Credentials', 'true'];

describe('fields that the gateway adds to its own responses', () => {
  test.each<[string, readonly string[], string, readonly string[]]>([
    ['an origin', ALLOW, PAGE, [...ALLOW, EXPOSE, OWN, ...VARY]],
    [
      'credentials and exposed fields',
      [...WITH_CREDENTIALS, 'access-control-expose-headers', 'X-Total, Link'],
      PAGE,
      [
        ...WITH_CREDENTIALS,
        EXPOSE,
        OWN.replace('Deprecation, Sunset, Link', 'X-Total, Link, Deprecation, Sunset'),
        ...VARY,
      ],
    ],
    ['an asterisk, to every origin', [ALLOWED, '*'], OTHER, [ALLOWED, '*', EXPOSE, OWN, ...VARY]],
    ['nothing to another origin', ALLOW, OTHER, VARY],
    ['nothing before any response', [], PAGE, VARY],
    ['nothing of a permission that V2 gave to another origin', [ALLOWED, 'https://b.example'], PAGE, VARY],
  ])('%s', (_what, fields, origin, own) => {
    expect(after(fields).fieldsFor(origin)).toEqual(own);
  });

  test.each([
    [204, false],
    [500, true],
    [404, true],
  ])(
    'after a response with %d and without a permission, the earlier permission holds: %s',
    (status, holds) => {
      const known = after(ALLOW);
      known.learn(PAGE, status, [], undefined);
      expect(known.fieldsFor(PAGE).includes('Access-Control-Allow-Origin')).toBe(holds);
    },
  );

  test('at most a thousand origins are remembered', () => {
    const known = after(ALLOW);
    for (let n = 0; n < 1000; n += 1)
      known.learn(`https://${n}.example`, 200, [ALLOWED, `https://${n}.example`], undefined);
    expect(known.fieldsFor(PAGE)).toEqual(['Vary', 'Origin']);
    expect(known.fieldsFor('https://999.example')).toContain('https://999.example');
  });
});

describe('the response to a preflight while the services are away', () => {
  const grant = (methods: string, fields: string, more: readonly string[] = ALLOW): readonly string[] => [
    ...more,
    'Access-Control-Allow-Methods',
    methods,
    'Access-Control-Allow-Headers',
    fields,
  ];
  const ASKED = { method: 'PUT', fields: 'content-type' };
  const PUT = grant('PUT', 'Content-Type');
  const ANY = grant('*', '*');
  test.each<[string, readonly string[], question: string, boolean]>([
    ['a question that was asked before', PUT, 'PUT content-type', true],
    ['names of fields in any case', grant('PUT', 'content-TYPE, X-A'), 'PUT Content-Type,x-a', true],
    ['another method that was allowed', grant('GET, PUT, DELETE', 'content-type'), 'DELETE ', true],
    ['a method that needs no permission', PUT, 'POST content-type', true],
    ['a method that was not allowed', PUT, 'DELETE ', false],
    ['methods are no names of fields: case counts', grant('PUT', ''), 'put ', false],
    ['a field that was not allowed', PUT, 'PUT content-type,x-a', false],
    ['an asterisk', ANY, 'DELETE x-a', true],
    ['an asterisk never allows Authorization', ANY, 'DELETE authorization', false],
    ['with credentials an asterisk is a name', grant('*', '*', WITH_CREDENTIALS), 'DELETE x-a', false],
  ])('%s', (_what, granted, question, isAllowed) => {
    const [method = '', fields = ''] = question.split(' ');
    const known = after(granted, { status: 204, question: ASKED });
    const answer = known.preflightFields(PAGE, { method, fields });
    expect(answer !== undefined).toBe(isAllowed);
    if (isAllowed) expect(answer).toEqual(expect.arrayContaining(['Access-Control-Allow-Methods', method]));
  });

  test('permissions add up, and a permission that V2 now refuses is removed', () => {
    const known = after(grant('PUT', 'x-a'), { question: { method: 'PUT', fields: 'x-a' } });
    known.learn(PAGE, 204, [...grant('DELETE', 'x-b'), 'Access-Control-Max-Age', '600'], {
      method: 'DELETE',
      fields: 'x-b',
    });
    expect(known.preflightFields(PAGE, { method: 'PUT', fields: 'x-a, x-b' })).toEqual([
      ...ALLOW,
      'Access-Control-Allow-Methods',
      'PUT',
      'Access-Control-Allow-Headers',
      'x-a, x-b',
      'Access-Control-Max-Age',
      '600',
      'Vary',
      'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    ]);
    known.learn(PAGE, 204, grant('GET', 'x-b'), { method: 'PUT', fields: '' });
    expect(known.preflightFields(PAGE, { method: 'PUT', fields: '' })).toBeUndefined();
  });

  test('a refused preflight is not remembered, and one of an unknown origin gets no permission', () => {
    const known = after(grant('PUT', 'x-a'), { status: 403, question: ASKED });
    expect(known.preflightFields(PAGE, ASKED)).toBeUndefined();
    expect(known.preflightFields('https://other.example', { method: 'GET', fields: '' })).toBeUndefined();
  });
});

/** A V2 with CORS, as the frameworks do it. */
const CORS_V2 = (socket: { write(text: string): void }, request: string): void => {
  const isPreflight = request.startsWith('OPTIONS ');
  const status = isPreflight ? '204 No Content' : '200 OK';
  const own = isPreflight
    ? 'Access-Control-Allow-Methods: GET, PUT, POST\r\nAccess-Control-Allow-Headers: authorization, content-type\r\n'
    : 'Content-Type: application/json\r\nContent-Length: 11\r\n';
  const origin = /^origin: (.*)$/im.exec(request)?.[1] ?? '';
  socket.write(
    `HTTP/1.1 ${status}\r\nAccess-Control-Allow-Origin: ${origin}\r\n${own}\r\n${isPreflight ? '' : '{"data":{}}'}`,
  );
};

const FROM_PAGE = `Host: g\r\nOrigin: ${PAGE}\r\n`;
const GET = `GET /api/v1/clients HTTP/1.1\r\n${FROM_PAGE}\r\n`;
const preflight = (
  method = 'POST',
  fields = 'authorization,content-type',
  path = '/api/v1/clients',
): string =>
  `OPTIONS ${path} HTTP/1.1\r\n${FROM_PAGE}Access-Control-Request-Method: ${method}\r\nAccess-Control-Request-Headers: ${fields}\r\n\r\n`;

function away(v2: RawServer): void {
  v2.server.close();
  for (const socket of v2.sockets) socket.destroy();
}

const CONNECT = { 'upstream-connect-timeout': '200' };

test.each<[string, string, boolean, string, string | undefined]>([
  ['the origin', PAGE, true, PAGE, 'true'],
  ['another origin', 'https://other.example', true, PAGE, undefined],
  ['everybody', '*', false, '*', undefined],
])('an operator lets %s read before V2 was asked', (_what, origin, credentials, allowed, withCookies) => {
  const declared = { origins: [origin], credentials };
  const known = new CrossOrigin();
  const isAllowed = origin === '*' || origin === PAGE;
  const fields = known.fieldsFor(PAGE, declared);
  expect(fields.includes('Access-Control-Allow-Origin')).toBe(isAllowed);
  expect(fields.includes('Access-Control-Allow-Credentials')).toBe(withCookies === 'true');
  const question = { method: 'DELETE', fields: 'authorization, x-a' };
  const answer = known.preflightFields(PAGE, question, declared);
  if (isAllowed)
    expect(answer).toEqual([
      'Access-Control-Allow-Origin',
      allowed,
      ...(withCookies === undefined ? [] : ['Access-Control-Allow-Credentials', 'true']),
      'Access-Control-Allow-Methods',
      'DELETE',
      'Access-Control-Allow-Headers',
      'authorization, x-a',
      'Access-Control-Max-Age',
      '0',
      'Vary',
      'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    ]);
  else expect(answer).toBeUndefined();
  // What V2 says comes first.
  known.learn(PAGE, 200, ALLOW, undefined);
  expect(known.preflightFields(PAGE, question, declared)).toBeUndefined();
});

describe('a page of another origin', () => {
  test.each<[string, string, number, string]>([
    [
      'a refused body',
      `POST /api/v1/clients HTTP/1.1\r\n${FROM_PAGE}Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{`,
      400,
      'malformed-json',
    ],
    ['a path of no service', `GET /elsewhere HTTP/1.1\r\n${FROM_PAGE}\r\n`, 404, 'not-found'],
    ['an expectation', `GET /api/v2/x HTTP/1.1\r\n${FROM_PAGE}Expect: x\r\n\r\n`, 417, 'expectation-failed'],
  ])('reads %s', async (_what, request, status, code) => {
    const { send } = await served(CORS_V2);
    await send(GET);
    const response = await send(request);
    expect(statusOf(response)).toBe(status);
    expect(response.text).toContain(`x-gateway-error: ${code}`);
    expect(response.text).toContain(`Access-Control-Allow-Origin: ${PAGE}\r\n`);
    expect(response.text).toContain(`Access-Control-Expose-Headers: ${OWN}\r\n`);
    const other = await send(request.replace(PAGE, 'https://other.example'));
    expect(other.text).not.toContain('Access-Control-Allow-Origin');
    const none = await send(request.replace(`Origin: ${PAGE}\r\n`, ''));
    expect(none.text).not.toMatch(/access-control|vary/i);
  });

  test.each(['/api/v1/clients', '/api/v2/clients'])(
    'reads why V2 is away, and may ask for it: %s',
    async (path) => {
      const { v2, gateway, send } = await served(CORS_V2, { flags: CONNECT });
      const asked = preflight('POST', 'authorization,content-type', path);
      expect((await send(asked)).text).toContain('Access-Control-Allow-Methods: GET, PUT, POST');
      away(v2);
      const answered = await send(asked);
      expect(statusOf(answered)).toBe(204);
      expect(answered.text).toContain('Access-Control-Allow-Headers: authorization, content-type\r\n');
      const failed = await send(GET.replace('/api/v1/clients', path));
      expect([502, 503]).toContain(statusOf(failed));
      expect(failed.text).toContain(`Access-Control-Allow-Origin: ${PAGE}\r\n`);
      const unknown = await send(asked.replace('POST', 'DELETE'));
      expect([502, 503]).toContain(statusOf(unknown));
      expect(await gateway.entry(2)).toMatchObject({ verdict: 'served', status: 204, method: 'OPTIONS' });
    },
  );

  test('may send V1’s method and fields where V2 has other ones, also while V2 is away', async () => {
    const operation: Operation = {
      id: 'close',
      method: 'DELETE',
      template: '/open/{id}',
      to: readDestination('PATCH /closed/{id}'),
      assumed: false,
    };
    const tenant: Change = {
      id: 'tenant',
      summary: 'X-Account is X-Tenant-Id.',
      on: 'every',
      request: [],
      response: [],
      headers: [{ rule: 'rename', field: 'X-Account', to: 'X-Tenant-Id' }],
      policies: {},
      assumed: false,
    };
    const ruleBook = { operations: [operation], changes: [tenant] };
    const { v2, gateway, send } = await served(
      (socket, request) => {
        const isAsked = request.startsWith('OPTIONS /api/v2/closed/7 ') && request.includes('x-tenant-id');
        const allowed = isAsked && /^access-control-request-method: PATCH\r$/im.test(request);
        socket.write(
          `HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: ${PAGE}\r\n${allowed ? 'Access-Control-Allow-Methods: PATCH\r\nAccess-Control-Allow-Headers: X-Tenant-Id\r\n' : ''}\r\n`,
        );
      },
      { flags: CONNECT, ruleBook },
    );
    const asked = preflight('DELETE', 'x-account', '/api/v1/open/7');
    const allowed = (text: string): unknown => [
      /^access-control-allow-methods: (.*)\r$/im.exec(text)?.[1],
      /^access-control-allow-headers: (.*)\r$/im.exec(text)?.[1]?.toLowerCase(),
    ];
    expect(allowed((await send(asked)).text)).toEqual(['PATCH, DELETE', 'x-tenant-id, x-account']);
    expect(await gateway.entry()).toMatchObject({ verdict: 'rewritten', method: 'OPTIONS', status: 204 });
    away(v2);
    expect(allowed((await send(asked)).text)).toEqual(['DELETE', 'x-account']);
  });

  test('reads why V2 is away, even if V2 never responded before', async () => {
    const gateway = await gatewayFor(`http://127.0.0.1:${await freePort()}`, {
      flags: CONNECT,
      ruleBook: { cors: { origins: [PAGE], credentials: true } },
    });
    expect(statusOf(await exchange(gateway.port, preflight('DELETE')))).toBe(204);
    const failed = await exchange(gateway.port, GET);
    expect([502, 503]).toContain(statusOf(failed));
    expect(failed.text).toContain(
      `Access-Control-Allow-Origin: ${PAGE}\r\nAccess-Control-Allow-Credentials: true\r\n`,
    );
  });

  test('reads a brownout, whose preflight crosses', async () => {
    const brownouts = [{ id: 'reminder', share: 100, status: 503 }] as const;
    const { send } = await served(CORS_V2, {
      ruleBook: { rollout: rolloutOf({}, { brownouts }) },
    });
    expect(statusOf(await send(preflight()))).toBe(204);
    const response = await send(GET);
    expect(response.text).toContain('x-gateway-error: brownout');
    expect(response.text).toContain(`Access-Control-Allow-Origin: ${PAGE}\r\n`);
  });

  test('reads the dates of the end on V2s own responses', async () => {
    const signals = { since: 0, links: [], attributes: false };
    const rollout = rolloutOf({}, { signals });
    const { send } = await served(CORS_V2, { ruleBook: { rollout } });
    const response = await send(GET);
    expect(response.text).toContain('Deprecation: @0\r\n');
    expect(response.text).toContain('Access-Control-Expose-Headers: Deprecation, Sunset, Link\r\n');
  });

  test('reads both at the edge', async () => {
    let isAway = false;
    const v2 = await rawServer((socket, request) => {
      if (!isAway) CORS_V2(socket, request);
    });
    const server = new EdgeServer({
      bindings: { GATEWAY_UPSTREAM: v2.origin, GATEWAY_UPSTREAM_HEADERS_TIMEOUT: '1000' } as object,
      ruleBook: testRuleBook(),
      print: () => {},
      later: () => {},
    });
    const headers = { Host: 'a', Origin: PAGE, 'Access-Control-Request-Method': 'PUT' };
    const ask = (method: string): Promise<Response> =>
      server.fetch(new Request('http://a/api/v1/clients', { method, headers }));
    expect((await ask('OPTIONS')).status).toBe(204);
    isAway = true;
    const answered = await ask('OPTIONS');
    expect([answered.status, answered.headers.get('access-control-allow-methods')]).toEqual([204, 'PUT']);
    const failed = await ask('GET');
    expect([failed.status, failed.headers.get('access-control-allow-origin')]).toEqual([504, PAGE]);
  });
});

describe('a preflight does not count as a request', () => {
  const refuse = (socket: { write(text: string): void }): void => {
    socket.write('HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n');
  };

  test.each([
    ['preflights, counts none of them', preflight(), 'canary'],
    ['requests, is rolled back', GET, 'observe'],
  ])('a canary that responds with 500 to %s', async (_what, request, mode) => {
    const v1 = await rawServer(CORS_V2);
    const rollout = rolloutOf({ default: { mode: 'canary', share: 100 } });
    const { gateway, send } = await served(refuse, {
      ruleBook: { rollout },
      parts: { v1Origin: { origin: v1.origin, path: '' } },
    });
    for (let n = 0; n < 60; n += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await send(request);
    }
    await gateway.entry(60);
    const control = gateway.gateway.rollout;
    expect(control.modes(compiledTestRuleBook({ rollout }).ruleBook).default.mode).toBe(mode);
    expect(control.requests.v2 > 0).toBe(request === GET);
  });

  test('it goes to the service that will get the request', async () => {
    const seen: string[] = [];
    const service =
      (name: string) =>
      (socket: { write(text: string): void }, request: string): void => {
        seen.push(name);
        CORS_V2(socket, request);
      };
    const [v1, v2] = await Promise.all([rawServer(service('v1')), rawServer(service('v2'))]);
    const modes = {
      default: { mode: 'observe' },
      operations: { create_client: { mode: 'migrate' } },
    } as const;
    const gateway = await gatewayFor(v2.origin, {
      ruleBook: { rollout: rolloutOf(modes) },
      parts: { v1Origin: { origin: v1.origin, path: '' } },
    });
    await exchange(gateway.port, preflight('POST'));
    await exchange(gateway.port, preflight('GET'));
    expect(seen).toEqual(['v2', 'v1']);
  });

  test('it does not wait for the rate limit of its client', async () => {
    const shield = { requests: 1, per: 60, wait: 60_000, queue: 100 };
    const { gateway, send } = await served(CORS_V2, {
      rules: compiledTestRuleBook({
        client: { query: 'key' },
        rollout: rolloutOf({}, { shield }),
      }),
    });
    const held = async (request: string): Promise<number> => {
      const before = gateway.lines.length;
      await Promise.all(Array.from({ length: 4 }, () => send(request)));
      await gateway.entry(before + 4);
      return gateway
        .entries()
        .slice(before)
        .filter(({ heldMs }) => heldMs !== undefined).length;
    };
    const keyed = '/api/v1/clients?key=k';
    expect(await held(GET.replace('/api/v1/clients', keyed))).toBeGreaterThan(0);
    expect(await held(preflight('POST', '', keyed))).toBe(0);
  });
});
