import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createSocketUpstream } from '../../src/node/upstream/pool.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { nodeUpstreamContract, options, textOf } from './node-upstream.ts';

describe('the upstream on sockets', () => {
  nodeUpstreamContract(createSocketUpstream);

  test.each(['now', 'in the turn in which it is given up'])(
    'a connection that was idle too long while the process was busy takes no request: %s',
    async (when) => {
      const v2 = await rawServer((socket) => socket.write(ok('"kept"')));
      const upstream = createSocketUpstream({ ...options, origin: v2.origin });
      onTestFinished(() => upstream.close());
      expect(await textOf(upstream)).toBe('"kept"');
      await pause(3900);
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
