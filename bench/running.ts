import { type ChildProcess, execFileSync, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../test/support/free-port.ts';
import type { Command, Peer, PeerPlace } from './peers/peer.ts';
import { openSockets, processorTime, residentBytes } from './processes.ts';

const START_MS = 60_000;

/** A process that serves on a port of 127.0.0.1. */
export class Running {
  readonly port: number;
  readonly child: ChildProcess;
  private text = '';

  constructor(
    port: number,
    { file, args, env }: Command,
    stdio: StdioOptions = ['ignore', 'ignore', 'pipe'],
  ) {
    this.port = port;
    this.child = spawn(file, args, { stdio, env: env ?? process.env });
    this.child.stderr?.on('data', (chunk: Buffer) => {
      if (this.text.length < 2 ** 20) this.text += chunk.toString();
    });
  }

  /** Waits until a check resolves. */
  async untilReady(check: (port: number) => Promise<unknown>): Promise<this> {
    const end = performance.now() + START_MS;
    for (;;) {
      try {
        await check(this.port);
        return this;
      } catch (error) {
        if (!this.isAlive || performance.now() > end) {
          this.child.kill('SIGKILL');
          const command = this.child.spawnargs.join(' ');
          throw new Error(`${command} did not start: ${String(error)}\n${this.text}`, { cause: error });
        }
        await delay(2);
      }
    }
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Microseconds of processor time that it, its threads and its workers have used. */
  processorTime(): number {
    return processorTime(this.pid);
  }

  /** Resident bytes of it and its workers; 0 when it has ended. */
  memory(): number {
    return residentBytes(this.pid, 'VmRSS');
  }

  /** The most that its memory was. */
  peak(): number {
    return residentBytes(this.pid, 'VmHWM');
  }

  sockets(): number {
    return openSockets(this.pid);
  }

  stderr(): string {
    return this.text;
  }

  /** Ends it in order, and by force after so many milliseconds; resolves to its exit code. */
  async stop(patience = 60_000): Promise<number | null> {
    if (this.isAlive) {
      const ended = once(this.child, 'exit');
      this.child.kill('SIGTERM');
      const late = setTimeout(() => this.child.kill('SIGKILL'), patience);
      await ended;
      clearTimeout(late);
    }
    return this.child.exitCode;
  }

  private get pid(): number {
    return this.child.pid ?? 0;
  }
}

/**
 * Starts a peer on processor 0. Its output, the gateway's log among it, goes into a pipe that is read, as in a container: a file that
 * grows costs what the system's memory costs at the moment, which is no figure of a proxy's.
 */
export async function startPeer(
  peer: Peer,
  place: Omit<PeerPlace, 'port'>,
  ready: (port: number) => Promise<unknown>,
): Promise<Running> {
  const port = await freePort();
  mkdirSync(place.folder, { recursive: true });
  const { file, args, env } = peer.command({ ...place, port });
  const command = { file: 'taskset', args: ['-c', '0', file, ...args], env: { ...process.env, ...env } };
  const output = readPipe(place.folder);
  const running = new Running(port, command, ['ignore', output, 'pipe']);
  closeSync(output);
  return running.untilReady(ready);
}

/** A pipe that `cat` reads until all that write to it have closed it; returns the descriptor to write to. */
function readPipe(folder: string): number {
  const path = join(folder, 'output');
  execFileSync('mkfifo', [path]);
  spawn('taskset', ['-c', '1', 'cat', path], { stdio: 'ignore' });
  return openSync(path, 'w');
}

/** Resolves when a port takes a connection; the first request is still to come. */
export async function accepts(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
}
