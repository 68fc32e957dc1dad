import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The last request that reached V2, and how V2 responds. */
export interface Recorded {
  readonly head: string;
  readonly body: Buffer;
  readonly response: string;
}

/** A recording V2 in a process of its own. */
export interface UpstreamProcess {
  readonly port: number;
  /** The port for TLS; 0 without a certificate. */
  readonly tlsPort: number;
  last(): Promise<Recorded>;
  stop(): void;
}

/** Starts it on processors such as `1` or `0,1`, with the files of a certificate and its key for TLS. */
export async function startUpstream(processors = '1', tls: readonly string[] = []): Promise<UpstreamProcess> {
  const file = fileURLToPath(new URL('./recording-upstream.ts', import.meta.url));
  const child = spawn('taskset', ['-c', processors, process.execPath, file, ...tls], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const { port, tlsPort } = (await message(child)) as { readonly port: number; readonly tlsPort: number };
  return {
    port,
    tlsPort,
    async last() {
      const reply = message(child);
      child.send('last');
      const { head, body, response } = (await reply) as { head: string; body: string; response: string };
      return { head, body: Buffer.from(body, 'base64'), response };
    },
    stop: () => child.kill('SIGKILL'),
  };
}

async function message(child: ChildProcess): Promise<unknown> {
  const [first] = (await once(child, 'message')) as [unknown];
  return first;
}
