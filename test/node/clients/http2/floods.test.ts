import { once } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { DATA, rawH2, requestHead, WINDOW_UPDATE } from '../../../support/raw-h2.ts';
import { rawServer } from '../../../support/raw-server.ts';
import { ca, secureGateway, sendRequest, session } from '../../../support/secure-gateway.ts';
import { until } from '../../../support/until.ts';

const GOAWAY = 7;
const ENHANCE_YOUR_CALM = 11;
const ONE = Buffer.from([0, 0, 0, 1]);

/** A frame (RFC 9113 §4.1), many times. */
function repeated(type: number, stream: number, payload: Buffer, count: number): Buffer {
  const frame = Buffer.concat([Buffer.alloc(9), payload]);
  frame.writeUIntBE(payload.length, 0, 3);
  frame[3] = type;
  frame.writeUInt32BE(stream, 5);
  return Buffer.concat(Array.from({ length: count }, () => frame));
}

// Attack: frames that are legal and carry nothing take a whole core, and nobody ever says no.
test.each([
  ['windows of the connection', WINDOW_UPDATE, 0, ONE],
  ['windows of a stream', WINDOW_UPDATE, 1, ONE],
  ['bodies in frames of one byte', DATA, 1, Buffer.from('x')],
  ['unknown frames', 0x42, 0, Buffer.alloc(0)],
  ['priorities', 2, 1, Buffer.from([0, 0, 0, 0, 16])],
  ['pings', 6, 0, Buffer.alloc(8)],
  ['settings', 4, 0, Buffer.alloc(0)],
])(
  'a connection that brings little but %s is closed, and its exchange ends',
  async (_name, type, stream, payload) => {
    const v2 = await rawServer(() => {});
    const gateway = await secureGateway(v2.origin);
    const raw = await rawH2(gateway.port, ca.cert);
    raw.head(1, requestHead('/api/v2/orders', 'POST'), true);
    const block = repeated(type, stream, payload, 4096);
    while (!raw.socket.destroyed) if (!raw.socket.write(block)) await drainedOrClosed(raw.socket);
    const goaway = raw.frames.find((frame) => frame.type === GOAWAY);
    // The system may drop what was sent last when bytes of the client are unread.
    if (goaway !== undefined && type !== DATA) expect(goaway.payload.readUInt32BE(4)).toBe(ENHANCE_YOUR_CALM);
    await until(() => gateway.gateway.inFlight === 0);
    expect(gateway.surprises).toEqual([]);
  },
);

test('ordinary traffic on one connection is never taken for a flood', async () => {
  const v2 = await rawServer((socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
  const gateway = await secureGateway(v2.origin);
  const client = session(gateway);
  for (let k = 0; k < 40; k += 1) {
    const body = Buffer.alloc(300_000, 'x');
    const { headers } = await sendRequest(client, { ':method': 'POST', ':path': '/api/v2/x' }, body);
    expect(headers[':status']).toBe(204);
  }
  await new Promise((resolve) => void client.ping(resolve));
  expect(client.closed || client.destroyed).toBe(false);
});

function drainedOrClosed(socket: TLSSocket): Promise<unknown> {
  const over = new AbortController();
  const { signal } = over;
  return Promise.race([once(socket, 'drain', { signal }), once(socket, 'close', { signal })])
    .catch(() => {})
    .finally(() => over.abort());
}
