import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { connectionLimits, fewFilesLine } from '../../src/node/connection-limits.ts';
import { readSettings, type Settings } from '../../src/settings/read-settings.ts';
import { rawClient, statusOf } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { until } from '../support/until.ts';
import { PROGRAM } from '../support/product.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';

function settingsOf(flags: Readonly<Record<string, string>> = {}): Settings {
  const read = readSettings({ flags, environment: {}, readFile: () => '' });
  if ('faults' in read) throw new Error(read.faults.join('\n'));
  return read.settings;
}

const V2 = { upstream: 'http://v2.example' };

test.each([
  ['no limit is known', V2, undefined, { clients: 10_000, upstream: 128 }],
  ['all fit', V2, 65_536, { clients: 10_000, upstream: 128 }],
  ['clients get the rest', V2, 1024, { clients: 832, upstream: 128 }],
  ['the connections of the embedded V2 count as well', {}, 1024, { clients: 704, upstream: 128 }],
  [
    'those of V1 count as well',
    { ...V2, 'v1-upstream': 'http://v1.example' },
    1024,
    { clients: 704, upstream: 128 },
  ],
  ['V2 gets half of a few', V2, 256, { clients: 96, upstream: 96 }],
  ['there are hardly any files', V2, 64, { clients: 1, upstream: 1 }],
])('connections that the process may open: %s', (_name, flags, files, limits) => {
  expect(connectionLimits(settingsOf(flags), files)).toEqual(limits);
});

test('the log names the limit that was lowered, and the remedy', () => {
  expect(fewFilesLine(settingsOf(V2), 65_536)).toBeUndefined();
  expect(fewFilesLine(settingsOf(V2), undefined)).toBeUndefined();
  expect(fewFilesLine(settingsOf(V2), 1024)).toEqual({
    level: 'warn',
    event: 'few-files',
    message:
      'open files: the limit of 1024 leaves room for 832 connections with clients instead of 10000 (--client-connections, GATEWAY_CLIENT_CONNECTIONS); raise it (`ulimit -n`, `LimitNOFILE` of systemd, `--ulimit nofile` of Docker), or lower the setting.',
    fields: { files: 1024, clients: 832, upstream: 128 },
  });
  expect(fewFilesLine(settingsOf(V2), 256)?.message).toContain(
    '96 connections to V2 instead of 128 (--upstream-connections, GATEWAY_UPSTREAM_CONNECTIONS); raise it',
  );
});

// Attack: clients that connect and send nothing, until no file is left for a connection to V2.
test('idle clients do not take the files that V2 needs', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const main = fileURLToPath(new URL(`../../${PROGRAM}`, import.meta.url));
  const args = ['serve', '--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0', '--upstream', v2.origin];
  const child = spawn('sh', ['-c', 'ulimit -n 128; exec "$@"', 'sh', process.execPath, main, ...args], {
    env: { PATH: process.env['PATH'] ?? '', GATEWAY_LOG_FORMAT: 'text' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  await until(() => log.includes('-d '));
  expect(log).toContain('open files: the limit of 128 leaves room for 32 connections with clients');
  const port = Number(/clients +http:\S+:(\d+)/.exec(log)?.[1]);
  const idle = Array.from({ length: 150 }, () => rawClient(port));
  onTestFinished(() => {
    for (const { socket } of idle) socket.destroy();
  });
  await until(() => idle.filter(({ socket }) => socket.closed).length >= 150 - 32);
  const client = rawClient(port);
  client.write(GET);
  expect(statusOf(await client.until(/200 OK[^]*\}$/))).toBe(200);
  client.socket.destroy();
});
