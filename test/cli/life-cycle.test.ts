import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

/** Runs a script that has set a deadline of 100 ms; returns its exit code and the signal that ended it. */
async function ending(script: string): Promise<readonly unknown[]> {
  const source = `const { setExitDeadline } = await import('./src/cli/life-cycle.ts'); setExitDeadline(100); ${script}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    cwd: new URL('../../', import.meta.url).pathname,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return once(child, 'exit');
}

test('a process that does not end by itself is killed', async () => {
  expect(await ending('setInterval(() => {}, 1000);')).toEqual([null, 'SIGKILL']);
});

test('a process that was suspended past its deadline first does the work that was due earlier', async () => {
  const stall = 'const end = performance.now() + 400; while (performance.now() < end);';
  expect(await ending(`setTimeout(() => process.exit(0), 150); ${stall}`)).toEqual([0, null]);
});
