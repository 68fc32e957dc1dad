import { connect, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { gatewayFor } from '../../support/gateway.ts';
import { rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { ca, mine } from '../../support/secure-gateway.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const UPLOAD =
  'POST /api/v2/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n';

// A write that waits for the acknowledgement of the one before it (Nagle) waits 40 ms for a client that delays acknowledgements.
test.each([
  ['read by the gateway', '', false, GET],
  ['behind an empty line', '\r\n', false, GET],
  ['over TLS', '', true, GET],
  ['with chunks', '', false, UPLOAD],
  ['with chunks, over TLS', '', true, UPLOAD],
])('a response in parts waits for no acknowledgement: %s', async (_who, front, secure, request) => {
  const v2 = await rawServer((socket) => {
    socket.setNoDelay(true);
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (const [wait, part] of ['1\r\na\r\n', '1\r\nb\r\n', '0\r\n\r\n'].entries())
      setTimeout(() => socket.write(part), 2 * wait + 2);
  });
  const parts = secure ? { clientTls: mine } : {};
  const gateway = await gatewayFor(v2.origin, { parts });
  const client: Socket = secure
    ? tlsConnect({ port: gateway.port, ca: ca.cert, servername: 'localhost' })
    : connect(gateway.port, '127.0.0.1');
  onTestFinished(() => void client.destroy());
  let text = '';
  client.on('data', (chunk) => (text += String(chunk)));
  client.setNoDelay(true);
  const times: number[] = [];
  for (let count = 1; count <= 25; count += 1) {
    const before = performance.now();
    client.write(front + request);
    await until(() => text.split('\r\n0\r\n\r\n').length === count + 1);
    times.push(performance.now() - before);
  }
  times.sort((left, right) => left - right);
  // Of 25 hardly one comes sooner that waits; on a busy machine many come later that do not.
  expect(times[3]).toBeLessThan(35);
});
