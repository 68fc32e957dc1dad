import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A V2 in a thread of its own, with paths on which it does odd things; see `v2-thread.ts`. */
export interface V2 {
  readonly origin: string;
  /** Takes requests and never responds. */
  readonly silentOrigin: string;
  stop(): Promise<void>;
}

/** Starts it on free ports. */
export async function startV2(): Promise<V2> {
  const worker = new Worker(new URL('v2-thread.ts', import.meta.url));
  const [ports] = (await once(worker, 'message')) as [{ readonly port: number; readonly silentPort: number }];
  return {
    origin: `http://127.0.0.1:${ports.port}`,
    silentOrigin: `http://127.0.0.1:${ports.silentPort}`,
    stop: async () => void (await worker.terminate()),
  };
}

/** A path on which V2 writes these bytes, and closes behind them if so requested. */
export function rawResponsePath(version: 'v1' | 'v2', response: string, closes = false): string {
  return `/api/${version}/raw/${Buffer.from(response, 'latin1').toString('base64url')}${closes ? '?closes' : ''}`;
}
