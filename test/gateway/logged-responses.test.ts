import { expect, test } from 'vitest';
import type { CapturedExchange, Observer } from '../../src/rewrite-log/observer.ts';
import { gatewayFor, type TestGateway } from '../support/gateway.ts';
import { exchange, rawClient, statusOf } from '../support/raw-client.ts';
import { ok, type RawResponse, rawServer, type RawServer } from '../support/raw-server.ts';
import { secureGateway, sendRequest, session } from '../support/secure-gateway.ts';
import { freePort } from '../support/free-port.ts';
import { served } from '../support/served.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';

/** A request is read where it is borrowed; behind an empty line (RFC 9112 §2.2), from a copy. */
const WAYS = [
  ['at once', ''],
  ['behind an empty line', '\r\n'],
] as const;

/** A gateway that captures all of each exchange. */
async function captured(
  response: RawResponse,
): Promise<{ gateway: TestGateway; v2: RawServer; exchanges: CapturedExchange[] }> {
  const exchanges: CapturedExchange[] = [];
  const observer: Observer = {
    bodyLimit: 100_000,
    begin: () => 'bodies',
    observe: (_, all) => {
      if (all !== undefined) exchanges.push(all);
    },
  };
  const v2 = await rawServer(response);
  return { gateway: await gatewayFor(v2.origin, { parts: { observer } }), v2, exchanges };
}

/** The lines of a response's head, without the first and those that the gateway adds. */
function fieldsOf(text: string): string[] {
  const [head = ''] = text.split('\r\n\r\n', 1);
  return head
    .split('\r\n')
    .slice(1)
    .filter((line) => !/^(?:connection|keep-alive|transfer-encoding|date|via):/i.test(line));
}

const linesOf = (headers: readonly string[] = []): string[] =>
  headers.flatMap((name, at) =>
    at % 2 === 0 && !/^(?:date|via)$/i.test(name) ? [`${name}: ${headers[at + 1] ?? ''}`] : [],
  );

test.each(
  WAYS.flatMap(([reader, front]) =>
    (
      [
        ['a length on a 204', 'HTTP/1.1 204 No\r\nX-A: 1\r\nContent-Length: 2\r\n\r\n', ['X-A: 1']],
        [
          'a Trailer field beside a length',
          'HTTP/1.1 200 OK\r\nTrailer: X-A\r\nContent-Length: 2\r\n\r\nok',
          ['Content-Length: 2'],
        ],
        [
          'two Trailer fields of a body in chunks',
          'HTTP/1.1 200 OK\r\nTrailer: X-A\r\nX-C: 1\r\nTrailer: X-B\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-A: 1\r\nX-B: 2\r\n\r\n',
          ['Trailer: X-A', 'X-C: 1', 'Trailer: X-B'],
        ],
        [
          'bytes beyond ASCII in Content-Disposition',
          'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Disposition: a; f="\xe2\x82\xac\xe9\xc3\xa9"\r\n\r\nok',
          ['Content-Length: 2', 'Content-Disposition: a; f="\xe2\x82\xac\xe9\xc3\xa9"'],
        ],
      ] as const
    ).map(([title, response, fields]) => ({ reader, front, title, response, fields })),
  ),
)(
  '$title: the client gets the fields that the inspector shows, by $reader',
  async ({ front, response, fields }) => {
    const { gateway, exchanges } = await captured((socket) => socket.write(Buffer.from(response, 'latin1')));
    const client = rawClient(gateway.port);
    client.write(front + GET);
    const { text } = await client.until(/\r\n\r\n(?:ok|2\r\nok[^]*\r\n\r\n|$)/);
    const [entry] = [await gateway.entry()];
    client.socket.destroy();
    expect(fieldsOf(text).toSorted()).toEqual([...fields].toSorted());
    expect(linesOf(exchanges[0]?.clientResponse?.headers).toSorted()).toEqual([...fields].toSorted());
    expect(entry.status).toBe(statusOf({ text }));
  },
);

test('a response over HTTP/2 that may have no content has none in the log', async () => {
  const v2 = await rawServer((socket) => socket.write('HTTP/1.1 205 R\r\nContent-Length: 5\r\n\r\nhello'));
  const gateway = await secureGateway(v2.origin);
  const response = await sendRequest(session(gateway), { ':path': '/api/v2/x' });
  expect(response.body).toBe('');
  expect(await gateway.entry()).toMatchObject({ status: 205, responseBytes: 0 });
});

test("the gateway's own response to HEAD has no body in the inspector", async () => {
  const { gateway, exchanges } = await captured((socket) => socket.write(ok()));
  const { text } = await exchange(gateway.port, 'HEAD /other HTTP/1.1\r\nHost: g\r\n\r\n');
  expect(text).toMatch(/404[^]*\r\n\r\n$/);
  expect(await gateway.entry()).toMatchObject({ status: 404, responseBytes: 0 });
  expect(exchanges[0]?.clientResponse).not.toHaveProperty('body');
});

test('a request that V2 never got is not logged as sent', async () => {
  const gateway = await gatewayFor(`http://127.0.0.1:${await freePort()}`, {
    flags: { 'upstream-connect-timeout': '100' },
  });
  const body = 'x'.repeat(300_000);
  const post = (bytes: string): string =>
    `POST /api/v2/x HTTP/1.1\r\nHost: g\r\nContent-Length: ${bytes.length}\r\n\r\n${bytes}`;
  await exchange(gateway.port, post('abc'));
  await exchange(gateway.port, post(body));
  // The first waits for V2; for the second it is known to be away.
  for (const [index, failure] of ['upstream-unreachable', 'circuit-open'].entries())
    expect(await gateway.entry(index + 1)).toMatchObject({ failure, sent: false, bytesOut: 0 });
});

test('a client that closes its side as the response arrives gets what the log says', async () => {
  const { gateway } = await served(ok('{}'));
  for (let count = 0; count < 150; count += 1) {
    const client = rawClient(gateway.port);
    client.write('POST /api/v2/x HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\nhi');
    const until = performance.now() + (count % 30) * 0.05;
    await new Promise((resolve) => void setImmediate(resolve));
    while (performance.now() < until) await new Promise((resolve) => void setImmediate(resolve));
    client.socket.end();
    const { text } = await client.end();
    const { status, responseBytes } = await gateway.entry(count + 1);
    expect([status, responseBytes]).toEqual(text === '' ? [0, 0] : [200, 2]);
  }
});

test('an error while an exchange is logged is reported, and no other request notices', async () => {
  const error = new Error('the log is broken');
  let count = 0;
  const { gateway } = await served(ok('{}'), {
    parts: {
      record: () => {
        count += 1;
        if (count === 1) throw error;
      },
    },
  });
  const client = rawClient(gateway.port);
  client.write(GET + GET);
  const { text, closed } = await client.until(/(?:200 OK[^]*){2}\}$/);
  client.socket.destroy();
  expect([text.match(/200 OK/g)?.length, closed]).toEqual([2, false]);
  expect(gateway.surprises).toEqual([error]);
});

test('an error before an exchange has begun resets its connection and is reported', async () => {
  const { gateway, send } = await served(ok('{}'));
  const error = new Error('a bug');
  Object.assign(gateway.gateway.parts, {
    now: () => {
      throw error;
    },
  });
  for (const [, front] of WAYS) {
    const { text, closed } = await send(front + GET);
    expect([text, closed]).toEqual(['', true]);
  }
  expect(gateway.surprises).toEqual([error, error]);
});
