import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { sender } from '../../reference/service.ts';
import { PROGRAM } from '../../support/product.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

interface Running {
  readonly child: ChildProcess;
  readonly printed: { out: string; err: string };
  readonly exited: Promise<unknown[]>;
}

/** The real command in a process of its own. */
function command(args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
  const child = spawn(process.execPath, [PROGRAM, 'reference', ...args], {
    cwd: new URL('../../..', import.meta.url),
    env: { ...process.env, ...env },
  });
  const printed = { out: '', err: '' };
  child.stdout.on('data', (chunk) => (printed.out += chunk));
  child.stderr.on('data', (chunk) => (printed.err += chunk));
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, printed, exited: once(child, 'close') };
}

async function started({ child, printed }: Running): Promise<string> {
  while (!printed.err.includes('curl ') && child.exitCode === null) {
    await pause(10);
  }
  return /http:\/\/\S+:\d+/.exec(printed.err)?.[0] ?? `not started: ${printed.err}`;
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  'it serves until %s, then exits 0; stdout stays empty',
  async (signal) => {
    const running = command(['--listen', '127.0.0.1:0']);
    const origin = await started(running);
    expect((await sender(origin)('POST /clients', { name: 'x' })).status).toBe(201);
    running.child.kill(signal);
    expect(await running.exited).toEqual([0, null]);
    expect(running.printed.out).toBe('');
    expect(running.printed.err).not.toContain('Warning');
  },
);

test('with a file, data survives a restart, and two commands share it', async () => {
  const folder = temporaryFolder('reference');
  const args = ['--db', join(folder, 'v2.db'), '--listen', '127.0.0.1:0'];
  const first = [command(args), command(args)];
  const sends = (await Promise.all(first.map(started))).map((origin) => sender(origin));
  await Promise.all(
    sends.flatMap((send) => Array.from({ length: 50 }, () => send('POST /clients', { name: 'x' }))),
  );
  for (const { child } of first) child.kill('SIGTERM');
  expect(await Promise.all(first.map(({ exited }) => exited))).toEqual([
    [0, null],
    [0, null],
  ]);

  const again = command(args);
  const list = await sender(await started(again))('GET /clients');
  expect(list.body.meta.total).toBe(100);
});

test('unknown attributes are refused, and a key has its requests a minute', async () => {
  const args = ['--listen', '127.0.0.1:0', '--unknown', 'refuse', '--rate', '1'];
  const send = sender(await started(command(args)));
  expect((await send('POST /bookings', { data: {} })).status).toBe(422);
  expect((await send('GET /bookings')).status).toBe(429);
});

test('releases, deprecated attributes and keys that fail are started from flags', async () => {
  const flags = [
    '--release',
    '2026-06-01,2025-01-01',
    '--deprecated',
    'legacy_code',
    '--deprecations',
    'body',
  ];
  const keys = ['--read-only', 'visitor,guest', '--failing', 'unlucky'];
  const running = command(['--listen', '127.0.0.1:0', '--dialect', 'both', ...flags, ...keys]);
  const origin = await started(running);
  expect(running.printed.err).toContain('V1 only   legacy_code');
  expect(running.printed.err).toContain('2025-01-01, 2026-06-01 of V2');
  const [v1, v2] = [sender(origin, '/api/v1'), sender(origin)];
  const created = await v1('POST /clients', { data: { name: 'x', legacy_code: 1 } });
  expect(created.body).toEqual({
    data: { id: 1, name: 'x' },
    deprecations: [expect.anything()],
  });
  expect((await v2('GET /clients/1')).body.data).toEqual({ id: 1, display_name: 'x' });
  expect((await v2('DELETE /clients/1', undefined, { authorization: 'Bearer guest' })).status).toBe(403);
  expect((await v1('GET /clients/1', undefined, { authorization: 'Bearer unlucky' })).status).toBe(500);
  expect(running.printed.err).toContain('reference: Error: The store fails');
});

test('bad settings are all named at once, and exit 2', async () => {
  const args = ['--listen', 'nowhere', '--unknown', 'maybe', '--rate', '1.5', '--release', '2025-02-29'];
  const { exited, printed } = command(args);
  expect(await exited).toEqual([2, null]);
  expect(printed.err.trim().split('\n')).toEqual([
    expect.stringMatching(/--listen .*such as .*not "nowhere"/),
    expect.stringMatching(/--unknown .*refuse, strip, not "maybe"/),
    expect.stringMatching(/--rate .*whole number.*not "1.5"/),
    expect.stringMatching(/--release .*such as .*not "2025-02-29"/),
  ]);
  expect(printed.out).toBe('');
});

test('a file that cannot be opened exits 2 and is named', async () => {
  const { exited, printed } = command(['--listen', '127.0.0.1:0', '--db', '/nonexistent/v2.db']);
  expect(await exited).toEqual([2, null]);
  expect(printed.err).toMatch(/^reference: --db \/nonexistent\/v2\.db: .*Choose/);
});
