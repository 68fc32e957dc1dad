/** @module-tag script */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { command } from '../support/command.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { PROGRAM } from '../support/product.ts';
import { constants } from '../../src/settings/settings.ts';

const ANY_PORT = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';

interface Line {
  readonly level: string;
  readonly event: string;
  readonly msg: string;
  readonly [member: string]: unknown;
}

/** The lines of stderr, each of which has to parse. */
function linesOf(stderr: string): readonly Line[] {
  return stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

const portOf = (stderr: string): number => Number(/"clients":"http:\/\/[^"]+:(\d+)"/.exec(stderr)?.[1]);

test('start, upstream faults, circuit, reload, drain and exit are JSON lines in a pipe, and stdout has entries only', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = command(
    ['serve', ...ANY_PORT, '--upstream', v2.origin, '--upstream-connect-timeout', '200'],
    { GATEWAY_LOG_FORMAT: 'auto' },
  );
  await gateway.until(/"event":"started".*\n/);
  const port = portOf(gateway.stderr());
  v2.server.close();
  for (let count = 0; count < constants.breakerFailures + 2; count += 1)
    expect([502, 503]).toContain(statusOf(await exchange(port, GET)));
  await gateway.until(/"event":"circuit-opened".*\n/);
  v2.server.listen(v2.port, '127.0.0.1');
  await once(v2.server, 'listening');
  await until(async () => statusOf(await exchange(port, GET)) === 200);
  await gateway.until(/"event":"circuit-closed".*\n/);
  gateway.child.kill('SIGHUP');
  await gateway.until(/"event":"rule-book-in-force".*\n/);
  expect(await gateway.stop()).toBe(0);
  const lines = linesOf(gateway.stderr());
  expect(lines.map(({ event }) => event).filter((event) => event !== 'upstream-fault')).toEqual([
    'started',
    'circuit-opened',
    'circuit-closed',
    'rule-book-in-force',
    'draining',
    'stopped',
  ]);
  expect(lines.find(({ event }) => event === 'upstream-fault')).toMatchObject({
    level: 'warn',
    origin: 'v2',
    kind: 'unreachable',
    cause: 'ECONNREFUSED',
    sent: false,
  });
  for (const line of gateway.stdout().trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('route');
});

test('a start that is refused prints each fault as a JSON line', async () => {
  const gateway = command(['serve', '--drain', 'soon', '--max-in-flight', '-1'], {
    GATEWAY_LOG_FORMAT: '',
  });
  expect(await gateway.exit).toBe(2);
  const lines = linesOf(gateway.stderr());
  expect(lines.map(({ event, level }) => `${level} ${event}`)).toEqual(
    Array.from({ length: 2 }, () => 'error start-refused'),
  );
  expect(lines.map(({ msg }) => msg).join('\n')).toMatch(
    /--max-in-flight[^]*--drain|--drain[^]*--max-in-flight/,
  );
});

test('with workers, and with the warnings of Node, every line parses', async () => {
  const gateway = command(['serve', ...ANY_PORT, '--workers', '2'], {
    GATEWAY_LOG_FORMAT: 'auto',
    NODE_OPTIONS: '--trace-warnings',
  });
  await gateway.until(/"event":"started".*\n/);
  const [pid = 0] = await childrenOf(gateway.child.pid ?? 0);
  process.kill(pid, 'SIGKILL');
  await gateway.until(/"event":"worker-ended".*\n/);
  expect(await gateway.stop()).toBe(0);
  expect(linesOf(gateway.stderr()).map(({ event }) => event)).toContain('worker-ended');
});

test('on a terminal people read sentences, and the rewrite log as tail shows it', async () => {
  const { child, shown, pid, port } = await servedOnTerminal();
  expect(statusOf(await exchange(port, GET))).toBe(200);
  await until(() => shown().includes('/api/v2/x'));
  expect(shown()).toMatch(/client +mode +sent to +outcome +status +ms +request\r\n/);
  expect(shown()).not.toContain('{"time"');
  process.kill(pid, 'SIGTERM');
  await once(child, 'close');
  expect(stripVTControlCharacters(shown())).toMatch(
    /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z info stopping: .*\r\n/,
  );
});

test('a gateway ends when its terminal closes, and not at another SIGHUP', async () => {
  const { child, pid, port } = await servedOnTerminal();
  process.kill(pid, 'SIGHUP');
  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect(statusOf(await exchange(port, GET))).toBe(200);
  // The other end of the terminal closes with its holder.
  child.kill('SIGKILL');
  await until(() => !isAlive(pid));
});

test('a gateway with redirected streams goes on when its terminal closes, as under nohup', async () => {
  const output = join(temporaryFolder('nohup'), 'output');
  const child = await onTerminal(`< /dev/null > ${output} 2>&1`);
  const read = (): string => (existsSync(output) ? readFileSync(output, 'utf8') : '');
  await until(() => read().includes('"event":"started"'));
  const [pid = 0] = await childrenOf(child.pid ?? 0);
  onTestFinished(() => void (isAlive(pid) && process.kill(pid, 'SIGKILL')));
  child.kill('SIGKILL');
  await once(child, 'exit');
  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect(statusOf(await exchange(portOf(read()), GET))).toBe(200);
});

/** Starts a gateway on a new terminal, which `script` holds, in front of a new V2. */
async function onTerminal(redirection: string): Promise<ChildProcess> {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const line = [process.execPath, PROGRAM, 'serve', ...ANY_PORT, '--upstream', v2.origin, redirection].join(
    ' ',
  );
  const child = spawn('script', ['-qefc', `exec ${line}`, '/dev/null'], {
    cwd: new URL('../../', import.meta.url).pathname,
    env: { PATH: process.env['PATH'] ?? '', TERM: 'xterm' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // Killed, it would leave the command behind.
  onTestFinished(() => void child.kill('SIGTERM'));
  return child;
}

/** The same with both streams on the terminal, once it serves. */
async function servedOnTerminal() {
  const child = await onTerminal('');
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await until(() => text.includes("-d '"));
  const port = Number(/clients +http:\/\/[^:]+:(\d+)/.exec(text)?.[1]);
  const [pid = 0] = await childrenOf(child.pid ?? 0);
  return { child, shown: () => text, pid, port };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function childrenOf(parent: number): Promise<readonly number[]> {
  const listed = spawn('ps', ['-o', 'pid=', '--ppid', String(parent)]);
  let text = '';
  listed.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await once(listed, 'close');
  return text.trim().split(/\s+/).filter(Boolean).map(Number);
}
