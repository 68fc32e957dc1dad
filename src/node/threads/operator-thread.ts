import { Worker } from 'node:worker_threads';
import {
  DERIVATION_BYTES_PER_BYTE,
  describeV1,
  type DescriptionJob,
  type DescriptionText,
} from '../../gateway/description.ts';
import type { OperatorText, OperatorWork } from '../../inspector/operator-work.ts';
import { failureBody } from '../../inspector/routes/responses.ts';
import { threadPath } from './thread-messages.ts';

/** Milliseconds without work after which the thread ends. */
const IDLE_MS = 10_000;

/** Milliseconds for one piece of work, and for its wait before that. The largest kept body takes some 2 s. */
const DEADLINE_MS = 20_000;

const encoder = new TextEncoder();

interface QueuedWork {
  readonly work: OperatorWork;
  readonly resolve: (text: OperatorText) => void;
  readonly reject: (error: unknown) => void;
  /** Limits the wait, and then the work. */
  deadline: NodeJS.Timeout | undefined;
}

/**
 * Does work for operators in a thread, one piece after the other. The thread starts with the first piece, or when work may soon
 * arrive. Late work gets 503, and a new thread replaces the stuck one.
 */
export class OperatorThread {
  private readonly deadlineMs: number;
  private readonly path: URL;
  private worker: Worker | undefined = undefined;
  private readonly queue: QueuedWork[] = [];
  private current: QueuedWork | undefined = undefined;
  private idle: NodeJS.Timeout | undefined = undefined;
  private holders = 0;

  constructor(deadlineMs = DEADLINE_MS, path = threadPath('operator-worker')) {
    this.deadlineMs = deadlineMs;
    this.path = path;
  }

  /** Does the work; rejects when the thread ends by itself before it is done. */
  readonly run = (work: OperatorWork): Promise<OperatorText> =>
    new Promise((resolve, reject) => {
      const queued: QueuedWork = { work, resolve, reject, deadline: undefined };
      queued.deadline = setTimeout(() => this.giveUp(queued), this.deadlineMs).unref();
      this.queue.push(queued);
      if (this.current === undefined) this.next();
    });

  /** Keeps the thread until the returned function is called; if no thread runs yet, `warmUp` is done first. */
  readonly hold = (warmUp: () => OperatorWork): (() => void) => {
    this.holders += 1;
    clearTimeout(this.idle);
    // Neither its result nor its fault matters.
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
    const { current } = this;
    if (current === undefined) return this.rest();
    clearTimeout(current.deadline);
    current.deadline = setTimeout(() => this.replace(current), this.deadlineMs).unref();
    this.worker ??= this.start();
    this.worker.postMessage(current.work);
  }

  /** Removes late work from the queue. */
  private giveUp(queued: QueuedWork): void {
    const at = this.queue.indexOf(queued);
    if (at === -1) return;
    this.queue.splice(at, 1);
    queued.resolve(this.tooLate('was not begun', 'The thread for operators is busy with other requests.'));
  }

  /** Ends a stuck thread; the next piece of work starts another. */
  private replace(stuck: QueuedWork): void {
    if (this.current !== stuck) return;
    this.end();
    this.next();
    stuck.resolve(this.tooLate('was not done', 'The gateway ended its thread, and starts another.'));
  }

  private tooLate(what: string, why: string): OperatorText {
    const detail = `This ${what} within ${this.deadlineMs / 1000} s. ${why} Clients are not affected. Try again; if it happens again, with less at a time.`;
    const body = failureBody(503, 'too-slow', detail);
    return { status: 503, isJson: true, bytes: encoder.encode(JSON.stringify(body)) };
  }

  private start(): Worker {
    const worker = new Worker(this.path);
    // A gateway that stops does not wait for the thread.
    worker.unref();
    worker.on('message', (text: OperatorText) => {
      if (this.worker !== worker) return;
      this.finish((current) => current.resolve(text));
    });
    const ended = (error: Error): void => {
      if (this.worker !== worker) return;
      this.worker = undefined;
      this.finish((current) => current.reject(error));
    };
    worker.on('error', ended);
    worker.on('exit', (code) => ended(new Error(`The thread for operators ended with code ${code}.`)));
    return worker;
  }

  private finish(settle: (current: QueuedWork) => void): void {
    const { current } = this;
    clearTimeout(current?.deadline);
    this.next();
    if (current !== undefined) settle(current);
  }

  private rest(): void {
    if (this.holders === 0) this.idle = setTimeout(() => this.end(), IDLE_MS).unref();
  }

  private end(): void {
    void this.worker?.terminate();
    this.worker = undefined;
  }
}

/** Bytes from which a description is derived in a thread: a smaller one takes some milliseconds. */
const MIN_THREAD_BYTES = 16 * 1024;

/** MiB of a thread's memory beside that for the source: for its own objects, and for new ones. */
const FIXED_MIB = 16;
const YOUNG_MIB = 8;

/** Derives V1's descriptions, large ones one after the other in a thread. Each has a new thread, because they are rare. */
export class DescriptionThread {
  private last: Promise<unknown> = Promise.resolve();

  /** Derives a description; rejects when the thread ends before it is done. */
  readonly describe = async (job: DescriptionJob): Promise<DescriptionText | undefined> => {
    if (job.source.length < MIN_THREAD_BYTES) return describeV1(job);
    const { last } = this;
    const derived = last.then(() => inThread(job));
    this.last = derived.catch(() => {});
    return derived;
  };
}

function inThread({ source, rules, v2 }: DescriptionJob): Promise<DescriptionText | undefined> {
  // Only data crosses to the thread.
  const workerData: DescriptionJob = { source, rules, v2: { hosts: v2.hosts, path: v2.path } };
  const resourceLimits = {
    maxOldGenerationSizeMb: Math.ceil(FIXED_MIB + (source.length * DERIVATION_BYTES_PER_BYTE) / 2 ** 20),
    maxYoungGenerationSizeMb: YOUNG_MIB,
  };
  const worker = new Worker(threadPath('description-worker'), { workerData, resourceLimits });
  // A gateway that stops does not wait for the thread.
  worker.unref();
  return new Promise<DescriptionText | undefined>((resolve, reject) => {
    worker.on('message', resolve).on('error', reject);
  }).finally(() => void worker.terminate());
}
