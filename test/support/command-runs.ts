import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { PROGRAM_ENVIRONMENT } from './program-environment.ts';
// What is run here is a text, and no import: see product.ts.
import './product.ts';

/** What a command printed, and its exit code. */
export interface CommandRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs each list of arguments through the program, and collects what it prints: it is run as text, in a process without types. */
const SCRIPT = `
const { run } = await import('./src/cli/program.ts');
const { syncBuiltinESMExports } = await import('node:module');
const { Readable } = await import('node:stream');
const { stdin } = process;
const giveStdin = (value) => {
  Object.defineProperty(process, 'stdin', { value, configurable: true });
  syncBuiltinESMExports();
};
const folder = process.cwd();
process.on('message', async ({ commands, columns, environment, input, cwd = folder }) => {
  Object.assign(process.env, environment);
  process.chdir(cwd);
  giveStdin(input === undefined ? stdin : Readable.from([Buffer.from(input)]));
  const written = { stdout: process.stdout.write, stderr: process.stderr.write };
  Object.assign(process.stdout, { isTTY: columns !== undefined, columns, hasColors: () => false });
  const runs = [];
  for (const args of commands) {
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
      process[name].write = (text, ...rest) => { texts[name] += text; rest.at(-1)?.(); return true; };
    process.exitCode = 0;
    await run(['node', 'capture-gateway', ...args]);
    runs.push({ code: process.exitCode, out: texts.stdout, err: texts.stderr });
  }
  process.exitCode = 0;
  process.chdir(folder);
  for (const name in environment) delete process.env[name];
  for (const name of ['stdout', 'stderr']) process[name].write = written[name];
  process.send(runs);
});
`;

/** The input of commands besides their arguments. */
export interface Surroundings {
  /** Stdout is a terminal of this width, and otherwise none. */
  readonly columns?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** What stdin has; without it, nothing. */
  readonly input?: string;
  /** The folder of the commands, in place of the checkout. */
  readonly cwd?: string;
}

let running: ChildProcess | undefined;
let turn: Promise<unknown> = Promise.resolve();

/** Runs commands one after the other in a process that all tests of this worker share, which saves a start for each. */
export function commandRuns(
  commands: readonly (readonly string[])[],
  surroundings: Surroundings = {},
): Promise<readonly CommandRun[]> {
  const runs = turn.then(() => play(commands, surroundings));
  turn = runs.catch(() => {});
  return runs;
}

/** Runs one command. */
export async function commandRun(
  args: readonly string[],
  surroundings: Surroundings = {},
): Promise<CommandRun> {
  const [only] = await commandRuns([args], surroundings);
  if (only === undefined) throw new Error(`${args.join(' ')} was not run`);
  return only;
}

async function play(
  commands: readonly (readonly string[])[],
  surroundings: Surroundings,
): Promise<readonly CommandRun[]> {
  running ??= started();
  const child = running;
  child.ref();
  child.channel?.ref();
  try {
    const answered = new Promise<readonly CommandRun[]>((resolve, reject) => {
      child.once('message', (runs: readonly CommandRun[]) => resolve(runs));
      child.once('exit', (code) => reject(new Error(`${JSON.stringify(commands)}: exit code ${code}`)));
    });
    child.send({ commands, ...surroundings });
    return await answered;
  } catch (error) {
    running = undefined;
    throw error;
  } finally {
    child.removeAllListeners('message').removeAllListeners('exit').unref();
    child.channel?.unref();
  }
}

/** It ends by itself once the channel to this process is closed. */
function started(): ChildProcess {
  return spawn(process.execPath, ['--input-type=module', '-e', SCRIPT], {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
    env: { ...PROGRAM_ENVIRONMENT },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}
