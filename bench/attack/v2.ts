import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A V2 in a thread of its own, with paths on which it does odd things; see `v2-thread.ts`. */
export interface V2 {
  readonly origin: string;
  /** Takes requests and never responds. */
  readonly silentOrigin: string;
  stop(): Promise<void>;
}

/** Starts it on free ports. */
export async function startV2(): Promise<V2> {
  const worker = new Worker(new URL('v2-thread.ts', import.meta.url));
  const [ports] = (await once(worker, 'message')) as [{ readonly port: number; readonly silentPort: number }];
  return {
    origin: `http://127.0.0.1:${ports.port}`,
    silentOrigin: `http://127.0.0.1:${ports.silentPort}`,
    stop: async () => void (await worker.terminate()),
  };
}

/** What V2 writes, byte by byte: texts as latin1, each so many times. */
export type Script = readonly (readonly [text: string, times: number])[];

/** A path on which V2 writes this in place of a response, and closes behind it if so requested. */
export function scripted(path: string, script: string | Script, closes = false): string {
  const all = typeof script === 'string' ? [[script, 1]] : script;
  return `${path}?play=${Buffer.from(JSON.stringify(all)).toString('base64url')}${closes ? '&closes' : ''}`;
}

/** JSON in chunks of one byte each, so many bytes in all. */
export function tinyChunks(bytes: number): Script {
  const inChunks = (text: string): string => text.replaceAll(/./g, '1\r\n$&\r\n');
  return [
    ['HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n', 1],
    [inChunks('{"data":{"highlight_type":"'), 1],
    [inChunks('x'), bytes - 32],
    [`${inChunks('"}}')}0\r\n\r\n`, 1],
  ];
}
