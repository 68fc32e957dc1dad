import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A request of the innocent client: through the rewriting, or unchanged; reads and writes. */
export type InnocentKind = 'v1-read' | 'v1-write' | 'v2-read' | 'v2-write';

/** The options of the innocent client. */
export interface InnocentOptions {
  readonly port: number;
  readonly isTls: boolean;
  readonly kinds: readonly InnocentKind[];
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

/** A client that sends 50 requests a second, whether responses come or not, from a thread of its own. */
export class Innocent {
  private readonly worker: Worker;

  private constructor(options: InnocentOptions) {
    this.worker = new Worker(new URL('innocent-thread.ts', import.meta.url), { workerData: options });
  }

  /** Starts it, and waits for its first response. */
  static async start(options: InnocentOptions): Promise<Innocent> {
    const innocent = new Innocent(options);
    await once(innocent.worker, 'message');
    return innocent;
  }

  /** Ends the sending, waits some seconds for requests under way, and returns the outcome. */
  async stop(): Promise<Felt> {
    this.worker.postMessage('stop');
    const [felt] = (await once(this.worker, 'message')) as [Felt];
    await this.worker.terminate();
    return felt;
  }
}
