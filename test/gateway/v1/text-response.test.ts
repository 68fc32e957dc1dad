import { brotliCompressSync, constants, createGzip, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { ResponseRule } from '../../../src/rules/rule.ts';
import { gatewayFor, type TestGateway } from '../../support/gateway.ts';
import { exchange, rawClient, statusOf } from '../../support/raw-client.ts';
import { type RawResponse, rawServer, type RawServer } from '../../support/raw-server.ts';
import { testRuleBook } from '../../support/rule-book.ts';
import { until } from '../../support/until.ts';

const BACK: ResponseRule = { rule: 'rename', path: ['new'], to: 'old', status: ['2xx'] };
const NDJSON = 'Content-Type: application/x-ndjson\r\n';
const OK = `HTTP/1.1 200 OK\r\n${NDJSON}`;

/** A gateway that renames `old` to `new` in each text, and back. */
async function play(
  response: RawResponse,
  limit = 1 << 20,
): Promise<{ readonly v2: RawServer; readonly gateway: TestGateway }> {
  const v2 = await rawServer(response);
  const changes = testRuleBook().changes.map((change) =>
    change.on === 'every'
      ? {
          ...change,
          request: [...change.request, { rule: 'rename', member: 'old', in: [], to: 'new' } as const],
          response: [BACK],
        }
      : change,
  );
  return {
    v2,
    gateway: await gatewayFor(v2.origin, {
      ruleBook: { changes, limits: { depth: 512, body: limit, response: 1 << 20 } },
    }),
  };
}

const respond =
  (text: string | Buffer): RawResponse =>
  (socket) =>
    socket.write(text);
const post = (body: string, more = '', version = '1.1'): string =>
  `POST /api/v1/things HTTP/${version}\r\nHost: gw.test\r\n${NDJSON}${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const chunked = (body: string): string => `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;
const START = `POST /api/v1/things HTTP/1.1\r\nHost: gw.test\r\n${NDJSON}Transfer-Encoding: chunked\r\n\r\n`;
const EMPTY_OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const bodyOf = (text: string): string => text.slice(text.indexOf('\r\n\r\n') + 4);

describe('responses', () => {
  test('the head goes at once, and each text before V2 sends the next', async () => {
    const { v2, gateway } = await play((socket) =>
      socket.write(`${OK}ETag: "1"\r\nContent-Digest: sha-256=:x=:\r\nTransfer-Encoding: chunked\r\n\r\n`),
    );
    const client = rawClient(gateway.port);
    client.write(post('{}\n'));
    const { text: head } = await client.until(/\r\n\r\n/);
    expect(head).toMatch(/\r\nETag: W\/"1;rules=[\w-]{8}"\r\n/);
    expect(head).not.toMatch(/digest|content-length/i);
    const [socket] = v2.sockets;
    socket?.write(chunked('{"new":1}\n{"new'));
    await client.until(/\{"old":1\}\n/);
    expect(client.text()).not.toContain('{"new');
    socket?.write(chunked('":2}\n'));
    await client.until(/\{"old":2\}\n/);
    socket?.write(`${chunked('{"new":3}')}0\r\n\r\n`);
    await client.until(/\r\n0\r\n\r\n$/);
    expect(client.text()).toContain('{"old":3}');
    client.socket.destroy();
    expect(await gateway.entry()).toMatchObject({
      verdict: 'rewritten',
      responseEdits: [0, 1, 2].map((at) => ({ rule: 'rename', from: `/${at}/new`, path: `/${at}/old` })),
      responsePatch: [0, 1, 2].map((at) => ({ op: 'move', from: `/${at}/new`, path: `/${at}/old` })),
    });
  });

  test('a sequence, with a text that is truncated', async () => {
    const body = '\x1e{"new":1}\n\x1e{"new":2\x1e{"new":3}\n';
    const { gateway } = await play(
      respond(
        `HTTP/1.1 200 OK\r\nContent-Type: application/json-seq\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      ),
    );
    const { text } = await exchange(gateway.port, post('{}\n'));
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\nTransfer-Encoding: chunked\r\n/);
    expect(text).toContain('\x1e{"old":1}\n\x1e{"new":2\x1e{"old":3}\n');
    expect((await gateway.entry()).responseNote).toBe('response-malformed');
  });

  test('HTTP/1.0 clients read to the end of the connection', async () => {
    const { gateway } = await play(respond(`${OK}Content-Length: 10\r\n\r\n{"new":1}\n`));
    const client = rawClient(gateway.port);
    client.write(post('{}\n', '', '1.0'));
    const { text, closed } = await client.end();
    expect([bodyOf(text), closed]).toEqual(['{"old":1}\n', true]);
    expect(text).not.toMatch(/transfer-encoding|content-length/i);
  });

  test.each([
    ['gzip', gzipSync('{"new":1}\n{"new":2}\n')],
    ['br', brotliCompressSync('{"new":1}\n{"new":2}\n')],
  ])('%s is decoded', async (coding, body) => {
    const head = `${OK}Content-Encoding: ${coding}\r\nContent-Length: ${body.length}\r\n\r\n`;
    const { gateway } = await play(respond(Buffer.concat([Buffer.from(head), body])));
    const { text } = await exchange(gateway.port, post('{}\n'));
    expect(text).toContain('{"old":1}\n{"old":2}\n');
    expect(text).not.toMatch(/content-encoding/i);
  });

  test('what gzip has flushed goes on at once', async () => {
    const { v2, gateway } = await play((socket) =>
      socket.write(`${OK}Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n`),
    );
    const client = rawClient(gateway.port);
    client.write(post('{}\n'));
    await client.until(/\r\n\r\n/);
    const gzip = createGzip();
    gzip.on('data', (bytes: Buffer) => {
      v2.sockets[0]?.write(
        Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]),
      );
    });
    gzip.write('{"new":1}\n');
    gzip.flush(constants.Z_SYNC_FLUSH);
    await client.until(/\{"old":1\}\n/);
    gzip.on('end', () => v2.sockets[0]?.write('0\r\n\r\n'));
    gzip.end('{"new":2}\n');
    await client.until(/\{"old":2\}\n[^]*\r\n0\r\n\r\n$/);
    expect(client.text()).toContain('{"old":2}');
    client.socket.destroy();
  });

  test('bytes that no gzip reader can read break off the response', async () => {
    const { gateway } = await play(
      respond(`${OK}Content-Encoding: gzip\r\nContent-Length: 10\r\n\r\n{"new":1}\n`),
    );
    const client = rawClient(gateway.port);
    client.write(post('{}\n'));
    const { text } = await client.end();
    expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
    expect(await gateway.entry()).toMatchObject({ failure: 'upstream-broken', cause: 'undecodable' });
  });

  test('of a response that breaks off, the client gets the part that came, and no end', async () => {
    const { gateway } = await play((socket) => {
      socket.write(`${OK}Content-Length: 90\r\n\r\n{"new":1}\n{"new":`);
      socket.end();
    });
    const client = rawClient(gateway.port);
    client.write(post('{}\n'));
    const { text } = await client.end();
    expect(text).toContain('{"old":1}\n');
    expect(text).toContain('{"new":');
    expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
    expect(await gateway.entry()).toMatchObject({ failure: 'upstream-broken', verdict: 'rewritten' });
  });

  test('V2 waits for a client that does not read', async () => {
    const line = `{"new":"${'x'.repeat(8000)}"}\n`;
    let written = 0;
    const { gateway } = await play((socket) => {
      socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
      const write = (): void => {
        while (written < 4000) {
          written += 1;
          if (!socket.write(chunked(line))) break;
        }
        if (written < 4000) socket.once('drain', write);
        else socket.write('0\r\n\r\n');
      };
      write();
    });
    const client = rawClient(gateway.port);
    client.socket.pause();
    client.write(post('{}\n'));
    let before = -1;
    await until(() => {
      const isSame = before === written && written > 0;
      before = written;
      return isSame;
    });
    expect(written).toBeLessThan(4000);
    client.socket.resume();
    const { text } = await client.until(/\r\n0\r\n\r\n$/);
    expect(text.split('"old"').length - 1).toBe(4000);
    client.socket.destroy();
  });
});

describe('requests', () => {
  test('each text goes on before the client sends the next', async () => {
    const { v2, gateway } = await play(respond(EMPTY_OK));
    const client = rawClient(gateway.port);
    client.write(START);
    client.write(chunked('{"data":{"old":1}}\n{"o'));
    await until(() => v2.received.join('').includes('{"new":1}\n'));
    expect(v2.received.join('')).not.toContain('{"o');
    client.write(chunked('ld":2}\n'));
    await until(() => v2.received.join('').includes('{"new":2}\n'));
    client.write(`${chunked('{"old":3}')}0\r\n\r\n`);
    expect(statusOf(await client.until(/\r\n\r\n/))).toBe(200);
    client.socket.destroy();
    const [received = ''] = v2.received;
    expect(received).toMatch(/\r\nTransfer-Encoding: chunked\r\n/i);
    expect(received).toContain('{"new":3}');
    expect(await gateway.entry()).toMatchObject({
      verdict: 'rewritten',
      bytesOut: '{"new":1}\n'.length * 3 - 1,
      edits: [
        { rule: 'unwrap', from: '/0/data' },
        { rule: 'rename', from: '/0/data/old', path: '/0/new' },
        { note: 'already-flat' },
        { rule: 'rename', from: '/1/old', path: '/1/new' },
        { note: 'already-flat' },
        { rule: 'rename', from: '/2/old', path: '/2/new' },
      ],
    });
  });

  test('a short one goes whole, with its length', async () => {
    const { v2, gateway } = await play(respond(EMPTY_OK));
    await exchange(gateway.port, post('{"old":"1"}\n', 'Expect: 100-continue\r\n'));
    expect(v2.received[0]).toMatch(/\r\nContent-Length: 12\r\n/i);
    expect(v2.received[0]).not.toMatch(/expect/i);
  });

  test('a coding is taken off', async () => {
    const { v2, gateway } = await play(respond(EMPTY_OK));
    const body = gzipSync('{"old":1}\n{"old":2}\n').toString('latin1');
    const head = `POST /api/v1/things HTTP/1.1\r\nHost: gw.test\r\n${NDJSON}Content-Encoding: gzip\r\n`;
    await exchange(
      gateway.port,
      Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n${body}`, 'latin1'),
    );
    expect(v2.received[0]).toContain('\r\n\r\n{"new":1}\n{"new":2}\n');
  });

  test('a fault in the first text is refused, and V2 gets nothing', async () => {
    const { v2, gateway } = await play(respond(EMPTY_OK));
    const { text } = await exchange(gateway.port, `${START}${chunked('{"old"}\n')}`);
    expect(statusOf({ text })).toBe(400);
    expect(text).toContain('Text 1 of the stream: ');
    expect(v2.received).toEqual([]);
    expect(await gateway.entry()).toMatchObject({ verdict: 'refused', failure: 'malformed-json' });
  });

  test.each([
    ['no JSON', 'old\n', 400, 'malformed-json'],
    ['a text that a rule refuses', '{"data":1}\n', 422, 'wrapper-not-object'],
  ])(
    'after a text that V2 already has, %s is reported to the client, and V2 never sees an end',
    async (_, line, status, failure) => {
      const { v2, gateway } = await play(respond(EMPTY_OK));
      const client = rawClient(gateway.port);
      client.write(`${START}${chunked('{"old":1}\n')}`);
      await until(() => v2.received.join('').includes('{"new":1}\n'));
      client.write(`${chunked(line)}0\r\n\r\n`);
      const response = await client.end();
      expect(statusOf(response)).toBe(status);
      await until(() => v2.sockets[0]?.closed === true || v2.sockets[0]?.destroyed === true);
      expect(v2.received[0]).not.toMatch(/0\r\n\r\n$/);
      expect(await gateway.entry()).toMatchObject({ failure, edits: [{}, { path: '/0/new' }] });
    },
  );

  test('a text beyond the limit is refused', async () => {
    const { v2, gateway } = await play(respond(EMPTY_OK), 64);
    expect(statusOf(await exchange(gateway.port, post(`{"old":"${'x'.repeat(99)}"}\n`)))).toBe(413);
    expect(v2.received).toEqual([]);
    expect(statusOf(await exchange(gateway.port, post('{"old":1}\n'.repeat(99))))).toBe(200);
  });

  test('a client that leaves breaks the request', async () => {
    const { v2, gateway } = await play(respond(EMPTY_OK));
    const client = rawClient(gateway.port);
    client.write(`${START}${chunked('{"old":1}\n')}`);
    await until(() => v2.received.join('').includes('{"new":1}\n'));
    client.socket.destroy();
    await until(() => v2.sockets[0]?.destroyed === true);
    expect(v2.received[0]).not.toMatch(/0\r\n\r\n$/);
    expect((await gateway.entry()).status).toBe(0);
    expect(gateway.surprises).toEqual([]);
  });
});
