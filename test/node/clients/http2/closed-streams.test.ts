import v8 from 'node:v8';
import vm from 'node:vm';
import { expect, test } from 'vitest';
import { ok } from '../../../support/raw-server.ts';
import { sendRequest, session, securelyServed } from '../../../support/secure-gateway.ts';

v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc') as (options: { readonly type: 'minor' }) => void;

const REQUESTS = 1000;
/** A stream of the client's library takes 5,900 bytes; an exchange would be 3,000 more. */
const STREAM_BYTES = 7500;
/** Requests after which the young generation is collected: what survives twice is old. */
const BETWEEN = 20;

/** Bytes in the heap once the young generation is collected so often that what it still holds is old. */
function heapBytes(): number {
  for (let count = 0; count < 3; count += 1) collect({ type: 'minor' });
  return process.memoryUsage().heapUsed;
}

test('exchanges over HTTP/2 die young: nothing keeps them until the whole heap is searched', async () => {
  const { gateway } = await securelyServed(ok('{}'));
  const client = session(gateway);
  const play = async (): Promise<void> => {
    for (let count = 1; count <= REQUESTS; count += 1) {
      const response = await sendRequest(
        client,
        { ':method': 'POST', ':path': '/api/v2/x', 'content-type': 'application/json' },
        '{"a":1}',
      );
      expect(response.body).toBe('{}');
      if (count % BETWEEN === 0) collect({ type: 'minor' });
    }
  };
  await play();
  const before = heapBytes();
  await play();
  expect((heapBytes() - before) / REQUESTS).toBeLessThan(STREAM_BYTES);
});
