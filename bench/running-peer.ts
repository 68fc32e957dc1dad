import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { Client } from './load.ts';
import type { Peer } from './peers/peer.ts';
import { processorTime, residentBytes } from './processes.ts';
import { freePort } from '../test/support/free-port.ts';

/** A peer that serves. */
export class RunningPeer {
  readonly peer: Peer;
  readonly port: number;
  /** Milliseconds from the start of the process to the first response. */
  readonly start: number;
  private readonly child: ChildProcess;

  private constructor(peer: Peer, port: number, start: number, child: ChildProcess) {
    this.peer = peer;
    this.port = port;
    this.start = start;
    this.child = child;
  }

  /**
   * Starts a peer on processor 0, and waits until it responds to `request`. Its output, the gateway's log among it, goes into a pipe
   * that is read, as in a container: a file that grows costs what the system's memory costs at the moment, which is no figure of a
   * proxy's.
   */
  static async start(peer: Peer, upstream: number, folder: string, request: Buffer): Promise<RunningPeer> {
    const port = await freePort();
    mkdirSync(folder, { recursive: true });
    const { file, args, env } = peer.command({ port, upstream, folder });
    const began = performance.now();
    const child = spawn('taskset', ['-c', '0', file, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    const said = new Said();
    child.stdout.on('data', (chunk: Buffer) => said.add(chunk));
    child.stderr.on('data', (chunk: Buffer) => said.add(chunk));
    await firstResponse(peer, port, request, child, said);
    return new RunningPeer(peer, port, performance.now() - began, child);
  }

  /** Milliseconds of processor time that it has used. */
  processorTime(): number {
    return processorTime(this.child.pid ?? 0);
  }

  residentBytes(): number {
    return residentBytes(this.child.pid ?? 0);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return;
    this.child.kill('SIGTERM');
    const late = setTimeout(() => this.child.kill('SIGKILL'), 5000);
    await once(this.child, 'exit');
    clearTimeout(late);
  }
}

/** The beginning of the output of a process. */
class Said {
  text = '';

  add(chunk: Buffer): void {
    if (this.text.length < 2000) this.text += chunk.toString();
  }
}

async function firstResponse(
  peer: Peer,
  port: number,
  request: Buffer,
  child: ChildProcess,
  said: Said,
): Promise<void> {
  const end = performance.now() + 20_000;
  for (;;) {
    try {
      const client = await Client.open(port);
      await client.request(request);
      client.close();
      return;
    } catch (error) {
      if (child.exitCode !== null || performance.now() > end) {
        child.kill('SIGKILL');
        throw new Error(`${peer.name} does not respond: ${String(error)}\n${said.text}`, { cause: error });
      }
      await new Promise((resolve) => {
        setTimeout(resolve, 2);
      });
    }
  }
}
