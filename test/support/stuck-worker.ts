import { parentPort } from 'node:worker_threads';

// A thread that does not come to an end, ends itself, takes all memory, or says in which thread the work was done.
const all: object[] = [];
parentPort?.on('message', ({ text }: { readonly text: string }) => {
  if (text === 'exit') process.exit(3);
  if (text === 'large') for (;;) all.push({ at: all.length });
  if (text === 'stuck') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  const bytes = new TextEncoder().encode(JSON.stringify({ done: text }));
  parentPort?.postMessage({ status: 200, isJson: true, bytes });
});
