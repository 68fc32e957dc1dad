import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';

/** Node's own HTTP server in a separate process, which can be ended and started again on its port. */
export interface RestartingV2 {
  readonly origin: string;
  /**
   * Ends it with the signal, leaves the port free for so long, and starts it again; resolves when it listens, to the two times
   * of `performance.now` between which it ended.
   */
  restart(signal: NodeJS.Signals, downMs: number): Promise<readonly [from: number, to: number]>;
}

/** Responds to each request with its method, once its body is there. */
const PROGRAM = `
const server = require('node:http').createServer((request, response) => {
  request.resume().on('end', () => response.end(JSON.stringify({ data: { method: request.method } })));
});
server.listen(Number(process.argv[1]), '127.0.0.1', () => console.log(server.address().port));
`;

/** Starts one on a free port; it ends with the test. */
export async function restartingV2(): Promise<RestartingV2> {
  let [child, port] = await start(await freePort());
  onTestFinished(() => void child.kill('SIGKILL'));
  return {
    origin: `http://127.0.0.1:${port}`,
    restart: async (signal, downMs) => {
      const ended = once(child, 'exit');
      const from = performance.now();
      child.kill(signal);
      await ended;
      const to = performance.now();
      await pause(downMs);
      [child, port] = await start(port);
      return [from, to];
    },
  };
}

async function start(port: number): Promise<[child: ChildProcess, port: number]> {
  const child = spawn(process.execPath, ['-e', PROGRAM, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return [child, Number(String(line))];
}
