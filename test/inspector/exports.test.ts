import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readHar } from '../../src/cli/explain/har.ts';
import { offlineExplainer } from '../../src/cli/explain/requests.ts';
import { readDestination } from '../../src/rules/move.ts';
import { gatewayFor } from '../support/gateway.ts';
import { exchange } from '../support/raw-client.ts';
import { differences, readRawMessage, writeRawRequest, writeRawResponse } from '../support/raw-message.ts';
import { rawServer } from '../support/raw-server.ts';
import { compiledTestRuleBook } from '../support/rule-book.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';
import { readTextCases, type TextCase } from '../../src/cli/cases/text-cases.ts';
import { type WatchedServices, watchedServices } from '../support/watched-services.ts';

const ORDER = '{"data": {"property": {"suburb": "Enmore", "n": 81.6250}}}';
const CREATED =
  'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"data":{"id":1}}';

const MOVED = {
  operations: [
    {
      id: 'close_bill',
      method: 'POST',
      template: '/bills/{id}/close',
      to: readDestination('PATCH /invoices/{id}'),
      assumed: false,
    },
  ],
  changes: [],
};

async function played(
  modes: Parameters<typeof watchedServices>[0],
  body: string,
  capture: 'off' | 'bodies' = 'bodies',
): Promise<WatchedServices> {
  const services = await watchedServices(
    modes,
    { v1: (socket) => socket.write(CREATED), v2: (socket) => socket.write(CREATED) },
    { flags: { capture } },
  );
  await exchange(
    services.gateway.port,
    `POST /api/v1/orders/floor_plans?page=7 HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer secret-key\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await services.gateway.entry();
  return services;
}

async function exported(
  { gateway }: WatchedServices,
  format: 'har' | 'case',
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${gateway.adminOrigin}/entries/1/${format}`);
  return { status: response.status, text: await response.text() };
}

/** The exchanges of an archive. */
function entriesOf(text: string): readonly { readonly comment: string }[] {
  const { log } = JSON.parse(text) as {
    readonly log: { readonly entries: readonly { readonly comment: string }[] };
  };
  return log.entries;
}

/** The comments on the requests of an archive. */
function commentsOf(text: string): readonly string[] {
  return entriesOf(text).map(({ comment }) => comment);
}

/** Plays a case as those of this project are; returns its faults. */
async function replay(textCase: TextCase): Promise<readonly string[]> {
  const v2 = await rawServer((socket) => void socket.write(writeRawResponse(textCase.upstreamResponse)));
  const gateway = await gatewayFor(v2.origin, { rules: compiledTestRuleBook() });
  const response = await exchange(gateway.port, writeRawRequest(textCase.request));
  const received = v2.received.join('');
  if (textCase.upstream === undefined) expect(received).toBe('');
  return [
    ...differences(textCase.response, readRawMessage(response.text)),
    ...differences(textCase.upstream, readRawMessage(received)),
  ];
}

describe('a text case', () => {
  test.each([
    ['a migrated exchange', {}, ORDER, 'bodies'],
    ['a migrated exchange without its values', {}, ORDER, 'off'],
    ['a refused one', {}, '{"data":1}', 'bodies'],
    ['an observed one, as its migration', { default: { mode: 'observe' } }, ORDER, 'bodies'],
    [
      'an observed one that would have been refused',
      { default: { mode: 'observe' } },
      '{"data":[]}',
      'bodies',
    ],
  ] as const)('of %s passes when it is played', async (_, modes, body, capture) => {
    const { status, text } = await exported(await played(modes, body, capture), 'case');
    expect(status).toBe(200);
    expect(text).not.toContain('secret-key');
    const cases = readTextCases(text);
    expect(cases).toHaveLength(1);
    for (const one of cases) expect(await replay(one)).toEqual([]);
    if (capture === 'off')
      for (const secret of ['Enmore', '81.6250', '=7']) expect(text).not.toContain(secret);
  });

  test.each([
    ['a migrated exchange', {}],
    ['an observed one', { default: { mode: 'observe' } }],
  ] as const)('of %s has the method and path that V2 has for the operation', async (_, modes) => {
    const services = await watchedServices(
      modes,
      { v2: (socket) => socket.write(CREATED) },
      { ruleBook: MOVED },
    );
    await exchange(
      services.gateway.port,
      'POST /api/v1/bills/7/close HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
    );
    await services.gateway.entry();
    const { text } = await exported(services, 'case');
    expect(text).toContain('\n= PATCH /api/v2/invoices/7\n');
  });

  test('with a wrong expectation fails', async () => {
    const { text } = await exported(await played({}, ORDER), 'case');
    const [one] = readTextCases(text.replace(/(= \{.*)Enmore/, '$1Newtown'));
    expect(one && (await replay(one))).toHaveLength(1);
  });

  test('is not made of V2 traffic, a body that was not kept or a missing service, nor of an exchange that is not kept', async () => {
    const noCase = {
      status: 422,
      text: expect.stringContaining(
        '"This exchange cannot be a case: its body was not kept, it is V2 traffic, or a service or the client was missing."',
      ),
    };
    const services = await watchedServices({});
    await exchange(services.gateway.port, 'GET /api/v2/clients HTTP/1.1\r\nHost: g\r\n\r\n');
    await services.gateway.entry();
    expect(await exported(services, 'case')).toEqual(noCase);
    expect(await exported(await played({}, '{"data":', 'off'), 'case')).toEqual(noCase);
    const withoutV2 = await watchedServices({}, { v2: (socket) => socket.destroy() });
    await exchange(withoutV2.gateway.port, 'DELETE /api/v1/clients/1 HTTP/1.1\r\nHost: g\r\n\r\n');
    await withoutV2.gateway.entry();
    expect(await exported(withoutV2, 'case')).toEqual(noCase);
    const response = await fetch(`${services.gateway.adminOrigin}/entries/4711/case`);
    expect(response.status).toBe(404);
  });
});

describe('an archive', () => {
  test('has both requests, without the key, and is read again', async () => {
    const { text } = await exported(await played({}, ORDER), 'har');
    expect(text).not.toContain('secret-key');
    const requests = readHar(text);
    if ('fault' in requests) throw new Error(requests.fault);
    expect(requests.requests.map(({ request }) => [request.method, request.target, request.body])).toEqual([
      ['POST', '/api/v1/orders/floor_plans?page=7', ORDER],
      ['POST', '/api/v2/orders/floor_plans?page=7', expect.stringContaining('"address"')],
    ]);
    expect(commentsOf(text)).toEqual([
      expect.stringMatching(/^Sent to V2 with 2 edits\. V2 responded with 201 after \S+ ms\.$/),
      'The request as the gateway made it for V2.',
    ]);
  });

  test('without values says on both requests that placeholders stand for them', async () => {
    const { text } = await exported(await played({}, ORDER, 'off'), 'har');
    const note = 'Values were not kept: placeholders replace them.';
    expect(commentsOf(text)).toEqual([
      expect.stringContaining(`ms. ${note}`),
      `The request as the gateway made it for V2. ${note}`,
    ]);
    expect(text).not.toContain('Enmore');
    expect(text).not.toContain('81.6250');
  });

  test('marks unknown times as unknown, not as 0 ms', async () => {
    const silent = await watchedServices({}, { v2: (socket) => socket.destroy() });
    await exchange(silent.gateway.port, 'DELETE /api/v1/clients/1 HTTP/1.1\r\nHost: g\r\n\r\n');
    await silent.gateway.entry();
    const unknown = { blocked: -1, dns: -1, connect: -1, ssl: -1, send: 0, receive: 0 };
    const whole = {
      ...unknown,
      wait: expect.any(Number),
      comment: 'The time of the whole exchange; its parts were not measured.',
    };
    const { text } = await exported(await played({}, ORDER, 'off'), 'har');
    expect(entriesOf(text)).toMatchObject([
      { timings: whole, request: { bodySize: ORDER.length } },
      {
        timings: {
          ...unknown,
          comment: 'The time until the head of the response; the rest was not measured.',
        },
        response: { bodySize: 17 },
      },
    ]);
    expect(entriesOf((await exported(silent, 'har')).text)).toMatchObject([
      { timings: whole },
      {
        time: 0,
        timings: { ...unknown, wait: 0, comment: 'How long V2 took is not known.' },
        response: { status: 0, bodySize: -1 },
      },
    ]);
  });

  const JSON_TYPE = 'application/json';
  const LATIN_1 = Buffer.from('{"data":{"name":"\u00e9"}}', 'latin1');
  test.each<[type: string, body: string | Buffer, verdict: string | undefined]>([
    [JSON_TYPE, '{"data":{"property":{"suburb":"E"}}}', 'rewritten'],
    [JSON_TYPE, '[1]', 'unchanged'],
    [JSON_TYPE, '{"data":{', 'refused'],
    [JSON_TYPE, LATIN_1, 'refused'],
    ['application/octet-stream', LATIN_1, 'unchanged'],
    ['application/x-www-form-urlencoded', 'data%5Bproperty%5D%5Bsuburb%5D=E', undefined],
    ['application/x-www-form-urlencoded', 'data%5=E', undefined],
    ['application/x-ndjson', '{"data":{"a":1}}\n{}\n', undefined],
    ['multipart/form-data; boundary=X', '--X\r\n\r\n\r\n--X--\r\n', undefined],
    ['application/json-patch+json', '[{"op":"remove","path":"/data/property/suburb"}]', undefined],
  ])(
    'without values is read back with the verdict that it had, or has no body: %s %s',
    async (type, body, verdict) => {
      const rules = await compiledShippedRuleBook();
      const services = await watchedServices(
        {},
        { v2: (socket) => socket.write(CREATED) },
        { flags: { capture: 'off' }, ruleBook: rules.ruleBook },
      );
      const bytes = Buffer.from(body);
      const head = `POST /api/v1/orders/floor_plans HTTP/1.1\r\nHost: g\r\nContent-Type: ${type}\r\nContent-Length: ${bytes.length}\r\n\r\n`;
      await exchange(services.gateway.port, Buffer.concat([Buffer.from(head), bytes]));
      const entry = await services.gateway.entry();
      const read = readHar((await exported(services, 'har')).text);
      if ('fault' in read) throw new Error(read.fault);
      const [front] = read.requests;
      if (verdict === undefined) {
        expect([read.requests, read.notes]).toEqual([
          [],
          [expect.stringContaining('without the body that was sent')],
        ]);
        return;
      }
      const explanation = await offlineExplainer(rules)(front?.request ?? {});
      expect([entry.verdict, 'verdict' in explanation && explanation.verdict]).toEqual([verdict, verdict]);
    },
  );

  test('of a compressed request has none of the fields about the compressed bytes', async () => {
    const services = await watchedServices(
      {},
      { v2: (socket) => socket.write(CREATED) },
      { flags: { capture: 'bodies' } },
    );
    const bytes = gzipSync(ORDER);
    const digest = createHash('sha256').update(bytes).digest('base64');
    const head = `POST /api/v1/orders/floor_plans HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Digest: sha-256=:${digest}:\r\nContent-Length: ${bytes.length}\r\n\r\n`;
    await exchange(services.gateway.port, Buffer.concat([Buffer.from(head), bytes]));
    await services.gateway.entry();
    const read = readHar((await exported(services, 'har')).text);
    if ('fault' in read) throw new Error(read.fault);
    const [first] = read.requests;
    expect(first?.request.body).toBe(ORDER);
    expect(first?.request.headers?.map(([name]) => name)).toEqual(['Host', 'Content-Type']);
  });

  test('of an observed exchange has no request to V2', async () => {
    const { text } = await exported(await played({ default: { mode: 'observe' } }, ORDER, 'off'), 'har');
    const requests = readHar(text);
    expect(requests).toMatchObject({ requests: [{}], faults: [], notes: [] });
    expect(text).toContain('placeholders replace them');
    expect(text).not.toContain('Enmore');
  });
});

test.each(['access_token=hunter2', 't%6Fken=hunter2', 'next=%2F%3Ft%256Fken%3Dhunter2'])(
  'a secret in a URL, as %s, is readable in no entry, archive or case',
  async (secret) => {
    const created = CREATED.replace(
      'Content-Type',
      `Location: https://a.example/x?a=1&${secret}\r\nLink: <x?${secret}>; rel="next"\r\nContent-Type`,
    );
    const services = await watchedServices(
      {},
      { v1: (socket) => socket.write(created), v2: (socket) => socket.write(created) },
      { flags: { capture: 'bodies' } },
    );
    const { gateway } = services;
    await exchange(
      gateway.port,
      `POST /api/v1/orders/floor_plans?${secret} HTTP/1.1\r\nHost: g\r\nReferer: https://a.example/?${secret}\r\nContent-Type: application/json\r\nContent-Length: ${ORDER.length}\r\n\r\n${ORDER}`,
    );
    await gateway.entry();
    for (const path of ['', '/har', '/case']) {
      const response = await fetch(`${gateway.adminOrigin}/entries/1${path}`);
      const text = await response.text();
      expect([path, response.status, text.includes('Enmore'), text.includes('hunter2')]).toEqual([
        path,
        200,
        true,
        false,
      ]);
    }
  },
);
