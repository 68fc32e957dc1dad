import { parentPort, workerData } from 'node:worker_threads';
import { printJsonText } from '../../openapi/description.ts';
import { isFault } from '../command-fault.ts';
import { readDescription } from './description-file.ts';
import type { ReadV2 } from './v2-description.ts';

// Reads V2's description in its own thread, while the main thread serves clients.

const others = new Set<string>();
const read = await readDescription(String(workerData), others);
const outcome = isFault(read) ? { fault: read.fault } : { text: printJsonText(read) };
parentPort?.postMessage({ outcome, others: [...others] } satisfies ReadV2);
