import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { freeAddresses } from '../../../src/cli/demo/demo.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** An address on which a program listens. */
async function takenAddress(host: string): Promise<string> {
  const server = createServer();
  servers.push(server);
  server.listen(0, host);
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An address without a listener. */
async function freeAddress(): Promise<string> {
  const address = await takenAddress('127.0.0.1');
  const server = servers.pop();
  server?.close();
  await once(server ?? createServer(), 'close');
  return address;
}

describe('a demo beside another gateway', () => {
  test('keeps addresses that are free, and can listen on them at once', async () => {
    const address = await freeAddress();
    expect(await freeAddresses([['listen', address]])).toEqual({ addresses: { listen: address }, note: '' });
    const [host, port] = address.split(':');
    const server = createServer();
    servers.push(server);
    server.listen(Number(port), host);
    await once(server, 'listening');
  });

  test.each(['127.0.0.1', '0.0.0.0', '::'])(
    'takes a free port where a program listens on %s',
    async (host) => {
      const [taken, free] = [await takenAddress(host), await freeAddress()];
      expect(
        await freeAddresses([
          ['listen', taken],
          ['admin-listen', free],
        ]),
      ).toEqual({
        addresses: { listen: '127.0.0.1:0', 'admin-listen': free },
        note: `${taken} is taken, so the demo listens on a free port instead.\n\n`,
      });
    },
  );

  test('takes two free ports if both are in use, and replaces no address that was chosen', async () => {
    const [one, other] = [await takenAddress('127.0.0.1'), await takenAddress('127.0.0.1')];
    expect(
      await freeAddresses([
        ['listen', one],
        ['adminListen', other],
      ]),
    ).toEqual({
      addresses: { listen: '127.0.0.1:0', adminListen: '127.0.0.1:0' },
      note: `${one} and ${other} are taken, so the demo listens on free ports instead.\n\n`,
    });
    expect(await freeAddresses([])).toEqual({ addresses: {}, note: '' });
  });
});
