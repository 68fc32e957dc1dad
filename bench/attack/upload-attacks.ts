import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { exchange, type RawClient, rawClient, statusOf } from '../../test/support/raw-client.ts';
import type { Attack, Target } from './attack.ts';
import { deepJson, longString, oneByteChunks, smallObjects } from './bodies.ts';
import { chunkedHead, faultIf, fromSeats, lasting, pause, pour, rawRequest } from './playing.ts';

/** Attacks by a body: its structure, or the way in which it is sent. */
export const uploadAttacks: readonly Attack[] = [
  {
    id: 'A-gzip',
    sentence: 'A few 31 KB of gzip hold 10 MiB of JSON nested 250 deep, whose attribute names are listed.',
    async play({ port, signal }, scale) {
      const packed = gzipSync(deepJson(9.9 * 2 ** 20 * scale, 245)).toString('latin1');
      const request = rawRequest('POST /api/v1/clients', packed, 'Content-Encoding: gzip\r\n');
      const statuses: number[] = [];
      while (statuses.length < 3 && !signal.aborted)
        statuses.push(statusOf(await exchange(port, request, 15_000)));
      return faultIf(statuses.includes(0), `the bodies got no response: ${statuses.join(', ')}`);
    },
  },
  {
    id: 'A-objects',
    sentence: 'Bodies of 1 MB of small objects, plain, ten a second.',
    limits: { median: 100 },
    async play({ port, signal }, scale) {
      const request = rawRequest('POST /api/v1/clients', smallObjects(1e6));
      const goesOn = lasting(8000 * scale, signal);
      while (goesOn()) await Promise.all([exchange(port, request), delay(100)]);
      return [];
    },
  },
  {
    id: 'B',
    sentence: 'One connection sends a V1 body of 9 MiB in chunks of one byte.',
    async play({ port, signal }, scale) {
      const client = rawClient(port);
      client.write(chunkedHead('POST /api/v1/clients'));
      await pour(client.socket, oneByteChunks(9 * 2 ** 20 * scale), signal);
      await client.until(/\r\n\r\n/, 5000);
      client.socket.destroy();
      return [];
    },
  },
  {
    id: 'E-trickle',
    sentence: '130 uploads to V2 of a byte every 5 s, more than there are connections to V2.',
    async play(target, scale) {
      const goesOn = lasting(12_000 * scale, target.signal);
      await trickle(target, 130, '/api/v2/clients', Math.min(5000, 12_000 * scale), goesOn);
      return [];
    },
  },
  {
    id: '3-trickle',
    sentence: '200 V1 bodies trickle a byte a second, and are to be ended by the minimum rate.',
    async play(target) {
      const isOver = (client: RawClient): boolean => / 408 /.test(client.text()) || client.socket.closed;
      const lasts = lasting(12_000, target.signal);
      let kept = 200;
      await trickle(target, kept, '/api/v1/clients', 1000, (clients) => {
        kept = clients.filter((client) => !isOver(client)).length;
        return kept > 0 && lasts();
      });
      return faultIf(kept > 0, `${kept} of 200 bodies of a byte a second were not ended`);
    },
  },
  {
    id: 'E-large',
    sentence: 'Forty V1 bodies of 9.5 MiB at once, with the budget of a container of 512 MiB.',
    flags: { 'buffer-bytes': '128MiB' },
    limits: { median: 500, worst: 2000, loop: 600 },
    async play({ port }, scale) {
      const request = rawRequest('POST /api/v1/clients', longString(9.5 * 2 ** 20 * scale));
      const all = await Promise.all(Array.from({ length: 40 }, () => exchange(port, request, 14_000)));
      const without = all.filter((one) => statusOf(one) === 0).length;
      return faultIf(without > 0, `${without} of 40 large bodies got no response`);
    },
  },
  {
    id: 'O-chunks',
    sentence: 'One connection sends chunks of one byte through /api/v2 as fast as it can.',
    async play({ port, signal }, scale) {
      const client = rawClient(port);
      client.write(chunkedHead('POST /api/v2/clients'));
      const end = AbortSignal.any([signal, AbortSignal.timeout(8000 * scale)]);
      await pour(client.socket, oneByteChunks(64 * 2 ** 20), end);
      client.socket.destroy();
      return [];
    },
  },
  {
    id: '4-container',
    sentence: '25 legal V1 bodies of 9 MB that end at once, with the budget of a container of 512 MiB.',
    flags: { 'buffer-bytes': '128MiB' },
    play: endAtOnce,
  },
  {
    id: '4-sidecar',
    sentence:
      '25 legal V1 bodies of 9 MB that end at once, with the buffer of the sidecar that ships, in its 384 MiB.',
    flags: { 'buffer-bytes': '64MiB' },
    limits: { memory: 384 },
    play: endAtOnce,
  },
];

/** Sends bodies byte by byte, one at each interval. */
async function trickle(
  { port, signal }: Target,
  count: number,
  path: string,
  interval: number,
  goesOn: (clients: readonly RawClient[]) => boolean,
): Promise<void> {
  const clients = Array.from({ length: count }, () => rawClient(port));
  for (const client of clients) client.write(`${chunkedHead(`POST ${path}`)}1\r\n{\r\n`);
  while (goesOn(clients)) {
    await pause(interval, signal);
    for (const client of clients) if (!client.socket.destroyed) client.write('1\r\n \r\n');
  }
  for (const client of clients) client.socket.destroy();
}

/** Sends all bodies but their last byte, then all last bytes together, so that the gateway holds everything it takes. */
async function endAtOnce({ port, signal }: Target): Promise<readonly []> {
  const request = Buffer.from(rawRequest('POST /api/v1/clients', longString(9e6)));
  const clients = Array.from({ length: 25 }, () => rawClient(port));
  await Promise.all(clients.map(({ socket }) => pour(socket, [request.subarray(0, -1)], signal)));
  await pause(1500, signal);
  await fromSeats(clients.length, async (seat) => {
    const client = clients[seat];
    if (client?.socket.destroyed === false) client.write(request.subarray(-1));
    await client?.until(/\r\n\r\n/, 8000);
    client?.socket.destroy();
  });
  return [];
}
