import { createHash } from 'node:crypto';
import { createServer, request } from 'node:http';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { gatewayFor } from '../../support/gateway.ts';
import { exchange, rawClient, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { listening } from '../../support/listening.ts';
import { bodyLimit, testRuleBook } from '../../support/rule-book.ts';
import type { Change, Policies, RuleBook } from '../../../src/rules/rule-book.ts';
import { served } from '../../support/served.ts';

const WRAPPED = '{"data":{"name":"A"}}';

function post(path: string, headers: string, body: string | Buffer): string {
  const bytes = Buffer.from(body);
  return `POST ${path} HTTP/1.1\r\nHost: g\r\n${headers}Content-Length: ${bytes.length}\r\n\r\n${bytes.toString('latin1')}`;
}

const JSON_FIELDS = 'Content-Type: application/json\r\n';

describe('a coded body', () => {
  test.each([
    ['x-gzip', gzipSync(WRAPPED)],
    ['br', brotliCompressSync(WRAPPED)],
  ])('is decoded, rewritten, and sent as it is: %s', async (coding, body) => {
    const { v2, send } = await served();
    const fields = `${JSON_FIELDS}Content-Encoding: ${coding}\r\nContent-MD5: x\r\n`;
    expect(statusOf(await send(post('/api/v1/clients', fields, body)))).toBe(200);
    expect(v2.received[0]).toMatch(/\r\ncontent-length: 12\r\n\r\n\{"name":"A"\}$/);
    expect(v2.received[0]).not.toMatch(/content-encoding|content-md5/i);
  });

  test('a body in which no rule applies keeps its coding and its bytes', async () => {
    const { v2, send } = await served();
    const body = gzipSync('[1]');
    await send(post('/api/v1/clients', `${JSON_FIELDS}Content-Encoding: gzip\r\n`, body));
    expect(v2.received[0]).toMatch(/Content-Encoding: gzip\r\n/);
    expect(v2.received[0]?.endsWith(body.toString('latin1'))).toBe(true);
  });

  test.each([
    ['gzip', gzipSync(Buffer.alloc(3_000_000)), 413, 'a bomb: a thousandfold inside'],
    ['br', brotliCompressSync(Buffer.alloc(3_000_000)), 413, 'a bomb of brotli'],
    ['gzip', Buffer.from('not gzip'), 400, 'a coding that it does not have'],
    ['gzip', gzipSync(WRAPPED).subarray(0, 20), 400, 'cut short'],
    ['zstd', Buffer.from(WRAPPED), 415, 'a coding that nobody here reads'],
    ['gzip, gzip', gzipSync(gzipSync(WRAPPED)), 415, 'a chain of codings (CVE-2026-22036)'],
  ])('%s is refused: %s', async (coding, body, status) => {
    const { v2, send } = await served(ok(), { ruleBook: bodyLimit(1_000_000) });
    const response = await send(
      post('/api/v1/clients', `${JSON_FIELDS}Content-Encoding: ${coding}\r\n`, body),
    );
    expect(statusOf(response)).toBe(status);
    if (status === 415) expect(response.text).toContain('Accept-Encoding: gzip, deflate, br\r\n');
    expect(v2.received).toEqual([]);
  });
});

describe('a body that is not rewritten crosses byte for byte', () => {
  test.each([
    ['POST', '', WRAPPED, 'no media type'],
    ['POST', 'Content-Type: text/plain\r\n', WRAPPED, 'another media type'],
    ['PUT', JSON_FIELDS, WRAPPED, 'PUT'],
    ['DELETE', JSON_FIELDS, WRAPPED, 'DELETE'],
    ['GET', JSON_FIELDS, WRAPPED, 'GET with a body'],
    ['POST', JSON_FIELDS, '', 'an empty body'],
    ['POST', JSON_FIELDS, ' [{"data":1}] ', 'an array'],
  ])('%s %j %j: %s', async (method, headers, body) => {
    const { v2, send } = await served();
    const response = await send(post('/api/v1/clients', headers, body).replace(/^POST/, method));
    expect(statusOf(response)).toBe(200);
    expect(v2.received[0]?.split('\r\n\r\n').slice(1).join('\r\n\r\n')).toBe(body);
  });

  test('JSON in another charset is refused, and crosses where the policy says so', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const refusing = await gatewayFor(v2.origin);
    const latin = post('/api/v1/clients', 'Content-Type: application/json; charset=latin1\r\n', WRAPPED);
    expect(statusOf(await exchange(refusing.port, latin))).toBe(415);
    const { policies } = testRuleBook();
    const forwarding = await gatewayFor(v2.origin, {
      ruleBook: { policies: { ...policies, unsupported: 'forward' } },
    });
    expect(statusOf(await exchange(forwarding.port, latin))).toBe(200);
    expect(v2.received[0]).toContain(WRAPPED);
  });
});

describe('fields that the client derived from the body', () => {
  test('a signed request is noted, and refused where the policy says so', async () => {
    const { v2, gateway, send } = await served();
    const fields = `${JSON_FIELDS}X-Hmac-Signature: sha256=00\r\n`;
    const request = post('/api/v1/clients', fields, WRAPPED);
    expect(statusOf(await send(request))).toBe(200);
    expect(await gateway.entry()).toMatchObject({ verdict: 'rewritten', note: 'signed' });
    const { policies } = testRuleBook();
    const refusing = await gatewayFor(v2.origin, {
      ruleBook: { policies: { ...policies, signed: 'refuse' } },
    });
    const refused = await exchange(refusing.port, request);
    expect(refused.text).toMatch(/^HTTP\/1\.1 400 [^]*x-gateway-error: signed\r\n/);
    expect(v2.received).toHaveLength(1);
  });

  test('digests of a rewritten body are removed, and rules apply to a JSON Patch', async () => {
    const { v2, send } = await served();
    const digests =
      'Content-MD5: eA==\r\nContent-Digest: sha-256=:eA==:\r\nDigest: sha-256=eA==\r\nX-Content-SHA256: 00\r\n';
    await send(post('/api/v1/clients', `${JSON_FIELDS}${digests}`, WRAPPED));
    expect(v2.received[0]).not.toMatch(/digest|md5|sha256/i);
    const patching = await gatewayFor(v2.origin);
    const patch = '[{"op":"replace","path":"/data/name","value":1}]';
    const fields = 'Content-Type: application/json-patch+json; charset=utf-8\r\nContent-MD5: eA==\r\n';
    await exchange(patching.port, post('/api/v1/clients', fields, patch).replace('POST', 'PATCH'));
    expect(v2.received[1]).toMatch(/\r\n\r\n\[\{"op":"replace","path":"\/name","value":1\}\]$/);
    expect(v2.received[1]).not.toContain('Content-MD5');
    expect(await patching.entry()).toMatchObject({
      verdict: 'rewritten',
      edits: [{ rule: 'unwrap', from: '/data', path: '' }],
      patch: [{ op: 'replace', path: '/0/path' }],
    });
  });
});

/** A request is read where it is borrowed; behind an empty line (RFC 9112 §2.2), from a copy. */
describe.each([
  ['at once', ''],
  ['behind an empty line', '\r\n'],
])('a body in chunks, %s', (_, front) => {
  test.each([
    ['a charset', 'Content-Type: application/json; charset=utf-16\r\n'],
    ['a coding', `${JSON_FIELDS}Content-Encoding: zstd\r\n`],
    ['a media type', 'Content-Type: text/plain\r\n'],
  ])('that is empty crosses, even if its head names a coding: %s', async (_what, fields) => {
    const { gateway, send } = await served();
    const head = `${front}POST /api/v1/clients HTTP/1.1\r\nHost: g\r\n${fields}Transfer-Encoding: chunked\r\n\r\n`;
    const empty = await send(`${head}0\r\n\r\n`);
    expect(statusOf(empty)).toBe(200);
    const entry = await gateway.entry();
    expect(entry).toMatchObject({ verdict: 'unchanged' });
    expect(entry).not.toHaveProperty('note');
    const isForwarded = fields.includes('text/plain');
    const client = rawClient(gateway.port);
    client.write(`${head}1\r\n{\r\n${isForwarded ? '0\r\n\r\n' : ''}`);
    expect(statusOf(await client.until(/\}$/))).toBe(isForwarded ? 200 : 415);
    client.socket.destroy();
  });
});

test('a body beyond the limit is refused as soon as it is known: by its length, and by its bytes', async () => {
  const { v2, gateway } = await served(ok(), { ruleBook: bodyLimit(1000) });
  const byLength = rawClient(gateway.port);
  byLength.write(`POST /api/v1/x HTTP/1.1\r\nHost: g\r\n${JSON_FIELDS}Content-Length: 1001\r\n\r\n`);
  expect(statusOf(await byLength.until(/errors/))).toBe(413);
  const byBytes = rawClient(gateway.port);
  byBytes.write(
    `POST /api/v1/x HTTP/1.1\r\nHost: g\r\n${JSON_FIELDS}Transfer-Encoding: chunked\r\n\r\n400\r\n${'x'.repeat(1024)}\r\n`,
  );
  expect(statusOf(await byBytes.until(/errors/))).toBe(413);
  expect(v2.received).toEqual([]);
});

test('a refused body says where it is wrong, in the envelope of the service', async () => {
  const { gateway, send } = await served();
  const malformed = await send(post('/api/v1/clients', JSON_FIELDS, '{"data":\n{,}}'));
  expect(statusOf(malformed)).toBe(400);
  const [error] = (
    JSON.parse(malformed.text.split('\r\n\r\n')[1] ?? '') as { errors: Record<string, unknown>[] }
  ).errors;
  expect(error).toMatchObject({
    status: '400',
    code: 'malformed-json',
    meta: { offset: 10, line: 2, column: 2 },
  });
  const scalar = await send(post('/api/v1/clients', JSON_FIELDS, '{"data":1}'));
  expect(scalar.text).toMatch(
    /^HTTP\/1\.1 422 [^]*x-gateway-error: wrapper-not-object[^]*"source":\{"pointer":"\/data"\}/,
  );
  expect(await gateway.entry(2)).toMatchObject({
    verdict: 'refused',
    failure: 'wrapper-not-object',
    pointer: '/data',
    status: 422,
  });
});

/** A V2 that reads and writes any amount: it responds with the SHA-256 of the body, or with so many bytes. */
async function bulkServer(): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const wanted = Number(new URL(incoming.url ?? '', 'http://x').searchParams.get('bytes') ?? 0);
    const hash = createHash('sha256');
    incoming.on('data', (chunk: Buffer) => hash.update(chunk));
    incoming.on('end', () => {
      if (wanted === 0) {
        outgoing.end(hash.digest('hex'));
        return;
      }
      outgoing.writeHead(200, { 'content-length': wanted });
      let left = wanted;
      const write = (): void => {
        while (left > 0) {
          const size = Math.min(left, block.length);
          left -= size;
          if (!outgoing.write(block.subarray(0, size))) break;
        }
        if (left === 0) outgoing.end();
        else outgoing.once('drain', write);
      };
      write();
    });
    incoming.on('error', () => {});
  });
  return `http://127.0.0.1:${await listening(server)}`;
}

const block = Buffer.alloc(65_536, 'abcdefghijklmnop');

test('bodies far beyond any buffer stream through both ways, and memory stays flat', async () => {
  const gateway = await gatewayFor(await bulkServer());
  const blocks = 6400;
  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 20);
  const expected = createHash('sha256');
  const up = request({
    port: gateway.port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/api/v2/up',
    headers: { 'transfer-encoding': 'chunked' },
  });
  for (let sent = 0; sent < blocks; sent += 1) {
    expected.update(block);
    if (!up.write(block)) await once(up, 'drain');
  }
  up.end();
  const [response] = (await once(up, 'response')) as [AsyncIterable<Buffer>];
  let text = '';
  for await (const chunk of response) text += chunk.toString();
  expect(text).toBe(expected.digest('hex'));
  const down = request({
    port: gateway.port,
    host: '127.0.0.1',
    path: `/api/v2/down?bytes=${blocks * block.length}`,
  });
  down.end();
  const [long] = (await once(down, 'response')) as [AsyncIterable<Buffer>];
  const got = createHash('sha256');
  for await (const chunk of long) got.update(chunk);
  clearInterval(watch);
  expect(got.digest('hex')).toBe(text);
  // 400 MiB went through each way, in this very process beside client and origin, all of whose garbage counts.
  expect(peak - before).toBeLessThan(200 * 1024 * 1024);
});

test('a client that stops reading holds back V2, not memory', async () => {
  let written = 0;
  const { gateway } = await served((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n');
    const more = (): void => {
      while (written < 400 * 1024 * 1024) {
        written += block.length;
        if (!socket.write(block)) {
          socket.once('drain', more);
          return;
        }
      }
    };
    more();
  });
  const client = rawClient(gateway.port);
  client.write('GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  await client.until(/200 OK/);
  client.socket.pause();
  let last = -1;
  while (written !== last) {
    last = written;
    await pause(200);
  }
  expect(written).toBeLessThan(32 * 1024 * 1024);
  client.socket.destroy();
});

test('an origin that stops reading holds back the client, not memory', async () => {
  const v2 = await rawServer(() => {});
  v2.server.on('connection', (socket) => {
    setTimeout(() => socket.pause(), 10);
  });
  const gateway = await gatewayFor(v2.origin);
  const client = rawClient(gateway.port);
  client.write('POST /api/v2/x HTTP/1.1\r\nHost: g\r\nContent-Length: 1000000000\r\n\r\n');
  let written = 0;
  while (written < 200 * 1024 * 1024 && client.socket.write(block)) written += block.length;
  for (let quiet = 0; quiet < 10 && written < 200 * 1024 * 1024;) {
    if (client.socket.writableNeedDrain) {
      quiet += 1;
      await pause(50);
      continue;
    }
    quiet = 0;
    client.socket.write(block);
    written += block.length;
  }
  expect(written).toBeLessThan(64 * 1024 * 1024);
  client.socket.destroy();
});

test('an event stream is flushed as it arrives, its head before its first event', async () => {
  const { gateway } = await served((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
    setTimeout(() => socket.write('9\r\ndata: 1\n\n\r\n'), 150);
    setTimeout(() => socket.write('9\r\ndata: 2\n\n\r\n0\r\n\r\n'), 300);
  });
  const client = rawClient(gateway.port);
  client.write('GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  expect((await client.until(/\r\n\r\n/)).text).not.toContain('data');
  expect((await client.until(/data: 1/)).text).not.toContain('data: 2');
  expect((await client.until(/0\r\n\r\n$/)).text).toContain('data: 2');
});

test('a client that goes away while it sends aborts the request to V2, which never looks whole', async () => {
  const { v2, gateway } = await served();
  for (const [index, framing] of ['Content-Length: 300000', 'Transfer-Encoding: chunked'].entries()) {
    const client = rawClient(gateway.port);
    client.write(`POST /api/v2/x HTTP/1.1\r\nHost: g\r\n${framing}\r\n\r\n`);
    client.write(`40000\r\n${'x'.repeat(0x40000)}\r\n10\r\n0123456789abcdef\r\n`);
    await until(() => v2.received[index]?.includes('0123456789abcdef') === true);
    client.socket.destroy();
    await until(() => v2.sockets[index]?.destroyed === true);
    expect(v2.received[index]).not.toMatch(/\r\n0\r\n\r\n$/);
  }
  expect(await gateway.entry(2)).toMatchObject({ status: 0, verdict: 'passed' });
  expect((await gateway.entry(2)).failure).toBeUndefined();
});

test('a client that goes away in the middle of its body gives one entry of the log, which is not a refusal', async () => {
  const { gateway } = await served();
  for (const path of ['/api/v1/clients', '/api/v2/clients']) {
    for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
      const before = gateway.entries().length;
      const client = rawClient(gateway.port);
      client.write(`POST ${path} HTTP/1.1\r\nHost: g\r\n${JSON_FIELDS}Content-Length: 100\r\n\r\n{"da`);
      await until(() => gateway.gateway.inFlight === 1);
      client.socket[leave]();
      await gateway.entry(before + 1);
      await client.end(200);
      client.socket.destroy();
      await until(() => gateway.gateway.inFlight === 0);
      const entries = gateway.entries().slice(before);
      expect(entries).toMatchObject([{ status: 0, path, bytesIn: 4 }]);
    }
  }
});

test('a client that goes away while it waits aborts the request to V2', async () => {
  const { v2, gateway } = await served(() => {});
  const client = rawClient(gateway.port);
  client.write(post('/api/v1/clients', JSON_FIELDS, WRAPPED));
  await until(() => v2.received.length > 0);
  client.socket.destroy();
  await until(() => v2.sockets[0]?.destroyed === true);
  expect(await gateway.entry()).toMatchObject({ status: 0, verdict: 'rewritten' });
  expect(gateway.gateway.inFlight).toBe(0);
});

test('malformed chunks in the middle of a body: 400 for the client, and no whole request for V2', async () => {
  const { v2, gateway } = await served();
  const client = rawClient(gateway.port);
  client.write('POST /api/v2/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n');
  client.write(`40000\r\n${'x'.repeat(0x40000)}\r\n3\r\nabc\r\n`);
  await until(() => v2.received[0]?.includes('abc') === true);
  client.write('zz\r\n');
  const response = await client.end();
  expect(statusOf(response)).toBe(400);
  expect(response.closed).toBe(true);
  await until(() => v2.sockets[0]?.destroyed === true);
  expect(v2.received[0]).not.toMatch(/\r\n0\r\n/);
});

test.each([
  ['application/x-www-form-urlencoded', '%5Fmethod=PUT&data[a]=1', 'a=1'],
  [
    'multipart/form-data; boundary=B',
    '--B\r\nContent-Disposition: form-data; name="_method"\r\n\r\nput\r\n--B--',
    '--B--',
  ],
])('with override: drop, V2 gets no name of another method in %s', async (type, body, sent) => {
  const { v2, gateway, send } = await served(ok(), { ruleBook: { override: 'drop' } });
  await send(post('/api/v1/clients', `Content-Type: ${type}\r\n`, body));
  expect(v2.received.join('').endsWith(`\r\n\r\n${sent}`)).toBe(true);
  expect((await gateway.entry()).edits[0]).toEqual({
    change: 'method-override',
    rule: 'strip',
    from: '/_method',
  });
});

describe('with override: follow, a form that names another method', () => {
  const FORM = 'application/x-www-form-urlencoded';
  const MULTIPART = 'multipart/form-data; boundary=B';
  const part = (value: string): string =>
    `--B\r\nContent-Disposition: form-data; name="_method"\r\n\r\n${value}\r\n--B--`;
  const paid: Change = {
    id: 'paid',
    summary: 'old is gone.',
    on: ['bill'],
    request: [{ rule: 'strip', members: ['old'], in: [] }],
    response: [],
    policies: {},
    assumed: false,
  };
  /** A book with rules for this one operation. */
  const bookFor = (match: string): Partial<RuleBook> => {
    const [method = '', template = ''] = match.split(' ');
    return { operations: [{ id: 'bill', method, template, assumed: false }], changes: [paid] };
  };
  const UNREAD: Policies = { ...testRuleBook().policies, forms: 'forward' };

  test.each<[why: string, match: string, body: string, outcome: string, policies?: Policies]>([
    ['of an operation that only the other method has', 'PATCH /bills/{id}', 'old=1&_method=patch', 'refused'],
    ['behind text that is not UTF-8', 'PATCH /bills/{id}', 'a=%E9&%5Fmethod=%20PATCH', 'refused'],
    ['encoded', 'PATCH /bills/{id}', 'a=%20&%5Fmethod=%20Patch', 'refused'],
    ['in a part', 'PATCH /bills/{id}', part('PATCH'), 'refused'],
    ['without an operation', 'PATCH /bills/{id}', 'old=1&_method=delete', 'passed'],
    ['deeper', 'PATCH /bills/{id}', 'a[_method]=patch', 'passed'],
    ['of no meaning', 'PATCH /bills/{id}', '_method=post&_method=TRACE', 'passed'],
    ['at another path', 'PATCH /bills/{id}/lines', '_method=PATCH', 'passed'],
    ['behind an operation with rules', 'POST /bills/{id}', 'a=1&_method=DELETE', 'refused'],
    ['to which rules on every POST and PATCH do not apply', '', 'a=1&_method=PUT', 'refused'],
    ['to which they apply as well', '', 'a=1&_method=PATCH', 'passed'],
    ['in a form that is not read', 'PATCH /bills/{id}', '_method=patch', 'passed', UNREAD],
  ])('%s', async (_why, match, body, outcome, policies) => {
    const book = { ...(match !== '' && bookFor(match)), ...(policies && { policies }) };
    const { v2, gateway, send } = await served(ok(), { ruleBook: book });
    const type = body.startsWith('--') ? MULTIPART : FORM;
    const { text } = await send(post('/api/v1/bills/7', `Content-Type: ${type}\r\n`, body));
    expect(text.slice(9, 12)).toBe(outcome === 'refused' ? '400' : '200');
    if (outcome !== 'refused') expect(v2.received.join('').endsWith(`\r\n\r\n${body}`)).toBe(true);
    else {
      expect(text).toMatch(/The field _method says [A-Z]+, whose rules differ from those/);
      expect(v2.received).toEqual([]);
      expect(await gateway.entry()).toMatchObject({
        verdict: 'refused',
        failure: 'bad-request',
        pointer: '/_method',
      });
    }
  });

  test('that the header names as well goes by the rules of it', async () => {
    const { v2, send } = await served(ok(), { ruleBook: bookFor('PATCH /bills/{id}') });
    const fields = `Content-Type: ${FORM}\r\nX-HTTP-Method-Override: PATCH\r\n`;
    await send(post('/api/v1/bills/7', fields, 'old=1&_method=patch'));
    expect(v2.received.join('').endsWith('\r\n\r\n_method=patch')).toBe(true);
  });
});

describe('multipart/form-data is rewritten as it comes', () => {
  const TYPE = 'Content-Type: multipart/form-data; boundary=B\r\n';
  const TWO = TYPE.replace('\r', '; boundary=C\r');
  const field = (name: string, value: string): string =>
    `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const fileHead = (name: string): string =>
    `--B\r\nContent-Disposition: form-data; name="${name}"; filename="a.bin"\r\nContent-Type: image/png\r\n\r\n`;

  test('a small one is whole, with its length, and is logged by the paths of its fields', async () => {
    const { v2, gateway, send } = await served();
    const file = `${fileHead('data[plan]')}\x00\xff\r\n--b\r\n`;
    const body = Buffer.from(`${field('data[name]', 'A')}${file}--B--\r\n`, 'latin1');
    const sent = `${field('name', 'A')}${file.replace('data[plan]', 'plan')}--B--\r\n`;
    expect(statusOf(await send(post('/api/v1/clients', TYPE, body)))).toBe(200);
    expect(v2.received.join('').endsWith(`\r\ncontent-length: ${sent.length}\r\n\r\n${sent}`)).toBe(true);
    expect(await gateway.entry()).toMatchObject({
      verdict: 'rewritten',
      edits: [
        { rule: 'unwrap', from: '/data', path: '' },
        { rule: 'unwrap', from: '/data', path: '' },
      ],
    });
  });

  test('a file of any size crosses, and reaches V2 before the client has sent all of it', async () => {
    const { v2, gateway } = await served((socket, request) => {
      if (request.endsWith('0\r\n\r\n')) socket.write(ok());
    });
    const size = 3 << 20;
    const start = `${field('data[name]', 'A')}${fileHead('plan')}`;
    const client = rawClient(gateway.port);
    const length = start.length + size + '\r\n--B--\r\n'.length;
    client.write(
      `POST /api/v1/clients HTTP/1.1\r\nHost: g\r\n${TYPE}Content-Length: ${length}\r\n\r\n${start}`,
    );
    client.write('x'.repeat(size));
    await until(() => v2.received.join('').includes('xxx'));
    expect(v2.received.join('')).toContain(`${field('name', 'A')}${fileHead('plan')}`);
    client.write('\r\n--B--\r\n');
    expect(statusOf(await client.until(/\r\n\r\n/))).toBe(200);
    const received = v2.received.join('');
    expect(received.split('x').length).toBeGreaterThan(size);
    client.socket.destroy();
    expect(await gateway.entry()).toMatchObject({ verdict: 'rewritten', bytesIn: length });
  });

  test.each([
    ['without its last boundary', TYPE, field('data[name]', 'A'), 400, 'malformed-form'],
    ['with two boundaries in its type', TWO, `${field('a', '')}--B--`, 400, 'malformed-form'],
    ['with a head that does not end', TYPE, `--B\r\nX: ${'x'.repeat(20_000)}`, 400, 'malformed-form'],
    ['with fields beyond the limit', TYPE, `${field('a', 'x'.repeat(70_000))}--B--`, 413, 'body-too-large'],
    ['with a wrapper that is a value', TYPE, `${field('data', 'A')}--B--`, 422, 'wrapper-not-object'],
  ])('one %s is refused, and V2 gets nothing', async (_, type, body, status, code) => {
    const { v2, gateway, send } = await served(ok(), { ruleBook: bodyLimit(1 << 16) });
    const response = await send(post('/api/v1/clients', type, body));
    expect([statusOf(response), response.text.includes(`x-gateway-error: ${code}`)]).toEqual([status, true]);
    expect(v2.received).toEqual([]);
    expect(await gateway.entry()).toMatchObject({ verdict: 'refused', failure: code });
  });

  test('one that breaks off behind a file that V2 has is never whole to V2', async () => {
    const { v2, gateway, send } = await served(() => {});
    const body = `${fileHead('plan')}${'x'.repeat(2_000_000)}\r\n--B\n`;
    const response = await send(post('/api/v1/clients', TYPE, body));
    expect(statusOf(response)).toBe(400);
    expect(v2.received.join('')).toContain('xxx');
    expect(v2.received.join('')).not.toContain('\r\n0\r\n\r\n');
    expect(await gateway.entry()).toMatchObject({ failure: 'malformed-form', status: 400 });
  });

  test('one whose type has no boundary crosses byte for byte with the policy malformed: forward, and a note', async () => {
    const { policies } = testRuleBook();
    const { v2, gateway, send } = await served(ok(), {
      ruleBook: { policies: { ...policies, malformed: 'forward' } },
    });
    const body = `${field('data[name]', 'A')}--B--\r\n`;
    await send(post('/api/v1/clients', TWO, body));
    expect(v2.received.join('').endsWith(`\r\n\r\n${body}`)).toBe(true);
    expect(await gateway.entry()).toMatchObject({ verdict: 'unchanged', note: 'malformed-form' });
  });

  test('with the policy forms: forward it crosses byte for byte', async () => {
    const { policies } = testRuleBook();
    const { v2, gateway, send } = await served(ok(), {
      ruleBook: { policies: { ...policies, forms: 'forward' } },
    });
    const body = field('data[name]', 'A');
    await send(post('/api/v1/clients', TYPE, body));
    expect(v2.received.join('').endsWith(`\r\n\r\n${body}`)).toBe(true);
    expect(await gateway.entry()).toMatchObject({ verdict: 'unchanged', note: 'media-type' });
  });
});
