import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Call, called, servedUpstream, upstreamTo } from '../node/upstream/upstream-calls.ts';
import { ok } from '../support/raw-server.ts';
import { upstreamContract } from './upstream.ts';

describe('the upstream on sockets', () => {
  upstreamContract(upstreamTo, { rawHeaders: true, rawTarget: true, knowsUnsent: true });

  test.each(['now', 'in the turn in which it is given up'])(
    'a connection that was idle too long while the process was busy takes no request: %s',
    async (when) => {
      const { v2, upstream } = await servedUpstream(ok('"kept"'));
      expect((await called(upstream)).body).toBe('"kept"');
      await pause(3900);
      const sent = new Promise<Call>((resolve, reject) => {
        const send = (): void => void called(upstream).then(resolve, reject);
        // Both timers are late then: the look comes first, and the request right behind it.
        if (when === 'now') setImmediate(send);
        else setTimeout(send, 300);
      });
      const end = performance.now() + 600;
      let now = 0;
      while (now < end) now = performance.now();
      expect((await sent).body).toBe('"kept"');
      expect(v2.received.length).toBe(2);
    },
  );
});
