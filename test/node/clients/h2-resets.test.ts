import { once } from 'node:events';
import { createSecureServer, type ServerHttp2Session } from 'node:http2';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { H2Resets } from '../../../src/node/clients/h2-resets.ts';
import { certificate } from '../../support/certificates.ts';
import { listen } from '../../../src/node/listen.ts';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/until.ts';

test('a connection that its client resets while nobody reads it is closed; others are not', async () => {
  const { key, cert } = certificate({ name: 'gateway', hosts: ['localhost'] });
  const server = createSecureServer({ key, cert });
  const port = await freePort();
  await listen(server, { host: '127.0.0.1', port }, 'https');
  onTestFinished(() => void server.close());
  const resets = new H2Resets();
  const open = async (): Promise<{ session: ServerHttp2Session; reset: () => void }> => {
    const begun = once(server, 'session');
    const tcp = connect(port, '127.0.0.1');
    const tls = connectTls({ socket: tcp, ALPNProtocols: ['h2'], rejectUnauthorized: false });
    tls.on('error', () => {});
    tcp.on('error', () => {});
    tls.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
    const [session] = (await begun) as [ServerHttp2Session];
    await once(session, 'remoteSettings');
    session.on('error', () => {});
    resets.begin(session);
    session.on('close', () => resets.end(session));
    onTestFinished(() => {
      tcp.destroy();
      session.destroy();
    });
    return { session, reset: () => void tcp.resetAndDestroy() };
  };
  const [left, stays] = [await open(), await open()];
  // As Node does while a write is under way.
  const handle = Reflect.get(Reflect.get(left.session.socket, '_handle') as object, '_parent') as {
    readStop(): void;
  };
  handle.readStop();
  left.reset();
  await until(() => {
    resets.check();
    return left.session.destroyed;
  });
  expect(stays.session.destroyed).toBe(false);
});
