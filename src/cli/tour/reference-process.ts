import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** Time for a reference service to start, in milliseconds. */
const START_TIMEOUT_MS = 20_000;
const POLL_MS = 10;

/** A reference service in a process of its own: started, stopped, and started again at the same address with other flags. */
export class ReferenceProcess {
  readonly origin: string;
  private readonly program: string;
  private readonly flags: readonly string[];
  private child: ChildProcess;

  private constructor(program: string, flags: readonly string[], started: StartedProcess) {
    this.program = program;
    this.flags = flags;
    this.child = started.child;
    this.origin = started.origin;
  }

  /** Starts `program reference` with these flags on a free port; rejects with what it said when it does not start. */
  static async start(program: string, flags: readonly string[]): Promise<ReferenceProcess> {
    return new ReferenceProcess(
      program,
      flags,
      await spawnReference(program, [...flags, '--listen', '127.0.0.1:0']),
    );
  }

  /** Stops the service and starts it again, with `more` flags. */
  async restart(more: readonly string[] = []): Promise<void> {
    await this.stop();
    const listen = ['--listen', this.origin.replace('http://', '')];
    const { child } = await spawnReference(this.program, [...this.flags, ...listen, ...more]);
    this.child = child;
  }

  /** Stops the service and waits for its end. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
  }

  /** Ends the service at once, without waiting. */
  kill(): void {
    this.child.kill('SIGKILL');
  }
}

interface StartedProcess {
  readonly child: ChildProcess;
  readonly origin: string;
}

async function spawnReference(program: string, flags: readonly string[]): Promise<StartedProcess> {
  // Settings of the gateway in the environment are not meant for the services of the tour.
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('GATEWAY_')),
  );
  const child = spawn(process.execPath, [program, 'reference', ...flags], {
    env: environment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  // Read to the end: the service reports errors there, and would end if nobody took them.
  child.stderr.on('data', (chunk: Buffer) => (said += said.length < MAX_SAID ? String(chunk) : ''));
  const origin = await originOf(child, () => /reference service on (http:\S+)/.exec(said)?.[1]);
  if (origin !== undefined) return { child, origin };
  child.kill('SIGKILL');
  throw new Error(`A reference service did not start: ${said.trim()}`);
}

/** Characters of stderr that are kept: those of the start. */
const MAX_SAID = 10_000;

/** Waits for the address that a service prints; undefined when it ends without, or takes too long. */
async function originOf(child: ChildProcess, read: () => string | undefined): Promise<string | undefined> {
  const end = performance.now() + START_TIMEOUT_MS;
  while (child.exitCode === null && child.signalCode === null && performance.now() < end) {
    const origin = read();
    if (origin !== undefined) return origin;
    await delay(POLL_MS);
  }
  return undefined;
}
