import { onTestFinished } from 'vitest';
import * as worker from '../../src/node/twin/twin-services.ts';
import { temporaryFolder } from './temporary-folder.ts';

export type { RunningWorkerd } from '../../src/node/twin/twin-services.ts';

/** Bundles the gateway's worker with the rule book in another file, in a copy of the sources; returns the file. */
export function bundleWorkerWith(rules: string): Promise<string> {
  return worker.bundleWorkerWith(rules, temporaryFolder('sources'));
}

/** Bundles a worker as a deployment would; returns the file of its first module and Wrangler's output. */
export function bundleWorker(configPath: string): ReturnType<typeof worker.bundleWorker> {
  return worker.bundleWorker(configPath, temporaryFolder('worker'));
}

/** Serves a bundled worker on a free port of the loopback interface; it ends with the test. */
export async function startWorkerd(
  file: string,
  variables: Readonly<Record<string, string>>,
): Promise<worker.RunningWorkerd> {
  const running = await worker.startWorkerd(file, variables);
  onTestFinished(() => running.stop());
  return running;
}
