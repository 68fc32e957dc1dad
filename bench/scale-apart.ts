import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Runs a file of the bench in a process of its own, whose heap nothing else has used, and returns its result. */
export function apart<Message>(file: string, given: readonly string[]): Promise<Message> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), given, {
    execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'],
  });
  return new Promise((resolve, reject) => {
    child.on('message', (message) => resolve(message as Message));
    child.on('exit', (code, signal) => reject(new Error(`${file} ended: ${signal ?? String(code)}`)));
  });
}

/** Sends the result to the parent process, and disconnects from it. */
export function sendResult(message: object): void {
  process.send?.(message, () => process.disconnect());
}

/** Bytes that are held on the heap and in array buffers once garbage is collected. */
export async function heldBytes(): Promise<number> {
  // Closed objects release their memory in later turns.
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });
  if (globalThis.gc === undefined) throw new Error('Node was started without --expose-gc');
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
