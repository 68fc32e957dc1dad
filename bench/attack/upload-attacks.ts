import { exchange, type RawClient, rawClient, statusOf } from '../../test/support/raw-client.ts';
import { type Attack, check, type Target } from './attack.ts';
import { longString, oneByteChunks } from './bodies.ts';
import { chunkedHead, pause, pour, rawRequest } from './raw-request.ts';

/** Attacks by the way a body is sent. */
export const uploadAttacks: readonly Attack[] = [
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
    play: async (target, scale) => trickle(target, 130, '/api/v2/clients', 5000, 12_000 * scale),
  },
  {
    id: '3-trickle',
    sentence: '200 V1 bodies trickle a byte a second, and are to be ended by the minimum rate.',
    async play(target) {
      const clients = Array.from({ length: 200 }, () => rawClient(target.port));
      for (const client of clients) client.write(chunkedHead('POST /api/v1/clients'));
      const isOver = (client: RawClient): boolean => / 408 /.test(client.text()) || client.socket.closed;
      const end = performance.now() + 12_000;
      while (performance.now() < end && !clients.every((client) => isOver(client))) {
        for (const client of clients) if (!client.socket.destroyed) client.write('1\r\n \r\n');
        await pause(1000, target.signal);
      }
      const kept = clients.filter((client) => !isOver(client)).length;
      for (const client of clients) client.socket.destroy();
      return [check(`${kept} of 200 bodies of a byte a second were not ended`, kept === 0)];
    },
  },
  {
    id: 'E-large',
    sentence: 'Forty V1 bodies of 9.5 MiB at once, with the budget of a container of 512 MiB.',
    flags: { 'buffer-bytes': '128MiB' },
    limits: { median: 500, worst: 2000, loop: 600 },
    play: async ({ port }, scale) => {
      const request = rawRequest('POST /api/v1/clients', longString(9.5 * 2 ** 20 * scale));
      const all = await Promise.all(Array.from({ length: 40 }, () => exchange(port, request, 14_000)));
      const without = all.filter((one) => statusOf(one) === 0).length;
      return [check(`${without} of 40 large bodies got no response`, without === 0)];
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
    play: (target) => endAtOnce(target, 25),
  },
  {
    id: '4-sidecar',
    sentence:
      '25 legal V1 bodies of 9 MB that end at once, with the buffer of the sidecar that ships, in its 384 MiB.',
    flags: { 'buffer-bytes': '64MiB' },
    limits: { memory: 384 },
    play: (target) => endAtOnce(target, 25),
  },
];

async function trickle(
  { port, signal }: Target,
  count: number,
  path: string,
  interval: number,
  milliseconds: number,
): Promise<readonly []> {
  const clients = Array.from({ length: count }, () => rawClient(port));
  for (const client of clients) client.write(`${chunkedHead(`POST ${path}`)}1\r\n{\r\n`);
  const end = performance.now() + milliseconds;
  while (performance.now() < end && !signal.aborted) {
    await pause(Math.min(interval, end - performance.now()), signal);
    for (const client of clients) if (!client.socket.destroyed) client.write('1\r\n \r\n');
  }
  for (const client of clients) client.socket.destroy();
  return [];
}

/** Sends all bodies but their last byte, then all last bytes together, so that the gateway holds everything it takes. */
async function endAtOnce({ port, signal }: Target, count: number): Promise<readonly []> {
  const request = Buffer.from(rawRequest('POST /api/v1/clients', longString(9e6)));
  const clients = Array.from({ length: count }, () => rawClient(port));
  await Promise.all(clients.map(({ socket }) => pour(socket, [request.subarray(0, -1)], signal)));
  await pause(1500, signal);
  for (const client of clients) if (!client.socket.destroyed) client.write(request.subarray(-1));
  await Promise.all(clients.map((client) => client.until(/\r\n\r\n/, 8000)));
  for (const client of clients) client.socket.destroy();
  return [];
}
