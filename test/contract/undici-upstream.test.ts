import { describe, onTestFinished } from 'vitest';
import { createUndiciUpstream } from '../../src/node/undici-upstream.ts';
import { upstreamContract } from './upstream.ts';

describe('the upstream on undici', () => {
  upstreamContract(
    (origin) => {
      const upstream = createUndiciUpstream({
        origin,
        connections: 4,
        connectTimeout: 1000,
        headersTimeout: 2000,
        bodyTimeout: 2000,
        headerBytes: 16_384,
        headerCount: 100,
        tls: undefined,
      });
      onTestFinished(() => upstream.close());
      return upstream;
    },
    { interim: true, rawHeaders: true },
  );
});
