import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from './load.ts';
import type { Peer, PeerPlace } from './peers/peer.ts';
import { treeMemory, treeTime, treeWait } from './processes.ts';
import { freePort } from '../test/support/free-port.ts';

/** A peer that serves. */
export class RunningPeer {
  readonly peer: Peer;
  readonly port: number;
  private readonly child: ChildProcess;

  private constructor(peer: Peer, port: number, child: ChildProcess) {
    this.peer = peer;
    this.port = port;
    this.child = child;
  }

  /**
   * Starts a peer on processor 0, and waits until it responds to `request`. Its output, the gateway's log among it, goes into a pipe
   * that is read, as in a container: a file that grows costs what the system's memory costs at the moment, which is no figure of a
   * proxy's.
   */
  static async start(
    peer: Peer,
    place: Omit<PeerPlace, 'port'>,
    request: Buffer,
    ready: ReadyCheck = responds,
  ): Promise<RunningPeer> {
    const port = await freePort();
    mkdirSync(place.folder, { recursive: true });
    const { file, args, env } = peer.command({ ...place, port });
    const output = readPipe(place.folder);
    const child = spawn('taskset', ['-c', '0', file, ...args], {
      stdio: ['ignore', output, 'pipe'],
      env: { ...process.env, ...env },
    });
    closeSync(output);
    const said = new Said();
    child.stderr?.on('data', (chunk: Buffer) => said.add(chunk));
    await untilReady(peer, child, said, () => ready(port, request, place.clientTls !== undefined));
    return new RunningPeer(peer, port, child);
  }

  /** Milliseconds of processor time that it, its threads and its workers have used. */
  processorTime(): number {
    return treeTime(this.child.pid ?? 0) / 1000;
  }

  /** Milliseconds for which it had work and no processor. */
  waitTime(): number {
    return treeWait(this.child.pid ?? 0) / 1000;
  }

  /** Resident memory of it and its workers, in MiB. */
  memory(): number {
    return treeMemory(this.child.pid ?? 0) / 2 ** 20;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return;
    this.child.kill('SIGTERM');
    const late = setTimeout(() => this.child.kill('SIGKILL'), 5000);
    await once(this.child, 'exit');
    clearTimeout(late);
  }
}

/** A pipe that `cat` reads until all that write to it have closed it; returns the descriptor to write to. */
function readPipe(folder: string): number {
  const path = join(folder, 'output');
  execFileSync('mkfifo', [path]);
  spawn('taskset', ['-c', '1', 'cat', path], { stdio: 'ignore' });
  return openSync(path, 'w');
}

/** The beginning of the errors of a process. */
class Said {
  text = '';

  add(chunk: Buffer): void {
    if (this.text.length < 2000) this.text += chunk.toString();
  }
}

/** Resolves when a proxy is ready, and rejects when it is not yet. */
export type ReadyCheck = (port: number, request: Buffer, isTls: boolean) => Promise<void>;

async function responds(port: number, request: Buffer, isTls: boolean): Promise<void> {
  const client = await Client.open(port, isTls);
  await client.request(request);
  client.close();
}

/** Ready is what accepts a connection: its first request is still to come. */
export async function acceptsOne(port: number): Promise<void> {
  (await Client.open(port)).close();
}

async function untilReady(
  peer: Peer,
  child: ChildProcess,
  said: Said,
  check: () => Promise<void>,
): Promise<void> {
  const end = performance.now() + 20_000;
  for (;;) {
    try {
      await check();
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
