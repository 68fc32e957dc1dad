import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { RolloutControl } from '../../../src/rollout/rollout-control.ts';
import { RolloutFile } from '../../../src/node/rollout/rollout-file.ts';
import { until } from '../../support/until.ts';

interface Replica {
  readonly control: RolloutControl;
  readonly file: RolloutFile;
  readonly notices: string[];
  readonly fault: string | undefined;
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'rollout-'));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

function replica(path: string): Replica {
  const notices: string[] = [];
  const file = new RolloutFile(path, ({ message }) => void notices.push(message));
  const control = new RolloutControl({
    time: Date.now,
    onNotice: () => {},
    save: (change) => file.keep(change),
  });
  const fault = file.open(control)?.fault;
  onTestFinished(() => file.close());
  return { control, file, notices, fault };
}

test('a chosen mode survives a restart', async () => {
  const path = join(folder(), 'rollout.json');
  const first = replica(path);
  expect(existsSync(path)).toBe(false);
  first.control.command({ mode: { mode: 'canary', share: 12.5 } });
  first.control.command({ mode: { mode: 'observe' }, operation: 'create_client' });
  first.control.command({ mode: { mode: 'migrate' }, client: '0123456789abcdef' });
  await first.file.close();
  const second = replica(path);
  expect(second.control.state).toEqual(first.control.state);
  expect(second.control.state).toMatchObject({ revision: 3, default: { mode: 'canary', share: 12.5 } });
});

test('replicas that share the file follow each other, and lose none of their changes', async () => {
  const path = join(folder(), 'rollout.json');
  const replicas = [replica(path), replica(path), replica(path)];
  for (const [number, { control }] of replicas.entries()) {
    for (let n = 0; n < 5; n += 1)
      control.command({ mode: { mode: 'observe' }, operation: `r${number}_${n}` });
  }
  await until(() => replicas.every(({ control }) => Object.keys(control.state.operations).length === 15));
  expect(new Set(replicas.map(({ control }) => control.state.revision))).toEqual(new Set([15]));
  expect(readdirSync(join(path, '..')).toSorted()).toEqual([
    'rollout.json',
    'rollout.json.last-good',
    'rollout.json.lock',
  ]);
});

test('a file that is damaged while the gateway runs is refused, and the state stays', async () => {
  const path = join(folder(), 'rollout.json');
  const { control, notices } = replica(path);
  control.command({ mode: { mode: 'observe' } });
  await until(() => existsSync(`${path}.last-good`));
  writeFileSync(path, '{"format":1,"revision":');
  await until(() => notices.some((line) => line.includes('damaged')));
  expect(control.state.default).toEqual({ mode: 'observe' });
  control.command({ mode: { mode: 'migrate' } });
  await until(() => readFileSync(path, 'utf8').includes('"migrate"'));
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ revision: 2, default: { mode: 'migrate' } });
});

test.each([
  ['nothing', ''],
  ['half of it', '{"format":1,"revis'],
  [
    'an unknown mode',
    '{"format":1,"revision":1,"changed":"2026-01-01T00:00:00Z","default":{"mode":"all"},"operations":{},"clients":{},"rollbacks":[]}',
  ],
  [
    'a share that is none',
    '{"format":1,"revision":1,"changed":"2026-01-01T00:00:00Z","default":{"mode":"canary","share":0},"operations":{},"clients":{},"rollbacks":[]}',
  ],
  ['another layout', '{"format":2}'],
])('a file that holds %s at the start: the last good state is used', async (_, text) => {
  const path = join(folder(), 'rollout.json');
  const first = replica(path);
  first.control.command({ mode: { mode: 'observe' } });
  await first.file.close();
  writeFileSync(path, text);
  const second = replica(path);
  expect(second.fault).toBeUndefined();
  expect(second.notices).toEqual([
    expect.stringMatching(/rollout\.json is damaged.*The last good state is used/),
  ]);
  expect(second.control.state).toEqual(first.control.state);
});

test('a damaged file without a good copy stops the start', () => {
  const path = join(folder(), 'rollout.json');
  writeFileSync(path, 'x');
  expect(replica(path).fault).toBe(`${path} is damaged; remove it to begin anew.`);
});

test('a folder that cannot be written is reported, and the change holds in memory', async () => {
  const { control, notices } = replica(join(folder(), 'nowhere', 'rollout.json'));
  control.command({ mode: { mode: 'observe' } });
  await until(() => notices.length > 0);
  expect(notices[0]).toMatch(/cannot be kept .*ENOENT/);
  expect(control.state.default).toEqual({ mode: 'observe' });
});

/** Runs a script in a process of its own, with `RolloutFile`, `RolloutControl` and `lockFile` at hand; resolves to the exit code. */
function elsewhere(script: string): { readonly child: ChildProcess; readonly exit: Promise<number | null> } {
  const from = (file: string): string =>
    JSON.stringify(new URL(`../../../src/${file}`, import.meta.url).href);
  const whole = `import { RolloutFile } from ${from('node/rollout/rollout-file.ts')};

    import { lockFile } from ${from('node/rollout/file-lock.ts')};
    import { RolloutControl } from ${from('rollout/rollout-control.ts')};
    ${script}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', whole], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, exit: once(child, 'exit').then(([code]) => (typeof code === 'number' ? code : null)) };
}

/** Commands of a replica in a process of its own: each on an operation of its own. */
const commandsOf = (path: string, name: string, count: number): string => `
  const file = new RolloutFile(${JSON.stringify(path)}, ({ message }) => console.error(message));
  const control = new RolloutControl({ time: Date.now, onNotice() {}, save: (change) => file.keep(change) });
  file.open(control);
  for (let n = 0; n < ${count}; n += 1) {
    control.command({ mode: { mode: 'observe' }, operation: '${name}_' + n });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await file.close();`;

test('processes that race for the file, beside the locks of dead ones, lose no change', async () => {
  const path = join(folder(), 'rollout.json');
  // A replica of before left the file of its lock.
  writeFileSync(`${path}.lock`, '');
  utimesSync(`${path}.lock`, new Date(0), new Date(0));
  const killed = elsewhere(commandsOf(path, 'killed', 1000));
  await until(() => existsSync(path));
  const exits = ['a', 'b', 'c', 'd'].map((name) => elsewhere(commandsOf(path, name, 15)).exit);
  killed.child.kill('SIGKILL');
  expect(await Promise.all(exits)).toEqual([0, 0, 0, 0]);
  const { operations } = JSON.parse(readFileSync(path, 'utf8')) as { operations: Record<string, unknown> };
  const names = Object.keys(operations).filter((name) => !name.startsWith('killed'));
  expect(names.toSorted()).toEqual(
    ['a', 'b', 'c', 'd'].flatMap((name) => Array.from({ length: 15 }, (_, n) => `${name}_${n}`)).toSorted(),
  );
}, 30_000);

test('a process that is stopped keeps the lock, however long; one that is killed gives it back at once', async () => {
  const path = join(folder(), 'rollout.json');
  const holder = elsewhere(
    `await lockFile(${JSON.stringify(`${path}.lock`)}); process.stdout.write('held'); setInterval(() => {}, 1000);`,
  );
  if (holder.child.stdout === null) throw new Error('it has no stdout');
  await once(holder.child.stdout, 'data');
  holder.child.kill('SIGSTOP');
  // As old as a lock can be.
  utimesSync(`${path}.lock`, new Date(0), new Date(0));
  const { control } = replica(path);
  control.command({ mode: { mode: 'observe' } });
  await new Promise((resolve) => {
    setTimeout(resolve, 500);
  });
  expect(existsSync(path)).toBe(false);
  holder.child.kill('SIGKILL');
  await until(() => existsSync(path));
  expect(readFileSync(path, 'utf8')).toContain('"observe"');
});
