import { expect, onTestFinished, test } from 'vitest';
import type { Upstream } from '../../src/gateway/upstream.ts';
import type { NodeUpstream, UpstreamOptions } from '../../src/node/upstream/node-upstream.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { upstreamContract } from './upstream.ts';

export const options = {
  connections: 4,
  connectTimeout: 1000,
  headersTimeout: 2000,
  bodyTimeout: 2000,
  headerBytes: 16_384,
  headerCount: 100,
  tls: undefined,
} as const;

/** The body of the response to a GET; fails with the fault's cause. */
export function textOf(upstream: Upstream): Promise<string> {
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

/** Holds an upstream of Node to the contract, and to what only sockets can keep. */
export function nodeUpstreamContract(make: (options: UpstreamOptions) => NodeUpstream): void {
  upstreamContract(
    (origin) => {
      const upstream = make({ ...options, origin });
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
    const upstream = make({
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
}
