import { parentPort, workerData } from 'node:worker_threads';
import { describeV1 } from '../../gateway/describe-v1.ts';
import type { DescriptionJob } from '../../gateway/description.ts';

// Derives one description in its own thread: V2's may be as large as any response, and its schemas become a tree of objects.

const job: DescriptionJob = workerData;
const text = await describeV1(job);
parentPort?.postMessage(text, text?.body.buffer instanceof ArrayBuffer ? [text.body.buffer] : []);
