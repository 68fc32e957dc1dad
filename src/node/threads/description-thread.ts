import { Worker } from 'node:worker_threads';
import { DERIVATION_BYTES_PER_BYTE } from '../../gateway/description-cache.ts';
import { type DescriptionJob, describeV1, type DescriptionText } from '../../gateway/describe-v1.ts';
import { threadPath } from './thread-path.ts';

/** Bytes of a description from which it is derived in a thread: below, it takes some milliseconds. */
const MIN_THREAD_BYTES = 16 * 1024;

/** MiB of memory of a thread beside that for the source: of its own objects, and of those just made. */
const FIXED_MIB = 16;
const YOUNG_MIB = 8;

/** Derives V1's descriptions, large ones in a thread, one after the other. The thread lives for one derivation: they are rare. */
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
  // A gateway that stops does not wait for it.
  worker.unref();
  return new Promise<DescriptionText | undefined>((resolve, reject) => {
    worker.on('message', resolve).on('error', reject);
  }).finally(() => void worker.terminate());
}
