import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TlsFiles } from './peers/peer.ts';

/** A recording V2 in a process of its own, on processor 1. */
export interface UpstreamProcess {
  readonly port: number;
  readonly tlsPort: number;
  /** The last request that reached it. */
  last(): Promise<{ readonly head: string; readonly body: Buffer }>;
  stop(): void;
}

/** Starts it. */
export async function startUpstream({ cert, key }: TlsFiles): Promise<UpstreamProcess> {
  const file = fileURLToPath(new URL('./recording-upstream.ts', import.meta.url));
  const child = spawn('taskset', ['-c', '1', process.execPath, file, cert, key], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [ports] = (await once(child, 'message')) as [{ readonly port: number; readonly tlsPort: number }];
  return {
    ...ports,
    async last() {
      child.send('last');
      const [{ head, body }] = (await once(child, 'message')) as [{ head: string; body: string }];
      return { head, body: Buffer.from(body, 'base64') };
    },
    stop: () => void child.kill('SIGKILL'),
  };
}
