import { onTestFinished } from 'vitest';
import type { Upstream } from '../../src/gateway/upstream.ts';
import type { NodeUpstream, UpstreamOptions } from '../../src/node/upstream/origin.ts';
import { upstreamContract } from './upstream.ts';

export const options = {
  connections: 4,
  connectTimeout: 1000,
  headersTimeout: 2000,
  bodyTimeout: 2000,
  headerBytes: 16_384,
  headerCount: 100,
  idleTimeout: 4000,
  maxAge: 0,
  maxRequests: 0,
  waiting: { count: 1000, bytes: 2 ** 20 },
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

/** Holds an upstream of Node to the contract, and to the parts that only sockets can keep. */
export function nodeUpstreamContract(make: (options: UpstreamOptions) => NodeUpstream): void {
  upstreamContract(
    (origin) => {
      const upstream = make({ ...options, origin });
      onTestFinished(() => upstream.close());
      return upstream;
    },
    { interim: true, rawHeaders: true, rawTarget: true, knowsUnsent: true, controlled: true },
  );
}
