import { execFile } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from './temporary-folder.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The output of a command, and its exit code. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command with the pinned Node first on the path; a failure is an outcome. */
export async function run(command: string, given: readonly string[], cwd: string): Promise<Ran> {
  const PATH = [join(root, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(delimiter);
  const env = { ...process.env, PATH, NODE_ENV: '', npm_config_audit: 'false', npm_config_fund: 'false' };
  try {
    const { stdout, stderr } = await promisify(execFile)(command, given, { cwd, env, maxBuffer: 1 << 26 });
    return { code: 0, stdout, stderr };
  } catch (error) {
    if (!(error instanceof Error) || !('stdout' in error)) throw error;
    const { code, stdout, stderr } = error as Error & { code?: number; stdout: string; stderr: string };
    return { code: code ?? -1, stdout, stderr };
  }
}

/** Runs a command that has to succeed; returns its output. */
export async function done(command: string, given: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await run(command, given, cwd);
  if (code !== 0) throw new Error(`${command} ${given.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

/** Packs the package as it would be published; returns the tarball. */
export async function packed(): Promise<string> {
  const folder = temporaryFolder('packed');
  const said = await done('npm', ['pack', '--json', '--pack-destination', folder], root);
  return join(folder, /"filename": "([^"]+)"/.exec(said)?.[1] ?? '');
}
