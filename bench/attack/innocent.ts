import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A request of the innocent client: through the rewriting, or unchanged; reads and writes. */
export type InnocentKind = 'v1-read' | 'v1-write' | 'v2-read' | 'v2-write';

/** The options of the innocent client. */
export interface InnocentOptions {
  readonly origin: string;
  readonly kinds: readonly InnocentKind[];
  /** Milliseconds for requests under way at the end; some seconds without it. */
  readonly patience?: number | undefined;
}

/** The experience of the innocent client. */
export interface Felt {
  readonly requests: number;
  /** Requests without a 2xx, by reason. */
  readonly failures: Readonly<Record<string, number>>;
  /** Milliseconds, the failed ones among them. */
  readonly median: number;
  readonly worst: number;
}

/**
 * Starts a client that sends 50 requests a second, whether responses come or not, from a thread of its own, and waits for its first
 * response. The function that it returns ends the sending, waits some seconds for requests under way, and resolves to the outcome.
 */
export async function startInnocent(workerData: InnocentOptions): Promise<() => Promise<Felt>> {
  const worker = new Worker(new URL('innocent-thread.ts', import.meta.url), { workerData });
  await once(worker, 'message');
  return async () => {
    worker.postMessage('stop');
    const [felt] = (await once(worker, 'message')) as [Felt];
    await worker.terminate();
    return felt;
  };
}
