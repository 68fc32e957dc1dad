/** @module-tag netns */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const MAIN = fileURLToPath(new URL('src/cli/main.ts', root));
const HEALTH = fileURLToPath(new URL('src/cli/health.ts', root));

/** What the image listens on. */
const LISTEN = /GATEWAY_LISTEN=(\S+)/.exec(readFileSync(new URL('Dockerfile', root), 'utf8'))?.[1] ?? '';

/** Starts V2 and the gateway as the image does, asks both listeners by each family, and prints the statuses as JSON. */
const PLAY = `
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
const [main, health, listen, v2] = process.argv.slice(1);
const run = (args, env) => {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...args], {
    env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const heard = (part) => (said += part);
  child.stdout.on('data', heard);
  child.stderr.on('data', heard);
  const until = async (pattern) => {
    for (const end = Date.now() + 60_000; !pattern.test(said); await new Promise((go) => setTimeout(go, 20)))
      if (Date.now() > end || child.exitCode !== null) throw new Error(said);
  };
  return { child, until };
};
const reference = run(['reference', '--listen', v2 + ':18090'], {});
await reference.until(/18090/);
const env = {
  GATEWAY_LISTEN: listen, GATEWAY_ADMIN_LISTEN: '*:8081', GATEWAY_ADMIN_TOKEN: 'a token of sixteen or more',
  GATEWAY_CLIENT_SECRET: 'a secret of the tests', GATEWAY_LOG_FILE: 'off', GATEWAY_UPSTREAM: 'http://' + v2 + ':18090',
};
const gateway = run(['serve'], env);
await gateway.until(/8081/);
const status = async (url) => {
  try { return (await fetch(url, { headers: { authorization: 'Bearer k' } })).status; } catch (error) { return error.cause?.code ?? String(error); }
};
const statuses = {};
for (const host of ['127.0.0.1', '[::1]'])
  statuses[host] = [await status('http://' + host + ':8080/api/v1/heartbeat'), await status('http://' + host + ':8081/livez')];
statuses.health = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', health], { env: { ...process.env, ...env } }).status;
gateway.child.kill('SIGTERM');
[statuses.exit] = await once(gateway.child, 'exit');
reference.child.kill('SIGTERM');
await once(reference.child, 'exit');
console.log(JSON.stringify(statuses));
`;

/** Runs `PLAY` in a network namespace, after these commands of its shell; resolves to what it printed. */
async function playedIn(commands: string, v2: string): Promise<unknown> {
  const script = `ip link set lo up; ${commands}; exec "$@"`;
  const inside = ['sh', '-ec', script, 'sh', process.execPath, '--input-type=module', '-e', PLAY];
  const child = spawn('unshare', ['-rn', '--kill-child', '--fork', ...inside, MAIN, HEALTH, LISTEN, v2], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const parts: Record<'stdout' | 'stderr', string> = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (part: string) => (parts[name] += part));
  await new Promise((resolve) => {
    child.on('close', resolve);
  });
  expect(parts.stderr).toBe('');
  return JSON.parse(parts.stdout) as unknown;
}

const OK = [200, 200];

test.each([
  ['both families', ':', '127.0.0.1', { '127.0.0.1': OK, '[::1]': OK }],
  ['no IPv4', 'ip addr del 127.0.0.1/8 dev lo', '[::1]', { '[::1]': OK }],
  [
    'no address of IPv6',
    'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6',
    '127.0.0.1',
    { '127.0.0.1': OK },
  ],
])('the image serves all clients if there are %s', async (_what, commands, v2, served) => {
  const statuses = await playedIn(commands, v2);
  expect(statuses).toMatchObject({ ...served, health: 0, exit: 0 });
});
