import { Worker } from 'node:worker_threads';
import type { StateCall, StateNews } from '../../rollout/shared-state.ts';

/** The main thread's requests to the thread; `id` numbers them. */
export type FileRequest = { readonly id: number } & (
  | { readonly kind: 'lock'; readonly path: string }
  | { readonly kind: 'release'; readonly lock: number }
  | { readonly kind: 'exchange'; readonly path: string; readonly call: StateCall }
  | { readonly kind: 'close' }
);

/** The response to the request with this `id`. */
export type FileReply = { readonly id: number } & (
  | { readonly kind: 'done' }
  | { readonly kind: 'news'; readonly news: StateNews }
  | { readonly kind: 'fault'; readonly message: string; readonly code: string }
);

interface Asked {
  readonly resolve: (reply: FileReply) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Locks and shared states in files that SQLite keeps, in a separate thread: its calls wait for the disk, and a slow disk would delay
 * every request. The thread starts with the first call.
 */
export class FileThread {
  private worker: Worker | undefined;
  private readonly asked = new Map<number, Asked>();
  private lastId = 0;

  /** Takes an exclusive lock on a file; resolves to the function that releases it. Rejects as `lockFile` does. */
  async lock(path: string): Promise<() => void> {
    const { id: lock } = await this.ask((id) => ({ kind: 'lock', id, path }));
    return () => void this.ask((id) => ({ kind: 'release', id, lock })).catch(() => {});
  }

  /** See `SharedState`; the state is in the SQLite file at `path`. */
  async exchange(path: string, call: StateCall): Promise<StateNews> {
    const reply = await this.ask((id) => ({ kind: 'exchange', id, path, call }));
    if (reply.kind !== 'news') throw new Error(`the thread said ${reply.kind}`);
    return reply.news;
  }

  /** Ends the thread after the earlier requests; a later call starts another one. */
  async close(): Promise<void> {
    const { worker } = this;
    if (worker === undefined) return;
    await this.ask((id) => ({ kind: 'close', id })).catch(() => {});
    await worker.terminate();
  }

  private ask(request: (id: number) => FileRequest): Promise<FileReply> {
    this.lastId += 1;
    const id = this.lastId;
    const worker = (this.worker ??= this.start());
    return new Promise((resolve, reject) => {
      this.asked.set(id, { resolve, reject });
      // A process does not end while it waits for the thread.
      worker.ref();
      worker.postMessage(request(id));
    });
  }

  private start(): Worker {
    // Options for a script that a process got with `--eval` do not suit a module.
    const worker = new Worker(new URL(`./file-worker.${END}`, import.meta.url), { execArgv: [] });
    worker.on('message', (reply: FileReply) => {
      const asked = this.asked.get(reply.id);
      this.asked.delete(reply.id);
      if (this.asked.size === 0) worker.unref();
      if (reply.kind === 'fault')
        asked?.reject(Object.assign(new Error(reply.message), reply.code === '' ? {} : { code: reply.code }));
      else asked?.resolve(reply);
    });
    const ended = (error: Error): void => {
      if (this.worker !== worker) return;
      this.worker = undefined;
      for (const { reject } of this.asked.values()) reject(error);
      this.asked.clear();
    };
    worker.on('error', ended);
    worker.on('exit', (code) => ended(new Error(`the thread of the file store ended with code ${code}`)));
    return worker;
  }
}

/** The sources or the build output. */
const END = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
