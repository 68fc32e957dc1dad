import { constants, PerformanceObserver } from 'node:perf_hooks';
import v8 from 'node:v8';
import vm from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { ok } from '../../../support/raw-server.ts';
import { sendRequest, session, securelyServed } from '../../../support/secure-gateway.ts';

v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc') as (options: { readonly type: 'minor' }) => void;

const REQUESTS = 1000;
/** A stream of the client's library takes 5,900 bytes; an exchange would be 3,000 more. */
const STREAM_BYTES = 7500;
/** Requests after which the young generation is collected: what survives twice is old. */
const BETWEEN = 20;

const ATTEMPTS = 8;

/** Bytes in the heap once the young generation is collected so often that what it still holds is old. */
function heapBytes(): number {
  for (let count = 0; count < 3; count += 1) collect({ type: 'minor' });
  return process.memoryUsage().heapUsed;
}

const isMinor = (detail: unknown): boolean =>
  (detail as { readonly kind: number }).kind === constants.NODE_PERFORMANCE_GC_MINOR;

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
  let searches = 0;
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if ('detail' in entry && !isMinor(entry.detail)) searches += 1;
  });
  observer.observe({ entryTypes: ['gc'] });
  onTestFinished(() => observer.disconnect());
  await play();
  // The process has played other files, whose compilation and garbage are measured as well, but not each time.
  const grown: number[] = [];
  do {
    const [before, searchesBefore] = [heapBytes(), searches];
    await play();
    const bytes = (heapBytes() - before) / REQUESTS;
    // A search of the whole heap frees everything that was kept until then, so such a measure is not used.
    grown.push(searches === searchesBefore ? bytes : Number.POSITIVE_INFINITY);
  } while (Math.min(...grown) >= STREAM_BYTES && grown.length < ATTEMPTS);
  expect(Math.min(...grown)).toBeLessThan(STREAM_BYTES);
});
