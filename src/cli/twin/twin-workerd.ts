import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { RuntimeGateway } from '../../node/twin/twin-services.ts';
import { bundleWorkerWith, startWorkerd } from '../../node/twin/workerd.ts';

/** Starts the worker on workerd in front of a V2, with the rule book at `rules`. Only in a checkout. */
export async function startWorkerdGateway(upstream: string, rules: string): Promise<RuntimeGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'twin-worker-'));
  const file = await bundleWorkerWith(resolve(rules), folder);
  const worker = await startWorkerd(file, {
    GATEWAY_UPSTREAM: upstream,
    GATEWAY_CLIENT_SECRET: randomBytes(16).toString('hex'),
  });
  return {
    origin: `http://127.0.0.1:${worker.port}`,
    stop: async () => {
      await worker.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
