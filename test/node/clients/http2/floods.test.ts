import { once } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import {
  DATA,
  HEADERS,
  headerBlock,
  type RawH2,
  rawH2,
  requestHead,
  RST_STREAM,
  WINDOW_UPDATE,
  GOAWAY,
} from '../../../support/raw-h2.ts';
import { ca, sendRequest, session, securelyServed, servedOverH2 } from '../../../support/secure-gateway.ts';
import { until } from '../../../support/until.ts';

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

// Attack: frames that are legal and carry nothing take a whole core, and nothing limits them.
test.each([
  ['windows of the connection', WINDOW_UPDATE, 0, ONE],
  ['windows of a stream', WINDOW_UPDATE, 1, ONE],
  ['bodies in frames of one byte', DATA, 1, Buffer.from('x')],
  ['bodies in empty frames (CVE-2019-9518)', DATA, 1, Buffer.alloc(0)],
  ['unknown frames', 0x42, 0, Buffer.alloc(0)],
  ['ORIGIN frames (RFC 8336), which Node kept (CVE-2026-48619)', 0x0c, 0, Buffer.from('\0\x0bhttps://a.b')],
  ['priorities', 2, 1, Buffer.from([0, 0, 0, 0, 16])],
  ['pings', 6, 0, Buffer.alloc(8)],
  ['settings', 4, 0, Buffer.alloc(0)],
])(
  'a connection that brings little but %s is closed, and its exchange ends',
  async (_name, type, stream, payload) => {
    const { gateway, raw } = await servedOverH2(() => {});
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

// Attack: requests cost a client some bytes, and the gateway an exchange each, since the number of streams that are open bounds neither.
test.each<[name: string, spoil: (raw: RawH2, stream: number) => void]>([
  [
    'resets (rapid reset, CVE-2023-44487)',
    ({ frame }, stream) => frame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, 8])),
  ],
  [
    'has the gateway reset by windows of nothing (MadeYouReset, CVE-2025-8671)',
    ({ frame }, stream) => frame(WINDOW_UPDATE, 0, stream, Buffer.alloc(4)),
  ],
  [
    'has the gateway reset by windows that overflow (CVE-2025-8671)',
    ({ frame }, stream) => frame(WINDOW_UPDATE, 0, stream, Buffer.from([0x7f, 0xff, 0xff, 0xff])),
  ],
  [
    'has the gateway reset by a priority of the wrong length (CVE-2025-8671)',
    ({ frame }, stream) => frame(2, 0, stream, Buffer.alloc(4)),
  ],
])(
  'a connection that opens streams and %s is closed, and V2 gets few of the requests',
  async (_name, spoil) => {
    let requests = 0;
    const { gateway, raw } = await servedOverH2((socket) =>
      socket.on('data', (bytes: Buffer) => {
        requests += bytes.toString('latin1').split('POST /').length - 1;
      }),
    );
    let sent = 0;
    for (let stream = 1; !raw.socket.destroyed; stream += 2) {
      raw.head(stream, requestHead('/api/v2/orders', 'POST'), true);
      spoil(raw, stream);
      sent += 1;
      if (raw.socket.writableNeedDrain) await drainedOrClosed(raw.socket);
      else if (sent % 64 === 0) await new Promise((resolve) => void setImmediate(resolve));
    }
    await until(() => gateway.gateway.inFlight === 0);
    expect(requests).toBeLessThan(2000);
  },
);

// Attack: what a client sends of heads counts for nothing until they end, so memory goes to a head without end, or to many unfinished ones.
test.each<[name: string, open: (raw: RawH2) => void]>([
  [
    'one block without end (CONTINUATION flood, CVE-2024-27316)',
    ({ frame }) => frame(HEADERS, 0, 1, headerBlock(requestHead('/api/v2/orders'))),
  ],
  ['a block of empty parts (CVE-2024-28182)', ({ frame }) => frame(HEADERS, 0, 1)],
])('a connection that sends %s is closed', async (name, open) => {
  const { v2, raw } = await servedOverH2(() => {});
  open(raw);
  const part = name.includes('empty') ? Buffer.alloc(0) : headerBlock([['x-filler', 'x'.repeat(100)]]);
  const block = repeated(9, 1, part, 512);
  while (!raw.socket.destroyed) if (!raw.socket.write(block)) await drainedOrClosed(raw.socket);
  expect(v2.sockets).toHaveLength(0);
});

// Attack: Node did not count the heads that it kept for open streams (CVE-2026-56846): a hundred of them on each of many connections.
test('heads of open streams are as large as one may be, and go with their connection', async () => {
  const { gateway } = await securelyServed(() => {});
  const filler = Array.from({ length: 60 }, (_, at): [string, string] => [`x-filler-${at}`, 'x'.repeat(180)]);
  const attackers = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const raw = await rawH2(gateway.port, ca.cert);
      for (let stream = 1; stream < 2 * 150; stream += 2)
        raw.head(stream, [...requestHead('/api/v2/orders', 'POST'), ...filler], true);
      return raw;
    }),
  );
  // A client may have 128 streams open; the others are refused (RFC 9113 §5.1.2).
  for (const { frames } of attackers)
    await until(() => frames.filter(({ type }) => type === RST_STREAM).length === 150 - 128);
  for (const { socket } of attackers) socket.destroy();
  await until(() => gateway.gateway.inFlight === 0);
  expect(gateway.gateway.budget.held).toBe(0);
});

// Attack: frames that make the gateway reset a stream in the middle of reading what else came for it (CVE-2026-56848).
test('a stream that is reset while its frames are read is gone for the rest of them', async () => {
  const { gateway, raw } = await servedOverH2('HTTP/1.1 204 No Content\r\n\r\n');
  raw.socket.cork();
  for (let stream = 1; stream < 100; stream += 2) {
    raw.head(stream, requestHead('/api/v2/orders', 'POST'), true);
    raw.frame(DATA, 0, stream, Buffer.from('x'));
    raw.frame(WINDOW_UPDATE, 0, stream, Buffer.alloc(4));
    raw.frame(DATA, 0, stream, Buffer.from('y'));
    raw.frame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, 8]));
    raw.frame(WINDOW_UPDATE, 0, stream, ONE);
  }
  raw.head(101, requestHead('/api/v2/orders'));
  raw.socket.uncork();
  await until(() => raw.frames.some(({ type, stream }) => type === HEADERS && stream === 101));
  await until(() => gateway.gateway.inFlight === 0);
  expect(gateway.surprises).toEqual([]);
});

test('ordinary traffic on one connection is never taken for a flood', async () => {
  const { gateway } = await securelyServed('HTTP/1.1 204 No Content\r\n\r\n');
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
