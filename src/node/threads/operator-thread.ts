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

/** Does work for operators in a thread, one piece after the other. It starts with the first piece, or when somebody may soon have some. */
export class OperatorThread {
  private worker: Worker | undefined = undefined;
  private readonly queue: QueuedWork[] = [];
  private current: QueuedWork | undefined = undefined;
  private idle: NodeJS.Timeout | undefined = undefined;
  private holders = 0;

  /** Does the work; rejects when the thread ends before it is done. */
  readonly run = (work: OperatorWork): Promise<OperatorText> =>
    new Promise((resolve, reject) => {
      this.queue.push({ work, resolve, reject });
      if (this.current === undefined) this.next();
    });

  /** Keeps the thread until the returned function is called; `warmUp` is done first where no thread runs yet. */
  readonly hold = (warmUp: () => OperatorWork): (() => void) => {
    this.holders += 1;
    clearTimeout(this.idle);
    // Its result is of no use, and neither is a fault of it.
    if (this.worker === undefined) this.run(warmUp()).catch(() => undefined);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.holders -= 1;
      if (this.current === undefined) this.rest();
    };
  };

  private next(): void {
    clearTimeout(this.idle);
    this.current = this.queue.shift();
    if (this.current === undefined) return this.rest();
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

  private rest(): void {
    if (this.holders === 0) this.idle = setTimeout(() => this.end(), IDLE_MS).unref();
  }

  private end(): void {
    void this.worker?.terminate();
    this.worker = undefined;
  }
}
