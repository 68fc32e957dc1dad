import type { WithoutEdits } from '../../migrate/migration.ts';
import { Worker } from 'node:worker_threads';
import {
  type BodyRewriter,
  immediateRewriter,
  type ResponseRewriteJob,
  type RewriteJob,
} from '../../gateway/body-rewriter.ts';
import type { ResponseRewrite } from '../../rewrite/response-rules.ts';
import type { Rewrite } from '../../rewrite/records.ts';
import { DENIED, type FromThread, GRANTED, threadPath, type ToThread } from './thread-messages.ts';

/** Bytes from which a body is rewritten in the thread: the slowest body of this size takes about 20 ms. */
const MIN_THREAD_BYTES = 128 * 1024;
/** Milliseconds without a body after which the thread ends. */
const IDLE_MS = 60_000;

type QueuedJob =
  | {
      readonly kind: 'request';
      readonly job: RewriteJob;
      readonly done: (outcome: WithoutEdits<Rewrite>, body: Uint8Array) => void;
    }
  | {
      readonly kind: 'response';
      readonly job: ResponseRewriteJob;
      readonly done: (outcome: WithoutEdits<ResponseRewrite>, body: Uint8Array) => void;
    };

/**
 * Rewrites large bodies in a thread, so that they do not block the event loop; small ones are faster in this thread. The thread starts
 * with the first large body and rewrites one at a time, so that only one needs working memory.
 */
export class ThreadedRewriter implements BodyRewriter {
  private worker: Worker | undefined = undefined;
  private readonly grant = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  /** The hash of the thread's rule book. */
  private ruleBook: string | undefined = undefined;
  private readonly queue: QueuedJob[] = [];
  private current: QueuedJob | undefined = undefined;
  private idle: NodeJS.Timeout | undefined = undefined;

  request(job: RewriteJob, done: (outcome: WithoutEdits<Rewrite>, body: Uint8Array) => void): void {
    if (job.body.length < MIN_THREAD_BYTES) immediateRewriter.request(job, done);
    else this.add({ kind: 'request', job, done });
  }

  response(
    job: ResponseRewriteJob,
    done: (outcome: WithoutEdits<ResponseRewrite>, body: Uint8Array) => void,
  ): void {
    if (job.body.length < MIN_THREAD_BYTES) immediateRewriter.response(job, done);
    else this.add({ kind: 'response', job, done });
  }

  /** Ends the thread. */
  close(): void {
    clearTimeout(this.idle);
    void this.worker?.terminate();
    this.worker = undefined;
  }

  private add(job: QueuedJob): void {
    this.queue.push(job);
    if (this.current === undefined) this.next();
  }

  private next(): void {
    this.current = this.queue.shift();
    clearTimeout(this.idle);
    const { current } = this;
    if (current === undefined) {
      this.idle = setTimeout(() => this.close(), IDLE_MS).unref();
      return;
    }
    this.worker ??= this.start();
    const { rules, operation, body } = current.job;
    if (this.ruleBook !== rules.ruleBook.hash) {
      this.ruleBook = rules.ruleBook.hash;
      this.send({ kind: 'rule-book', ruleBook: rules.ruleBook, grant: this.grant.buffer }, []);
    }
    const moved = body.buffer instanceof ArrayBuffer ? [body.buffer] : [];
    if (current.kind === 'request')
      this.send({ kind: 'request', operation: operation?.id, format: current.job.format, body }, moved);
    else {
      const { method, context } = current.job;
      this.send({ kind: 'response', operation: operation?.id, body, method, context }, moved);
    }
  }

  private start(): Worker {
    const worker = new Worker(threadPath('rewriting-worker'));
    // A gateway that stops does not wait for the thread.
    worker.unref();
    this.ruleBook = undefined;
    worker.on('message', (message: FromThread) => this.receive(message));
    worker.on('error', (error) => {
      if (this.worker === worker) this.fail(error);
    });
    return worker;
  }

  private receive(message: FromThread): void {
    const { current } = this;
    if (message.kind === 'memory') {
      Atomics.store(this.grant, 0, current?.job.memory.take(message.bytes) === true ? GRANTED : DENIED);
      Atomics.notify(this.grant, 0);
      return;
    }
    this.next();
    if (current?.kind === 'request' && message.kind === 'request')
      current.done(message.outcome, message.body);
    if (current?.kind === 'response' && message.kind === 'response')
      current.done(message.outcome, message.body);
  }

  /** Fails the current job, whose body was lost with the thread. */
  private fail(error: unknown): void {
    const { current } = this;
    this.worker = undefined;
    this.next();
    current?.job.failed(error);
  }

  private send(message: ToThread, moved: readonly ArrayBuffer[]): void {
    this.worker?.postMessage(message, moved);
  }
}
