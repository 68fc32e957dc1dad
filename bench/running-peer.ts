import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, truncateSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client } from './load.ts';
import type { Peer } from './peers/peer.ts';
import { processorTime, residentBytes } from './processes.ts';

/** A peer that serves. */
export class RunningPeer {
  readonly peer: Peer;
  readonly port: number;
  /** Milliseconds from the start of the process to the first answer. */
  readonly start: number;
  readonly #child: ChildProcess;
  readonly #log: string;

  private constructor(peer: Peer, port: number, start: number, child: ChildProcess, log: string) {
    this.peer = peer;
    this.port = port;
    this.start = start;
    this.#child = child;
    this.#log = log;
  }

  /** Starts a peer on processor 0, its output to a file, and waits until it answers `request`. */
  static async start(peer: Peer, upstream: number, folder: string, request: Buffer): Promise<RunningPeer> {
    const port = await freePort();
    mkdirSync(folder, { recursive: true });
    const { file, args, env } = peer.command({ port, upstream, folder });
    const log = join(folder, 'output');
    const output = openSync(log, 'a');
    const began = performance.now();
    const child = spawn('taskset', ['-c', '0', file, ...args], {
      stdio: ['ignore', output, output],
      env: { ...process.env, ...env },
    });
    closeSync(output);
    await firstAnswer(peer, port, request, child, log);
    return new RunningPeer(peer, port, performance.now() - began, child, log);
  }

  /** Milliseconds of processor time that it has used. */
  processorTime(): number {
    return processorTime(this.#child.pid ?? 0);
  }

  residentBytes(): number {
    return residentBytes(this.#child.pid ?? 0);
  }

  /** Throws away what it has logged, so that the disk does not fill. */
  emptyLog(): void {
    truncateSync(this.#log);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.kill('SIGTERM');
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 5000);
    await once(this.#child, 'exit');
    clearTimeout(late);
  }
}

async function firstAnswer(
  peer: Peer,
  port: number,
  request: Buffer,
  child: ChildProcess,
  log: string,
): Promise<void> {
  const end = performance.now() + 20_000;
  for (;;) {
    try {
      const client = await Client.open(port);
      await client.ask(request);
      client.close();
      return;
    } catch (error) {
      if (child.exitCode !== null || performance.now() > end) {
        child.kill('SIGKILL');
        const output = readFileSync(log, 'utf8').slice(0, 2000);
        throw new Error(`${peer.name} does not answer: ${String(error)}\n${output}`, { cause: error });
      }
      await new Promise((resolve) => {
        setTimeout(resolve, 2);
      });
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
