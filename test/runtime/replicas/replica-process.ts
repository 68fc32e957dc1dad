import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PROGRAM } from '../../support/product.ts';
import { PROGRAM_ENVIRONMENT } from '../../support/program-environment.ts';
import type { RolloutView } from '../../../src/rollout/rollout-tally.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A line of the process log. */
export interface LogLine {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly event: string;
  readonly msg: string;
  readonly clients?: string;
  readonly admin?: string;
}

/** A gateway in a separate process. */
export class ReplicaProcess {
  readonly lines: LogLine[] = [];
  readonly child: ChildProcess;
  private origin = '';
  private adminOrigin = '';

  private constructor(flags: Readonly<Record<string, string>>, program: string, aheadMs: number) {
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
    this.child = spawn(
      process.execPath,
      [program, 'serve', '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0', ...args],
      {
        cwd: root,
        env: {
          ...PROGRAM_ENVIRONMENT,
          GATEWAY_LOG_FORMAT: 'json',
          GATEWAY_LOG_FILE: '/dev/null',
          ...(aheadMs === 0 ? {} : { NODE_OPTIONS: `--import=data:text/javascript,${clockAhead(aheadMs)}` }),
        },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
  }

  /**
   * Starts a gateway with settings as flags, of the checkout or of another program, whose clock is so many milliseconds ahead; resolves
   * when it serves.
   */
  static async start(
    flags: Readonly<Record<string, string>>,
    program = PROGRAM,
    aheadMs = 0,
  ): Promise<ReplicaProcess> {
    const replica = new ReplicaProcess(flags, program, aheadMs);
    const { stderr } = replica.child;
    if (stderr === null) throw new Error('the process has no stderr');
    const reader = createInterface({ input: stderr });
    const started = new Promise<LogLine>((resolve, reject) => {
      replica.child.on('exit', () => reject(new Error(JSON.stringify(replica.lines))));
      reader.on('line', (text) => {
        const line = readLine(text);
        replica.lines.push(line);
        if (line.event === 'started') resolve(line);
      });
    });
    const { clients = '', admin = '' } = await started;
    replica.origin = clients;
    replica.adminOrigin = admin;
    return replica;
  }

  /** Where clients connect. */
  get url(): string {
    return this.origin;
  }

  /** The state of the rollout as this replica sees it. */
  async rollout(): Promise<RolloutView> {
    const response = await fetch(`${this.adminOrigin}/rollout`);
    return (await response.json()) as RolloutView;
  }

  /** Sets a mode through this replica. */
  async command(request: Readonly<Record<string, unknown>>): Promise<void> {
    const response = await fetch(`${this.adminOrigin}/rollout`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    if (response.status !== 200) throw new Error(await response.text());
  }

  /** Status and body of a path of the admin listener. */
  async admin(path: string): Promise<string> {
    return (await fetch(`${this.adminOrigin}${path}`)).text();
  }

  /** Ends the process as a crash does. */
  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  /** Ends the process as a deployment does. */
  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  private async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill(signal);
    await ended;
  }
}

/** A module that sets the clock of its process ahead. */
function clockAhead(milliseconds: number): string {
  return encodeURIComponent(`const now = Date.now; Date.now = () => now() + ${milliseconds};`);
}

function readLine(text: string): LogLine {
  const read = JSON.parse(text) as Omit<LogLine, 'time'> & { readonly time: string | number };
  return { ...read, time: new Date(read.time).getTime() };
}
