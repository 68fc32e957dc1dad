import { connect, createServer, type ServerHttp2Session } from 'node:http2';
import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { H2Streams } from '../../../src/node/clients/h2-streams.ts';

async function serverSession(): Promise<ServerHttp2Session> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  const client = connect(`http://127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const [session] = (await once(server, 'session')) as [ServerHttp2Session];
  return session;
}

test('every stream hears that its connection is closed, also one that Node reports later', async () => {
  const streams = new H2Streams();
  const [session, other] = [await serverSession(), await serverSession()];
  const heard: string[] = [];
  const stream = (name: string) => ({ sessionClosed: () => void heard.push(name) });
  streams.end(session, streams.begin(session, stream('ended')), () => {});
  streams.begin(session, stream('open'));
  streams.begin(other, stream('of another'));
  streams.closed(session);
  expect(heard).toEqual(['open']);
  streams.begin(session, stream('late'));
  streams.closed(session);
  expect(heard).toEqual(['open', 'late']);
});

test('the exchanges of closed connections end in several turns of the event loop, and count until then', async () => {
  const streams = new H2Streams();
  const session = await serverSession();
  const slots = Array.from({ length: 100 }, () => streams.begin(session, { sessionClosed: () => {} }));
  expect(streams.count(session)).toBe(100);
  let ended = 0;
  for (const slot of slots) streams.end(session, slot, () => (ended += 1));
  expect([ended, streams.open]).toEqual([40, 60]);
  await setImmediate();
  expect([ended, streams.open]).toEqual([80, 20]);
  await setImmediate();
  expect([ended, streams.open, streams.count(session)]).toEqual([100, 0, 0]);
});
