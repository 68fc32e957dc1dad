import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RuntimeGateway } from '../node/twin/runtime-gateway.ts';
import { bundleWorker, startWorkerd } from '../node/twin/workerd.ts';

/** Starts the worker on workerd in front of a V2, with the rule book at `rules`. Only in a checkout. */
export async function startWorkerdGateway(upstream: string, rules: string): Promise<RuntimeGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'twin-worker-'));
  // The bundle takes its rule book from here.
  process.env['GATEWAY_RULES'] = rules;
  const { file } = await bundleWorker(
    fileURLToPath(new URL('../../config/wrangler.jsonc', import.meta.url)),
    folder,
  );
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
