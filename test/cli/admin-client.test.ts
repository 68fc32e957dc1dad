import { expect, test } from 'vitest';
import { AdminClient } from '../../src/cli/admin-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';

test('requests share a connection, and carry the token; a body is told as JSON', async () => {
  const listener = await rawServer((socket) => socket.write(ok('{"a":1}')));
  const client = new AdminClient({ url: listener.origin, token: 'secret' });
  for (const body of [undefined, '{"mode":"migrate"}']) {
    const response = await client.ask('/rollout', { 'x-a': '1' }, body);
    expect([response.statusCode, await response.body.text()]).toEqual([200, '{"a":1}']);
  }
  expect(listener.received).toHaveLength(1);
  const [get = '', post = ''] = (listener.received[0] ?? '').split(/(?=POST )/);
  expect(get).toMatch(/^GET \/rollout HTTP\/1\.1\r\n[^]*authorization: Bearer secret\r\n/);
  expect(post).toMatch(/\r\ncontent-type: application\/json\r\n[^]*\r\n\r\n\{"mode":"migrate"\}$/);
});

test('a listener that is not there is told by its error', async () => {
  const client = new AdminClient({ url: 'http://127.0.0.1:1', token: undefined });
  await expect(client.ask('/entries')).rejects.toThrow('ECONNREFUSED');
});
