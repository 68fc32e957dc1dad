import { Worker } from 'node:worker_threads';
import type { OperatorText, OperatorWork } from '../../inspector/operator-work.ts';
import { threadPath } from './thread-path.ts';

/** Milliseconds without work after which the thread ends. */
const IDLE_MS = 10_000;

interface QueuedWork {
  readonly work: OperatorWork;
  readonly resolve: (text: OperatorText) => void;
  readonly reject: (error: unknown) => void;
}

/** Does work for operators in a thread, one piece after the other. It starts with the first piece. */
export class OperatorThread {
  private worker: Worker | undefined = undefined;
  private readonly queue: QueuedWork[] = [];
  private current: QueuedWork | undefined = undefined;
  private idle: NodeJS.Timeout | undefined = undefined;

  /** Does the work; rejects when the thread ends before it is done. */
  readonly do = (work: OperatorWork): Promise<OperatorText> =>
    new Promise((resolve, reject) => {
      this.queue.push({ work, resolve, reject });
      if (this.current === undefined) this.next();
    });

  private next(): void {
    clearTimeout(this.idle);
    this.current = this.queue.shift();
    if (this.current === undefined) {
      this.idle = setTimeout(() => this.end(), IDLE_MS).unref();
      return;
    }
    this.worker ??= this.start();
    this.worker.postMessage(this.current.work);
  }

  private start(): Worker {
    const worker = new Worker(threadPath('operator-worker'));
    // A gateway that stops does not wait for it.
    worker.unref();
    worker.on('message', (text: OperatorText) => {
      const { current } = this;
      this.next();
      current?.resolve(text);
    });
    worker.on('error', (error) => {
      if (this.worker !== worker) return;
      const { current } = this;
      this.worker = undefined;
      this.next();
      current?.reject(error);
    });
    return worker;
  }

  private end(): void {
    void this.worker?.terminate();
    this.worker = undefined;
  }
}
