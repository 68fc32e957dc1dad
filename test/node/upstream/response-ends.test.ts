import { connect, createServer } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { certificate } from '../../support/certificates.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { exchange } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { listening } from '../../support/listening.ts';

const leaf = certificate({ name: 'V2', hosts: ['localhost'] });
const UNTIL_CLOSE = 'HTTP/1.1 200 OK\r\n\r\nabc';

/** A V2 behind TLS. */
function secureV2(response: string, isClosed: boolean): Promise<number> {
  return listening(
    createSecureServer({ cert: leaf.cert, key: leaf.key }, (socket) => {
      socket.on('error', () => {});
      socket.once('data', () => (isClosed ? socket.end(response) : socket.write(response)));
      onTestFinished(() => void socket.destroy());
    }),
  );
}

/** An intermediary that closes a connection a while after the last bytes of V2, without a TLS close_notify. */
function cuttingRelay(port: number): Promise<number> {
  return listening(
    createServer((client) => {
      const v2 = connect(port, '127.0.0.1');
      for (const socket of [client, v2]) socket.on('error', () => {});
      client.pipe(v2);
      let cut: NodeJS.Timeout | undefined;
      v2.on('data', (chunk) => {
        client.write(chunk);
        clearTimeout(cut);
        cut = setTimeout(() => client.end(), 300);
      });
      client.on('close', () => v2.destroy());
    }),
  );
}

test.each([
  ['a body that ends with a connection which is closed in order', UNTIL_CLOSE, true],
  ['a body that ends with a connection which is cut', UNTIL_CLOSE, false],
])('%s is whole to the client, and the log tells of it', async (_what, response, isClosed) => {
  const port = await secureV2(response, isClosed);
  const gateway = await gatewayFor(`https://localhost:${isClosed ? port : await cuttingRelay(port)}`, {
    parts: { upstreamTls: { ca: leaf.cert } },
  });
  const { text } = await exchange(gateway.port, 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  expect(text).toMatch(/\r\n3\r\nabc\r\n0\r\n\r\n$/);
  expect(await gateway.entry()).toMatchObject({ status: 200, responseNote: 'response-until-close' });
});

test('of a body with a length, and of one over TCP alone, the log tells nothing', async () => {
  const secure = `https://localhost:${await secureV2(ok('abc'), true)}`;
  const plain = await rawServer((socket) => socket.end(UNTIL_CLOSE));
  for (const origin of [secure, plain.origin]) {
    const gateway = await gatewayFor(origin, { parts: { upstreamTls: { ca: leaf.cert } } });
    const { text } = await exchange(gateway.port, 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
    expect(text).toContain('abc');
    expect(await gateway.entry()).not.toHaveProperty('responseNote');
  }
});
