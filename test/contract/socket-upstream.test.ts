import { describe, expect, onTestFinished, test } from 'vitest';
import type { Upstream } from '../../src/gateway/upstream.ts';
import { createSocketUpstream } from '../../src/node/upstream/socket-upstream.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { upstreamContract } from './upstream.ts';

const options = {
  connections: 4,
  connectTimeout: 1000,
  headersTimeout: 2000,
  bodyTimeout: 2000,
  headerBytes: 16_384,
  headerCount: 100,
  tls: undefined,
} as const;

/** The body of the answer to a GET; fails with the fault's cause. */
function textOf(upstream: Upstream): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    upstream.send(
      { method: 'GET', target: '/', headers: [], body: null, length: undefined },
      {
        information: () => {},
        head: () => {},
        data: (chunk) => {
          text += Buffer.from(chunk).toString();
        },
        end: () => resolve(text),
        fail: ({ cause }) => reject(new Error(cause)),
      },
    );
  });
}

describe('the upstream on sockets', () => {
  upstreamContract(
    (origin) => {
      const upstream = createSocketUpstream({ ...options, origin });
      onTestFinished(() => upstream.close());
      return upstream;
    },
    { interim: true, rawHeaders: true, rawTarget: true, knowsUnsent: true, controlled: true },
  );

  test('a name with two addresses is tried on both, and one that changes is followed by new connections', async () => {
    const old = await rawServer((socket) => socket.end(ok('"old"', 'Connection: close\r\n')));
    const fresh = await rawServer((socket) => socket.write(ok('"fresh"')), {
      host: '127.0.0.3',
      port: old.port,
    });
    let addresses = ['127.0.0.2', '127.0.0.1'];
    const upstream = createSocketUpstream({
      ...options,
      origin: `http://moving.example:${old.port}`,
      lookup: (_name, _options, done) => {
        done(
          null,
          addresses.map((address) => ({ address, family: 4 })),
        );
      },
    });
    onTestFinished(() => upstream.close());
    expect(await textOf(upstream)).toBe('"old"');
    addresses = ['127.0.0.3'];
    expect(await textOf(upstream)).toBe('"fresh"');
    expect(fresh.received.join('')).toContain(`host: moving.example:${old.port}\r\n`);
  });

  test.each(['now', 'in the turn in which it is given up'])(
    'a connection that was idle too long while the process was busy takes no request: %s',
    { timeout: 10_000 },
    async (when) => {
      const v2 = await rawServer((socket) => socket.write(ok('"kept"')));
      const upstream = createSocketUpstream({ ...options, origin: v2.origin });
      onTestFinished(() => upstream.close());
      expect(await textOf(upstream)).toBe('"kept"');
      await new Promise((resolve) => {
        setTimeout(resolve, 3900);
      });
      const sent = new Promise((resolve, reject) => {
        const send = (): void => void textOf(upstream).then(resolve, reject);
        // Both timers are late then: the look comes first, and the request right behind it.
        if (when === 'now') setImmediate(send);
        else setTimeout(send, 300);
      });
      const end = performance.now() + 600;
      let now = 0;
      while (now < end) now = performance.now();
      expect(await sent).toBe('"kept"');
      expect(v2.received.length).toBe(2);
    },
  );
});
