import { onTestFinished } from 'vitest';
import * as worker from '../../src/node/twin/workerd.ts';
import { temporaryFolder } from './temporary-folder.ts';

export type { RunningWorkerd } from '../../src/node/twin/workerd.ts';

/** Bundles a worker as a deployment would, into one module; returns its file, and what Wrangler said. */
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
