import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ReferenceFault, startReference } from '../../../src/node/reference.ts';
import { sender, service } from '../../reference/service.ts';

/** Opens a connection of bytes; `read` waits for the end and responses all that came. */
async function raw(origin: string) {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk) => (received += chunk));
  socket.on('error', () => {});
  await once(socket, 'connect');
  const ended = once(socket, 'close');
  return { socket, read: async () => ended.then(() => received), sofar: () => received };
}

const HEAD = 'Host: x\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\n';

test('two services run side by side, each with its own data', async () => {
  const one = await service();
  const two = await service();
  await one.send('POST /clients', { name: 'x' });
  expect((await two.send('GET /clients')).body.meta.total).toBe(0);
});

test('the globals of the process that embeds it stay as they are', async () => {
  const before = [globalThis.Request, globalThis.Response];
  const { send } = await service();
  await send('GET /heartbeat');
  expect([globalThis.Request, globalThis.Response]).toEqual(before);
});

test('a port that is taken is a fault that names the setting, the address and the way out', async () => {
  const { origin } = await service();
  const port = Number(new URL(origin).port);
  const second = startReference({ listen: { host: '127.0.0.1', port } });
  await expect(second).rejects.toThrow(ReferenceFault);
  await expect(second).rejects.toThrow(new RegExp(`127\\.0\\.0\\.1:${port} is in use.*Choose`));
});

test('a file that cannot be made is a fault that names it', async () => {
  const started = startReference({ db: '/nonexistent/folder/v2.db' });
  await expect(started).rejects.toThrow(/^\/nonexistent\/folder\/v2\.db.*Choose/);
});

test.each(['notes', 'id', 'highlight_type', 'transition_type', 'a.b', ''])(
  'an attribute %j cannot be deprecated: the fault names it',
  async (name) => {
    const started = startReference({ deprecated: ['legacy_code', name] });
    await expect(started).rejects.toThrow(ReferenceFault);
    await expect(started).rejects.toThrow(`${JSON.stringify(name)}: `);
  },
);

test('closing finishes the request in flight, and ends idle connections', async () => {
  const running = await startReference({});
  const idle = await raw(running.origin);
  idle.socket.write(`GET /api/v2/heartbeat HTTP/1.1\r\n${HEAD}\r\n`);
  await once(idle.socket, 'data');
  const busy = await raw(running.origin);
  busy.socket.write(
    `POST /api/v2/clients HTTP/1.1\r\n${HEAD}Content-Length: 12\r\nExpect: 100-continue\r\n\r\n{"name`,
  );
  await once(busy.socket, 'data');
  const closed = running.close();
  await idle.read();
  busy.socket.write('":"x"}');
  expect(await busy.read()).toContain('HTTP/1.1 201 Created');
  await closed;
  await expect(sender(running.origin)('GET /heartbeat')).rejects.toThrow('fetch failed');
});

// Attack: clients that leave in the middle, so that the adapter prints its own errors or the process dies.
test('clients that disconnect are not reported as errors, and the service goes on', async () => {
  const reports: unknown[] = [];
  const { origin, send } = await service({ report: (error) => void reports.push(error) });
  for (let index = 0; index < 30; index++) {
    const { socket } = await raw(origin);
    socket.write(`POST /api/v2/clients HTTP/1.1\r\n${HEAD}Content-Length: 1000\r\n\r\n{"name":`);
    setTimeout(() => socket.resetAndDestroy(), index % 5);
    await once(socket, 'close');
  }
  expect((await send('GET /clients')).body.meta.total).toBe(0);
  expect(reports).toEqual([]);
});

test('a Host that cannot be read is a 400 in the envelope', async () => {
  const { origin } = await service();
  const { socket, read } = await raw(origin);
  socket.write('GET /api/v2/heartbeat HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n');
  expect(await read()).toMatch(/^HTTP\/1\.1 400 [^]*"errors":\[\{"status":"400"/);
});
