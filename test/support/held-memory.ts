import { setTimeout as pause } from 'node:timers/promises';
import type { GatewayProcess } from '../../bench/gateway-process.ts';

/** Memory of a process after garbage collection, in bytes. */
export interface Held {
  /** Of the system's memory. */
  readonly resident: number;
  /** On the heap, and outside it on behalf of objects. */
  readonly heap: number;
}

const ON_SIGNAL =
  "process.on('SIGUSR2',()=>{gc();gc();const{rss,heapUsed,external}=process.memoryUsage();console.error(`held ${rss} ${heapUsed+external}.`)})";

/** Flags of Node with which an otherwise unchanged gateway can report its memory. */
export const collectableFlags: readonly string[] = [
  '--expose-gc',
  '--import',
  `data:text/javascript,${encodeURIComponent(ON_SIGNAL)}`,
];

/** Has a gateway with those flags collect its garbage and report the rest. */
export async function heldBy(gateway: GatewayProcess): Promise<Held> {
  const known = gateway.stderr().length;
  gateway.child.kill('SIGUSR2');
  for (;;) {
    const figures = /held (\d+) (\d+)\./.exec(gateway.stderr().slice(known));
    if (figures !== null) return { resident: Number(figures[1]), heap: Number(figures[2]) };
    if (gateway.child.exitCode !== null) throw new Error(gateway.stderr());
    await pause(5);
  }
}
