import { spawnSync } from 'node:child_process';
import { readFile, realpath } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import {
  type RunTransform,
  tookTooLong,
  TRANSFORM_BUDGET_MS,
  type TransformFailure,
  type TransformJob,
  type TransformOutcome,
} from '../../migrate/transform.ts';
import { hashRuleBook } from '../../rules/hash.ts';
import type { RuleBook, TransformDirection, TransformSource } from '../../rules/rule-book.ts';
import { decodeText, TextFault } from '../files.ts';
import { systemReason } from '../system-reason.ts';
import { type FromTransforms, threadPath, type TransformModules } from './thread-messages.ts';

/** MiB of the thread's memory: a body of `limits.body` takes about ten times its bytes as a value, and a transform makes another one. */
const MEMORY_MIB = 256;

/** MiB of the thread's memory outside its heap, in addition to two copies of the largest body: a call's argument and its result. */
const BUFFERS_MIB = 64;

/** Multiple of that memory at which a call is ended, because some of it may not have been collected yet. */
const GARBAGE = 2;

/** Milliseconds between two checks of a call: of its time, and of its memory outside the heap. */
const LOOK_MS = 5;

const TOOK_MEMORY = 'ended its thread, or took too much memory';

/** Milliseconds that loading the modules, with their top-level code, may take of a processor or wait. */
const START_MS = 5000;

/** Milliseconds after which loading has failed, even if the thread got no processor. */
const LATEST_START_MS = 60_000;

/** Maximum threads that may be lost, because earlier calls left something running, before a call begins. */
const MOST_THREADS = 3;

interface QueuedJob {
  readonly job: TransformJob;
  readonly done: (outcome: TransformOutcome) => void;
  /** Number of threads to which it was given. */
  threads: number;
}

/** A call in a thread. */
interface RunningCall {
  readonly call: QueuedJob;
  readonly worker: Worker;
  /** False until the thread has started it. */
  readonly hasBegun: boolean;
  /** The time when it began; before that, the time when the thread got it. */
  readonly since: {
    readonly at: number;
    /** Milliseconds of processor time that the thread had used before. */
    readonly workedMs: number | undefined;
    readonly loop: EventLoopUtilization | undefined;
  };
}

/**
 * Runs one rule book's transforms in a thread, one call after the other. A call beyond the budget ends the thread, because a loop cannot
 * be ended otherwise, and a new thread runs the waiting calls. That also applies to a call that could not begin because an earlier one
 * left something running. A call that has begun is never repeated, because it may end every thread.
 */
class TransformThread {
  private readonly modules: TransformModules;
  private readonly budgetMs: number;
  private worker: Worker | undefined = undefined;
  private isReady = false;
  private readonly queue: QueuedJob[] = [];
  private readonly waiting: (() => void)[] = [];
  private current: QueuedJob | undefined = undefined;
  private hasBegun = false;
  /** Processor time of the thread when it last became idle. */
  private workedMs: number | undefined = undefined;
  private deadline: NodeJS.Timeout | undefined = undefined;

  constructor(book: RuleBook) {
    const { modules = {}, limits } = book;
    const bufferBytes = BUFFERS_MIB * 2 ** 20 + 2 * Math.max(limits.body, limits.response);
    this.modules = { texts: textsOf(modules), bufferBytes };
    this.budgetMs = book.limits.transform ?? TRANSFORM_BUDGET_MS;
  }

  readonly run: RunTransform = (job) =>
    new Promise((done) => {
      this.queue.push({ job, done, threads: 0 });
      this.next();
    });

  /** True while a call runs or waits. */
  get isBusy(): boolean {
    return this.current !== undefined || this.queue.length > 0;
  }

  /** Starts the thread, and waits until its modules are loaded or have failed. */
  warm(): Promise<void> {
    if (this.isReady) return Promise.resolve();
    return new Promise((done) => {
      this.waiting.push(done);
      this.worker ??= this.start();
    });
  }

  end(): void {
    for (const done of this.waiting.splice(0)) done();
    clearTimeout(this.deadline);
    void this.worker?.terminate();
    this.worker = undefined;
    this.isReady = false;
  }

  private next(): void {
    if (this.current !== undefined || this.queue.length === 0) return;
    if (!this.isReady) {
      this.worker ??= this.start();
      return;
    }
    const { worker, workedMs } = this;
    const call = this.queue.shift();
    if (worker === undefined || call === undefined) return;
    this.current = call;
    this.hasBegun = false;
    call.threads += 1;
    const since = { at: performance.now(), workedMs, loop: loopOf(worker) };
    this.watch({ call, worker, hasBegun: false, since }, this.budgetMs);
    // The message is a copy: the exchange keeps the body, and may send it unchanged.
    worker.postMessage(call.job);
  }

  private start(): Worker {
    const worker = startWorker(this.modules);
    const stopWatching = watchStart(worker, () => {
      if (this.worker === worker) this.lose('did not start');
    });
    worker.on('message', (message: FromTransforms) => {
      stopWatching();
      if (this.worker === worker) this.receive(message);
    });
    const ended = (): void => {
      stopWatching();
      if (this.worker === worker) this.lose(TOOK_MEMORY);
    };
    worker.on('error', ended).on('exit', ended);
    // A process that stops does not wait for the thread. Only after `on`, which refs it again.
    worker.unref();
    return worker;
  }

  private receive(message: FromTransforms): void {
    switch (message.kind) {
      case 'ready':
        this.isReady = true;
        this.workedMs = message.workedMs;
        for (const done of this.waiting.splice(0)) done();
        this.next();
        return;
      case 'began': {
        clearTimeout(this.deadline);
        const { current, worker } = this;
        if (current === undefined || worker === undefined) return;
        this.hasBegun = true;
        // The budget begins with the call, not while the thread waits for a processor.
        const since = { at: performance.now(), workedMs: message.workedMs, loop: loopOf(worker) };
        this.watch({ call: current, worker, hasBegun: true, since }, Math.min(LOOK_MS, this.budgetMs));
        return;
      }
      case 'fault':
        this.lose(`could not be loaded: ${message.message}`);
        return;
      case 'outcome':
        this.workedMs = message.workedMs;
        // State that modules keep between calls would keep growing.
        if (message.isFull) this.end();
        this.settle(message.outcome);
        this.next();
    }
  }

  /** Checks a call after some milliseconds, and ends the thread if the call has used up its time or its memory outside the heap. */
  private watch(running: RunningCall, milliseconds: number): void {
    const { call, worker, hasBegun } = running;
    const isCurrent = (): boolean =>
      this.current === call && this.worker === worker && this.hasBegun === hasBegun;
    const judge = async (): Promise<void> => {
      if (!isCurrent()) return;
      const [usedMs, bytes] = await Promise.all([usedBy(running, this.budgetMs), bytesOutsideHeapOf(worker)]);
      if (!isCurrent()) return;
      if (bytes > GARBAGE * this.modules.bufferBytes) this.lose(TOOK_MEMORY);
      else if (usedMs < this.budgetMs) this.watch(running, LOOK_MS);
      else if (hasBegun) this.replace(call);
      else this.lose('did not begin');
    };
    clearTimeout(this.deadline);
    // In the check phase, so that an outcome that arrived while this thread was busy is handled first.
    this.deadline = setTimeout(() => setImmediate(() => void judge()), milliseconds);
  }

  private replace(late: QueuedJob): void {
    this.end();
    this.settle(tookTooLong(late.job, this.budgetMs));
    this.next();
  }

  /**
   * Ends a lost or useless thread, and fails its current call, or the first waiting one if it did not start. A call that had not begun
   * is given to a new thread.
   */
  private lose(what: string): void {
    this.end();
    const { current } = this;
    if (current !== undefined && !this.hasBegun && current.threads < MOST_THREADS) {
      this.current = undefined;
      this.queue.unshift(current);
      this.next();
      return;
    }
    this.current ??= this.queue.shift();
    const { module, direction } = this.current?.job ?? { module: '', direction: '' };
    const why = `${direction} of ${module} ${what}`;
    const failure: TransformFailure = { why, detail: why };
    this.settle(failure);
    this.next();
  }

  private settle(outcome: TransformOutcome): void {
    clearTimeout(this.deadline);
    const { current } = this;
    this.current = undefined;
    current?.done(outcome);
  }
}

/** Runs the transforms of the rule books in force: an exchange ends with the rule book that it began with. */
export class TransformThreads {
  private readonly threads = new Map<string, TransformThread>();

  /** Calls a transform of `book`. */
  readonly run = (book: RuleBook, job: TransformJob): Promise<TransformOutcome> =>
    this.threadOf(book).run(job);

  /** Starts a rule book's thread before it comes into force, so that no request waits for that. */
  readonly warm = (book: RuleBook): Promise<void> =>
    book.modules === undefined ? Promise.resolve() : this.threadOf(book).warm();

  private threadOf(book: RuleBook): TransformThread {
    const known = this.threads.get(book.hash);
    if (known !== undefined) return known;
    // The previous one is still in force while the next one starts.
    for (const [hash, other] of [...this.threads].slice(0, -1)) {
      if (other.isBusy) continue;
      other.end();
      this.threads.delete(hash);
    }
    const thread = new TransformThread(book);
    this.threads.set(book.hash, thread);
    return thread;
  }

  close(): void {
    for (const thread of this.threads.values()) thread.end();
    this.threads.clear();
  }
}

/** A thread's use of its event loop; undefined if the runtime does not report it. */
function loopOf({ performance: own }: Worker): EventLoopUtilization | undefined {
  return typeof own?.eventLoopUtilization === 'function' ? own.eventLoopUtilization() : undefined;
}

/**
 * Returns the milliseconds of its budget that a call has used: its thread's processor time, and the time in which it waited. On a busy
 * machine or in a throttled container a thread may be idle for a while, which is not the module's fault; a 502 would be wrong, because V2
 * may have carried out the request. After `START_MS` the whole budget counts as used; if the runtime does not report times, all time
 * since the call began does. Before it began, only the time of other work in the thread counts.
 */
async function usedBy({ worker, hasBegun, since }: RunningCall, budgetMs: number): Promise<number> {
  const { at, workedMs, loop } = since;
  const passedMs = performance.now() - at;
  if (passedMs > START_MS) return budgetMs;
  if (workedMs === undefined || loop === undefined) return hasBegun ? passedMs : 0;
  const { idle } = worker.performance.eventLoopUtilization(loop);
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1000 - workedMs + (hasBegun ? idle : 0);
  } catch {
    // The thread has ended, which it reports itself, or the runtime does not report times.
    return passedMs;
  }
}

/**
 * Calls `late` once a new thread has used up the time for loading its modules, unless the returned function is called before. On a busy
 * machine it may take long to get a processor, which is not the modules' fault.
 */
function watchStart(worker: Worker, late: () => void): () => void {
  const at = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    clearTimeout(timer);
    clearTimeout(latest);
  };
  const end = (): void => {
    if (isOver) return;
    stop();
    late();
  };
  const latest = setTimeout(end, LATEST_START_MS);
  const judge = async (): Promise<void> => {
    const left = START_MS - startingMs(performance.now() - at, await timesOf(worker));
    if (isOver) return;
    if (left <= 0) end();
    else timer = setTimeout(() => void judge(), Math.max(left, LOOK_MS));
  };
  timer = setTimeout(() => void judge(), START_MS);
  return stop;
}

/** What a runtime reports of a thread: the milliseconds for which it worked and waited, `unborn` before it runs, or nothing. */
export type ThreadTimes = { readonly workedMs: number; readonly idleMs: number } | 'unborn' | undefined;

/** The milliseconds of the time for loading modules that a new thread has used, of those that have passed. */
export function startingMs(passedMs: number, times: ThreadTimes): number {
  if (times === undefined) return passedMs;
  return times === 'unborn' ? 0 : times.workedMs + times.idleMs;
}

async function timesOf(worker: Worker): Promise<ThreadTimes> {
  const loop = loopOf(worker);
  if (loop === undefined || typeof worker.cpuUsage !== 'function') return undefined;
  return worker.cpuUsage().then(
    ({ user, system }) => ({ workedMs: (user + system) / 1000, idleMs: loop.idle }),
    () => 'unborn',
  );
}

/** Bytes of a thread outside its heap; 0 if the runtime does not report them, or the thread has ended. */
async function bytesOutsideHeapOf(worker: Worker): Promise<number> {
  if (typeof worker.getHeapStatistics !== 'function') return 0;
  return worker.getHeapStatistics().then(
    ({ external_memory: bytes }) => bytes,
    () => 0,
  );
}

function startWorker(modules: TransformModules): Worker {
  const worker = new Worker(threadPath('transform-worker'), {
    workerData: modules,
    // Transforms must not see the gateway's settings.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB },
    // Its output would end up in the rewrite log. These streams are not read, because that would keep the process alive.
    stdout: true,
    stderr: true,
  });
  return worker;
}

function textsOf(modules: Readonly<Record<string, TransformSource>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(modules).map(([path, { text = '' }]) => [path, text]));
}

/** A module's fault, at a line of its file (from 1), or in the rule book's operations that name it. */
export interface ModuleFault {
  /** The ids of the operations that name the module. */
  readonly operations: readonly string[];
  /** The module's file; undefined if the rule book is wrong. */
  readonly file: string | undefined;
  readonly line: number;
  readonly message: string;
}

/** Reads the transforms that the rule book at `path` names, and returns the book with them. */
export async function loadTransforms(
  book: RuleBook,
  path: string,
): Promise<{ readonly book: RuleBook } | { readonly faults: readonly ModuleFault[] }> {
  const named = Map.groupBy(
    book.operations.filter(({ transform }) => transform !== undefined),
    ({ transform = '' }) => transform,
  );
  if (named.size === 0) return { book };
  const faults: ModuleFault[] = [];
  const modules: Record<string, TransformSource> = {};
  for (const [module, operations] of named) {
    const ids = operations.map(({ id }) => id);
    const read = await readModule(module, path);
    if ('message' in read) faults.push({ operations: ids, ...read });
    else modules[module] = read;
  }
  if (faults.length > 0) return { faults };
  const withModules = { ...book, modules };
  return { book: { ...withModules, hash: await hashRuleBook(withModules) } };
}

type ReadFault = Omit<ModuleFault, 'operations'>;

async function readModule(module: string, book: string): Promise<TransformSource | ReadFault> {
  const folder = dirname(book);
  const file = resolve(folder, module);
  let text: string;
  try {
    // A link may lead outside the folder.
    const [real, around] = await Promise.all([realpath(file), realpath(folder)]);
    if (!real.startsWith(around + sep) && !(await isSwappedFolder(real, book)))
      return ofBook(`${module} is a link that leads out of the rule book's folder; put the file there`);
    text = decodeText(await readFile(file));
  } catch (error) {
    if (error instanceof TextFault) return ofBook(`${module} cannot be read: ${error.message}`);
    return ofBook(
      `${module} cannot be read: ${systemReason(error)}; the path is from the folder of the rule book`,
    );
  }
  const loaded = await firstMessage({ texts: { [module]: text }, bufferBytes: BUFFERS_MIB * 2 ** 20 });
  if (loaded.kind !== 'ready') return faultOfFile(file, text, loaded);
  const exports = (loaded.exports[module] ?? []).filter(isDirection);
  if (exports.length > 0) return { text, exports };
  const message =
    'exports neither request nor response; export function request(body, context), or response, or both';
  return { file, line: 1, message };
}

function ofBook(message: string): ReadFault {
  return { file: undefined, line: 1, message };
}

/** True if rule book and module are links into one folder, as the kubelet makes them for a ConfigMap. */
async function isSwappedFolder(real: string, book: string): Promise<boolean> {
  return real.startsWith(dirname(await realpath(book)) + sep);
}

function isDirection(name: string): name is TransformDirection {
  return name === 'request' || name === 'response';
}

type Loaded = Exclude<FromTransforms, { readonly kind: 'outcome' | 'began' }>;

function faultOfFile(
  file: string,
  text: string,
  loaded: Exclude<Loaded, { readonly kind: 'ready' }>,
): ReadFault {
  const { message, isSyntax, line } = loaded;
  if (/Failed to resolve|Invalid relative URL|Only URLs with a scheme/.test(message))
    return { file, line: 1, message: `${message}; a transform is one file: it imports no others` };
  return { file, line: (isSyntax ? syntaxLine(text) : line) ?? 1, message };
}

/** Loads the modules in a new thread, which can be ended if they loop. */
async function firstMessage(modules: TransformModules): Promise<Loaded> {
  const [module = ''] = Object.keys(modules.texts);
  const worker = startWorker(modules);
  const loaded = await new Promise<Loaded>((done) => {
    const fail = (message: string): void =>
      done({ kind: 'fault', module, message, isSyntax: false, line: undefined });
    // Unlike the thread, its timers keep the process alive.
    const stopWatching = watchStart(worker, () => fail(`it takes longer than ${START_MS} ms to load`));
    worker.on('message', (message: FromTransforms) => {
      if (message.kind !== 'ready' && message.kind !== 'fault') return;
      stopWatching();
      done(message);
    });
    const ended = (message: string): void => {
      stopWatching();
      fail(message);
    };
    worker.on('error', (error: Error) => ended(error.message)).on('exit', () => ended('it ends its thread'));
  });
  await worker.terminate();
  return loaded;
}

/** The line of a syntax error, which V8 reports only when printing it: so another process checks the text. */
function syntaxLine(text: string): number | undefined {
  const checked = spawnSync(process.execPath, ['--check', '--input-type=module', '-'], {
    input: text,
    encoding: 'utf8',
    timeout: START_MS,
  });
  const line = /^\[stdin\]:(\d+)/m.exec(checked.stderr)?.[1];
  return line === undefined ? undefined : Number(line);
}
