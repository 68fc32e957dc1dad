import { Worker } from 'node:worker_threads';
import { describeV1 } from '../../gateway/describe-v1.ts';
import {
  DERIVATION_BYTES_PER_BYTE,
  type DescriptionJob,
  type DescriptionText,
} from '../../gateway/description.ts';
import type { OperatorText, OperatorWork } from '../../inspector/operator-work.ts';
import { failureBody } from '../../inspector/routes/responses.ts';
import { threadPath, threadResult } from './thread-messages.ts';
import { jsonText } from '../../report/text.ts';

/** Milliseconds without work after which the thread ends. */
const IDLE_MS = 10_000;

interface OperatorLimits {
  /** Maximum milliseconds for a piece of work, and for its wait before that. The largest kept body takes about 2 s. */
  readonly deadlineMs: number;
  /** MiB for its values; the bytes that it reads and sends are added. */
  readonly memoryMib: number;
}

const LIMITS: OperatorLimits = { deadlineMs: 20_000, memoryMib: 512 };

/** MiB for new values in each thread of operators. More would be faster, but the process would keep the memory. */
const NEW_MIB = 16;

/** Part of a container's memory for the values of one thread: two may work at once, in addition to bodies and captured exchanges. */
const MEMORY_PART = 6;
/** MiB for a thread in the smallest container: the largest kept body can be explained with less. */
const LEAST_MIB = 64;

/** The limits of a thread if the memory has a limit in bytes. */
export function operatorLimits(memoryBytes = Number.POSITIVE_INFINITY): OperatorLimits {
  const part = Math.floor(memoryBytes / MEMORY_PART / 2 ** 20);
  return { ...LIMITS, memoryMib: Math.min(LIMITS.memoryMib, Math.max(LEAST_MIB, part)) };
}

const TRY_AGAIN = 'Try again; if it happens again, with less at a time.';

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
  private readonly limits: OperatorLimits;
  private readonly path: URL;
  private worker: Worker | undefined = undefined;
  private readonly queue: QueuedWork[] = [];
  private current: QueuedWork | undefined = undefined;
  private idle: NodeJS.Timeout | undefined = undefined;
  private holders = 0;

  constructor(limits: Partial<OperatorLimits> = {}, path = threadPath('operator-worker')) {
    this.limits = { ...LIMITS, ...limits };
    this.path = path;
  }

  /** Does the work; rejects when the thread ends by itself before it is done. */
  readonly run = (work: OperatorWork): Promise<OperatorText> =>
    new Promise((resolve, reject) => {
      const queued: QueuedWork = { work, resolve, reject, deadline: undefined };
      queued.deadline = setTimeout(() => this.giveUp(queued), this.limits.deadlineMs).unref();
      this.queue.push(queued);
      if (this.current === undefined) this.next();
    });

  /** Keeps the thread until the returned function is called; if no thread runs yet, `warmUp` is done first. */
  readonly hold = (warmUp: () => OperatorWork): (() => void) => {
    this.holders += 1;
    clearTimeout(this.idle);
    // Its result and its fault do not matter.
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
    current.deadline = setTimeout(() => this.replace(current), this.limits.deadlineMs).unref();
    this.worker ??= this.start();
    this.worker.postMessage(current.work);
  }

  /** Removes late work from the queue. */
  private giveUp(queued: QueuedWork): void {
    const at = this.queue.indexOf(queued);
    if (at === -1) return;
    this.queue.splice(at, 1);
    const why = 'The thread for operators is busy with other requests.';
    queued.resolve(this.refused('too-slow', this.late('was not begun', why)));
  }

  /** Ends a stuck thread; the next piece of work starts another. */
  private replace(stuck: QueuedWork): void {
    if (this.current !== stuck) return;
    this.end();
    this.next();
    const why = 'The gateway ended its thread, and starts another.';
    stuck.resolve(this.refused('too-slow', this.late('was not done', why)));
  }

  private late(what: string, why: string): string {
    return `This ${what} within ${this.limits.deadlineMs / 1000} s. ${why}`;
  }

  private refused(code: 'too-slow' | 'too-large', why: string, remedy = TRY_AGAIN): OperatorText {
    const body = failureBody(503, code, `${why} Clients are not affected. ${remedy}`);
    return { status: 503, isJson: true, bytes: encoder.encode(jsonText(body)) };
  }

  private start(): Worker {
    const { memoryMib } = this.limits;
    // A thread without limits could use all memory of the machine, and the container would be killed with its clients' requests.
    const resourceLimits = { maxOldGenerationSizeMb: memoryMib, maxYoungGenerationSizeMb: NEW_MIB };
    const worker = new Worker(this.path, { resourceLimits });
    // A gateway that stops does not wait for the thread.
    worker.unref();
    worker.on('message', (text: OperatorText) => {
      if (this.worker !== worker) return;
      this.finish((current) => current.resolve(text));
    });
    const ended = (error: Error): void => {
      if (this.worker !== worker) return;
      this.worker = undefined;
      if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY')
        this.finish((current) => current.resolve(this.tooLarge(current.work)));
      else this.finish((current) => current.reject(error));
    };
    worker.on('error', ended);
    worker.on('exit', (code) => ended(new Error(`The thread for operators ended with code ${code}.`)));
    return worker;
  }

  private tooLarge({ kind }: OperatorWork): OperatorText {
    const why = `This needs more than the ${this.limits.memoryMib} MiB that the gateway has for it. The gateway ended its thread, and starts another.`;
    return kind === 'plan'
      ? this.refused('too-large', why, 'Run capture-gateway plan on a copy of the log.')
      : this.refused('too-large', why, 'Try it with less.');
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

/** Bytes from which a description is derived in a thread: a smaller one takes a few milliseconds. */
const MIN_THREAD_BYTES = 16 * 1024;

/** MiB of a thread's memory in addition to the source: for its own objects, and for new ones. */
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
  // Only plain data can be sent to the thread.
  const workerData: DescriptionJob = { source, rules, v2: { hosts: v2.hosts, path: v2.path } };
  const resourceLimits = {
    maxOldGenerationSizeMb: Math.ceil(FIXED_MIB + (source.length * DERIVATION_BYTES_PER_BYTE) / 2 ** 20),
    maxYoungGenerationSizeMb: YOUNG_MIB,
  };
  const worker = new Worker(threadPath('description-worker'), { workerData, resourceLimits });
  // A gateway that stops does not wait for the thread.
  worker.unref();
  return threadResult<DescriptionText | undefined>(worker);
}
