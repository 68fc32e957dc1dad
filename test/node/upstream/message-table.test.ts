import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { RolloutControl } from '../../../src/rollout/rollout-control.ts';
import { gatewayFor, type TestGateway } from '../../support/gateway.ts';
import {
  type MessageServer,
  messageServer,
  readByNode,
  readThrough,
  textThrough,
} from '../../support/response-plays.ts';
import { NEVER_MS, until } from '../../support/until.ts';

/** A row of the tables in `messages.md`, which also say what RFC 9112 and RFC 9110 have to say about the message. */
interface Row {
  /** As it is written there. */
  readonly message: string;
  /** The outcome for a client, from V1 and from V2. */
  readonly fromV1: string;
  readonly fromV2: string;
  readonly node: string;
}

const PAGE = readFileSync(new URL('messages.md', import.meta.url), 'utf8');
/** Milliseconds for the first byte of V2, and between two parts. */
const V2_TIMEOUT_MS = '300';

async function playedV2(): Promise<readonly [MessageServer, TestGateway]> {
  const v2 = await messageServer();
  onTestFinished(() => v2.close());
  const origin = `http://127.0.0.1:${v2.port}`;
  const rollout = new RolloutControl({ time: Date.now, onNotice: () => {} });
  rollout.command({ mode: { mode: 'observe' } });
  const gateway = await gatewayFor(origin, {
    parts: { v1Origin: { origin, path: '' }, rollout },
    flags: {
      breaker: 'off',
      'upstream-headers-timeout': V2_TIMEOUT_MS,
      'upstream-body-timeout': V2_TIMEOUT_MS,
    },
  });
  return [v2, gateway];
}

describe('responses are read as the table says, by the gateway on both body paths and by Node', () => {
  const sections = PAGE.split('\n## ').slice(1);

  test.each(sections.map((section) => [section.split('\n', 1)[0] ?? '', rowsOf(section)] as const))(
    '%s',
    async (_title, rows) => {
      const [v2, gateway] = await playedV2();
      expect(rows.length).toBeGreaterThan(5);
      for (const { message, fromV1, fromV2, node } of rows) {
        v2.staysOpen = message.endsWith('…');
        v2.message = bytesOf(message.replace(/…$/, ''));
        const ways = ['whole', 'in parts'] as const;
        const readings = { v1: [], v2: [] } as { readonly v1: string[]; readonly v2: string[] };
        for (const service of ['v1', 'v2'] as const)
          for (const way of ways) readings[service].push(await readThrough(gateway.port, way, service));
        // Only where a wait is the outcome is it a matter of time.
        const byNode = await readByNode(v2.port, node === 'waits' ? 600 : NEVER_MS);
        expect({ message, ...readings, byNode }).toEqual({
          message,
          v1: ways.map(() => bytesOf(fromV1)),
          v2: ways.map(() => bytesOf(fromV2)),
          byNode: bytesOf(node),
        });
      }
    },
  );
});

describe.each(['whole', 'in parts'] as const)('a request with its body %s', (path) => {
  // Attack: a V2 that is taken over sends interim responses without an end, until the gateway has no memory left.
  test('gets 502 for a flood of interim responses', async () => {
    const [v2, gateway] = await playedV2();
    v2.message = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(100_000);
    const { text } = await textThrough(gateway.port, path);
    expect(text.replace(/^(?:HTTP\/1\.1 103 [^]*?\r\n\r\n)*/, '')).toMatch(/^HTTP\/1\.1 502 /);
    expect(text.length).toBeLessThan(80_000);
    expect(await gateway.entry()).toMatchObject({ status: 502, cause: 'head too large' });
  });

  test.each([
    ['a head of 1 MB', `X: ${'x'.repeat(1_000_000)}\r\n`, 'head too large'],
    ['1,500 fields', 'X: 1\r\n'.repeat(1500), 'too many header fields'],
  ])('gets 502 for %s', async (_what, fields, cause) => {
    const [v2, gateway] = await playedV2();
    v2.message = `HTTP/1.1 200 OK\r\n${fields}Content-Length: 2\r\n\r\nok`;
    const { text } = await textThrough(gateway.port, path);
    expect(text).toMatch(/^HTTP\/1\.1 502 /);
    expect(await gateway.entry()).toMatchObject({ status: 502, cause });
  });

  // V2 has carried the request out: a head that is large only for a request must not make a failure of it.
  test.each([
    ['a head of 40 KB', `X: ${'x'.repeat(40_000)}\r\n`],
    ['300 fields', 'X: 1\r\n'.repeat(300)],
  ])('gets a response with %s', async (_what, fields) => {
    const [v2, gateway] = await playedV2();
    v2.message = `HTTP/1.1 200 OK\r\n${fields}Content-Length: 2\r\n\r\nok`;
    const { text } = await textThrough(gateway.port, path);
    expect(text).toContain(fields);
    expect(text).toMatch(/ok$/);
    expect(await gateway.entry()).toMatchObject({ status: 200 });
  });

  test('reads the reason as V2 wrote it, and its empty one as none', async () => {
    const [v2, gateway] = await playedV2();
    for (const [reason, read] of [
      [' Gr\xfc\xdfe \xe2\x9c\x93', ' Gr\xfc\xdfe \xe2\x9c\x93'],
      [' ', ' '],
      ['', ' '],
    ]) {
      v2.message = `HTTP/1.1 200${reason}\r\nContent-Length: 2\r\n\r\nok`;
      const { text } = await textThrough(gateway.port, path);
      expect(text.split('\r\n')[0]).toBe(`HTTP/1.1 200${read}`);
    }
  });

  test('reads no length in an interim response', async () => {
    const [v2, gateway] = await playedV2();
    v2.message =
      'HTTP/1.1 103 E\r\nContent-Length: 2\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
    const { text } = await textThrough(gateway.port, path);
    expect(text).toMatch(/^HTTP\/1\.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP\/1\.1 200 /);
  });
});

describe('a sloppy response of V1', () => {
  const messages: readonly (readonly [what: string, message: string])[] = [
    [
      'a length beside chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    ['LF alone', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
    ['equal lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2, 2\r\n\r\nok'],
    [
      'a padded chunk size',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2   \r\nok\r\n0   \r\n\r\n',
    ],
    ['two blanks', 'HTTP/1.1  200  OK\r\nContent-Length: 2\r\n\r\nok'],
    ['a control character', 'HTTP/1.1 200 OK\r\nX: a\x7fb\r\nContent-Length: 2\r\n\r\nok'],
    ['a folded line', 'HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok'],
    ['a status of no class', 'HTTP/1.1 600\r\nContent-Length: 2\r\n\r\nok'],
  ];

  test.each(
    messages.flatMap(([what, message]) =>
      (['observe', 'shadow'] as const).map((mode) => [what, mode, message] as const),
    ),
  )('with %s is delivered in %s', async (_what, mode, message) => {
    const server = await messageServer();
    onTestFinished(() => server.close());
    server.staysOpen = true;
    server.message = message;
    const origin = `http://127.0.0.1:${server.port}`;
    const rollout = new RolloutControl({ time: Date.now, onNotice: () => {} });
    rollout.command({ mode: { mode } });
    const gateway = await gatewayFor(origin, { parts: { v1Origin: { origin, path: '' }, rollout } });
    const socket = connect({ port: gateway.port, host: '127.0.0.1' });
    onTestFinished(() => void socket.destroy());
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    // Twice on one connection, so that the framing for the client is tested as well.
    for (const count of [1, 2]) {
      socket.write('GET /api/v1/x HTTP/1.1\r\nHost: g\r\n\r\n');
      await gateway.entry(count);
    }
    await until(() => text.split('ok').length === 3);
    const status = message.includes('600') ? 600 : 200;
    expect(text).toMatch(
      new RegExp(
        `^(?:HTTP/1\\.1 ${status} [^\\r\\n]*\\r\\n(?:[^\\r\\n]+\\r\\n)*\\r\\n(?:2\\r\\nok\\r\\n0\\r\\n\\r\\n|ok)){2}$`,
      ),
    );
    expect(text.match(/^content-length|^transfer-encoding/gim)).toHaveLength(2);
    expect(text.split('a\x7fb')).toHaveLength(message.includes('\x7f') ? 3 : 1);
    expect(gateway.entries()).toMatchObject([status, status].map((one) => ({ status: one, mode })));
  });
});

/** The rows of a section as whole messages: the section says how to complete a row. */
function rowsOf(section: string): readonly Row[] {
  const template = /^Message: `(.*)`$/m.exec(section)?.[1] ?? '';
  return [...section.matchAll(/^\| `(.+?)` +\| (.+?) +\| (.+?) +\| (.+?) +\| .+ \|$/gm)].map(
    ([, row = '', fromV1 = '', fromV2 = '', node = '']) => ({
      message: template.replace('{row}', () => row),
      fromV1,
      fromV2,
      node,
    }),
  );
}

/** The bytes of a text in the notation of the page, as latin1. */
function bytesOf(text: string): string {
  return text
    .replaceAll('⏎', '\r\n')
    .replaceAll('\\r', '\r')
    .replaceAll('\\n', '\n')
    .replaceAll('\\t', '\t')
    .replaceAll(/\\x([0-9a-f]{2})/g, (_all, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
