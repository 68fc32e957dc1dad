import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sender } from '../../reference/service.ts';
import { command, type RunningCommand } from '../../support/command.ts';
import { commandRun } from '../../support/command-runs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const reference = (...args: readonly string[]): RunningCommand =>
  command(['reference', '--listen', '127.0.0.1:0', ...args]);

async function started(running: RunningCommand): Promise<string> {
  const [origin] = await running.until(/http:\/\/\S+:\d+(?=[^]*curl )/);
  return origin;
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  'it serves until %s, then exits 0; stdout stays empty',
  async (signal) => {
    const running = reference();
    const origin = await started(running);
    expect((await sender(origin)('POST /clients', { name: 'x' })).status).toBe(201);
    expect(await running.stop(signal)).toBe(0);
    expect(running.stdout()).toBe('');
    expect(running.stderr()).not.toContain('Warning');
  },
);

test('with a file, data survives a restart, and two commands share it', async () => {
  const folder = temporaryFolder('reference');
  const args = ['--db', join(folder, 'v2.db')];
  const first = [reference(...args), reference(...args)];
  const sends = (await Promise.all(first.map(started))).map((origin) => sender(origin));
  await Promise.all(
    sends.flatMap((send) => Array.from({ length: 50 }, () => send('POST /clients', { name: 'x' }))),
  );
  expect(await Promise.all(first.map((one) => one.stop()))).toEqual([0, 0]);
  const list = await sender(await started(reference(...args)))('GET /clients');
  expect(list.body.meta.total).toBe(100);
});

test('unknown attributes are refused, and a key has its requests a minute', async () => {
  const send = sender(await started(reference('--unknown', 'refuse', '--rate', '1')));
  expect((await send('POST /bookings', { data: {} })).status).toBe(422);
  expect((await send('GET /bookings')).status).toBe(429);
});

test('releases, deprecated attributes and keys that fail are started from flags', async () => {
  const releases = ['--release', '2026-06-01,2025-01-01'];
  const flags = ['--dialect', 'both', '--deprecated', 'legacy_code', '--deprecations', 'body'];
  const keys = ['--read-only', 'visitor,guest', '--failing', 'unlucky'];
  const running = reference(...releases, ...flags, ...keys);
  const origin = await started(running);
  expect(running.stderr()).toContain('V1 only   legacy_code');
  expect(running.stderr()).toContain('2025-01-01, 2026-06-01 of V2');
  const [v1, v2] = [sender(origin, '/api/v1'), sender(origin)];
  const created = await v1('POST /clients', { data: { name: 'x', legacy_code: 1 } });
  expect(created.body).toEqual({
    data: { id: 1, name: 'x' },
    deprecations: [expect.anything()],
  });
  expect((await v2('GET /clients/1')).body.data).toEqual({ id: 1, display_name: 'x' });
  expect((await v2('DELETE /clients/1', undefined, { authorization: 'Bearer guest' })).status).toBe(403);
  expect((await v1('GET /clients/1', undefined, { authorization: 'Bearer unlucky' })).status).toBe(500);
  expect(running.stderr()).toContain('reference: Error: The store fails');
});

test('bad settings are all named at once, and exit 2', async () => {
  const args = ['--listen', 'nowhere', '--unknown', 'maybe', '--rate', '1.5', '--release', '2025-02-29'];
  const { code, out, err } = await commandRun(['reference', ...args]);
  expect([code, out]).toEqual([2, '']);
  expect(err.trim().split('\n')).toEqual([
    expect.stringMatching(/--listen .*such as .*not "nowhere"/),
    expect.stringMatching(/--unknown .*refuse, strip, not "maybe"/),
    expect.stringMatching(/--rate .*whole number.*not "1.5"/),
    expect.stringMatching(/--release .*such as .*not "2025-02-29"/),
  ]);
});

test('a file that cannot be opened exits 2 and is named', async () => {
  const { code, err } = await commandRun([
    'reference',
    '--listen',
    '127.0.0.1:0',
    '--db',
    '/nonexistent/v2.db',
  ]);
  expect([code, err]).toEqual([2, expect.stringMatching(/^reference: --db \/nonexistent\/v2\.db: .*Choose/)]);
});
