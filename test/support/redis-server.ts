import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

const HOW_TO_GET = 'redis-server is needed for these tests: apt-get install redis-server (or valkey-server).';

/** A real Redis server of a test. */
export class RedisServer {
  readonly port: number;
  private readonly flags: readonly string[];
  private child: ChildProcess | undefined;

  private constructor(port: number, flags: readonly string[]) {
    this.port = port;
    this.flags = flags;
  }

  /** Starts a server that keeps nothing; its caller ends it. `flags` are those of `redis-server`. */
  static async start(flags: readonly string[] = []): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), flags);
    await server.restart();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts the server again, empty, on the same port. */
  async restart(): Promise<void> {
    const flags = ['--port', String(this.port), '--save', '', '--dir', tmpdir(), ...this.flags];
    const child = spawn(command(), ['--bind', '127.0.0.1', ...flags], { stdio: 'ignore' });
    this.child = child;
    const at = this.flags.indexOf('--tls-port');
    const port = at === -1 ? this.port : Number(this.flags[at + 1]);
    await until(() => {
      if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
      return accepts(port);
    });
  }

  /** Ends the server as a crash does. */
  async kill(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** Stops the process: connections stay, and nothing responds. */
  hang(): void {
    this.child?.kill('SIGSTOP');
  }

  resume(): void {
    this.child?.kill('SIGCONT');
  }
}

function command(): string {
  for (const name of ['redis-server', 'valkey-server'])
    if (spawnSync(name, ['--version']).status === 0) return name;
  throw new Error(HOW_TO_GET);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
