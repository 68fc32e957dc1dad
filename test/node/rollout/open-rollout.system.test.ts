/** @module-tag redis */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { ProcessLine } from '../../../src/node/log/process-log.ts';
import {
  type OpenRollout,
  openRollout,
  type RolloutProcess,
} from '../../../src/node/rollout/open-rollout.ts';
import { readSettings, type Settings } from '../../../src/settings/read-settings.ts';
import { testRuleBook } from '../../support/rule-book.ts';
import { playedRedis } from '../../support/played-redis.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { until } from '../../support/until.ts';

interface Opened extends OpenRollout {
  readonly lines: readonly ProcessLine[];
}

const folder = (): string => temporaryFolder('rollout');

function settingsOf(flags: Readonly<Record<string, string>>): Settings {
  const read = readSettings({ flags, environment: {}, readFile: () => '' });
  if ('faults' in read) throw new Error(read.faults.join('\n'));
  return read.settings;
}

const V1 = { 'v1-upstream': 'http://127.0.0.1:9', 'client-secret': 'a secret of sixteen' };

/** Opens the rollout of one more replica. */
async function open(
  flags: Readonly<Record<string, string>>,
  own?: RolloutProcess,
): Promise<Opened | { readonly fault: string }> {
  const lines: ProcessLine[] = [];
  const log = (line: ProcessLine): unknown => lines.push(line);
  const opened = await openRollout(settingsOf({ ...V1, ...flags }), testRuleBook(), log, own);
  if ('fault' in opened) return opened;
  onTestFinished(() => opened.close());
  return { ...opened, lines };
}

async function replica(flags: Readonly<Record<string, string>>, own?: RolloutProcess): Promise<Opened> {
  const opened = await open(flags, own);
  if ('fault' in opened) throw new Error(opened.fault);
  return opened;
}

function namesIn(made: string): readonly string[] {
  return readdirSync(made)
    .filter((name) => !name.includes('.counts.'))
    .toSorted();
}

test('a chosen mode survives a restart', async () => {
  const path = join(folder(), 'rollout.json');
  const first = await replica({ store: `file:${path}` });
  expect(existsSync(path)).toBe(false);
  first.control.command({ mode: { mode: 'canary', share: 12.5 } });
  first.control.command({ mode: { mode: 'observe' }, operation: 'create_client' });
  first.control.command({ mode: { mode: 'migrate' }, client: '0123456789abcdef' });
  await first.close();
  const second = await replica({ store: `file:${path}` });
  expect(second.control.state).toEqual(first.control.state);
  expect(second.control.state).toMatchObject({ revision: 3, default: { mode: 'canary', share: 12.5 } });
});

test('replicas that share the file follow each other, and lose none of their changes', async () => {
  const path = join(folder(), 'rollout.json');
  const replicas = [
    await replica({ store: `file:${path}` }),
    await replica({ store: `file:${path}` }),
    await replica({ store: `file:${path}` }),
  ];
  for (const [number, { control }] of replicas.entries()) {
    for (let n = 0; n < 5; n += 1)
      control.command({ mode: { mode: 'observe' }, operation: `r${number}_${n}` });
  }
  await until(() => replicas.every(({ control }) => Object.keys(control.state.operations).length === 15));
  await until(() => new Set(replicas.map(({ control }) => control.state.revision)).size === 1);
  await Promise.all(replicas.map(({ close }) => close()));
  expect(namesIn(join(path, '..'))).toEqual([
    'rollout.json',
    'rollout.json.last-good',
    'rollout.json.lock',
    'rollout.json.state-1',
    'rollout.json.state-1-journal',
  ]);
});

test('a gateway with workers is one replica, and as many processes as it has workers', async () => {
  const flags = { store: `file:${join(folder(), 'rollout.json')}` };
  const alone = await replica(flags);
  const first = await replica(flags, { processes: 2 });
  const workers = [
    await replica({}, { processes: 1, store: first.store }),
    await replica({}, { processes: 1, store: first.store }),
  ];
  const all = [alone, first, ...workers].flatMap(({ replica: one }) => one ?? []);
  await until(() => all.every(({ processes, status }) => processes === 3 && status.replicas === 2));
  expect(all).toHaveLength(4);
});

test('a file that is damaged while the gateway runs is refused, and the state stays', async () => {
  const path = join(folder(), 'rollout.json');
  const { control, lines } = await replica({ store: `file:${path}` });
  control.command({ mode: { mode: 'observe' } });
  await until(() => existsSync(`${path}.last-good`));
  writeFileSync(path, '{"format":1,"revision":');
  await until(() => lines.some(({ event }) => event === 'rollout-damaged'));
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
    'an invalid share',
    '{"format":1,"revision":1,"changed":"2026-01-01T00:00:00Z","default":{"mode":"canary","share":0},"operations":{},"clients":{},"rollbacks":[]}',
  ],
  ['another layout', '{"format":2}'],
])('a file that holds %s at the start: the last good state is used', async (_, text) => {
  const path = join(folder(), 'rollout.json');
  const first = await replica({ store: `file:${path}` });
  first.control.command({ mode: { mode: 'observe' } });
  await first.close();
  writeFileSync(path, text);
  const second = await replica({ store: `file:${path}` });
  expect(second.lines.map(({ event }) => event)).toEqual(['rollout-damaged']);
  expect(second.control.state).toEqual(first.control.state);
});

test('a damaged file without a good copy stops the start, and so does one that cannot be read', async () => {
  const made = folder();
  const path = join(made, 'rollout.json');
  writeFileSync(path, 'x');
  expect(await open({ store: `file:${path}` })).toEqual({
    fault: `--store ${path} is not a stored rollout; name another file, or remove it to start over if it was one.`,
  });
  mkdirSync(join(made, 'directory'));
  expect(await open({ store: `file:${join(made, 'directory')}` })).toEqual({
    fault: expect.stringMatching(/directory cannot be read \(EISDIR: .+\)\.$/),
  });
  expect(namesIn(made)).toEqual(['directory', 'rollout.json']);
});

test('a folder that cannot be written is reported, and the change holds in memory', async () => {
  const {
    control,
    lines,
    replica: own,
  } = await replica({ store: `file:${join(folder(), 'nowhere', 'rollout.json')}` });
  control.command({ mode: { mode: 'observe' } });
  await until(() => lines.length > 0);
  expect(lines[0]).toMatchObject({ event: 'store-lost', message: expect.stringMatching(/ENOENT/) });
  expect(control.state.default).toEqual({ mode: 'observe' });
  expect(own?.status).toMatchObject({ waiting: 1, aloneReason: expect.stringMatching(/ENOENT/) });
});

test('replicas on a Redis server follow each other; one that starts without it has its copy', async () => {
  const server = await playedRedis();
  const copy = join(folder(), 'copy.json');
  const one = await replica({ store: server.url });
  const other = await replica({ store: `${server.url}?copy=${copy}` });
  one.control.command({ mode: { mode: 'canary', share: 10 } });
  await until(() => other.control.state.revision === 1);
  await until(() => existsSync(copy));
  await other.close();
  await server.kill();
  const alone = await replica({ store: `${server.url}?copy=${copy}` });
  expect(alone.control.state).toEqual(one.control.state);
  expect(alone.lines).toMatchObject([
    { event: 'store-lost', level: 'warn', message: expect.stringMatching(/ECONNREFUSED.+ revision 1 /) },
  ]);
  // A server without its data gets the choice again from a replica that knows it.
  await server.restart();
  const late = await replica({ store: server.url });
  await until(() => late.control.state.revision === 1);
  await until(() => alone.lines.some(({ event }) => event === 'store-found'));
});

/** Runs a script in a separate process, with `openRollout` and `lockFile` at hand; resolves to the exit code. */
function elsewhere(script: string): { readonly child: ChildProcess; readonly exit: Promise<number | null> } {
  const from = (file: string): string => JSON.stringify(new URL(`../../../${file}`, import.meta.url).href);
  const whole = `import { setTimeout as pause } from 'node:timers/promises';
    import { openRollout } from ${from('src/node/rollout/open-rollout.ts')};
    import { lockFile } from ${from('src/node/rollout/state-file.ts')};
    import { readSettings } from ${from('src/settings/read-settings.ts')};
    import { testRuleBook } from ${from('test/support/rule-book.ts')};
    ${script}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', whole], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, exit: once(child, 'exit').then(([code]) => (typeof code === 'number' ? code : null)) };
}

/** Commands of a replica in a separate process, each for its own operation. */
const commandsOf = (path: string, name: string, count: number): string => `
  const flags = ${JSON.stringify({ ...V1, store: `file:${path}` })};
  const { settings } = readSettings({ flags, environment: {}, readFile: () => '' });
  const { control, close } = await openRollout(settings, testRuleBook(), () => {});
  for (let n = 0; n < ${count}; n += 1) {
    control.command({ mode: { mode: 'observe' }, operation: '${name}_' + n });
    await pause(5);
  }
  await close();
  process.exit(0);`;

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
});

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
  const { control } = await replica({ store: `file:${path}` });
  control.command({ mode: { mode: 'observe' } });
  await pause(500);
  expect(existsSync(path)).toBe(false);
  holder.child.kill('SIGKILL');
  await until(() => existsSync(path));
  expect(readFileSync(path, 'utf8')).toContain('"observe"');
});
