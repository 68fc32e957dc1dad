import {
  brotliCompressSync,
  brotliDecompressSync,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateSync,
} from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { RequestRule, ResponseRule } from '../../../src/rules/rule.ts';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import { entrySchema } from '../../../src/rewrite-log/entry-schema.ts';
import { gatewayFor, type TestGateway, type TestGatewayOptions } from '../../support/gateway.ts';
import { exchange, rawClient, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { testRuleBook } from '../../support/rule-book.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';
import { rolloutOf } from '../../support/two-services.ts';
import { until } from '../../support/until.ts';
import { served } from '../../support/served.ts';

const ALIAS: ResponseRule = { rule: 'alias', path: ['data', 'new'], as: 'old', status: ['2xx'] };
const STRIP: RequestRule = { rule: 'strip', members: ['legacy'], in: [] };
const withRules = (response: readonly ResponseRule[], over: TestGatewayOptions = {}): TestGatewayOptions => {
  const changes = testRuleBook().changes.map((change) =>
    change.on === 'every' ? { ...change, request: [...change.request, STRIP], response } : change,
  );
  return { ...over, ruleBook: { changes, ...over.ruleBook } };
};
const post = (body = '{"data":{}}', more = ''): string =>
  `POST /api/v1/things HTTP/1.1\r\nHost: gw.test:81\r\n${more}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
/** The content of a chunked body. */
function unchunked(body: string): string {
  let content = '';
  for (let at = 0; ;) {
    const end = body.indexOf('\r\n', at);
    const length = Number.parseInt(body.slice(at, end), 16);
    if (!(length > 0)) return content;
    content += body.slice(end + 2, end + 2 + length);
    at = end + 4 + length;
  }
}

/** Takes all memory for bodies but so many bytes, as other exchanges would; returns how much that is. */
function holdAllBut({ gateway: { budget } }: TestGateway, bytes: number): number {
  expect(budget.acquire(budget.limit - bytes, 1)).toBe(true);
  return budget.held;
}

const bodyOf = (text: string): string => text.slice(text.indexOf('\r\n\r\n') + 4);
const encoded = (body: Buffer, coding: string): Buffer =>
  Buffer.concat([
    Buffer.from(
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: ${coding}\r\nContent-Length: ${body.length}\r\n\r\n`,
    ),
    body,
  ]);

describe('content codings', () => {
  const text = Buffer.from('{"data":{"new":1.0}}');
  test('the log has the first 64 edits of a long list, and no patch that is not whole', async () => {
    const list = JSON.stringify({ data: Array.from({ length: 100 }, (_, old) => ({ new: old })) });
    const rule: ResponseRule = { rule: 'rename', path: ['data', '*', 'new'], to: 'old', status: ['2xx'] };
    const { gateway, send } = await served(ok(list), withRules([rule]));
    expect((await send(post())).body).toBe(list.replaceAll('new', 'old'));
    const entry = await gateway.entry();
    expect(entry.responseEdits).toHaveLength(64);
    expect(entry.responseEditsOmitted).toBe(36);
    expect(entry).not.toHaveProperty('responsePatch');
    expect(entrySchema.safeParse(JSON.parse(entryLine(entry))).success).toBe(true);
  });

  const decoders: Readonly<Record<string, (body: Buffer) => Buffer>> = {
    gzip: gunzipSync,
    deflate: inflateSync,
    br: brotliDecompressSync,
  };
  const encoders: Readonly<Record<string, (body: Buffer) => Buffer>> = {
    gzip: gzipSync,
    'x-gzip': gzipSync,
    deflate: deflateSync,
    br: brotliCompressSync,
  };
  test.each([
    ['gzip', 'gzip, deflate', 'gzip'],
    ['x-gzip', 'x-gzip', 'gzip'],
    ['deflate', 'gzip,deflate', 'deflate'],
    ['br', 'gzip, deflate, br', 'br'],
    ['br', 'gzip', undefined],
    ['gzip', '', undefined],
  ])('of V2 %s and of the client %s: the rewritten response has %s', async (coding, accepted, expected) => {
    const body = encoders[coding]?.(text) ?? text;
    const { gateway, send } = await served(encoded(body, `${coding}\r\nETag: "a"`), withRules([ALIAS]));
    const response = await send(post('{"data":{}}', `Accept-Encoding: ${accepted}\r\n`));
    const received = Buffer.from(bodyOf(response.text), 'latin1');
    const decode = decoders[expected ?? ''] ?? ((plain: Buffer): Buffer => plain);
    expect(decode(received).toString()).toBe('{"data":{"new":1.0,"old":1.0}}');
    expect(/\r\ncontent-encoding: (.*)\r\n/i.exec(response.text)?.[1]).toBe(expected);
    expect(/\r\ncontent-length: (.*)\r\n/i.exec(response.text)?.[1]).toBe(String(received.length));
    expect(/\r\nvary: (.*)\r\n/i.exec(response.text)?.[1]).toBe(expected && 'Accept-Encoding');
    expect(response.text).toMatch(/ETag: W\/"a;rules=[\w-]{8}"/);
    expect(await gateway.entry()).toMatchObject({
      responseEdits: [{ change: 'body-wrapper', rule: 'alias', from: '/data/new', path: '/data/old' }],
      responsePatch: [{ op: 'copy', from: '/data/new', path: '/data/old' }],
    });
    expect(gateway.surprises).toEqual([]);
  });

  test('a rewritten response has no coding where the operator wants none', async () => {
    const flags = { 'response-coding': 'identity' };
    const { send } = await served(encoded(gzipSync(text), 'gzip'), withRules([ALIAS], { flags }));
    const response = await send(post('{"data":{}}', 'Accept-Encoding: gzip\r\n'));
    expect(bodyOf(response.text)).toBe('{"data":{"new":1.0,"old":1.0}}');
    expect(response.text).not.toMatch(/content-encoding/i);
  });

  test('a response in which no rule finds anything stays encoded, byte for byte', async () => {
    const body = gzipSync('{"data":{"other":1}}');
    const { gateway, send } = await served(encoded(body, 'gzip'), withRules([ALIAS]));
    const response = await send(post());
    expect(response.text).toMatch(/content-encoding: gzip/i);
    expect(gunzipSync(Buffer.from(bodyOf(response.text), 'latin1')).toString()).toBe('{"data":{"other":1}}');
    expect(await gateway.entry()).not.toHaveProperty('responseEdits');
  });

  // Attack: a service that was taken over responds with a bomb, which the gateway would blow up in its memory.
  test.each([
    [
      'a response that grows beyond the limit',
      gzipSync(Buffer.alloc(200_000, 32)),
      'gzip',
      'response-too-large',
    ],
    ['bytes that do not match their coding', Buffer.from('not gzip'), 'gzip', 'response-undecodable'],
    ['a coding that is not known', Buffer.from('zzz'), 'zstd', 'response-undecodable'],
    ['a chain of codings', gzipSync(gzipSync('{}')), 'gzip, gzip', 'response-undecodable'],
  ])('%s passes untouched, and the log says so', async (_, body, coding, note) => {
    const limits = { depth: 512, body: 1000, response: 100_000 };
    const { gateway, send } = await served(
      encoded(body, coding),
      withRules([ALIAS], { ruleBook: { limits } }),
    );
    const response = await send(post());
    expect(statusOf(response)).toBe(200);
    expect(Buffer.from(bodyOf(response.text), 'latin1')).toEqual(body);
    expect(await gateway.entry()).toMatchObject({ responseNote: note, status: 200 });
  });
});

test('a small response that arrives whole needs no room: it is rewritten where it is', async () => {
  const { gateway, send } = await served(
    ok(`{"data":{"new":"${'x'.repeat(100)}"}}`),
    withRules([ALIAS], { flags: { 'buffer-bytes': '64' } }),
  );
  expect((await send(post())).body).toContain('"old":"xxx');
  expect((await gateway.entry()).responseNote).toBeUndefined();
});

test.each([
  ['at once', [`12\r\n{"data":{"new":1}}\r\n0\r\nX-Sum: 7\r\n\r\n`]],
  ['in parts', ['5\r\n{"dat\r\n', 'd\r\na":{"new":1}}\r\n0\r\nX-Sum: 7\r\n\r\n']],
])('a rewritten response loses its trailers, which describe other bytes: %s', async (_how, parts) => {
  const { send } = await served(
    (socket) => {
      const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
      socket.write(head + (parts[0] ?? ''));
      setTimeout(() => socket.write(parts.slice(1).join('')), 20);
    },
    withRules([ALIAS]),
  );
  const { text } = await send(post());
  expect(bodyOf(text)).toBe('{"data":{"new":1,"old":1}}');
  expect(text).not.toContain('X-Sum');
});

describe('a response that is left alone', () => {
  const limits = { depth: 512, body: 1000, response: 50 };
  const large = `{"data":{"new":"${'x'.repeat(100)}"}}`;
  const chunked = (...parts: readonly string[]): string =>
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${[...parts, '']
      .map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
      .join('')}`;

  test.each([
    ['beyond limits.response by its length', ok(large), 'response-too-large'],
    ['that is not JSON although it says so', ok('{"data":{"new":1}'), 'response-malformed'],
    ['that is a part', ok('{"data":{"new":1}}', 'Content-Range: bytes 0-17/18\r\n'), 'response-partial'],
  ])('one %s', async (_what, response, responseNote) => {
    const { gateway, send } = await served(response, withRules([ALIAS], { ruleBook: { limits } }));
    expect((await send(post())).body).toBe(response.split('\r\n\r\n')[1]);
    expect(await gateway.entry()).toMatchObject({ responseNote });
  });

  test('a response without a length that turns out to be beyond limits.response', async () => {
    const { gateway, send } = await served(
      chunked(large.slice(0, 30), large.slice(30)),
      withRules([ALIAS], { ruleBook: { limits } }),
    );
    const { text } = await send(post());
    expect(text).toMatch(/transfer-encoding: chunked/i);
    expect(bodyOf(text).replaceAll(/\r\n[0-9a-f]*\r\n|^[0-9a-f]+\r\n/g, '')).toContain('x'.repeat(20));
    expect(await gateway.entry()).toMatchObject({
      responseNote: 'response-too-large',
      responseBytes: large.length,
    });
  });

  const collected = `{"data":{"new":"${'x'.repeat(20_000)}"}}`;
  const coded = gzipSync(collected);
  test.each([
    ['as it comes', ok(collected), 64, collected],
    ['once it is decoded', encoded(coded, 'gzip'), 10_000, coded.toString('latin1')],
  ])(
    'a response to a write for which there is no room %s: it is carried out, and must not be sent again',
    async (_when, response, room, body) => {
      const { gateway, send } = await served(response, withRules([ALIAS]));
      const others = holdAllBut(gateway, room);
      expect((await send(post())).body).toBe(body);
      expect(await gateway.entry()).toMatchObject({ responseNote: 'response-buffer-full' });
      expect(gateway.gateway.budget.held).toBe(others);
    },
  );

  test.each(['204 No Content', '304 Not Modified'])('%s', async (line) => {
    const { send } = await served(
      `HTTP/1.1 ${line}\r\nContent-Type: application/json\r\nETag: "x"\r\n\r\n`,
      withRules([{ ...ALIAS, status: [204, 304] }]),
    );
    const { text } = await send(post());
    expect(text).toMatch(/ETag: "x(?:;rules=[\w-]{8})?"\r\n/);
    expect(bodyOf(text)).toBe('');
  });
});

describe('JSON under another name', () => {
  const NEW = '{"data":{"new":1}}';
  const OLD = '{"data":{"new":1,"old":1}}';
  const length = `Content-Length: ${NEW.length}\r\n`;
  const page = 'Content-Range: items 0-24/100\r\n';
  test.each([
    ['Content-Type: text/json\r\n', length, 'rewritten', undefined],
    ['Content-Type: application/json\r\nContent-Encoding: UTF-8\r\n', length, 'rewritten', undefined],
    [`Content-Type: application/json\r\n${page}`, length, 'rewritten', undefined],
    ['', '', 'rewritten', undefined],
    ['Content-Type: text/javascript\r\n', '', 'passed', 'response-media-type'],
    ['Content-Type: multipart/form-data; boundary=x\r\n', length, 'passed', 'response-media-type'],
    ['Content-Type: application/json;stream=watch\r\n', '', 'rewritten', undefined],
    ['Content-Type: application/json-seq\r\n', '', 'passed', 'response-malformed'],
  ])('as %j with %j is %s', async (type, framing, outcome, responseNote) => {
    const { gateway, send } = await served(
      (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${type}${framing}Connection: close\r\n\r\n${NEW}`);
        socket.end();
      },
      withRules([ALIAS]),
    );
    const { text } = await send(post());
    expect(text).toContain(outcome === 'rewritten' ? OLD : NEW);
    expect(text.includes('"old"')).toBe(outcome === 'rewritten');
    expect((await gateway.entry()).responseNote).toBe(responseNote);
  });
});

describe('a response that is not named JSON is recognised by its first byte', () => {
  const JSON_TEXT = '{"data":{"new":1}}';
  const html = 'Content-Type: text/html\r\n';
  const plain = 'Content-Type: text/plain\r\n';
  const gzipped = gzipSync(JSON_TEXT);
  const [gzip, br, deflate] = ['gzip', 'br', 'deflate'].map(
    (coding) => `Content-Encoding: ${coding}\r\n`,
  ) as [string, string, string];
  type Media = 'strict' | 'known' | 'sniff';
  test.each<[media: Media, fields: string, body: string | Buffer, outcome: string, note: string | undefined]>(
    [
      ['strict', plain, JSON_TEXT, 'passed', 'response-media-type'],
      ['known', html, '<p>{"new":1}</p>', 'passed', undefined],
      ['known', html, ` \r\n${JSON_TEXT}`, 'passed', 'response-media-type'],
      ['known', plain, 'OK {"new":1}', 'passed', undefined],
      ['known', plain, '[{"new":1}', 'passed', 'response-malformed'],
      ['known', plain + gzip, gzipped, 'rewritten', undefined],
      ['known', plain + gzip, gzipSync('OK'), 'passed', undefined],
      ['sniff', html, JSON_TEXT, 'rewritten', undefined],
      ['sniff', html, '<p>{"new":1}</p>', 'passed', undefined],
      ['sniff', 'Content-Type: image/png\r\n', JSON_TEXT, 'passed', undefined],
      ['sniff', html + gzip, gzipped, 'rewritten', undefined],
      ['sniff', `${html}Content-Encoding: zstd\r\n`, JSON_TEXT, 'passed', 'response-undecodable'],
      ['known', html + gzip, gzipped, 'passed', 'response-media-type'],
      ['known', html + gzip, gzipSync(`[${'{"new":1},'.repeat(10_000)}`), 'passed', 'response-media-type'],
      ['known', html + gzip, gzipSync('<p>{"new":1}</p>'), 'passed', undefined],
      ['known', html + gzip, 'no gzip', 'passed', undefined],
      ['strict', plain + br, brotliCompressSync(` ${JSON_TEXT}`), 'passed', 'response-media-type'],
      ['known', html + deflate, deflateRawSync(JSON_TEXT), 'passed', 'response-media-type'],
    ],
  )('with media: %s, %j and %j it is %s', async (media, fields, body, outcome, note) => {
    const bytes = Buffer.from(body);
    const { policies } = testRuleBook();
    const { gateway, send } = await served(
      (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${fields}Content-Length: ${bytes.length}\r\n\r\n`);
        socket.write(bytes);
      },
      withRules([ALIAS], { ruleBook: { policies: { ...policies, media } } }),
    );
    const { text } = await send(post());
    expect(text.includes('"old"')).toBe(outcome === 'rewritten');
    if (outcome === 'passed') expect(bodyOf(text)).toBe(bytes.toString('latin1'));
    expect((await gateway.entry()).responseNote).toBe(note);
  });

  test.each<[media: Media, fields: string, text: string, note: string | undefined]>([
    ['sniff', html, JSON_TEXT, 'response-media-type'],
    ['sniff', html, '<p>{"new":1}</p>', undefined],
    ['known', plain, ` ${JSON_TEXT}`, 'response-media-type'],
    ['known', plain, 'OK {"new":1}', undefined],
    ['known', html, JSON_TEXT, 'response-media-type'],
  ])(
    'with media: %s, %j and a coding without a length, %j crosses with the note %s',
    async (media, fields, text, note) => {
      const coded = gzipSync(text);
      const { policies } = testRuleBook();
      const { gateway, send } = await served(
        (socket) => {
          socket.write(`HTTP/1.1 200 OK\r\n${fields}${gzip}Connection: close\r\n\r\n`);
          socket.write(coded.subarray(0, 10));
          setImmediate(() => socket.end(coded.subarray(10)));
        },
        withRules([ALIAS], { ruleBook: { policies: { ...policies, media } } }),
      );
      await send(post());
      expect((await gateway.entry()).responseNote).toBe(note);
    },
  );

  test.each(['application/json; stream=watch', 'application/stream+json'])(
    'texts that follow one another as %s are sent one by one',
    async (type) => {
      const { v2, gateway } = await served(
        `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n\r\n{"data":{"new":1}}\n`,
        withRules([ALIAS]),
      );
      const client = rawClient(gateway.port);
      client.write(post());
      expect((await client.until(/"old":1/)).text).toContain('{"data":{"new":1,"old":1}}');
      v2.sockets[0]?.write('{"data":{"new":2}');
      v2.sockets[0]?.end('}\n');
      expect((await client.until(/"old":2/)).text).toContain('{"data":{"new":2,"old":2}}');
      client.socket.destroy();
    },
  );

  test.each<[name: string, parts: [string, string], rewritten: string | undefined, note: string | undefined]>(
    [
      ['one text', ['{"data":', '{"new":1}}\n'], '{"data":{"new":1,"old":1}}\n', undefined],
      ['two texts', ['{"data":{"new":1}}\n', '{"new":2}\n'], undefined, 'response-malformed'],
    ],
  )('plain JSON without a length is read as a whole: %s', async (_, parts, rewritten, note) => {
    const { v2, gateway } = await served(`HTTP/1.1 200 OK\r\n${plain}\r\n${parts[0]}`, withRules([ALIAS]));
    const client = rawClient(gateway.port);
    client.write(post());
    await until(() => v2.received.join('') !== '');
    v2.sockets[0]?.end(parts[1]);
    const { text } = await client.until(/\r\n0\r\n\r\n|"old".*\n$/);
    const body = bodyOf(text);
    expect(/^transfer-encoding/im.test(text) ? unchunked(body) : body).toBe(rewritten ?? parts.join(''));
    expect((await gateway.entry()).responseNote).toBe(note);
  });

  test.each(['first', '[INFO] first', '[2026] {first}'])(
    '%s without a length streams on as it comes',
    async (first) => {
      const { v2, gateway } = await served(`HTTP/1.1 200 OK\r\n${plain}\r\n${first}`, withRules([ALIAS]));
      const client = rawClient(gateway.port);
      client.write(post());
      expect((await client.until(/first/)).text).toContain('first');
      v2.sockets[0]?.end(' last');
      expect((await client.until(/last/)).text).toContain('last');
      client.socket.destroy();
    },
  );
});

describe('white space before a response crosses at once', () => {
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
  const START =
    'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: "1"\r\nTransfer-Encoding: chunked\r\n\r\n';

  test.each([
    ['{"data":{"new":1}}', '{"data":{"new":1,"old":1}}', undefined],
    ['{"data":{"new":', '{"data":{"new":', 'response-malformed'],
  ])('and the body %s after it is sent as %s', async (body, sent, note) => {
    const { v2, gateway } = await served(`${START}${chunk(' ')}`, withRules([ALIAS]));
    const client = rawClient(gateway.port);
    client.write(post());
    const { text: head } = await client.until(/\r\n\r\n1\r\n \r\n/);
    expect(head).toMatch(/ETag: W\/"1;rules=[\w-]{8}"\r\n/);
    v2.sockets[0]?.write(chunk('\n\n'));
    await client.until(/\n\n/);
    v2.sockets[0]?.write(`${chunk(body.slice(0, 5))}${chunk(body.slice(5))}0\r\n\r\n`);
    const { text } = await client.until(/\r\n0\r\n\r\n/);
    expect(unchunked(bodyOf(text))).toBe(` \n\n${sent}`);
    expect((await gateway.entry()).responseNote).toBe(note);
    client.socket.destroy();
  });

  test('a response that breaks behind it breaks, and never looks whole', async () => {
    const { v2, gateway } = await served(`${START}${chunk(' ')}`, withRules([ALIAS]));
    const client = rawClient(gateway.port);
    client.write(post());
    await client.until(/ \r\n$/);
    v2.sockets[0]?.destroy();
    const { text, closed } = await client.end();
    expect(closed).toBe(true);
    expect(text).not.toContain('0\r\n\r\n');
    expect(await gateway.entry()).toMatchObject({ status: 200, failure: 'upstream-broken' });
  });

  test('also between two texts of a stream', async () => {
    const { v2, gateway } = await served(
      `${START.replace('application/json', 'application/x-ndjson')}${chunk(' ')}`,
      withRules([ALIAS]),
    );
    const client = rawClient(gateway.port);
    client.write(post());
    await client.until(/\r\n1\r\n \r\n/);
    v2.sockets[0]?.write(chunk('{"data":{"new":1}}\n'));
    await client.until(/"old"/);
    v2.sockets[0]?.write(chunk('  '));
    expect((await client.until(/\r\n2\r\n {2}\r\n/)).text).toContain('2\r\n  \r\n');
    client.socket.destroy();
  });
});

describe('a resource that is rewritten', () => {
  const read = { id: 'read', method: 'GET', template: '/clients/{id}', assumed: false };
  const rename: ResponseRule = { rule: 'rename', path: ['new'], to: 'old', status: ['2xx'] };
  const change = { id: 'c', summary: 's', on: ['read'], request: [], policies: {}, assumed: false };
  const ruleBook = { operations: [read], changes: [{ ...change, response: [rename] }] };
  const described =
    'ETag: "a"\r\nContent-Length: 9\r\nRepr-Digest: x=:eA==:\r\nContent-Encoding: identity\r\nX-Other: 1\r\n';

  // RFC 9110 §8.6, §9.3.2 and §15.4.5: fields of the GET that they stand for.
  test.each([
    ['GET', '304 Not Modified'],
    ['HEAD', '304 Not Modified'],
    ['HEAD', '200 OK'],
  ])('has the fields of its GET: %s with %s', async (method, status) => {
    const { v2, send } = await served(
      (socket, request) => {
        if (request.includes('whole')) socket.write(ok('{"new":1}', 'ETag: "a"\r\n'));
        else socket.write(`HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${described}\r\n`);
      },
      { ruleBook },
    );
    const whole = await send('GET /api/v1/clients/whole HTTP/1.1\r\nHost: g\r\n\r\n');
    const tag = /\r\nETag: (W\/"a;rules=[\w-]{8}")\r\n[^]*\{"old":1\}$/.exec(whole.text)?.[1] ?? '';
    const { text } = await send(
      `${method} /api/v1/clients/1 HTTP/1.1\r\nHost: g\r\nConnection: close\r\nIf-None-Match: ${tag}\r\n\r\n`,
    );
    expect(v2.received.at(-1)).toMatch(/\r\nif-none-match: W\/"a"\r\n/i);
    expect(text).toContain(`\r\nETag: ${tag}\r\n`);
    expect(text).toContain('\r\nX-Other: 1\r\n');
    expect(text).not.toMatch(/content-length|repr-digest|content-encoding/i);
  });

  // The client may have the shape of other rules, or of V1 itself, under V2's own tag.
  test.each([
    ['If-None-Match: "a"', undefined],
    ['If-None-Match: W/"a;rules=00000000"', undefined],
    ['If-None-Match: "a", "b;rules=00000000"\r\nIf-Modified-Since: Sun, 01 Nov 2026 00:00:00 GMT', undefined],
    ['If-Modified-Since: Sun, 01 Nov 2026 00:00:00 GMT', undefined],
    ['If-None-Match: *', '*'],
    ['If-None-Match: W/"z", TAG', 'W/"a"'],
    ['If-Match: TAG', '"a"'],
    ['If-Match: W/"a;rules=00000000"', '"a"'],
  ])('is requested again after a change of rules: %s', async (field, asked) => {
    const { v2, send } = await served(ok('{"new":1}', 'ETag: "a"\r\n'), { ruleBook });
    const get = async (more: string): Promise<string> =>
      (await send(`GET /api/v1/clients/1 HTTP/1.1\r\nHost: g\r\n${more}\r\n`)).text;
    const tag = /\r\nETag: (.*)\r\n/.exec(await get(''))?.[1] ?? '';
    await get(`${field.replace('TAG', tag)}\r\n`);
    const second = (v2.received.join('').split('GET ')[2] ?? '').toLowerCase();
    expect(/\r\nif-(?:none-)?match: (.*)\r\n/.exec(second)?.[1]?.toUpperCase()).toBe(asked?.toUpperCase());
    expect(second).not.toContain('if-modified-since');
  });

  test('keeps its own tag, even if the rules found nothing in it', async () => {
    const { send } = await served(ok('{"x":1}', 'ETag: "a"\r\n'), { ruleBook });
    const { text } = await send('GET /api/v1/clients/1 HTTP/1.1\r\nHost: g\r\n\r\n');
    expect(text).toMatch(/\r\nETag: "a;rules=[\w-]{8}"\r\n/);
  });

  test('is sent whole to a client that asks for a part, which would be a part of V2’s body', async () => {
    const { v2, send } = await served(
      (socket, request) => {
        if (/\r\nrange: /i.test(request)) socket.write('HTTP/1.1 416 Range\r\nContent-Length: 0\r\n\r\n');
        else socket.write(ok('{"new":1}'));
      },
      { ruleBook },
    );
    const get = async (path: string) =>
      await send(
        `GET ${path} HTTP/1.1\r\nHost: g\r\nConnection: close\r\nRange: bytes=0-3\r\nIf-Range: "a"\r\n\r\n`,
      );
    expect((await get('/api/v1/clients/1')).text).toMatch(/^HTTP\/1\.1 200 [^]*\{"old":1\}$/);
    expect(v2.received[0]).not.toMatch(/if-range/i);
    expect((await get('/api/v1/images/1')).text).toMatch(/^HTTP\/1\.1 416 /);
    expect((await get('/api/v2/clients/1')).text).toMatch(/^HTTP\/1\.1 416 /);
  });

  test('has the fields that V1 sends, where V1 responds', async () => {
    const v1 = await rawServer((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${described}\r\n`),
    );
    const gateway = await gatewayFor(v1.origin, {
      ruleBook: { ...ruleBook, rollout: rolloutOf({ default: { mode: 'observe' } }) },
      parts: { v1Origin: { origin: v1.origin, path: '' } },
    });
    const { text } = await exchange(
      gateway.port,
      'HEAD /api/v1/clients/1 HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n',
    );
    expect(text).toContain(described);
  });
});

describe('deprecated attributes and errors', () => {
  const order =
    '{"data":{"transition_type":"x","legacy":1,"property":{"suburb":"Enmore","postcode":"2042"}}}';
  const request = `POST /api/v1/orders/post_productions HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${order.length}\r\n\r\n${order}`;

  test('those that this very request used are listed in the body when a rule says so', async () => {
    const rule: ResponseRule = { rule: 'deprecations', path: ['data', 'deprecations'], status: ['2xx'] };
    const { send } = await served(ok('{"data":{}}'), withRules([rule]));
    const response = JSON.parse((await send(request)).body);
    expect(response.data.deprecations).toEqual([
      { attribute: 'legacy', message: 'legacy is deprecated: it is gone in V2.' },
    ]);
    expect((await send(post())).body).toBe('{"data":{}}');
  });

  test('errors of V2 name the attributes that the client sent, and the log has their places alone', async () => {
    const body =
      '{"errors":[{"status":"422","detail":"highlight_type is not one of ours","source":{"pointer":"/highlight_type"}}]}';
    const { gateway, send } = await served(
      ok(body).replace('200 OK', '422 Unprocessable'),
      withRules([{ rule: 'errors', details: {}, status: ['4xx'] }]),
    );
    const response = await send(request);
    // Sentences may contain values.
    const entry = await gateway.entry();
    expect(entry.responseEdits?.map(({ path }) => path)).toEqual([
      '/errors/0/source/pointer',
      '/errors/0/detail',
    ]);
    expect(entryLine(entry)).not.toContain('is not one of ours');
    // The change with the rule is `on: every`, and knows the rules of every change that concerns the operation.
    expect(statusOf(response)).toBe(422);
    expect(bodyOf(response.text)).toBe(
      body
        .replace('highlight_type is', 'transition_type is')
        .replace('/highlight_type', '/data/transition_type'),
    );
  });
});

describe('a list that there is no room for, or that is longer than limits.response', () => {
  const one = '{"id":1,"highlight_type":"x","property":{"address":{"suburb":"Y"}}}';
  const inV1 = one
    .replace('highlight_type', 'transition_type')
    .replace('{"address":{"suburb":"Y"}}', '{"suburb":"Y"}');
  const listOf = (element: string, count = 50_000): string =>
    `{"data":[${Array.from({ length: count }, () => element).join(',')}],"meta":{"more":true}}`;
  const get = 'GET /api/v1/orders/post_productions HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n';
  const chunkedText = (text: string): string =>
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;

  const inGzip = (text: string): Buffer => encoded(gzipSync(text), 'gzip');

  test.each([
    ['no room, with a length', { 'buffer-bytes': '100000' }, ok],
    ['no room, without one', { 'buffer-bytes': '100000' }, chunkedText],
    ['no room for the work', { 'buffer-bytes': '12000000' }, ok],
    ['longer than limits.response, with a length', {}, ok],
    ['longer, without one', {}, chunkedText],
    ['no room, in a content coding', { 'buffer-bytes': '100000' }, inGzip],
    ['longer, in a content coding', {}, inGzip],
  ])('is rewritten by pieces: %s', async (name, flags, response) => {
    const { ruleBook } = await compiledShippedRuleBook();
    const limits = { ...ruleBook.limits, ...(name.startsWith('longer') && { response: 1_000_000 }) };
    const { gateway, send } = await served(response(listOf(one)), {
      ruleBook: { ...ruleBook, limits },
      flags,
    });
    const { text } = await send(get);
    const body = bodyOf(text);
    const isChunked = /\r\ntransfer-encoding: chunked\r\n/i.test(text);
    expect((isChunked ? unchunked(body) : body) === listOf(inV1)).toBe(true);
    const entry = await gateway.entry();
    expect(entry).toMatchObject({ verdict: 'rewritten', responseEditsOmitted: 100_000 - 65 });
    expect(entry.responseNote).toBeUndefined();
    await until(() => gateway.gateway.budget.held === 0);
    expect(gateway.surprises).toEqual([]);
  });

  const linked = (element: string, version: string): string =>
    `{"self":"/api/${version}/a","data":[${Array.from({ length: 5000 }, () => element.replace('{', `{"next":"http://HOST/api/${version}/b",`)).join(',')}],"links":{"more":"/api/${version}/c"}}`;
  const noRule = 'GET /api/v1/images HTTP/1.1\r\nHost: gw\r\nConnection: close\r\n\r\n';

  test('has its links turned when no rule concerns it, and it arrives in many parts', async () => {
    const { ruleBook } = await compiledShippedRuleBook();
    const limits = { ...ruleBook.limits, response: 50_000 };
    const bodyIn = (version: string): string =>
      JSON.stringify(
        Array.from({ length: 20_000 }, (_, at) => ({ at, self: `/api/${version}/images/${at}` })),
      );
    const { send } = await served(
      (socket) => {
        const text = ok(bodyIn('v2'));
        const write = (at: number): void => {
          socket.write(text.slice(at, at + 7001));
          if (at + 7001 < text.length) setImmediate(write, at + 7001);
        };
        write(0);
      },
      { ruleBook: { ...ruleBook, followsBodyLinks: true, limits } },
    );
    const { text } = await send(noRule);
    expect(unchunked(bodyOf(text)) === bodyIn('v1')).toBe(true);
  });

  test.each([
    ['the rules concern its elements', get, chunkedText, 10_000],
    ['the rules concern its elements, in a content coding', get, inGzip, 10_000],
    ['no rule concerns it', noRule, chunkedText, 0],
    ['no rule concerns it, in a content coding', noRule, inGzip, 0],
  ])('also has its links turned back: %s', async (_what, request, response, edits) => {
    const { ruleBook } = await compiledShippedRuleBook();
    const limits = { ...ruleBook.limits, response: 300_000 };
    const sent = linked(one, 'v2').replaceAll('HOST', 'gw');
    const { gateway, send } = await served(response(sent), {
      ruleBook: { ...ruleBook, followsBodyLinks: true, limits },
    });
    const { text } = await send(request);
    const body = bodyOf(text);
    const isChunked = /\r\ntransfer-encoding: chunked\r\n/i.test(text);
    const expected = linked(edits > 0 ? inV1 : one, 'v1').replaceAll('HOST', 'gw');
    expect((isChunked ? unchunked(body) : body) === expected).toBe(true);
    const entry = await gateway.entry();
    // The elements' second rule and the links have their first edits behind the first 64.
    const listed = edits > 0 ? 66 : 64;
    expect(entry).toMatchObject({ verdict: 'rewritten', responseEditsOmitted: edits + 5002 - listed });
    expect(entry.responseNote).toBeUndefined();
    await until(() => gateway.gateway.budget.held === 0);
    expect(gateway.surprises).toEqual([]);
  });

  test.each([
    ['before anything was sent', `{"x":"","y":1${' '.repeat(40_000)}`, 200, 'response-undecodable'],
    ['behind the first pieces', listOf(one), 200, undefined],
  ])(
    'in a content coding that breaks off %s never looks whole',
    async (_when, text, status, responseNote) => {
      const cut = Buffer.concat([gzipSync(text).subarray(0, -8), Buffer.alloc(8)]);
      const { ruleBook } = await compiledShippedRuleBook();
      const limits = { ...ruleBook.limits, response: 30_000 };
      const { gateway } = await served(encoded(cut, 'gzip'), { ruleBook: { ...ruleBook, limits } });
      const client = rawClient(gateway.port);
      client.write(get);
      const { text: received } = await client.end();
      expect(statusOf({ text: received })).toBe(status);
      if (responseNote === undefined) expect(received).not.toMatch(/\r\n0\r\n\r\n$/);
      else expect(received.endsWith(cut.toString('latin1'))).toBe(true);
      const entry = await gateway.entry();
      expect([entry.responseNote, entry.failure]).toEqual([
        responseNote,
        responseNote === undefined ? 'upstream-broken' : undefined,
      ]);
      expect(gateway.surprises).toEqual([]);
    },
  );
});

describe('a response that breaks while it is collected', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
  const sized = `${head}Content-Length: 100\r\n\r\n{"data":{"new"`;
  const inChunks = `${head}Transfer-Encoding: chunked\r\n\r\n`;
  test.each([
    ['closed, by its length', sized, 'destroy'],
    ['closed in a chunk', `${inChunks}ff\r\n{"data":{"new"`, 'end'],
    ['closed between chunks', `${inChunks}e\r\n{"data":{"new"\r\n`, 'destroy'],
    ['reset', sized, 'resetAndDestroy'],
    ['a malformed chunk', `${inChunks}e\r\n{"data":{"new"x`, 'end'],
  ] as const)('gives a 502 without any of it, and is not requested again: %s', async (_name, text, end) => {
    const { v2, gateway, send } = await served(
      (socket) => {
        socket.write(text);
        setTimeout(() => socket[end](), 20);
      },
      withRules([ALIAS]),
    );
    const { text: received } = await send(post());
    expect(received).toMatch(/^HTTP\/1\.1 502 /);
    expect(received).not.toContain('"new"');
    expect(v2.received).toHaveLength(1);
    const entry = await gateway.entry();
    expect(entry).toMatchObject({ status: 502 });
    expect(entry.failure).toMatch(/^upstream-(?:closed|invalid)$/);
  });

  test('a client that goes away while it is decoded gets nothing, and no memory is held', async () => {
    const { gateway } = await served(
      encoded(gzipSync(Buffer.alloc(5_000_000, 32)), 'gzip'),
      withRules([ALIAS]),
    );
    const client = rawClient(gateway.port);
    client.write(post());
    setTimeout(() => client.socket.resetAndDestroy(), 15);
    await gateway.entry();
    expect(gateway.gateway.inFlight).toBe(0);
    // Until it is decoded, it takes memory.
    await until(() => gateway.gateway.budget.held === 0);
    expect(gateway.surprises).toEqual([]);
  });
});

test.each([
  ['on its way', (body: string) => ok(body)],
  ['on its way, after a head that is longer', (body: string) => ok(`${' '.repeat(70_000)}${body}`)],
  ['once it is decoded', (body: string) => encoded(gzipSync(body), 'gzip')],
])(
  'a read for whose response there is no room gets 503, and none of V2’s names: %s',
  async (_what, response) => {
    const collected = `{"data":[{"highlight_type":"${'x'.repeat(300_000)}"}]}`;
    const { gateway, send } = await served(response(collected), {
      rules: await compiledShippedRuleBook(),
    });
    const others = holdAllBut(gateway, 20_000);
    const get = 'GET /api/v1/orders/post_productions HTTP/1.1\r\nHost: gw\r\n\r\n';
    const { text } = await send(get);
    expect(text).toMatch(/^HTTP\/1\.1 503 /);
    expect(text).toMatch(/\r\nRetry-After: 1\r\n/);
    expect(text).not.toContain('highlight_type');
    expect(await gateway.entry()).toMatchObject({ status: 503, failure: 'buffer-full', bytesIn: 0 });
    await until(() => gateway.gateway.budget.held === others);
    expect(gateway.surprises).toEqual([]);
  },
);

test('links of a 103 also lead back to the gateway', async () => {
  const links = 'Link: </api/v2/things?page=2>; rel=next\r\n';
  const { send } = await served((socket) =>
    socket.write(`HTTP/1.1 103 Early Hints\r\n${links}\r\n${ok('{}', links)}`),
  );
  const { text } = await send(post());
  expect(text.match(/Link: <[^>]*>/g)).toEqual(
    Array.from({ length: 2 }, () => 'Link: </api/v1/things?page=2>'),
  );
});

test('a cookie that V2 sets for its own path comes back with V1 requests', async () => {
  const { send } = await served((socket) =>
    socket.write(ok('{}', 'Set-Cookie: s=1; Path=/api/v2; HttpOnly\r\nSet-Cookie: t=2; Path=/\r\n')),
  );
  const { text } = await send(post());
  expect(text).toContain('Set-Cookie: s=1; Path=/api/v1; HttpOnly\r\nSet-Cookie: t=2; Path=/\r\n');
  const ofV2 = await send(post().replace('/api/v1/', '/api/v2/'));
  expect(ofV2.text).toContain('Set-Cookie: s=1; Path=/api/v2; HttpOnly\r\n');
});

test.each([
  ['the client', { forwarded: 'x-forwarded' }, 'http://gw.test:81'],
  ['its own host', { 'upstream-host': 'V2.Example:80' }, 'http://v2.example'],
])('addresses that an origin builds from the forwarded %s lead back as well', async (_, flags, origin) => {
  const { send } = await served(ok('{}', `Location: ${origin}/api/v2/things/1\r\n`), { flags });
  expect((await send(post())).text).toContain('Location: http://gw.test:81/api/v1/things/1\r\n');
});

test("addresses in a service's own fields lead back as well", async () => {
  const { send } = await served(ok('{}', 'X-Poll-Url: /api/v2/jobs/1\r\nX-Other: /api/v2/jobs/1\r\n'), {
    ruleBook: { linkFields: ['x-poll-url'] },
  });
  const { text } = await send(post());
  expect(text).toContain('X-Poll-Url: /api/v1/jobs/1\r\nX-Other: /api/v2/jobs/1\r\n');
});

test('addresses lead back to the gateway as the client addressed it', async () => {
  let origin = '';
  const v2 = await rawServer((socket) =>
    socket.write(
      ok('{}', `Location: ${origin}/api/v2/things/1\r\nLink: <${origin}/api/v2/things>; rel=up\r\n`),
    ),
  );
  origin = v2.origin;
  const gateway = await gatewayFor(v2.origin);
  const response = await exchange(gateway.port, post());
  expect(response.text).toContain('Location: http://gw.test:81/api/v1/things/1\r\n');
  expect(response.text).toContain('Link: <http://gw.test:81/api/v1/things>; rel=up\r\n');
  const forged = await exchange(
    gateway.port,
    post('{"data":{}}', 'X-Forwarded-Host: evil.test\r\nX-Forwarded-Proto: https\r\n'),
  );
  expect(forged.text).toContain('Location: http://gw.test:81/api/v1/things/1\r\n');
  const trusting = await gatewayFor(v2.origin, { flags: { 'trusted-proxies': '127.0.0.1' } });
  const forwarded = await exchange(
    trusting.port,
    post('{"data":{}}', 'X-Forwarded-Host: api.test\r\nX-Forwarded-Proto: https\r\n'),
  );
  expect(forwarded.text).toContain('Location: https://api.test/api/v1/things/1\r\n');
});

// Attack: a service that was taken over writes its response byte by byte, and each byte is kept as an object of 400.
test('a response in chunks of one byte is rewritten, and takes little more memory than it is long', async () => {
  const body = `{"data":{"new":"${'x'.repeat(2_000_000)}"}}`;
  const chunks = Buffer.from(
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body.replaceAll(/./g, '1\r\n$&\r\n')}0\r\n\r\n`,
  );
  const { send } = await served(chunks, withRules([ALIAS]));
  const held = (): number => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  const before = held();
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, held() - before);
  }, 5);
  const response = await send(post());
  clearInterval(watch);
  expect(bodyOf(response.text)).toMatch(/^\{"data":\{"new":"x+","old":"x+"\}\}$/);
  expect(bodyOf(response.text)).toHaveLength(
    body.length * 2 - '{"data":{"new":'.length + ',"old":'.length - 2,
  );
  expect(most).toBeLessThan(170_000_000);
});
