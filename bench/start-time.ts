import { spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

/** Starts of each command; the first one, which fills the compile cache, does not count. */
const STARTS = 20;

/** Commands with their arguments for Node. `node -e 0` is what Node itself takes. */
const COMMANDS: readonly (readonly string[])[] = [
  ['-e', '0'],
  ['src/cli/capture-gateway.js', '--version'],
  ['src/cli/capture-gateway.js', '--help'],
  ['src/cli/capture-gateway.js', 'serve', '--help'],
  ['src/cli/capture-gateway.js', 'completion', 'bash'],
  ['src/cli/capture-gateway.js', 'check'],
];

/** Prints the time from the start of a command to its end: `npm run bench -- start`. */
export function benchStart(): void {
  process.stdout.write('ms     fastest  median  command\n');
  for (const args of COMMANDS) {
    const times = Array.from({ length: STARTS + 1 }, () => startTime(args))
      .slice(1)
      .toSorted((one, other) => one - other);
    const [fastest = 0, median = 0] = [times[0], times[STARTS / 2]];
    process.stdout.write(
      `       ${fastest.toFixed(0).padStart(7)}  ${median.toFixed(0).padStart(6)}  node ${args.join(' ')}\n`,
    );
  }
}

function startTime(args: readonly string[]): number {
  const began = performance.now();
  const { status } = spawnSync(process.execPath, args, {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
  });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`);
  return performance.now() - began;
}
