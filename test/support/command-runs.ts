import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { COMPILE_CACHE } from './compile-cache.ts';
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
const write = process.stdout.write.bind(process.stdout);
const runs = [];
const { commands, columns } = JSON.parse(process.argv[1]);
if (columns !== undefined) Object.assign(process.stdout, { isTTY: true, columns, hasColors: () => false });
for (const args of commands) {
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'])
    process[name].write = (text, ...rest) => { texts[name] += text; rest.at(-1)?.(); return true; };
  process.exitCode = 0;
  await run(['node', 'capture-gateway', ...args]);
  runs.push({ code: process.exitCode, out: texts.stdout, err: texts.stderr });
}
process.exitCode = 0;
write(JSON.stringify(runs));
`;

/**
 * Runs commands one after the other in one process, which saves a start for each; stdin is empty. With `columns` stdout says that it
 * is a terminal of this width.
 */
export async function commandRuns(
  commands: readonly (readonly string[])[],
  columns?: number,
): Promise<readonly CommandRun[]> {
  const running = promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', SCRIPT, JSON.stringify({ commands, columns })],
    {
      cwd: fileURLToPath(new URL('../../', import.meta.url)),
      env: { PATH: process.env['PATH'] ?? '', ...COMPILE_CACHE },
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  running.child.stdin?.end();
  const runs: readonly CommandRun[] = JSON.parse((await running).stdout);
  return runs;
}
